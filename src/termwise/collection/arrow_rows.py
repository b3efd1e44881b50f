"""Rows of Arrow tables as records, for Parquet files and data frames; pyarrow is imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termwise.attributes import Schema
from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, AttributeChoice, FieldChoice
from termwise.errors import MissingExtraError

BATCH = 1000
"""Number of rows to convert at a time."""


def import_pyarrow(purpose: str, extra: str = "parquet") -> Any:
    """Return pyarrow with its Parquet module; raise `MissingExtraError` if it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", extra, purpose) from error
    return pyarrow


def repeated_name(names: Sequence[str]) -> str | None:
    """Return the first column name that occurs twice, or None.

    Examples
    --------
    >>> repeated_name(["id", "text", "id"]), repeated_name(["id", "text"])
    ('id', None)
    """
    return next((name for name in names if names.count(name) > 1), None)


def needed_columns(
    names: Sequence[str],
    fields: FieldChoice,
    attributes: AttributeChoice,
    id_field: str | None = None,
) -> list[str] | None:
    """Return the columns that documents need; None for all, also to report a missing one beside them.

    Examples
    --------
    >>> needed_columns(["id", "title", "text", "price"], None, None)
    ['id', 'title', 'text']
    """
    if attributes in ("all", "inferred"):
        return None
    kept = tuple(attributes or ())
    needed = {
        *(ID_FIELDS if id_field is None else (id_field,)),
        *(fields or ("title", *BODY_FIELDS)),
        *kept,
        *(name.split(".")[0] for name in kept),
    }
    chosen = [name for name in names if name in needed]
    lacking = {
        *(fields or ()),
        *filter(None, [id_field]),
        *(() if isinstance(attributes, Schema) else kept),
    } - set(names)
    return None if lacking or not chosen else chosen


def records_of(arrow: Any, batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a record batch, by column name, with times in microseconds: Python has no smaller unit."""
    schema = batch.schema
    for place, field in enumerate(schema):
        if arrow.types.is_timestamp(field.type):
            schema = schema.set(place, field.with_type(arrow.timestamp("us", field.type.tz)))
    records: list[dict[str, Any]] = batch.cast(schema, safe=False).to_pylist()
    return records
