"""A folder of files that is written whole or not at all, with a manifest that goes last."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from termwise.errors import ForeignFolderError, StorageError

_STAGE = ".unfinished-"


@dataclass(frozen=True)
class StagedFolder:
    """How folders of one kind are written.

    Attributes
    ----------
    noun : str
        What such a folder is, as messages name it: ``encoder``.
    an : str
        The same with its indefinite article.
    manifest : str
        The file without which nobody reads the folder.
    ours : frozenset of str
        All names that such a folder may hold; others are not ours to touch.
    kept : str
        The one of them that stays when the folder is written anew.
    """

    noun: str
    an: str
    manifest: str
    ours: frozenset[str]
    kept: str

    def check_place(self, out: Path, *, base: str | Path | None = None) -> None:
        """See that a folder may be written to, before any work is done.

        Parameters
        ----------
        out : Path
            The folder.
        base : str or Path, optional
            What the work starts from: the name of something, or a folder.

        Raises
        ------
        ForeignFolderError
            If it holds something else, is a file, is the folder of the base, or lies in it.
        StorageError
            If it cannot be read, or is a link that leads nowhere.
        """
        with self._storage(out):
            place = Path(os.path.realpath(out))
            if (
                base is not None
                and Path(base).is_dir()
                and Path(os.path.realpath(base)) in (place, *place.parents)
            ):
                raise ForeignFolderError(
                    "the output would be written over what it starts from",
                    facts=[("output", out), ("base", base)],
                    fixes=["name another folder with --out"],
                )
            if not _is_there(out):
                return
            names = [path.name for path in out.iterdir()] if out.is_dir() else [out.name]
        foreign = sorted(name for name in names if name not in self.ours and not name.startswith(_STAGE))
        if foreign or not out.is_dir():
            raise ForeignFolderError(
                f"the folder holds something that is not {self.an}",
                facts=[("folder", out), ("found", ", ".join(foreign[:5]))],
                fixes=["name another folder with --out"],
            )

    def refuse_finished(self, out: Path) -> None:
        """Refuse a folder that is complete: whoever trains writes over nothing that took as long to make.

        Raises
        ------
        ForeignFolderError
            If it holds the manifest.
        """
        if (out / self.manifest).exists():
            raise ForeignFolderError(
                f"the folder holds {self.an} already",
                facts=[("folder", out), ("found", self.manifest)],
                fixes=["name another folder with --out", f"if it is of no use any more: remove {out} first"],
            )

    @contextmanager
    def working_in(self, folder: Path) -> Iterator[None]:
        """Make a folder and see that it can be written to, before any work is done.

        Parameters
        ----------
        folder : Path
            Where work goes on: a folder of this kind, or one inside it. What was made here and is empty in the end goes
            again.

        Raises
        ------
        StorageError
            If it cannot be made or written to.
        """
        with self._storage(folder):
            missing = [place for place in (folder, *folder.parents) if not place.exists()]
        try:
            with self._storage(folder):
                folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(b"\0")
            yield
        finally:
            for place in missing:
                with suppress(OSError):
                    place.rmdir()

    @contextmanager
    def stage(self, out: Path) -> Iterator[Path]:
        """Give a hidden folder inside `out` to work in, and remove it in the end; see `check_place`, `publish`."""
        self.check_place(out)
        with self._storage(out):
            out.mkdir(parents=True, exist_ok=True)
            stage = Path(tempfile.mkdtemp(prefix=_STAGE, dir=out))
            try:
                yield stage
            finally:
                shutil.rmtree(stage, ignore_errors=True)

    def publish(self, stage: Path, out: Path) -> None:
        """Move what was made into place. While that goes on there is no manifest, so nobody reads half of it."""
        (out / self.manifest).unlink(missing_ok=True)
        made = {path.name for path in stage.iterdir()}
        for name in self.ours - made - {self.kept}:
            (out / name).unlink(missing_ok=True)
        for name in sorted(made - {self.manifest}):
            (stage / name).replace(out / name)
        (stage / self.manifest).replace(out / self.manifest)

    @contextmanager
    def _storage(self, out: Path) -> Iterator[None]:
        """Turn what the operating system says while writing into an error of ours."""
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"the {self.noun} cannot be written",
                facts=[("path", error.filename or out), ("system says", error.strerror or str(error))],
                fixes=["choose a folder that can be written and has room with --out"],
            ) from error


def _is_there(out: Path) -> bool:
    """Tell whether there is something at a path; a link that leads nowhere is an error of the system."""
    try:
        out.stat()
    except FileNotFoundError:
        if out.is_symlink():
            raise
        return False
    return True
