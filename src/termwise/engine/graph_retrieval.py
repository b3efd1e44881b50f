"""Approximate retrieval by vectors: candidates from a graph, with exact scores.

A graph proposes windows of a segment. Their documents get the exact scores of `dense_retrieval`, so only the set of
candidates is approximate: a result can be missing, but no score is wrong. Documents with equal scores are in the order
of the input, as far as they are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from termwise.engine.allowed_documents import AllowedRows
from termwise.engine.dense_retrieval import best_by_vectors, score_by_vectors, top_k
from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import SegmentResults, rows_left_out
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.segment import Segment

if TYPE_CHECKING:
    from termwise.index.vector_graph import VectorGraph


@dataclass(frozen=True, eq=False)
class ApproximateRetrieval:
    """Approximate search of an index with vectors: only documents that a graph proposes are scored.

    Attributes
    ----------
    graphs : mapping of Path to VectorGraph
        Graph by the path of the vectors of a segment, see `open_graphs`. Segments without one are searched exactly.
    windows : int
        Number of windows that each graph proposes for a query, 1 or more.
    """

    graphs: Mapping[Path, VectorGraph]
    windows: int

    def windows_for(self, index: Index, k: int) -> int | None:
        """Return the least number of windows that a search for `k` results takes from each graph.

        Returns
        -------
        int or None
            The larger one of `windows` and `k`; None if all vectors are read, so that the search is exact.
        """
        count = max(self.windows, k)
        for segment in index.segments:
            vectors = segment.vectors
            if vectors is None or vectors.path not in self.graphs:
                continue
            if k < len(segment) and count < len(vectors.rows):
                return count
        return None

    def search(
        self, segment: Segment, query: QueryVector, k: int, allowed: AllowedRows | None = None
    ) -> SegmentResults:
        """Find the `k` best rows of a segment among those that its graph proposes; see `SegmentResults`.

        The graph proposes more than `windows` windows if `k` is larger, or if the windows belong to fewer than `k`
        documents. All windows are read if the graph would have to propose all of them, or all documents are wanted.
        """
        vectors = segment.vectors
        assert vectors is not None, "the index has vectors"
        left_out = rows_left_out(segment, allowed)
        available = len(segment) if allowed is None else allowed.count
        graph = self.graphs.get(vectors.path)
        if graph is None or query.vector is None or not query.vector.any() or k >= available:
            return best_by_vectors(vectors, query, k, left_out)[:2]
        count = max(self.windows, k)
        while count < len(vectors.rows):
            # Of one type and in order, windows are found in less time.
            windows = np.sort(graph.nearest(query.vector, count).astype(vectors.starts.dtype))
            rows = np.searchsorted(vectors.starts, windows, side="right") - 1
            rows = rows[np.diff(rows, prepend=-1) > 0]
            if left_out is not None:
                rows = rows[~left_out[rows]]
            if len(rows) >= k:
                scores, _ = score_by_vectors(vectors, query, rows)
                best = top_k(scores, k)
                return rows[best], scores[best]
            count *= 2
        return best_by_vectors(vectors, query, k, left_out)[:2]


def open_graphs(index: Index) -> dict[Path, VectorGraph]:
    """Open the graphs of an index by the paths of the vectors of their segments.

    Raises
    ------
    ParameterError
        If the index has no vectors.
    MissingExtraError, MissingFileError, CorruptIndexError
        See `VectorGraph`.
    """
    if index.term_vectors is None:
        raise ParameterError(
            "only an index with vectors can be searched approximately",
            facts=[("index", index.path)],
            fixes=[Fix.omit("approximate")],
        )
    from termwise.index.vector_graph import VectorGraph, graph_files

    files = [file for file in graph_files(index) if len(file.vectors.rows)]
    built = [file for file in files if file.exists]
    files = built or files  # segments that were added since the graphs were built have none
    return {file.vectors.path: VectorGraph(file) for file in files}
