"""Helpers of the tests of the index: write an index in one call, and list its contents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage, score_documents
from termwise.index import Index, IndexWriter
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

Row = Mapping[int, float]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Index]:
    """Return a function that writes an index of the given rows and opens it."""

    def write(
        rows: Sequence[Row],
        *,
        name: str = "index",
        ids: Sequence[str] | None = None,
        tokens: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
        background: bool = False,
        encoder: Mapping[str, Any] | None = None,
        floors: Any = None,
        query_weights: Any = None,
        attachments: Mapping[str, bytes] | None = None,
        **options: Any,
    ) -> Index:
        if tokens is None:
            tokens = [f"t{i}" for i in range(1 + max((max(row, default=0) for row in rows), default=0))]
            tokens = tokens[: len(tokens) - background]
        vocabulary = Vocabulary(tokens, background=background)
        path = tmp_path / name
        with IndexWriter(path, store_text=texts is not None, **options) as writer:
            writer.add(
                [f"d{i}" for i in range(len(rows))] if ids is None else ids,
                TermWeights.from_rows(rows, vocabulary.id),
                texts,
            )
            writer.commit(
                vocabulary,
                encoder=encoder or {},
                floors=floors,
                query_weights=query_weights,
                attachments=attachments,
            )
        return Index.open(path)

    return write


@pytest.fixture
def random_rows() -> Callable[..., list[dict[int, float]]]:
    """Return a function that makes rows with clusters: documents of one cluster share terms."""

    def random_rows(
        documents: int, terms: int, *, seed: int = 7, background: bool = False
    ) -> list[dict[int, float]]:
        generator = np.random.default_rng(seed)
        rows = []
        for _ in range(documents):
            cluster = int(generator.integers(4))
            chances = np.where(np.arange(terms) % 4 == cluster, 0.5, 0.05)
            row = {
                int(term): float(generator.integers(1, 4000)) / 100
                for term in np.flatnonzero(generator.random(terms) < chances)
            }
            if background:
                row[terms] = float(generator.integers(0, 50)) / 10
            rows.append(row)
        return rows

    return random_rows


@pytest.fixture
def search() -> Callable[..., tuple[list[int], list[float]]]:
    """Return a function that ranks the documents of an index for one row."""

    def search(index: Index, row: Row, k: int = 10) -> tuple[list[int], list[float]]:
        query = query_vector(index, TermWeights.from_rows([row], index.vocabulary.id))
        ordinals, scores = first_stage(index, query, k)
        again, matched = score_documents(index, query, ordinals)
        assert again.tolist() == scores.tolist()
        assert matched.all()
        return ordinals.tolist(), scores.tolist()

    return search


@pytest.fixture
def contents() -> Callable[[Path], dict[str, bytes]]:
    """Return a function that reads all files of a folder, folders inside it included."""

    def contents(folder: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    return contents
