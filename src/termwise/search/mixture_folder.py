"""Folder of a mixture: indexes of the same documents, and ``mixture.json`` with their weights.

::

    mixture.json     a JSON object with a checksum (see `termwise.storage.manifest_json`)
    bm25/            an ordinary index for each part
    lookup/

``mixture.json`` is written last and replaced in one atomic step, so a mixture is complete or absent. It names the
manifest of each part by its SHA-256. A change writes the new manifests of the parts as ``manifest.json.new``, replaces
``mixture.json``, and then renames the manifests, so the manifest of a part is always in one of these two files::

    format, version, checksum    "termwise-mixture", 4, and the checksum of the rest
    parts                        per part: name, folder, weight, whether it retrieves candidates, its scale or null, and
                                 the SHA-256 of the manifest of its index
    depth                        number of results that each part contributes to the candidates
    normalisation                "z"
    feedback                     documents and weight of feedback, or null
    unrelated                    scores that unrelated queries reach, or null
    written_by                   program and version

In version 1, all parts retrieve candidates, and there is no feedback. Before version 3, there are no scales, and
before version 4 no scores of unrelated queries.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from termwise._version import __version__
from termwise.display.safe_text import shown
from termwise.engine.feedback import Feedback
from termwise.engine.unrelated_queries import LARGEST, STEPS, UnrelatedQueries
from termwise.errors import (
    CorruptIndexError,
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
    ParameterError,
)
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.container import storage_errors
from termwise.index.manifest import Manifest
from termwise.storage.manifest_json import (
    Misfit,
    expect_choice,
    expect_digest,
    expect_file_name,
    expect_flag,
    expect_number,
    expect_object,
    expect_text,
    expect_whole,
    sealed,
    unsealed,
)
from termwise.storage.model_folder import MIXTURE
from termwise.storage.safe_read import is_file, read_regular

NAME = MIXTURE
FORMAT = "termwise-mixture"
VERSION = 4

DEPTH = 1000
"""Default number of results that each part contributes to the candidates."""

MAX_DEPTH = 1 << 24
"""Largest number of results of a part."""

MAX_PARTS = 32
"""Largest number of parts."""

MAX_WEIGHT = 1e9
"""Largest absolute value of a weight."""

SMALLEST_SCALE = 1e-9
"""Smallest scale of a part."""

MAX_FILE = 1 << 20
"""Largest size of the file in bytes."""

REBUILD = "build the mixture again"

_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,128}")


@dataclass(frozen=True)
class PartRecord:
    """One part of a mixture.

    Attributes
    ----------
    name : str
        Name in explanations.
    folder : str
        Name of the folder of its index, beside ``mixture.json``.
    weight : float
        Weight of its normalised scores.
    sha256 : str
        SHA-256 of the manifest of the index.
    retrieves : bool
        Whether it finds candidates, see `Part`.
    scale : float or None
        Typical deviation of its scores, see `Part`.
    """

    name: str
    folder: str
    weight: float
    sha256: str
    retrieves: bool = True
    scale: float | None = None


@dataclass(frozen=True)
class MixtureManifest:
    """Contents of ``mixture.json``; see the module."""

    parts: tuple[PartRecord, ...]
    depth: int = DEPTH
    normalisation: str = "z"
    feedback: Feedback | None = None
    unrelated: UnrelatedQueries | None = None
    written_by: str = f"termwise {__version__}"

    def write(self, folder: Path) -> None:
        """Write or replace the file in one atomic step that survives a crash; a link is replaced, not followed."""
        from termwise.storage.atomic_file import sync_folder, write_bytes_whole

        data = sealed({"format": FORMAT, "version": VERSION, **asdict(self)})
        write_bytes_whole(folder / NAME, data, follow_link=False)
        with storage_errors(folder):
            sync_folder(folder)

    @classmethod
    def read(cls, folder: Path) -> MixtureManifest:
        """Read the file.

        Raises
        ------
        MissingFileError
            If it cannot be read.
        NotAnIndexError, NewerFormatError, CorruptIndexError
            If it is of another kind, was written by a later version, or is damaged.
        """
        path = folder / NAME
        try:
            body = unsealed(
                read_regular(path, MAX_FILE),
                FORMAT,
                VERSION,
                foreign=lambda: NotAnIndexError(
                    "this file does not describe a mixture of indexes",
                    facts=[("file", path), ("expected", f'"format": "{FORMAT}"')],
                ),
                later=lambda version: NewerFormatError(
                    "this mixture was written by a later version of termwise",
                    facts=[("file", path), ("format", version), ("known here", VERSION)],
                    fixes=["install a newer version of termwise"],
                ),
            )
            return _manifest(body)
        except Misfit as misfit:
            raise CorruptIndexError(
                "the description of the mixture is damaged",
                facts=[("file", path), ("expected", misfit.expected), ("seen", str(misfit.seen)[:200])],
                fixes=[f"remove the folder, and {REBUILD}"],
            ) from None
        except OSError as error:
            raise MissingFileError.of("the mixture cannot be read", path, error) from error


def is_mixture(path: str | Path) -> bool:
    """Return whether a folder holds a mixture."""
    return is_file(Path(path) / NAME)


def part_manifest(folder: Path, part: PartRecord) -> Manifest:
    """Return the manifest of the index of a part.

    Raises
    ------
    CorruptIndexError
        If the index is not the one that ``mixture.json`` names, or its manifest is damaged.
    MissingFileError, NotAnIndexError, NewerFormatError
        See `Manifest.read`.
    """
    from termwise.index.folder import staged_manifest

    path = folder / part.folder
    try:
        # A commit may rename the staged manifest at any time, so it is looked for first.
        manifest = staged_manifest(path, part.sha256) or Manifest.read(path)
    except (CorruptIndexError, MissingFileError) as error:
        raise of_mixture(error) from None
    if manifest.sha256 != part.sha256:
        raise CorruptIndexError(
            "a part of the mixture has changed since the mixture was built",
            facts=[("mixture", folder), ("part", part.name), ("index", path)],
            fixes=[REBUILD],
        )
    return manifest


def part_index(folder: Path, part: PartRecord) -> Index:
    """Open the index of a part in the generation that ``mixture.json`` names; see `part_manifest` for the errors."""
    manifest = part_manifest(folder, part)
    try:
        index = Index(folder / part.folder, manifest)
        index.files.check_shortest()
        return index
    except (CorruptIndexError, MissingFileError) as error:
        raise of_mixture(error) from None


def finish_commit(folder: Path) -> MixtureManifest:
    """Rename the manifests of parts that a killed commit has published but not renamed; return the contents.

    The caller holds the lock of the mixture.
    """
    from termwise.index.folder import publish_staged, staged_manifest

    mixture = MixtureManifest.read(folder)
    for part in mixture.parts:
        if staged_manifest(folder / part.folder, part.sha256) is not None:
            publish_staged(folder / part.folder)
    return mixture


def is_part_name(name: object) -> bool:
    """Return whether a value can be the name of a part: 1 to 128 printable characters."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def check_only_scoring(given: Collection[str], names: Sequence[str]) -> None:
    """Raise `ParameterError` unless the parts that find no candidates are named as parts of the mixture."""
    if (
        isinstance(given, str)
        or not isinstance(given, Collection)
        or not all(name in names for name in given)
    ):
        raise ParameterError(
            "only_scoring is a collection of names of parts, and no part has one of these names",
            facts=[("only_scoring", shown(given)), ("parts", ", ".join(map(str, names)))],
            fixes=["name parts of the mixture"],
        )


