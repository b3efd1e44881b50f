"""Scores as sums of terms: rows of texts times rows of queries, for texts that no index holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from termwise.scorers.protocol import BasePairScorer, TermScore
from termwise.validation import check_pairs
from termwise.weights import TermWeights


class WeightedRows(NamedTuple):
    """Queries and texts as rows over one vocabulary.

    Attributes
    ----------
    queries, texts : TermWeights
        A row for each.
    floors : ndarray of shape (V,), float64; or None
        What an absent term contributes, times its weight in the query; None where that is 0 for all.
    token : callable
        From the number of a term to the term.
    """

    queries: TermWeights
    texts: TermWeights
    floors: npt.NDArray[np.float64] | None
    token: Callable[[int], str]


class TextWeigher(Protocol):
    """Turns texts into rows, each by itself: the row of a text depends on no other text."""

    @property
    def name(self) -> str:
        """What the scorer is called in tables."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal ones give equal rows."""
        ...

    def weigh(self, queries: Sequence[str], texts: Sequence[str]) -> WeightedRows:
        """Return a row for each query and each text, in order."""
        ...


class RowScorer(BasePairScorer):
    """Scores texts by the terms that they share with a query; a `termwise.scorers.protocol.PairScorer`.

    The score is that of an index without quantisation, sum over the terms of the query of q(t) (w(t, d) + floor(t)).

    Parameters
    ----------
    weigher : TextWeigher
        A model, with whatever it has to know of a collection.

    Examples
    --------
    >>> from termwise.models import BM25
    >>> from termwise.records import Document
    >>> from termwise.scorers import CountWeigher, TokenStatistics
    >>> from termwise.text import make_analyzer
    >>> english = make_analyzer("english")
    >>> counted = TokenStatistics.count([Document("1", "merge two lists"), Document("2", "a list")], english)
    >>> scorer = RowScorer(CountWeigher(BM25(), english, counted))
    >>> scorer.score("merging lists", ["sort a list", "nothing"]).round(4)
    array([0.096, 0.   ])
    """

    def __init__(self, weigher: TextWeigher) -> None:
        self._weigher = weigher

    @property
    def name(self) -> str:
        """What the scorer is called in tables."""
        return self._weigher.name

    @property
    def fingerprint(self) -> str:
        """Equal ones give equal scores."""
        return self._weigher.fingerprint

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place; each distinct text is weighed once.

        Raises
        ------
        ParameterError
            If there are not as many queries as texts, or one is no string.
        """
        from termwise.kernels.pairs import pair_scores

        check_pairs(queries, texts)
        if not texts:
            return np.zeros(0)
        asked, query_places = distinct(queries)
        held, text_places = distinct(texts)
        weighed = self._weigher.weigh(asked, held)
        query_weights = weighed.queries.weights.astype(np.float64)
        found: npt.NDArray[np.float64] = pair_scores(
            weighed.queries.indptr,
            weighed.queries.terms,
            query_weights,
            weighed.texts.indptr,
            weighed.texts.terms,
            weighed.texts.weights,
            query_places,
            text_places,
        )
        if weighed.floors is None:
            return found
        background = np.array(
            [float(weights.astype(np.float64) @ weighed.floors[terms]) for terms, weights in weighed.queries]
        )
        total: npt.NDArray[np.float64] = found + background[query_places]
        return total

    def contributions(self, query: str, text: str) -> list[TermScore]:
        """Return what each term of the query adds; see `termwise.scorers.protocol.AdditiveScorer`."""
        check_pairs([query], [text])
        weighed = self._weigher.weigh([query], [text])
        (terms, weights), (held, values) = weighed.queries.row(0), weighed.texts.row(0)
        row = dict(zip(held.tolist(), values.tolist(), strict=True))
        floors = weighed.floors
        return [
            TermScore(
                weighed.token(term),
                weight * (row.get(term, 0.0) + (0.0 if floors is None else float(floors[term]))),
            )
            for term, weight in zip(terms.tolist(), weights.tolist(), strict=True)
        ]


def distinct(values: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the distinct values, in the order in which they are met, and the place of each value among them.

    Examples
    --------
    >>> distinct(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    places: dict[str, int] = {}
    found = np.fromiter(
        (places.setdefault(value, len(places)) for value in values), dtype=np.int64, count=len(values)
    )
    return list(places), found
