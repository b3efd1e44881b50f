"""Progress of the command line on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from termwise.cli.terminal import human_time, note_line
from termwise.display.safe_text import legible_line

MEASURED = ("encode", "train", "tune", "score")
"""First words in the names of the stages for which items per second are shown."""


class _Speed(ProgressColumn):
    """Progress column with items per second and the remaining time."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not task.description.startswith(MEASURED) or not speed:
            return Text()
        left = "" if task.time_remaining is None else f", {human_time(task.time_remaining)} left"
        return Text(f"{speed:,.1f}/s{left}")


PAUSE = 60.0
"""Seconds between lines of progress if stderr is not a terminal."""


def _progress_lines() -> Callable[[str, int, int | None], None]:
    """Return a progress callback that prints at most one line per minute."""
    last = time.monotonic()
    started: dict[str, tuple[float, int]] = {}
    reached: dict[str, int] = {}

    def report(stage: str, done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        name = stage.partition(":")[0]
        if done < reached.get(name, 0):
            del started[name]
        reached[name] = done
        since, before = started.setdefault(name, (now, done))
        if now - last < PAUSE:
            return
        last = now
        line = f"{stage} {done:,}" + ("" if total is None else f" of {total:,}")
        if done > before and now > since:
            speed = (done - before) / (now - since)
            line += f", {speed:,.1f}/s"
            line += "" if total is None else f", {human_time((total - done) / speed)} left"
        note_line(line)

    return report


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """Show progress on stderr while the block runs: bars on a terminal, otherwise one line per minute.

    A stage is identified by its name up to a colon; the text after the colon may change. If the count of a stage
    decreases, the stage and its timing start again.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _progress_lines()
        return
    with Progress(
        TextColumn("{task.description:<16}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        _Speed(),
        console=console,
        transient=True,
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            stage = legible_line(stage)
            name = stage.partition(":")[0]
            if name not in tasks:
                tasks[name] = bars.add_task(stage, total=total, completed=done)
            elif done < bars.tasks[tasks[name]].completed:
                bars.reset(tasks[name])
            bars.update(tasks[name], description=stage, completed=done, total=total)

        yield report
