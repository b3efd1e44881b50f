"""How values are written, the same in every kind of report.

===============  =========================  ==========================================
kind             written                    example
===============  =========================  ==========================================
``text``         as it is, on one line
``count``        whole                      ``300``
``measure``      4 decimals                 ``0.4321``
``total``        shortest exact             ``29820``
``difference``   4 decimals, signed         ``+0.0123``
``percent``      1 decimal, signed          ``+2.9%``
``p``            3 decimals                 ``0.042``; below a thousandth ``<0.001``
``statistic``    2 decimals, signed         ``+2.13``
``ms``           3 decimals                 ``0.350``
===============  =========================  ==========================================

An undefined value (None) is written ``–``, never as a number. What rounds to zero carries no sign.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from termwise.display.safe_text import legible_line

Kind = Literal["text", "count", "measure", "total", "difference", "percent", "p", "statistic", "ms"]
"""What a value is, which decides how it is written."""

Value = str | int | float | None
"""A cell of a table."""

UNDEFINED = "–"
"""What is written for None."""


def shown(value: Value, kind: Kind) -> str:
    """Write one value.

    Parameters
    ----------
    value : str, int, float or None
        A fraction for ``percent``: 0.029 is written ``+2.9%``.
    kind : str
        One of those in the table above.

    Examples
    --------
    >>> shown(0.43214, "measure"), shown(-0.00001, "difference"), shown(0.0004, "p"), shown(None, "p")
    ('0.4321', '0.0000', '<0.001', '–')
    """
    if value is None:
        return UNDEFINED
    if isinstance(value, str):
        return legible_line(value)
    if kind == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if kind in ("measure", "ms"):
        return f"{value:.{4 if kind == 'measure' else 3}f}"
    if kind in ("difference", "statistic"):
        return _signed(value, 4 if kind == "difference" else 2)
    if kind == "percent":
        return _signed(100 * value, 1) + "%"
    return f"{value:.12g}"


def _signed(value: float, decimals: int) -> str:
    written = f"{value:+.{decimals}f}"
    return written[1:] if float(written) == 0 else written


def typeset(number: str) -> str:
    """Give a number that has been written a typographic minus; other text stays as it is.

    Examples
    --------
    >>> typeset("-0.0123"), typeset("+2.9%"), typeset("-")
    ('−0.0123', '+2.9%', '-')
    """
    return f"−{number[1:]}" if number.startswith("-") and number[1:2].isdigit() else number


def json_line(value: object) -> str:
    """Write one JSON object on one line; floats in full, None as null."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def shortlist(names: Sequence[str]) -> str:
    """Write the first three of a list of names, and how many more there are.

    Examples
    --------
    >>> shortlist(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    first = ", ".join(repr(name) for name in names[:3])
    return first if len(names) <= 3 else f"{first} and {len(names) - 3} more"
