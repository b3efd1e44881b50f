"""Folder of an export: pieces that are written whole, resumed after an interruption, and listed in ``export.json``.

::

    export.json       what was exported, and every file with its length and SHA-256; written last
    .export.json      the same identity during the work; a second run with it keeps the finished pieces
    README.md         how to load and search, and what is exact
    client.py         loads the data and searches, without termwise (targets with an engine)
    engine.py         the part of it that is specific to the engine
    schema/           mappings, statements that create tables, templates of queries
    data/             documents, postings, vectors
    query_kit/        encodes queries in front of the engine
    state/            identifiers and fingerprints of the exported documents, for the export of changes
    changes/A-B/      what changed from generation A to B
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, final

from termwise._version import __version__
from termwise.attributes import Schema
from termwise.display.safe_text import shown
from termwise.errors import (
    CorruptIndexError,
    ForeignFolderError,
    IndexExistsError,
    IndexLockedError,
    MissingFileError,
    ParameterError,
    StorageError,
    UnknownNameError,
)
from termwise.fixes import Code, Fix
from termwise.index.manifest import FORMAT as FORMAT_OF_INDEX
from termwise.index.manifest import NAME as MANIFEST
from termwise.search.mixture_folder import MAX_WEIGHT, SMALLEST_SCALE, is_mixture
from termwise.storage.atomic_file import compressed, remove, sync_folder, write_bytes_whole
from termwise.storage.file_record import digest_of
from termwise.storage.manifest_json import (
    Misfit,
    expect_choice,
    expect_digest,
    expect_flag,
    expect_list,
    expect_mapping,
    expect_number,
    expect_text,
    expect_whole,
)
from termwise.storage.ownership import check_names, missing_folders, read_record, remove_empty
from termwise.storage.safe_read import is_file, path_exists, read_regular

PUBLISHED = "search.json"
"""In place of `NAME` in the search box of a static site."""

SCRIPT = "termwise-search.js"
"""Element of the search box, which pages include."""

NAME = "export.json"
WORK = ".export.json"
FORMAT = "termwise-export"
VERSION = 1

FORMAT_OF_SITE = "termwise-web"
"""Value of the field ``format`` in ``search.json``."""

NAMES = frozenset(
    {
        *(NAME, WORK, "README.md", "client.py", "engine.py"),
        *("bulk_engine.py", "linear_sql.py", "ranked_lists.py"),
        *("schema", "lucene", "data", "query_kit", "state", "changes"),
    }
)
"""Names in the folder."""

MOST_DESCRIPTION = 1 << 28
"""Largest ``export.json`` in bytes."""

_NONE: frozenset[str] = frozenset()

_CHANGES = re.compile(r"changes/[0-9]+-[0-9]+")

PART = ".part"
"""Suffix of a piece that is being written."""


@final
class ExportFolder:
    """Folder that an export is written into.

    Parameters
    ----------
    path : Path
    index : Path
        Folder of the exported index or mixture.
    identity : mapping of str to JSON
        What the files depend on: target, settings, source. Finished pieces of an interrupted run with another identity
        are removed.
    overwrite : bool
        Replace a finished export.

    Raises
    ------
    IndexExistsError
        If there is a finished export and `overwrite` is False.
    ForeignFolderError
        If the folder holds other files, or is a file.
    StorageError
        If it cannot be written.
    """

    def __init__(
        self, path: Path, index: Path, identity: Mapping[str, Any], *, overwrite: bool = False
    ) -> None:
        self.path = path
        self._identity = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **identity}))
        with storage_errors(path):
            names = os.listdir(path)
            if PUBLISHED in names and SCRIPT in names:
                raise ForeignFolderError(
                    "the folder holds the search box of a site; nothing was changed",
                    facts=[("folder", path)],
                    fixes=[Fix.use("choose another folder: {}", out=Code("DIR"))],
                )
            records = [read_record(path / name, MOST_DESCRIPTION) for name in (NAME, WORK) if name in names]
            # Otherwise, a folder such as data is not of an export.
            is_export = bool(records) and all(map(_is_description, records))
            check_names(path, names, NAMES.__contains__ if is_export else _NONE.__contains__, "an export")
            if NAME in names and not overwrite:
                raise IndexExistsError(
                    "the folder already holds an export",
                    facts=[("folder", path)],
                    fixes=[
                        Fix.use("replace it with {}", overwrite=True),
                        Fix.sentence(
                            "add what changed since then: {}",
                            Fix.call("export_changes", index, path),
                        ),
                    ],
                )
            if WORK not in names or records[-1] != self._identity:
                # An interruption must leave a folder that is known as an export, and as an unfinished one.
                write_bytes_whole(path / WORK, json.dumps({"format": FORMAT, "version": VERSION}).encode())
                for name in (NAME, *sorted(NAMES - {NAME, WORK})):
                    remove(path / name)
                write_bytes_whole(path / WORK, json.dumps(self._identity).encode())
            else:
                remove(path / NAME)

    @classmethod
    def reopen(cls, path: Path, description: Mapping[str, Any]) -> ExportFolder:
        """Return the folder of a finished export, whose ``export.json`` is given, to add files to it."""
        folder = cls.__new__(cls)
        folder.path = path
        folder._identity = {name: description[name] for name in ("format", "version")}
        return folder

    def remove(self, name: str) -> None:
        """Remove a file or folder of the export."""
        remove(self.path / name)

    def others(self, used: Collection[str]) -> frozenset[Path]:
        """Return the folders of changes and states that are not in use, such as those of an interrupted run."""
        found = (path for name in ("state", "changes") for path in self.path.glob(f"{name}/*"))
        return frozenset(path for path in found if path.relative_to(self.path).as_posix() not in used)

    def finished(self, name: str) -> bool:
        """Return whether an earlier run finished a piece, given by its path in the folder."""
        return is_file(self.path / name)

    @contextmanager
    def piece(self, name: str) -> Iterator[BinaryIO]:
        """Open a file in the folder, which gets its name when it is complete; compressed if it ends in ``.gz``."""
        with self.place(name) as path, path.open("wb") as raw, compressed(raw, Path(name)) as file:
            yield file

    @contextmanager
    def place(self, name: str) -> Iterator[Path]:
        """Yield the path of a new file or folder, which gets its name when it is complete."""
        target = self.path / name
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f"{target.name}{PART}")
            remove(unfinished)
            remove(target)
            yield unfinished
            unfinished.replace(target)

    def write(self, name: str, text: str) -> None:
        """Write a short text file."""
        with self.piece(name) as file:
            file.write(text.encode())

    def copy(self, source: Path, name: str) -> None:
        """Copy a file of the package."""
        with self.piece(name) as file:
            file.write(source.read_bytes())

    def finish(
        self, description: Mapping[str, Any], *, stale: frozenset[Path] = frozenset()
    ) -> dict[str, Any]:
        """Write ``export.json`` with a description of the contents and a record of every file; return it.

        `stale` are folders that do not belong to these contents. They are removed at the end, so that an interruption
        before leaves an export that can be used.
        """
        with storage_errors(self.path):
            files = {
                path.relative_to(self.path).as_posix(): {
                    "bytes": path.stat().st_size,
                    "sha256": digest_of(path),
                }
                for path in sorted(self.path.rglob("*"))
                if path.is_file()
                and path.name != WORK
                and not path.name.endswith(PART)
                and stale.isdisjoint(path.parents)
            }
            body = {**self._identity, **description, "written_by": f"termwise {__version__}", "files": files}
            write_bytes_whole(
                self.path / NAME, (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode()
            )
            (self.path / WORK).unlink(missing_ok=True)
            for each in stale:
                remove(each)
            sync_folder(self.path)
        return body


def _is_description(record: Mapping[str, Any] | None) -> bool:
    """Return whether a record has the format and version of an export."""
    return record is not None and (record.get("format"), record.get("version")) == (FORMAT, VERSION)


def read_description(folder: Path, *, published: bool = False) -> dict[str, Any]:
    """Read ``export.json``; with `published`, read ``search.json`` in a folder that has only that.

    Raises
    ------
    MissingFileError, CorruptIndexError
        If the folder holds no finished export, or the file is damaged.
    ParameterError
        If it is the search box of a site, without `published`.
    """
    file = folder / NAME
    if not file.is_file() and (folder / PUBLISHED).is_file():
        if not published:
            raise ParameterError(
                "the folder is the search box of a site: it has no changes, no filters, and no data to load",
                facts=[("folder", folder)],
                fixes=[
                    Fix.sentence(
                        "after a change of the index, write it again as a whole, with its settings: {}",
                        Fix.call("export_index", Code("INDEX"), "web", folder),
                    )
                ],
            )
        file = folder / PUBLISHED
    try:
        description: dict[str, Any] = json.loads(read_regular(file, MOST_DESCRIPTION))
        (_check_site if file.name == PUBLISHED else _check_description)(description)
    except OSError as error:
        fixes = ["export the index first"]
        raise MissingFileError.of("there is no finished export", file, error, fixes=fixes) from None
    except (Misfit, ValueError, RecursionError) as error:
        raise CorruptIndexError(
            "the description of the export is damaged, or of another version",
            facts=[
                ("file", file),
                *(
                    [("expected", error.expected), ("seen", error.seen)]
                    if isinstance(error, Misfit)
                    else [("reason", error)]
                ),
            ],
            fixes=["export the index anew, to a new folder"],
        ) from None
    return description


def _check_description(value: object) -> None:
    """Raise `Misfit` unless a value has the form of ``export.json``."""
    body = _checked_body(value, FORMAT, ("settings", "schema", "files"))
    expect_whole(body.get("version"), "version", VERSION, VERSION)
    for number, part in enumerate(body["parts"]):
        where = f"parts[{number}]"
        for name in ("field", "vocabulary"):
            expect_text(part.get(name), f"{where}.{name}")
        expect_choice(part.get("kind"), f"{where}.kind", ("sparse", "dense"))
        expect_flag(part.get("integer"), f"{where}.integer")
        expect_flag(part.get("bias"), f"{where}.bias")
        for name in ("terms", "dimensions"):
            expect_whole(part.get(name), f"{where}.{name}", 0)
    expect_text(body.get("origin"), "origin")
    for name in ("chunked", "texts"):
        expect_flag(body.get(name), name)
    try:
        Schema(body["schema"])
    except (ParameterError, UnknownNameError) as error:
        raise Misfit("a schema of fields with known types", error.message) from None
    for name, record in body["files"].items():
        where = f"files[{name!r}]"
        expect_whole(expect_mapping(record, where).get("bytes"), f"{where}.bytes", 0)
        expect_digest(record.get("sha256"), f"{where}.sha256")
    for number, name in enumerate(expect_list(body.get("changes", []), "changes")):
        if not isinstance(name, str) or not _CHANGES.fullmatch(name):
            raise Misfit(f"changes[{number}] as changes/A-B", shown(name))


def _check_site(value: object) -> None:
    """Raise `Misfit` unless a value has what is read of ``search.json``."""
    _checked_body(value, FORMAT_OF_SITE)


def _checked_body(value: object, format: str, objects: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Return a description if it has the form of all descriptions, and objects of some names; or raise `Misfit`."""
    body = expect_mapping(value, "the description")
    expect_choice(body.get("format"), "format", (format,))
    expect_text(body.get("target"), "target")
    expect_whole(body.get("generation"), "generation", 0)
    for name in ("source", *objects):
        expect_mapping(body.get(name), name)
    if not expect_list(body.get("parts"), "parts"):
        raise Misfit("parts, at least one", "none")
    for number, part in enumerate(body["parts"]):
        where = f"parts[{number}]"
        expect_text(expect_mapping(part, where).get("name"), f"{where}.name")
        if "scale" not in part:
            raise Misfit(f"{where}.scale", "none")
        if part["scale"] is not None:
            expect_number(part["scale"], f"{where}.scale", SMALLEST_SCALE, MAX_WEIGHT)
    return body


