"""Statistics of attributes against plain Python."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.filters.test_evaluation import ROWS, open_columns

from termwise.attributes.dates import parse_date
from termwise.filters import ValueStatistics, value_statistics


@given(st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_statistics_equal_the_model(parts: list[tuple[list[dict[str, Any]], bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        segments, chosen = [], []
        for number, (rows, keep) in enumerate(parts):
            (place := Path(folder) / str(number)).mkdir()
            mask = np.array([keep or row.get("sold", False) for row in rows], dtype=np.bool_)
            segments.append((open_columns(place, rows), mask))
            chosen += [row for row, kept in zip(rows, mask, strict=True) if kept]
        for field in ("count", "price", "day"):
            values = [row[field] for row in chosen if field in row]
            if field == "day":
                values = [parse_date(value)[0] for value in values]  # type: ignore[index]
            found = value_statistics(segments, field)
            assert found[:2] == (len(values), len(set(values)))
            assert found.least == min(values, default=None)
            assert found.most == max(values, default=None)
            try:
                total = math.fsum(values) if field == "price" else sum(values)
            except OverflowError:
                total = math.inf
            assert found.total == total
        for field in ("lang", "tags", "sold"):
            values = [row[field] for row in chosen if field in row]
            if field == "tags":
                values = [tag for tags in values for tag in set(tags)]
            assert value_statistics(segments, field)[:2] == (len(values), len(set(values)))


def test_statistics_of_nothing(tmp_path: Path) -> None:
    columns = open_columns(tmp_path, [{"count": 2**63 - 1}, {"count": 2**63 - 1}, {}])
    every = np.ones(3, dtype=np.bool_)
    assert value_statistics([(columns, every)], "count").total == 2**64 - 2
    assert value_statistics([(columns, ~every)], "count") == ValueStatistics(0, 0, total=0)
    assert value_statistics([(columns, every)], "never") == ValueStatistics(0, 0, total=0)
    assert value_statistics([], "count") == ValueStatistics(0, 0, total=0)
