"""Translation tables: valid and invalid arrays, rows and columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from termwise.errors import UnknownNameError, WeightError
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable

GIVEN: dict[str, Any] = {
    "vocabulary": Vocabulary(["car", "auto", "road", "lone"]),
    "indptr": [0, 3, 4, 5, 5],
    "targets": [0, 1, 2, 1, 2],
    "probabilities": [0.5, 0.125, 0.25, 1.0, 0.25],
    "occurrences": [4, 1, 2, 0],
    "analyzer": make_analyzer("whitespace").spec,
}


def made(**changes: Any) -> TranslationTable:
    return TranslationTable(**(GIVEN | changes))


def test_rows_and_columns_strongest_first() -> None:
    table = made()
    assert table.row("car") == [("car", 0.5), ("road", 0.25), ("auto", 0.125)]
    assert table.column("auto") == [("auto", 1.0), ("car", 0.125)]
    assert table.column("road") == [("car", 0.25), ("road", 0.25)]  # ties by number
    assert (table.nnz, len(table)) == (5, 4)
    assert table.row_sums.tolist() == [0.875, 1.0, 0.25, 0.0]


def test_words_without_a_row_and_unknown_words_have_no_translations() -> None:
    assert made().row("lone") == made().column("lone") == []
    assert made().row("unheard") == made().column("unheard") == []


def test_columns_are_the_transposed_rows() -> None:
    columns = made().columns
    assert columns.indptr.tolist() == [0, 1, 3, 5, 5]
    assert columns.sources.tolist() == [0, 0, 1, 0, 2]
    assert columns.probabilities.tolist() == [0.5, 0.125, 1.0, 0.25, 0.25]


def test_arrays_are_read_only() -> None:
    occurrences = np.array([4, 1, 2, 0])
    table = made(occurrences=occurrences)
    occurrences[0] = 9
    assert table.occurrences[0] == 4
    for values in (table.indptr, table.targets, table.probabilities, table.occurrences, *table.columns):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": [0, 3, 4, 5]},
        {"indptr": [0, 3, 2, 5, 5]},
        {"indptr": [1, 3, 4, 5, 5]},
        {"indptr": [0, 3, 4, 5, 6]},
        {"indptr": [0.0, 3.0, 4.0, 5.0, 5.0]},
        {"targets": [0, 2, 1, 1, 2]},
        {"targets": [0, 1, 1, 1, 2]},
        {"targets": [0, 1, 4, 1, 2]},
        {"targets": [-1, 1, 2, 1, 2]},
        {"targets": [0, 1, 2, 1, 2**40]},
        {"targets": [[0, 1, 2, 1, 2]]},
        {"probabilities": [0.5, 0.125, 0.25, 1.0]},
        {"probabilities": [0.5, np.nan, 0.25, 1.0, 0.25]},
        {"probabilities": [0.5, np.inf, 0.25, 1.0, 0.25]},
        {"probabilities": [0.5, 0.0, 0.25, 1.0, 0.25]},
        {"probabilities": [0.5, -0.1, 0.25, 1.0, 0.25]},
        {"probabilities": [0.5, 0.1, 0.25, 1.1, 0.25]},
        {"probabilities": [0.5, 0.5, 0.25, 1.0, 0.25]},
        {"occurrences": [4, 1, 2]},
        {"occurrences": [4, 1, 2, -1]},
    ],
)
def test_invalid_arrays_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(WeightError):
        made(**changes)


def test_the_word_pair_of_a_bad_probability_is_named() -> None:
    with pytest.raises(WeightError) as caught:
        made(probabilities=[0.5, 0.25, np.nan, 1.0, 0.25])
    assert dict(caught.value.facts)["seen"] == "T(road|car) = nan"


def test_similarities_may_sum_to_more_than_one() -> None:
    given = [0.5, 0.5, 0.25, 1.0, 0.25]
    assert made(probabilities=given, kind="neural-model1").row_sums[0] == 1.25
    with pytest.raises(UnknownNameError):
        made(kind="model2")


def test_an_empty_table() -> None:
    table = made(vocabulary=Vocabulary([]), indptr=[0], targets=[], probabilities=[], occurrences=[])
    assert (len(table), table.nnz, table.row("car")) == (0, 0, [])
    assert replace(made(), indptr=[0] * 5, targets=[], probabilities=[]).column("auto") == []
