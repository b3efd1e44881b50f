"""Values of attributes as words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from termwise.serve.page.titles import is_title


def value_text(value: Any) -> str:
    """Return a JSON value of an attribute as words; a date at midnight as a day.

    Examples
    --------
    >>> value_text(True), value_text(["a", "b"]), value_text("2024-01-31T00:00:00Z"), value_text(7.5)
    ('yes', 'a, b', '2024-01-31', '7.5')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    text = str(value)
    return text.removesuffix("T00:00:00Z")


def attribute_rows(attributes: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return attributes as names and words, without the title."""
    return [(name, value_text(value)) for name, value in attributes.items() if not is_title(name)]
