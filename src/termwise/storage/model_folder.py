"""Folders of trained models: a manifest with a checksum, and the files that it lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from termwise.display.safe_text import short_digest
from termwise.errors import CorruptModelError, MissingFileError, ModelFormatError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Call, Code, Fix
from termwise.storage.file_record import FileRecord, digest_of, record_of
from termwise.storage.manifest_json import Misfit, sealed, unsealed
from termwise.storage.safe_read import PERMISSIONS, is_file, read_regular, regular_size

TRAINING = "training"
"""Name of the folder with settings, log and state of a training, inside the folder of the model."""

MAX_MANIFEST = 1 << 24
"""Largest length of a manifest in bytes."""

_Manifest = TypeVar("_Manifest")


MIXTURE = "mixture.json"
"""Manifest of a mixture of indexes."""

MIXTURE_BUILD = "mixture.building"
"""File with the folders of the parts of an unfinished build of a mixture, one in each line."""


class FolderKind(NamedTuple):
    """Kind of a folder.

    Attributes
    ----------
    manifest : str
        Name of the manifest.
    noun : str
        Noun for the contents, with its article.
    uses : tuple of str or Fix
        Ways to use such a folder.
    """

    manifest: str
    noun: str
    uses: tuple[str | Fix, ...]


FOLDER_KINDS: dict[str, tuple[str, Callable[[Path], tuple[str | Fix, ...]]]] = {
    "encoder.json": ("an encoder", lambda folder: (Fix.call("build_index", model=folder),)),
    "translation.json": (
        "a translation table",
        lambda folder: (Fix.call("build_index", model=folder), Fix.call("open_table", folder)),
    ),
    "scorer.json": ("a scorer", lambda folder: (Fix.call("read_scorer_folder", folder),)),
    "encoding.json": (
        "an encoding of a collection",
        lambda folder: (
            Fix.call("build_index", model=Code("MODEL"), options=Call.of("BuildOptions", encoding=folder)),
        ),
    ),
    MIXTURE: (
        "a mixture of indexes",
        lambda folder: (
            f"name the index of one part, a folder in {folder}",
            Fix.call("termwise.open", folder),
        ),
    ),
    "gradient-boosting.json": (
        "a ranker of boosted trees",
        lambda folder: (Fix.call("probe_rankers", folder),),
    ),
}
"""Noun for the contents of a folder, and ways to use it, by name of the manifest."""


def kind_of(folder: Path) -> FolderKind | None:
    """Return the kind of a folder; None if it has no manifest of termwise."""
    for name, (noun, uses) in FOLDER_KINDS.items():
        if is_file(folder / name):
            return FolderKind(name, noun, uses(folder))
    return None


def wrong_kind(folder: Path, manifest: str) -> ModelFormatError | None:
    """Build the error for a folder of another kind than that of a manifest; None if it is of no other kind."""
    kind = kind_of(folder)
    if kind is None or kind.manifest == manifest:
        return None
    return ModelFormatError(
        f"this folder is {kind.noun}, not {FOLDER_KINDS[manifest][0]}",
        facts=[("folder", folder), ("found", kind.manifest), ("expected", manifest)],
        fixes=kind.uses,
    )


@dataclass(frozen=True)
class ModelFolders:
    """How folders of one kind of model are read, and how their damage is reported.

    Attributes
    ----------
    noun, article : str
        Noun for such a model in messages, and its indefinite article.
    format, version : str and int
        Format of its manifest, and the latest known version.
    repairs : tuple of str
        Fixes for a damaged folder.
    """

    noun: str
    article: str
    format: str
    version: int
    repairs: tuple[str, ...]

    def sealed(self, body: Mapping[str, Any]) -> bytes:
        """Serialise a manifest: canonical JSON with its format and checksum; raise `ParameterError` if JSON cannot."""
        try:
            return sealed({"format": self.format, **body})
        except (TypeError, ValueError, RecursionError) as error:
            raise ParameterError(
                f"the description of the {self.noun} cannot be written as JSON", facts=[("reason", error)]
            ) from None

    def parsed(self, data: bytes, path: Path, parse: Callable[[Mapping[str, Any]], _Manifest]) -> _Manifest:
        """Read the content of a manifest; `path` is for errors.

        `parse` builds the manifest from an object that matches its checksum, or raises `Misfit`. `ModelFormatError` is
        raised if it is not the manifest of such a model, or was written by a later version, and `CorruptModelError` if
        it is damaged.
        """
        with self._typed_errors(path):
            return parse(
                unsealed(
                    data,
                    self.format,
                    self.version,
                    foreign=lambda: ModelFormatError(
                        f"this manifest does not belong to {self.article} {self.noun}",
                        facts=[("file", path), ("expected", f'"format": "{self.format}"')],
                    ),
                    later=lambda version: ModelFormatError(
                        f"this {self.noun} was written by a later version of termwise",
                        facts=[("file", path), ("format", version), ("known here", self.version)],
                        fixes=["install a newer version of termwise"],
                    ),
                )
            )

    def manifest_bytes(
        self,
        path: Path,
        *,
        fixes: Sequence[str | Fix],
        facts: Sequence[tuple[str, object]] = (),
        other: Callable[[], ModelFormatError | None] = lambda: None,
    ) -> bytes:
        """Return the content of a manifest.

        Parameters
        ----------
        path : Path
            Path of the manifest.
        fixes, facts : sequence
            Fixes and additional facts of the errors for a folder that does not exist or holds other files.
        other : callable, optional
            Builds a more specific error for a folder that holds neither a model nor a training, or returns None.

        Raises
        ------
        MissingFileError
            If there is no such folder, or the file cannot be read.
        ModelFormatError
            If it is not the folder of such a model, or its training is not finished.
        CorruptModelError
            If the file is too long or not a regular file.
        """
        folder = path.parent
        with self._typed_errors(path):
            try:
                return read_regular(path, MAX_MANIFEST)
            except FileNotFoundError:
                if not folder.exists():
                    raise MissingFileError(
                        f"there is no such {self.noun}", facts=[("path", folder), *facts], fixes=fixes
                    ) from None
                foreign = ModelFormatError(
                    f"this folder does not hold {self.article} {self.noun}",
                    facts=[("path", folder), ("missing", path.name), *facts],
                    fixes=fixes,
                )
                known = wrong_kind(folder, path.name) or _unfinished(folder, path.name) or other()
                raise known or foreign from None
            except NotADirectoryError:
                raise ModelFormatError(
                    f"this is a file, but {self.article} {self.noun} is a folder",
                    facts=[("path", folder)],
                    fixes=[f"name the folder that holds {path.name}"],
                ) from None

    def damaged(self, path: Path, expected: object, seen: object) -> CorruptModelError:
        """Build the error for a damaged file."""
        return CorruptModelError(
            f"a file of the {self.noun} is damaged",
            facts=[("file", path), ("expected", expected), ("seen", str(seen)[:200])],
            fixes=self.repairs,
        )

    @contextmanager
    def _typed_errors(self, path: Path) -> Iterator[None]:
        """Turn errors of reading a file into typed errors that name it."""
        try:
            yield
        except Misfit as misfit:
            raise self.damaged(path, misfit.expected, misfit.seen) from None
        except OSError as error:
            fixes = PERMISSIONS if isinstance(error, PermissionError) else self.repairs
            raise MissingFileError.of(
                f"a file of the {self.noun} cannot be read", path, error, fixes=fixes
            ) from error

    def read(self, path: Path, most: int) -> bytes:
        """Return the content of a regular file of at most this many bytes; anything else is damage."""
        with self._typed_errors(path):
            return read_regular(path, most)

    def read_recorded(self, path: Path, record: FileRecord) -> bytes:
        """Return the content of a file after comparing it with its record."""
        data = self.read(path, record.bytes)
        self._compare(path, record, record_of(data))
        return data

    def check_recorded(self, path: Path, record: FileRecord, most: int) -> None:
        """Compare a file with its record without holding it in memory."""
        with self._typed_errors(path):
            size = regular_size(path, most)
            digest = digest_of(path) if size == record.bytes else ""
        self._compare(path, record, FileRecord(digest, size))

    def _compare(self, path: Path, record: FileRecord, actual: FileRecord) -> None:
        if actual.bytes != record.bytes:
            raise self.damaged(path, f"{record.bytes} bytes", f"{actual.bytes} bytes")
        if actual.sha256 != record.sha256:
            expected, seen = (f"sha256:{each.sha256}" for each in (record, actual))
            raise self.damaged(path, short_digest(expected), short_digest(seen))


def _unfinished(folder: Path, manifest: str) -> ModelFormatError | None:
    """Build the error for the folder of an unfinished training; None if there is no training in it."""
    if not (folder / TRAINING).is_dir():
        return None
    return ModelFormatError(
        "the training in this folder is not finished",
        facts=[("path", folder), ("missing", manifest)],
        fixes=[Fix.use("continue it with the same arguments and {}", resume=True)],
    )
