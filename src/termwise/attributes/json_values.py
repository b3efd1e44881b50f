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
