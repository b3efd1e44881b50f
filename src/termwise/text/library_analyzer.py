"""Analyzers whose words an installed library finds: spaCy, jieba or MeCab."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Protocol

import numpy as np

from termwise.errors import VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.characters import UNICODE_VERSION, without_surrogates
from termwise.text.lemmas import Lemmas
from termwise.text.segmenters import ChineseWords, JapaneseWords


class _Library(Protocol):
    """Words that a library finds; threads share it."""

    @property
    def name(self) -> str:
        """Name of the library and of its data, for errors."""

    @property
    def options(self) -> Mapping[str, str]:
        """Versions that determine the words."""

    def words(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and form of each word, in the order of their starts."""

    def fixes(self, options: Mapping[str, object]) -> Sequence[str]:
        """Return how to get the versions in the options of an analyzer."""


_LIBRARIES: Mapping[str, Callable[[], _Library]] = {
    "chinese": cache(ChineseWords),
    "japanese": cache(JapaneseWords),
    "lemmas": cache(Lemmas),
}


@dataclass(frozen=True, eq=False)
class LibraryAnalyzer:
    """Splits text into the words that a library finds, in lower case.

    ``lemmas``
        English lemmas of spaCy without stop words and punctuation, see `termwise.text.lemmas`.
    ``chinese``, ``japanese``
        Words of the dictionaries of jieba and MeCab, see `termwise.text.segmenters`.

    Use `installed` or `make_analyzer` to make one.

    Parameters
    ----------
    spec : AnalyzerSpec
        Specification with the versions of library and dictionary.

    Raises
    ------
    MissingExtraError
        If the library is not installed.
    VocabularyMismatchError
        If another version is installed.

    Examples
    --------
    >>> analyzer = LibraryAnalyzer.installed("lemmas")
    >>> analyzer.tokens("The mice were running to the world’s best mazes")
    ['mouse', 'run', 'world', 'good', 'maze']
    >>> analyzer.analyze("Studied mice").spans.tolist()
    [[0, 7], [8, 12]]
    """

    spec: AnalyzerSpec
    _library: _Library = field(init=False, repr=False)

    def __post_init__(self) -> None:
        library = _LIBRARIES[self.spec.name]()
        here, given = _options(library), dict(self.spec.options)
        if given != here:
            names = [name for name in sorted({*given, *here}) if given.get(name) != here.get(name)]
            raise VocabularyMismatchError(
                f"the analyzer was made with another version of {library.name}",
                facts=[
                    ("analyzer", self.spec.name),
                    ("made with", ", ".join(f"{name} {given.get(name)}" for name in names)),
                    ("here", ", ".join(f"{name} {here.get(name)}" for name in names)),
                ],
                fixes=library.fixes(given),
            )
        object.__setattr__(self, "_library", library)

    def __reduce__(self) -> tuple[object, ...]:
        return (LibraryAnalyzer, (self.spec,))

    @classmethod
    def installed(cls, name: str) -> LibraryAnalyzer:
        """Make the analyzer of this name with the installed library."""
        return cls(AnalyzerSpec(name, _options(_LIBRARIES[name]())))

    @property
    def vocabulary(self) -> None:
        """None: any word can be a token."""
        return None

    def analyze(self, text: str) -> Analysis:
        """Return the tokens of a text with their character spans."""
        found = list(self._library.words(without_surrogates(text)))
        spans = np.array([(start, end) for start, end, _ in found], dtype=np.int32).reshape(-1, 2)
        return Analysis(tuple(form for *_, form in found), spans)

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list."""
        return [form for *_, form in self._library.words(without_surrogates(text))]


def _options(library: _Library) -> dict[str, str]:
    return {**library.options, "unicode": UNICODE_VERSION}
