"""Word Mover's Distance: how far the words of a query are from those of a text.

Kusner, Sun, Kolkin and Weinberger, ICML 2015. Query and text are heaps of words, each word as heavy as its share of all
words there; moving a share from one word to another costs the share times the Euclidean distance of their vectors; the
distance of the heaps is what the cheapest way to turn one into the other costs. The score is the distance with a minus.

Departures and gaps of the source:

- Stop words go where the analyzer drops them, not by a list of ours: ``standard+stop``.
- Words without a vector are left out of both heaps, as usual. The source does not say what a text gets of which no word
  is left; infinitely far, as others have it, makes means and tests of scores meaningless. Here it might say anything,
  and is as far away as a word of the table is on average.
- A query of which no word is left says nothing of any text: all score 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from termwise.collection.word_vectors import WordTable, read_word_vectors
from termwise.errors import MissingExtraError
from termwise.scorers.protocol import BasePairScorer
from termwise.scorers.row_scorer import distinct
from termwise.text import Analyzer, make_analyzer
from termwise.validation import check, check_flag, check_pairs

DEFAULT_ANALYZER = "standard"

_MOST_STEPS = 10_000_000
"""Of the solver; it ends long before."""


_AT_ONCE = 1 << 16
"""Vectors of the table that are compared at once."""


class _Heap(NamedTuple):
    """Rows of words, increasing, and the share of each; the shares add up to 1."""

    places: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]


class WordMoverScorer(BasePairScorer):
    """Scores texts by the Word Mover's Distance with a minus; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    words : WordTable
        Vectors of words, see `termwise.collection.read_word_vectors`.
    analyzer : Analyzer, optional
        Makes the words that are looked up; ``standard`` unless given, words in lower case. Vectors of stems or of words
        with capitals need another one.
    unit : bool, optional
        Whether vectors are made one long first, so that their lengths do not count.
    name : str, optional
        What the scorer is called in tables.

    Raises
    ------
    MissingExtraError
        If POT is not installed.

    Examples
    --------
    >>> words = WordTable(["cat", "lion", "car"], [[0, 0], [0, 3], [6, 0]])
    >>> scorer = WordMoverScorer(words)
    >>> scorer.score("cat", ["a cat", "lion", "lion cat", "unheard of"])
    array([ 0. , -3. , -1.5, -3. ])
    """

    def __init__(
        self, words: WordTable, analyzer: Analyzer | None = None, *, unit: bool = False, name: str = "wmd"
    ) -> None:
        check("words", words, isinstance(words, WordTable), "a WordTable")
        check_flag("unit", unit)
        check("name", name, isinstance(name, str) and bool(name), "a name")
        self._solve = _solver()
        self._words = words
        self._vectors = _one_long(words.vectors) if unit else words.vectors
        self._analyzer = make_analyzer(DEFAULT_ANALYZER) if analyzer is None else analyzer
        self._unit = unit
        self._averages: dict[int, float] = {}
        self.name = name

    @classmethod
    def open(
        cls, path: str | Path, *, analyzer: str = DEFAULT_ANALYZER, unit: bool = False, name: str = "wmd"
    ) -> WordMoverScorer:
        """Read the vectors from a file, see `termwise.collection.read_word_vectors`.

        Raises
        ------
        MissingExtraError
            If POT is not installed.
        TermwiseError
            If there is no such analyzer, or the file cannot be read.
        """
        cut = make_analyzer(analyzer)
        return cls(read_word_vectors(path), cut, unit=unit, name=name)

    @cached_property
    def fingerprint(self) -> str:
        """Equal ones give equal scores."""
        said = ["word mover", self._words.digest, self._analyzer.spec.fingerprint, self._unit]
        return f"sha256:{sha256(json.dumps(said).encode()).hexdigest()}"

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place; each distinct pair is solved once.

        Returns
        -------
        ndarray of shape (n,), float64
            0 or less, and finite.

        Raises
        ------
        ParameterError
            If there are not as many queries as texts, or one is no string.
        """
        check_pairs(queries, texts)
        asked, query_places = distinct(queries)
        held, text_places = distinct(texts)
        heaps = [self._heap(text) for text in held]
        found = np.zeros(len(texts))
        for place, query in enumerate(asked):
            of_query = np.flatnonzero(query_places == place)
            wanted, back = np.unique(text_places[of_query], return_inverse=True)
            found[of_query] = -self._distances(query, [heaps[one] for one in wanted.tolist()])[back]
        return found + 0.0  # no minus before a zero

    def _heap(self, text: str) -> _Heap:
        places = [
            place for word in self._analyzer.tokens(text) if (place := self._words.place(word)) is not None
        ]
        known, counts = np.unique(np.array(places, dtype=np.int64), return_counts=True)
        return _Heap(known, counts / max(1, len(places)))

    def _distances(self, query: str, heaps: Sequence[_Heap]) -> npt.NDArray[np.float64]:
        asked = self._heap(query)
        if not len(asked.places):
            return np.zeros(len(heaps))
        own = self._vectors[asked.places].astype(np.float64)
        met = np.unique(np.concatenate([np.empty(0, np.int64), *(heap.places for heap in heaps)]))
        costs = cdist(own, self._vectors[met].astype(np.float64))
        return np.array(
            [
                self._distance(asked.shares, heap.shares, costs[:, np.searchsorted(met, heap.places)])
                if len(heap.places)
                else float(asked.shares @ [self._from_any(place) for place in asked.places.tolist()])
                for heap in heaps
            ]
        )

    def _distance(
        self,
        shares: npt.NDArray[np.float64],
        others: npt.NDArray[np.float64],
        costs: npt.NDArray[np.float64],
    ) -> float:
        if min(costs.shape) == 1:  # there is one way only
            return float(shares @ costs @ others)
        return float(self._solve(shares, others, np.ascontiguousarray(costs), numItermax=_MOST_STEPS))

    def _from_any(self, place: int) -> float:
        """Return how far a word is from the words of the table on average."""
        if place not in self._averages:
            own = self._vectors[place : place + 1].astype(np.float64)
            total = sum(
                float(cdist(own, self._vectors[start : start + _AT_ONCE].astype(np.float64)).sum())
                for start in range(0, len(self._vectors), _AT_ONCE)
            )
            self._averages[place] = total / len(self._vectors)
        return self._averages[place]


def _one_long(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _solver() -> Callable[..., Any]:
    try:
        from ot import emd2
    except ImportError:
        raise MissingExtraError.of("POT", "yardsticks", "the Word Mover's Distance") from None
    solver: Callable[..., Any] = emd2
    return solver
