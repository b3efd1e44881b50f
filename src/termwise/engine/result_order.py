"""Order of the results of a search: by score or by an attribute, and at most n results for each value of a field.

Both are exact. Sorting takes all documents that match, not the best ones by score. Collapsing takes more and more of
the first documents until enough of them are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

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

DEEPER = 16
"""Factor of the number of documents that are collapsed, as long as too few are kept."""

Ordinals = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

Best = Callable[[int], RankedOrdinals]
"""Function that returns the best documents by score, of the given number, or all if there are fewer."""


@dataclass(frozen=True)
class ResultOrder:
    """Order of the results of a search.

    Attributes
    ----------
    sort : str or None
        Attribute that results are sorted by; None for the order of their scores.
    descending : bool
        Whether the largest value of `sort` is first.
    collapse : str or None
        Attribute of which each value has a few results, the first ones; documents without a value are all results.
    collapse_size : int
        Number of results of each value.
    """

    sort: str | None = None
    descending: bool = False
    collapse: str | None = None
    collapse_size: int = 1

    @classmethod
    def parse(cls, sort: str | None, collapse: str | None, collapse_size: int, schema: Schema) -> ResultOrder:
        """Parse the order of a search; `sort` has a minus sign for descending order.

        Raises
        ------
        ParameterError, UnknownNameError
            If the documents have no such attribute, or its values are lists.

        Examples
        --------
        >>> ResultOrder.parse("-price", None, 1, Schema({"price": "float"}))
        ResultOrder(sort='price', descending=True, collapse=None, collapse_size=1)
        """
        descending = False
        if sort is not None:
            check("sort", sort, isinstance(sort, str), "an attribute, after - for descending order")
            descending = sort.startswith("-") and sort not in schema
            sort = sort[descending:]
            name, _, direction = sort.replace(":", " ").partition(" ")
            if sort not in schema and name in schema and direction.strip().lower() in ("asc", "desc"):
                raise ParameterError(
                    "results are sorted by an attribute, with - before it for the largest values first",
                    facts=[("given", sort)],
                    fixes=[f"write {'-' * (direction.strip().lower() == 'desc')}{name}"],
                )
        for field in (sort, collapse):
            if field is None:
                continue
            check("collapse", field, isinstance(field, str), "an attribute")
            schema.check_name(field)
            if schema[field] == "keywords":
                raise ParameterError(
                    "results are sorted and collapsed by attributes with one value, and this one is a list",
                    facts=[("attribute", field), ("type", schema[field])],
                    fixes=["filter by a value of the list"],
                )
        return cls(sort, descending, collapse, collapse_size)

    def ranking(
        self, index: Index, best: Best, k: int, query_id: str, names: Mapping[int, str] | None = None
    ) -> Ranking:
        """Return the first `k` results of a search; `best` finds the best documents by score.

        `names` are the identifiers of documents by position, if they are known; those of the index are read otherwise.
        """
        first = best if self.sort is None else self._sorted(index, best)
        ordinals, scores = first(k) if self.collapse is None else self._collapsed(index, first, k)
        sorted_by = "" if self.sort is None else f"{'-' * self.descending}{self.sort}"
        doc_ids = index.doc_ids(ordinals) if names is None else map(names.__getitem__, ordinals.tolist())
        return Ranking(tuple(doc_ids), scores, query_id, sorted_by)

    def _sorted(self, index: Index, best: Best) -> Best:
        ordinals, scores = best(max(1, len(index)))

        def first(k: int) -> RankedOrdinals:
            places = self._first_places(index, ordinals, k)
            return ordinals[places], scores[places]

        return first

    def _first_places(self, index: Index, ordinals: Ordinals, k: int) -> Places:
        """Return the places in `ordinals` of the first `k` documents in the order of an attribute.

        Documents with equal values are in the order of `ordinals`, and those without a value are last.
        """
        assert self.sort is not None, "results are sorted"
        spend(len(ordinals))
        of_segments = [
            places[self._first_rows(segment, rows, k)]
            for segment, places, rows in index.segments.by_segment(ordinals)
        ]
        if len(of_segments) == 1:
            return of_segments[0]
        places = _ascending(of_segments)
        values = _values(index, self.sort, ordinals, places)
        with_value = sorted(values, key=values.__getitem__, reverse=self.descending)  # type: ignore[arg-type]
        missing = [place for place in places.tolist() if place not in values]
        return np.array([*with_value, *missing][:k], dtype=np.intp)

    def _first_rows(self, segment: Segment, rows: Ordinals, k: int) -> Places:
        """Return the places in `rows` of the first `k` rows of a segment."""
        assert self.sort is not None, "results are sorted"
        if segment.attributes is None:
            return np.arange(len(rows))[:k]
        keys, present = segment.attributes.keys(self.sort, rows)
        places, keys = np.flatnonzero(present), keys[present]
        if self.descending:
            keys = np.negative(keys) if keys.dtype.kind == "f" else np.invert(keys)  # which has no overflow
        if k < len(keys):
            among = keys <= np.partition(keys, k - 1)[k - 1]
            places, keys = places[among], keys[among]
        ordered = places[np.argsort(keys, kind="stable")]
        return np.concatenate([ordered, np.flatnonzero(~present)])[:k]

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
