"""Scoring by a translation table: the kernels against their definitions."""

from __future__ import annotations

import inspect
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import translation as reference

from termwise.kernels import translation

TERMS = 12
CHANCE = st.floats(0.0078125, 1.0, width=32)
TABLE = st.dictionaries(
    st.integers(0, TERMS - 1), st.dictionaries(st.integers(0, TERMS - 1), CHANCE, max_size=5), max_size=TERMS
)
DOCUMENTS = st.lists(
    st.dictionaries(st.integers(0, TERMS - 1), st.integers(1, 5), max_size=6), min_size=1, max_size=5
)
PROBABILITIES = st.lists(st.floats(1e-9, 1.0), min_size=TERMS, max_size=TERMS)
P_SELF = st.sampled_from([0.0, 0.3, 1.0])
LAMBDA = st.sampled_from([0.0, 0.25, 0.99])


def rows(mappings, dtype=np.float32):
    """Return sparse rows of these."""
    ordered = [sorted(mapping.items()) for mapping in mappings]
    indptr = np.cumsum([0, *map(len, ordered)]).astype(np.int64)
    flat = [pair for row in ordered for pair in row]
    return (
        indptr,
        np.array([t for t, _ in flat], dtype=np.int32),
        np.array([v for _, v in flat], dtype=dtype),
    )


def csr(table):
    return rows([table.get(source, {}) for source in range(TERMS)])


def weigh(documents, table, probabilities, p_self, lambda_, prune=0.0, keep=0, in_collection=()):
    indptr, terms, weights = translation.model1_weights(
        *rows(documents), *csr(table), np.arange(TERMS, dtype=np.int32),
        np.array(probabilities), p_self, lambda_, prune, keep, np.array(in_collection),
    )  # fmt: skip
    return [dict(zip(terms[a:b].tolist(), weights[a:b].tolist(), strict=True)) for a, b in pairwise(indptr)]


@given(DOCUMENTS, TABLE, PROBABILITIES, P_SELF, LAMBDA)
def test_weights_are_those_of_the_definition(documents, table, probabilities, p_self, lambda_):
    fast = weigh(documents, table, probabilities, p_self, lambda_)
    slow = reference.model1_weights(documents, table, probabilities, p_self, lambda_)
    for got, wanted in zip(fast, slow, strict=True):
        assert list(got) == sorted(got)
        assert got.keys() == wanted.keys()
        assert list(got.values()) == pytest.approx([wanted[term] for term in got], rel=1e-6)


def test_sums_over_a_long_document_are_rounded_once():
    terms, random = 10_000, np.random.default_rng(4)
    counts = random.integers(1, 5, terms).astype(np.float32)
    chances = random.uniform(0.01, 0.9, terms).astype(np.float32)
    _, _, weights = translation.model1_weights(
        np.array([0, terms]), np.arange(terms, dtype=np.int32), counts,
        np.arange(terms + 1), np.zeros(terms, dtype=np.int32), chances,
        np.where(np.arange(terms) == 0, 0, -1).astype(np.int32), np.ones(1),
        0.0, 0.5, 0.0, 0, np.empty(0),
    )  # fmt: skip
    mean = math.fsum(chance * count for chance, count in zip(chances.tolist(), counts.tolist(), strict=True))
    assert weights.tolist() == [float(np.float32(math.log1p(mean / math.fsum(counts.tolist()))))]


class Littered:
    """numpy, but what nobody has written yet holds what may lie there."""

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype):
        return np.full(shape, -77, dtype)


@pytest.mark.parametrize("keep", [0, 2])
def test_uninitialised_memory_does_not_matter(monkeypatch, keep):
    documents, table = [{0: 2, 3: 1}, {5: 1}], {0: {1: 0.5, 2: 0.25}, 3: {4: 0.5}}
    probabilities, in_collection = [0.01] * TERMS, [0.0] * TERMS
    kernel = translation.model1_weights
    monkeypatch.setattr(translation, "model1_weights", getattr(kernel, "py_func", kernel))
    clean = weigh(documents, table, probabilities, 0.3, 0.25, 0.0, keep, in_collection)
    monkeypatch.setattr(translation, "np", Littered())
    assert weigh(documents, table, probabilities, 0.3, 0.25, 0.0, keep, in_collection) == clean
    assert [len(row) for row in clean] == ([5, 1] if keep == 0 else [2, 1])


@given(DOCUMENTS, TABLE, PROBABILITIES, LAMBDA, st.integers(1, 4), st.sampled_from([0.0, 1.0]))
def test_the_weights_with_the_largest_gains_are_kept(documents, table, probabilities, lambda_, keep, prune):
    in_collection = (
        reference.collection_weights(documents[0], table, probabilities, 0.3, lambda_)
        if documents[0]
        else [0.0] * TERMS
    )
    every = weigh(documents, table, probabilities, 0.3, lambda_, prune)
    kept = weigh(documents, table, probabilities, 0.3, lambda_, prune, keep, in_collection)
    slow = reference.model1_weights(documents, table, probabilities, 0.3, lambda_)
    for one, row, weights in zip(every, kept, slow, strict=True):
        assert row.items() <= one.items()
        assert list(row) == sorted(row)
        assert len(row) == min(keep, len(one))
        gains = {}
        for term in one:
            mean = math.expm1(weights[term]) * lambda_ * probabilities[term] / (1 - lambda_)
            mean = mean if lambda_ else 1e-8 * math.exp(weights[term])
            gains[term] = math.sqrt(mean * probabilities[term]) * max(0.0, one[term] - in_collection[term])
        best = sorted(gains.values(), reverse=True)[: len(row)]
        assert sorted((gains[term] for term in row), reverse=True) == pytest.approx(best, rel=1e-4, abs=1e-9)


