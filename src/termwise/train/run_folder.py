"""Folder of a training run, in the folder of its model: record of the run, log, checkpoints and facts."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import Any

from termwise.errors import ForeignFolderError, MalformedRecordError, TermwiseError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.progress import Execution
from termwise.storage.atomic_file import remove
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.ownership import claim, missing_folders, read_record, remove_empty
from termwise.storage.safe_read import folder_entries, is_file, is_folder, path_exists
from termwise.validation import check, check_path, check_threads

SETTINGS, LOG, FACTS, CHECKPOINTS = "settings.json", "log.jsonl", "facts.json", "checkpoints"
"""Names in the folder: record of the run, its log, facts of a finished run, and the folder of its checkpoints."""

TIME = "time.json"
"""File of a checkpoint with the seconds of training up to it."""


@dataclass(frozen=True)
class RunFolder:
    """Folder of a run; `resume` is whether the folder may already hold the run."""

    path: Path
    resume: bool = False
    execution: Execution = field(default_factory=Execution)

    @classmethod
    def of(
        cls,
        model: AtomicFolder,
        out: str | Path,
        *,
        resume: bool,
        execution: Execution,
        base: str | Path | None = None,
    ) -> RunFolder:
        """Check the output folder of a training, and return the folder of its run, which need not exist.

        Raise `ParameterError` if an argument is invalid, and `ForeignFolderError` if `out` contains something else, the
        base, a run although `resume` is false, or a model without a run.
        """
        check_path("out", out)
        check("execution", execution, isinstance(execution, Execution), "an Execution")
        check_threads(execution.threads)
        model.check_output(Path(out), base=base)
        run = cls(Path(out) / model.kept, resume, execution)
        if not resume:
            run.refuse_taken()
        if not path_exists(run.path / SETTINGS):
            model.refuse_finished(Path(out))
        return run

    def refuse_taken(self) -> None:
        """Raise `ForeignFolderError` if the folder holds a run."""
        if path_exists(self.path / SETTINGS):
            raise ForeignFolderError(
                "the folder already holds a training run",
                facts=[("folder", self.path)],
                fixes=[Fix.use("continue it: {}", resume=True), "choose another folder"],
            )

    def recorded(self) -> dict[str, Any] | None:
        """Return the record of the run in the folder; None if there is none. Raises `MalformedRecordError`."""
        file = self.path / SETTINGS
        return _checked(read_record(file), file) if path_exists(file) else None

    def claim(self, identity: Mapping[str, Any], *, may_change: Sequence[str] = ()) -> None:
        """Record the run, or check that the recorded run is the same.

        `identity` is a JSON-like description with the settings under ``settings``; those in `may_change` may differ.
        """
        if not self.resume:
            self.refuse_taken()
        file = self.path / SETTINGS
        data = (json.dumps(identity, indent=1) + "\n").encode()
        # Other files stay: mined negatives and checkpoints.
        recorded = _checked(claim(file, data, check_names=lambda _: None), file)
        given = json.loads(data)
        recorded["settings"] |= {name: given["settings"][name] for name in may_change}
        differing = [name for name in given if recorded.get(name) != given[name]]
        if differing:
            raise ForeignFolderError(
                "the folder holds another training run",
                facts=[("folder", self.path), ("differs in", ", ".join(differing))],
                fixes=["choose another folder, or give the data and settings of the recorded run"],
            )

    @contextmanager
    def claimed(self, identity: Mapping[str, Any], *, may_change: Sequence[str] = ()) -> Iterator[None]:
        """Claim the folder for a block; if an error ends the block, remove its files, but none of an earlier run."""
        earlier = path_exists(self.path / SETTINGS)
        before = set(folder_entries(self.path)) if is_folder(self.path) else set()
        missing = missing_folders(self.path)
        try:
            self.claim(identity, may_change=may_change)
            yield
        except TermwiseError:
            if not earlier:
                for path in set(folder_entries(self.path)) - before if is_folder(self.path) else ():
                    remove(path)
                remove_empty(missing)
            raise

    def report_resumption(self, step: int, steps: int) -> None:
        """Report the step at which a resumed run continues; `step` is 0 without a checkpoint."""
        if not self.resume:
            return
        nothing = f"nothing to resume in {self.path}: starting from the beginning"
        self.execution.say(f"resuming at step {step:,} of {steps:,}" if step else nothing)

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        """Write the facts of the finished run."""
        (self.path / FACTS).write_text(json.dumps(facts, indent=1) + "\n")


def _checked(recorded: dict[str, Any] | None, file: Path) -> dict[str, Any]:
    if recorded is None or not isinstance(recorded.get("settings"), dict):
        raise MalformedRecordError(
            "the record of the training run is damaged",
            facts=[("file", file)],
            fixes=["choose another folder"],
        )
    return recorded


def check_sources(name: str, value: object) -> None:
    """Check that an argument is a list of paths or names of data, at least one."""
    several = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    paths = several and all(isinstance(one, str | Path) for one in value)  # type: ignore[attr-defined]
    check(name, value, paths, "a list of names and paths")


class ElapsedTime:
    """Clock of a training over all its sessions; steps that were repeated after a stop are counted once."""

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
        """Start the clock at the time of a checkpoint; at 0 without a checkpoint, or if it has no time."""
        file = None if checkpoint is None else checkpoint / TIME
        self.resume(read_seconds(file) if file is not None and is_file(file) else 0.0)

    def resume(self, seconds: float) -> None:
        """Start the clock at the seconds of earlier sessions."""
        self._before = seconds
        self._begin = time.monotonic()

    def save(self, checkpoint: Path) -> None:
        """Write the seconds into a checkpoint."""
        (checkpoint / TIME).write_text(json.dumps({"seconds": self.seconds}) + "\n", encoding="utf-8")


class RunLog:
    """Log of a training: a JSONL file whose lines have the step, the seconds of training and other values."""

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


def _step_of_line(line: bytes) -> float:
    """Return the step of a line; infinity for a damaged line."""
    try:
        step = json.loads(line)["step"] if line.endswith(b"\n") else math.inf
    except (ValueError, KeyError, TypeError):
        return math.inf
    return step if isinstance(step, int) else math.inf


def read_seconds(file: Path) -> float:
    """Read the time file of a checkpoint."""
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
