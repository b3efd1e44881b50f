"""Writer of changes to a mixture: changes the indexes of its parts, and publishes all of them in one atomic step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from termwise._version import __version__
from termwise.engine.unrelated_queries import UnrelatedQueries
from termwise.errors import CorruptIndexError, IndexLockedError, MissingFileError
from termwise.index import Index, Manifest
from termwise.index.folder import writer_lock
from termwise.index.updater import IndexUpdater, Updater
from termwise.search.mixture import meaning_part
from termwise.search.mixture_folder import (
    MixtureManifest,
    finish_commit,
    of_mixture,
    part_index,
)
from termwise.storage.folder_path import FolderPath


class MixtureUpdater(Updater):
    """Changes all parts of a mixture together.

    Documents are added to each of `parts`, in the same order; the other methods change all of them. A commit writes the
    new files and manifests of the parts, replaces ``mixture.json``, and then renames the manifests; see
    `termwise.search.mixture_folder`.

    `open_part` opens the `IndexUpdater` of a part from its index, with ``in_mixture=True``. For the errors, see there;
    `CorruptIndexError` also if a part has changed since the mixture was built.
    """

    def __init__(self, path: Path, open_part: Callable[[Index], IndexUpdater], *, wait: float = 0.0) -> None:
        self._folder = FolderPath.of(path)
        MixtureManifest.read(
            path
        )  # raises the error of a folder that is no mixture before it gets a lock file
        with ExitStack() as resources:
            resources.enter_context(writer_lock(path, wait=wait))
            self._published = finish_commit(path)
            indexes = [part_index(path, part) for part in self._published.parts]
            try:
                self.parts = tuple(resources.enter_context(open_part(index)) for index in indexes)
            except (CorruptIndexError, MissingFileError) as error:
                raise of_mixture(error) from None
            self._resources = resources.pop_all()

    @property
    def index(self) -> Index:
        """The last published generation of the first part."""
        return self.parts[0].index

    def write(self) -> None:
        """Write the documents that were added to segments, which are not published yet."""
        for part in self.parts:
            part.write()

    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents; return how many there were. Unknown identifiers are ignored."""
        names = list(doc_ids)
        deleted, *_ = [part.delete(names) for part in self.parts]
        return deleted

    def discard(self) -> None:
        """Forget the changes since the last commit."""
        for part in self.parts:
            part.discard()

    def _publish_changes(self) -> None:
        self.write()
        self._publish()

    def _merge_segments(self, *, everything: bool) -> None:
        for _ in zip_longest(*(part.merges(everything=everything) for part in self.parts)):
            self._publish()

    def _unrelated(self, staged: Mapping[str, Manifest]) -> UnrelatedQueries | None:
        """Return the scores of unrelated queries in the next generation, measured again if they are outdated."""
        records, known = self._published.parts, self._published.unrelated
        retrieving = [
            (part.index, record.retrieves) for part, record in zip(self.parts, records, strict=True)
        ]
        place = meaning_part(retrieving)
        if place is None or records[place].folder not in staged:
            return known
        index = Index(self.parts[place].path, staged[records[place].folder])
        return (
            UnrelatedQueries.measure(index) if known is None or known.are_outdated(index.documents) else known
        )

    def _publish(self) -> None:
        """Publish the changes of all parts by replacing ``mixture.json``."""
        changed = [part for part in self.parts if part.changed]
        if not changed:
            return
        if finish_commit(self.path) != self._published:
            raise IndexLockedError(
                "the mixture was replaced since it was opened for writing",
                facts=[("mixture", self.path)],
                fixes=["open it again"],
            )
        following: MixtureManifest | None = None
        try:
            staged = {part.path.name: part.stage() for part in changed}
            records = [
                replace(record, sha256=staged[record.folder].sha256) if record.folder in staged else record
                for record in self._published.parts
            ]
            following = replace(
                self._published,
                parts=tuple(records),
                unrelated=self._unrelated(staged),
                written_by=f"termwise {__version__}",
            )
            following.write(self.path)
        finally:
            self._published = MixtureManifest.read(self.path)
            with ExitStack() as every:  # the other parts, too, if one fails
                for part in changed:
                    every.callback(part.publish if self._published == following else part.unstage)
