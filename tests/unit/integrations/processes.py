"""Processes that a test has started, found in /proc, so that it can end one of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of the processes below a process, by pid."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            parents.setdefault(parent, []).append(int(folder.name))
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            try:
                found[child] = (Path("/proc") / str(child) / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            waiting.append(child)
    return found


def wait_for(condition: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait until a condition holds; fail after some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true in time"
        time.sleep(0.02)


def kill(pid: int) -> None:
    """End a process with SIGKILL."""
    os.kill(pid, signal.SIGKILL)
