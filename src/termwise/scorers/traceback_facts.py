"""Telling what went wrong in code of others."""

from __future__ import annotations

import traceback

from termwise.display.safe_text import error_said


def failure(error: BaseException) -> list[tuple[str, object]]:
    """Return facts for an error: what Python says, and the line that was reached last.

    Examples
    --------
    >>> try:
    ...     int("x")
    ... except ValueError as error:
    ...     [label for label, _ in failure(error)]
    ['Python says', 'where']
    """
    facts: list[tuple[str, object]] = [("Python says", error_said(error))]
    reached = traceback.extract_tb(error.__traceback__)
    if reached:
        last = reached[-1]
        facts.append(("where", f"{last.filename}, line {last.lineno}, in {last.name}"))
    return facts
