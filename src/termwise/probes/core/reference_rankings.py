"""Reference rankings: queries with candidates, whose scores determine the tie threshold of a scorer.

A score difference is meaningful only in relation to the differences that decide ranks. A scorer therefore scores the
candidates of real queries first; see `termwise.probes.core.score_gaps`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from termwise.display.safe_text import shown
from termwise.errors import DataError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.probes.core.sample import Sample, ScorePairs
from termwise.probes.core.score_gaps import Scores
from termwise.records import Document, Run
from termwise.scorers.protocol import TextScorer

DEPTH = 50
"""Default number of candidates of each query."""


@dataclass(frozen=True, eq=False)
class ReferenceRankings:
    """Queries with candidates.

    Attributes
    ----------
    name : str
        Origin of the rankings.
    queries : mapping of str to str
        Texts of queries, by identifier.
    candidates : mapping of str to tuple of str
        Texts of candidates, by query.
    judged : str, optional
        Name of the judged collection that the queries belong to, as in probe names after ``@``. By default queries are
        matched by identifier and text alone.
    """

    name: str
    queries: Mapping[str, str]
    candidates: Mapping[str, tuple[str, ...]]
    judged: str | None = None

    def mismatch(self, probe: str, samples: Iterable[Sample]) -> str | None:
        """Return the reason if the rankings do not cover the queries of the samples of a probe, else None."""
        origin = probe.partition("@")[2]
        if self.judged is not None and origin and origin != self.judged:
            return f"the rankings are of queries of {self.judged}, its queries of {origin}"
        missing = {
            sample.query_id
            for sample in samples
            if len(self.candidates.get(sample.query_id, ())) < 2
            or sample.query != self.queries[sample.query_id]
        }
        return f"{len(missing)} of its queries have no ranking" if missing else None

    def score(self, scorer: TextScorer, score_pairs: ScorePairs) -> dict[str, Scores]:
        """Score the candidates of each query, in their order; `DataError` if a score is infinite."""
        pairs = [
            (self.queries[query_id], text) for query_id, texts in self.candidates.items() for text in texts
        ]
        scores = score_pairs(scorer, pairs, "score candidates")
        for (query, text), score in scores.items():
            if not math.isfinite(score):
                raise DataError(
                    "thresholds and scales require finite scores",
                    facts=[
                        ("scorer", scorer.name),
                        ("query", shown(query)),
                        ("text", shown(text)),
                        ("score", score),
                    ],
                    fixes=[
                        Fix.use("give a threshold, {}", delta=0.355),
                        "return finite scores from the ranker",
                    ],
                )
        return {
            query_id: np.array([scores[self.queries[query_id], text] for text in texts], dtype=np.float64)
            for query_id, texts in self.candidates.items()
        }

    @classmethod
    def of_run(
        cls,
        run: Run,
        queries: Mapping[str, str],
        documents: Iterable[Document],
        *,
        depth: int = DEPTH,
        name: str | None = None,
        judged: str | None = None,
    ) -> ReferenceRankings:
        """Take the first documents of each ranking of a run.

        Parameters
        ----------
        run : Run
        queries : mapping of str to str
            Texts by identifier; queries that are not in the run are ignored.
        documents : iterable of Document
            The collection; candidates that are not in it are ignored.
        depth : int, optional
            Number of candidates of each query.
        name : str, optional
            By default the name of the run.
        judged : str, optional
            Name of the judged collection that the queries belong to.

        Raises
        ------
        DataError
            If no query has two candidates with a text.
        """
        doc_ids = {
            query_id: ranking.doc_ids[:depth]
            for query_id, ranking in run.rankings.items()
            if query_id in queries
        }
        needed = {doc_id for candidates in doc_ids.values() for doc_id in candidates}
        texts = {document.doc_id: document.text for document in documents if document.doc_id in needed}
        candidates = {
            query_id: tuple(texts[doc_id] for doc_id in ranked if doc_id in texts)
            for query_id, ranked in doc_ids.items()
        }
        candidates = {query_id: texts for query_id, texts in candidates.items() if len(texts) > 1}
        if not candidates:
            raise DataError(
                "no query of the run has two candidates in the collection",
                facts=[("run", run.name), ("queries", len(queries))],
                fixes=["name the run, the queries and the collection that belong together"],
            )
        ranked_queries = {query_id: queries[query_id] for query_id in candidates}
        return cls(run.name if name is None else name, ranked_queries, candidates, judged)