def of_mixture(error: CorruptIndexError | MissingFileError) -> CorruptIndexError | MissingFileError:
    """Return the error of a part with the fix for the mixture: a build of this index alone would not repair it."""
    return type(error)(error.message, facts=error.facts, fixes=[REBUILD])


def _manifest(body: Mapping[str, Any]) -> MixtureManifest:
    names = {"format", "version", "checksum", *(field.name for field in fields(MixtureManifest))}
    version = expect_whole(body.get("version"), "version", 1, VERSION)
    first = version == 1
    names -= {"feedback", "unrelated"} if first else {"unrelated"} if version < 4 else set()
    body = expect_object(body, names, "an object")
    if not isinstance(body["parts"], list) or not 0 < len(body["parts"]) <= MAX_PARTS:
        raise Misfit(f"parts, from 1 to {MAX_PARTS}", type(body["parts"]).__name__)
    parts = tuple(_part(value, f"parts[{number}]", version) for number, value in enumerate(body["parts"]))
    for field in ("name", "folder"):
        if len({getattr(part, field) for part in parts}) < len(parts):
            raise Misfit(f"parts with distinct values of {field}", "one that occurs twice")
    if not any(part.weight for part in parts):
        raise Misfit("a weight other than 0", "weights of 0 only")
    feedback, unrelated = body.get("feedback"), body.get("unrelated")
    if not any(part.retrieves for part in parts):
        raise Misfit("a part that retrieves candidates", "none")
    return MixtureManifest(
        parts,
        depth=expect_whole(body["depth"], "depth", 1, MAX_DEPTH),
        normalisation=expect_choice(body["normalisation"], "normalisation", ("z",)),
        feedback=None if feedback is None else _feedback(feedback),
        unrelated=None if unrelated is None else _unrelated(unrelated),
        written_by=expect_text(body["written_by"], "written_by"),
    )


def _part(value: object, where: str, version: int) -> PartRecord:
    names = {field.name for field in fields(PartRecord)}
    later = {"retrieves", "scale"} if version == 1 else {"scale"} if version == 2 else set()
    body = expect_object(value, names - later, where)
    scale = body.get("scale")
    if not is_part_name(body["name"]):
        raise Misfit(f"{where}.name as a name", str(body["name"])[:80])
    return PartRecord(
        name=body["name"],
        folder=expect_file_name(body["folder"]),
        weight=expect_number(body["weight"], f"{where}.weight", -MAX_WEIGHT, MAX_WEIGHT),
        sha256=expect_digest(body["sha256"], f"{where}.sha256"),
        retrieves=version == 1 or expect_flag(body["retrieves"], f"{where}.retrieves"),
        scale=None if scale is None else expect_number(scale, f"{where}.scale", SMALLEST_SCALE, MAX_WEIGHT),
    )


def _feedback(value: object) -> Feedback:
    body = expect_object(value, {field.name for field in fields(Feedback)}, "feedback")
    try:
        return Feedback(**body)
    except ParameterError as error:
        raise Misfit("feedback within its ranges", str(dict(error.facts))) from None


def _unrelated(value: object) -> UnrelatedQueries:
    body = expect_object(value, {field.name for field in fields(UnrelatedQueries)}, "unrelated")
    given = body["quantiles"]
    if not isinstance(given, list) or len(given) != STEPS + 1:
        raise Misfit(f"unrelated.quantiles, {STEPS + 1} numbers", type(given).__name__)
    quantiles = tuple(
        expect_number(each, f"unrelated.quantiles[{place}]", -LARGEST, LARGEST)
        for place, each in enumerate(given)
    )
    if any(later < earlier for earlier, later in pairwise(quantiles)):
        raise Misfit("unrelated.quantiles in ascending order", "others")
    return UnrelatedQueries(
        documents=expect_whole(body["documents"], "unrelated.documents", 0), quantiles=quantiles
    )
