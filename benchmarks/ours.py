"""termwise behind the interface of `peers`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from peers import Hits, Matrix, Peer, TermQuery
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


def view_bytes(index: Index) -> dict[str, int]:
    """Count the bytes of the inverted and of the forward view of an index; document order, ids and terms apart."""
    views = {"inverted": 0, "forward": 0, "order": 0}
    for segment in index.segments:
        for name, size in segment.section_bytes.items():
            view = "order" if name == "documents.order" else "forward" if "forward" in name else "inverted"
            views[view] += size
    return views


class Termwise(Peer):
    """Our engine over given impacts; the clock runs around `first_stage`, query rows made before."""

    takes = "impacts"
    exact = True

    def __init__(self, *, reorder: bool = True, threads: int = 2) -> None:
        self.name = "termwise" if reorder else "termwise, input order"
        self._reorder = reorder
        self._threads = threads
        self.index: Index

    @property
    def version(self) -> str:
        """Version of termwise."""
        return termwise.__version__

    def build(self, data: Matrix, workdir: str | os.PathLike[str]) -> None:
        """Index impacts; the ordering of documents is part of it."""
        indptr, terms, impacts = data
        vocabulary = Vocabulary(str(number) for number in range(N_TERMS))
        path = Path(workdir) / "index"
        with IndexWriter(path, reorder=self._reorder, threads=self._threads, overwrite=True) as writer:
            for first in range(0, len(indptr) - 1, ROWS):
                last = min(first + ROWS, len(indptr) - 1)
                begin, end = indptr[first], indptr[last]
                rows = TermWeights(
                    indptr[first : last + 1] - begin, terms[begin:end], impacts[begin:end], vocabulary.id
                )
                writer.add([str(row) for row in range(first, last)], rows)
            writer.commit(vocabulary, encoder={})

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Map the index."""
        self.index = Index.open(Path(workdir) / "index")

    def vectors(self, queries: Sequence[TermQuery]) -> list[QueryVector]:
        """Make query rows of lists of term ids."""
        made = []
        for query in queries:
            terms, counts = np.unique(np.asarray(query, dtype=np.int64), return_counts=True)
            row = TermWeights([0, len(terms)], terms, counts, self.index.manifest.vocabulary)
            made.append(query_vector(self.index, row))
        return made

    def search(self, queries: Sequence[TermQuery], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search query by query."""
        seconds = np.zeros(len(queries))
        hits: list[Hits] = []
        for position, vector in enumerate(self.vectors(queries)):
            begin = time.perf_counter()
            ordinals, scores = first_stage(self.index, vector, k)
            seconds[position] = time.perf_counter() - begin
            hits.append((ordinals, scores.astype(np.float32)))
        return hits, seconds

    def rerank(
        self, queries: Sequence[TermQuery], candidates: Sequence[npt.NDArray[np.int64]]
    ) -> npt.NDArray[np.float64]:
        """Score given documents; return the seconds each query took."""
        seconds = np.zeros(len(queries))
        for position, vector in enumerate(self.vectors(queries)):
            begin = time.perf_counter()
            score_documents(self.index, vector, candidates[position])
            seconds[position] = time.perf_counter() - begin
        return seconds

    def view_bytes(self) -> dict[str, int]:
        """See the function of this name."""
        return view_bytes(self.index)

    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """Sizes of the files of the index."""
        return {file.name: file.length for file in Index.open(Path(workdir) / "index").manifest.files()}


class TermwiseBM25(Peer):
    """BM25 on text, from the text of a query to ranked identifiers."""

    takes = "text"
    exact = True
    name = "termwise BM25"

    def __init__(self, *, threads: int = 2) -> None:
        self._threads = threads
        self._searcher: Searcher

    @property
    def version(self) -> str:
        """Version of termwise."""
        return termwise.__version__

    def build(self, data: Any, workdir: str | os.PathLike[str]) -> None:
        """Analyse and index texts."""
        documents = [Document(str(number), text) for number, text in enumerate(data)]
        termwise.build_index(documents, Path(workdir) / "text", overwrite=True, threads=self._threads)

    def open(self, workdir: str | os.PathLike[str]) -> None:
        """Open the index."""
        self._searcher = Searcher.open(Path(workdir) / "text")

    def search(self, queries: Sequence[str], k: int) -> tuple[list[Hits], npt.NDArray[np.float64]]:
        """Search query by query, analysis of the query included."""
        seconds = np.zeros(len(queries))
        hits: list[Hits] = []
        for position, query in enumerate(queries):
            begin = time.perf_counter()
            ranking = self._searcher.rank(query, k=k)
            seconds[position] = time.perf_counter() - begin
            hits.append((np.array([int(d) for d in ranking.doc_ids]), ranking.scores.astype(np.float32)))
        return hits, seconds

    def files(self, workdir: str | os.PathLike[str]) -> dict[str, int]:
        """Sizes of the files of the index."""
        return {file.name: file.length for file in Index.open(Path(workdir) / "text").manifest.files()}
