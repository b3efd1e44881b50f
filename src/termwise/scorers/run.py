"""A ranker of which there is a run and nothing else: whatever it ranked has a score, by its rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from termwise.errors import DuplicateIdError, UnknownIdError
from termwise.records import Run
from termwise.scorers.protocol import BasePairScorer
from termwise.validation import check_pairs


class RunScorer(BasePairScorer):
    """Scores the documents of a run by their ranks; a `termwise.scorers.protocol.PairScorer`.

    Ranks only: scores of a run say nothing of documents that are not in it, and a manipulated text never is. So such a
    scorer can be asked what is made of real documents alone, and read by rank (`termwise.probes.ByRank`) or with the
    threshold 0.

    Parameters
    ----------
    run : Run
        The rankings.
    queries : mapping of str to str
        Text of each query, by identifier.
    texts : mapping of str to str
        Text of each document, by identifier.
    name : str, optional
        By default that of the run.

    Raises
    ------
    DuplicateIdError
        If two queries of the run say the same: a text alone would not tell which is meant.
    """

    def __init__(
        self, run: Run, queries: Mapping[str, str], texts: Mapping[str, str], *, name: str | None = None
    ) -> None:
        self.name = run.name if name is None else name
        self._ranks: dict[str, dict[str, int]] = {}
        for query_id, ranking in run.rankings.items():
            if query_id not in queries:
                continue
            query = queries[query_id]
            if query in self._ranks:
                raise DuplicateIdError(
                    "two queries of a run say the same, and a text alone does not tell which is meant",
                    facts=[("run", self.name), ("query", query), ("identifier", query_id)],
                    fixes=["leave one of them out of the run"],
                )
            ranks = self._ranks[query] = {}
            for rank, doc_id in enumerate(ranking.doc_ids, start=1):
                if doc_id in texts:
                    ranks.setdefault(texts[doc_id], rank)

    def knows(self, query: str, text: str) -> bool:
        """Whether the run ranks this text for this query."""
        return text in self._ranks.get(query, {})

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return minus the rank of each text for the query at the same place.

        Raises
        ------
        UnknownIdError
            If the run does not rank a text for its query.
        """
        check_pairs(queries, texts)
        found = np.empty(len(texts))
        for place, (query, text) in enumerate(zip(queries, texts, strict=True)):
            rank = self._ranks.get(query, {}).get(text, math.nan)
            if math.isnan(rank):
                raise UnknownIdError(
                    "the run does not rank this text for this query",
                    facts=[("run", self.name), ("query", query[:80]), ("text", text[:80])],
                    fixes=["ask a run only what is made of documents that it ranks"],
                )
            found[place] = -rank
        return found
