"""Analyzers of words: a tokenizer and a sequence of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from itertools import chain

import numpy as np

from termwise.budget import spend
from termwise.fast_dataclass import dataclass
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.characters import UNICODE_VERSION, without_surrogates
from termwise.text.token_filters import WordStep
from termwise.text.tokenizer import WordTokenizer
from termwise.text.word_cache import WordCache

AT_ONCE = 4096
"""Words of a text between two looks at the time."""


@dataclass(frozen=True)
class WordAnalyzer:
    """Analyzer of a tokenizer, which finds the words, and steps, which change or remove them.

    There is no closed vocabulary. Lone surrogates, which UTF-8 cannot encode, become U+FFFD. A cache keeps the forms of
    up to 131,072 words.

    Parameters
    ----------
    name : str
        Name of the analyzer, a part of the fingerprint.
    tokenizer : WordTokenizer
    steps : sequence of WordStep, optional
        Applied to each word in this order.

    Examples
    --------
    >>> from termwise.text import LOWER_CASE, PORTER, StandardWords, stop_words
    >>> steps = [LOWER_CASE, stop_words("lucene-english"), PORTER]
    >>> analyzer = WordAnalyzer("mine", StandardWords(), steps)
    >>> analyzer.tokens("Merging the sorted lists")
    ['merg', 'sort', 'list']
    >>> analyzer.analyze("Merging the sorted lists").spans.tolist()
    [[0, 7], [12, 18], [19, 24]]
    """

    name: str
    tokenizer: WordTokenizer
    steps: tuple[WordStep, ...] = ()
    _forms: WordCache[str | None] = field(init=False, repr=False, compare=False)

    def __init__(self, name: str, tokenizer: WordTokenizer, steps: Sequence[WordStep] = ()) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "tokenizer", tokenizer)
        object.__setattr__(self, "steps", tuple(steps))
        object.__setattr__(self, "_forms", WordCache(partial(_form, self.steps)))

    def __reduce__(self) -> tuple[object, ...]:
        return (WordAnalyzer, (self.name, self.tokenizer, self.steps))

    @property
    def spec(self) -> AnalyzerSpec:
        """Specification: names of tokenizer and steps, and their Unicode version."""
        options = {
            **self.tokenizer.description,
            "steps": [step.name for step in self.steps],
            "unicode": UNICODE_VERSION,
        }
        return AnalyzerSpec(self.name, options)

    @property
    def vocabulary(self) -> None:
        """None: any word can be a token."""
        return None

    def analyze(self, text: str) -> Analysis:
        """Return the tokens of a text with their character spans."""
        text = without_surrogates(text)
        tokens, spans = [], []
        for span in self.tokenizer.spans(text):
            form = self._forms[text[span[0] : span[1]]]
            if form is not None:
                tokens.append(form)
                spans.append(span)
        positions = np.fromiter(chain.from_iterable(spans), dtype=np.int32, count=2 * len(spans))
        return Analysis(tuple(tokens), positions.reshape(-1, 2))

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list, without computing spans."""
        words = self.tokenizer.words(without_surrogates(text))
        if not self.steps:
            return words
        forms: list[str] = []
        for start in range(0, len(words), AT_ONCE):
            spend()
            found = map(self._forms.__getitem__, words[start : start + AT_ONCE])
            forms += [form for form in found if form is not None]
        return forms

    def token(self, word: str) -> str | None:
        """Return the token of a word as a whole, which is not taken apart; None if it is removed.

        Examples
        --------
        >>> from termwise.text import make_analyzer
        >>> [make_analyzer("english-parts").token(word) for word in ("lists", "the", "head-lamps")]
        ['list', None, 'headlamp']
        """
        return self._forms[without_surrogates(word)]


def _form(steps: tuple[WordStep, ...], word: str) -> str | None:
    form: str | None = word
    for step in steps:
        if form is None:
            break
        form = step(form)
    return form
