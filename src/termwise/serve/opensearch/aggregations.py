"""Aggregations of OpenSearch: counts of values (terms) and of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termwise.fast_dataclass import dataclass
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


@dataclass(frozen=True)
class Aggregation:
    """Counts of an attribute.

    Attributes
    ----------
    name : str
        In the answer.
    field : str
    size : int
        Number of values.
    ranges : tuple of Range
        Ranges to count instead of values.
    keyed : bool
        Whether the answer has an object by key, not a list.
    """

    name: str
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
    kind, body = single(known_keys(value, where, ("terms", "range")), where)
    if kind == "terms":
        given = known_keys(body, where, ("field", "size", "order", "min_doc_count"))
        only_default(given, where, min_doc_count=1)
        if given.get("order", {"_count": "desc"}) not in ({"_count": "desc"}, [{"_count": "desc"}]):
            raise UnsupportedError.of("order of an aggregation", given["order"], ['{"_count": "desc"}'])
        return Aggregation(name, _attribute(given, fields), whole(given.get("size", 10), "size", 1))
    given = known_keys(body, where, ("field", "ranges", "keyed"))
    ranges = given.get("ranges")
    if not isinstance(ranges, list) or not ranges:
        raise ServiceError("an aggregation of ranges needs a list of ranges", facts=[("aggregation", name)])
    return Aggregation(
        name,
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
