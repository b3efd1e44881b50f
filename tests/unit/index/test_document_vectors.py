"""Vectors of documents and terms in an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.errors import ParameterError, VocabularyMismatchError, WeightError
from termwise.index import Index, IndexWriter, verify
from termwise.index import document_spill as writers
from termwise.text.vocabulary import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

VOCABULARY = Vocabulary(["list", "merge", "sort"])
TERMS = TermVectors.of(np.array([[1.0, 0.5], [0.0, 0.0], [-0.25, 8.0]]), VOCABULARY.id)


def random_vectors(documents: int, dimensions: int = 2, seed: int = 0) -> DocumentVectors:
    generator = np.random.default_rng(seed)
    windows = generator.integers(0, 4, documents)
    rows = generator.integers(-127, 128, (int(windows.sum()), dimensions))
    return DocumentVectors(
        np.concatenate([[0], np.cumsum(windows)]), rows, 1 + generator.random(len(rows)).astype(np.float32)
    )


def write(folder: Path, vectors: DocumentVectors, batch: int = 1000, **options: Any) -> Index:
    documents = len(vectors)
    with IndexWriter(folder, **options) as writer:
        writer.add_documents([f"d{i}" for i in range(documents)])
        for first in range(0, documents, batch):
            last = min(documents, first + batch)
            starts = vectors.indptr[first : last + 1]
            held = slice(starts[0], starts[-1])
            writer.add_vectors(DocumentVectors(starts - starts[0], vectors.rows[held], vectors.scales[held]))
        writer.commit(VOCABULARY, encoder={}, term_vectors=TERMS)
    return Index.open(folder)


def equal(left: DocumentVectors, right: DocumentVectors) -> bool:
    return all(
        np.array_equal(getattr(left, name), getattr(right, name)) for name in ("indptr", "rows", "scales")
    )


@pytest.mark.parametrize("limit", [None, ("MAX_DOCUMENTS", 7), ("MAX_POSTINGS", 10)])
def test_vectors_are_read_as_they_were_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: tuple[str, int] | None
) -> None:
    if limit is not None:
        monkeypatch.setattr(writers, *limit)
    vectors = random_vectors(50)
    index = write(tmp_path, vectors, batch=8)
    assert (len(index.segments) == 1) == (limit is None)
    assert equal(index.document_vectors(np.arange(50)), vectors)
    chosen = np.array([49, 3, 3, 17])
    parts = [index.document_vectors(np.array([one])) for one in chosen]
    assert equal(index.document_vectors(chosen), DocumentVectors.concatenate(parts))
    assert len(index.document_vectors(np.empty(0, dtype=np.int64))) == 0
    assert index.term_vectors is not None
    assert np.array_equal(index.term_vectors.rows, TERMS.rows)
    assert index.term_vectors.scale == TERMS.scale
    assert index.manifest.postings == 0
    assert all(len(segment.terms) == 0 for segment in index.segments)
    assert verify(tmp_path) == []


def test_term_vectors_are_not_copied(tmp_path: Path) -> None:
    index = write(tmp_path, random_vectors(3))
    assert index.term_vectors is not None
    for array in (index.term_vectors.rows, index.term_vectors.shifts, index.segments[0].vectors.rows):  # type: ignore[union-attr]
        assert not array.flags.owndata
        assert not array.flags.writeable


def test_weights_can_stand_beside_vectors(tmp_path: Path) -> None:
    rows = TermWeights.from_rows([{0: 2.0}, {}, {2: 1.0}], VOCABULARY.id)
    with IndexWriter(tmp_path) as writer:
        writer.add(["a", "b", "c"], rows)
        writer.add_vectors(random_vectors(3))
        writer.commit(VOCABULARY, encoder={}, term_vectors=TERMS)
    index = Index.open(tmp_path)
    assert index.weights(np.arange(3)).weights.tolist() == [2.0, 1.0]
    assert index.manifest.postings == 2


def test_many_documents_without_rows_keep_their_order(tmp_path: Path) -> None:
    empty = TermWeights(np.zeros(101, dtype=np.int64), [], [], VOCABULARY.id)
    with IndexWriter(tmp_path) as writer:
        writer.add([f"d{i}" for i in range(100)], empty)
        writer.commit(VOCABULARY, encoder={})
    inverted = Index.open(tmp_path).segments[0].inverted
    assert inverted is not None
    assert inverted.order.tolist() == list(range(100))


def test_an_index_without_vectors_says_so(tmp_path: Path) -> None:
    with IndexWriter(tmp_path) as writer:
        writer.add(["a"], TermWeights.from_rows([{0: 1.0}], VOCABULARY.id))
        writer.commit(VOCABULARY, encoder={})
    index = Index.open(tmp_path)
    assert index.term_vectors is None
    assert index.segments[0].vectors is None
    with pytest.raises(ParameterError, match="no vectors"):
        index.document_vectors(np.array([0]))


@pytest.mark.parametrize(
    ("vectors", "terms", "error", "message"),
    [
        (random_vectors(2), TERMS, WeightError, "every document needs its vectors"),
        (random_vectors(3), None, WeightError, "of its documents and of its terms, or neither"),
        (None, TERMS, WeightError, "of its documents and of its terms, or neither"),
        (random_vectors(3, dimensions=3), TERMS, WeightError, "the same number of dimensions"),
        (
            random_vectors(3),
            TermVectors(TERMS.rows, TERMS.shifts, 1.0, "other"),
            VocabularyMismatchError,
            "another vocabulary",
        ),
        (
            random_vectors(3),
            TermVectors([[1, 2]], [0], 1.0, VOCABULARY.id),
            VocabularyMismatchError,
            "another vocabulary",
        ),
    ],
)
def test_vectors_that_do_not_belong_together_are_refused(
    tmp_path: Path, vectors: DocumentVectors | None, terms: TermVectors | None, error: Any, message: str
) -> None:
    with IndexWriter(tmp_path) as writer:
        writer.add_documents(["a", "b", "c"])
        if vectors is None:
            writer.add_weights(TermWeights.from_rows([{}, {}, {}], VOCABULARY.id))
        else:
            writer.add_vectors(vectors)
        with pytest.raises(error, match=message):
            writer.commit(VOCABULARY, encoder={}, term_vectors=terms)


def test_vectors_of_another_length_are_refused_when_they_are_added(tmp_path: Path) -> None:
    with IndexWriter(tmp_path) as writer:
        with pytest.raises(WeightError, match="at least one dimension"):
            writer.add_vectors(DocumentVectors([0], np.empty((0, 0), dtype=np.int8), []))
        writer.add_vectors(random_vectors(3))
        with pytest.raises(WeightError, match="same number of dimensions"):
            writer.add_vectors(random_vectors(3, dimensions=5))


def test_what_a_writer_cannot_store_is_refused(tmp_path: Path) -> None:
    with IndexWriter(tmp_path) as writer:
        writer.add_documents(["a", "b", "c"])
        with pytest.raises(ParameterError, match="vectors cannot have this value"):
            writer.add_vectors(np.ones((3, 2)))  # type: ignore[arg-type]
        writer.add_vectors(random_vectors(3))
        with pytest.raises(ParameterError, match="term_vectors cannot have this value"):
            writer.commit(VOCABULARY, encoder={}, term_vectors=np.ones((3, 2)))  # type: ignore[arg-type]
        low = TermVectors([[-128, 1], [0, 0], [1, 1]], [0, 0, 0], 1.0, VOCABULARY.id)
        with pytest.raises(WeightError, match="out of range"):  # as `verify` would say
            writer.commit(VOCABULARY, encoder={}, term_vectors=low)
        writer.commit(VOCABULARY, encoder={}, term_vectors=TERMS)
    assert verify(tmp_path) == []
