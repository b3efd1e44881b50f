"""What a folder is, told by its manifest: for those who are given one of another kind."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from termwise.errors import ModelFormatError

KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "encoder.json": ("an encoder", ("termwise index COLLECTION --model {folder} --out DIR",)),
    "translation.json": (
        "a translation table",
        (
            "termwise index COLLECTION --model {folder} --out DIR",
            "termwise rerank INDEX --table {folder} --run RUN --queries FILE --output FILE",
        ),
    ),
    "scorer.json": (
        "a scorer",
        ("termwise rerank INDEX --scorer {folder} --run RUN --queries FILE --output FILE",),
    ),
    "encoding.json": (
        "an encoding of a collection",
        ("termwise index COLLECTION --model MODEL --encoding {folder} --out DIR",),
    ),
    "gradient-boosting.json": ("a ranker of boosted trees", ("termwise probe {folder}",)),
}
"""For each manifest, what its folder is, and the commands that take it."""


class Kind(NamedTuple):
    """What a folder is: its manifest, what that makes of it, and the commands that take it."""

    manifest: str
    what: str
    commands: tuple[str, ...]


def kind_of(folder: Path) -> Kind | None:
    """Tell what a folder holds; None where it is nothing of ours."""
    for name, (what, commands) in KINDS.items():
        if (folder / name).is_file():
            return Kind(name, what, tuple(command.format(folder=folder) for command in commands))
    return None


def other_kind(folder: Path, wanted: str) -> ModelFormatError | None:
    """Build the error for a folder of another kind than the one of a manifest; None where it is of no kind.

    Parameters
    ----------
    folder : Path
        What was given.
    wanted : str
        The manifest that was looked for, one of `KINDS`.
    """
    found = kind_of(folder)
    if found is None or found.manifest == wanted:
        return None
    return ModelFormatError(
        f"this folder is {found.what}, not {KINDS[wanted][0]}",
        facts=[("folder", folder), ("found", found.manifest), ("expected", wanted)],
        fixes=found.commands,
    )
