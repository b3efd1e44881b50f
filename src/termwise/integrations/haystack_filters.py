"""Filters of Haystack as filters of termwise, on the fields ``id`` and ``meta.NAME``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from haystack.errors import FilterError

from termwise.attributes.dates import parse_date
from termwise.errors import TermwiseError
from termwise.filters.expressions import (
    And,
    Exists,
    Filter,
    Greater,
    GreaterOrEqual,
    In,
    Less,
    LessOrEqual,
    Not,
    Or,
)

_NOT_FILTERABLE = ("content", "blob", "score", "embedding", "sparse_embedding")
"""Fields of a document that filters do not see."""

_ORDER: dict[str, Callable[[str, Any], Filter]] = {
    ">": Greater,
    ">=": GreaterOrEqual,
    "<": Less,
    "<=": LessOrEqual,
}

_COMPARISONS = ("==", "!=", *_ORDER, "in", "not in")


def read_filter(filters: Mapping[str, Any] | None) -> Filter | None:
    """Return a filter of Haystack as one of termwise; None if it matches all documents.

    Raises
    ------
    FilterError
        If it is malformed, or compares with a value that has no order or that filters do not know.

    Examples
    --------
    >>> str(read_filter({"field": "meta.page", "operator": ">", "value": 3}))
    'meta.page > 3'
    """
    if not filters:
        return None
    try:
        return _read(filters)
    except TermwiseError as error:
        raise FilterError(str(error)) from error


def _read(filters: object) -> Filter:
    if not isinstance(filters, Mapping):
        raise FilterError(f"a filter is a dictionary, and not {filters!r}")
    if "operator" not in filters:
        raise FilterError(f"a filter has the key 'operator': {filters}")
    if "field" in filters:
        return _condition(filters)
    operator, conditions = filters["operator"], filters.get("conditions")
    if operator not in ("AND", "OR", "NOT"):
        raise FilterError(f"unknown operator {operator!r} without a field; expected AND, OR or NOT")
    if not isinstance(conditions, list):
        raise FilterError(f"a filter has the key 'conditions' with a list: {filters}")
    parts = [_read(each) for each in conditions]
    if operator == "OR":
        return Or(*parts) if parts else _NOTHING
    together = And(*parts) if parts else Not(_NOTHING)
    return Not(together) if operator == "NOT" else together


_NOTHING = And(Exists("id"), Not(Exists("id")))


def _condition(condition: Mapping[str, Any]) -> Filter:
    if "value" not in condition:
        raise FilterError(f"a filter with a field has the key 'value': {condition}")
    field, operator, value = condition["field"], condition["operator"], condition["value"]
    if operator not in _COMPARISONS:
        raise FilterError(f"unknown operator {operator!r}; expected {', '.join(_COMPARISONS)}")
    if not isinstance(field, str) or field in _NOT_FILTERABLE:
        raise FilterError(f"filters see the id and the metadata of documents, not {field!r}")
    if field != "id" and not field.startswith("meta."):
        field = f"meta.{field}"
    if operator in _ORDER:
        return _NOTHING if value is None else _ORDER[operator](field, _ordered(value))
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"the value of {operator!r} is a list, and not {value!r}")
        equal = _equal(field, value)
    else:
        equal = _equal(field, [value])
    return Not(equal) if operator in ("!=", "not in") else equal


def _equal(field: str, values: list[Any]) -> Filter:
    """Return the filter for documents with one of some values; None stands for no value, as in Haystack."""
    given = tuple(_moment(value) for value in values if value is not None)
    parts: list[Filter] = [In(field, given)] if given else []
    if None in values:
        parts.append(Not(Exists(field)))
    return Or(*parts) if parts else _NOTHING


def _ordered(value: Any) -> Any:
    """Return a value that has an order: a number, or a date."""
    if isinstance(value, bool) or (isinstance(value, str) and parse_date(value) is None):
        raise FilterError(
            f"values are compared by order with numbers and dates in ISO 8601, not with {value!r}"
        )
    return _moment(value)


def _moment(value: Any) -> Any:
    """Return a date without a time as its midnight, as Haystack reads it, and other values as they are."""
    if isinstance(value, str) and len(value) == len("2024-01-31") and parse_date(value) is not None:
        return f"{value}T00:00:00"
    return value
