"""Graphs of generated vectors: equal vectors give equal files, and approximate search gives exact scores."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searches import searching
from tests.unit.search.vector_index import write_vector_index

import termwise
from termwise.indexing import build_graph
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors

pytest.importorskip("usearch", reason="needs termwise[approximate], which scripts/setup dev installs")

VOCABULARY = Vocabulary([f"t{number}" for number in range(9)])


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    documents=st.integers(1, 60),
    dimensions=st.sampled_from([1, 2, 24]),
    windows=st.integers(1, 80),
    k=st.integers(1, 20),
)
def test_equal_vectors_have_equal_graphs_and_exact_scores(
    seed: int, documents: int, dimensions: int, windows: int, k: int
) -> None:
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 4, documents)
    matrix = generator.standard_normal((int(counts.sum()), dimensions))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix[: len(matrix) // 4] = matrix[-1:]  # many equal ones
    vectors = DocumentVectors.of(np.concatenate([[0], np.cumsum(counts)]), matrix)
    table = TermVectors.of(generator.standard_normal((len(VOCABULARY), dimensions)), VOCABULARY.id)
    doc_ids = [f"d{number}" for number in range(documents)]
    with tempfile.TemporaryDirectory() as folder:
        one, other = (
            write_vector_index(Path(folder) / name, doc_ids, vectors, table, VOCABULARY) for name in "ab"
        )
        graphs, others = build_graph(one), build_graph(other)
        assert [path.name for path in graphs] == [path.name for path in others]
        assert [path.read_bytes() for path in graphs] == [path.read_bytes() for path in others]
        exact, approximate = termwise.open(one), searching(termwise.open(one), approximate=windows)
        for query in ("t1 t2", "t3", "t8 t8 t0"):
            every = exact.rank(query, k=documents)
            score = dict(zip(every.doc_ids, every.scores.tolist(), strict=True))
            found = approximate.rank(query, k=k)
            assert len(found) == min(k, len(every))
            assert [score[doc_id] for doc_id in found.doc_ids] == found.scores.tolist()
            order = [every.doc_ids.index(doc_id) for doc_id in found.doc_ids]
            assert order == sorted(order)
