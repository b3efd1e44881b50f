"""Search for the files of a data set in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from termwise.errors import MissingFileError
from termwise.storage.safe_read import is_file, path_exists

Layouts = Mapping[str, Mapping[str, Sequence[str]]]
"""Layouts by name, in order of preference. A layout has parts by name, and a part has file names."""


def find_file(folder: Path, name: str) -> Path | None:
    """Return the file with this name, plain or with ``.gz``, nearest to the top of a folder.

    A path that is itself a file with this name is returned.
    """
    names = (name, f"{name}.gz")
    if is_file(folder):
        return folder if folder.name in names else None
    paths = [path for each in names for path in folder.rglob(each) if is_file(path)]
    return min(paths, key=lambda path: (len(path.parts), str(path)), default=None)


def find_layout(folder: Path, title: str, layouts: Layouts) -> tuple[str, dict[str, list[Path]]]:
    """Return the first layout with a complete part, and the files of its complete parts.

    `MissingFileError`, with the title of the data set, if no layout has a complete part, or a part of the chosen layout
    is incomplete.
    """
    for layout, parts in layouts.items():
        files = {part: {name: find_file(folder, name) for name in names} for part, names in parts.items()}
        complete = {
            part: [path for path in paths.values() if path is not None]
            for part, paths in files.items()
            if None not in paths.values()
        }
        if not complete:
            continue
        for part, paths in files.items():
            missing = [name for name, path in paths.items() if path is None]
            if 0 < len(missing) < len(paths):
                raise _missing(folder, title, [(part, missing)])
        return layout, complete
    expected = [
        (f"{layout}, {part}", names) for layout, parts in layouts.items() for part, names in parts.items()
    ]
    raise _missing(folder, title, expected)


def find_files(folder: Path, title: str, patterns: Sequence[str]) -> list[Path]:
    """Return the files that match the first pattern with a match, sorted; a path that is a file is returned itself."""
    if is_file(folder):
        return [folder]
    for pattern in patterns:
        paths = sorted({path for each in (pattern, f"{pattern}.gz") for path in folder.rglob(each)})
        if paths:
            return paths
    raise _missing(folder, title, [("files", patterns)])


def _missing(folder: Path, title: str, expected: Sequence[tuple[str, Sequence[str]]]) -> MissingFileError:
    reason = [] if path_exists(folder) else [("reason", "no such folder")]
    looked_for = [(f"looked for {part}", ", ".join(names)) for part, names in expected]
    return MissingFileError(
        f"the files of {title} were not found",
        facts=[("folder", folder), *reason, *looked_for],
        fixes=[f"name the folder that {title} was unpacked to"],
    )
