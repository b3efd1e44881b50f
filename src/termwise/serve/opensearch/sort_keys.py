"""Keys to sort results by."""

from __future__ import annotations

from typing import Any

from termwise.display.safe_text import shown
from termwise.engine.result_order import ID, POSITION, SCORE, written_key
from termwise.errors import UnknownNameError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import known_keys, record, several, single

_MODES = ("min", "max", "avg", "sum", "median")
_NUMERIC_TYPES = ("long", "double", "date", "date_nanos")
"""Values of ``mode`` and ``numeric_type``, which change nothing: attributes to sort by have one number."""


def read_sort(value: object, fields: Fields) -> tuple[tuple[str, ...], bool]:
    """Return the keys to sort by, as `Search.sort` has them, and whether the answer has scores.

    The order of the index is ``_doc`` or ``_shard_doc``. A key of an unknown field is left out if it has an
    ``unmapped_type``.
    """
    entries = [_sort_entry(each, fields) for each in ([] if value is None else _sort_list(value))]
    keys = [written_key(each) for each in entries if each is not None]
    if len(set(keys)) < len(keys):
        raise UnsupportedError.of("sort twice by", ", ".join(keys))
    has_score = SCORE in keys
    return (() if set(keys) <= {SCORE} else tuple(keys)), has_score or not keys


def _sort_list(value: object) -> list[Any]:
    if isinstance(value, str):
        return value.split(",")
    return list(several(value))


def _sort_entry(entry: object, fields: Fields) -> tuple[str, bool] | None:
    """Return the key of an entry, and whether its largest value is first; None if the key is left out."""
    if isinstance(entry, str):
        name, _, order = entry.partition(":")
        given: dict[str, Any] = {"order": order} if order else {}
    else:
        name, value = single(entry, "an entry of sort")
        given = {"order": value} if isinstance(value, str) else record(value, f"sort by {name}")
    known = ("order",) if name == SCORE else ("order", "missing", "unmapped_type", "mode", "numeric_type")
    known_keys(given, f"sort by {name}", known)
    for key, values, fix in (
        ("missing", ("_last",), "documents without a value are last: leave it out, or give them a value"),
        ("mode", _MODES, ""),
        ("numeric_type", _NUMERIC_TYPES, ""),
    ):
        if given.get(key, values[0]) not in values:
            raise UnsupportedError.of(f"{key} of sort by {name}", shown(given[key]), values, fix)
    order = given.get("order", "desc" if name == SCORE else "asc")
    if order not in ("asc", "desc") or (name, order) == (SCORE, "asc"):
        orders, fix = (
            (["desc"], "omit the order: the largest score is first")
            if name == SCORE
            else (["asc", "desc"], "")
        )
        raise UnsupportedError.of(f"for {name}, the order", order, orders, fix)
    if name == "_shard_doc":
        name = POSITION
    elif name not in (SCORE, ID, POSITION):
        try:
            name = fields.attribute(name)
        except UnknownNameError:
            if "unmapped_type" not in given:
                raise
            return None
    return name, order == "desc"
