"""Writer of changes to an index: adds, replaces and deletes documents, and merges segments.

A change never modifies a file. Documents that are added become new segments, documents that are deleted are marked in a
new file beside their segment, and `IndexUpdater.commit` publishes all of it in one atomic step. Readers keep the
generation that they opened.

Segments are in the order in which documents were added, and only neighbours are merged, so that documents keep their
order: it decides between equal scores.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from termwise._version import __version__
from termwise.attributes import Schema
from termwise.attributes.schema import SchemaInference
from termwise.display.safe_text import short_digest
from termwise.errors import IndexLockedError, ParameterError, VocabularyMismatchError, WeightError
from termwise.index.attribute_spill import Spellings
from termwise.index.container import Container, ContainerWriter, IndexFile
from termwise.index.deletions import write_deletions
from termwise.index.document_spill import DocumentSpill, DocumentWriter, final_name
from termwise.index.folder import (
    FolderWriter,
    is_current,
    make_build_folder,
    publish_files,
    publish_staged,
    remove_files,
    remove_unused,
    stage_files,
    writer_lock,
)
from termwise.index.manifest import Manifest
from termwise.index.manifest_records import (
    MAX_DOCUMENTS,
    MAX_SHIFT,
    AddedTerms,
    IdfRecord,
    QuantiserRecord,
    SegmentRecord,
)
from termwise.index.quantiser import Quantiser, WeightRange
from termwise.index.reader import Index
from termwise.index.string_table import SECTIONS, PackedStrings, StringTable, write_strings
from termwise.index.terms import grown_vocabulary
from termwise.index.writer import DEFAULT_MEMORY
from termwise.progress import Progress, no_progress
from termwise.records import AttributeValue, Document
from termwise.storage.atomic_file import remove
from termwise.storage.model_folder import MIXTURE
from termwise.storage.safe_read import is_file
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

FACTOR = 4
"""Number of neighbouring segments of one size class that `IndexUpdater.commit` merges; size classes differ by it."""

UNORDERED = 4096
"""Largest number of documents of a segment that are not reordered, which would take longer than it saves."""

SPARSE = 0.5
"""Share of deleted documents from which `IndexUpdater.commit` rewrites a segment without them."""

BATCH = 4096
"""Documents that a merge reads at a time."""


WeighAgain: TypeAlias = Callable[[Index, Path, bool], bool]
"""Function that computes the weights of an index again, if they no longer fit its documents.

It writes an index of the same documents to the folder, and returns True; or it returns False. With True as the third
argument, it does so for any change since the weights were computed.
"""


class Updater(FolderWriter, ABC):
    """Base class of the writers of changes: to an index, and to all parts of a mixture.

    Attributes
    ----------
    merge_error : Exception or None
        Error of the merges after the last `commit`. Its changes are published, and the next commit merges again.
    """

    merge_error: Exception | None = None

    @property
    @abstractmethod
    def index(self) -> Index:
        """The last published generation; for a mixture, that of its first part."""

    @abstractmethod
    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents; return how many there were. Unknown identifiers are ignored."""

    @abstractmethod
    def write(self) -> None:
        """Write the documents that were added to segments, which are not published yet."""

    @abstractmethod
    def discard(self) -> None:
        """Forget the changes since the last commit."""

    def commit(self, *, merge: bool = True) -> Manifest:
        """Publish the changes in one atomic step that survives a crash; return the new manifest.

        Afterwards small neighbouring segments are merged, and segments of which most documents are deleted are
        rewritten, which is published by another step. If that fails, the changes are published all the same, and
        `merge_error` has the error. Without changes, nothing else is written.

        Parameters
        ----------
        merge : bool, optional
            Whether to merge; without it, the next commit merges.

        Raises
        ------
        WeightError
            If a document has no row, or a weight is too large for the scale of the index.
        StorageError
            If the folder cannot be written. The index is unchanged then.
        """
        self._publish_changes()
        if merge:
            self.merge_error = None
            try:
                self._merge_segments(everything=False)
            except Exception as error:
                self.merge_error = error
                self.discard()
        return self.index.manifest

    def merge(self) -> Manifest:
        """Publish the changes, and merge all segments into as few as the format permits; return the new manifest.

        Deleted documents are removed. For the errors, see `commit`; if the merge fails, the changes are published.
        """
        self._publish_changes()
        self._merge_segments(everything=True)
        self.merge_error = None
        return self.index.manifest

    @abstractmethod
    def _publish_changes(self) -> None:
        """Write and publish the changes, if there are any."""

    @abstractmethod
    def _merge_segments(self, *, everything: bool) -> None:
        """Merge segments, all of them or those that `commit` merges, and publish each step."""


