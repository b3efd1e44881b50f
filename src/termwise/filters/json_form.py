"""Filters as JSON objects.

===============================================  ================================
JSON                                             text
===============================================  ================================
``{"field": "price", "<": 20}``                  ``price < 20``, and so on
``{"field": "sku", "starts with": "AB-"}``       ``sku starts with "AB-"``
``{"field": "sku", "contains": "200"}``          ``sku contains "200"``
``{"field": "sku", "matches": "AB*-?"}``         ``sku matches "AB*-?"``
``{"field": "k", "equals ignoring case": "a"}``  ``k equals ignoring case "a"``
``{"field": "tags", "in": ["a", "b"]}``          ``tags in ("a", "b")``
``{"field": "tags", "not in": ["a"]}``           ``tags not in ("a")``
``{"field": "price", "between": [1, 9]}``        ``price between 1 and 9``
``{"field": "price", "exists": true}``           ``price is not missing``
``{"and": [FILTER, FILTER]}``, ``{"or": [...]}``  ``FILTER and FILTER``
``{"not": FILTER}``                              ``not FILTER``
===============================================  ================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownNameError
from termwise.filters.expressions import (
    COMPARISONS,
    PART_TESTS,
    And,
    Between,
    Comparison,
    Condition,
    Exists,
    Filter,
    In,
    Not,
    NotIn,
    Or,
)
from termwise.filters.parser import MOST_NESTED

EXAMPLE = {"and": [{"field": "price", "<": 20}, {"field": "tags", "in": ["tea", "pot"]}]}
"""Example of a filter in JSON, shown in errors and in the description of the API."""

_FIX = f"write a filter as in {json.dumps(EXAMPLE)}"

_OPERATORS = (*COMPARISONS, *PART_TESTS, "in", "not in", "between", "exists")


def filter_to_json(filter: Filter) -> dict[str, Any]:
    """Return a filter as an object that `json.dumps` writes and `filter_from_json` reads.

    Examples
    --------
    >>> from termwise.filters import parse_filter
    >>> filter_to_json(parse_filter('lang = "de" and not archived'))
    {'and': [{'field': 'lang', '=': 'de'}, {'not': {'field': 'archived', '=': True}}]}
    """
    if isinstance(filter, And | Or):
        return {filter.word: [filter_to_json(each) for each in filter.filters]}
    if isinstance(filter, Not):
        return {"not": filter_to_json(filter.filter)}
    if isinstance(filter, Condition):
        value: object = list(filter.operands)
        if isinstance(filter, Comparison):
            value = filter.value
        elif isinstance(filter, Exists):
            value = True
        return {"field": filter.field, filter.symbol: value}
    raise ParameterError("this is no filter", facts=[("given", shown(filter))])


def filter_from_json(body: object) -> Filter:
    """Return the filter of an object, such as `json.loads` returns.

    Raises
    ------
    ParameterError
        If the object, or a part of it, is not a filter.
    UnknownNameError
        If an operator is unknown.

    Examples
    --------
    >>> str(filter_from_json({"field": "price", "between": [1, 9.5]}))
    'price between 1 and 9.5'
    """
    return _filter(body, 0)


def _filter(body: object, depth: int) -> Filter:
    if not isinstance(body, Mapping) or depth > MOST_NESTED:
        raise _malformed(
            body, "an object" if depth <= MOST_NESTED else f"at most {MOST_NESTED} filters in each other"
        )
    if "field" not in body:
        if len(body) != 1:
            raise _malformed(
                body, 'an object with "field" and an operator, or with one of "and", "or", "not"'
            )
        word, parts = next(iter(body.items()))
        if word == "not":
            return Not(_filter(parts, depth + 1))
        if word not in ("and", "or"):
            error = UnknownNameError.of("operator", str(word), ["and", "or", "not", "field"])
            raise UnknownNameError(error.message, facts=error.facts, fixes=[*error.fixes, _FIX])
        if not isinstance(parts, list | tuple) or not parts:
            raise _malformed(body, f'"{word}" with a list of filters')
        return (And if word == "and" else Or)(*(_filter(each, depth + 1) for each in parts))
    operators = [each for each in body if each != "field"]
    if len(operators) != 1:
        raise _malformed(body, '"field" and one operator')
    return _condition(body, str(operators[0]), body[operators[0]])


def _condition(body: Mapping[Any, Any], operator: str, value: Any) -> Condition:
    field = body["field"]
    kind = COMPARISONS.get(operator) or PART_TESTS.get(operator)
    if kind is not None:
        return kind(field, value)
    if operator == "in":
        return In(field, value)
    if operator == "not in":
        return NotIn(field, value)
    if operator == "between":
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise _malformed(body, "two bounds")
        return Between(field, *value)
    if operator == "exists":
        if value is not True:
            raise _malformed(body, '"exists": true; for the opposite, {"not": ...}')
        return Exists(field)
    raise UnknownNameError.of("operator", operator, _OPERATORS)


def _malformed(body: object, expected: str) -> ParameterError:
    try:
        seen = json.dumps(body, ensure_ascii=False)[:200]
    except (TypeError, ValueError, RecursionError):
        seen = shown(body)
    return ParameterError(
        "a filter in JSON has another form",
        facts=[("seen", seen), ("expected", expected)],
        fixes=[_FIX],
    )
