"""The engine over an index with vectors agrees with plain loops over its numbers."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import dense_retrieval as reference
from tests.two_ways import way  # noqa: F401

from termwise.engine import dense_retrieval
from termwise.engine.dense_retrieval import Digits
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage, score_documents
from termwise.index import Index, IndexWriter
from termwise.index import document_spill as writers
from termwise.text.vocabulary import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

VOCABULARY = Vocabulary([f"t{i}" for i in range(9)])


@st.composite
def contents(draw: Any) -> tuple[DocumentVectors, TermVectors]:
    """Vectors with empty documents, several windows, ties, and terms without a vector."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    documents = draw(st.integers(1, 30) | st.just(90))
    dimensions = draw(st.sampled_from([1, 3, 20]))
    level = draw(st.sampled_from([1, 3, 127]))
    windows = generator.integers(0, draw(st.sampled_from([2, 4])), documents)
    rows = generator.integers(-level, level + 1, (int(windows.sum()), dimensions))
    scales = generator.choice([1.0, 0.5, 0.3], len(rows)).astype(np.float32)
    table = generator.integers(-127, 128, (len(VOCABULARY), dimensions))
    table[generator.random(len(table)) < 0.2] = 0
    shifts = generator.integers(0, draw(st.sampled_from([1, 6, 16])), len(table))
    return (
        DocumentVectors(np.concatenate([[0], np.cumsum(windows)]), rows, scales),
        TermVectors(table, shifts, draw(st.sampled_from([1.0, 0.125])), VOCABULARY.id),
    )


def queries() -> Any:
    weights = st.integers(1, 3).map(float) | st.floats(0.015625, 7.0, width=32)
    return st.dictionaries(st.integers(0, len(VOCABULARY) - 1), weights, max_size=6)


def build(folder: str, vectors: DocumentVectors, table: TermVectors, **options: Any) -> Index:
    path = Path(folder) / f"index{len(list(Path(folder).iterdir()))}"
    with IndexWriter(path, **options) as writer:
        writer.add_documents([f"d{i}" for i in range(len(vectors))])
        writer.add_vectors(vectors)
        writer.commit(VOCABULARY, encoder={}, term_vectors=table)
    return Index.open(path)


def plain(
    vectors: DocumentVectors,
    table: TermVectors,
    query: dict[int, float],
    units: npt.NDArray[Any],
    scale: float,
) -> list[float]:
    """Return the scores of all documents from unlimited integers."""
    known = [term for term in sorted(query) if table.rows[term].any()]
    if not known:
        return [-np.inf] * len(vectors)
    vector = [
        sum(
            int(unit) * (int(table.rows[term, j]) << int(table.shifts[term]))
            for term, unit in zip(known, units, strict=True)
        )
        for j in range(table.dimensions)
    ]
    scores = reference.score(
        vectors.indptr.tolist(), vectors.rows.tolist(), [float(s) for s in vectors.scales], vector
    )
    return [score * (table.scale * scale) for score in scores]


@given(content=contents(), query=queries(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_engine_is_brute_force(content: Any, query: dict[int, float], data: Any) -> None:
    vectors, table = content
    row = TermWeights.from_rows([query], VOCABULARY.id)
    with tempfile.TemporaryDirectory() as folder:
        index = build(folder, vectors, table)
        vector = query_vector(index, row)
        expected = plain(vectors, table, query, vector.weights, vector.query_scale)
        everything = reference.top_k(expected, len(expected))
        for k in (1, 3, 10, len(index), len(index) + 5):
            ordinals, scores = first_stage(index, vector, k)
            assert ordinals.tolist() == everything[:k]
            assert scores.tolist() == [expected[i] for i in everything[:k]]
        chosen = np.array(data.draw(st.permutations(range(len(index)))))
        scores, matched = score_documents(index, vector, chosen)
        assert matched.tolist() == [expected[i] > -np.inf for i in chosen]
        assert scores.tolist() == [
            max(expected[i], 0.0) if expected[i] == -np.inf else expected[i] for i in chosen
        ]
        with mock.patch.object(writers, "MAX_DOCUMENTS", 7):
            parts = build(folder, vectors, table)
        assert len(parts.segments) == -(-len(index) // 7)
        for k in (1, 10, len(index)):
            for one, other in zip(first_stage(index, vector, k), first_stage(parts, vector, k), strict=True):
                assert one.tolist() == other.tolist()
        for one, other in zip(score_documents(parts, vector, chosen), (scores, matched), strict=True):
            assert one.tolist() == other.tolist()


@given(content=contents(), query=queries())
@settings(max_examples=20, deadline=None)
def test_rounding_before_the_exact_scores_changes_nothing(content: Any, query: dict[int, float]) -> None:
    vectors, table = content
    with tempfile.TemporaryDirectory() as folder:
        index = build(folder, vectors, table)
        vector = query_vector(index, TermWeights.from_rows([query], VOCABULARY.id))
        with mock.patch.object(dense_retrieval, "FEW", 1):
            always = [first_stage(index, vector, k) for k in (1, 5)]
        with mock.patch.object(dense_retrieval, "FEW", 10**9):
            never = [first_stage(index, vector, k) for k in (1, 5)]
        for one, other in zip(always, never, strict=True):
            assert one[0].tolist() == other[0].tolist()
            assert one[1].tolist() == other[1].tolist()


@pytest.mark.parametrize("dimensions", [1, 7, 384, 512, 4096])
@pytest.mark.parametrize("size", [1, 15, 16, 20, 40])
def test_digits_add_up_to_the_vector(dimensions: int, size: int) -> None:
    generator = np.random.default_rng(size)
    for shift in (0, 3):
        vector = generator.integers(-(1 << size), (1 << size) + 1, dimensions) << shift
        digits = Digits.of(vector)
        summed = sum(row.astype(np.int64) << (digits.bits * place) for place, row in enumerate(digits.rows))
        assert (summed * int(digits.factor)).tolist() == vector.tolist()
        assert all(np.abs(row.astype(np.int64)).sum() * 128 < 2**31 for row in digits.rows)
        near, error = Digits.rounded(vector)
        assert len(near.rows) == 1
        change = np.abs(vector - near.rows[0].astype(np.int64) * int(near.factor)).sum()
        assert error * near.factor == change * 128
        assert change <= dimensions * near.factor / 2


def test_one_row_of_digits_is_enough_for_small_numbers() -> None:
    assert len(Digits.of(np.full(384, 32767)).rows) == 1
    assert len(Digits.of(np.full(384, 32767 << 9)).rows) == 1
    assert len(Digits.of(np.full(384, 32769)).rows) == 2
    assert Digits.of(np.zeros(4, dtype=np.int64)).rows.tolist() == [[0, 0, 0, 0]]


def test_threads_change_nothing() -> None:
    generator = np.random.default_rng(5)
    vectors = DocumentVectors.of(np.arange(2001), generator.standard_normal((2000, 48)))
    table = TermVectors.of(
        generator.standard_normal((len(VOCABULARY), 48)) * 2.0 ** np.arange(9)[:, None], VOCABULARY.id
    )
    rows = [
        TermWeights.from_rows([{int(t): 1.0 for t in generator.integers(0, 9, 4)}], VOCABULARY.id)
        for _ in range(40)
    ]
    with tempfile.TemporaryDirectory() as folder:
        index = build(folder, vectors, table)

        def rank(row: TermWeights) -> list[Any]:
            return [part.tolist() for part in first_stage(index, query_vector(index, row), 20)]

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(rank, rows)) == [rank(row) for row in rows]
