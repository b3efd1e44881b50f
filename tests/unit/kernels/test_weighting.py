"""The weighting kernels against their definitions in float64 loops."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import weighting as reference

from termwise.kernels import weighting

NAMES = [
    "atire_idf",
    "bm25_weights",
    "dirichlet_weights",
    "jelinek_mercer_weights",
    "lucene_idf",
    "lucene_length",
    "robertson_idf",
    "row_lengths",
]

ROWS = st.lists(st.dictionaries(st.integers(0, 7), st.integers(1, 500), max_size=6), min_size=1, max_size=9)


class Counts:
    """Rows of counts as arrays, with the statistics over them."""

    def __init__(self, rows: list[dict[int, int]]) -> None:
        self.indptr = np.cumsum([0] + [len(row) for row in rows]).astype(np.int64)
        self.terms = np.array([term for row in rows for term in sorted(row)], dtype=np.int32)
        self.counts = np.array([row[term] for row in rows for term in sorted(row)], dtype=np.float32)
        self.df = np.array([sum(term in row for row in rows) for term in range(8)], dtype=np.int64)
        self.cf = np.array([sum(row.get(term, 0) for row in rows) for term in range(8)], dtype=np.int64)
        self.n_documents = len(rows)
        self.n_tokens = int(self.cf.sum())
        self.lengths = [sum(row.values()) for row in rows]
        self.probabilities = self.cf / max(1, self.n_tokens)

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.indptr, self.terms, self.counts


def close(fast: np.ndarray, slow: list[float]) -> None:
    assert fast.dtype == np.float32
    np.testing.assert_allclose(fast, np.array(slow, dtype=np.float64), rtol=1e-6, atol=0)
    assert np.isfinite(fast).all()
    assert (fast >= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_same_parameters_as_the_reference(name: str) -> None:
    function = getattr(weighting, name)
    fast = inspect.signature(getattr(function, "py_func", function))
    assert list(fast.parameters) == list(inspect.signature(getattr(reference, name)).parameters)


# As Lucene 10 has them (SmallFloat.byte4ToInt(SmallFloat.intToByte4(length))).
LUCENE_LENGTHS = {
    0: 0, 1: 1, 23: 23, 24: 24, 39: 39, 40: 40, 41: 40, 42: 42, 55: 54, 56: 56, 59: 56, 60: 60, 87: 84,
    88: 88, 100: 96, 150: 144, 151: 144, 152: 152, 1000: 984, 12_345: 12_312, 1_000_000: 983_064,
    1_234_567: 1_179_672, 16_777_215: 15_728_664, 2_147_483_647: 2_013_265_944,
}  # fmt: skip


@pytest.mark.parametrize(("length", "kept"), LUCENE_LENGTHS.items())
def test_lucene_lengths_known_values(length: int, kept: int) -> None:
    assert weighting.lucene_length(length) == kept
    assert reference.lucene_length(length) == kept


@given(st.integers(0, 2**31 - 1))
def test_lucene_length_keeps_four_bits(length: int) -> None:
    kept = int(weighting.lucene_length(length))
    assert kept == reference.lucene_length(length)
    assert kept == weighting.lucene_length(kept)
    assert 0 <= length - kept <= max(0, length - 24) / 8
    excess = max(0, kept - 24)
    assert excess == 0 or (excess // (excess & -excess)).bit_length() <= 4


def test_a_byte_holds_all_lucene_lengths() -> None:
    kept = np.unique(weighting.lucene_length(np.arange(40, 1 << 20)))
    assert len(kept) + 40 <= 256


@given(ROWS)
def test_row_lengths(rows: list[dict[int, int]]) -> None:
    data = Counts(rows)
    assert weighting.row_lengths(data.indptr, data.counts).tolist() == data.lengths
    assert reference.row_lengths(data.indptr.tolist(), data.counts.tolist()) == data.lengths


@given(ROWS, st.sampled_from(["lucene_idf", "robertson_idf", "atire_idf"]))
def test_idf(rows: list[dict[int, int]], name: str) -> None:
    data = Counts(rows)
    fast = getattr(weighting, name)(data.df, data.n_documents)
    slow = getattr(reference, name)(data.df.tolist(), data.n_documents)
    np.testing.assert_allclose(fast, slow, rtol=1e-12)
    assert (fast[data.df == 0] == 0).all()
    if name != "robertson_idf":
        assert (fast >= 0).all()


@given(
    ROWS,
    st.floats(0, 10),
    st.floats(0, 1),
    st.booleans(),
)
def test_bm25(rows: list[dict[int, int]], k1: float, b: float, lucene_lengths: bool) -> None:
    data = Counts(rows)
    idf = weighting.lucene_idf(data.df, data.n_documents)
    average = data.n_tokens / data.n_documents
    rest = (average, k1, b, 1.5, lucene_lengths)
    close(
        weighting.bm25_weights(*data.rows, idf, *rest),
        reference.bm25_weights(*(part.tolist() for part in data.rows), idf.tolist(), *rest),
    )


@given(ROWS, st.floats(0.001, 0.999))
def test_jelinek_mercer(rows: list[dict[int, int]], lambda_: float) -> None:
    data = Counts(rows)
    close(
        weighting.jelinek_mercer_weights(*data.rows, data.probabilities, lambda_),
        reference.jelinek_mercer_weights(
            *(part.tolist() for part in data.rows), data.probabilities.tolist(), lambda_
        ),
    )


@given(ROWS, st.floats(0.01, 1e6), st.integers(0, 10_000))
def test_dirichlet(rows: list[dict[int, int]], mu: float, slack: int) -> None:
    data = Counts(rows)
    longest = max(data.lengths) + slack
    indptr, terms, weights = weighting.dirichlet_weights(*data.rows, data.probabilities, mu, longest)
    slow = reference.dirichlet_weights(
        *(part.tolist() for part in data.rows), data.probabilities.tolist(), mu, longest
    )
    assert (indptr.tolist(), terms.tolist()) == slow[:2]
    close(weights, slow[2])
    # Every row, empty ones included, ends with the background term.
    assert (np.diff(indptr) == np.diff(data.indptr) + 1).all()
    assert (terms[indptr[1:] - 1] == len(data.probabilities)).all()


def test_rounding_happens_once() -> None:
    # 0.1 is not a float32; an early rounding of any factor would show here.
    idf = np.array([0.1])
    weight = weighting.bm25_weights(
        np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32), idf, 1.0, 0.1, 0.3, 1.1, False
    )
    assert weight[0] == np.float32(1.1 * 0.1 * 1.0 / (1.0 + 0.1 * (1.0 - 0.3 + 0.3 * 1.0 / 1.0)))


def test_only_empty_documents() -> None:
    nothing = (np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    none = np.zeros(0)
    assert len(weighting.bm25_weights(*nothing, none, 0.0, 0.9, 0.4, 1.0, True)) == 0
    assert len(weighting.jelinek_mercer_weights(*nothing, none, 0.1)) == 0
    indptr, terms, weights = weighting.dirichlet_weights(*nothing, none, 10.0, 0)
    assert indptr.tolist() == [0, 1, 2]
    assert terms.tolist() == [0, 0]
    assert weights.tolist() == [0.0, 0.0]


def test_tiny_probabilities_stay_finite() -> None:
    rows = (np.array([0, 1]), np.zeros(1, np.int32), np.array([2.0**24], np.float32))
    tiny = np.array([1e-12])
    assert weighting.jelinek_mercer_weights(*rows, tiny, 1e-6)[0] == np.float32(
        math.log1p((1 - 1e-6) / 1e-18)
    )
    assert math.isfinite(weighting.dirichlet_weights(*rows, tiny, 1e-6, 2**24)[2].max())
