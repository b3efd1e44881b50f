"""Order of the results of a search: by score or by attributes, and at most n results for each value of a field.

Pinned documents come before all others, and count for their values. Sorting takes all documents that match, not the
best ones by score. Collapsing takes more and more of the first documents until enough of them are kept. Both are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.budget import spend
from termwise.engine.retrieval import RankedOrdinals
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.segment import Segment
from termwise.records import AttributeValue, Ranking
from termwise.validation import check

SCORE = "_score"
"""Sort key of the score, unless an attribute has this name."""

DEEPER = 16
"""Factor of the number of documents that are collapsed, as long as too few are kept."""

Ordinals = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]

Best = Callable[[int], RankedOrdinals]
"""Function that returns the best documents by score, of the given number, or all if there are fewer."""


@dataclass(frozen=True)
class ResultOrder:
    """Order of the results of a search.

    Attributes
    ----------
    keys : tuple of (str, bool)
        Attributes that results are sorted by, the most important one first, and whether the largest value is first;
        `SCORE` for the score. Results with equal values are in the order of their scores.
    collapse : str or None
        Attribute of which each value has a few results, the first ones; documents without a value are all results.
    collapse_size : int
        Number of results of each value.
    """

    keys: tuple[tuple[str, bool], ...] = ()
    collapse: str | None = None
    collapse_size: int = 1

    @classmethod
    def parse(
        cls, sort: str | Sequence[str] | None, collapse: str | None, collapse_size: int, schema: Schema
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
        keys = [] if sort is None else [_sort_key(name, schema) for name in _names(sort, schema)]
        if len({name for name, _ in keys}) < len(keys):
            raise ParameterError(
                "results are sorted by each attribute once",
                facts=[("given", ", ".join(name for name, _ in keys))],
            )
        if keys and keys[-1][0] == SCORE:
            keys.pop()  # equal documents are in the order of their scores
        if collapse is not None:
            check("collapse", collapse, isinstance(collapse, str), "an attribute")
            _check_single(collapse, schema)
        return cls(tuple(keys), collapse, collapse_size)

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
        `by_words` tells which documents are sorted; the others follow in the order of their scores. By default all are.
        """
        first = self._sorted(index, best, by_words) if self.keys else best
        if pinned is not None:
            first = _after(pinned, first)
        ordinals, scores = first(k) if self.collapse is None else self._collapsed(index, first, k)
        sorted_by = ",".join(
            name if name == SCORE else f"{'-' * descending}{name}" for name, descending in self.keys
        )
        doc_ids = index.doc_ids(ordinals) if names is None else map(names.__getitem__, ordinals.tolist())
        first_results = 0 if pinned is None else int(np.isin(ordinals, pinned[0]).sum())
        return Ranking(tuple(doc_ids), scores, query_id, sorted_by, first_results)

    def _sorted(
        self, index: Index, best: Best, by_words: Callable[[Ordinals], npt.NDArray[np.bool_]] | None
    ) -> Best:
        ordinals, scores = best(max(1, len(index)))
        sorted_ones = np.ones(len(ordinals), dtype=np.bool_) if by_words is None else by_words(ordinals)
        matching, others = np.flatnonzero(sorted_ones), np.flatnonzero(~sorted_ones)

        def first(k: int) -> RankedOrdinals:
            places = matching[self._first_places(index, ordinals[matching], scores[matching], k)]
            places = np.concatenate([places, others[: k - len(places)]])
            return ordinals[places], scores[places]

        return first

    def _first_places(self, index: Index, ordinals: Ordinals, scores: Scores, k: int) -> Places:
        """Return the places in `ordinals` of the first `k` documents in the order of the keys.

        Documents with equal values are in the order of `ordinals`, and those without a value are last, for each key.
        """
        spend(len(ordinals))
        of_segments = [
            places[self._first_rows(segment, rows, scores[places], k)]
            for segment, places, rows in index.segments.by_segment(ordinals)
        ]
        if len(of_segments) == 1:
            return of_segments[0]
        places = _ascending(of_segments)
        ordered = places.tolist()
        for name, descending in reversed(self.keys):
            values = (
                dict(zip(ordered, scores[ordered].tolist(), strict=True))
                if name == SCORE
                else _values(index, name, ordinals, places)
            )
            missing = [place for place in ordered if place not in values]
            ordered = [place for place in ordered if place in values]
            ordered.sort(key=values.__getitem__, reverse=descending)  # type: ignore[arg-type]
            ordered += missing
        return np.array(ordered[:k], dtype=np.intp)

    def _first_rows(self, segment: Segment, rows: Ordinals, scores: Scores, k: int) -> Places:
        """Return the places in `rows` of the first `k` rows of a segment."""
        columns = [_column(segment, rows, scores, *key) for key in self.keys]
        among = np.arange(len(rows))
        keys, missing = columns[0]
        if k < len(rows) - missing.sum():
            largest = np.partition(keys[~missing], k - 1)[k - 1]
            among = np.flatnonzero(~missing & (keys <= largest))
        order = np.lexsort([column[among] for pair in reversed(columns) for column in pair])
        return among[order[:k]]

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


def _names(sort: str | Sequence[str], schema: Schema) -> Sequence[str]:
    """Return the sort keys of a search; a string that is no attribute has commas between them."""
    if not isinstance(sort, str):
        return sort
    return [sort] if sort in schema or sort.removeprefix("-") in schema else sort.split(",")


def _sort_key(given: str, schema: Schema) -> tuple[str, bool]:
    """Return the attribute of a sort key, and whether its largest value is first."""
    name = given if given in schema else given.strip()
    if name == SCORE and name not in schema:
        return SCORE, True
    descending = name.startswith("-") and name not in schema
    name = name[descending:]
    first, _, direction = name.replace(":", " ").partition(" ")
    if name not in schema and first in schema and direction.strip().lower() in ("asc", "desc"):
        raise ParameterError(
            "results are sorted by an attribute, with - before it for the largest values first",
            facts=[("given", name)],
            fixes=[f"write {'-' * (direction.strip().lower() == 'desc')}{first}"],
        )
    _check_single(name, schema)
    return name, descending


def _check_single(field: str, schema: Schema) -> None:
    schema.check_name(field)
    if schema[field] == "keywords":
        raise ParameterError(
            "results are sorted and collapsed by attributes with one value, and this one is a list",
            facts=[("attribute", field), ("type", schema[field])],
            fixes=["filter by a value of the list"],
        )


def _column(
    segment: Segment, rows: Ordinals, scores: Scores, name: str, descending: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return numbers in the order of a sort key for rows of a segment, and which rows have no value."""
    if name == SCORE:
        return -scores, np.zeros(len(rows), dtype=np.bool_)
    if segment.attributes is None:
        return np.zeros(len(rows)), np.ones(len(rows), dtype=np.bool_)
    keys, present = segment.attributes.keys(name, rows)
    if descending:
        keys = np.negative(keys) if keys.dtype.kind == "f" else np.invert(keys)  # which has no overflow
    return keys, ~present


def _after(pinned: RankedOrdinals, first: Best) -> Best:
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
    seen: Counter[AttributeValue] = Counter()
    kept = []
    for place in places.tolist():
        if place in values:
            seen[values[place]] += 1
        if place not in values or seen[values[place]] <= size:
            kept.append(place)
    return np.array(kept, dtype=np.intp)


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
