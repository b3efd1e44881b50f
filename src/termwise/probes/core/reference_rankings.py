"""Real rankings that a scorer is measured on before it is asked anything: what a threshold is taken from.

A difference between two scores means something only beside those that decide about ranks. So the scorer scores
candidates of real queries first, and the gaps between its best ones are looked at (`termwise.probes.core.score_gaps`).
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError
from termwise.indexing import build_index
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.core.score_pairs import ask
from termwise.progress import Progress, no_progress
from termwise.records import Document, Query, Run
from termwise.scorers import ScoreCache
from termwise.scorers.protocol import TextScorer

DEPTH = 50
"""Candidates of each query."""

QUERIES = 50
"""Queries, where a median over all of them is wanted: a network reads every candidate."""

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReferenceRankings:
    """Queries, and candidates for each.

    Attributes
    ----------
    name : str
        Where they come from.
    queries : mapping of str to str
        Texts of queries, by identifier.
    candidates : mapping of str to tuple of str
        Texts of candidates, by query.
    judged : str, optional
        Name of the judged collection whose queries they are, as probes have it after ``@``. Unless given, a query is
        known by identifier and text alone.
    """

    name: str
    queries: Mapping[str, str]
    candidates: Mapping[str, tuple[str, ...]]
    judged: str | None = None

    def foreign(self, probe: str, samples: Iterable[Sample]) -> str | None:
        """Say why the rankings are not those of the queries of samples; None where they are.

        Parameters
        ----------
        probe : str
            Name of the probe. What stands behind its ``@`` is where its texts are from.
        samples : iterable of Sample
        """
        texts = probe.partition("@")[2]
        if self.judged is not None and texts and texts != self.judged:
            return f"the rankings are of queries of {self.judged}, its queries of {texts}"
        lacking = {
            one.query_id
            for one in samples
            if len(self.candidates.get(one.query_id, ())) < 2 or one.query != self.queries[one.query_id]
        }
        return f"{len(lacking)} of its queries have no ranking" if lacking else None

    def scored(
        self, scorer: TextScorer, *, store: ScoreCache | None = None, progress: Progress = no_progress
    ) -> dict[str, Scores]:
        """Score all candidates.

        Returns
        -------
        dict of str to ndarray of float64
            By query, in the order of the candidates.

        Raises
        ------
        DataError
            If a score is infinite: no threshold or scale can be taken from it.
        TermwiseError
            See `termwise.probes.core.score_pairs.ask`.
        """
        pairs = [
            (self.queries[query_id], text) for query_id, texts in self.candidates.items() for text in texts
        ]
        found = ask(scorer, pairs, store=store, progress=progress, stage="score candidates")
        for (query, text), score in found.items():
            if not math.isfinite(score):
                raise DataError(
                    "thresholds and scales are taken from finite scores",
                    facts=[
                        ("scorer", scorer.name),
                        ("query", shown(query)),
                        ("text", shown(text)),
                        ("score", score),
                    ],
                    fixes=[
                        "--delta NUMBER, a threshold that needs no rankings",
                        "let the ranker give finite scores",
                    ],
                )
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
        judged: str | None = None,
    ) -> ReferenceRankings:
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
        judged : str, optional
            Name of the judged collection that the queries are of.

        Raises
        ------
        DataError
            If no query has two candidates with a text.
        """
        found = _candidates(run, queries, documents, depth)
        if not found:
            raise DataError(
                "no query of the run has two candidates in the collection",
                facts=[("run", run.name), ("queries", len(queries))],
                fixes=["name the run, the queries and the collection that belong together"],
            )
        return cls(run.name if name is None else name, _of(queries, found), found, judged)

    @classmethod
    def by_bm25(
        cls,
        queries: Mapping[str, str],
        documents: Callable[[], Iterable[Document]],
        *,
        depth: int = DEPTH,
        most: int | None = None,
        seed: int = 0,
        name: str = "collection",
        judged: str | None = None,
        progress: Progress = no_progress,
    ) -> ReferenceRankings:
        """Take what BM25 ranks first, with the defaults of an index.

        Parameters
        ----------
        queries : mapping of str to str
            By identifier.
        documents : callable
            Gives the documents of the collection, from the first, each time.
        depth : int, optional
            Candidates of each query.
        most : int, optional
            Queries, at the most, drawn by the seed; all unless given.
        seed : int, optional
            Of the draw.
        name : str, optional
            Of the collection.
        judged : str, optional
            Name of the judged collection that the queries are of.
        progress : callable, optional
            Called with a stage, what is done, and its total.

        Raises
        ------
        DataError
            If BM25 finds two documents for no query.
        """
        with tempfile.TemporaryDirectory(prefix="termwise-") as folder:
            searcher = build_index(documents(), Path(folder) / "index", store_text=True, progress=progress)
            drawn = sorted(queries, key=lambda query_id: random_for(seed, "candidates", query_id).random())
            asked = [Query(query_id, queries[query_id]) for query_id in sorted(drawn[:most])]
            run = searcher.rank_many(asked, k=depth).run
            ranked = {doc_id for ranking in run.rankings.values() for doc_id in ranking.doc_ids}
            texts = (Document(*searcher.query_of(doc_id)) for doc_id in ranked)
            found = _candidates(run, queries, texts, depth)
        if not found:
            raise DataError(
                "BM25 finds two documents of the collection for none of the queries",
                facts=[("collection", name), ("queries", len(queries))],
                fixes=[
                    "--collection COLLECTION, with documents that the queries ask for",
                    "--candidates RUN, rankings of your own",
                    "--delta NUMBER, a threshold that needs no rankings",
                ],
            )
        return cls(f"bm25 on {name}", _of(queries, found), found, judged)


def _candidates(
    run: Run, queries: Mapping[str, str], documents: Iterable[Document], depth: int
) -> dict[str, tuple[str, ...]]:
    """Return texts that a run ranks first, of each query of which there are two."""
    wanted = {
        query_id: ranking.doc_ids[:depth] for query_id, ranking in run.rankings.items() if query_id in queries
    }
    needed = {doc_id for doc_ids in wanted.values() for doc_id in doc_ids}
    texts = {document.doc_id: document.text for document in documents if document.doc_id in needed}
    found = {
        query_id: tuple(texts[doc_id] for doc_id in doc_ids if doc_id in texts)
        for query_id, doc_ids in wanted.items()
    }
    return {query_id: candidates for query_id, candidates in found.items() if len(candidates) > 1}


def _of(queries: Mapping[str, str], found: Iterable[str]) -> dict[str, str]:
    return {query_id: queries[query_id] for query_id in found}
