"""The time a training run has taken, over all its legs."""

from __future__ import annotations

import json
import time
from pathlib import Path

TIME = "time.json"
"""The file of a checkpoint that says how many seconds of training led to it."""


class Clock:
    """Seconds of training that led to the weights.

    Where a run was interrupted and gone on, the seconds up to the checkpoint it went on from count, and those
    since; steps that were lost and made again count once.
    """

    def __init__(self) -> None:
        self._before = 0.0
        self._begin = time.monotonic()

    @property
    def leg(self) -> float:
        """Seconds since this process began, or went on with, the training."""
        return time.monotonic() - self._begin

    @property
    def seconds(self) -> float:
        """Seconds of the whole run."""
        return self._before + self.leg

    def start(self, checkpoint: Path | None) -> None:
        """Begin at 0, or go on from the time of a checkpoint; one that does not say it counts as 0."""
        file = None if checkpoint is None else checkpoint / TIME
        self.go_on(seconds_in(file) if file is not None and file.is_file() else 0.0)

    def go_on(self, seconds: float) -> None:
        """Go on from so many seconds."""
        self._before = seconds
        self._begin = time.monotonic()

    def keep(self, checkpoint: Path) -> None:
        """Write the seconds into a checkpoint."""
        (checkpoint / TIME).write_text(json.dumps({"seconds": self.seconds}) + "\n", encoding="utf-8")


def seconds_in(file: Path) -> float:
    """Read the file of a checkpoint that says how long it took.

    Raises
    ------
    ValueError
        If it does not hold a number of seconds.
    """
    content = json.loads(file.read_text(encoding="utf-8"))
    seconds = content.get("seconds") if isinstance(content, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e12:
        raise ValueError("it does not say how many seconds were spent")
    return float(seconds)
