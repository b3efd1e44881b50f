"""Re-ranking of candidates by their stored texts, with any text scorer."""

from __future__ import annotations

import time
from collections.abc import Sequence

from termwise.engine.retrieval import candidate_ordinals
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import Index
from termwise.records import Query, Ranking
from termwise.scorers.protocol import TextScorer
from termwise.search.candidates import CandidateRanker, rank_candidates
from termwise.search.request import query_text


class TextReranker(CandidateRanker):
    """Ranks candidates of an index by scoring their stored texts; stateless.

    Parameters
    ----------
    index : Index
        Of any model, built with ``store_text=True``.
    scorer : TextScorer

    Raises
    ------
    ParameterError
        If the index stores no texts.
    """

    run_name = "reranked"

    def __init__(self, index: Index, scorer: TextScorer) -> None:
        if not index.stores_text:
            raise ParameterError(
                "the index stores no texts, and the scorer reads texts",
                facts=[("index", index.path)],
                fixes=[Fix.build(store_text=True)],
            )
        self._index = index
        self._scorer = scorer

    def _rank(self, query: str | Query, candidates: Sequence[str], k: int) -> tuple[Ranking, float, float]:
        query_id = query.query_id if isinstance(query, Query) else ""
        begin = time.perf_counter()
        ordinals = candidate_ordinals(self._index, candidates, query_id)
        texts = [text or "" for text in self._index.document_texts(ordinals)]
        middle = time.perf_counter()
        scores = self._scorer.score(query_text(query), texts)
        return rank_candidates(candidates, scores, query_id, k), middle - begin, time.perf_counter() - middle
