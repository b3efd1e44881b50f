"""Checks that several models share."""

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


def check_number(
    model: str, parameter: str, value: object, *, holds: Callable[[float], bool], expected: str
) -> float:
    """Return `value` as a float if it is a finite number that `holds`.

    Raises
    ------
    ParameterError
        If it is not; `expected` says in words what would be.
    """
    if not is_finite_number(value) or not holds(float(value)):
        raise ParameterError(
            f"{parameter} of {model} is out of range",
            facts=[("parameter", parameter), ("given", shown(value)), ("expected", expected)],
            fixes=[f"pass {expected}, as in --set {parameter}=…, or leave it out for the default"],
        )
    return float(value)


def check_between(model: str, parameter: str, value: object, *, least: float, most: float) -> float:
    """Return `value` as a float if it is a number from `least` to `most`; -0.0 is 0.

    Raises
    ------
    ParameterError
        If it is not.
    """
    checked = check_number(
        model,
        parameter,
        value,
        holds=lambda given: least <= given <= most,
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
        raise ParameterError(
            f"{parameter} of {model} is out of range",
            facts=[
                ("parameter", parameter),
                ("given", shown(value)),
                ("expected", f"a whole number from {least} to {most}"),
            ],
            fixes=[f"--set {parameter}=NUMBER, or leave it out for the default"],
        )
    return int(value)


def check_name(model: str, parameter: str, value: object) -> None:
    """Refuse a `value` that is no text, or an empty one.

    Raises
    ------
    ParameterError
        If it is not.
    """
    if not isinstance(value, str) or not value:
        raise ParameterError(
            f"{parameter} of {model} is not a name",
            facts=[("parameter", parameter), ("given", shown(value)), ("expected", "a name or a path")],
            fixes=[f"--set {parameter}=NAME, or leave it out for the default"],
        )


def check_choice(model: str, parameter: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a `value` that is none of the `choices`.

    Raises
    ------
    UnknownNameError
        With the nearest choices.
    """
    if value not in choices:
        raise UnknownNameError.of(f"{parameter} of {model}", str(value), choices)


def check_counts(counts: TermWeights, statistics: CollectionStatistics) -> None:
    """Refuse rows that are not counts, or not of the collection that the statistics are of.

    Raises
    ------
    WeightError
        If a weight is not a whole number of at least 1, or a row counts more occurrences of a term than the
        statistics do.
    VocabularyMismatchError
        If a term has a number that the statistics do not know.
    """
    if counts.nnz == 0:
        return
    size = len(statistics.document_frequencies)
    beyond = counts.terms >= size
    if beyond.any():
        row, term, _ = _where(counts, beyond)
        raise VocabularyMismatchError(
            "the rows hold a term that the statistics of the collection do not know",
            facts=[("row", row), ("term", term), ("expected", f"a number below {size}")],
            fixes=["gather the statistics with the vocabulary of the rows"],
        )
    odd = (counts.weights < 1) | (counts.weights != np.rint(counts.weights))
    if odd.any():
        row, term, weight = _where(counts, odd)
        raise WeightError(
            "a model of counts was given weights that are not counts",
            facts=[
                ("row", row),
                ("term", term),
                ("weight", weight),
                ("expected", "a whole number of at least 1"),
            ],
            fixes=["index weights that are there already with --model vectors"],
        )
    more = statistics.collection_frequencies[counts.terms] < counts.weights
    if statistics.closed and more.any():
        row, term, weight = _where(counts, more)
        raise WeightError(
            "the statistics are not of the collection that the rows come from",
            facts=[
                ("row", row),
                ("term", term),
                ("occurrences in the row", int(weight)),
                ("in the collection", int(statistics.collection_frequencies[term])),
            ],
            fixes=["gather the statistics from the same documents with the same analyzer"],
        )


def _where(counts: TermWeights, mask: npt.NDArray[np.bool_]) -> tuple[int, int, float]:
    position = int(np.flatnonzero(mask)[0])
    row = int(np.searchsorted(counts.indptr, position, side="right")) - 1
    return row, int(counts.terms[position]), float(counts.weights[position])
