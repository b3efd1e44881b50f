"""Checks of model parameters and of term counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError, WeightError
from termwise.fixes import Code, Fix
from termwise.validation import is_finite_number, is_integer
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics

LONGEST_WINDOW = 1 << 16
"""Upper bound for the length of a window, in pieces."""

Range = tuple[Callable[[float], bool], str]
"""Condition for a number, and its description in errors."""


def between(least: int, most: int) -> Range:
    """Return the range of whole numbers from `least` to `most`."""
    return lambda value: least <= value <= most, f"a whole number from {least} to {most}"


UNIT: Range = (lambda value: 0 <= value <= 1, "a number from 0 to 1")
NOT_NEGATIVE: Range = (lambda value: value >= 0, "a number of 0 or more")
KEEP = between(1, (1 << 31) - 1)

WINDOWS = {"length": between(3, LONGEST_WINDOW), "overlap": between(0, LONGEST_WINDOW)}
"""Ranges of the parameters of windows: a window has a piece of text and two special ones."""


@cache
def parameter_types(model: type) -> Mapping[str, Any]:
    """Return the type of each field of a model, without None."""
    hints = get_type_hints(model)
    types = {}
    for field in dataclasses.fields(model):
        hint = hints[field.name]
        union = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        types[field.name] = next(one for one in union if one is not NoneType)
    return types


def check_parameter(model: str, parameter: str, value: object, kind: Any, valid: Range | None = None) -> Any:
    """Return the value of a parameter in its type: bool, int, float, str, or Literal of strings.

    `valid` has the valid numbers, for int and float. The errors name model and parameter; that for a value outside of
    the choices names the nearest ones.
    """
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise UnknownNameError.of(f"{parameter} of {model}", str(value), get_args(kind))
        return value
    if kind in (int, float):
        holds, expected = NOT_NEGATIVE if valid is None else valid
        is_number = is_integer(value) if kind is int else is_finite_number(value)
        if not is_number or not holds(kind(value)):
            raise ParameterError(
                f"{parameter} of {model} is out of range",
                facts=[("parameter", parameter), ("given", shown(value)), ("expected", expected)],
                fixes=[Fix.use("use {}, or omit it for the default", **{parameter: Code("NUMBER")})],
            )
        return kind(value) + kind(0)  # -0.0 becomes 0.0
    if not isinstance(value, kind) or value == "":
        noun, expected = ("true or false",) * 2 if kind is bool else ("a name", "a name or a path")
        raise ParameterError(
            f"{parameter} of {model} is not {noun}",
            facts=[("parameter", parameter), ("given", shown(value)), ("expected", expected)],
            fixes=[
                Fix.use(
                    "use {}, or omit it for the default",
                    **{parameter: True if kind is bool else Code("NAME")},
                )
            ],
        )
    return value


def check_counts(counts: TermWeights, statistics: CollectionStatistics) -> None:
    """Refuse rows that are not counts, or that do not belong to the collection of the statistics."""
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
            fixes=[Fix.build("index existing weights with {}", model="vectors")],
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


def _first(counts: TermWeights, mask: npt.NDArray[np.bool_]) -> tuple[int, int, float]:
    """Return row, term and weight of the first entry that the mask selects."""
    position = int(np.flatnonzero(mask)[0])
    row = int(np.searchsorted(counts.indptr, position, side="right")) - 1
    return row, int(counts.terms[position]), float(counts.weights[position])
