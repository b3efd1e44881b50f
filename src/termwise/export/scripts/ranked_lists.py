"""Exact best documents of a weighted sum over several ranked lists, of which only the beginnings are fetched.

The engine ranks the documents of each part of a query. The best documents of every list are fetched, and the scores
that a document lacks are asked for by its position. A document that is at the beginning of no list scores at most the
weighted sum of the last scores fetched. When the last result is above this bound, no other document can be a result;
otherwise, longer beginnings are fetched. (R. Fagin, A. Lotem, M. Naor: Optimal aggregation algorithms for middleware,
2003: the threshold algorithm.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

MARGIN = 100
"""Documents that are fetched beyond the number of results, for equal scores and for several rows of a document."""

GROWTH = 4

BIAS = 2**31 - 1
"""Term of the bias of a document in a sparse vector: no term has this number, and the vocabulary may grow."""

NO_TERMS = 2**31 - 2
"""Term of a row without terms, which no query has, for engines that refuse empty vectors."""


class Row(NamedTuple):
    """Score of a row, which is a document or a chunk of one."""

    position: int
    doc_id: str
    score: float


class Beginning(NamedTuple):
    """Beginning of a list.

    Attributes
    ----------
    rows : list of Row
        Distinct rows.
    rest : float or None
        Upper bound for the scores of the other rows of the list; None if there are none.
    """

    rows: list[Row]
    rest: float | None


class RankedList(Protocol):
    """Rows that an engine ranks; a row that is not in it has the score 0.

    Attributes
    ----------
    coefficient : float
        What its scores are multiplied by; 0 or more.
    matches : bool
        Whether its rows are results. A row that is in no such list is none.
    """

    coefficient: float
    matches: bool

    def best(self, limit: int) -> Beginning:
        """Return at most `limit` rows with the largest scores."""

    def rows(self, positions: Sequence[int]) -> list[Row]:
        """Return those of some rows that are in the list."""


def best_documents(lists: Sequence[RankedList], k: int, constant: float) -> list[tuple[str, float]]:
    """Return identifiers and scores of the best `k` documents; those with equal scores are in the order of the index.

    A document that is cut into chunks has the score of its best one.
    """
    limit = k + MARGIN
    while True:
        beginnings = [each.best(limit) for each in lists]
        doc_ids = {row.position: row.doc_id for begun in beginnings for row in begun.rows}
        totals = dict.fromkeys(doc_ids, 0.0)
        matched: set[int] = set()
        for each, begun in zip(lists, beginnings, strict=True):
            scores = {row.position: row.score for row in begun.rows}
            if begun.rest is not None:
                missing = [position for position in doc_ids if position not in scores]
                scores |= {row.position: row.score for row in each.rows(missing)} if missing else {}
            for position, score in scores.items():
                totals[position] += each.coefficient * score
            if each.matches:
                matched |= scores.keys()
        best: dict[str, float] = {}
        for position in sorted(matched, key=lambda position: (-totals[position], position)):
            best.setdefault(doc_ids[position], totals[position])
        found = list(best.items())[:k]
        bound = sum(
            each.coefficient * max(0.0, begun.rest)
            for each, begun in zip(lists, beginnings, strict=True)
            if begun.rest is not None
        )
        ended = all(begun.rest is None for each, begun in zip(lists, beginnings, strict=True) if each.matches)
        if ended or (len(found) == k and found[-1][1] > bound):
            return [(doc_id, score + constant) for doc_id, score in found]
        limit *= GROWTH
