"""Folder of a mixture during a build: its lock, the folders of new parts, and atomic publication.

New parts are built in folders that the published mixture does not use. `MixtureWriter.commit` replaces
``mixture.json`` in one step, and then removes the folders of old parts. An open mixture keeps its mapped files.

A build removes only folders of parts: those that the earlier ``mixture.json`` names, and those that an unfinished build
has listed in ``mixture.building`` before it wrote them. A folder with other files or folders is refused.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType

from termwise.engine.feedback import Feedback
from termwise.engine.unrelated_queries import UnrelatedQueries
from termwise.errors import CorruptIndexError, ForeignFolderError, IndexExistsError, MissingFileError
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.container import storage_errors
from termwise.index.folder import LOCK, FolderWriter, claim, publish, reading_errors, writer_lock
from termwise.index.manifest import NAME as INDEX
from termwise.indexing.work_folder import default_encoding
from termwise.search.mixture import Mixture, meaning_part
from termwise.search.mixture_folder import NAME, MixtureManifest, PartRecord, is_mixture
from termwise.search.searcher import Searcher
from termwise.storage.atomic_file import TEMPORARY, sync_folder, write_bytes_whole
from termwise.storage.folder_path import FolderPath
from termwise.storage.model_folder import MIXTURE_BUILD
from termwise.storage.ownership import check_names, remove_empty

_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]|^\.")
_LONGEST = 100


class MixtureWriter(FolderWriter):
    """Builds or replaces the folder of a mixture; a context manager.

    Raises `IndexExistsError` if there is a mixture and `overwrite` is False; `ForeignFolderError` if the path is a file
    or inside another mixture, or the folder holds other files; the errors of `MixtureManifest.read` for an existing
    mixture, whose folders of parts are then not known; `IndexLockedError` and `StorageError`.
    """

    def __init__(self, path: Path, *, overwrite: bool) -> None:
        self._folder = FolderPath.of(path)
        self._new: list[Path] = []
        self._published = False
        around = next((folder for folder in path.resolve().parents if is_mixture(folder)), None)
        if around is not None:
            raise ForeignFolderError(
                "a mixture cannot lie inside another mixture",
                facts=[("path", path), ("mixture", around)],
                fixes=["choose another folder"],
            )
        with ExitStack() as resources:
            claimed = claim(path, "a mixture", partial(self._check_free, overwrite))
            created = [each.absolute() for each in claimed]
            resources.callback(lambda: None if self._published else remove_empty(created))
            resources.enter_context(writer_lock(path))
            self._check_free(overwrite)
            resources.callback(self._remove_unpublished)
            self._resources = resources.pop_all()

    def part(self, name: str) -> Path:
        """Return the folder for the index of a new part, named like the part unless that folder is in use."""
        folder = part_folder(self.path, name, [folder.name for folder in self._new])
        with storage_errors(self.path):
            listed = dict.fromkeys([*_listed_folders(self.path), folder.name])
            write_bytes_whole(self.path / MIXTURE_BUILD, "".join(f"{name}\n" for name in listed).encode())
        self._new.append(folder)
        return folder

    def commit(
        self,
        names: Sequence[str],
        weights: Sequence[float],
        depth: int,
        *,
        feedback: Feedback | None = None,
        only_scoring: Collection[str] = (),
        scales: Mapping[str, float | None] = MappingProxyType({}),
    ) -> Searcher:
        """Publish the parts that were built in the folders of `part`, in this order, and open the mixture.

        `scales` has the scales of parts by name, see `Part`. If the parts hold different documents, it raises
        `CorruptIndexError`, and nothing is published.
        """
        indexes = [Index.open(folder) for folder in self._new]
        records = tuple(
            PartRecord(
                name,
                folder.name,
                float(weight),
                index.manifest.sha256,
                name not in only_scoring,
                scales.get(name),
            )
            for name, weight, folder, index in zip(names, weights, self._new, indexes, strict=True)
        )
        place = meaning_part(
            [(index, name not in only_scoring) for name, index in zip(names, indexes, strict=True)]
        )
        unrelated = None if place is None else UnrelatedQueries.measure(indexes[place])
        manifest = MixtureManifest(records, depth, feedback=feedback, unrelated=unrelated)
        mixture = Mixture.of(self._folder, manifest)  # checks that the parts hold the same documents
        old = {*_published_folders(self.path), *_listed_folders(self.path)}
        manifest.write(self.path)
        self._published = True
        for name in old - {folder.name for folder in self._new}:
            for unused in (self.path / name, default_encoding(self.path / name)):
                shutil.rmtree(unused, ignore_errors=True)
        with suppress(OSError):
            (self.path / MIXTURE_BUILD).unlink()
        return Searcher(mixture)

    def _check_free(self, overwrite: bool) -> None:
        with reading_errors(self.path):
            names = {entry.name for entry in self.path.iterdir()}
        if INDEX in names and NAME not in names:
            raise ForeignFolderError(
                "the folder is an index, not a mixture; nothing was changed",
                facts=[("folder", self.path), ("found", INDEX)],
                fixes=["choose another folder", "remove the index first"],
            )
        folders = [*_published_folders(self.path), *_listed_folders(self.path)]
        own = {*folders, *(default_encoding(self.path / folder).name for folder in folders)}

        def belongs(name: str) -> bool:
            path = self.path / name
            temporary = name.startswith((f".{NAME}.", f".{MIXTURE_BUILD}.")) and TEMPORARY.fullmatch(name)
            listed = name in own and path.is_dir() and not path.is_symlink()
            return name in (NAME, LOCK, MIXTURE_BUILD) or bool(temporary) or listed

        check_names(self.path, names, belongs, "a mixture")
        if is_mixture(self.path) and not overwrite:
            raise IndexExistsError(
                "the folder already holds a mixture",
                facts=[("folder", self.path)],
                fixes=[Fix.use("replace it with {}", overwrite=True)],
            )

    def _remove_unpublished(self) -> None:
        if self._published:
            return
        for folder in self._new:
            shutil.rmtree(folder, ignore_errors=True)
        if not any((self.path / default_encoding(folder).name).exists() for folder in self._new):
            with suppress(OSError):
                (self.path / MIXTURE_BUILD).unlink()


def part_folder(path: Path, name: str, taken: Iterable[str] = ()) -> Path:
    """Return the folder for a new part of a mixture, which neither the published mixture nor other new parts use."""
    used = {*taken, *_published_folders(path)}
    stem = _UNUSUAL.sub("_", name)[:_LONGEST]
    number = 1
    while (folder := stem if number == 1 else f"{stem}-{number}") in used:
        number += 1
    return path / folder


def _published_folders(path: Path) -> list[str]:
    """Return the folders of the parts of a published mixture."""
    return [part.folder for part in MixtureManifest.read(path).parts] if is_mixture(path) else []


def _listed_folders(path: Path) -> list[str]:
    """Return the folders of the parts of an unfinished build."""
    try:
        names = (path / MIXTURE_BUILD).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    return [name for name in names if name == Path(name).name and name not in ("", ".", "..")]


def copy_index(index: Index, folder: Path) -> None:
    """Copy an open index into a folder; on the same disk, the copy shares the files, which never change.

    Raises `CorruptIndexError` if the index was replaced since it was opened, `MissingFileError` if one of its files
    cannot be read, and `StorageError` if they cannot be written.
    """
    with storage_errors(folder):
        if folder.exists():  # left by an interrupted build
            shutil.rmtree(folder)
        folder.mkdir()
        for file in index.manifest.files():
            target = folder / file.name
            if target.exists():  # two attachments with the same content
                continue
            link_or_copy(index.path / file.name, target)
        sync_folder(folder)
    publish(folder, index.manifest)


def link_or_copy(source: Path, target: Path) -> None:
    """Link a file of an index into a new folder, or copy it to another disk; for the errors, see `copy_index`."""
    with suppress(OSError):
        os.link(source, target)
        return
    try:
        data = source.open("rb")
    except FileNotFoundError:
        raise CorruptIndexError(
            "the index was replaced while it was copied",
            facts=[("index", source.parent), ("missing", source.name)],
            fixes=["run it again"],
        ) from None
    except OSError as error:
        raise MissingFileError.of("a file of the index cannot be read", source, error) from error
    with data, target.open("xb") as copy:
        shutil.copyfileobj(data, copy, 1 << 20)
