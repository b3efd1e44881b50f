"""Tokens joined by blanks, as the published manipulations have it.

Whatever else they do, these change the spaces around punctuation as well. They are here to compare with what was
published, and `tokens` alone says how much of an effect is that of the spaces.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass

from termwise.probes.language.base import Parsed
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.positions import has_word
from termwise.probes.manipulations.reordering import shuffled
from termwise.probes.manipulations.stop_words import is_stop_word

_TO_BLANKS = str.maketrans(dict.fromkeys(string.punctuation, " "))


@dataclass(frozen=True)
class Joined:
    """Tokens of a text, changed or left out, joined by one blank each.

    There is no sample where no word would be left.

    Attributes
    ----------
    name, title, makes : str
        See `Manipulation`.
    tokens : callable
        Returns what is joined: one of the functions here.
    """

    name: str
    title: str
    makes: str
    tokens: Callable[[Parsed, Around], list[str]]

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        changed = " ".join(self.tokens(around.language.parse(text), around))
        return changed if has_word(changed) else None


def tokens(parsed: Parsed, around: Around) -> list[str]:
    """Return all tokens as they are."""
    return [token.text for token in parsed.tokens]


def shuffled_tokens(parsed: Parsed, around: Around) -> list[str]:
    """Return all tokens of the text, shuffled."""
    return shuffled(tokens(parsed, around), around.random)


def shuffled_tokens_of_sentences(parsed: Parsed, around: Around) -> list[str]:
    """Return the tokens of each sentence, shuffled but for the last."""
    found: list[str] = []
    for first, last in parsed.sentences:
        *moved, fixed = (token.text for token in parsed.tokens[first:last])
        found += [*shuffled(moved, around.random), fixed]
    return found


def lemmas(parsed: Parsed, around: Around) -> list[str]:
    """Return lemmas, and stop words as they are."""
    return [token.text if is_stop_word(token.text, around) else token.lemma for token in parsed.tokens]


def without_stop_words_and_punctuation(parsed: Parsed, around: Around) -> list[str]:
    """Return the tokens that are no stop words, a blank for each of their ASCII characters of punctuation."""
    kept = (token.text for token in parsed.tokens if not is_stop_word(token.text, around))
    return [word.translate(_TO_BLANKS) for word in kept]
