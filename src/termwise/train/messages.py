"""What a training run says of itself, line by line."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

Say = Callable[[str], None]
"""Takes one line of text, without its end."""


def silent(_: str) -> None:
    """Say nothing."""


def first_line(error: BaseException) -> str:
    r"""Return what an error says, as far as it fits into a line.

    Examples
    --------
    >>> first_line(ValueError("no such layer\n  in encoder")), first_line(KeyError())
    ('no such layer', 'KeyError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def clock_time(seconds: float) -> str:
    """Show a time in hours, minutes and seconds.

    Examples
    --------
    >>> clock_time(95.4), clock_time(90_000)
    ('0:01:35', '1 day, 1:00:00')
    """
    return str(timedelta(seconds=round(seconds)))


def nothing_to_resume(folder: Path) -> str:
    """Say that a run which was to be gone on with begins.

    Examples
    --------
    >>> nothing_to_resume(Path("mine/training"))
    'nothing to resume in mine/training: starting from the beginning'
    """
    return f"nothing to resume in {folder}: starting from the beginning"
