"""Open files of an index, each mapped into memory once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from mmap import mmap
from pathlib import Path

from termwise.errors import UnknownIdError
from termwise.index.container import Container, IndexFile, corrupt, map_file
from termwise.index.manifest import Manifest

CHECKED = 8 << 20
"""Bytes of an index whose checksums are compared when it is opened; `verify` compares all."""


class OpenFiles:
    """Files of a generation of an index.

    `unpublished` is the folder of the files of a change that is not published yet. The files of `earlier`, those of
    another generation, are shared.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        *,
        unpublished: Path | None = None,
        earlier: OpenFiles | None = None,
    ) -> None:
        self._folders = (folder,) if unpublished is None else (unpublished, folder)
        self._attached = manifest.attachments
        files = set(manifest.files())
        opened = {} if earlier is None else earlier._containers
        self._containers: dict[IndexFile, Container] = {
            file: container for file, container in opened.items() if file in files
        }
        mapped = {} if earlier is None else earlier._attachments
        self._attachments: dict[IndexFile, mmap | bytes] = {
            file: mapped[file] if file in mapped else map_file(folder / file.name, file.length)
            for file in manifest.attachments.values()
        }

    def container(self, file: IndexFile, kind: str) -> Container:
        """Return an open file; the first call opens it, and later calls return the same object."""
        if file not in self._containers:
            folder = next((each for each in self._folders if (each / file.name).exists()), self._folders[-1])
            self._containers[file] = Container(folder / file.name, kind, file.length)
        return self._containers[file]

    def attachment(self, name: str) -> bytes:
        """Return an attached file; see `Index.attachment`."""
        file, folder = self._attached.get(name), self._folders[-1]
        if file is None:
            raise UnknownIdError(
                "the index has no such attachment", facts=[("name", name), ("index", folder)]
            )
        data = bytes(self._attachments[file])
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise corrupt(folder / file.name, None, "a file that matches its SHA-256", "one that does not")
        return data

    def check_shortest(self, known: Iterable[IndexFile] = ()) -> None:
        """Compare the checksums of the shortest sections, `CHECKED` bytes together, without those of known files.

        The short sections hold what the long ones are found by, so a damage there changes many results. It raises
        `CorruptIndexError`.
        """
        left_out = set(known)
        sections = [
            (length, number, name, container)
            for number, (file, container) in enumerate(self._containers.items())
            if file not in left_out
            for name, length in container.section_bytes().items()
        ]
        left = CHECKED
        for length, _, name, container in sorted(sections, key=lambda section: section[:3]):
            left -= length
            if left < 0:
                break
            container.check_section(name)
