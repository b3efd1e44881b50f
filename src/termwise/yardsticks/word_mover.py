"""Word Mover's Distance between the words of query and text.

Kusner, Sun, Kolkin and Weinberger, ICML 2015. Query and text are distributions over their words. Moving mass from one
word to another costs the mass times the Euclidean distance of the word vectors, and the distance of two distributions
is the minimal total cost. The score is minus the distance.

Departures from the source, and cases it leaves open:

- Stop words are removed by the analyzer, such as ``standard+stop``, not by a fixed list.
- Words without a vector are left out of both distributions. The source does not define the distance of a text without
  known words. An infinite distance, as in other implementations, makes means and tests of scores meaningless. Such a
  text has the mean distance of the query words to all words of the table.
- For a query without known words, all texts score 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from termwise.collection.word_vectors import WordTable, read_word_vectors
from termwise.errors import MissingExtraError
from termwise.scorers.protocol import BasePairScorer
from termwise.scorers.row_scorer import distinct
from termwise.storage.file_record import json_fingerprint
from termwise.text import Analyzer, make_analyzer
from termwise.validation import check

DEFAULT_ANALYZER = "standard"

_MAX_ITERATIONS = 10_000_000
"""Limit of iterations, far above the number that the solver needs."""

_BLOCK = 1 << 16
"""Vectors of the table in one distance computation."""


class _Distribution(NamedTuple):
    """Rows of known words, increasing, and their shares of the text, which add up to 1."""

    rows: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]


class WordMoverScorer(BasePairScorer):
    """Scores texts by minus the Word Mover's Distance; a `termwise.scorers.protocol.PairScorer`.

    Scores are finite and at most 0. Each distinct pair is solved once.

    Parameters
    ----------
    words : WordTable
        Word vectors, see `termwise.collection.read_word_vectors`.
    analyzer : Analyzer, optional
        Analyzer of query and text; by default ``standard``, which gives lower-cased words.
    unit : bool, optional
        Whether to normalise the vectors to length 1.
    name : str, optional
        Name of the scorer in tables.

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
        check("name", name, isinstance(name, str) and bool(name), "a name")
        self._solve = _solver()
        self._words = words
        self._vectors = _normalised(words.vectors) if unit else words.vectors
        self._analyzer = make_analyzer(DEFAULT_ANALYZER) if analyzer is None else analyzer
        self._unit = unit
        self._mean_distance = cache(self._mean_distance_of)
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
        word_analyzer = make_analyzer(analyzer)
        return cls(read_word_vectors(path), word_analyzer, unit=unit, name=name)

    @cached_property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal scores."""
        return json_fingerprint(
            ["word mover", self._words.digest, self._analyzer.spec.fingerprint, self._unit]
        )

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        distinct_queries, query_places = distinct(queries)
        distinct_texts, text_places = distinct(texts)
        distributions = [self._distribution(text) for text in distinct_texts]
        scores = np.zeros(len(texts))
        for position, query in enumerate(distinct_queries):
            pairs = np.flatnonzero(query_places == position)
            unique, inverse = np.unique(text_places[pairs], return_inverse=True)
            distances = self._distances(query, [distributions[text] for text in unique.tolist()])
            scores[pairs] = -distances[inverse]
        return scores + 0.0  # no negative zero

    def _distribution(self, text: str) -> _Distribution:
        rows = [row for word in self._analyzer.tokens(text) if (row := self._words.row(word)) is not None]
        distinct_rows, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
        return _Distribution(distinct_rows, counts / max(1, len(rows)))

    def _distances(self, query: str, texts: Sequence[_Distribution]) -> npt.NDArray[np.float64]:
        source = self._distribution(query)
        if not len(source.rows):
            return np.zeros(len(texts))
        source_vectors = self._vectors[source.rows].astype(np.float64)
        target_rows = np.unique(np.concatenate([np.empty(0, np.int64), *(text.rows for text in texts)]))
        costs = cdist(source_vectors, self._vectors[target_rows].astype(np.float64))
        return np.array(
            [
                self._distance(source.shares, text.shares, costs[:, np.searchsorted(target_rows, text.rows)])
                if len(text.rows)
                else float(source.shares @ [self._mean_distance(row) for row in source.rows.tolist()])
                for text in texts
            ]
        )

    def _distance(
        self, source: npt.NDArray[np.float64], target: npt.NDArray[np.float64], costs: npt.NDArray[np.float64]
    ) -> float:
        if min(costs.shape) == 1:  # only one transport plan exists
            return float(source @ costs @ target)
        return float(self._solve(source, target, np.ascontiguousarray(costs), numItermax=_MAX_ITERATIONS))

    def _mean_distance_of(self, row: int) -> float:
        """Return the mean distance of a word to all words of the table."""
        vector = self._vectors[row : row + 1].astype(np.float64)
        total = sum(
            float(cdist(vector, self._vectors[start : start + _BLOCK].astype(np.float64)).sum())
            for start in range(0, len(self._vectors), _BLOCK)
        )
        return total / len(self._vectors)


def _normalised(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _solver() -> Callable[..., Any]:
    try:
        from ot import emd2
    except ImportError:
        raise MissingExtraError.of("POT", "yardsticks", "the Word Mover's Distance") from None
    solver: Callable[..., Any] = emd2
    return solver
