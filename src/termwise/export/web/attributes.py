"""Attributes of the documents by field, for filters and facets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from termwise.errors import ParameterError, UnknownNameError
from termwise.export.source import ExportSource
from termwise.export.web.files import SearchFiles
from termwise.fixes import Fix
from termwise.progress import Progress
from termwise.records import AttributeValue

MOST_VALUES = 1000
"""Largest number of different strings of a field that can be a filter."""

DEFAULT_VALUES = 50
"""Largest number of different strings of a field that is a filter unless fields are named."""

_NUMBERS = ("integer", "float")


def filter_fields(source: ExportSource, given: Sequence[str] | None, others: set[str]) -> list[str]:
    """Return the fields that are filters: those given, or all except `others`.

    Raises
    ------
    UnknownNameError
        If the index has no such attribute.
    """
    for name in given or ():
        if name not in source.schema:
            raise UnknownNameError.of("attribute of the index", name, list(source.schema))
    return list(given) if given is not None else [name for name in source.schema if name not in others]


def write_filters(
    files: SearchFiles, source: ExportSource, fields: Sequence[str], *, chosen: bool, progress: Progress
) -> list[dict[str, Any]]:
    """Write one file for each field; return their descriptions.

    A field of strings with more than `MOST_VALUES` values is refused if it was chosen, and otherwise left out if it has
    more than `DEFAULT_VALUES`.
    """
    if not fields:
        return []
    columns: dict[str, list[AttributeValue | None]] = {field: [] for field in fields}
    for first in range(0, len(source), 2048):
        ordinals = np.arange(first, min(first + 2048, len(source)), dtype=np.int64)
        for values in source.searcher.backend.attribute_index.attributes(ordinals, fields):
            for field, column in columns.items():
                column.append(values.get(field))
        progress("write filters", first + len(ordinals), len(source))
    found: list[dict[str, Any]] = []
    for field, column in columns.items():
        kind = source.schema[field]
        if kind in _NUMBERS or kind == "date":
            numbers = np.array([_number(value) for value in column], dtype="<f8")
            file = files.add_shard("filter", {}, numbers.tobytes())
            found.append({"field": field, "type": "date" if kind == "date" else "number", "file": file})
            continue
        rows = [_strings(value) for value in column]
        counts = Counter(value for row in rows for value in row)
        if len(counts) > (MOST_VALUES if chosen else DEFAULT_VALUES):
            if chosen:
                raise ParameterError(
                    "an attribute has too many different values for a filter on a page",
                    facts=[("attribute", field), ("values", len(counts)), ("at most", MOST_VALUES)],
                    fixes=[Fix.omit("filters"), "name other attributes"],
                )
            continue
        names = sorted(counts, key=lambda value: (-counts[value], value))
        codes = {name: code for code, name in enumerate(names)}
        numbers_of = np.array([codes[value] for row in rows for value in row], dtype="<u2")
        header = {"counts": [len(row) for row in rows]}
        file = files.add_shard("filter", header, numbers_of.tobytes())
        found.append({"field": field, "type": "values", "file": file, "values": names})
    return found


def _strings(value: AttributeValue | None) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(map(str, value))
    return (str(value),)


def _number(value: AttributeValue | None) -> float:
    """Return a number, NaN for a missing value; of a date, its milliseconds since 1970."""
    if value is None:
        return float("nan")
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).total_seconds() * 1000
    assert isinstance(value, (int, float)), "a number"
    return float(value)
