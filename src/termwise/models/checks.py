"""Checks of model parameters and of term counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError, WeightError
from termwise.validation import is_finite_number, is_integer
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics

LONGEST_WINDOW = 1 << 16
"""Upper bound for the length of a window, in pieces."""


def check_number(
    model: str, parameter: str, value: object, *, holds: Callable[[float], bool], expected: str
) -> float:
    """Return `value` as a float if it is a finite number for which `holds` is true.

    Raises
    ------
    ParameterError
        Otherwise; `expected` describes the valid values.
    """
    if not is_finite_number(value) or not holds(float(value)):
        raise _out_of_range(model, parameter, value, expected)
    return float(value)


def check_between(model: str, parameter: str, value: object, *, least: float, most: float) -> float:
    """Return `value` as a float if it is a number from `least` to `most`; -0.0 becomes 0.

    Raises
    ------
    ParameterError
        If it is not.
    """
    checked = check_number(
        model,
        parameter,
        value,
        holds=lambda number: least <= number <= most,
        expected=f"a number from {least:g} to {most:g}",
    )
    return checked + 0.0


def check_whole(model: str, parameter: str, value: object, *, least: int, most: int) -> int:
    """Return `value` as an int if it is a whole number from `least` to `most`.

    Raises
    ------
    ParameterError
        If it is not.
    """
    if not is_integer(value) or not least <= value <= most:
        raise _out_of_range(model, parameter, value, f"a whole number from {least} to {most}")
    return int(value)


def check_keep(model: str, keep: object, *, least: int = 1) -> int:
    """Return the largest number of weights of a document if it is a whole number of `least` or more."""
    return check_whole(model, "keep", keep, least=least, most=(1 << 31) - 1)


def check_windows(model: str, length: int | None, overlap: int | None) -> None:
    """Refuse a window length below 3 pieces or a negative overlap; None stands for the default."""
    if length is not None:
        check_whole(model, "length", length, least=3, most=LONGEST_WINDOW)
    if overlap is not None:
        check_whole(model, "overlap", overlap, least=0, most=LONGEST_WINDOW)


def check_name(model: str, parameter: str, value: object) -> None:
    """Refuse a name or path that is empty or not a string."""
    if not isinstance(value, str) or not value:
        raise ParameterError(
            f"{parameter} of {model} is not a name",
            facts=[("parameter", parameter), ("given", shown(value)), ("expected", "a name or a path")],
            fixes=[f"set `{parameter}=NAME`, or leave it out for the default"],
        )


def check_choice(model: str, parameter: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices; the error names the nearest ones."""
    if value not in choices:
        raise UnknownNameError.of(f"{parameter} of {model}", str(value), choices)


def check_counts(counts: TermWeights, statistics: CollectionStatistics) -> None:
    """Refuse rows that are not counts, or that do not belong to the collection of the statistics.

    Raises
    ------
    WeightError
        If a weight is not a whole number of 1 or more, or exceeds the collection frequency of its term.
    VocabularyMismatchError
        If a term number is unknown to the statistics.
    """
    if counts.nnz == 0:
        return
    size = len(statistics.document_frequencies)
    beyond = counts.terms >= size
    if beyond.any():
        row, term, _ = _first(counts, beyond)
        raise VocabularyMismatchError(
            "a row holds a term that is unknown to the statistics of the collection",
            facts=[("row", row), ("term", term), ("expected", f"a number below {size}")],
            fixes=["compute the statistics with the vocabulary of the rows"],
        )
    fractional = (counts.weights < 1) | (counts.weights != np.rint(counts.weights))
    if fractional.any():
        row, term, weight = _first(counts, fractional)
        raise WeightError(
            "the rows hold weights instead of counts",
            facts=[
                ("row", row),
                ("term", term),
                ("weight", weight),
                ("expected", "a whole number of at least 1"),
            ],
            fixes=["index existing weights with `model=vectors`"],
        )
    excess = statistics.collection_frequencies[counts.terms] < counts.weights
    if statistics.closed and excess.any():
        row, term, weight = _first(counts, excess)
        raise WeightError(
            "the rows and the statistics come from different collections",
            facts=[
                ("row", row),
                ("term", term),
                ("occurrences in the row", int(weight)),
                ("in the collection", int(statistics.collection_frequencies[term])),
            ],
            fixes=["compute the statistics from the same documents with the same analyzer"],
        )


def _out_of_range(model: str, parameter: str, value: object, expected: str) -> ParameterError:
    return ParameterError(
        f"{parameter} of {model} is out of range",
        facts=[("parameter", parameter), ("given", shown(value)), ("expected", expected)],
        fixes=[f"set `{parameter}=NUMBER`, or leave it out for the default"],
    )


def _first(counts: TermWeights, mask: npt.NDArray[np.bool_]) -> tuple[int, int, float]:
    """Return row, term and weight of the first entry that the mask selects."""
    position = int(np.flatnonzero(mask)[0])
    row = int(np.searchsorted(counts.indptr, position, side="right")) - 1
    return row, int(counts.terms[position]), float(counts.weights[position])
