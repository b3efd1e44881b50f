"""The checkpoints of a run: which there are, and which of them are whole.

A checkpoint is a folder ``checkpoint-<step>``. The Trainer writes ``trainer_state.json`` into it last, so one that a
kill cut short has none. What a disk or a copy has damaged is found by reading: the header of the weights against the
size of their file, the checksums inside the archives of torch, and what these hold.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import TrainerState
from transformers.trainer_pt_utils import safe_globals

from termwise.errors import CorruptModelError
from termwise.train.loop.elapsed_time import TIME, seconds_in
from termwise.train.messages import Say, first_line, silent

WEIGHTS = "model.safetensors"
STATE = "trainer_state.json"
OPTIMIZER = "optimizer.pt"
SCHEDULER = "scheduler.pt"
RANDOM = "rng_state*.pth"
"""One for each process."""

PREFIX = "checkpoint-"


def step_of(checkpoint: Path | str) -> int:
    """Return the step at which a checkpoint was written.

    Examples
    --------
    >>> step_of("run/checkpoint-300")
    300
    """
    return int(Path(checkpoint).name.removeprefix(PREFIX))


def last_checkpoint(folder: Path, *, say: Say = silent) -> Path | None:
    """Return the newest whole checkpoint of a run.

    Parameters
    ----------
    folder : Path
        The folder of the checkpoints.
    say : callable, optional
        Called with a line for each newer one that is not whole.

    Returns
    -------
    Path or None
        None where there is no checkpoint, or only one that was being written when the run was killed.

    Raises
    ------
    CorruptModelError
        If there are checkpoints and none is whole.
    """
    found = _newest_first(folder)
    wrong = []
    for checkpoint in found:
        reason = damage(checkpoint)
        if reason is None:
            return checkpoint
        wrong.append((checkpoint.name, reason))
        say(f"warning: {checkpoint} is not whole and is left out: {reason}")
    if not found or (len(found) == 1 and _is_unfinished(found[0])):
        return None
    raise CorruptModelError(
        "no checkpoint of the run is whole",
        facts=[("folder", folder), *wrong],
        fixes=[
            f"begin again: remove {folder}, then the same command with --resume",
            "name another folder with --out, without --resume",
        ],
    )


def newest_whole(folder: Path) -> Path | None:
    """Return the newest whole checkpoint, or None, whatever else there is."""
    return next((path for path in _newest_first(folder) if damage(path) is None), None)


def damage(checkpoint: Path) -> str | None:
    """Say what keeps a run from going on from a checkpoint; None where it is whole."""
    random = sorted(path.name for path in checkpoint.glob(RANDOM)) or [RANDOM.replace("*", "")]
    archives = (OPTIMIZER, SCHEDULER, *random)
    for name in (STATE, WEIGHTS, *archives):
        if not (checkpoint / name).is_file():
            return f"{name} is missing"
    try:
        name = STATE
        _check_state(checkpoint)
        name = TIME
        if (checkpoint / name).exists():
            seconds_in(checkpoint / name)
        name = WEIGHTS
        _check_weights(checkpoint / name)
        for name in archives:
            _check_archive(checkpoint / name)
    except Exception as error:  # of json, zipfile, torch, safetensors: they document no common type
        return f"{name} cannot be read: {first_line(error)}"
    return None


def holds_weights(checkpoint: Path) -> bool:
    """Whether the weights of a checkpoint are there and whole, whatever the rest is like."""
    try:
        _check_weights(checkpoint / WEIGHTS)
    except Exception:  # as above
        return False
    return True


@contextmanager
def loading(file: Path) -> Iterator[None]:
    """Turn what goes wrong while a file of a checkpoint is loaded into an error of ours.

    Raises
    ------
    CorruptModelError
        Naming the file.
    """
    try:
        yield
    except Exception as error:  # torch and safetensors document no common type
        raise CorruptModelError(
            "a file of a checkpoint cannot be loaded",
            facts=[("file", file), ("why", first_line(error))],
            fixes=[f"remove {file.parent}, and give --resume: the run goes on from the checkpoint before"],
        ) from error


def _newest_first(folder: Path) -> list[Path]:
    found = [
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.is_dir() and path.name.startswith(PREFIX) and path.name.removeprefix(PREFIX).isdecimal()
    ]
    return sorted(found, key=step_of, reverse=True)


def _is_unfinished(checkpoint: Path) -> bool:
    """Whether the file that is written last is missing or cut."""
    try:
        json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True
    return False


def _check_state(checkpoint: Path) -> None:
    state = TrainerState.load_from_json(str(checkpoint / STATE))
    if state.global_step != step_of(checkpoint):
        raise ValueError(f"it speaks of step {state.global_step}")
    if not all(isinstance(line, dict) for line in state.log_history):
        raise ValueError("its log is not a list of records")


def _check_weights(file: Path) -> None:
    with safe_open(file, "pt") as tensors:  # compares the header with the size of the file
        if not list(tensors.keys()):
            raise ValueError("it holds no tensor")


def _check_archive(file: Path) -> None:
    with zipfile.ZipFile(file) as packed:
        broken = packed.testzip()
    if broken is not None:
        raise ValueError(f"the checksum of {broken} does not hold")
    with safe_globals():
        content = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    if not isinstance(content, dict):
        raise ValueError("it does not hold values by name")