@contextmanager
def one_writer(path: Path) -> Iterator[None]:
    """Create a folder that is written into, and keep other processes from writing there.

    Raises
    ------
    IndexLockedError
        If another process writes there.
    ForeignFolderError
        If the folder lies inside an index.
    StorageError
        If it cannot be created.
    """
    inside = next((each for each in path.resolve().parents if _is_index(each)), None)
    if inside is not None:
        raise ForeignFolderError(
            "an export cannot lie inside an index",
            facts=[("path", path), ("index", inside)],
            fixes=[Fix.use("choose another folder: {}", out=Code("DIR"))],
        )
    if path.is_symlink() and not path.exists():
        raise ForeignFolderError(
            "the output is a link to a folder that does not exist",
            facts=[("link", path), ("to", path.readlink())],
            fixes=["create the folder", Fix.use("choose another folder: {}", out=Code("DIR"))],
        )
    if path_exists(path) and not path.is_dir():
        raise ForeignFolderError(
            "the output is a file, but an export is a folder",
            facts=[("path", path)],
            fixes=[Fix.use("choose another folder: {}", out=Code("DIR"))],
        )
    with storage_errors(path):
        created = missing_folders(path)
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise IndexLockedError(
                "another process is writing this export",
                facts=[("folder", path)],
                fixes=["wait until it has finished", Fix.use("choose another folder: {}", out=Code("DIR"))],
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        remove_empty(created)
        os.close(descriptor)


def _is_index(folder: Path) -> bool:
    """Return whether a folder is an index or a mixture; others have a ``manifest.json``, too."""
    try:
        if is_mixture(folder):
            return True
        with (folder / MANIFEST).open("rb") as file:
            return f'"{FORMAT_OF_INDEX}"'.encode() in file.read(1 << 20)
    except OSError:
        return False


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise an error of the system as `StorageError`."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            "the export cannot be written",
            facts=[("path", error.filename or path), ("reason", error.strerror or str(error))],
            fixes=[
                "free space or choose another folder, and run the command again: finished pieces are kept"
            ],
        ) from error