@given(DOCUMENTS, TABLE, PROBABILITIES, P_SELF, LAMBDA)
def test_usual_weights_are_those_of_the_collection_as_one_document(
    documents, table, probabilities, p_self, lambda_
):
    counts = {t: sum(row.get(t, 0) for row in documents) for t in range(TERMS)}
    counts = {t: n for t, n in counts.items() if n}
    shares = np.array([counts.get(t, 0) / max(1, sum(counts.values())) for t in range(TERMS)])
    fast = translation.collection_weights(*csr(table), shares, np.array(probabilities), p_self, lambda_)
    slow = reference.collection_weights(counts, table, probabilities, p_self, lambda_)
    assert fast.tolist() == pytest.approx(slow, rel=1e-9, abs=1e-12)


def test_a_rare_word_does_not_displace_likely_ones():
    documents, table = [{0: 1}], {0: {1: 0.5, 2: 0.4, 3: 0.001}}
    probabilities = [0.1, 0.1, 0.1, 1e-9] + [0.1] * (TERMS - 4)
    in_collection = [0.0] * TERMS
    assert weigh(documents, table, probabilities, 0.0, 0.5)[0][3] > 13
    assert list(weigh(documents, table, probabilities, 0.0, 0.5, 0.0, 2, in_collection)[0]) == [1, 2]


def test_a_translation_of_all_documents_does_not_displace_others():
    documents, table = [{0: 1}], {0: {1: 0.5, 2: 0.4, 3: 0.3}}
    in_collection = [0.0, 1.7, 0.0, 0.0] + [0.0] * (TERMS - 4)
    assert list(weigh(documents, table, [0.1] * TERMS, 0.0, 0.5, 0.0, 2, in_collection)[0]) == [2, 3]


def test_equal_weights_are_kept_by_number():
    documents = [{5: 1, 2: 1, 9: 1}]
    assert list(weigh(documents, {}, [0.1] * TERMS, 1.0, 0.5, 0.0, 2, [0.0] * TERMS)[0]) == [2, 5]


def test_many_targets_grow_the_output():
    table = {source: dict.fromkeys(range(TERMS), 0.05) for source in range(TERMS)}
    fast = weigh([{3: 1}] * 40, table, [0.1] * TERMS, 0.5, 0.5)
    assert [len(row) for row in fast] == [TERMS] * 40
    assert all(row == fast[0] for row in fast)


def test_documents_are_independent():
    table = {0: {1: 0.5}}
    first, empty, last = weigh([{0: 1}, {}, {2: 1}], table, [0.1] * TERMS, 0.5, 0.5)
    assert (list(first), empty, list(last)) == ([0, 1], {}, [2])


@given(
    DOCUMENTS, TABLE, st.lists(st.integers(0, TERMS - 1), min_size=1, max_size=4, unique=True), P_SELF, LAMBDA
)
def test_gathered_sums_and_scores_are_those_of_the_definition(documents, table, words, p_self, lambda_):
    shares = [{t: float(np.float32(n / sum(row.values()))) for t, n in row.items()} for row in documents]
    indptr, terms, chances = rows(shares)
    slots = np.arange(1, TERMS + 1, dtype=np.int32)
    columns = np.zeros((TERMS + 1, len(words)))
    own = np.full(TERMS + 1, -1, dtype=np.int32)
    for place, word in enumerate(words):
        own[word + 1] = place
        for source, targets in table.items():
            columns[source + 1, place] = targets.get(word, 0.0)
    translated, said = np.zeros((len(shares), len(words))), np.zeros((len(shares), len(words)))
    order = np.arange(len(shares))[::-1].copy()
    status = translation.gather_translations(
        indptr.astype(np.uint32),
        terms.astype(np.uint16),
        chances,
        order,
        slots,
        columns,
        own,
        translated,
        said,
    )
    assert status == translation.OK
    slow = reference.gather_translations(shares[::-1], table, words)
    assert translated.tolist() == [pytest.approx(row) for row in slow[0]]
    assert said.tolist() == slow[1]
    times, probabilities = [1.0, 2.0, 1.0, 3.0][: len(words)], [0.1, 0.2, 1e-9, 0.4][: len(words)]
    fast = translation.model1_scores(
        translated, said, np.array(times), np.array(probabilities), p_self, lambda_
    )
    assert fast.tolist() == pytest.approx(
        reference.model1_scores(*slow, times, probabilities, p_self, lambda_), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize(("indptr", "terms"), [([0, 9], [1, 2]), ([2, 0], [1, 2]), ([0, 2], [1, 99])])
def test_rows_outside_their_arrays_are_noticed(indptr, terms):
    empty = np.zeros((1, 1))
    status = translation.gather_translations(
        np.array(indptr, dtype=np.uint32), np.array(terms, dtype=np.uint16), np.ones(2, np.float32),
        np.array([0]), np.zeros(TERMS, np.int32), np.zeros((1, 1)), np.full(1, -1, np.int32), empty, empty.copy(),
    )  # fmt: skip
    assert status == translation.CORRUPT


def test_weight_has_the_parameters_of_its_definition():
    fast = inspect.signature(translation.model1_weight.py_func)
    assert list(fast.parameters) == list(inspect.signature(reference.model1_weight).parameters)
