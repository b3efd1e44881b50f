"""Conditions of OpenSearch on attributes, as filters."""

from __future__ import annotations

from typing import Any

from termwise.filters import And, Equals, Exists, Filter, Greater, GreaterOrEqual, In, Less, LessOrEqual
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import known_keys, only_default, record, single, text

CONDITIONS = ("term", "terms", "range", "exists")
"""Clauses that are conditions on an attribute."""

_BOUNDS = {"gt": Greater, "gte": GreaterOrEqual, "lt": Less, "lte": LessOrEqual}


def condition(kind: str, body: object, fields: Fields) -> Filter:
    """Return a clause of a kind in `CONDITIONS`, with its value `body`, as a filter."""
    return {"term": _term, "terms": _terms, "range": _range, "exists": _exists}[kind](body, fields)


def _term(body: object, fields: Fields) -> Filter:
    name, value = single(body, "term")
    if isinstance(value, dict):
        given = known_keys(value, "term", ("value", "boost", "case_insensitive"))
        only_default(given, "term", boost=1, case_insensitive=False)
        value = given.get("value")
    return Equals(fields.attribute(name, "term"), value)


def _terms(body: object, fields: Fields) -> Filter:
    given = dict(record(body, "terms"))
    only_default(given, "terms", boost=1)
    given.pop("boost", None)
    name, values = single(given, "terms")
    if not isinstance(values, list):
        raise UnsupportedError.of("terms with", type(values).__name__, ["a list of values"])
    return In(fields.attribute(name, "terms"), tuple(values))


def _range(body: object, fields: Fields) -> Filter:
    name, value = single(body, "range")
    given = known_keys(value, "range", (*_BOUNDS, "boost"))
    only_default(given, "range", boost=1)
    attribute = fields.attribute(name, "range")
    bounds: dict[str, Any] = {key: each for key, each in given.items() if key in _BOUNDS and each is not None}
    if not bounds:
        raise ServiceError("a range needs a bound", facts=[("bounds", ", ".join(_BOUNDS))])
    return joined([_BOUNDS[key](attribute, each) for key, each in bounds.items()])


def _exists(body: object, fields: Fields) -> Filter:
    given = known_keys(body, "exists", ("field", "boost"))
    only_default(given, "exists", boost=1)
    return Exists(fields.attribute(text(given.get("field"), "field of exists"), "exists"))


def joined(filters: list[Filter]) -> Filter:
    """Return the filter that all of several filters give."""
    return filters[0] if len(filters) == 1 else And(*filters)
