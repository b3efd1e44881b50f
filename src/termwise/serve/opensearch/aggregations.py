"""Aggregations of OpenSearch: buckets of documents, aggregations beneath them, and statistics of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from termwise.attributes import Schema
from termwise.attributes.dates import EARLIEST
from termwise.attributes.field_types import FOLDED_TYPES, FieldType, attribute_value, folded_keyword
from termwise.attributes.json_values import json_value
from termwise.budget import spend
from termwise.display.safe_text import shown
from termwise.fast_dataclass import dataclass
from termwise.filters import Equals, Exists, Filter, In, Not, Or, ValueStatistics, as_filter, value_statistics
from termwise.filters.facets import (
    Segments,
    ValueCount,
    documents_in,
    facet_counts,
    interval_numbers,
    moments,
    range_filter,
    segments_with,
)
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.date_buckets import (
    INTERVALS,
    DateInterval,
    date_text,
    moment_of,
    read_interval,
)
from termwise.serve.opensearch.date_formats import DateFormat
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields, is_like
from termwise.serve.opensearch.json_checks import (
    LARGEST,
    SMALLEST,
    flag,
    known_keys,
    only_default,
    record,
    several,
    single,
    text,
    whole,
)
from termwise.serve.opensearch.top_hits import TopHits, read_top_hits
from termwise.validation import is_finite_number

Edge = str | int | float | None

METRICS = ("stats", "min", "max", "avg", "sum", "value_count", "cardinality")
"""Aggregations that are numbers; the last two are for strings too."""

BUCKETS = (
    "terms",
    "range",
    "date_range",
    "histogram",
    "date_histogram",
    "filter",
    "filters",
    "missing",
    "global",
)
"""Aggregations that are buckets of documents, which can have aggregations beneath them."""

INNER = ("aggs", "aggregations")
"""Keys of the aggregations of a body, and beneath an aggregation."""

TOP_HITS = "top_hits"
"""Aggregation of the first documents of a bucket."""

RESERVED = ("key", "key_as_string", "doc_count", "from", "from_as_string", "to", "to_as_string")
"""Names that the buckets of an answer have, so that no aggregation beneath has them."""

MOST_LEVELS = 5
"""Aggregations beneath each other."""

MOST_BUCKETS = 10_000
"""Buckets of an answer."""

_INSTEAD = {
    "percentiles": "use stats, or histogram",
    "composite": "use terms beneath terms, of at most --max-results values",
}
"""What to use in place of some aggregations."""

_ALL = {"match_all": ("boost",), "bool": ("must", "filter", "must_not", "should", "minimum_should_match")}
"""Keys of the clauses of ``filter`` that all documents fulfil if they are empty."""

_PATTERN = re.compile(r"(?:[\w %'/,:-]|\.\*){1,200}")
"""Patterns of values: ``.*``, and signs that stand for themselves in patterns of OpenSearch."""

_ORDERS = {"_count": ("desc",), "_key": ("asc", "desc")}
"""Orders of values by what they are of."""


@dataclass(frozen=True)
class Range:
    """Range of values: at least `low`, and below `high`; None for no bound."""

    key: str
    low: Edge
    high: Edge


@dataclass(frozen=True)
class Values:
    """Which values ``terms`` counts: those of a list, or that fit a pattern with ``*`` for any characters.

    Attributes
    ----------
    include, exclude : tuple of str, int or bool, str or None
    missing : str, int, bool or None
        Value of documents without one; they are in no bucket if it is None.
    folded : bool
        Whether the spellings of a value are one value; those above are written as `folded_keyword` writes them.
    """

    include: tuple[Any, ...] | str | None = None
    exclude: tuple[Any, ...] | str | None = None
    missing: Any = None
    folded: bool = False

    def is_missing(self, value: Any) -> bool:
        """Whether a value is that of documents without one."""
        return self.missing is not None and self._plain(value) == self._plain(self.missing)

    def _plain(self, value: Any) -> Any:
        return folded_keyword(value) if self.folded else value

    def have(self, value: Any) -> bool:
        """Whether a value is counted."""
        value = self._plain(value)
        return (self.include is None or _is_among(value, self.include)) and not (
            self.exclude is not None and _is_among(value, self.exclude)
        )


@dataclass(frozen=True)
class Aggregation:
    """Buckets of documents, or statistics of an attribute.

    Attributes
    ----------
    name : str
        In the answer.
    kind : str
        One of `BUCKETS` or `METRICS`, or `TOP_HITS`.
    field : str
        Attribute; empty for ``filter``, ``filters`` and ``global``.
    size : int
        Number of values of ``terms``.
    by_key : str
        Order of values by themselves, ``asc`` or ``desc``; empty if the most frequent ones are first.
    values : Values
        Of ``terms``.
    filters : tuple of (str, Filter or None)
        Of ``filters``: keys and conditions, None for all documents. Keys are empty if `keyed` is false.
    other : str or None
        Key of the documents that fulfil none of these conditions.
    ranges : tuple of Range
    width, start : float
        Interval and offset of ``histogram``.
    least : int
        Number of documents of a bucket of ``histogram`` or ``date_histogram`` that is shown.
    interval : DateInterval or None
        Of ``date_histogram``.
    format : DateFormat or None
        Of the dates of ``date_histogram`` and ``date_range``.
    bounds : (int, int) or None
        Moments between which ``date_histogram`` has buckets without documents, in microseconds.
    order : (str, str)
        Order of the buckets of ``date_histogram``: ``_key`` or ``_count``, and ``asc`` or ``desc``.
    top : TopHits or None
        Of `TOP_HITS`.
    keyed : bool
        Whether the answer has an object by key, not a list.
    filter : Filter or None
        Of ``filter`` and ``missing``; None for all documents.
    inner : tuple of Aggregation
        Aggregations of the documents of each bucket.
    """

    name: str
    kind: str
    field: str = ""
    size: int = 10
    by_key: str = ""
    ranges: tuple[Range, ...] = ()
    width: float = 1.0
    start: float = 0.0
    least: int = 0
    keyed: bool = False
    filter: Filter | None = None
    inner: tuple[Aggregation, ...] = ()
    interval: DateInterval | None = None
    format: DateFormat | None = None
    bounds: tuple[int, int] | None = None
    order: tuple[str, str] = ("_key", "asc")
    top: TopHits | None = None
    values: Values = Values()
    filters: tuple[tuple[str, Filter | None], ...] = ()
    other: str | None = None

    @property
    def count(self) -> int:
        """Number of aggregations, with those beneath it; a filter around others is none."""
        return int(self.kind != "filter" or not self.inner) + sum(each.count for each in self.inner)


ReadFilter = Callable[[object], Filter]
"""Function that reads a condition on attributes."""


def read_aggregations(
    body: Mapping[str, Any], fields: Fields, read_filter: ReadFilter, most: int
) -> tuple[Aggregation, ...]:
    """Read the aggregations of a request body; refuse unsupported ones, and more than `most`."""
    found = _read_inner(body, fields, read_filter, 1)
    count = sum(each.count for each in found)
    if count > most:
        raise ServiceError("there are too many aggregations", facts=[("given", count), ("most", most)])
    return found


def _read_inner(
    body: Mapping[str, Any], fields: Fields, read_filter: ReadFilter, level: int
) -> tuple[Aggregation, ...]:
    if all(name in body for name in INNER):
        raise UnsupportedError.of("beside aggs, the key", "aggregations")
    given = next((record(body[name], name) for name in INNER if name in body), {})
    if given and level > MOST_LEVELS:
        raise ServiceError("too many aggregations beneath each other", facts=[("most", MOST_LEVELS)])
    taken = next((name for name in given if level > 1 and name in RESERVED), None)
    if taken is not None:
        fix = "give it another name: buckets have this key themselves"
        raise UnsupportedError.of("beneath an aggregation, the name", taken, fix=fix)
    return tuple(_read(name, each, fields, read_filter, level) for name, each in given.items())


def _read(name: str, value: object, fields: Fields, read_filter: ReadFilter, level: int) -> Aggregation:
    where, kinds = f"the aggregation {name}", (*BUCKETS, *METRICS, TOP_HITS, *INNER)
    given = record(value, where)
    if unknown := [key for key in given if key not in kinds]:
        fix = _INSTEAD.get(unknown[0], "")
        raise UnsupportedError.of(f"the key of {where}", unknown[0], kinds, fix)
    if len(own := {key: each for key, each in given.items() if key not in INNER}) != 1:
        raise ServiceError(
            f"{where} has one kind",
            facts=[("given", ", ".join(own) or "none"), ("kinds", ", ".join(kinds[:-2]))],
        )
    ((kind, body),) = own.items()
    inner = _read_inner(given, fields, read_filter, level + 1)
    if kind in (*METRICS, TOP_HITS):
        if inner:
            raise UnsupportedError.of(f"beneath {kind}, an aggregation", inner[0].name)
        if kind == TOP_HITS:
            return Aggregation(name, kind, top=read_top_hits(body, where, fields))
        known = ("field", "precision_threshold") if kind == "cardinality" else ("field",)
        field = _attribute(known_keys(body, where, known), fields)
        return Aggregation(name, kind, _numeric(kind, field, fields) if kind not in METRICS[-2:] else field)
    if kind == "filter":
        return Aggregation(name, kind, filter=_condition(body, where, read_filter), inner=inner)
    if kind == "filters":
        return _filters(Aggregation(name, kind, inner=inner), body, where, read_filter)
    if kind == "global":
        known_keys(body, where, ())
        if level > 1:
            raise UnsupportedError.of("beneath an aggregation, the aggregation", kind)
        if any(_has_hits(each) for each in inner):
            raise UnsupportedError.of("beneath global, the aggregation", TOP_HITS)
        return Aggregation(name, kind, inner=inner)
    keys = {
        "terms": ("size", "order", "min_doc_count", "missing", "include", "exclude"),
        "range": ("ranges", "keyed"),
        "date_range": ("ranges", "keyed", "format"),
        "histogram": ("interval", "offset", "min_doc_count", "keyed"),
        "date_histogram": (
            *INTERVALS,
            "offset",
            "time_zone",
            "min_doc_count",
            "keyed",
            "format",
            "order",
            "extended_bounds",
        ),
        "missing": (),
    }
    given = known_keys(body, where, ("field", *keys[kind]))
    field = _attribute(given, fields)
    if kind == "terms":
        if (of_type := fields.schema[field]) in ("float", "date"):
            fix = "use range, or histogram" if of_type == "float" else "use date_histogram"
            raise UnsupportedError.of(f"terms of the {of_type}", field, fix=fix)
        only_default(given, where, min_doc_count=1)
        size = whole(given.get("size", 10), "size", 1)
        values = _values(given, where, field, fields)
        return Aggregation(
            name, kind, field, size, _order(given.get("order", [])), inner=inner, values=values
        )
    if kind == "missing":
        return Aggregation(name, kind, field, filter=Not(Exists(field)), inner=inner)
    keyed = flag(given.get("keyed", False), "keyed")
    if kind in ("date_histogram", "date_range"):
        if fields.schema[field] != "date":
            fix = f"use {kind.removeprefix('date_')} for numbers, and terms for others"
            raise UnsupportedError.of(
                f"{kind} of the {fields.schema[field]}", field, ["attributes of dates"], fix
            )
        asked = Aggregation(name, kind, field, keyed=keyed, format=_format(given, where), inner=inner)
        if kind == "date_histogram":
            return _date_histogram(asked, given, where)
        return replace(asked, ranges=_date_ranges(given, where, asked.format, keyed=keyed))
    if kind == "histogram":
        width, start = given.get("interval"), given.get("offset", 0)
        has_width = is_finite_number(width) and SMALLEST <= width <= LARGEST
        if not has_width or not is_finite_number(start) or abs(start) > LARGEST:
            raise ServiceError(
                f"{where} has an interval above 0, from {SMALLEST:g} to {LARGEST:g}, and an offset up to {LARGEST:g}",
                facts=[("interval", shown(width)), ("offset", shown(start))],
            )
        if fields.schema[field] == "date":
            raise UnsupportedError.of("histogram of the date", field, fix="use date_histogram")
        return Aggregation(
            name,
            kind,
            _numeric(kind, field, fields),
            width=float(given["interval"]),
            start=float(start),
            least=whole(given.get("min_doc_count", 0), "min_doc_count"),
            keyed=keyed,
            inner=inner,
        )
    ranges = given.get("ranges")
    if not isinstance(ranges, list) or not ranges:
        raise ServiceError("an aggregation of ranges needs a list of ranges", facts=[("aggregation", name)])
    edges = tuple(_range(each, field, fields) for each in ranges)
    if keyed and len({each.key for each in edges}) < len(edges):
        raise ServiceError("ranges of a keyed answer have different keys", facts=[("aggregation", name)])
    return Aggregation(name, kind, _numeric(kind, field, fields), ranges=edges, keyed=keyed, inner=inner)


def _has_hits(asked: Aggregation) -> bool:
    return asked.kind == TOP_HITS or any(map(_has_hits, asked.inner))


def _condition(body: object, where: str, read_filter: ReadFilter) -> Filter | None:
    """Return a condition on attributes; None for all documents."""
    clause, conditions = single(body, f"the filter of {where}")
    if clause != "match_all" and (clause != "bool" or any(record(conditions, clause).values())):
        return read_filter(body)
    known_keys(conditions, clause, _ALL[clause])
    return None


def _filters(asked: Aggregation, body: object, where: str, read_filter: ReadFilter) -> Aggregation:
    """Return the buckets of several conditions, which have names or are a list."""
    given = known_keys(body, where, ("filters", "other_bucket", "other_bucket_key"))
    conditions = given.get("filters")
    if not isinstance(conditions, dict | list) or not conditions:
        raise ServiceError(f"{where} has an object or a list of filters")
    keyed = isinstance(conditions, dict)
    named = conditions.items() if isinstance(conditions, dict) else [("", each) for each in conditions]
    other = None
    if flag(given.get("other_bucket", "other_bucket_key" in given), f"other_bucket of {where}"):
        other = text(given.get("other_bucket_key", "_other_"), f"other_bucket_key of {where}")
    filters = tuple((key, _condition(each, where, read_filter)) for key, each in named)
    return replace(asked, filters=filters, other=other, keyed=keyed)


def _values(given: Mapping[str, Any], where: str, field: str, fields: Fields) -> Values:
    """Return which values of an attribute are counted."""
    folded = fields.schema[field] in FOLDED_TYPES

    def typed(value: object) -> Any:
        found = fields.typed(field, value)
        as_filter(Equals(field, found), fields.schema)
        return found

    def chosen(name: str) -> tuple[Any, ...] | str | None:
        value = given.get(name)
        if value is None:
            return None
        if isinstance(value, list):
            found = tuple(map(typed, value))
            return tuple(map(folded_keyword, found)) if folded else found
        is_pattern = isinstance(value, str) and _PATTERN.fullmatch(value)
        if not is_pattern or fields.schema[field] in ("boolean", "integer"):
            known = ["a list of values", "for strings, a pattern of letters, digits and .*"]
            raise UnsupportedError.of(f"{name} of {where}", shown(value), known)
        return str(value).replace(".*", "*")

    missing = None if given.get("missing") is None else typed(given["missing"])
    return Values(chosen("include"), chosen("exclude"), missing, folded)


def _is_among(value: Any, chosen: tuple[Any, ...] | str) -> bool:
    return is_like(value, chosen) if isinstance(chosen, str) else value in chosen


def _format(given: Mapping[str, Any], where: str) -> DateFormat:
    return DateFormat(text(given["format"], f"format of {where}")) if "format" in given else DateFormat()


def _date_histogram(asked: Aggregation, given: Mapping[str, Any], where: str) -> Aggregation:
    """Return a histogram of dates with the keys of its body."""
    bounds = None
    if given.get("extended_bounds") is not None:
        ends = known_keys(given["extended_bounds"], f"extended_bounds of {where}", ("min", "max"))
        low, high = (moment_of(ends.get(end), f"{end} of extended_bounds") for end in ("min", "max"))
        if low > high:
            raise ServiceError(f"min of extended_bounds of {where} is not after max")
        bounds = low, high
    order = ("_key", "asc")
    if "order" in given:
        key, direction = single(given["order"], f"order of {where}")
        if key not in _ORDERS or direction not in ("asc", "desc"):
            known = ['{"_key": "asc"}', '{"_key": "desc"}', '{"_count": "desc"}', '{"_count": "asc"}']
            raise UnsupportedError.of(f"order of {where}", given["order"], known)
        order = key, direction
    return replace(
        asked,
        interval=read_interval(given, where),
        least=whole(given.get("min_doc_count", 0), "min_doc_count"),
        bounds=bounds,
        order=order,
    )


def _date_ranges(
    given: Mapping[str, Any], where: str, written: DateFormat | None, *, keyed: bool
) -> tuple[Range, ...]:
    """Return ranges whose ends are dates in ISO 8601."""
    ranges = given.get("ranges")
    if not isinstance(ranges, list) or not ranges:
        raise ServiceError(f"{where} needs a list of ranges")
    found = []
    assert written is not None, "a range of dates has a format"
    for each in ranges:
        ends = known_keys(each, "a range", ("key", "from", "to"))
        low, high = (
            None if ends.get(end) is None else moment_of(ends[end], f"{end} of a range of {where}")
            for end in ("from", "to")
        )
        if low is None and high is None:
            raise ServiceError("a range of an aggregation needs from or to")
        shown = "-".join("*" if end is None else written.written(end // 1000) for end in (low, high))
        low_text, high_text = (None if end is None else date_text(end) for end in (low, high))
        found.append(Range(text(ends.get("key", shown), "key of a range"), low_text, high_text))
    if keyed and len({each.key for each in found}) < len(found):
        raise ServiceError("ranges of a keyed answer have different keys", facts=[("aggregation", where)])
    return tuple(found)


def _attribute(given: dict[str, Any], fields: Fields) -> str:
    return fields.attribute(text(given.get("field"), "field of an aggregation"), "an aggregation")


def _numeric(kind: str, field: str, fields: Fields) -> str:
    """Return an attribute of numbers or dates; refuse others."""
    of_type = fields.schema[field]
    if of_type not in ("integer", "float", "date"):
        known = ("terms", "missing", *METRICS[-2:])
        raise UnsupportedError.of(
            f"for the attribute {field} of the type {of_type}, the aggregation", kind, known
        )
    return field


def _order(value: object) -> str:
    """Return the direction of an order by key; empty for the default order, the most frequent values first."""
    keys = [next(iter(record(each, "order").items()), ("", "")) for each in several(value)]
    if keys == [("_count", "desc"), ("_key", "asc")]:
        keys.pop()
    if len(keys) > 1 or any(order not in _ORDERS.get(name, ()) for name, order in keys):
        known = [f'{{"{name}": "{order}"}}' for name, orders in _ORDERS.items() for order in orders]
        raise UnsupportedError.of("order of an aggregation", value, known)
    return str(keys[0][1]) if keys and keys[0][0] == "_key" else ""


def _range(value: object, field: str, fields: Fields) -> Range:
    given = known_keys(value, "a range", ("key", "from", "to"))
    low, high = (fields.typed(field, given.get(edge)) for edge in ("from", "to"))
    if low is None and high is None:
        raise ServiceError("a range of an aggregation needs from or to")
    shown = "-".join("*" if edge is None else _shown(edge) for edge in (low, high))
    return Range(text(given.get("key", shown), "key of a range"), low, high)


def _shown(edge: object) -> str:
    """Return an edge as OpenSearch writes it in the key of a range."""
    return str(float(edge)) if is_finite_number(edge) else str(edge)


Buckets = Iterator[tuple[dict[str, Any], Segments]]
"""Key and count of each bucket, and its documents. Buckets are computed one at a time to save memory."""


class AggregationAnswers:
    """Answers of aggregations over the documents of an index.

    Parameters
    ----------
    schema : Schema
        Types of the attributes.
    most_values : int
        Number of values of an attribute that are counted, and of documents in all `TOP_HITS` together.
    top_hits : callable
        Returns the answer of `TOP_HITS` for counted rows.
    every : callable
        Returns all documents, for ``global``.
    """

    def __init__(
        self,
        schema: Schema,
        most_values: int,
        top_hits: Callable[[TopHits, Segments], dict[str, Any]],
        every: Callable[[], Segments],
    ) -> None:
        self._every = every
        self.schema, self.most_values, self._buckets_left = schema, most_values, MOST_BUCKETS
        self._top_hits, self._hits_left = top_hits, most_values

    def of(self, aggregations: Sequence[Aggregation], segments: Segments) -> dict[str, Any]:
        """Return the answer of each aggregation by its name; it covers the counted rows of the segments."""
        return {each.name: self._answer(each, segments) for each in aggregations}

    def _answer(self, asked: Aggregation, segments: Segments) -> dict[str, Any]:
        spend()
        if asked.kind in METRICS:
            return metric_answer(asked, value_statistics(segments, asked.field), self.schema[asked.field])
        if asked.top is not None:
            answer = self._top_hits(asked.top, segments)
            self._hits_left -= len(answer["hits"]["hits"])
            if self._hits_left < 0:
                raise ServiceError(
                    "the aggregations have too many documents in top_hits",
                    facts=[("most", self.most_values)],
                    fixes=["ask for fewer buckets, or a smaller size of top_hits"],
                )
            return answer
        if asked.kind in ("filter", "missing", "global"):
            kept = self._every() if asked.kind == "global" else segments
            if asked.filter is not None:
                kept = segments_with(segments, as_filter(asked.filter, self.schema))
            return {"doc_count": documents_in(kept), **self.of(asked.inner, kept)}
        answer = {}
        if asked.kind == "terms":
            answer, found = self._terms(asked, segments)
        else:
            buckets_of = {
                "filters": self._filters,
                "range": self._ranges,
                "date_range": self._ranges,
                "histogram": self._histogram,
                "date_histogram": self._date_histogram,
            }
            found = buckets_of[asked.kind](asked, segments)
        buckets = [{**bucket, **self.of(asked.inner, kept)} for bucket, kept in found]
        if asked.keyed:
            of_range = asked.kind in ("filters", "range", "date_range")
            by_key = {
                str(bucket.get("key_as_string", bucket["key"])): bucket
                if not of_range
                else _without_key(bucket)
                for bucket in buckets
            }
            return {"buckets": by_key}
        if asked.kind == "filters":
            buckets = [_without_key(bucket) for bucket in buckets]
        return {**answer, "buckets": buckets}

    def _take(self, buckets: int) -> None:
        """Count buckets of the answer."""
        self._buckets_left -= buckets
        if self._buckets_left < 0:
            raise _too_many()

    def _terms(self, asked: Aggregation, segments: Segments) -> tuple[dict[str, Any], Buckets]:
        """Return the number of other documents, if it is known, and the buckets of the values."""
        which, without = asked.values, Not(Exists(asked.field))
        counted = segments
        if isinstance(which.include, tuple):
            counted = segments_with(segments, as_filter(In(asked.field, which.include), self.schema))
        values = facet_counts(counted, asked.field, self.most_values)
        are_all = len(values) < self.most_values
        if which.missing is not None:
            of_missing = as_filter(Equals(asked.field, which.missing), self.schema)
            own = documents_in(segments_with(counted, of_missing))
            added = documents_in(segments_with(segments, without))
            values = [each for each in values if not which.is_missing(each.value)]
            if own + added:
                values.append(ValueCount(which.missing, own + added))
                values.sort(key=lambda each: (-each.documents, each.value))
        values = [each for each in values if which.have(each.value)]
        if (
            not are_all
            and len(values) < asked.size
            and (which.include, which.exclude, which.missing) != (None,) * 3
        ):
            what = f"missing, include or exclude, of an attribute of {self.most_values:,} or more values,"
            raise UnsupportedError.of(
                what, asked.field, fix="ask for a smaller size, or include a list of values"
            )
        if asked.by_key:
            if not are_all:
                what = f"order _key of an attribute of {self.most_values:,} or more values,"
                raise UnsupportedError.of(what, asked.field, ['{"_count": "desc"}'])
            values = sorted(values, key=lambda each: each.value, reverse=asked.by_key == "desc")
        shown, others = values[: asked.size], values[asked.size :]
        answer: dict[str, Any] = {"doc_count_error_upper_bound": 0}
        if are_all:
            answer["sum_other_doc_count"] = sum(each.documents for each in others)
        self._take(len(shown))

        def buckets() -> Buckets:
            for value, documents in shown:
                key: dict[str, Any] = {"key": value}
                if isinstance(value, bool):
                    key = {"key": int(value), "key_as_string": str(value).lower()}
                of_value: Filter = Equals(asked.field, value)
                if which.is_missing(value):
                    of_value = Or(of_value, without)
                kept = segments_with(segments, of_value) if asked.inner else []
                yield {**key, "doc_count": documents}, kept

        return answer, buckets()

    def _filters(self, asked: Aggregation, segments: Segments) -> Buckets:
        self._take(len(asked.filters) + (asked.other is not None))
        rest = segments
        for key, condition in asked.filters:
            kept = segments
            if condition is not None:
                kept = segments_with(segments, condition)
            yield {"key": key, "doc_count": documents_in(kept)}, kept
            if asked.other is not None:
                rest = [
                    (columns, mask & ~fulfilled)
                    for (columns, mask), (_, fulfilled) in zip(rest, kept, strict=True)
                ]
        if asked.other is not None:
            yield {"key": asked.other, "doc_count": documents_in(rest)}, rest

    def _ranges(self, asked: Aggregation, segments: Segments) -> Buckets:
        self._take(len(asked.ranges))
        for each in asked.ranges:
            kept = segments_with(
                segments, as_filter(range_filter(asked.field, each.low, each.high), self.schema)
            )
            bounds: dict[str, Any] = {}
            for name, edge in (("from", each.low), ("to", each.high)):
                if edge is not None and asked.format is not None:
                    milliseconds = moment_of(edge, name) // 1000
                    bounds |= {name: milliseconds, f"{name}_as_string": asked.format.written(milliseconds)}
                elif edge is not None:
                    bounds[name] = edge
            yield {"key": each.key, **bounds, "doc_count": documents_in(kept)}, kept

    def _date_histogram(self, asked: Aggregation, segments: Segments) -> Buckets:
        assert asked.interval is not None, "a histogram of dates has an interval"
        assert asked.format is not None, "a histogram of dates has a format"
        rows = [(asked.interval.numbers(values), mask) for values, mask in moments(segments, asked.field)]
        counted = [np.empty(0, dtype=np.int64), *(numbers[mask] for numbers, mask in rows)]
        found, documents = np.unique(np.concatenate(counted), return_counts=True)
        counts = dict(zip(found.tolist(), documents.tolist(), strict=True))
        ends = [*found[:1].tolist(), *found[-1:].tolist()]
        if asked.bounds is not None:
            ends += asked.interval.numbers(np.array(asked.bounds)).tolist()
        places = sorted(place for place, count in counts.items() if count >= asked.least)
        if asked.least == 0 and ends:
            if max(ends) - min(ends) >= MOST_BUCKETS:
                raise _too_many()
            places = [*range(min(ends), max(ends) + 1)]
        self._take(len(places))
        by, direction = asked.order
        if by == "_count":
            places.sort(key=lambda place: counts.get(place, 0), reverse=direction == "desc")
        elif direction == "desc":
            places.reverse()
        for place in places:
            kept: Segments = (
                [
                    (columns, mask & (numbers == place))
                    for (columns, _), (numbers, mask) in zip(segments, rows, strict=True)
                ]
                if asked.inner
                else []
            )
            spend(sum(len(mask) for _, mask in kept))
            key = max(asked.interval.begin(place), EARLIEST) // 1000
            bucket = {"key_as_string": asked.format.written(key, asked.interval.zone), "key": key}
            yield {**bucket, "doc_count": counts.get(place, 0)}, kept

    def _histogram(self, asked: Aggregation, segments: Segments) -> Buckets:
        of_rows = interval_numbers(segments, asked.field, asked.width, asked.start)
        masks = [mask & ~np.isnan(numbers) for numbers, (_, mask) in zip(of_rows, segments, strict=True)]
        counted = [np.empty(0), *(numbers[mask] for numbers, mask in zip(of_rows, masks, strict=True))]
        found, documents = np.unique(np.concatenate(counted), return_counts=True)
        if not len(found):
            return
        if not np.isfinite(found).all() or (asked.least == 0 and found[-1] - found[0] >= MOST_BUCKETS):
            raise _too_many()
        counts = dict(zip(found.tolist(), documents.tolist(), strict=True))
        between = np.arange(found[0], found[-1]).tolist() if asked.least == 0 else []
        places = [place for place in sorted({*between, *counts}) if counts.get(place, 0) >= asked.least]
        self._take(len(places))
        for place in places:
            kept = (
                [
                    (columns, mask & (numbers == place))
                    for (columns, _), mask, numbers in zip(segments, masks, of_rows, strict=True)
                ]
                if asked.inner
                else []
            )
            spend(sum(len(mask) for _, mask in kept))
            yield {"key": asked.start + place * asked.width, "doc_count": counts.get(place, 0)}, kept


def _without_key(bucket: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in bucket.items() if name != "key"}


def _too_many() -> ServiceError:
    fixes = ["ask for fewer values, a larger interval, or min_doc_count 1"]
    return ServiceError("the aggregations have too many buckets", facts=[("most", MOST_BUCKETS)], fixes=fixes)


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
