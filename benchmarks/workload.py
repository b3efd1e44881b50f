"""Reference workload: 616,387 passages, 29 million postings, 994 queries of term ids.

The folder contains ``postings.npz.xz``, ``queries_terms.jsonl``, ``passages.txt.xz`` and ``queries_text.jsonl``.
"""

from __future__ import annotations

import io
import json
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from peers import Matrix

N_TERMS = 30_522


@dataclass(frozen=True)
class Workload:
    """Impacts by document, and queries as lists of term ids, in which repeated ids count."""

    matrix: Matrix
    queries: list[list[int]]

    @property
    def documents(self) -> int:
        """Number of passages."""
        return len(self.matrix[0]) - 1

    def head(self, documents: int) -> Workload:
        """Return the workload with the first passages only."""
        indptr, terms, impacts = self.matrix
        end = int(indptr[documents])
        return Workload((indptr[: documents + 1], terms[:end], impacts[:end]), self.queries)

    def write_weights(self, file: Path) -> None:
        """Write the impacts as JSON Lines for the model ``vectors``."""
        indptr, terms, impacts = self.matrix
        with file.open("w") as out:
            for row in range(self.documents):
                span = slice(int(indptr[row]), int(indptr[row + 1]))
                vector = dict(zip(map(str, terms[span].tolist()), impacts[span].tolist(), strict=True))
                out.write(json.dumps({"id": str(row), "vector": vector}, separators=(",", ":")) + "\n")

    def permuted(self, order: npt.NDArray[np.integer]) -> Workload:
        """Return the workload with the passages in another order."""
        indptr, terms, impacts = self.matrix
        lengths = np.diff(indptr)[order]
        boundaries = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.repeat(indptr[:-1][order] - boundaries[:-1], lengths) + np.arange(boundaries[-1])
        return Workload((boundaries, terms[positions], impacts[positions]), self.queries)

    def long_queries(self, length: int, *, count: int, seed: int) -> list[list[int]]:
        """Return queries of exactly `length` distinct terms, taken from one row or from several."""
        indptr, terms, _ = self.matrix
        generator = np.random.default_rng(seed)
        queries = []
        for _ in range(count):
            found: dict[int, None] = {}
            while len(found) < length:
                row = int(generator.integers(0, self.documents))
                found.update(dict.fromkeys(terms[indptr[row] : indptr[row + 1]].tolist()))
            queries.append(list(found)[:length])
        return queries


def load(folder: Path) -> Workload:
    """Read the workload."""
    with lzma.open(folder / "postings.npz.xz") as file:
        arrays = np.load(io.BytesIO(file.read()))
    lengths = arrays["lengths"].astype(np.int64)
    matrix = (
        np.concatenate([[0], np.cumsum(lengths)]),
        arrays["terms"].astype(np.int32),
        arrays["impacts"],
    )
    lines = (folder / "queries_terms.jsonl").read_text().splitlines()
    return Workload(matrix, [json.loads(line)["terms"] for line in lines])


def load_texts(folder: Path) -> tuple[list[str], list[str]]:
    """Read the passages with texts, and their queries."""
    with lzma.open(folder / "passages.txt.xz", "rt", encoding="utf-8") as file:
        passages = file.read().split("\n")
    if passages[-1] == "":
        passages.pop()
    lines = (folder / "queries_text.jsonl").read_text().splitlines()
    return passages, [json.loads(line)["text"] for line in lines]
