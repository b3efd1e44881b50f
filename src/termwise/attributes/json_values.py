"""Attributes as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from termwise.attributes.dates import iso

if TYPE_CHECKING:
    from termwise.records import AttributeValue


def json_value(value: AttributeValue) -> Any:
    """Return a value that JSON can represent: dates as ISO 8601, lists as lists."""
    if isinstance(value, date):
        return iso(value)
    return list(value) if isinstance(value, tuple) else value


def json_attributes(attributes: Mapping[str, AttributeValue]) -> dict[str, Any]:
    """Return attributes as JSON values."""
    return {name: json_value(value) for name, value in attributes.items()}


def value_text(value: AttributeValue) -> str:
    """Return a value for a line of text, and of a date at midnight the day alone.

    Examples
    --------
    >>> value_text(("used", "red")), value_text(True), value_text(12.5), value_text(date(2026, 3, 1))
    ('used, red', 'true', '12.5', '2026-03-01')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    shown = json_value(value)
    if isinstance(value, date):
        return str(shown).removesuffix("T00:00:00Z")
    return ", ".join(shown) if isinstance(shown, list) else str(shown)
