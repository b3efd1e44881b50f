"""Aggregations of OpenSearch: counts of values (terms) and of ranges, and statistics of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termwise.attributes.field_types import FieldType, attribute_value
from termwise.attributes.json_values import json_value
from termwise.fast_dataclass import dataclass
from termwise.filters import ValueStatistics
from termwise.serve.answers import FacetValue
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import flag, known_keys, only_default, record, single, text, whole
from termwise.validation import is_finite_number

Edge = str | int | float | None


@dataclass(frozen=True)
class Range:
    """Range of values: at least `low`, and below `high`; None for no bound."""

    key: str
    low: Edge
    high: Edge


METRICS = ("stats", "min", "max", "avg", "sum", "value_count", "cardinality")
"""Aggregations that are numbers; the last two are for strings too."""


@dataclass(frozen=True)
class Aggregation:
    """Counts or statistics of an attribute.

    Attributes
    ----------
    name : str
        In the answer.
    kind : str
        ``terms``, ``range``, or one of `METRICS`.
    field : str
    size : int
        Number of values.
    ranges : tuple of Range
        Ranges to count instead of values.
    keyed : bool
        Whether the answer has an object by key, not a list.
    """

    name: str
    kind: str
    field: str
    size: int = 10
    ranges: tuple[Range, ...] = ()
    keyed: bool = False


def read_aggregations(value: object, fields: Fields, most: int) -> tuple[Aggregation, ...]:
    """Read the aggregations of a body, `most` at the most; one that is not as expected is an error."""
    given = record(value, "aggs")
    if len(given) > most:
        raise ServiceError("there are too many aggregations", facts=[("given", len(given)), ("most", most)])
    return tuple(_read(name, each, fields) for name, each in given.items())


def _read(name: str, value: object, fields: Fields) -> Aggregation:
    where = f"the aggregation {name}"
    kind, body = single(known_keys(value, where, ("terms", "range", *METRICS)), where)
    if kind in METRICS:
        known = ("field", "precision_threshold") if kind == "cardinality" else ("field",)
        field = _attribute(known_keys(body, where, known), fields)
        of_type = fields.schema[field]
        if of_type not in ("integer", "float", "date") and kind not in METRICS[-2:]:
            raise UnsupportedError.of(
                f"for the attribute {field} of the type {of_type}, the aggregation", kind, METRICS[-2:]
            )
        return Aggregation(name, kind, field)
    if kind == "terms":
        given = known_keys(body, where, ("field", "size", "order", "min_doc_count"))
        only_default(given, where, min_doc_count=1)
        if given.get("order", {"_count": "desc"}) not in ({"_count": "desc"}, [{"_count": "desc"}]):
            raise UnsupportedError.of("order of an aggregation", given["order"], ['{"_count": "desc"}'])
        return Aggregation(name, kind, _attribute(given, fields), whole(given.get("size", 10), "size", 1))
    given = known_keys(body, where, ("field", "ranges", "keyed"))
    ranges = given.get("ranges")
    if not isinstance(ranges, list) or not ranges:
        raise ServiceError("an aggregation of ranges needs a list of ranges", facts=[("aggregation", name)])
    return Aggregation(
        name,
        kind,
        _attribute(given, fields),
        ranges=tuple(map(_range, ranges)),
        keyed=flag(given.get("keyed", False), "keyed"),
    )


def _attribute(given: dict[str, Any], fields: Fields) -> str:
    return fields.attribute(text(given.get("field"), "field of an aggregation"), "an aggregation")


def _range(value: object) -> Range:
    given = known_keys(value, "a range", ("key", "from", "to"))
    low, high = given.get("from"), given.get("to")
    if low is None and high is None:
        raise ServiceError("a range of an aggregation needs from or to")
    shown = "-".join("*" if edge is None else _shown(edge) for edge in (low, high))
    return Range(text(given.get("key", shown), "key of a range"), low, high)


def _shown(edge: object) -> str:
    """Return an edge as OpenSearch writes it in the key of a range."""
    return str(float(edge)) if is_finite_number(edge) else str(edge)


def terms_answer(
    aggregation: Aggregation, values: Sequence[FacetValue], others: int | None
) -> dict[str, Any]:
    """Return the answer of an aggregation of values; `others` is the number of documents with further values, if known.

    There may be more values, most frequent first, than its size.
    """
    shown, hidden = values[: aggregation.size], values[aggregation.size :]
    answer: dict[str, Any] = {"doc_count_error_upper_bound": 0}
    if others is not None:
        answer["sum_other_doc_count"] = others + sum(each["documents"] for each in hidden)
    return {**answer, "buckets": [_bucket(each["value"], each["documents"]) for each in shown]}


def _bucket(value: str | int | bool, documents: int) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"key": int(value), "key_as_string": str(value).lower(), "doc_count": documents}
    return {"key": value, "doc_count": documents}


def ranges_answer(aggregation: Aggregation, documents: Sequence[int]) -> dict[str, Any]:
    """Return the answer of an aggregation of ranges from the number of documents in each."""
    buckets = []
    for each, number in zip(aggregation.ranges, documents, strict=True):
        bounds = {name: edge for name, edge in (("from", each.low), ("to", each.high)) if edge is not None}
        buckets.append({"key": each.key, **bounds, "doc_count": number})
    if aggregation.keyed:
        return {"buckets": {bucket.pop("key"): bucket for bucket in buckets}}
    return {"buckets": buckets}


def metric_answer(aggregation: Aggregation, found: ValueStatistics, type: FieldType) -> dict[str, Any]:
    """Return the answer of an aggregation in `METRICS` of an attribute of a type; dates are in milliseconds."""
    if aggregation.kind in METRICS[-2:]:
        return {"value": found.values if aggregation.kind == "value_count" else found.distinct}
    average = None if found.total is None or not found.values else found.total / found.values
    numbers = {"min": found.least, "max": found.most, "avg": average, "sum": found.total}
    written = {}
    if type == "date":
        written = {
            name: json_value(attribute_value("date", int(number)))
            for name, number in numbers.items()
            if number is not None and name != "sum"
        }
        numbers = {name: None if number is None else number / 1000 for name, number in numbers.items()}
    if aggregation.kind == "stats":
        as_text = {f"{name}_as_string": moment for name, moment in written.items()}
        return {"count": found.values, **numbers, **as_text}
    kind = aggregation.kind
    return {"value": numbers[kind], **({"value_as_string": written[kind]} if kind in written else {})}
