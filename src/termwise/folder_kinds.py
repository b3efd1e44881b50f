"""What a folder of a trained model is, told by its manifest: for those who are given one of another kind."""

from __future__ import annotations

from pathlib import Path

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
}
"""For each manifest, what its folder is, and the commands that take it."""


def other_kind(folder: Path, wanted: str) -> ModelFormatError | None:
    """Build the error for a folder of another kind than the one of a manifest; None where it is of no kind.

    Parameters
    ----------
    folder : Path
        What was given.
    wanted : str
        The manifest that was looked for, one of `KINDS`.
    """
    for name, (what, commands) in KINDS.items():
        if name != wanted and (folder / name).is_file():
            return ModelFormatError(
                f"this folder is {what}, not {KINDS[wanted][0]}",
                facts=[("folder", folder), ("found", name), ("expected", wanted)],
                fixes=[command.format(folder=folder) for command in commands],
            )
    return None
