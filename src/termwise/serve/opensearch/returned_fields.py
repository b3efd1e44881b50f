"""Fields of results beside ``_source``: the keys ``fields``, ``docvalue_fields`` and ``stored_fields`` of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from termwise.attributes import Schema
from termwise.attributes.dates import parse_date
from termwise.errors import UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.date_formats import DateFormat
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import MOST_NAMES, Fields, is_like
from termwise.serve.opensearch.json_checks import flag, known_keys, several, text, texts

NONE, SOURCE = "_none_", "_source"
"""Names in ``stored_fields`` for no field at all, and for the document."""


@dataclass(frozen=True)
class ReturnedField:
    """Field whose values are returned as a list.

    Attributes
    ----------
    name : str
        In the answer.
    field : str
        Text or attribute.
    format : DateFormat
        Of a date.
    """

    name: str
    field: str
    format: DateFormat


def read_fields(given: Mapping[str, Any], fields: Fields) -> tuple[ReturnedField, ...]:
    """Read ``fields`` and ``docvalue_fields`` of the body of a search.

    Raises
    ------
    UnsupportedError, ServiceError, UnknownNameError
        If an entry is not as expected, or the index has no such field; with ``include_unmapped``, that is no error.
    """
    found: dict[str, ReturnedField] = {}
    for key in ("fields", "docvalue_fields"):
        entries = several(given.get(key, []))
        if len(entries) > MOST_NAMES:
            raise ServiceError(
                f"{key} has too many names", facts=[("given", len(entries)), ("most", MOST_NAMES)]
            )
        for entry in entries:
            known = (
                {"field": entry}
                if isinstance(entry, str)
                else known_keys(entry, f"an entry of {key}", ("field", "format", "include_unmapped"))
            )
            pattern = text(known.get("field"), f"field of {key}")
            written = (
                DateFormat(text(known["format"], f"format of {key}")) if "format" in known else DateFormat()
            )
            try:
                names = _names(pattern, fields, only_attributes=key == "docvalue_fields")
            except UnknownNameError:
                if not flag(known.get("include_unmapped", False), "include_unmapped"):
                    raise
                continue
            if "format" in known and any(fields.schema.get(field) != "date" for field in names.values()):
                raise UnsupportedError.of(
                    f"format of {key} for the field", pattern, ["fields of the type date"]
                )
            found |= {name: ReturnedField(name, field, written) for name, field in names.items()}
    return tuple(found.values())


def _names(pattern: str, fields: Fields, *, only_attributes: bool) -> dict[str, str]:
    """Return the fields that fit a pattern by their names in the answer."""
    every = [*([] if only_attributes else fields.texts), *fields.schema]
    if "*" in pattern:
        return {name: name for name in every if is_like(name, pattern)}
    if pattern in every:
        return {pattern: pattern}
    return {pattern: fields.attribute(pattern, "a value of the results")}


def wants_source(stored_fields: object) -> bool:
    """Whether ``stored_fields`` leaves the document in the answer; no field is stored apart from it."""
    if stored_fields is None:
        return True
    return SOURCE in texts(stored_fields, "stored_fields")


def field_values(
    asked: Sequence[ReturnedField],
    attributes: Mapping[str, Any],
    given_texts: Mapping[str, str],
    schema: Schema,
) -> dict[str, list[Any]]:
    """Return the values of the fields of a result; fields without a value are left out."""
    found: dict[str, list[Any]] = {}
    for each in asked:
        value = attributes.get(each.field, given_texts.get(each.field))
        if value is None:
            continue
        values = list(several(value))
        if schema.get(each.field) == "date":
            moments = [parse_date(str(date)) for date in values]
            values = [each.format.written(moment[0] // 1000) for moment in moments if moment is not None]
        found[each.name] = values
    return found
