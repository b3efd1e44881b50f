"""Checkpoints of a run: listing, verification and loading.

A checkpoint is a folder ``checkpoint-<step>``. The Trainer writes ``trainer_state.json`` last, so an interrupted
checkpoint has none. Other damage is detected by reading the files: the header of the weights is compared with the size
of the file, and checksums and contents of the torch archives are checked.
"""

from __future__ import annotations

import json
import zipfile
from contextlib import AbstractContextManager
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import TrainerState
from transformers.trainer_pt_utils import safe_globals

from termwise.errors import CorruptModelError
from termwise.fixes import Code, Fix
from termwise.progress import Say, silent
from termwise.storage.safe_read import folder_entries, is_file, is_folder, path_exists
from termwise.train.library_errors import errors_as, first_line
from termwise.train.run_folder import TIME, read_seconds

WEIGHTS = "model.safetensors"
STATE = "trainer_state.json"
OPTIMIZER = "optimizer.pt"
SCHEDULER = "scheduler.pt"
RANDOM = "rng_state*.pth"
"""One file per process."""

PREFIX = "checkpoint-"


def step_of(checkpoint: Path | str) -> int:
    """Return the step of a checkpoint.

    Examples
    --------
    >>> step_of("run/checkpoint-300")
    300
    """
    return int(Path(checkpoint).name.removeprefix(PREFIX))


def last_checkpoint(folder: Path, *, say: Say = silent) -> Path | None:
    """Return the newest complete checkpoint of a run; `say` gets a line for each newer checkpoint that is damaged.

    None if there is no checkpoint, or only one that was being written when the run was killed.
    """
    checkpoints = _newest_first(folder)
    damaged = []
    for checkpoint in checkpoints:
        reason = damage(checkpoint)
        if reason is None:
            return checkpoint
        damaged.append((checkpoint.name, reason))
        say(f"warning: {checkpoint} is damaged and is skipped: {reason}")
    if not checkpoints or (len(checkpoints) == 1 and _is_unfinished(checkpoints[0])):
        return None
    raise CorruptModelError(
        "all checkpoints of the run are damaged",
        facts=[("folder", folder), *damaged],
        fixes=[
            Fix.sentence("start again: remove {}, then {}", folder, Fix.use(resume=True)),
            Fix.use("start in another folder: {}", out=Code("DIR")),
        ],
    )


def newest_complete(folder: Path) -> Path | None:
    """Return the newest complete checkpoint, or None."""
    return next((path for path in _newest_first(folder) if damage(path) is None), None)


def damage(checkpoint: Path) -> str | None:
    """Return the reason why a run cannot continue from a checkpoint; None if it is complete."""
    random = sorted(path.name for path in checkpoint.glob(RANDOM)) or [RANDOM.replace("*", "")]
    archives = (OPTIMIZER, SCHEDULER, *random)
    for name in (STATE, WEIGHTS, *archives):
        if not is_file(checkpoint / name):
            return f"{name} is missing"
    try:
        name = STATE
        _check_state(checkpoint)
        name = TIME
        if path_exists(checkpoint / name):
            read_seconds(checkpoint / name)
        name = WEIGHTS
        _check_weights(checkpoint / name)
        for name in archives:
            _check_archive(checkpoint / name)
    except Exception as error:  # json, zipfile, torch and safetensors document no common type
        return f"{name} cannot be read: {first_line(error)}"
    return None


def has_weights(checkpoint: Path) -> bool:
    """Return whether the weights of a checkpoint can be loaded; its other files are not checked."""
    try:
        _check_weights(checkpoint / WEIGHTS)
    except Exception:  # as above
        return False
    return True


def loading(file: Path, fix: str | Fix) -> AbstractContextManager[None]:
    """Convert exceptions while loading a file of a run into `CorruptModelError` with the file and a fix."""
    return errors_as(
        CorruptModelError, "a file of the training run is damaged", facts=[("file", file)], fixes=[fix]
    )


def _newest_first(folder: Path) -> list[Path]:
    checkpoints = [
        path
        for path in (folder_entries(folder) if is_folder(folder) else ())
        if is_folder(path) and path.name.startswith(PREFIX) and path.name.removeprefix(PREFIX).isdecimal()
    ]
    return sorted(checkpoints, key=step_of, reverse=True)


def _is_unfinished(checkpoint: Path) -> bool:
    """Return whether the last written file is missing or incomplete."""
    try:
        json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True
    return False


def _check_state(checkpoint: Path) -> None:
    state = TrainerState.load_from_json(str(checkpoint / STATE))
    if state.global_step != step_of(checkpoint):
        raise ValueError(f"its step is {state.global_step}")
    if not all(isinstance(line, dict) for line in state.log_history):
        raise ValueError("its log is not a list of records")


def _check_weights(file: Path) -> None:
    with safe_open(file, "pt") as tensors:  # opening compares the header with the size of the file
        if not list(tensors.keys()):
            raise ValueError("it contains no tensor")


def _check_archive(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise ValueError(f"the checksum of {damaged} does not match")
    with safe_globals():
        content = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    if not isinstance(content, dict):
        raise ValueError("it does not contain named values")
