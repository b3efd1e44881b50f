"""Scorer whose scores are dot products of query rows and text rows, and a cache of rows by text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from termwise.scorers.protocol import BasePairScorer, TermScore
from termwise.validation import check_pairs
from termwise.weights import TermWeights

CAPACITY = 50_000
"""Rows in a cache."""

Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""Terms, strictly increasing, and a number for each."""

T = TypeVar("T")


class RowCache(Generic[T]):
    """Least-recently-used cache of rows; safe for several threads. `compute` returns a row for each text.

    Examples
    --------
    >>> def compute(texts):
    ...     print("computes", texts)
    ...     return [(np.array([len(text)], np.int32), np.ones(1, np.float32)) for text in texts]
    >>> cache = RowCache(compute)
    >>> len(cache.rows(["a", "b"])), len(cache.rows(["b", "c"]))
    computes ['a', 'b']
    computes ['c']
    (2, 2)
    """

    def __init__(self, compute: Callable[[Sequence[str]], Iterable[T]]) -> None:
        self._compute = compute
        self._rows: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def rows(self, texts: Sequence[str]) -> list[T]:
        """Return the row of each text."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._rows]
            if missing:
                self._rows.update(zip(missing, self._compute(missing), strict=True))
            rows = [self._rows[text] for text in texts]
            for text in texts:
                self._rows.move_to_end(text)
            while len(self._rows) > CAPACITY:
                self._rows.popitem(last=False)
        return rows


def stack_rows(rows: Sequence[Row], vocabulary: str) -> TermWeights:
    """Return rows as one matrix over the vocabulary with this identifier."""
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(terms) for terms, _ in rows], out=indptr[1:])
    return TermWeights(
        indptr,
        np.concatenate([np.empty(0, np.int32), *(terms for terms, _ in rows)]),
        np.concatenate([np.empty(0, np.float32), *(values for _, values in rows)]),
        vocabulary,
    )


class WeightedRows(NamedTuple):
    """Queries and texts as rows over one vocabulary.

    Attributes
    ----------
    queries, texts : TermWeights
        One row each.
    floors : ndarray of shape (V,), float64; or None
        Contribution of an absent term, per unit of query weight; None if it is 0 for all terms.
    token : callable
        Maps a term number to the term.
    """

    queries: TermWeights
    texts: TermWeights
    floors: npt.NDArray[np.float64] | None
    token: Callable[[int], str]


class TextWeigher(Protocol):
    """Turns queries and texts into rows; the row of a text does not depend on the other texts."""

    @property
    def name(self) -> str:
        """Name of the scorer in tables."""

    @property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal rows."""

    def weigh(self, queries: Sequence[str], texts: Sequence[str]) -> WeightedRows:
        """Return a row for each query and each text, in order."""


class RowScorer(BasePairScorer):
    """Scores texts by the weights of the query terms that they contain.

    The score is that of an index without quantisation: the sum over query terms of q(t) (w(t, d) + floor(t)).

    Parameters
    ----------
    weigher : TextWeigher
        A model with the collection statistics that it needs.

    Examples
    --------
    >>> from termwise.models import BM25
    >>> from termwise.records import Document
    >>> from termwise.scorers import CountWeigher, TokenStatistics
    >>> from termwise.text import make_analyzer
    >>> english = make_analyzer("english")
    >>> statistics = TokenStatistics.count([Document("1", "merge two lists"), Document("2", "a list")], english)
    >>> scorer = RowScorer(CountWeigher(BM25(), english, statistics))
    >>> scorer.score("merging lists", ["sort a list", "nothing"]).round(4)
    array([0.096, 0.   ])
    """

    def __init__(self, weigher: TextWeigher) -> None:
        self._weigher = weigher

    @property
    def name(self) -> str:
        """Name of the scorer in tables."""
        return self._weigher.name

    @property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal scores."""
        return self._weigher.fingerprint

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        from termwise.kernels.pair_scores import pair_scores

        if not texts:
            return np.zeros(0)
        distinct_queries, query_places = distinct(queries)
        distinct_texts, text_places = distinct(texts)
        rows = self._weigher.weigh(distinct_queries, distinct_texts)
        scores: npt.NDArray[np.float64] = pair_scores(
            rows.queries.indptr,
            rows.queries.terms,
            rows.queries.weights.astype(np.float64),
            rows.texts.indptr,
            rows.texts.terms,
            rows.texts.weights,
            query_places,
            text_places,
        )
        if rows.floors is None:
            return scores
        floor_sums = np.array(
            [float(weights.astype(np.float64) @ rows.floors[terms]) for terms, weights in rows.queries]
        )
        total: npt.NDArray[np.float64] = scores + floor_sums[query_places]
        return total

    def contributions(self, query: str, text: str) -> list[TermScore]:
        """Return the contribution of each query term; see `termwise.scorers.protocol.AdditiveScorer`."""
        check_pairs([query], [text])
        rows = self._weigher.weigh([query], [text])
        (terms, query_weights), (text_terms, text_weights) = rows.queries.row(0), rows.texts.row(0)
        weight_of = dict(zip(text_terms.tolist(), text_weights.tolist(), strict=True))
        floors = rows.floors
        return [
            TermScore(
                rows.token(term),
                weight * (weight_of.get(term, 0.0) + (0.0 if floors is None else float(floors[term]))),
            )
            for term, weight in zip(terms.tolist(), query_weights.tolist(), strict=True)
        ]


def distinct(values: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the distinct values in order of appearance, and the position of each value among them.

    Examples
    --------
    >>> distinct(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    numbers: dict[str, int] = {}
    positions = np.fromiter(
        (numbers.setdefault(value, len(numbers)) for value in values), dtype=np.int64, count=len(values)
    )
    return list(numbers), positions
