"""Progress callbacks of long operations."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the name of a stage, the units done, and the total number of units or None if it is unknown."""


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Do nothing: the default callback."""
