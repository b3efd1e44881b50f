"""Templates with slots, and the values that fill them together."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

SLOT_NAME = re.compile(r"[a-z][a-z0-9_]*")

_PART = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]")
_BRACES = {"{{": "{", "}}": "}"}


def slots_of(template: str) -> list[str]:
    """Return the slots of a template, each once.

    Raises
    ------
    ValueError
        If a brace stands alone, or there is no name of a slot between two.

    Examples
    --------
    >>> slots_of("{city} by {when}, {city} {{as it is}}")
    ['city', 'when']
    """
    found: dict[str, None] = {}
    for part in _PART.findall(template):
        if part in _BRACES:
            continue
        name = part[1:-1]
        if not SLOT_NAME.fullmatch(name):
            raise ValueError(part)
        found[name] = None
    return list(found)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Put values in the places of slots; two braces stand for one.

    Examples
    --------
    >>> filled("{city} {{as it is}}", {"city": "Lyon"})
    'Lyon {as it is}'
    """
    return _PART.sub(lambda part: _BRACES.get(part[0]) or values[part[0][1:-1]], template)


def fillings(slots: Mapping[str, Sequence[str]], *, zipped: bool) -> Iterator[dict[str, str]]:
    """Yield the values of slots that stand together: all combinations, or the first values, the second ones, and so on.

    Examples
    --------
    >>> list(fillings({"a": ["1", "2"], "b": ["x", "y"]}, zipped=True))
    [{'a': '1', 'b': 'x'}, {'a': '2', 'b': 'y'}]
    """
    rows = zip(*slots.values(), strict=True) if zipped and slots else itertools.product(*slots.values())
    for row in rows:
        yield dict(zip(slots, row, strict=True))


def count_of(slots: Mapping[str, Sequence[str]], *, zipped: bool) -> int:
    """Return how many fillings there are."""
    lengths = [len(values) for values in slots.values()]
    return lengths[0] if zipped and lengths else math.prod(lengths)
