"""Order of the results of a search: by score or by attributes, and at most n results for each value of a field.

Pinned documents come before all others, and count for their values. Sorting takes all documents that match, not the
best ones by score. Collapsing takes more and more of the first documents until enough of them are kept. Both are exact.
A page can begin after the values of the sort keys of a document, such as the last one of the page before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.attributes.field_types import EXPECTED, LIST_TYPES, FieldType
from termwise.budget import spend
from termwise.display.safe_text import shown
from termwise.engine.retrieval import RankedOrdinals
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.segment import Segment
from termwise.records import AttributeValue, Ranking
from termwise.validation import check, is_finite_number, is_integer

if TYPE_CHECKING:
    from termwise.filters import Filter

SCORE, ID, POSITION = "_score", "_id", "_doc"
"""Sort keys of the score, of the identifier and of the position in the index, unless an attribute has this name."""

DEEPER = 16
"""Factor of the number of documents that are collapsed, as long as too few are kept."""

Ordinals = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]

Item = TypeVar("Item", bound=Hashable)

Best = Callable[[int], RankedOrdinals]
"""Function that returns the best documents by score, of the given number, or all if there are fewer."""


@dataclass(frozen=True)
class ResultOrder:
    """Order of the results of a search.

    Attributes
    ----------
    keys : tuple of (str, bool)
        Attributes that results are sorted by, the most important one first, and whether the largest value is first;
        `SCORE`, `ID` and `POSITION` are keys, too. Results with equal values are in the order of their scores.
    collapse : str or None
        Attribute of which each value has a few results, the first ones; documents without a value are all results.
    collapse_size : int
        Number of results of each value.
    after : tuple or None
        A value of each key, for an attribute the filters of equal values and of later ones: only documents whose values
        are later in the order are results. Pinned documents come before them, and are none.
    """

    keys: tuple[tuple[str, bool], ...] = ()
    collapse: str | None = None
    collapse_size: int = 1
    after: tuple[Any, ...] | None = None

    @classmethod
    def parse(
        cls,
        sort: str | Sequence[str] | None,
        collapse: str | None,
        collapse_size: int,
        schema: Schema,
        after: Sequence[AttributeValue | None] | None = None,
    ) -> ResultOrder:
        """Parse the order of a search; see `Search`.

        Raises
        ------
        ParameterError, UnknownNameError
            If the documents have no such attribute, or its values are lists.

        Examples
        --------
        >>> ResultOrder.parse("_score,-price", None, 1, Schema({"price": "float"})).keys
        (('_score', True), ('price', True))
        """
        keys = sort_keys(sort, schema)
        if len({name for name, _ in keys}) < len(keys):
            raise ParameterError(
                "results are sorted by each attribute once",
                facts=[("given", ", ".join(name for name, _ in keys))],
            )
        later = None if after is None else _after(after, keys, schema)
        if keys and keys[-1][0] == SCORE and after is None:
            keys.pop()  # equal documents are in the order of their scores
        if collapse is not None:
            check("collapse", collapse, isinstance(collapse, str), "an attribute")
            _check_single(collapse, schema)
        return cls(tuple(keys), collapse, collapse_size, later)

    def ranking(
        self,
        index: Index,
        best: Best,
        k: int,
        query_id: str,
        names: Mapping[int, str] | None = None,
        pinned: RankedOrdinals | None = None,
        by_words: Callable[[Ordinals], npt.NDArray[np.bool_]] | None = None,
    ) -> Ranking:
        """Return the first `k` results of a search; `best` finds the best documents by score.

        `names` are the identifiers of documents by position, if they are known; those of the index are read otherwise.
        `by_words` tells which documents are results of a sorted search; by default all are.
        """
        first = self._sorted(index, best, by_words) if self.keys else best
        if pinned is not None:
            first = _without(pinned[0], first) if self.after is not None else _with_pinned(pinned, first)
        ordinals, scores = first(k) if self.collapse is None else self._collapsed(index, first, k)
        sorted_by = ",".join(map(written_key, self.keys))
        doc_ids = index.doc_ids(ordinals) if names is None else map(names.__getitem__, ordinals.tolist())
        first_results = 0 if pinned is None else int(np.isin(ordinals, pinned[0]).sum())
        return Ranking(tuple(doc_ids), scores, query_id, sorted_by, first_results)

    def _sorted(
        self, index: Index, best: Best, by_words: Callable[[Ordinals], npt.NDArray[np.bool_]] | None
    ) -> Best:
        ordinals, scores = best(max(1, len(index)))
        if self.after is not None:
            later = self._later(index, ordinals, scores)
            ordinals, scores = ordinals[later], scores[later]
        if by_words is not None:
            matching = by_words(ordinals)
            ordinals, scores = ordinals[matching], scores[matching]

        def first(k: int) -> RankedOrdinals:
            places = self._first_places(index, ordinals, scores, k)
            return ordinals[places], scores[places]

        return first

    def _first_places(self, index: Index, ordinals: Ordinals, scores: Scores, k: int) -> Places:
        """Return the places in `ordinals` of the first `k` documents in the order of the keys.

        Documents with equal values are in the order of `ordinals`, and those without a value are last, for each key.
        """
        spend(len(ordinals))
        of_segments = [
            places[self._first_rows(index, segment, ordinals[places], rows, scores[places], k)]
            for segment, places, rows in index.segments.by_segment(ordinals)
        ]
        if len(of_segments) == 1:
            return of_segments[0]
        places = _ascending(of_segments)

        def values_of(name: str) -> Mapping[int, AttributeValue]:
            if _is_own(name, index.schema):
                found = {SCORE: scores, POSITION: ordinals}.get(name)
                values = index.doc_ids(ordinals[places]) if found is None else found[places].tolist()
                return dict(zip(places.tolist(), values, strict=True))
            return _values(index, name, ordinals, places)

        return np.array(in_order(places.tolist(), self.keys, values_of)[:k], dtype=np.intp)

    def _first_rows(
        self, index: Index, segment: Segment, ordinals: Ordinals, rows: Ordinals, scores: Scores, k: int
    ) -> Places:
        """Return the places in `rows` of the first `k` rows of a segment; `ordinals` are their positions."""

        def column(key: tuple[str, bool], among: Places) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
            return _column(index, segment, ordinals[among], rows[among], scores[among], *key)

        among = np.arange(len(rows))
        keys, missing = column(self.keys[0], among)
        if k < len(rows) - missing.sum():
            largest = np.partition(keys[~missing], k - 1)[k - 1]
            among = np.flatnonzero(~missing & (keys <= largest))
        columns = [(keys[among], missing[among]), *(column(key, among) for key in self.keys[1:])]
        order = np.lexsort([each for pair in reversed(columns) for each in pair])
        return among[order[:k]]

    def _later(self, index: Index, ordinals: Ordinals, scores: Scores) -> npt.NDArray[np.bool_]:
        """Return which documents are later in the order than the values of `after`."""
        assert self.after is not None, "a page begins after values"
        later, equal = np.zeros(len(ordinals), dtype=np.bool_), np.arange(len(ordinals))
        for (name, descending), value in zip(self.keys, self.after, strict=True):
            spend(len(equal))
            values: npt.NDArray[Any]
            if not _is_own(name, index.schema):
                same, following = (_allowed(index, each)[ordinals[equal]] for each in value)
            else:
                if name == ID:
                    values = np.array(index.doc_ids(ordinals[equal]), dtype=object)
                else:
                    values = scores[equal] if name == SCORE else ordinals[equal]
                same = np.asarray(values == value, dtype=np.bool_)
                following = np.asarray(values < value if descending else values > value, dtype=np.bool_)
            later[equal[following]] = True
            equal = equal[same]
        return later

    def _collapsed(self, index: Index, first: Best, k: int) -> RankedOrdinals:
        assert self.collapse is not None, "results are collapsed"
        depth = k
        while True:
            ordinals, scores = first(depth)
            spend(len(ordinals))
            places = _first_of_values(index, self.collapse, ordinals, self.collapse_size)
            if len(places) >= k or len(ordinals) < depth:
                return ordinals[places[:k]], scores[places[:k]]
            depth *= DEEPER


def sort_keys(sort: str | Sequence[str] | None, schema: Schema) -> list[tuple[str, bool]]:
    """Return the keys of a sort as `ResultOrder.keys`, all of them: `after` has a value of each."""
    return [] if sort is None else [_sort_key(name, schema) for name in _names(sort, schema)]


def _names(sort: str | Sequence[str], schema: Schema) -> Sequence[str]:
    """Return the sort keys of a search; a string that is no attribute has commas between them."""
    if not isinstance(sort, str):
        return sort
    return [sort] if sort in schema or sort.removeprefix("-") in schema else sort.split(",")


def _sort_key(given: str, schema: Schema) -> tuple[str, bool]:
    """Return the attribute of a sort key, and whether its largest value is first."""
    name = given if given in schema else given.strip()
    if name in (SCORE, f"-{SCORE}") and SCORE not in schema:
        return SCORE, True
    if name.removeprefix("-") in (ID, POSITION) and name.removeprefix("-") not in schema:
        return name.removeprefix("-"), name.startswith("-")
    descending = name.startswith("-") and name not in schema
    name = name[descending:]
    first, _, direction = name.replace(":", " ").partition(" ")
    direction = direction.strip().lower()
    if name not in schema and _is_own(first, schema) | (first in schema) and direction in ("asc", "desc"):
        by_score = first == SCORE and first not in schema
        raise ParameterError(
            f"results are sorted by {SCORE} with the largest score first"
            if by_score
            else "results are sorted by an attribute, with - before it for the largest values first",
            facts=[("given", name)],
            fixes=[f"write {'-' * (direction == 'desc' and not by_score)}{first}"],
        )
    _check_single(name, schema)
    return name, descending


def _check_single(field: str, schema: Schema) -> None:
    schema.check_name(field)
    if schema[field] in LIST_TYPES:
        raise ParameterError(
            "results are sorted and collapsed by attributes with one value, and this one is a list",
            facts=[("attribute", field), ("type", schema[field])],
            fixes=["filter by a value of the list"],
        )


def _is_own(name: str, schema: Schema) -> bool:
    """Return whether a sort key is no attribute."""
    return name in (SCORE, ID, POSITION) and name not in schema


def _after(
    values: Sequence[AttributeValue | None], keys: Sequence[tuple[str, bool]], schema: Schema
) -> tuple[Any, ...]:
    """Return the values of `ResultOrder.after`, checked."""
    if len(values) != len(keys):
        raise ParameterError(
            "a page begins after a value of each sort key",
            facts=[
                ("keys", ", ".join(map(written_key, keys))),
                ("given", shown(list(values))),
                ("expected", f"a list of {len(keys)} value{'s' * (len(keys) > 1)}"),
            ],
        )
    found: list[Any] = []
    for (name, descending), value in zip(keys, values, strict=True):
        if not _is_own(name, schema):
            from termwise.filters import as_filter

            try:
                filters = _equal_and_later(name, descending, value, schema[name])
                found.append(tuple(None if each is None else as_filter(each, schema) for each in filters))
            except ParameterError:
                kind = schema[name]
                expected = "a number" if kind in ("integer", "float") else EXPECTED[kind]
                raise _wrong_value(
                    name, value, f"{expected}, or None for a missing one (null in JSON)"
                ) from None
            continue
        expected, holds = {
            SCORE: ("a number", is_finite_number(value)),
            ID: ("a string", isinstance(value, str)),
            POSITION: ("a whole number", is_integer(value)),
        }[name]
        if not holds:
            raise _wrong_value(name, value, expected)
        found.append(value)
    return tuple(found)


def _wrong_value(name: str, value: object, expected: str) -> ParameterError:
    return ParameterError(
        "a value that a page begins after has another type than its sort key",
        facts=[("key", name), ("given", shown(value)), ("expected", expected)],
    )


def _equal_and_later(
    name: str, descending: bool, value: Any, kind: FieldType
) -> tuple[Filter, Filter | None]:
    """Return the filters of values that are equal to one, and of later ones, among them missing ones."""
    from termwise.filters import Equals, Exists, Greater, Less

    missing = ~Exists(name)
    if value is None:
        return missing, None
    if kind == "boolean":
        following = Equals(name, not descending)
        return Equals(name, value), missing if value is not descending else following | missing
    return Equals(name, value), (Less(name, value) if descending else Greater(name, value)) | missing


def _allowed(index: Index, filter: Filter | None) -> npt.NDArray[np.bool_]:
    """Return which documents a filter matches, by position; without one, none."""
    from termwise.filters import rows_allowed

    if filter is None:
        return np.zeros(len(index), dtype=np.bool_)
    masks = [
        segment.live_part(rows_allowed(filter, segment.attributes, last=segment.documents))
        for segment in index.segments
    ]
    return np.concatenate([np.empty(0, dtype=np.bool_), *masks])


def written_key(key: tuple[str, bool]) -> str:
    """Return a sort key as a search has it.

    Examples
    --------
    >>> written_key(("price", True)), written_key(("_score", True))
    ('-price', '_score')
    """
    name, descending = key
    return name if name == SCORE else f"{'-' * descending}{name}"


def in_order(
    items: Sequence[Item],
    keys: Sequence[tuple[str, bool]],
    values_of: Callable[[str], Mapping[Item, AttributeValue]],
) -> list[Item]:
    """Return items in the order of sort keys; those without a value are last, for each key.

    Items with equal values stay in their order.

    Examples
    --------
    >>> values = {"price": {"a": 3, "b": 1, "c": 3}, "sold": {"a": 5, "c": 7}}
    >>> in_order("dabc", [("price", True), ("sold", True)], values.__getitem__)
    ['c', 'a', 'b', 'd']
    """
    ordered = list(items)
    for name, descending in reversed(keys):
        values = values_of(name)
        missing = [item for item in ordered if item not in values]
        ordered = [item for item in ordered if item in values]
        ordered.sort(key=values.__getitem__, reverse=descending)  # type: ignore[arg-type]
        ordered += missing
    return ordered


def first_of_each_value(
    items: Iterable[Item], values: Mapping[Item, AttributeValue], size: int
) -> list[Item]:
    """Return the first `size` items with each value, and all items without one.

    Examples
    --------
    >>> first_of_each_value("abcd", {"a": 1, "b": 2, "c": 1}, 1)
    ['a', 'b', 'd']
    """
    seen = Counter[AttributeValue]()
    kept = []
    for item in items:
        if item in values:
            seen[values[item]] += 1
        if item not in values or seen[values[item]] <= size:
            kept.append(item)
    return kept


def _column(
    index: Index,
    segment: Segment,
    ordinals: Ordinals,
    rows: Ordinals,
    scores: Scores,
    name: str,
    descending: bool,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return numbers in the order of a sort key for rows of a segment, and which rows have no value."""
    if _is_own(name, index.schema):
        numbers: npt.NDArray[Any] = scores if name == SCORE else ordinals
        if name == ID:
            spend(len(rows))
            names = np.array(index.doc_ids(ordinals), dtype=object)
            numbers = np.unique(names, return_inverse=True)[1]
        return -numbers if descending else numbers, np.zeros(len(rows), dtype=np.bool_)
    if segment.attributes is None:
        return np.zeros(len(rows)), np.ones(len(rows), dtype=np.bool_)
    keys, present = segment.attributes.keys(name, rows)
    if descending:
        keys = np.negative(keys) if keys.dtype.kind == "f" else np.invert(keys)  # which has no overflow
    return keys, ~present


