"""Reading every byte of an index and comparing it with what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from termwise.errors import DataError
from termwise.index.container import Container
from termwise.index.manifest import FileRecord, Manifest
from termwise.index.reader import Index


@dataclass(frozen=True)
class Damage:
    """One thing that is wrong: the file, the byte offset where it is known, and what is wrong there."""

    file: str
    offset: int | None
    what: str


def verify(
    path: str | Path, *, progress: Callable[[str, int, int | None], None] = lambda *_: None
) -> list[Damage]:
    """Check every file of an index against its checksums, and that its parts fit together.

    Parameters
    ----------
    path : str or Path
        The index folder.
    progress : callable, optional
        Called with a stage name, bytes read so far and their total.

    Returns
    -------
    list of Damage
        Empty where the index is exactly as it was written.

    Raises
    ------
    DataError
        If the manifest itself is missing, foreign or damaged.
    """
    folder = Path(path)
    manifest = Manifest.read(folder)
    records = list(manifest.files())
    total = sum(record.length for record in records)
    done = 0
    damages: list[Damage] = []
    for record in records:
        damages.extend(_check_file(folder, record))
        done += record.length
        progress("read", done, total)
    if not damages:
        try:
            damages.extend(_check_structure(Index(folder, manifest)))
        except DataError as error:
            facts = dict(error.facts)
            offset = facts.get("offset")
            damages.append(
                Damage(
                    Path(str(facts.get("file", folder))).name,
                    offset if isinstance(offset, int) else None,
                    error.message,
                )
            )
    return damages


def _check_file(folder: Path, record: FileRecord) -> list[Damage]:
    path = folder / record.name
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = path.stat().st_size
    except OSError as error:
        return [Damage(record.name, None, error.strerror or "cannot be read")]
    if size != record.length:
        return [Damage(record.name, min(size, record.length), f"{size} bytes instead of {record.length}")]
    if digest == record.sha256:
        return []
    found = []
    if path.suffix == ".tw":
        try:
            container = Container(path, _kind(record), record.length)
        except DataError as error:
            offset = dict(error.facts).get("offset")
            found.append(Damage(record.name, offset if isinstance(offset, int) else None, error.message))
        else:
            found = [
                Damage(record.name, offset, f"section {name} does not match its checksum")
                for name, offset in container.damaged_sections()
            ]
    return found or [Damage(record.name, None, "the file does not match its SHA-256")]


def _kind(record: FileRecord) -> str:
    kind = record.name.split("-")[0]
    return "views" if kind == "segment" else kind


def _check_structure(index: Index) -> list[Damage]:
    """Check that the two views of each segment tell the same story."""
    damages = []
    for segment in index.segments:
        name = segment.path.name
        starts = segment.starts.astype(np.int64)
        if starts[0] != 0 or starts[-1] != segment.postings or (np.diff(starts) < 0).any():
            damages.append(Damage(name, None, "row boundaries are out of order"))
        inverted = segment.inverted
        if inverted is None:
            continue
        if not np.array_equal(np.sort(inverted.order), np.arange(segment.documents)):
            damages.append(Damage(name, None, "the document order is not a permutation"))
        counts = np.bincount(segment.terms, minlength=index.manifest.terms)
        if not np.array_equal(np.diff(inverted.term_postings.astype(np.int64)), counts):
            damages.append(Damage(name, None, "the two views count terms differently"))
        sums = np.bincount(segment.terms, weights=segment.impacts, minlength=index.manifest.terms)
        bounds = inverted.term_postings[:-1].astype(np.int64)
        again = np.add.reduceat(np.append(inverted.posting_impact.astype(np.int64), 0), bounds)
        again[counts == 0] = 0
        if not np.array_equal(again, sums.astype(np.int64)):
            damages.append(Damage(name, None, "the two views hold different impacts"))
    return damages
