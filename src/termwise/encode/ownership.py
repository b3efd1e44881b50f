"""Which encoder a work folder belongs to: recorded in ``encoding.json``, beside the blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from termwise.display.safe_text import short_digest, told_apart
from termwise.encode.blocks import BLOCK_NAME
from termwise.encode.document_encoder import DocumentEncoder
from termwise.errors import ForeignFolderError, ParameterError, StorageError
from termwise.storage.atomic_file import create_bytes_whole
from termwise.storage.manifest_json import Misfit, canonical_bytes
from termwise.storage.safe_read import read_regular

NAME = "encoding.json"
FORMAT = "termwise-encoding"
VERSION = 1

MAX_CLAIM = 1 << 24
"""Largest size of an ``encoding.json`` in bytes; a longer one is not read."""


def claim(folder: Path, encoder: DocumentEncoder) -> None:
    """Claim a work folder for an encoder: create it, or check that it belongs to this encoder.

    Raises
    ------
    ForeignFolderError
        If the folder belongs to another encoder or other settings, or holds something else.
    ParameterError
        If the description of the encoder cannot be written as JSON.
    StorageError
        If the folder cannot be used.
    """
    path = folder / NAME
    ours: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "encoder": encoder.fingerprint,
        "vocabulary": encoder.vocabulary.id,
        "block": encoder.block,
    }
    try:
        data = canonical_bytes({**ours, "description": encoder.description})
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            "what the encoder says of itself cannot be written as JSON", facts=[("why", error)]
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            others = sorted(entry.name for entry in folder.iterdir() if not _passing(entry.name))
            # Blocks are written after it: where there are some, it is there by now, or they are foreign.
            if others and not path.exists():
                raise _foreign(folder, ("holds", ", ".join(others[:3])))
            create_bytes_whole(path, data)
        found = json.loads(read_regular(path, MAX_CLAIM))
    except OSError as error:
        raise StorageError(
            "the work folder cannot be used",
            facts=[("folder", folder), ("reason", error.strerror or str(error))],
            fixes=["choose another folder"],
        ) from error
    except (Misfit, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _foreign(folder, (NAME, "not of termwise, or damaged"))
    differing = [key for key in ours if found.get(key) != ours[key]]
    if differing:
        there, here = _beside(found, {**ours, "description": encoder.description})
        raise ForeignFolderError(
            "the work folder holds rows of another encoder or of other settings",
            facts=[
                ("folder", folder),
                ("differs in", ", ".join(differing)),
                ("there", there),
                ("here", here),
            ],
            fixes=["choose another folder", f"rm -r {folder}"],
        )


def remove_work_folder(folder: Path) -> None:
    """Remove a work folder that is no longer needed; files that do not belong there stay, and the folder with them."""
    with suppress(OSError):
        for entry in list(folder.iterdir()):
            if entry.name == NAME or BLOCK_NAME.fullmatch(entry.name) or _passing(entry.name):
                entry.unlink()
        folder.rmdir()


def _passing(name: str) -> bool:
    """Return whether a name is that of a temporary file, which another shard may be writing."""
    return name.startswith(".") and name.endswith(".tmp")


def _foreign(folder: Path, fact: tuple[str, object]) -> ForeignFolderError:
    return ForeignFolderError(
        "the work folder holds something other than encoded documents",
        facts=[("folder", folder), fact],
        fixes=["choose another folder"],
    )


def _beside(one: Mapping[str, object], other: Mapping[str, object]) -> tuple[str, str]:
    """Describe two encoders in words: their names, and the settings that differ."""
    described = [_mapping(each.get("description")) for each in (one, other)]
    settings = told_apart(*(_mapping(each.get("settings")) for each in described))
    lines = []
    for folder, facts, differing in zip((one, other), described, settings, strict=True):
        said = [facts.get("name"), _mapping(facts.get("network")).get("precision"), differing]
        identity = short_digest(str(folder.get("encoder")))
        lines.append(", ".join([*(str(value) for value in said if value), identity]))
    return lines[0], lines[1]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
