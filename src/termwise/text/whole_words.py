"""Words that are left whole: brands such as *Brückmann*, which is no compound of *Brücke* and *Mann*."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from termwise.fast_dataclass import dataclass
from termwise.text.characters import lower_case
from termwise.text.folding import folded, joined
from termwise.text.tokenizer import WordTokenizer


@dataclass(frozen=True)
class WholeWords(WordTokenizer):
    """Words of another tokenizer, without the parts of some words.

    Attributes
    ----------
    tokenizer : WordTokenizer
        A tokenizer of nested words.
    whole : frozenset of str
        The words, as `plain_word` writes them.

    Examples
    --------
    >>> from termwise.text.words_with_parts import WordsWithParts
    >>> WholeWords.of(WordsWithParts(), ["Hi-Tek"]).words("HI-TEK T-shirt")
    ['HI-TEK', 'T-shirt', 'T', 'shirt']
    >>> WholeWords.of(WordsWithParts(), ["Hi-Tek"]).words(" !")
    []
    """

    name: ClassVar[str] = "whole-words"
    nested: ClassVar[bool] = True

    tokenizer: WordTokenizer
    whole: frozenset[str]

    @classmethod
    def of(cls, tokenizer: WordTokenizer, words: Iterable[str]) -> WholeWords:
        """Return the tokenizer that leaves words whole, however they are written; a text is each of its words."""
        return cls(tokenizer, frozenset(plain_word(word) for text in words for word in text.split()))

    @property
    def description(self) -> dict[str, Any]:
        """Options of an `AnalyzerSpec`: those of the wrapped tokenizer, and the words that are not taken apart."""
        return {**self.tokenizer.description, "whole": sorted(self.whole)}

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words and parts, in the order of their starts."""
        spans = self.tokenizer.spans(text)
        found, end_of_whole = [], 0
        for place, (start, end) in enumerate(spans):
            if end > end_of_whole:
                found.append((start, end))
                has_parts = place + 1 < len(spans) and spans[place + 1][0] < end
                if has_parts and plain_word(text[start:end]) in self.whole:
                    end_of_whole = end
        return found


def plain_word(word: str) -> str:
    """Return a word as it is compared with others: joined, in lower case, without accents.

    Examples
    --------
    >>> plain_word("BRÜCKMANN"), plain_word("Hi-Tek")
    ('bruckmann', 'hitek')
    """
    return lower_case(joined(folded(word)))
