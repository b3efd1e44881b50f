"""`open_writer`: add, replace and delete documents of an index or a mixture, and merge its segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from termwise.attributes import Schema
from termwise.encode import DocumentEncoder
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.engine.allowed_documents import FilterLike, allowed_documents
from termwise.fast_dataclass import dataclass
from termwise.index import Index, Manifest
from termwise.index.document_store import chunk_id
from termwise.index.folder import FolderWriter
from termwise.index.updater import IndexUpdater, Updater
from termwise.index.writer import DEFAULT_MEMORY
from termwise.indexing.added_rows import LoadedNetworks, check_options_of_parts, open_rows
from termwise.indexing.chunks import chunks_of
from termwise.indexing.context import RowSource, open_documents, source_of
from termwise.indexing.count_rows import document_batches
from termwise.indexing.html_texts import plain_document
from termwise.indexing.mixture_updater import MixtureUpdater
from termwise.indexing.options import BuildOptions
from termwise.indexing.published_documents import PublishedDocuments
from termwise.progress import Progress, no_progress
from termwise.records import NO_ATTRIBUTES, Document
from termwise.search.mixture import Mixture
from termwise.search.mixture_folder import is_mixture
from termwise.storage.folder_path import FolderPath
from termwise.validation import check, check_flag, check_names, check_path, is_finite_number

BLOCK = 256
"""Documents that are analysed or encoded at a time."""


@dataclass(frozen=True)
class Added:
    """Number of documents that an index got.

    Attributes
    ----------
    new, replaced, unchanged : int
        Documents with a new identifier; with the identifier of an earlier document; and with identifier and text of an
        earlier one, which stays in its place. Unchanged documents are noticed only if the index stores texts.
    """

    new: int
    replaced: int
    unchanged: int


class LiveWriter(FolderWriter):
    """Writer that adds, replaces and deletes documents of an index or a mixture; `open_writer` opens it.

    Changes become visible by `commit`, in one atomic step that survives a crash. The end of the ``with`` block commits;
    an error in the block discards the changes since the last commit. If merges run in the background, the next change
    waits for them.

    Attributes
    ----------
    path : Path
        Folder of the index or mixture.
    """

    def __init__(
        self,
        updater: Updater,
        rows: Sequence[RowSource],
        *,
        background_merges: bool,
        progress: Progress,
    ) -> None:
        self._folder = FolderPath.of(updater.path)
        self._updater = updater
        self._rows = rows
        """Rows of each part of a mixture, or of the one index."""
        self._published = PublishedDocuments(self.path, [each.updater for each in rows])
        self._progress = progress
        self._merger = ThreadPoolExecutor(1, "termwise-merge") if background_merges else None
        self._merging: Future[Manifest] | None = None
        self._touched: dict[str, bool] = {}
        """Identifiers that were added (True) or deleted (False) since the last commit."""
        self._chunk = updater.index.manifest.chunk
        self._chunks: dict[str, int] = {}
        """Number of chunks of the documents that were added since."""
        with ExitStack() as resources:
            resources.enter_context(closing(updater))
            for each in rows:
                resources.enter_context(closing(each))
            if self._merger is not None:
                resources.callback(self._merger.shutdown)
            resources.callback(self._wait)
            self._resources = resources.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.commit()
        finally:
            self.close()

    @property
    def index(self) -> Index:
        """Last published generation; for a mixture, that of its first part."""
        return self._updater.index

    @property
    def merge_error(self) -> Exception | None:
        """Error of the merges after the last commit, None without one.

        The changes are published all the same, and the next commit merges again.
        """
        self._wait()
        return self._updater.merge_error

    @property
    def _with_attributes(self) -> IndexUpdater:
        """The part that keeps the attributes."""
        return self._published.with_attributes[0]

    @property
    def schema(self) -> Schema:
        """Types of all attributes, including those added since the last commit; empty without attributes."""
        return self._with_attributes.schema

    @property
    def field_weights(self) -> Mapping[str, int]:
        """Weights of the fields of documents; empty if no part has any."""
        return self._published.field_weights

    @property
    def fields(self) -> tuple[str, ...] | Mapping[str, int] | None:
        """Fields of the texts that the build chose, with their weights if they have any, for `open_collection`.

        None for the default fields, and for indexes that were written before fields were kept.
        """
        return self._published.fields

    def add(self, documents: Iterable[Document] | Iterable[Mapping[str, Any]] | Any) -> Added:
        """Add documents. One with the identifier of an earlier document replaces it, and comes last in the index.

        Attributes that the index lacks are added to its schema, with inferred types; earlier documents do not have
        them.

        Parameters
        ----------
        documents : iterable of Document or of mapping, or data frame
            Of one identifier, the last document counts. Records and data frames are read as by `build_index`, with the
            fields of the texts of the index; new attributes join it.

        Returns
        -------
        Added

        Raises
        ------
        ParameterError
            If a document is not a `Document`, has no string as identifier or text, or lacks the fields of an index
            whose fields have weights, see `Document.of_fields`; or if the writer is closed.
        DataError, MalformedRecordError
            If an attribute has a value of another type than that of the index, or of documents before it. The documents
            before the block of 256 with this value are added.
        """
        documents, _ = open_documents(source_of(documents, self.fields, "inferred"), None)
        self._check_open()
        self._wait()
        new = replaced = unchanged = 0
        for block in document_batches(documents, BLOCK):
            if self.index.manifest.html:
                block = list(map(plain_document, block))
            for rows in self._rows:
                block = list(map(rows.with_language, block))
            distinct = {document.doc_id: document for document in block}
            self._with_attributes.check_attributes(block)  # before a part has one of them
            present, same, known = self._published.compare(
                list(distinct.values()), self._touched, self.schema
            )
            kept = [document for document in distinct.values() if document.doc_id not in same]
            unchanged += len(same)
            replaced += len(present) - len(same)
            new += len(distinct) - len(present)
            if any(self._touched.get(document.doc_id) for document in kept):
                self._flush()  # so that the earlier document can be replaced
            cut = self._cut(kept) if self._chunk else kept
            for rows in self._rows:
                kept_by = cut
                if rows.updater not in self._published.with_attributes:
                    kept_by = [document._replace(attributes=NO_ATTRIBUTES) for document in cut]
                rows.add(kept_by, known)
            self._touched.update(dict.fromkeys((document.doc_id for document in kept), True))
            self._progress("add documents", new + replaced + unchanged, None)
        return Added(new, replaced, unchanged)

    def add_attributes(self, schema: Mapping[str, str]) -> None:
        """Add attributes that no document has yet; those that the index has stay.

        Parameters
        ----------
        schema : mapping of str to str
            Types of the attributes by name, such as ``{"price": "float"}``; see `Schema`.

        Raises
        ------
        ParameterError
            If a type is unknown, if the index has an attribute with another type, or would have too many.
        """
        self._check_open()
        self._wait()
        self._flush()
        for part in self._published.with_attributes:
            part.add_attributes(Schema(schema))

    def delete(self, doc_ids: Iterable[str] = (), *, filter: FilterLike | None = None) -> int:
        """Delete documents; return how many there were.

        Parameters
        ----------
        doc_ids : iterable of str, optional
            Identifiers; unknown ones are ignored.
        filter : str, mapping or Filter, optional
            Also delete the documents that a filter matches, among them those that were added since the last commit.

        Raises
        ------
        ParameterError
            If `doc_ids` are not strings.
        """
        check("doc_ids", doc_ids, isinstance(doc_ids, Iterable), "identifiers of documents")
        names = list(dict.fromkeys([doc_ids] if isinstance(doc_ids, str) else doc_ids))
        check_names("doc_ids", names)
        self._check_open()
        self._wait()
        if filter is not None:
            self._flush()
            self._updater.write()
            index = self._with_attributes.preview()
            found = index.chunks.documents_of(np.flatnonzero(allowed_documents(index, filter).mask))
            names = list(dict.fromkeys([*names, *index.doc_ids(np.unique(found))]))
        if any(self._touched.get(name) for name in names):
            self._flush()
        if self._chunk:
            deleted = sum(map(self.has, names))
            self._updater.delete(self._chunk_ids(names))
        else:
            deleted = self._updater.delete(names)
        self._touched.update(dict.fromkeys(names, False))
        return deleted

    def has(self, doc_id: str) -> bool:
        """Return whether there is a document with this identifier, with the changes that are not committed yet."""
        check("doc_id", doc_id, isinstance(doc_id, str), "an identifier")
        return self._touched.get(doc_id, self.index.find(doc_id) is not None)

    def document(self, doc_id: str) -> Document | None:
        """Return a document of the last published generation, with the text of each field if fields have weights.

        Raises
        ------
        ParameterError
            If the index stores no texts.
        """
        return self._published.document(doc_id)

    def commit(self) -> Manifest:
        """Publish the changes, and merge small segments; return the manifest of the new generation.

        The changes are on the disk when this returns, also if the merges fail, see `merge_error`. Without changes,
        nothing is written. For a mixture, the manifest is that of the first part.
        """
        if self._merger is None:
            return self._finish(self._updater.commit)
        manifest = self._finish(partial(self._updater.commit, merge=False))
        self._merging = self._merger.submit(self._updater.commit)
        return manifest

    def merge(self) -> Manifest:
        """Commit the changes, then merge all segments into one and remove deleted documents.

        No text is analysed again, and no network runs. If the merge fails, the changes are published.
        """
        return self._finish(self._updater.merge)

    def _finish(self, publish: Callable[[], Manifest]) -> Manifest:
        """Publish the changes; discard them if that fails."""
        self._check_open()
        self._wait()
        try:
            self._flush()
            return publish()
        except BaseException:
            self._updater.discard()
            raise
        finally:
            self._reset()

    def _reset(self) -> None:
        for rows in self._rows:
            rows.reset()
        self._touched.clear()
        self._chunks.clear()

    def _wait(self) -> None:
        """Wait for the merges in the background."""
        if self._merging is None:
            return
        merging, self._merging = self._merging, None
        try:
            merging.result()
        finally:
            self._reset()

    def _flush(self) -> None:
        for rows in self._rows:
            rows.flush()

    def _cut(self, documents: Sequence[Document]) -> list[Document]:
        """Return the chunks of documents, and delete those of earlier documents with their identifiers."""
        weights = self.field_weights
        cut = [chunks_of(document, self._chunk, weights) for document in documents]
        self._updater.delete(self._chunk_ids([document.doc_id for document in documents]))
        self._chunks |= {
            document.doc_id: len(chunks) for document, chunks in zip(documents, cut, strict=True)
        }
        return [chunk for chunks in cut for chunk in chunks]

    def _chunk_ids(self, doc_ids: Sequence[str]) -> list[str]:
        """Return the identifiers of the chunks of documents, with the changes that are not committed yet."""
        ordinals = self.index.find_many(doc_ids)
        published = np.zeros(len(ordinals), dtype=np.int64)
        published[ordinals >= 0] = self.index.chunks.counts(ordinals[ordinals >= 0])
        return [
            chunk_id(doc_id, number)
            for doc_id, count in zip(doc_ids, published.tolist(), strict=True)
            for number in range(1, self._chunks.get(doc_id, count) + 1)
        ]


def open_writer(
    path: str | Path,
    *,
    threads: int = 1,
    memory: int = DEFAULT_MEMORY,
    encoder: DocumentEncoder | None = None,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
    background_merges: bool = False,
    wait: float = 0.0,
    networks: LoadedNetworks | None = None,
    progress: Progress = no_progress,
) -> LiveWriter:
    """Open an index or a mixture for adding, replacing and deleting documents.

    Parameters
    ----------
    path : str or Path
        Folder of the index or mixture. The parts of a mixture change together, in one atomic step.
    threads : int, optional
        Threads to use. With more than one, the same number of processes analyses many documents; a script then needs
        ``if __name__ == "__main__":``.
    memory : int, optional
        Working memory in bytes for sorting postings.
    encoder : DocumentEncoder, optional
        Runs the network of the model; by default opened as the index describes it. In a mixture, `encoder`, `precision`
        and `providers` apply to the parts with a network.
    precision : {"float32", "int8"}, optional
        Precision of the network; by default that of the build.
    providers : sequence of str, optional
        See `BuildOptions`.
    background_merges : bool, optional
        Merge small segments in a thread, so that `commit` returns when the changes are on the disk.
    wait : float, optional
        Seconds to wait for another writer.
    networks : dict, optional
        Keeps the networks loaded between several calls: pass the same dictionary to each, empty to the first.
    progress : callable, optional
        Called with a stage, the number of documents done, and None.

    Returns
    -------
    LiveWriter

    Raises
    ------
    ParameterError
        If documents of an index of this kind cannot be changed, or the index is a part of a mixture; the error names
        the reason.
    VocabularyMismatchError
        If the network is not the one that the index was built with.
    IndexLockedError
        If another process writes the index.
    TermwiseError
        If the index cannot be opened or written.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searcher = termwise.build_index([termwise.Document("a", "merge two sorted lists")], folder)
    ...     with termwise.open_writer(folder) as writer:
    ...         added = writer.add([termwise.Document("b", "merge lists in place")])
    ...     before, after = searcher.rank("merge").doc_ids, searcher.refresh().rank("merge").doc_ids
    >>> added, before, after
    (Added(new=1, replaced=0, unchanged=0), ('a',), ('b', 'a'))
    """
    check_path("path", path)
    check_flag("background_merges", background_merges)
    check("wait", wait, is_finite_number(wait) and wait >= 0, "a number of seconds")
    options = BuildOptions(
        threads=threads,
        memory=memory,
        encoder=encoder,
        precision=precision,
        providers=providers,
        progress=progress,
    )
    folder, loaded = Path(path), {} if networks is None else networks
    rows: list[RowSource] = []

    def open_part(index: Index) -> IndexUpdater:
        rows.append(open_rows(index, options, networks=loaded, in_mixture=True))
        return rows[-1].updater

    updater: Updater
    if is_mixture(folder):
        check_options_of_parts(Mixture.open(folder), options)
        updater = MixtureUpdater(folder, open_part, wait=wait)
    else:
        rows.append(open_rows(Index.open(folder), options, networks=loaded, wait=wait))
        updater = rows[0].updater
    return LiveWriter(updater, rows, background_merges=background_merges, progress=progress)
