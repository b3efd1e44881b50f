"""The engine agrees with brute force over the reference kernels."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import retrieval as reference
from tests.two_ways import way  # noqa: F401

from termwise.engine import allowed_documents, retrieval
from termwise.engine.allowed_documents import AllowedDocuments, AllowedRows
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage, score_documents
from termwise.index import Index, IndexWriter
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

N_TERMS = 12


@st.composite
def rows(draw, *, background=False):
    """Rows of weights, with empty rows, many ties, few and many documents."""
    n_documents = draw(st.integers(1, 40) | st.sampled_from([255, 256, 257, 600]))
    seed = draw(st.integers(0, 2**32 - 1))
    levels = draw(st.sampled_from([1, 2, 5, 255, 1000]))
    density = draw(st.sampled_from([0.0, 0.05, 0.3, 0.9]))
    whole = draw(st.booleans())
    generator = np.random.default_rng(seed)
    held = generator.random((n_documents, N_TERMS)) < density
    values = generator.integers(1, levels + 1, size=held.shape).astype(np.float64)
    if not whole:
        values = values * 0.37 + generator.random(held.shape) * 0.01
    vocabulary = Vocabulary([f"t{i}" for i in range(N_TERMS)], background=background)
    content = []
    for document in range(n_documents):
        row = {int(t): float(values[document, t]) for t in np.flatnonzero(held[document])}
        if background:
            row[N_TERMS] = float(generator.integers(0, 5)) * 0.25
        content.append(row)
    return vocabulary, TermWeights.from_rows(content, vocabulary.id)


@st.composite
def query_rows(draw, *, background=False):
    terms = draw(st.lists(st.integers(0, N_TERMS - 1), unique=True, max_size=N_TERMS))
    weights = draw(
        st.lists(
            st.integers(1, 3).map(float) | st.floats(0.015625, 7.0, width=32),
            min_size=len(terms),
            max_size=len(terms),
        )
    )
    row = dict(zip(terms, weights, strict=True))
    if background and row:
        row[N_TERMS] = float(sum(row.values()))
    return row


def build(folder: str, vocabulary: Vocabulary, weights: TermWeights, **options) -> Index:
    path = Path(folder) / "index"
    with IndexWriter(path, **options) as writer:
        writer.add([f"d{i}" for i in range(len(weights))], weights)
        writer.commit(vocabulary, encoder={})
    return Index.open(path)


def brute_force(index, vector, k):
    segment = index.segments[0]
    sums, matched = reference.score_rows(
        segment.starts.tolist(), segment.terms.tolist(), segment.impacts.tolist(), segment.bias.tolist(),
        range(len(index)), vector.terms.tolist(), vector.weights.tolist(), vector.background,
    )  # fmt: skip
    best = reference.top_k(sums, matched, k)
    return best, [sums[i] * vector.unit + vector.constant for i in best], sums, matched


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("quantiser", ["uint8", "float32"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_engine_is_brute_force(background, quantiser, data):
    vocabulary, weights = data.draw(rows(background=background))
    content = data.draw(query_rows(background=background))
    with tempfile.TemporaryDirectory() as folder:
        index = build(folder, vocabulary, weights, quantiser=quantiser)
        vector = query_vector(index, TermWeights.from_rows([content], vocabulary.id))
        everything, _, sums, matched = brute_force(index, vector, len(index))
        for k in (1, 3, 10, len(index), len(index) + 5):
            ordinals, scores = first_stage(index, vector, k)
            best, expected, _, _ = brute_force(index, vector, k)
            assert ordinals.tolist() == best
            assert scores.tolist() == expected
            assert ordinals.tolist() == everything[:k]  # rank(k) is a prefix
        scores, shared = score_documents(index, vector, np.arange(len(index)))
        assert shared.tolist() == matched
        assert scores.tolist() == [s * vector.unit + vector.constant for s in sums]


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_internal_order_changes_nothing(data):
    vocabulary, weights = data.draw(rows())
    content = data.draw(query_rows())
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        plain = build(one, vocabulary, weights, reorder=False)
        ordered = build(other, vocabulary, weights, reorder=True)
        row = TermWeights.from_rows([content], vocabulary.id)
        for k in (1, 7, len(plain)):
            a = first_stage(plain, query_vector(plain, row), k)
            b = first_stage(ordered, query_vector(ordered, row), k)
            assert a[0].tolist() == b[0].tolist()
            assert a[1].tolist() == b[1].tolist()


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_input_order_moves_ties_only(data):
    vocabulary, weights = data.draw(rows())
    content = data.draw(query_rows())
    reverse = TermWeights.from_rows(
        [
            dict(zip(*(a.tolist() for a in weights.row(i)), strict=True))
            for i in reversed(range(len(weights)))
        ],
        vocabulary.id,
    )
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        a = build(one, vocabulary, weights)
        b = build(other, vocabulary, reverse)
        row = TermWeights.from_rows([content], vocabulary.id)
        found_a = first_stage(a, query_vector(a, row), len(a))
        found_b = first_stage(b, query_vector(b, row), len(b))
        assert found_a[1].tolist() == found_b[1].tolist()
        scores_a = dict(zip(found_a[0].tolist(), found_a[1].tolist(), strict=True))
        scores_b = {len(b) - 1 - o: s for o, s in zip(*map(np.ndarray.tolist, found_b), strict=True)}
        assert scores_a == scores_b


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_writing_and_reading_agree(data):
    vocabulary, weights = data.draw(rows())
    with tempfile.TemporaryDirectory() as folder:
        index = build(folder, vocabulary, weights)
        assert index.vocabulary.load() == vocabulary
        scale = index.manifest.quantiser.scale
        for document in range(len(weights)):
            terms, values = weights.row(document)
            stored, impacts = index.row(document)
            assert stored.tolist() == terms.tolist()
            assert impacts.tolist() == reference.quantise(values.tolist(), scale)
            assert index.ordinal(index.doc_id(document)) == document


@pytest.mark.parametrize("background", [False, True])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_allowed_documents_are_found_in_every_way(background, data):
    """Bound blocks, read all postings, or score the allowed documents, or all, one by one."""
    vocabulary, weights = data.draw(rows(background=background))
    content = data.draw(query_rows(background=background))
    share = data.draw(st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    with tempfile.TemporaryDirectory() as folder:
        index = build(folder, vocabulary, weights)
        vector = query_vector(index, TermWeights.from_rows([content], vocabulary.id))
        mask = random.random(len(index)) < share
        best, scores, _, _ = brute_force(index, vector, len(index))
        kept = [(row, score) for row, score in zip(best, scores, strict=True) if mask[row]]
        for few, direct, kept_again, cells in (
            (10**9, 0, False, 10**9),
            (10**9, 0, True, 10**9),
            (0, 10**9, True, 10**9),
            (0, 0, False, 10**9),
            (0, 0, False, -1),
        ):
            with (
                mock.patch.object(allowed_documents, "FEW", few),
                mock.patch.object(retrieval, "MOST_CELLS", cells),
                mock.patch.object(retrieval, "DIRECT", direct),
            ):
                for k in (1, 10, len(index)):
                    allowed = AllowedDocuments((AllowedRows(index.segments[0], mask),), is_kept=kept_again)
                    ordinals, real = retrieval.first_stage(index, vector, k, allowed=allowed)
                    assert list(zip(ordinals.tolist(), real.tolist(), strict=True)) == kept[:k]
