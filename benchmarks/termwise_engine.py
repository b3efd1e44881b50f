"""termwise behind the interface of `peers`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from peers import Hits, Matrix, Peer, TermQuery
from timing import each
from workload import N_TERMS

import termwise
from termwise.engine.query_vector import QueryVector, query_vector
from termwise.engine.retrieval import first_stage, score_documents
from termwise.index import Index, IndexWriter
from termwise.records import Document
from termwise.search import Searcher
from termwise.text import Vocabulary
from termwise.weights import TermWeights

ROWS = 8192
"""Documents that are written at a time."""


class Termwise(Peer):
    """termwise over given impacts; the clock runs around `first_stage`, query vectors are made before."""

    def __init__(self, *, reorder: bool = True, threads: int = 2) -> None:
        self.name = "termwise" if reorder else "termwise, input order"
        self._reorder = reorder
        self._threads = threads
        self.index: Index

    @property
    def version(self) -> str:
        """Version of termwise."""
        return termwise.__version__

    def build(self, data: Matrix, workdir: Path) -> None:
        """Index impacts, including the reordering of documents."""
        indptr, terms, impacts = data
        vocabulary = Vocabulary(str(number) for number in range(N_TERMS))
        with IndexWriter(
            workdir / "index", reorder=self._reorder, threads=self._threads, overwrite=True
        ) as writer:
            for first in range(0, len(indptr) - 1, ROWS):
                last = min(first + ROWS, len(indptr) - 1)
                begin, end = indptr[first], indptr[last]
                rows = TermWeights(
                    indptr[first : last + 1] - begin, terms[begin:end], impacts[begin:end], vocabulary.id
                )
                writer.add([str(row) for row in range(first, last)], rows)
            writer.commit(vocabulary, encoder={})

    def open(self, workdir: Path) -> None:
        """Map the index."""
        self.index = Index.open(workdir / "index")

    def prepare(self, query: TermQuery, k: int) -> QueryVector:
        """Convert term ids to a query vector."""
        terms, counts = np.unique(np.asarray(query, dtype=np.int64), return_counts=True)
        row = TermWeights([0, len(terms)], terms, counts, self.index.manifest.vocabulary)
        return query_vector(self.index, row)

    def find(self, prepared: QueryVector, k: int) -> Any:
        """Search."""
        return first_stage(self.index, prepared, k)

    def hits(self, prepared: QueryVector, found: Any) -> Hits:
        """Convert the scores."""
        ordinals, scores = found
        return ordinals, scores.astype(np.float32)

    def rerank(
        self, queries: Sequence[TermQuery], candidates: Sequence[npt.NDArray[np.int64]]
    ) -> npt.NDArray[np.float64]:
        """Score the candidates of each query, and return the seconds of each."""
        pairs = [(self.prepare(query, 0), chosen) for query, chosen in zip(queries, candidates, strict=True)]
        return each(pairs, lambda pair: score_documents(self.index, *pair))()

    def bytes_on_disk(self, workdir: Path) -> int:
        """Return the bytes of the files of the index."""
        return sum(file.length for file in Index.open(workdir / "index").manifest.files())


class TermwiseBM25(Peer):
    """BM25 of termwise on text; the clock runs from the text of a query to ranked identifiers."""

    name = "termwise BM25"

    def __init__(self, *, threads: int = 2) -> None:
        self._threads = threads
        self._searcher: Searcher

    @property
    def version(self) -> str:
        """Version of termwise."""
        return termwise.__version__

    def build(self, data: Any, workdir: Path) -> None:
        """Analyse and index texts."""
        documents = [Document(str(number), text) for number, text in enumerate(data)]
        termwise.build_index(
            documents,
            workdir / "text",
            analyzer="english",
            overwrite=True,
            options=termwise.BuildOptions(threads=self._threads),
        )

    def open(self, workdir: Path) -> None:
        """Open the index."""
        self._searcher = termwise.open(workdir / "text")

    def find(self, prepared: str, k: int) -> Any:
        """Analyse the query and search."""
        return self._searcher.rank(prepared, k=k)

    def hits(self, prepared: str, found: Any) -> Hits:
        """Convert the identifiers and scores."""
        return np.array([int(doc_id) for doc_id in found.doc_ids]), found.scores.astype(np.float32)

    def bytes_on_disk(self, workdir: Path) -> int:
        """Return the bytes of the files of the index."""
        return sum(file.length for file in self._searcher.index.manifest.files())
