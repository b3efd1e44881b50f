"""Files of a search folder: their contents decide their names, so that browsers can keep them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

from termwise.errors import ForeignFolderError
from termwise.export.folder import FORMAT_OF_SITE, SCRIPT, storage_errors
from termwise.export.folder import PUBLISHED as MANIFEST
from termwise.fixes import Code, Fix
from termwise.storage.atomic_file import sync_folder, write_bytes_whole
from termwise.storage.ownership import check_names, read_record

VERSION = 2

_NAMED_BY_CONTENT = re.compile(
    r"(?:(?:analyzers|bias|documents|filter|index|terms|words)-[0-9a-f]{12}\.bin|worker-[0-9a-f]{12}\.js)"
)
_DIGITS = 12
_PART = ".part"


@final
class SearchFiles:
    """Folder that a search is written into.

    Files whose names have a hash are written first; ``search.json`` names them and is replaced last. Then the files
    that it no longer names are removed. An interrupted run leaves the earlier search intact, and the next one writes
    only what is missing.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ForeignFolderError
        If the folder has other files, or is a file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = 0
        self._names: set[str] = set()
        with storage_errors(path):
            if path.exists() and not path.is_dir():
                raise ForeignFolderError(
                    "the output is a file, but a search is a folder",
                    facts=[("path", path)],
                    fixes=[Fix.use("choose another folder: {}", out=Code("DIR"))],
                )
            path.mkdir(parents=True, exist_ok=True)
            has_search = _holds_search(path)

            def is_ours(name: str) -> bool:
                if has_search:
                    return name == MANIFEST or _is_known(name)
                # A run that was interrupted leaves unfinished files, and whole ones that nothing names.
                return _is_known(name) and (name.endswith(_PART) or name == SCRIPT or _is_intact(path / name))

            check_names(path, os.listdir(path), is_ours, "a search")

    @property
    def count(self) -> int:
        """Number of files."""
        return len(self._names) + 2

    def add(self, kind: str, data: bytes, suffix: str = "bin") -> str:
        """Write a file that is named by its kind and its contents, unless it is there; return its name."""
        name = f"{kind}-{hashlib.sha256(data).hexdigest()[:_DIGITS]}.{suffix}"
        if name not in self._names:
            self._names.add(name)
            self.bytes += len(data)
            path = self.path / name
            with storage_errors(path):
                if not path.is_file() or path.read_bytes() != data:
                    unfinished = path.with_name(name + _PART)
                    unfinished.write_bytes(data)  # not flushed one by one: there can be thousands
                    unfinished.replace(path)
        return name

    def add_json(self, kind: str, value: object) -> str:
        """Write JSON in a gzip stream; return the name of the file."""
        return self.add(kind, _zipped(_json(value)))

    def add_shard(self, kind: str, header: object, *arrays: bytes) -> str:
        """Write a shard: the length of a header in 4 bytes, the header as JSON, and numbers; return its name."""
        text = _json(header)
        return self.add(kind, _zipped(len(text).to_bytes(4, "little") + text + b"".join(arrays)))

    def finish(self, script: bytes, manifest: dict[str, Any]) -> None:
        """Write the files with fixed names, and remove files that are no longer named."""
        with storage_errors(self.path):
            described = json.dumps(manifest, indent=1).encode() + b"\n"
            write_bytes_whole(self.path / SCRIPT, script)
            sync_folder(self.path)
            write_bytes_whole(self.path / MANIFEST, described)
            self.bytes += len(script) + len(described)
            for name in os.listdir(self.path):
                if name not in (MANIFEST, SCRIPT) and name not in self._names and _is_known(name):
                    (self.path / name).unlink()
            sync_folder(self.path)


def short_names(names: Sequence[str]) -> list[str]:
    """Return the hashes of the names of files of one kind."""
    return [name.partition("-")[2].partition(".")[0] for name in names]


def damaged_files(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return the files of a search that are missing, or whose contents do not have the hash in their names."""
    if not _holds_search(folder) or manifest.get("version") != VERSION:
        return [MANIFEST]
    first = [str(manifest.get(name)) for name in ("index", "analyzers", "worker")]
    damaged = [name for name in first if not _is_intact(folder / name)]
    if not (folder / SCRIPT).is_file():
        damaged.append(SCRIPT)
    if damaged:
        return damaged
    shard = gzip.decompress((folder / first[0]).read_bytes())
    index = json.loads(shard[4 : 4 + int.from_bytes(shard[:4], "little")])
    named = [f"terms-{each}.bin" for each in index["terms"]["files"]]
    named += [f"documents-{each}.bin" for each in index["groups"]]
    named += [each["file"] for each in index["filters"]]
    for part in index["parts"]:
        named += [f"words-{each}.bin" for each in part.get("words", {}).get("files", ())]
        named += [part["bias"]] if "bias" in part else []
    return [name for name in named if not _is_intact(folder / name)]


def _holds_search(folder: Path) -> bool:
    """Return whether ``search.json`` is that of a search; other programs write files of this name, too."""
    try:
        manifest = read_record(folder / MANIFEST)
    except OSError:
        return False
    return manifest is not None and manifest.get("format") == FORMAT_OF_SITE


def _is_known(name: str) -> bool:
    return name == SCRIPT or bool(_NAMED_BY_CONTENT.fullmatch(name.removesuffix(_PART)))


def _is_intact(path: Path) -> bool:
    """Return whether a file is there, and its contents have the hash in its name."""
    if not _NAMED_BY_CONTENT.fullmatch(path.name) or not path.is_file():
        return False
    return path.stem.partition("-")[2] == hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _zipped(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)
