"""Finds the files of a data set in the folder where a user keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from termwise.errors import MissingFileError

Forms = Mapping[str, Mapping[str, Sequence[str]]]
"""Forms of a data set by name; of each its parts, by name; of each part the files."""


def found(folder: Path, name: str) -> Path | None:
    """Return the file of a name, plain or with ``.gz``, that lies highest in a folder; the path itself if it is it."""
    names = (name, f"{name}.gz")
    if folder.is_file():
        return folder if folder.name in names else None
    paths = [path for each in names for path in folder.rglob(each) if path.is_file()]
    return min(paths, key=lambda path: (len(path.parts), str(path)), default=None)


def chosen(folder: Path, data_set: str, forms: Forms) -> tuple[str, dict[str, list[Path]]]:
    """Return the first form that a folder has a part of, and the files of all parts that are there.

    Parameters
    ----------
    folder : Path
    data_set : str
        Its name, for the error.
    forms : mapping
        See `Forms`; best first.

    Raises
    ------
    MissingFileError
        If there is no complete part of any form, or a part of the chosen form is there by half.
    """
    for form, parts in forms.items():
        there = {part: {name: found(folder, name) for name in names} for part, names in parts.items()}
        complete = {
            part: [path for path in paths.values() if path is not None]
            for part, paths in there.items()
            if None not in paths.values()
        }
        if not complete:
            continue
        for part, paths in there.items():
            missing = [name for name, path in paths.items() if path is None]
            if 0 < len(missing) < len(paths):
                raise _missing(folder, data_set, [(part, missing)])
        return form, complete
    wanted = [(f"{form}, {part}", names) for form, parts in forms.items() for part, names in parts.items()]
    raise _missing(folder, data_set, wanted)


def any_of(folder: Path, data_set: str, patterns: Sequence[str]) -> list[Path]:
    """Return all files that fit the first pattern that any fits, ordered; a path that is a file is the answer itself.

    Raises
    ------
    MissingFileError
        If there is none.
    """
    if folder.is_file():
        return [folder]
    for pattern in patterns:
        paths = sorted({path for each in (pattern, f"{pattern}.gz") for path in folder.rglob(each)})
        if paths:
            return paths
    raise _missing(folder, data_set, [("files", patterns)])


def _missing(folder: Path, data_set: str, wanted: Sequence[tuple[str, Sequence[str]]]) -> MissingFileError:
    reason = [] if folder.exists() else [("reason", "there is no such folder")]
    return MissingFileError(
        f"the files of {data_set} are not where they should be",
        facts=[
            ("folder", folder),
            *reason,
            *((f"looked for {part}", ", ".join(names)) for part, names in wanted),
        ],
        fixes=[f"name the folder that {data_set} was unpacked to"],
    )
