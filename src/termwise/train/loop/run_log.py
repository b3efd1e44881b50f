"""Log of a training run, and its training time over all sessions."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from termwise.storage.safe_read import is_file, path_exists

LOG = "log.jsonl"
"""Log in the folder of a run."""

TIME = "time.json"
"""File of a checkpoint with the seconds of training up to it."""


class ElapsedTime:
    """Seconds of training of the current weights; repeated steps are counted once."""

    def __init__(self) -> None:
        self._before = 0.0
        self._begin = time.monotonic()

    @property
    def session(self) -> float:
        """Seconds since this process started or resumed the training."""
        return time.monotonic() - self._begin

    @property
    def seconds(self) -> float:
        """Seconds of the whole run."""
        return self._before + self.session

    def start(self, checkpoint: Path | None) -> None:
        """Start at 0, or at the time of a checkpoint; a checkpoint without a time counts as 0."""
        file = None if checkpoint is None else checkpoint / TIME
        self.resume(read_seconds(file) if file is not None and is_file(file) else 0.0)

    def resume(self, seconds: float) -> None:
        """Continue from a number of seconds."""
        self._before = seconds
        self._begin = time.monotonic()

    def save(self, checkpoint: Path) -> None:
        """Write the seconds into a checkpoint."""
        (checkpoint / TIME).write_text(json.dumps({"seconds": self.seconds}) + "\n", encoding="utf-8")


class RunLog:
    """Appends lines with step and seconds of training to a JSONL file."""

    def __init__(self, path: Path, elapsed: ElapsedTime) -> None:
        self._path = path
        self._elapsed = elapsed

    def begin(self, step: int) -> None:
        """Keep the lines up to the first step of this session; drop later and damaged lines."""
        kept = b""
        if step and path_exists(self._path):
            lines = self._path.read_bytes().splitlines(keepends=True)
            kept = b"".join(line for line in lines if _step_of_line(line) <= step)
        self._path.write_bytes(kept)

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        """Append a line."""
        line = {"step": step, "seconds": round(self._elapsed.seconds, 1), **values}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def write_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write the facts of a finished run into its folder."""
    (folder / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


def _step_of_line(line: bytes) -> float:
    """Return the step of a line; infinity for a damaged line."""
    try:
        step = json.loads(line)["step"] if line.endswith(b"\n") else math.inf
    except (ValueError, KeyError, TypeError):
        return math.inf
    return step if isinstance(step, int) else math.inf


def read_seconds(file: Path) -> float:
    """Read the time file of a checkpoint.

    Raises
    ------
    ValueError
        If the file does not contain a number of seconds.
    """
    content = json.loads(file.read_text(encoding="utf-8"))
    seconds = content.get("seconds") if isinstance(content, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e12:
        raise ValueError("it does not contain a number of seconds")
    return float(seconds)


def format_seconds(seconds: float) -> str:
    """Format a time in hours, minutes and seconds.

    Examples
    --------
    >>> format_seconds(95.4), format_seconds(90_000)
    ('0:01:35', '1 day, 1:00:00')
    """
    return str(timedelta(seconds=round(seconds)))
