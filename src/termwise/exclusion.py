"""Which documents are no answer to a query: the seed that it was made of, above all."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from termwise.errors import ParameterError
from termwise.records import Ranking

Exclusion = Mapping[str, str | AbstractSet[str]] | Literal["id"] | None
"""Documents to leave out per query: one id or several, or ``"id"`` for the one with the query's own id."""


@dataclass(frozen=True)
class Excluded:
    """An `Exclusion` that was looked at once, to be asked for many queries.

    Attributes
    ----------
    rule : {"none", "id", "listed"}
        Which of the three it is.
    listed : mapping of str to frozenset of str
        Documents by query, where they are listed.

    Examples
    --------
    >>> Excluded.of({"q": "seed"}).of_query("q"), Excluded.of("id").of_query("q"), Excluded.of(None).of_query("q")
    (frozenset({'seed'}), frozenset({'q'}), frozenset())
    """

    rule: Literal["none", "id", "listed"]
    listed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Exclusion) -> Excluded:
        """Look at what was given.

        Raises
        ------
        ParameterError
            If it is a word other than ``"id"``, or no mapping.
        """
        if given is None:
            return cls("none")
        if isinstance(given, str):
            if given == "id":
                return cls("id")
            raise ParameterError(
                f"unknown rule for leaving documents out: {given!r}",
                facts=[("given", given), ("expected", "'id', or a mapping from query id to document ids")],
            )
        if not isinstance(given, Mapping):
            raise ParameterError(
                "what is left out is a mapping from query id to document ids, or 'id'",
                facts=[("given", type(given).__name__)],
            )
        listed = {
            query_id: frozenset((doc_ids,) if isinstance(doc_ids, str) else doc_ids)
            for query_id, doc_ids in given.items()
        }
        return cls("listed", listed)

    def of_query(self, query_id: str) -> frozenset[str]:
        """Return the documents that are left out for a query."""
        return frozenset((query_id,)) if self.rule == "id" else self.listed.get(query_id, frozenset())

    def kept(self, ranking: Ranking) -> Ranking:
        """Return a ranking without what is left out for its query; what stood below moves up."""
        left_out = self.of_query(ranking.query_id)
        keep = [doc_id not in left_out for doc_id in ranking.doc_ids]
        if all(keep):
            return ranking
        doc_ids = [doc_id for doc_id, kept in zip(ranking.doc_ids, keep, strict=True) if kept]
        return Ranking(doc_ids, ranking.scores[np.array(keep, dtype=np.bool_)], ranking.query_id)
