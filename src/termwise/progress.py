"""How work that takes long tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the name of a stage, how much of it is done, and its total where that is known."""


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Tell nobody."""
