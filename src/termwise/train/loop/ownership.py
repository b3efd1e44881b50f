"""Ownership of training folders: the record of a run in ``settings.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.errors import ForeignFolderError, MalformedRecordError, TermwiseError
from termwise.fixes import Fix
from termwise.storage.atomic_file import remove
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.ownership import claim as claim_folder
from termwise.storage.ownership import missing_folders, read_record, remove_empty
from termwise.storage.safe_read import folder_entries, is_folder, path_exists

SETTINGS = "settings.json"
"""Record of a run in its folder."""


def claim(folder: Path, run: Mapping[str, Any], *, resume: bool, may_change: Sequence[str] = ()) -> None:
    """Claim a folder for a run: record it, or check that the recorded run is the same.

    Parameters
    ----------
    folder : Path
        Created if missing.
    run : mapping
        JSON-like description of the run; its settings are under ``settings``.
    resume : bool
        Whether the folder may already hold the run.
    may_change : sequence of str, optional
        Settings that may differ from the recorded ones.

    Raises
    ------
    ForeignFolderError
        If the folder holds another run, or a run and `resume` is false.
    MalformedRecordError
        If the record is damaged.
    StorageError
        If the folder cannot be created or written to.
    """
    if not resume:
        refuse_taken(folder)
    file = folder / SETTINGS
    data = (json.dumps(run, indent=1) + "\n").encode()
    # Other files stay: mined negatives and checkpoints.
    recorded = _checked(claim_folder(file, data, check_names=lambda _: None), file)
    given = json.loads(data)
    recorded["settings"] |= {name: given["settings"][name] for name in may_change}
    differing = [name for name in given if recorded.get(name) != given[name]]
    if differing:
        raise ForeignFolderError(
            "the folder holds another training run",
            facts=[("folder", folder), ("differs in", ", ".join(differing))],
            fixes=["choose another folder, or give the data and settings of the recorded run"],
        )


def expansion_precision_of(folder: Path) -> NetworkPrecision | None:
    """Return the precision of the expansion in the run of a folder; None if there is no run or no expansion."""
    file = folder / SETTINGS
    expansion = _checked(read_record(file), file).get("expansion") if path_exists(file) else None
    return expansion.get("precision") if isinstance(expansion, dict) else None


def refuse_taken(folder: Path) -> None:
    """Raise `ForeignFolderError` if a folder holds a run."""
    if path_exists(folder / SETTINGS):
        raise ForeignFolderError(
            "the folder already holds a training run",
            facts=[("folder", folder)],
            fixes=[Fix.use("continue it: {}", resume=True), "choose another folder"],
        )


def check_folder(model: AtomicFolder, out: Path, *, resume: bool, base: str | Path | None = None) -> Path:
    """Check the output folder of a run, and return the folder of the run in it.

    Raises
    ------
    ForeignFolderError
        If `out` contains something else, the base, a run although `resume` is false, or a model without a run.
    """
    model.check_output(out, base=base)
    work = out / model.kept
    if not resume:
        refuse_taken(work)
    if not path_exists(work / SETTINGS):
        model.refuse_finished(out)
    return work


@contextmanager
def unclaimed_if_refused(folder: Path) -> Iterator[None]:
    """Remove the files of a run that is refused before its first step; files of an earlier run are kept."""
    if path_exists(folder / SETTINGS):
        yield
        return
    before = set(folder_entries(folder)) if is_folder(folder) else set()
    missing = missing_folders(folder)
    try:
        yield
    except TermwiseError:
        for path in set(folder_entries(folder)) - before if is_folder(folder) else ():
            remove(path)
        remove_empty(missing)
        raise


def _checked(recorded: dict[str, Any] | None, file: Path) -> dict[str, Any]:
    if recorded is None or not isinstance(recorded.get("settings"), dict):
        raise MalformedRecordError(
            "the record of the training run is damaged",
            facts=[("file", file)],
            fixes=["choose another folder"],
        )
    return recorded
