"""Transformations of a table by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from termwise.errors import ParameterError, UnknownNameError
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import (
    TranslationTable,
    above,
    cut_vocabulary,
    for_scoring,
    renormalised,
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


def test_thresholds_are_inclusive() -> None:
    kept = dense(above(TABLE, 0.25))
    assert kept.tolist() == [[0.5, 0, 0.25, 0], [0, 1, 0, 0], [0, 0, 0.25, 0], [0, 0, 0, 0]]
    assert dense(above(TABLE, 0)).tolist() == ROWS


def test_renormalised_rows_sum_to_one_and_empty_rows_stay_empty() -> None:
    made = renormalised(above(TABLE, 0.25))
    assert_allclose(dense(made)[0], [2 / 3, 0, 1 / 3, 0], rtol=1e-6)
    assert_allclose(made.row_sums, [1, 1, 1, 0], rtol=1e-6)


def test_the_vocabulary_cut_keeps_ties() -> None:
    made = cut_vocabulary(TABLE, np.array([9, 3, 3, 1]), 2)
    assert dense(made).tolist() == ROWS
    assert made.occurrences.tolist() == [5, 6, 7, 0]
    made = cut_vocabulary(TABLE, np.array([9, 1, 3, 1]), 2)
    assert dense(made).tolist() == [[0.5, 0, 0.25, 0], [0] * 4, [0, 0, 0.25, 0], [0] * 4]
    assert made.occurrences.tolist() == [5, 0, 7, 0]
    assert made.vocabulary is TABLE.vocabulary
    assert cut_vocabulary(TABLE, np.array([9, 1, 3, 1]), 1_000_000) is TABLE


def test_for_scoring_scales_rows_for_self_translation() -> None:
    added = for_scoring(TABLE, least=0.25, mode="add", renormalise=False)
    assert dense(added).tolist() == [[0.5, 0, 0.25, 0], [0, 1, 0, 0], [0, 0, 0.25, 0], [0, 0, 0, 0]]
    replaced = for_scoring(TABLE, least=0.25, mode="set", renormalise=True)
    assert dense(replaced).tolist() == [[0, 0, 1, 0], [0] * 4, [0] * 4, [0] * 4]


def test_arguments_out_of_range() -> None:
    with pytest.raises(ParameterError):
        above(TABLE, float("nan"))
    with pytest.raises(UnknownNameError):
        for_scoring(TABLE, least=0.5, mode="mix", renormalise=False)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no probability"):
        for_scoring(table_of([[0.5]]), least=0.75, mode="add", renormalise=False)