def _without(pinned: Ordinals, first: Best) -> Best:
    """Return the function that finds the best documents, without pinned ones."""

    def others(k: int) -> RankedOrdinals:
        ordinals, scores = first(k + len(pinned))
        kept = ~np.isin(ordinals, pinned)
        return ordinals[kept][:k], scores[kept][:k]

    return others


def _with_pinned(pinned: RankedOrdinals, first: Best) -> Best:
    """Return the function that finds the best documents, with pinned ones before them."""

    def with_pinned(k: int) -> RankedOrdinals:
        ordinals, scores = first(k)
        others = ~np.isin(ordinals, pinned[0])
        ordinals = np.concatenate([pinned[0], ordinals[others]])[:k]
        return ordinals, np.concatenate([pinned[1], scores[others]])[:k]

    return with_pinned


def _first_of_values(index: Index, field: str, ordinals: Ordinals, size: int) -> Places:
    """Return the places in `ordinals` of the first `size` documents with each value, and of those without one."""
    of_segments = []
    for segment, places, rows in index.segments.by_segment(ordinals):
        if segment.attributes is not None:
            keys, present = segment.attributes.keys(field, rows)
            places = np.concatenate([places[present][_first_of_each(keys[present], size)], places[~present]])
        of_segments.append(places)
    places = _ascending(of_segments)
    if len(of_segments) < 2:
        return places
    values = _values(index, field, ordinals, places)
    return np.array(first_of_each_value(places.tolist(), values, size), dtype=np.intp)


def _first_of_each(keys: npt.NDArray[np.int64] | npt.NDArray[np.float64], size: int) -> Places:
    """Return the places of the first `size` occurrences of each key, in any order.

    Examples
    --------
    >>> np.sort(_first_of_each(np.array([7, 3, 7, 7, 3]), 2)).tolist()
    [0, 1, 2, 4]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    firsts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(keys)])
    before = np.arange(len(keys)) - np.repeat(firsts, np.diff(firsts, append=len(keys)))
    return order[before < size]


def _ascending(of_segments: list[Places]) -> Places:
    return np.sort(np.concatenate([np.empty(0, dtype=np.intp), *of_segments]))


def _values(index: Index, field: str, ordinals: Ordinals, places: Places) -> dict[int, AttributeValue]:
    """Return the values of a field by places in `ordinals`, without missing ones."""
    found = index.attributes(ordinals[places], [field])
    return {place: each[field] for place, each in zip(places.tolist(), found, strict=True) if field in each}
