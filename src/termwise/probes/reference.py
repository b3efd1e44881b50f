"""Real rankings that a scorer is measured on before it is asked anything: what a threshold is taken from.

A difference between two scores means something only beside those that decide about ranks. So the scorer scores
candidates of real queries first, and the gaps between its best ones are looked at (`termwise.probes.gaps`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.build import build_index
from termwise.errors import DataError
from termwise.probes.asking import ask
from termwise.progress import Progress, no_progress
from termwise.records import Document, Query, Run
from termwise.scorers import ScoreStore
from termwise.scoring import TextScorer

DEPTH = 100
"""Candidates of each query."""

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReferenceLists:
    """Queries, and candidates for each.

    Attributes
    ----------
    name : str
        Where they come from.
    queries : mapping of str to str
        Texts of queries, by identifier.
    candidates : mapping of str to tuple of str
        Texts of candidates, by query.
    """

    name: str
    queries: Mapping[str, str]
    candidates: Mapping[str, tuple[str, ...]]

    def scored(
        self, scorer: TextScorer, *, store: ScoreStore | None = None, progress: Progress = no_progress
    ) -> dict[str, Scores]:
        """Score all candidates.

        Returns
        -------
        dict of str to ndarray of float64
            By query, in the order of the candidates.

        Raises
        ------
        TermwiseError
            See `termwise.probes.asking.ask`.
        """
        pairs = [
            (self.queries[query_id], text) for query_id, texts in self.candidates.items() for text in texts
        ]
        found = ask(scorer, pairs, store=store, progress=progress)
        return {
            query_id: np.array([found[self.queries[query_id], text] for text in texts], dtype=np.float64)
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
    ) -> ReferenceLists:
        """Take the first documents of a run.

        Parameters
        ----------
        run : Run
        queries : mapping of str to str
            By identifier; those that the run has are taken.
        documents : iterable of Document
            The collection; candidates that it lacks are left out.
        depth : int, optional
            Candidates of each query.
        name : str, optional
            By default that of the run.

        Raises
        ------
        DataError
            If no query has two candidates with a text.
        """
        wanted = {
            query_id: ranking.doc_ids[:depth]
            for query_id, ranking in run.rankings.items()
            if query_id in queries
        }
        needed = {doc_id for doc_ids in wanted.values() for doc_id in doc_ids}
        texts = {document.doc_id: document.text for document in documents if document.doc_id in needed}
        candidates = {
            query_id: tuple(texts[doc_id] for doc_id in doc_ids if doc_id in texts)
            for query_id, doc_ids in wanted.items()
        }
        kept = {query_id: found for query_id, found in candidates.items() if len(found) > 1}
        if not kept:
            raise DataError(
                "no query of the run has two candidates in the collection",
                facts=[("run", run.name), ("queries", len(queries)), ("documents found", len(texts))],
                fixes=["name the run, the queries and the collection that belong together"],
            )
        return cls(run.name if name is None else name, {one: queries[one] for one in kept}, kept)

    @classmethod
    def by_bm25(
        cls,
        queries: Mapping[str, str],
        documents: Callable[[], Iterable[Document]],
        *,
        depth: int = DEPTH,
        name: str = "collection",
        progress: Progress = no_progress,
    ) -> ReferenceLists:
        """Take what BM25 ranks first, with the defaults of an index.

        Parameters
        ----------
        queries : mapping of str to str
            By identifier.
        documents : callable
            Gives the documents of the collection, from the first, each time.
        depth : int, optional
            Candidates of each query.
        name : str, optional
            Of the collection.
        progress : callable, optional
            Called with a stage, what is done, and its total.
        """
        with tempfile.TemporaryDirectory(prefix="termwise-") as folder:
            searcher = build_index(documents(), Path(folder) / "index", store_text=True, progress=progress)
            asked = [Query(query_id, text) for query_id, text in queries.items()]
            run = searcher.rank_many(asked, k=depth).run
            found = {doc_id for ranking in run.rankings.values() for doc_id in ranking.doc_ids}
            return cls.of_run(
                run,
                queries,
                (Document(*searcher.query_of(doc_id)) for doc_id in found),
                depth=depth,
                name=f"bm25 on {name}",
            )
