"""Which run a folder belongs to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from termwise.encode.encoder_manifest import Precision
from termwise.errors import ForeignFolderError, MalformedRecordError, StorageError, TermwiseError
from termwise.storage.atomic_file import written_whole
from termwise.storage.atomic_folder import StagedFolder

SETTINGS = "settings.json"
"""The file that says what a run is."""


def claim(
    folder: Path, described: Mapping[str, Any], *, resume: bool, may_change: Sequence[str] = ()
) -> None:
    """Write down what a run is, or see that the run in the folder is the same.

    Parameters
    ----------
    folder : Path
        Made where there is none.
    described : mapping
        JSON-like; under ``settings`` those of the run.
    resume : bool
        Whether the folder may hold the run already.
    may_change : sequence of str, optional
        Settings that a run may go on with in place of those it began with.

    Raises
    ------
    ForeignFolderError
        If the folder holds another run, or a run and `resume` is false.
    MalformedRecordError
        If what was written down is damaged.
    StorageError
        If the folder cannot be made or written to.
    """
    file = folder / SETTINGS
    if not resume:
        refuse_taken(folder)
    if file.exists():
        before = _read(file)
        before["settings"] |= {name: described["settings"][name] for name in may_change}
        odd = [name for name in described if before.get(name) != described[name]]
        if odd:
            raise ForeignFolderError(
                "the run in the folder is another one",
                facts=[("folder", folder), ("differs in", ", ".join(odd))],
                fixes=["name another folder, or give the data and settings that the run was started with"],
            )
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            "the folder of the training run cannot be made",
            facts=[("folder", folder), ("system says", error.strerror or str(error))],
            fixes=["choose a folder that can be written and has room with --out"],
        ) from error
    with written_whole(file) as write:
        write(json.dumps(described, indent=1) + "\n")


def expansion_precision_of(folder: Path) -> Precision | None:
    """Return the precision in which the run in a folder expands passages; None where it does not, or there is none."""
    file = folder / SETTINGS
    expansion = _read(file).get("expansion") if file.exists() else None
    return expansion.get("precision") if isinstance(expansion, dict) else None


def refuse_taken(folder: Path) -> None:
    """Raise `ForeignFolderError` where a folder holds a run."""
    if (folder / SETTINGS).exists():
        raise ForeignFolderError(
            "the folder holds a training run already",
            facts=[("folder", folder)],
            fixes=["go on with it: --resume", "name another folder"],
        )


def refuse_replacing(kind: StagedFolder, out: Path) -> None:
    """Raise `ForeignFolderError` where a folder holds what a run made, and no run to go on with."""
    if not (out / kind.kept / SETTINGS).exists():
        kind.refuse_finished(out)


@contextmanager
def unclaimed_if_refused(folder: Path) -> Iterator[None]:
    """Leave nothing in the folder of a run that is refused before its first step; a run that was there stays."""
    if (folder / SETTINGS).exists():
        yield
        return
    held = set(folder.iterdir()) if folder.is_dir() else set()
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        yield
    except TermwiseError:
        for path in set(folder.iterdir()) - held if folder.is_dir() else ():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        for place in missing:
            with suppress(OSError):
                place.rmdir()
        raise


def _read(file: Path) -> dict[str, Any]:
    try:
        before = json.loads(file.read_text())
    except ValueError:
        before = None
    if not isinstance(before, dict) or not isinstance(before.get("settings"), dict):
        raise MalformedRecordError(
            "the file that says what a training run is has been damaged",
            facts=[("file", file)],
            fixes=["name another folder with --out"],
        )
    return before
