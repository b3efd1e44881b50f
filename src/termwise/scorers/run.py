"""Scorer that reads scores from a TREC run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from termwise.errors import DuplicateIdError, UnknownIdError
from termwise.records import Run
from termwise.scorers.protocol import BasePairScorer


class RunScorer(BasePairScorer):
    """Scores the documents of a run by their ranks: the score is minus the rank.

    Scores of a run are not comparable between queries, and a text outside the run has none. Therefore probes can use
    such a scorer only with unchanged documents, and with the effect rule `termwise.probes.ByRank` or a threshold of 0.

    Parameters
    ----------
    run : Run
    queries : mapping of str to str
        Query texts by identifier.
    texts : mapping of str to str
        Document texts by identifier.

    Raises
    ------
    DuplicateIdError
        If two queries of the run have the same text.
    """

    def __init__(self, run: Run, queries: Mapping[str, str], texts: Mapping[str, str]) -> None:
        self.name = run.name
        self._ranks: dict[str, dict[str, int]] = {}
        for query_id, ranking in run.rankings.items():
            if query_id not in queries:
                continue
            query = queries[query_id]
            if query in self._ranks:
                raise DuplicateIdError(
                    "two queries of the run have the same text",
                    facts=[("run", self.name), ("query", query), ("query id", query_id)],
                    fixes=["remove one of them from the run"],
                )
            ranks = self._ranks[query] = {}
            for rank, doc_id in enumerate(ranking.doc_ids, start=1):
                if doc_id in texts:
                    ranks.setdefault(texts[doc_id], rank)

    def knows(self, query: str, text: str) -> bool:
        """Return whether the run ranks this text for this query."""
        return text in self._ranks.get(query, {})

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return minus the rank of each text, or raise `UnknownIdError` for a text that is not ranked."""
        scores = np.empty(len(texts))
        for position, (query, text) in enumerate(zip(queries, texts, strict=True)):
            if not self.knows(query, text):
                raise UnknownIdError(
                    "the run does not rank this text for this query",
                    facts=[("run", self.name), ("query", query[:80]), ("text", text[:80])],
                    fixes=["score only documents that the run ranks"],
                )
            scores[position] = -self._ranks[query][text]
        return scores
