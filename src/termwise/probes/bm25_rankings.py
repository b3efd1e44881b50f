"""Reference rankings of a collection by BM25."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from termwise.errors import DataError
from termwise.fixes import Fix
from termwise.indexing import BuildOptions, build_index
from termwise.probes.core.reference_rankings import DEPTH, ReferenceRankings
from termwise.probes.core.sample import random_for
from termwise.progress import Progress, no_progress
from termwise.records import Document, Query

QUERIES = 50
"""Number of queries for estimating the median over all queries; it is small because networks score all candidates."""


def bm25_rankings(
    queries: Mapping[str, str],
    documents: Callable[[], Iterable[Document]],
    *,
    depth: int = DEPTH,
    limit: int | None = None,
    seed: int = 0,
    name: str = "collection",
    judged: str | None = None,
    progress: Progress = no_progress,
) -> ReferenceRankings:
    """Rank a collection with BM25 and the default settings of an index.

    Parameters
    ----------
    queries : mapping of str to str
        Texts by identifier.
    documents : callable
        Returns an iterator over all documents of the collection at each call.
    limit : int, optional
        Maximum number of queries, drawn with the seed; all by default.
    name : str, optional
        Name of the collection.
    depth, seed, judged
        See `ReferenceRankings.of_run` and `termwise.probes.ProbeSettings`.
    progress : callable, optional
        Called with a stage, the amount done, and its total.

    Raises
    ------
    DataError
        If BM25 retrieves fewer than two documents for every query.
    """
    with tempfile.TemporaryDirectory(prefix="termwise-") as folder:
        options = BuildOptions(progress=progress)
        searcher = build_index(documents(), Path(folder) / "index", store_text=True, options=options)
        drawn = sorted(queries, key=lambda query_id: random_for(seed, "candidates", query_id).random())
        run = searcher.rank_many(
            [Query(query_id, queries[query_id]) for query_id in sorted(drawn[:limit])], k=depth
        )
        ranked = {doc_id for ranking in run.rankings.values() for doc_id in ranking.doc_ids}
        if all(len(ranking.doc_ids) < 2 for ranking in run.rankings.values()):
            raise DataError(
                "BM25 finds two documents of the collection for none of the queries",
                facts=[("collection", name), ("queries", len(queries))],
                fixes=[
                    Fix.use("name a collection with documents for the queries, {}", collection="COLLECTION"),
                    Fix.use("give rankings, {}", candidates="RUN"),
                    Fix.use("give a threshold, {}", delta=0.355),
                ],
            )
        ordinals = searcher.index.find_many(list(ranked))
        stored = zip(ranked, searcher.index.document_texts(ordinals), strict=True)
        texts = (Document(doc_id, text or "") for doc_id, text in stored)
        return ReferenceRankings.of_run(
            run, queries, texts, depth=depth, name=f"bm25 on {name}", judged=judged
        )
