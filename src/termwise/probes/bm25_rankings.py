"""Reference rankings of a collection by BM25."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from termwise.errors import DataError
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
    depth : int, optional
        Number of candidates of each query.
    limit : int, optional
        Maximum number of queries, drawn with the seed; all by default.
    seed : int, optional
    name : str, optional
        Name of the collection.
    judged : str, optional
        Name of the judged collection that the queries belong to.
    progress : callable, optional
        Called with a stage, the amount done and its total.

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
        ).run
        ranked = {doc_id for ranking in run.rankings.values() for doc_id in ranking.doc_ids}
        if all(len(ranking.doc_ids) < 2 for ranking in run.rankings.values()):
            raise DataError(
                "BM25 finds two documents of the collection for none of the queries",
                facts=[("collection", name), ("queries", len(queries))],
                fixes=[
                    "name a collection with documents for the queries, `collection='COLLECTION'`",
                    "give rankings, `candidates='RUN'`",
                    "give a threshold, `delta=0.355`",
                ],
            )
        texts = (Document(*searcher.query_of(doc_id)) for doc_id in ranked)
        return ReferenceRankings.of_run(
            run, queries, texts, depth=depth, name=f"bm25 on {name}", judged=judged
        )
