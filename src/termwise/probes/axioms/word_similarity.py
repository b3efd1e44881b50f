"""Similarity of words: groups of words that ship with the package, or word vectors of a file.

The shipped groups, about 70 of two to four English nouns, are written by hand for these probes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection.word_vectors import read_word_vectors
from termwise.text import Analyzer

RELATED = 0.5
"""Similarity of two words of a group."""


Similarity = Callable[[str, str], float]
"""Returns the similarity of two terms, from 0 to 1 for equal terms; symmetric."""


class RelatedWords:
    """Similarity by groups of words: 1 for equal words, 0.5 for two words of a group, otherwise 0.

    Words for which the analyzer gives no or several terms are ignored.

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
        """Return the similarity of two terms."""
        if one == other:
            return 1.0
        groups: set[int] = self._groups.get(one, set())
        return RELATED if not groups.isdisjoint(self._groups.get(other, ())) else 0.0


class WordVectors:
    """Similarity of two terms: the cosine of their word vectors; 0 if it is negative or a term has no vector.

    Vectors are given by unanalyzed word. If several words have the same term, the first is used, because files of
    vectors begin with the most frequent words.

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
        self._cache: dict[tuple[str, str], float] = {}

    def __call__(self, one: str, other: str, /) -> float:
        """Return the similarity of two terms."""
        if one == other:
            return 1.0
        pair = (one, other) if one < other else (other, one)
        if pair not in self._cache:
            mine, theirs = self._vectors.get(one), self._vectors.get(other)
            cosine = 0.0 if mine is None or theirs is None else float(mine @ theirs)
            self._cache[pair] = min(1.0, max(0.0, cosine))
        return self._cache[pair]

    @classmethod
    def read(cls, path: str | Path, analyzer: Analyzer) -> WordVectors:
        """Read vectors from a file, see `termwise.collection.word_vectors`."""
        return cls(read_word_vectors(path), analyzer)
