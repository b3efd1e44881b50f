"""How near two words are in meaning: by the groups of words that come with the package, or by vectors from a file.

====================  ================================================================================================
`RelatedWords`        1 for a word and itself, 0.5 for two words of one group, 0 for others. The groups that come with
                      the package, about 70 of two to four English nouns, are written by hand for these probes
`WordVectors`         the cosine of two vectors, 0 where it is negative or a word has none
====================  ================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from termwise.collection.word_vectors import read_word_vectors
from termwise.text import Analyzer

NEAR = 0.5
"""How near two words of one group are."""


class Likeness(Protocol):
    """Says how near two terms are: from 0, nothing in common, to 1, the same; the order does not matter."""

    def __call__(self, one: str, other: str, /) -> float:
        """Compare two terms."""
        ...


class RelatedWords:
    """Groups of words that mean much the same.

    Parameters
    ----------
    groups : iterable of iterable of str
        Words as they are written. A word that the analyzer leaves out, or cuts into several terms, is in none.
    analyzer : Analyzer
        Makes the terms that are compared.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> near = RelatedWords([["doctor", "physician"], ["song", "tune"]], make_analyzer("english"))
    >>> near("doctor", "physician"), near("doctor", "song"), near("song", "song")
    (0.5, 0.0, 1.0)
    """

    def __init__(self, groups: Iterable[Iterable[str]], analyzer: Analyzer) -> None:
        self._groups: dict[str, set[int]] = {}
        for number, group in enumerate(groups):
            for word in group:
                terms = analyzer.tokens(word)
                if len(terms) == 1:
                    self._groups.setdefault(terms[0], set()).add(number)

    def __call__(self, one: str, other: str, /) -> float:
        """See `Likeness`."""
        if one == other:
            return 1.0
        mine, theirs = self._groups.get(one), self._groups.get(other)
        return NEAR if mine and theirs and not mine.isdisjoint(theirs) else 0.0


class WordVectors:
    """Vectors of words.

    Parameters
    ----------
    vectors : mapping of str to ndarray of shape (d,)
        By word, as it is written; the order counts, see below.
    analyzer : Analyzer
        Makes the terms that are compared. Of several words with one term the first is taken: files of vectors begin
        with the most frequent words.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> vectors = {"cats": np.array([1.0, 0.0]), "dogs": np.array([1.0, 1.0])}
    >>> near = WordVectors(vectors, make_analyzer("english"))
    >>> round(near("cat", "dog"), 3), near("cat", "cow"), near("cow", "cow")
    (0.707, 0.0, 1.0)
    """

    def __init__(self, vectors: Mapping[str, npt.NDArray[np.floating]], analyzer: Analyzer) -> None:
        self._vectors: dict[str, npt.NDArray[np.float32]] = {}
        for word, vector in vectors.items():
            terms = analyzer.tokens(word)
            norm = float(np.linalg.norm(vector))
            if len(terms) == 1 and terms[0] not in self._vectors and norm > 0:
                self._vectors[terms[0]] = (vector / norm).astype(np.float32)
        self._known: dict[tuple[str, str], float] = {}

    def __call__(self, one: str, other: str, /) -> float:
        """See `Likeness`."""
        if one == other:
            return 1.0
        pair = (one, other) if one < other else (other, one)
        if pair not in self._known:
            mine, theirs = self._vectors.get(one), self._vectors.get(other)
            cosine = 0.0 if mine is None or theirs is None else float(mine @ theirs)
            self._known[pair] = min(1.0, max(0.0, cosine))
        return self._known[pair]

    @classmethod
    def read(cls, path: str | Path, analyzer: Analyzer) -> WordVectors:
        """Read vectors from a file, see `termwise.collection.word_vectors`.

        Raises
        ------
        MalformedRecordError
            If a line has no numbers, or another number of them than the lines before.
        DataError
            If there is no vector in the file.
        MissingFileError
            If the file cannot be read.
        """
        return cls(read_word_vectors(path), analyzer)
