"""What can be done to a table, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import (
    TranslationTable,
    above,
    cut_vocabulary,
    renormalised,
    with_self_translation,
    without_self_translation,
)

#         car   auto  road  lone
ROWS = [[0.5, 0.125, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.125, 0.25, 0.0], [0.0, 0.0, 0.0, 0.0]]


def table_of(rows: list[list[float]]) -> TranslationTable:
    dense = np.array(rows, dtype=np.float32)
    return TranslationTable(
        vocabulary=Vocabulary([f"w{number}" for number in range(len(rows))]),
        indptr=np.concatenate(([0], np.cumsum((dense > 0).sum(axis=1)))),
        targets=np.nonzero(dense)[1],
        probabilities=dense[dense > 0],
        occurrences=np.arange(len(rows)) + 5,
        analyzer=make_analyzer("whitespace").spec,
    )


def dense(table: TranslationTable) -> np.ndarray:
    made = np.zeros((len(table), len(table)))
    made[table.sources, table.targets] = table.probabilities
    return made


TABLE = table_of(ROWS)


def test_thresholds_keep_what_equals_them() -> None:
    kept = dense(above(TABLE, 0.25))
    assert kept.tolist() == [[0.5, 0, 0.25, 0], [0, 1, 0, 0], [0, 0, 0.25, 0], [0, 0, 0, 0]]
    assert dense(above(TABLE, 0)).tolist() == ROWS


def test_renormalised_rows_sum_to_one_and_empty_rows_stay_empty() -> None:
    made = renormalised(above(TABLE, 0.25))
    assert_allclose(dense(made)[0], [2 / 3, 0, 1 / 3, 0], rtol=1e-6)
    assert_allclose(made.row_sums, [1, 1, 1, 0], rtol=1e-6)


def test_added_self_translation() -> None:
    made = dense(with_self_translation(TABLE, 0.5, "add"))
    assert made.tolist() == [
        [0.75, 0.0625, 0.125, 0],
        [0, 1, 0, 0],
        [0, 0.0625, 0.625, 0],
        [0, 0, 0, 0.5],  # a term without a row still translates to itself
    ]


def test_set_self_translation() -> None:
    made = dense(with_self_translation(TABLE, 0.5, "set"))
    assert made.tolist() == [[0.5, 0.0625, 0.125, 0], [0, 0.5, 0, 0], [0, 0.0625, 0.5, 0], [0, 0, 0, 0.5]]


def test_the_distribution_that_the_paper_speaks_of() -> None:
    made = with_self_translation(renormalised(without_self_translation(above(TABLE, 0.25))), 0.25, "set")
    assert_allclose(dense(made)[0], [0.25, 0, 0.75, 0])
    assert_allclose(np.diag(dense(made)), 0.25)


def test_the_ends_of_self_translation() -> None:
    assert dense(with_self_translation(TABLE, 0.0, "add")).tolist() == ROWS
    assert dense(with_self_translation(TABLE, 1.0, "add")).tolist() == np.eye(4).tolist()
    assert with_self_translation(TABLE, 1.0, "set").nnz == 4


def test_the_vocabulary_cut_keeps_ties() -> None:
    made = cut_vocabulary(TABLE, np.array([9, 3, 3, 1]), 2)
    assert dense(made).tolist() == ROWS
    assert made.occurrences.tolist() == [5, 6, 7, 0]
    made = cut_vocabulary(TABLE, np.array([9, 1, 3, 1]), 2)
    assert dense(made).tolist() == [[0.5, 0, 0.25, 0], [0] * 4, [0, 0, 0.25, 0], [0] * 4]
    assert made.occurrences.tolist() == [5, 0, 7, 0]
    assert made.vocabulary is TABLE.vocabulary
    assert cut_vocabulary(TABLE, np.array([9, 1, 3, 1]), 1_000_000) is TABLE


def test_what_cannot_be_asked_for() -> None:
    with pytest.raises(ParameterError):
        above(TABLE, float("nan"))
    with pytest.raises(ParameterError):
        with_self_translation(TABLE, 1.5, "add")
    with pytest.raises(UnknownNameError):
        with_self_translation(TABLE, 0.5, "mix")  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        cut_vocabulary(TABLE, np.zeros(4, dtype=np.int64), 0)
    with pytest.raises(VocabularyMismatchError):
        cut_vocabulary(TABLE, np.zeros(3, dtype=np.int64), 1)


WHOLE = st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=4, max_size=4)


@given(WHOLE, st.floats(0, 1), st.sampled_from(["add", "set"]))
def test_mass_is_kept(counts: list[list[int]], p_self: float, mode: str) -> None:
    table = table_of([[count / max(sum(row), 1) for count in row] for row in counts])
    made = with_self_translation(table, p_self, mode)  # type: ignore[arg-type]
    base = table if mode == "add" else without_self_translation(table)
    assert_allclose(made.row_sums, (1 - p_self) * base.row_sums + p_self, atol=1e-5)
    if mode == "set":
        assert_allclose(np.diag(dense(made)), p_self, atol=1e-7)
