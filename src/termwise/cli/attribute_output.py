"""Attributes of documents on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from termwise.attributes.json_values import json_value

if TYPE_CHECKING:
    from termwise.records import AttributeValue


def attribute_text(value: AttributeValue) -> str:
    """Return a value for a line of text, and of a date at midnight the day alone.

    Examples
    --------
    >>> attribute_text(("used", "red")), attribute_text(True), attribute_text(12.5), attribute_text(date(2026, 3, 1))
    ('used, red', 'true', '12.5', '2026-03-01')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    shown = json_value(value)
    if isinstance(value, date):
        return str(shown).removesuffix("T00:00:00Z")
    return ", ".join(shown) if isinstance(shown, list) else str(shown)


def attribute_line(attributes: Mapping[str, AttributeValue]) -> str:
    """Return attributes on one line.

    Examples
    --------
    >>> attribute_line({"price": 12.5, "tags": ("used", "red")})
    'price 12.5 · tags used, red'
    """
    return " · ".join(f"{name} {attribute_text(value)}" for name, value in attributes.items())
