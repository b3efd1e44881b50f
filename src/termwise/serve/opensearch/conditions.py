"""Conditions of OpenSearch on attributes, as filters."""

from __future__ import annotations

import re
from typing import Any

from termwise.filters import (
    And,
    Equals,
    EqualsIgnoringCase,
    Exists,
    Filter,
    Greater,
    GreaterOrEqual,
    In,
    Less,
    LessOrEqual,
    Matches,
    MatchesIgnoringCase,
    StartsWith,
    StartsWithIgnoringCase,
)
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import flag, known_keys, only_default, record, single, text

CONDITIONS = ("term", "terms", "range", "exists", "prefix", "wildcard")
"""Clauses that are conditions on an attribute; the last two can be on a text too."""

_BOUNDS = {"gt": Greater, "gte": GreaterOrEqual, "lt": Less, "lte": LessOrEqual}


def condition(kind: str, body: object, fields: Fields) -> Filter:
    """Return a clause of a kind in `CONDITIONS`, with its value `body`, as a filter."""
    return {
        "term": _term,
        "terms": _terms,
        "range": _range,
        "exists": _exists,
        "prefix": _prefix,
        "wildcard": _wildcard,
    }[kind](body, fields)


def _term(body: object, fields: Fields) -> Filter:
    name, value = single(body, "term")
    if isinstance(value, dict):
        given = known_keys(value, "term", ("value", "boost", "case_insensitive"))
        only_default(given, "term", boost=1)
        value = given.get("value")
        if flag(given.get("case_insensitive", False), "case_insensitive of term"):
            return EqualsIgnoringCase(fields.attribute(name, "term"), text(value, "value of term"))
    attribute = fields.attribute(name, "term")
    return Equals(attribute, fields.typed(attribute, value))


def _terms(body: object, fields: Fields) -> Filter:
    given = dict(record(body, "terms"))
    only_default(given, "terms", boost=1)
    given.pop("boost", None)
    name, values = single(given, "terms")
    if not isinstance(values, list):
        raise UnsupportedError.of("terms with", type(values).__name__, ["a list of values"])
    attribute = fields.attribute(name, "terms")
    return In(attribute, tuple(fields.typed(attribute, each) for each in values))


def _range(body: object, fields: Fields) -> Filter:
    name, value = single(body, "range")
    given = known_keys(value, "range", (*_BOUNDS, "boost"))
    only_default(given, "range", boost=1)
    attribute = fields.attribute(name, "range")
    bounds: dict[str, Any] = {key: each for key, each in given.items() if key in _BOUNDS and each is not None}
    if not bounds:
        raise ServiceError("a range needs a bound", facts=[("bounds", ", ".join(_BOUNDS))])
    return joined([_BOUNDS[key](attribute, fields.typed(attribute, each)) for key, each in bounds.items()])


def _exists(body: object, fields: Fields) -> Filter:
    given = known_keys(body, "exists", ("field", "boost"))
    only_default(given, "exists", boost=1)
    return Exists(fields.attribute(text(given.get("field"), "field of exists"), "exists"))


def _prefix(body: object, fields: Fields) -> Filter:
    name, value = pattern("prefix", body)
    kind = StartsWithIgnoringCase if _ignores_case(body) else StartsWith
    return kind(fields.attribute(name, "prefix"), value)


def _wildcard(body: object, fields: Fields) -> Filter:
    name, value = pattern("wildcard", body)
    attribute = fields.attribute(name, "wildcard")
    starts, matches = (
        (StartsWithIgnoringCase, MatchesIgnoringCase) if _ignores_case(body) else (StartsWith, Matches)
    )
    beginning = value.rstrip("*")
    if value and not beginning:
        return Exists(attribute)
    if beginning != value and not re.search(r"[*?\\]", beginning):
        return starts(attribute, beginning)
    return matches(attribute, value)


def _ignores_case(body: Any) -> bool:
    """Whether a prefix or wildcard ignores case."""
    _, value = single(body, "a pattern")
    return isinstance(value, dict) and flag(value.get("case_insensitive", False), "case_insensitive")


def pattern(kind: str, body: object) -> tuple[str, str]:
    """Return the field and the value of a prefix or wildcard."""
    name, value = single(body, kind)
    if isinstance(value, dict):
        keys = ("value", "wildcard") if kind == "wildcard" else ("value",)
        given = known_keys(value, kind, (*keys, "boost", "case_insensitive", "rewrite"))
        only_default(given, kind, boost=1, rewrite="constant_score")
        value = given.get("value", given.get("wildcard"))
    return name, text(value, f"value of {kind}")


def joined(filters: list[Filter]) -> Filter:
    """Return the filter that all of several filters give."""
    return filters[0] if len(filters) == 1 else And(*filters)
