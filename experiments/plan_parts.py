"""Parts of a declarative file, made of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from termwise.errors import ParameterError

_Part = TypeVar("_Part")


def part(kind: type[_Part], entry: Mapping[str, Any], **more: Any) -> _Part:
    """Make a part of the plan from a table of the file; lists become tuples.

    Raises
    ------
    ParameterError
        If the table has a key that the part does not know, or lacks one.
    """
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    try:
        return kind(**more, **values)
    except TypeError as error:
        raise ParameterError(
            "a part of the plan is not understood",
            facts=[("part", kind.__name__), ("given", dict(entry)), ("reason", error)],
        ) from error
