"""Atomic writes of folders: files are made in a hidden folder and moved into place, the manifest last."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from termwise.errors import ForeignFolderError, StorageError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.storage.atomic_file import lock_temporary, remove_abandoned
from termwise.storage.ownership import check_names, missing_folders, remove_empty

_STAGE = ".unfinished-"


@dataclass(frozen=True)
class AtomicFolder:
    """How folders of one kind are written.

    Attributes
    ----------
    noun, article : str
        Noun for such a folder in messages, and its indefinite article.
    manifest : str
        The file that makes the folder readable.
    files : frozenset of str
        All names that such a folder may hold.
    kept : str
        Name that is kept when the folder is replaced.
    """

    noun: str
    article: str
    manifest: str
    files: frozenset[str]
    kept: str

    def check_output(self, out: Path, *, base: str | Path | None = None) -> None:
        """Check that a folder may be written, before any work is done.

        `base` is the model that the work starts from: its name, or its folder. `ForeignFolderError` is raised if the
        folder holds other files, is a file, is the folder of the base, or lies in that folder; `StorageError` if it
        cannot be read, or is a broken link.
        """
        with self._storage_errors(out):
            target = Path(os.path.realpath(out))
            if (
                base is not None
                and Path(base).is_dir()
                and Path(os.path.realpath(base)) in (target, *target.parents)
            ):
                raise ForeignFolderError(
                    "the output would overwrite the base",
                    facts=[("output", out), ("base", base)],
                    fixes=[Fix.use("choose another folder: {}", out=Code("DIR"))],
                )
            if not _exists(out):
                return
            if not out.is_dir():
                raise ForeignFolderError(
                    f"the output is a file, but {self.article} {self.noun} is a folder",
                    facts=[("path", out)],
                    fixes=[Fix.use("choose another folder: {}", out=Code("DIR"))],
                )
            names = os.listdir(out)
        check_names(
            out,
            names,
            lambda name: name in self.files or name.startswith(_STAGE),
            f"{self.article} {self.noun}",
        )

    def refuse_finished(self, out: Path) -> None:
        """Refuse a folder that holds the manifest, so that no result of a long training is overwritten."""
        if (out / self.manifest).exists():
            raise ForeignFolderError(
                f"the folder already holds {self.article} {self.noun}",
                facts=[("folder", out), ("found", self.manifest)],
                fixes=[
                    Fix.use("choose another folder: {}", out=Code("DIR")),
                    f"remove {out} first if it is no longer needed",
                ],
            )

    @contextmanager
    def working_in(self, folder: Path) -> Iterator[None]:
        """Create a folder, of this kind or inside one, and check that it can be written to, before any work is done.

        At the end, folders that were created here are removed if they are empty. An error of the system is raised as
        `StorageError`.
        """
        with self._storage_errors(folder):
            missing = missing_folders(folder)
        try:
            with self._storage_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(b"\0")
            yield
        finally:
            remove_empty(missing)

    @contextmanager
    def stage(self, out: Path) -> Iterator[Path]:
        """Yield a hidden folder inside `out` to make files in; it is removed at the end. See `publish`."""
        self.check_output(out)
        with self._storage_errors(out):
            out.mkdir(parents=True, exist_ok=True)
            remove_abandoned(out, re.compile(rf"{re.escape(_STAGE)}.*"))
            stage, descriptor = _locked_folder(out)
            try:
                yield stage
            finally:
                shutil.rmtree(stage, ignore_errors=True)
                os.close(descriptor)

    def publish(self, stage: Path, out: Path) -> None:
        """Move files into place. Meanwhile there is no manifest, so the folder cannot be read half-written."""
        (out / self.manifest).unlink(missing_ok=True)
        made = {path.name for path in stage.iterdir()}
        for name in self.files - made - {self.kept}:
            (out / name).unlink(missing_ok=True)
        for name in sorted(made - {self.manifest}):
            (stage / name).replace(out / name)
        (stage / self.manifest).replace(out / self.manifest)

    @contextmanager
    def _storage_errors(self, out: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"the {self.noun} cannot be written",
                facts=[("path", error.filename or out), ("reason", error.strerror or str(error))],
                fixes=[Fix.use("choose a writable folder with free space: {}", out=Code("DIR"))],
            ) from error


def _locked_folder(out: Path) -> tuple[Path, int]:
    """Create a hidden folder with a lock, so that it is not removed as abandoned."""
    while True:
        stage = Path(tempfile.mkdtemp(prefix=_STAGE, dir=out))
        descriptor = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
        if lock_temporary(descriptor, stage):
            return stage, descriptor
        os.close(descriptor)


def _exists(path: Path) -> bool:
    """Return whether a path exists; raise `OSError` for a broken link."""
    try:
        path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise
        return False
    return True