@dataclass
class PendingSegment:
    """A segment of the next generation: its record, its identifiers, and the marks of its deleted documents.

    `changed` tells whether the record lacks some of the marks.
    """

    record: SegmentRecord
    ids: StringTable
    deleted: npt.NDArray[np.bool_]
    changed: bool = False


class IndexUpdater(DocumentWriter, Updater):
    """Changes an index: adds, replaces and deletes documents.

    Documents and rows are added as with `IndexWriter`. A document with the identifier of an earlier one replaces it,
    and comes last in the order of the documents. `commit` publishes all changes since the last one; if the ``with``
    block ends without it, they are lost.

    Parameters
    ----------
    index : str, Path or Index
        Folder of the index, or the open index.
    memory : int
        Working memory in bytes for sorting postings.
    threads : int
        Threads to use; the files do not depend on it.
    progress : callable
        Called with stage, done, total.
    idf : IdfRecord, optional
        Inverse document frequency in the stored weights, which searches adapt to the current documents from the first
        commit on.
    weigh_again : WeighAgain, optional
        Computes the weights again when segments are merged, so that they have the statistics of the current documents.
    in_mixture : bool
        Whether the index is a part of a mixture, whose writer calls `stage` and `publish` in place of `commit`.
    wait : float
        Seconds to wait for another writer.

    Attributes
    ----------
    folder : Path
        Folder of temporary files, inside `path`.
    terms : int
        Number of terms, with those added since the last commit.
    vocabulary : str
        Identity of the vocabulary with these terms; rows are over this vocabulary.

    Raises
    ------
    MissingFileError, NotAnIndexError, NewerFormatError, CorruptIndexError
        See `Index.open`.
    IndexLockedError
        If another process writes the index, or has replaced it in the meantime.
    StorageError
        If the folder cannot be written.
    ParameterError
        If the index is a part of a mixture, and `in_mixture` is False.

    Examples
    --------
    >>> import tempfile
    >>> from termwise.index.writer import IndexWriter
    >>> from termwise.text.vocabulary import Vocabulary
    >>> words = Vocabulary(["merge", "sort"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with IndexWriter(folder) as writer:
    ...         writer.add(["a", "b"], TermWeights([0, 1, 3], [1, 0, 1], [2.0, 1.0, 0.5], words.id))
    ...         _ = writer.commit(words, encoder={})
    ...     with IndexUpdater(folder) as updater:
    ...         updater.add(["c"], TermWeights([0, 1], [0], [1.5], words.id))
    ...         deleted = updater.delete(["a"])
    ...         _ = updater.commit()
    ...     index = Index.open(folder)
    ...     index.doc_ids(np.arange(len(index)))
    ['b', 'c']
    """

    def __init__(
        self,
        index: str | Path | Index,
        *,
        memory: int = DEFAULT_MEMORY,
        threads: int = 1,
        progress: Progress = no_progress,
        idf: IdfRecord | None = None,
        weigh_again: WeighAgain | None = None,
        in_mixture: bool = False,
        wait: float = 0.0,
    ) -> None:
        # Before the lock, so that a folder that is no index does not get a lock file.
        opened = index if isinstance(index, Index) else Index.open(index)
        super().__init__(opened.path, memory=memory, threads=threads, progress=progress)
        self._idf = idf
        self._weigh_again = weigh_again
        self._built: Path | None = None
        if not in_mixture:
            refuse_part_of_mixture(self.path)
        with ExitStack() as resources:
            resources.enter_context(writer_lock(self.path, wait=wait))
            self._index = opened.newest()
            before, now = opened.manifest.encoder, self.index.manifest.encoder
            if before != (now if weigh_again is None else now.with_statistics(before.statistics)):
                raise IndexLockedError(
                    "the index was replaced while this writer waited",
                    facts=[("index", self.path)],
                    fixes=["open it again"],
                )
            self.folder = make_build_folder(self.path)
            resources.callback(shutil.rmtree, self.folder, ignore_errors=True)
            resources.callback(self._drop_spill)
            self._resources = resources.pop_all()
        self._spill: DocumentSpill | None = None
        self._added_terms: tuple[AddedTerms, ...] = ()
        self._staged: tuple[Manifest, list[Path]] | None = None
        self._begin()

    @property
    def index(self) -> Index:
        """The last published generation."""
        return self._index

    @property
    def documents(self) -> int:
        """Number of documents added since the last commit."""
        return self._added + (0 if self._spill is None else len(self._spill))

    @property
    def changed(self) -> bool:
        """Whether there are changes since the last commit."""
        records = tuple(part.record for part in self._parts)
        return (
            bool(self.documents)
            or self._built is not None
            or self._schema != self.index.manifest.schema
            or any(part.changed for part in self._parts)
            or records != self.index.manifest.segments
        )

    @property
    def schema(self) -> Schema:
        """Types of all attributes, including those added since the last commit."""
        return self._inference.schema()

    def check_attributes(self, documents: Iterable[Document]) -> None:
        """Check the attributes of documents that will be added next, and infer the types of new ones.

        Raises
        ------
        DataError, MalformedRecordError
            If a value has another type than the attribute; nothing is changed then.
        ParameterError
            If the index would have too many attributes.
        """
        checked = self._inference.copy()
        for document in documents:
            if document.attributes:
                checked.add(document.attributes, record=repr(document.doc_id))
        self._inference.take(checked)

    def add_attributes(self, schema: Schema) -> None:
        """Add attributes that no document has yet to the schema; those of the index stay.

        Raises
        ------
        ParameterError
            If the index has an attribute with another type, or would have too many.
        """
        self._check_open()
        self._write_pending()
        for name, kind in schema.items():
            if self.schema.get(name, kind) != kind:
                raise ParameterError(
                    "the index has an attribute of this name with another type",
                    facts=[("attribute", name), ("type", self.schema[name]), ("given", kind)],
                )
        self._inference = SchemaInference({**self._schema, **schema})
        self._schema |= schema

    def add_documents(
        self,
        doc_ids: Sequence[str],
        texts: Sequence[str] | None = None,
        attributes: Sequence[Mapping[str, AttributeValue]] | None = None,
    ) -> None:
        """Add documents: identifiers, texts if the index stores them, and attributes.

        Documents that were added before need their rows first. Earlier documents with these identifiers are replaced.
        Attributes that the index lacks are added to its schema, with inferred types; earlier documents do not have
        them. For the errors, see `DocumentWriter.add_documents`.
        """
        super().add_documents(doc_ids, texts, attributes)
        self._pending.update(doc_ids)

    def _spill_for(self, doc_ids: Sequence[str]) -> DocumentSpill:
        if not self._pending.isdisjoint(doc_ids):
            self._write_pending()  # so that the earlier documents can be marked as deleted
        if self._spill is None:
            self._spill = self._new_spill(self._inference)
        return self._spill

    def add_weights(self, rows: TermWeights, counts: npt.NDArray[np.integer] | None = None) -> None:
        """Add the rows of the next documents, and their counts if the index keeps counts.

        See `DocumentWriter.add_weights` for the errors.
        """
        if rows.vocabulary != self.vocabulary:
            raise VocabularyMismatchError(
                "rows and index have different vocabularies",
                facts=[
                    ("index", f"{self.path}  {short_digest(self.vocabulary)}"),
                    ("rows", short_digest(rows.vocabulary)),
                ],
            )
        super().add_weights(rows, counts if self.index.keeps_counts else None)

    def add_vectors(self, vectors: DocumentVectors) -> None:
        """Add the vectors of the next documents; see `DocumentWriter.add_vectors` for the errors."""
        record = self.index.manifest.vectors
        if record is None or record.dimensions != vectors.dimensions:
            raise WeightError(
                "the vectors do not fit the index",
                facts=[
                    ("index", "no vectors" if record is None else f"{record.dimensions} dimensions"),
                    ("given", f"{vectors.dimensions} dimensions"),
                ],
            )
        super().add_vectors(vectors)

    def add_terms(self, tokens: Sequence[str], floors: npt.NDArray[np.float64] | None = None) -> None:
        """Add distinct tokens that the vocabulary lacks; the first one has the number `terms`.

        `floors` has the contribution of each term where it is absent, per unit of query weight, shape (len(tokens),); 0
        by default.
        """
        self._check_open()
        if self._spill is not None and self._spill.rows.rows:
            self._write_pending()  # the number of the background term changes
        if not tokens:
            return
        encoded = [token.encode("utf-8", "surrogatepass") for token in tokens]
        parts = [np.zeros(len(tokens)) if floors is None else floors]
        records = list(self._added_terms)
        # Few files: each is at least twice as long as the next.
        while records and records[-1].terms < 2 * len(encoded):
            record = records.pop()
            container = self._container(record.file, "added")
            table = StringTable(container, "terms", record.terms)
            earlier = [table.get(number) for number in range(record.terms)]
            encoded = [token.encode("utf-8", "surrogatepass") for token in earlier] + encoded
            parts.insert(0, container.array("added.floors", "<f8", record.terms))
        path = self.folder / "added"
        with ContainerWriter(path, "added", SECTIONS + 1) as writer:
            write_strings(writer, "terms", encoded)
            writer.write("added.floors", "<f8", parts)
            file = final_name(path, writer.finish())
        self._added_terms = (*records, AddedTerms(len(encoded), file))
        self.terms += len(tokens)
        built = self.index.manifest.built_vocabulary or self.index.manifest.vocabulary
        self.vocabulary = grown_vocabulary(built, self._added_terms)

    def delete(self, doc_ids: Iterable[str]) -> int:
        """Delete documents; return how many there were. Unknown identifiers are ignored."""
        self._check_open()
        names = list(doc_ids)
        if not self._pending.isdisjoint(names):
            self._write_pending()
        return self._mark(names)

    def discard(self) -> None:
        """Forget the changes since the last commit."""
        if not self._closed:
            self._drop_spill()
            self._remove_segments()
            self._begin()

    def write(self) -> None:
        """Write the documents that were added to segments, which are not published yet."""
        self._check_open()
        self._write_pending()

    def preview(self) -> Index:
        """Return the index with the changes since the last commit. Its files are lost with the changes."""
        self.write()
        if not self.changed:
            return self.index
        return Index(self.path, self._next_manifest(), unpublished=self.folder, earlier=self.index)

    def _publish_changes(self) -> None:
        self.write()
        if self.changed:
            self._publish()

    def _merge_segments(self, *, everything: bool) -> None:
        for _ in self.merges(everything=everything):
            self._publish()

    def merges(self, *, everything: bool) -> Iterator[None]:
        """Merge neighbouring segments, one range in each step; publish each step before the next one.

        With `everything`, all segments are merged, as `merge` does; otherwise those that `commit` merges. If the
        weights are computed again, this is the only step.
        """
        built = self.folder / "weighed"
        if self._weigh_again is not None and self._weigh_again(self.index, built, everything):
            self.replace_by(built)
            if self._next_manifest() != replace(self.index.manifest, generation=self._next_generation):
                yield
            else:
                self.discard()
            return
        for first, last in self._runs() if everything else self._crowded():
            self._merge(first, last)
            yield

    def replace_by(self, built: Path) -> None:
        """Let the next commit publish another index of the documents of this one, without other changes.

        `built` is the folder of that index, inside `folder`.
        """
        self._built = built

    def stage(self) -> Manifest:
        """Write the changes of a part of a mixture into its folder, and return the manifest that `publish` publishes.

        Readers see no difference. `unstage` removes the files.
        """
        manifest = self._next_manifest()
        self._staged = manifest, stage_files(self.path, self._built or self.folder, manifest)
        return manifest

    def unstage(self) -> None:
        """Remove the files of `stage`, if there are any."""
        if self._staged is not None:
            remove_files(self._staged[1])
            self._staged = None

    def publish(self) -> None:
        """Publish what `stage` has written, and remove files without a use."""
        assert self._staged is not None, "a call of `stage` comes first"
        manifest, _ = self._staged
        self._staged = None
        try:
            publish_staged(self.path)
            remove_unused(self.path, manifest)
        finally:
            self._restart(manifest)

    def _begin(self) -> None:
        """Start from the published generation."""
        index = self._index
        self.terms = index.manifest.terms
        self.vocabulary = index.manifest.vocabulary
        self._added_terms = index.manifest.added_terms
        self._schema = dict(index.manifest.schema)
        self._inference = SchemaInference(self._schema)
        self._quantiser = index.manifest.quantiser
        self._parts = [
            PendingSegment(
                record,
                index.store.identifiers[number],
                np.zeros(record.documents, dtype=np.bool_) if live is None else live.deleted.copy(),
            )
            for number, (record, live) in enumerate(
                zip(index.manifest.segments, (segment.live for segment in index.segments), strict=True)
            )
        ]
        self._spellings: Spellings | None = None
        self._pending: set[str] = set()
        self._added = 0
        self._built = None
        if self._idf is not None and "documents" in index.manifest.encoder.statistics:
            self._idf = replace(self._idf, documents=index.manifest.encoder.statistics["documents"])

    def _mark(self, doc_ids: Sequence[str]) -> int:
        """Mark documents of written segments as deleted; return their number."""
        marked = 0
        packed = PackedStrings(doc_ids)
        for part in self._parts:
            rows = np.unique(part.ids.find_packed(packed))
            rows = rows[rows >= 0]
            rows = rows[~part.deleted[rows]]
            if len(rows):
                part.deleted[rows] = True
                part.changed = True
                marked += len(rows)
        return marked

    def _new_spill(self, schema: Schema | SchemaInference) -> DocumentSpill:
        if self._spellings is None:
            self._spellings = {}
            for segment in reversed(self.index.segments):  # the first one counts
                for name, known in (
                    {} if segment.attributes is None else segment.attributes.spellings()
                ).items():
                    self._spellings.setdefault(name, {}).update(known)
        return DocumentSpill(
            self.folder, store_text=self.index.stores_text, schema=schema, spellings=self._spellings
        )

    def _drop_spill(self) -> None:
        if self._spill is not None:
            self._spill.close()
        self._spill = None
        self._pending = set()

    def _write_pending(self) -> None:
        """Write the added documents to segments that are not published yet."""
        if self._spill is None:
            return
        count, doc_ids = len(self._spill), list(self._pending)
        try:
            records, errors = self._segments_of(self._spill) if count else ([], None)
            schema: dict[str, str] = dict(self._spill.schema)
        finally:
            self._drop_spill()
        if errors is not None:
            added = sum(record.postings for record in records)
            self._quantiser = _combined(self._quantiser, self.index.manifest.postings, errors, added)
        self._schema |= schema
        self._inference = SchemaInference(self._schema)
        self._mark(doc_ids)
        self._parts += [self._opened(record) for record in records]
        self._added += count

    def _segments_of(self, spill: DocumentSpill) -> tuple[list[SegmentRecord], QuantiserRecord]:
        """Write the segments of a spill in units of the index; return also the errors of their quantisation."""
        manifest = self.index.manifest
        spill.check_complete(self.vocabulary)
        if (spill.vectors is None) != (manifest.vectors is None):
            raise WeightError("every document of an index with vectors needs its vectors")
        background = self.terms if manifest.background else None
        weights = spill.weight_range(self.terms, background)
        quantiser, shift = None, 0
        if manifest.quantiser.kind == "uint8":
            quantiser, shift = self._scaled(weights)
        reorder = len(spill) > UNORDERED
        records = self._write_segments(
            spill, self.terms, background, quantiser, reorder=reorder, own_terms=True
        )
        errors = QuantiserRecord("float32", largest=weights.largest, dropped=weights.dropped)
        if quantiser is not None:
            errors = quantiser.record()
        return [replace(record, shift=shift) for record in records], errors

    def _scaled(self, weights: WeightRange) -> tuple[Quantiser, int]:
        """Return a quantiser whose unit is the smallest multiple of the scale that fits all weights, and its shift.

        The scale of an index without a posting, whose documents are empty, is chosen for the weights.
        """
        if not any(part.record.postings for part in self._parts):
            first = Quantiser(weights)
            self._quantiser = replace(self._quantiser, scale=first.scale, bias_bits=first.bias_bits)
        record = self._quantiser
        for shift in range(MAX_SHIFT + 1):
            quantiser = Quantiser.with_scale(record.scale * 2**shift, record.bias_bits, weights)
            if quantiser.fits:
                return quantiser, shift
        if self._weigh_again is not None:  # which finds a scale for all weights
            return quantiser, MAX_SHIFT
        raise WeightError(
            "a weight is too large for the scale of the index",
            facts=[
                ("index", self.path),
                ("weight", max(weights.largest, weights.largest_bias)),
                ("largest weight before", record.largest),
            ],
            fixes=["build the index again with these documents"],
        )

    def _opened(self, record: SegmentRecord) -> PendingSegment:
        """Return a segment that is in the folder of this change."""
        container = self._container(record.ids, "ids")
        table = StringTable(container, "ids", record.documents)
        return PendingSegment(record, table, np.zeros(record.documents, dtype=np.bool_))

    def _container(self, file: IndexFile, kind: str) -> Container:
        """Open a file of this change, or of the published generation."""
        staged = self.folder / file.name
        return Container(staged if staged.exists() else self.path / file.name, kind, file.length)

    def _next_manifest(self) -> Manifest:
        """Return the manifest of the next generation, which has the changes since the last commit."""
        if self._built is not None:
            return replace(Manifest.read(self._built), generation=self._next_generation)
        kept = [part for part in self._parts if not part.deleted.all()]
        segments = [self._marked(part) for part in kept or self._parts[-1:]]  # an index has at least one
        current = self.index.manifest
        built = current.built_vocabulary or current.vocabulary
        return replace(
            current,
            terms=self.terms,
            vocabulary=self.vocabulary,
            added_terms=self._added_terms,
            built_vocabulary=built if self._added_terms else "",
            idf=current.idf or self._idf,
            schema=self._schema,
            documents=sum(record.live for record in segments),
            postings=sum(record.postings for record in segments),
            segments=tuple(segments),
            quantiser=self._quantiser,
            generation=self._next_generation,
            written_by=f"termwise {__version__}",
        )

    @property
    def _next_generation(self) -> int:
        return self.index.manifest.generation + 1

    def _publish(self) -> None:
        """Publish the parts as the next generation, and start from it."""
        manifest = self._next_manifest()
        try:
            publish_files(self.path, self._built or self.folder, manifest)
        finally:
            self._restart(manifest if is_current(self.path, manifest) else self.index.manifest)

    def _restart(self, manifest: Manifest) -> None:
        """Start from a published generation. If it cannot be opened, the writer is closed."""
        self._remove_segments()
        try:
            if manifest != self.index.manifest:
                self._index = Index(self.path, manifest, earlier=self.index)
        except BaseException:
            self.close()
            raise
        self._begin()

    def _remove_segments(self) -> None:
        """Remove the files of segments that are not published."""
        with suppress(OSError):
            for file in self.folder.iterdir():
                remove(file)

    def _marked(self, part: PendingSegment) -> SegmentRecord:
        """Return the record of a segment with the marks of its deleted documents."""
        if not part.changed:
            return part.record
        path = self.folder / "deletions"
        file = final_name(path, write_deletions(path, part.deleted))
        return replace(part.record, deletions=int(part.deleted.sum()), deleted=file)

    def _runs(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of neighbouring segments for a merge of all, last range first."""
        records = [part.record for part in self._parts]
        runs, first, documents = [], 0, 0
        for number, record in enumerate(records):
            if number > first and documents + record.live > MAX_DOCUMENTS:
                runs.append((first, number))
                first, documents = number, 0
            documents += record.live
        runs.append((first, len(records)))
        for first, last in reversed(runs):
            if last - first > 1 or 0 < records[first].deletions < records[first].documents:
                yield first, last

    def _crowded(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of neighbouring segments to merge after a commit, until there is none."""
        while True:
            records = [part.record for part in self._parts]
            classes = [_size_class(record.live) for record in records]
            found = next(
                (
                    (number, number + 1)
                    for number, record in enumerate(records)
                    if SPARSE * record.documents < record.deletions < record.documents
                ),
                None,
            )
            for size in sorted(set(classes)) if found is None else ():
                first = len(classes)  # the smallest segments are the last ones
                while first and classes[first - 1] <= size:
                    first -= 1
                if classes[first:].count(size) >= FACTOR:
                    found = first, len(classes)
                    break
            if found is None:
                return
            yield found

    def _merge(self, first: int, last: int) -> None:
        """Replace neighbouring segments by one without deleted documents."""
        index = self.index
        begin = index.segments.firsts[first] if first < len(index.segments) else len(index)
        end = index.segments.firsts[last] if last < len(index.segments) else len(index)
        with closing(self._new_spill(Schema(self._schema))) as spill:
            for start in range(begin, end, BATCH):
                ordinals = np.arange(start, min(start + BATCH, end))
                texts = [text or "" for text in index.store.texts(ordinals)] if index.stores_text else None
                attributes = index.attributes(ordinals) if self._schema else None
                spill.add_documents(index.store.ids(ordinals), texts, attributes)
                rows, counts = index.weights(ordinals), None
                if index.keeps_counts:
                    counts = np.zeros(rows.nnz, dtype=np.int64)
                    counts[rows.terms < index.manifest.terms] = index.counts(ordinals).weights
                spill.add_weights(rows, counts)
                if index.manifest.vectors is not None:
                    spill.add_vectors(index.document_vectors(ordinals))
                self.progress("merge", int(ordinals[-1]) + 1 - begin, end - begin)
            records, errors = self._segments_of(spill)
        if (
            len({segment.shift for segment in index.segments[first:last]}) > 1
        ):  # finer impacts were rounded again
            largest = self._quantiser.max_error + errors.max_error
            self._quantiser = replace(self._quantiser, max_error=largest)
        self._parts[first:last] = [self._opened(record) for record in records]


def refuse_part_of_mixture(path: Path) -> None:
    """Raise `ParameterError` for the index of a part: the other parts would then have other documents or weights."""
    if is_file(path.parent / MIXTURE):
        raise ParameterError(
            "this index is a part of a mixture, which holds the same documents in each part",
            facts=[("index", path), ("mixture", path.parent)],
            fixes=[f"change the mixture as a whole: name the folder {path.parent}"],
        )


def _size_class(documents: int) -> int:
    """Return the number of times that a number of documents can be divided by `FACTOR`."""
    size = 0
    while documents >= FACTOR:
        documents //= FACTOR
        size += 1
    return size


def _combined(
    before: QuantiserRecord, postings: int, added: QuantiserRecord, added_postings: int
) -> QuantiserRecord:
    """Return the errors of an index after some postings were added."""
    total = postings + added_postings
    mean = (before.mean_error * postings + added.mean_error * added_postings) / total if total else 0.0
    return replace(
        before,
        largest=max(before.largest, added.largest),
        max_error=max(before.max_error, added.max_error),
        mean_error=mean,
        bias_error=max(before.bias_error, added.bias_error),
        raised=before.raised + added.raised,
        dropped=before.dropped + added.dropped,
    )
