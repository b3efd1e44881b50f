"""Progress callbacks of long operations, and how a training is carried out."""

from __future__ import annotations

from collections.abc import Callable

from termwise.fast_dataclass import dataclass

Progress = Callable[[str, int, int | None], None]
"""Called with the name of a stage, the units done, and the total number of units or None if it is unknown."""

Say = Callable[[str], None]
"""Called with one line of text, without the line end."""


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Do nothing: the default callback."""


def silent(_: str) -> None:
    """Discard a line."""


def log_line(line: str) -> None:
    """Log a line as a warning of the logger ``termwise``."""
    import logging

    logging.getLogger("termwise").warning(line)


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a training is carried out; nothing that its result depends on.

    Attributes
    ----------
    threads : int
        Threads of this process.
    progress : callable
        Called with a stage, the amount done, and the total.
    say : callable
        Called with messages and warnings, one line each.

    Examples
    --------
    >>> Execution(threads=2, say=print).threads
    2
    """

    threads: int = 1
    progress: Progress = no_progress
    say: Say = silent
