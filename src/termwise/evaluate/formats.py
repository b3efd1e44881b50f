"""Formats of values in reports.

===============  =========================  ==========================================
style            written                    example
===============  =========================  ==========================================
``text``         unchanged, on one line
``count``        whole                      ``300``
``measure``      4 decimals                 ``0.4321``
``total``        shortest exact             ``29820``
``difference``   4 decimals, signed         ``+0.0123``
``percent``      1 decimal, signed          ``+2.9%``
``p``            3 decimals                 ``0.042``; below a thousandth ``<0.001``
``statistic``    2 decimals, signed         ``+2.13``
``ms``           3 decimals                 ``0.350``
===============  =========================  ==========================================

An undefined value (None) is written ``–``. A number that rounds to zero has no sign.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal

from termwise.display.safe_text import legible_line

NumberStyle = Literal["text", "count", "measure", "total", "difference", "percent", "p", "statistic", "ms"]
"""Format of a value."""

Value = str | int | float | None
"""A cell of a table."""

UNDEFINED = "–"
"""Written for None."""


def format_value(value: Value, style: NumberStyle) -> str:
    """Write one value in a style of the table above; the value of ``percent`` is a fraction, 0.029 for ``+2.9%``.

    Examples
    --------
    >>> format_value(0.43214, "measure"), format_value(-0.00001, "difference"), format_value(0.0004, "p")
    ('0.4321', '0.0000', '<0.001')
    """
    if value is None:
        return UNDEFINED
    if isinstance(value, str):
        return legible_line(value)
    if style == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    if style in ("measure", "ms"):
        return f"{value:.{4 if style == 'measure' else 3}f}"
    if style in ("difference", "statistic"):
        return _signed(value, 4 if style == "difference" else 2)
    if style == "percent":
        return _signed(100 * value, 1) + "%"
    return f"{value:.12g}"


def _signed(value: float, decimals: int) -> str:
    written = f"{value:+.{decimals}f}"
    return written[1:] if float(written) == 0 else written


def with_minus_sign(number: str) -> str:
    """Replace the hyphen before a formatted number by a minus sign; other text is unchanged.

    Examples
    --------
    >>> with_minus_sign("-0.0123"), with_minus_sign("+2.9%"), with_minus_sign("-")
    ('−0.0123', '+2.9%', '-')
    """
    return f"−{number[1:]}" if number.startswith("-") and number[1:2].isdigit() else number


def json_line(value: object) -> str:
    """Write one JSON object on one line; floats in full, None as null."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Write CSV: RFC 4180 quoting, lines end in ``\n``.

    Floats are written in full, None as an empty field. A text that a spreadsheet would read as a formula, because
    it begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, gets an apostrophe before it.

    Examples
    --------
    >>> print(csv_lines(["run", "p"], [("a,b", 0.0001), ("=1+1", None), ("c", -1)]), end="")
    run,p
    "a,b",0.0001
    '=1+1,
    c,-1
    """
    return "".join(",".join(map(_csv_cell, row)) + "\n" for row in (header, *rows))


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    text = f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def shortlist(names: Sequence[str]) -> str:
    """Write the first three of a list of names, and how many more there are.

    Examples
    --------
    >>> shortlist(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    first = ", ".join(repr(name) for name in names[:3])
    return first if len(names) <= 3 else f"{first} and {len(names) - 3} more"
