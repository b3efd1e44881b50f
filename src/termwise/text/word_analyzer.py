"""Analyzers that cut text into words: a tokenizer and a row of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.characters import UNICODE_VERSION, without_surrogates
from termwise.text.token_filters import WordStep
from termwise.text.tokenizer import WordTokenizer

_REMEMBERED = 1 << 17
_REMEMBERED_LENGTH = 64


@dataclass(frozen=True)
class WordAnalyzer:
    """A tokenizer that finds the words, and steps that give each word its form.

    Tokens are open: there is no vocabulary. Lone surrogates, which UTF-8 cannot hold, are read as U+FFFD.
    Forms of up to 131,072 words are remembered to save time; what is returned does not depend on it.

    Parameters
    ----------
    name : str
        What the analyzer is called; it is part of the fingerprint.
    tokenizer : WordTokenizer
        Finds the words.
    steps : sequence of WordStep, optional
        Applied to each word in this order; a step may leave the word out.

    Examples
    --------
    >>> from termwise.text import LowerCase, Porter, StandardWords, StopWords
    >>> steps = [LowerCase(), StopWords("lucene-english"), Porter()]
    >>> analyzer = WordAnalyzer("mine", StandardWords(), steps)
    >>> analyzer.tokens("Merging the sorted lists")
    ['merg', 'sort', 'list']
    >>> analyzer.analyze("Merging the sorted lists").spans.tolist()
    [[0, 7], [12, 18], [19, 24]]
    """

    name: str
    tokenizer: WordTokenizer
    steps: tuple[WordStep, ...] = ()
    _forms: _Forms = field(init=False, repr=False, compare=False)

    def __init__(self, name: str, tokenizer: WordTokenizer, steps: Sequence[WordStep] = ()) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "tokenizer", tokenizer)
        object.__setattr__(self, "steps", tuple(steps))
        object.__setattr__(self, "_forms", _Forms(self.steps))

    def __reduce__(self) -> tuple[object, ...]:
        # What is remembered stays behind when an analyzer goes to another process.
        return (WordAnalyzer, (self.name, self.tokenizer, self.steps))

    @property
    def spec(self) -> AnalyzerSpec:
        """The recipe: the names of tokenizer and steps, and the Unicode version they are written for."""
        options = {
            "tokenizer": self.tokenizer.name,
            "steps": [step.name for step in self.steps],
            "unicode": UNICODE_VERSION,
        }
        return AnalyzerSpec(self.name, options)

    @property
    def vocabulary(self) -> None:
        """None: any word can be a token."""
        return None

    def analyze(self, text: str) -> Analysis:
        """Cut `text` into tokens with their character spans."""
        text = without_surrogates(text)
        tokens, spans = [], []
        for start, end in self.tokenizer.spans(text):
            form = self._forms[text[start:end]]
            if form is not None:
                tokens.append(form)
                spans.append((start, end))
        return Analysis(tuple(tokens), np.array(spans, dtype=np.int32).reshape(-1, 2))

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list, without the cost of spans."""
        words = self.tokenizer.words(without_surrogates(text))
        if not self.steps:
            return words
        return [form for form in map(self._forms.__getitem__, words) if form is not None]


class _Forms(dict[str, str | None]):
    """The forms of words met so far; looking up a new word works its form out."""

    def __init__(self, steps: tuple[WordStep, ...]) -> None:
        super().__init__()
        self._steps = steps

    def __missing__(self, word: str) -> str | None:
        form: str | None = word
        for step in self._steps:
            if form is None:
                break
            form = step(form)
        if len(word) <= _REMEMBERED_LENGTH:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = form
        return form
