"""Rounding of vectors to integers, their exact sums, and the checks of their arrays."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.errors import VocabularyMismatchError, WeightError
from termwise.vectors import LARGEST_SHIFT, DocumentVectors, TermVectors


def test_a_document_vector_is_rounded_to_multiples_of_its_largest_number_divided_by_127() -> None:
    vectors = DocumentVectors.of([0, 2], np.array([[1.27, -0.5, 0.004], [0.0, 0.0, 0.0]]))
    assert vectors.rows.tolist() == [[127, -50, 0], [0, 0, 0]]
    assert vectors.scales.tolist() == pytest.approx([0.01, 1.0])
    assert vectors.matrix()[0] == pytest.approx([1.27, -0.5, 0.0])


def test_documents_of_several_parts_are_appended() -> None:
    one = DocumentVectors.of([0, 0, 1], np.ones((1, 2)))
    other = DocumentVectors.of([0, 2], np.ones((2, 2)))
    joined = DocumentVectors.concatenate([one, other])
    assert (len(joined), joined.indptr.tolist(), joined.dimensions) == (3, [0, 0, 1, 3], 2)


def test_rows_of_term_vectors_are_multiples_of_powers_of_two_of_one_scale() -> None:
    table = TermVectors.of(np.array([[127.0, -1.0], [1016.0, 16.0], [0.0, 0.0]]), "toy")
    assert table.rows.tolist() == [[127, -1], [127, 2], [0, 0]]
    assert (table.shifts.tolist(), table.scale) == ([0, 3, 0], 1.0)
    assert table.known.tolist() == [True, True, False]
    assert table.combine(np.array([0, 1]), np.array([3, 2])).tolist() == [3 * 127 + 2 * 1016, -3 + 2 * 16]
    assert table.combine(np.array([], dtype=np.int32), np.array([], dtype=np.int64)).tolist() == [0, 0]


def test_the_relative_error_of_a_row_is_at_most_one_part_in_127() -> None:
    random = np.random.default_rng(0)
    matrix = random.normal(size=(50, 16)) * np.exp(random.normal(size=(50, 1)))
    table = TermVectors.of(matrix, "toy")
    error = np.abs(table.matrix() - matrix).max(axis=1) / np.abs(matrix).max(axis=1)
    assert error.max() <= 1 / 127


def test_rows_far_below_the_largest_share_the_smallest_unit() -> None:
    table = TermVectors.of(np.array([[1.0], [2.0**-40]]), "toy")
    assert table.shifts.tolist() == [LARGEST_SHIFT, 0]
    assert table.known.tolist() == [True, False]


@pytest.mark.parametrize(
    ("indptr", "rows", "scales"),
    [
        ([1, 1], np.zeros((1, 2)), [1.0]),
        ([0, 2, 1], np.zeros((1, 2)), [1.0]),
        ([0, 1], np.zeros((1, 2)), [0.0]),
        ([0, 1], np.zeros((1, 2)), [np.nan]),
        ([0, 1], np.full((1, 2), -128), [1.0]),
        ([0, 1], np.full((1, 2), 0.5), [1.0]),
        ([0, 1], np.zeros(2), [1.0]),
        ([0, 1], np.zeros((1, 4097)), [1.0]),
        ([0, 1], [["a"]], [1.0]),
        ([0, 2], [[1], [1, 2]], [1.0, 1.0]),
        ([0, 1], np.zeros((1, 2)), ["a"]),
        ([0, 1], np.zeros((1, 2)), [2.0**-101]),
        ([0, 1], np.zeros((1, 2)), [1e300]),
    ],
)
def test_arrays_of_another_form_are_refused(indptr: object, rows: object, scales: object) -> None:
    with pytest.raises(WeightError):
        DocumentVectors(indptr, rows, scales)  # type: ignore[arg-type]


def test_scales_are_rounded_to_float32() -> None:
    assert DocumentVectors([0, 1], [[1, 2]], [0.1]).scales.tolist() == [float(np.float32(0.1))]


@pytest.mark.parametrize(
    ("matrix", "expected", "seen"),
    [
        ([[np.nan]], "finite numbers", "nan"),
        ([[np.inf]], "finite numbers", "inf"),
        (
            [0.5, 0.25],
            "rows of shape (n, dimensions), with at most 4,096 dimensions",
            "float64 of shape (2,)",
        ),
        (
            np.ones((1, 4097)),
            "rows of shape (n, dimensions), with at most 4,096",
            "float64 of shape (1, 4097)",
        ),
        ([["a"]], "an array of numbers", "<U1 of shape (1, 1)"),
        ([[1.0], [1.0, 2.0]], "an array of numbers", "object of shape ()"),
        ([[1e-38]], "a scale from 2^-100 to 2^100", None),
        ([[1e35]], "a scale from 2^-100 to 2^100", None),
        ([[5e-310]], "a scale from 2^-100 to 2^100", None),
        ([[1e300]], "a scale from 2^-100 to 2^100", None),
    ],
)
def test_matrices_of_another_form_are_refused(matrix: object, expected: str, seen: str | None) -> None:
    for make in (lambda: DocumentVectors.of([0, 1], matrix), lambda: TermVectors.of(matrix, "toy")):  # type: ignore[arg-type]
        with pytest.raises(WeightError) as caught:
            make()
        facts = dict(caught.value.facts)
        assert str(facts["expected"]).startswith(expected)
        assert seen is None or facts["seen"] == seen


def test_a_table_without_a_vector_and_a_term_outside_it_are_refused() -> None:
    with pytest.raises(WeightError):
        TermVectors.of(np.zeros((2, 2)), "toy")
    with pytest.raises(VocabularyMismatchError):
        TermVectors.of(np.ones((2, 2)), "toy").combine(np.array([2]), np.array([1]))


@pytest.mark.parametrize(
    ("scale", "vocabulary"), [(None, "toy"), ("x", "toy"), (10**400, "toy"), (1.0, None)]
)
def test_scale_and_vocabulary_have_their_types(scale: object, vocabulary: object) -> None:
    with pytest.raises(WeightError, match="expected form"):
        TermVectors([[1]], [0], scale, vocabulary)  # type: ignore[arg-type]


def test_parts_without_a_common_number_of_dimensions_are_not_appended() -> None:
    parts = [DocumentVectors([0, 1], [[1] * n], [1.0]) for n in (2, 3)]
    for given in ([], parts):
        with pytest.raises(WeightError, match="parts of the same number of dimensions"):
            DocumentVectors.concatenate(given)


def test_weights_are_one_for_each_term_and_their_sums_fit() -> None:
    table = TermVectors([[127, 0], [127, 0]], [0, 15], 1.0, "toy")
    terms = np.array([0, 1])
    with pytest.raises(WeightError, match="one weight for each term"):
        table.combine(terms, np.array([1]))
    assert table.combine(terms, np.array([1, 1 << 40]))[0] == 127 * (1 + (1 << 55))
    for weight in (1 << 41, 1 << 62, -(1 << 63)):
        with pytest.raises(WeightError, match="below 2\\^62"):
            table.combine(terms, np.array([1, weight]))


@pytest.mark.parametrize("number", [5e-324, 1e-310])
def test_numbers_too_small_for_a_scale_are_refused(number: float) -> None:
    with pytest.raises(WeightError, match="the scale of a vector"):
        TermVectors.of(np.array([[number, 0.0]]), "toy")
