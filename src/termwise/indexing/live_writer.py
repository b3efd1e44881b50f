"""`open_writer`: add, replace and delete documents of an index or a mixture, and merge its segments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.collection import CollectionStatistics
from termwise.encode import DocumentEncoder
from termwise.encode.document_encoder import EncodedRows, built_precision, check_network
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.encode.row_selection import interleave_rows
from termwise.engine.allowed_documents import FilterLike, allowed_documents
from termwise.engine.query_encoder import analyzer_of
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import Index, Manifest
from termwise.index.container import REBUILD
from termwise.index.document_store import chunk_id
from termwise.index.encoder_description import FUSION, EncoderDescription
from termwise.index.field_texts import unpack
from termwise.index.manifest_records import DOCUMENT_FREQUENCIES, IdfRecord
from termwise.index.updater import IndexUpdater
from termwise.index.writer import DEFAULT_MEMORY
from termwise.indexing.built_statistics import built_statistics, missing_statistics, opened_statistics
from termwise.indexing.chunks import chunks_of
from termwise.indexing.context import attributes_of, refuse_arguments
from termwise.indexing.count_rows import TokenCounts, chunk_of, count_documents, document_batches
from termwise.indexing.field_weights import texts_to_store
from termwise.indexing.mixture_updater import MixtureUpdater
from termwise.indexing.model_choice import model_of, opened_encoder
from termwise.models import BM25, CountModel, Lookup, Model, NetworkModel, Tilde, VectorModel
from termwise.models.idf_power import idf_factors
from termwise.parallel import Workers
from termwise.progress import Progress, no_progress
from termwise.records import NO_ATTRIBUTES, AttributeValue, Document
from termwise.search.mixture_folder import is_mixture
from termwise.text import Analyzer, Vocabulary
from termwise.validation import (
    check,
    check_documents,
    check_flag,
    check_names,
    check_path,
    is_finite_number,
)
from termwise.weights import TermWeights

BLOCK = 256
"""Documents that are analysed or encoded at a time."""

BLOCKS = 64
"""Blocks that wait for their analysis if several processes take part."""

LoadedNetworks = dict[Path, tuple[EncoderDescription, DocumentEncoder]]
"""Loaded networks by the folder of an index, each with the description of the model in its manifest."""


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


class LiveWriter:
    """Writer that adds, replaces and deletes documents of an index or a mixture; `open_writer` opens it.

    Changes become visible by `commit`, in one atomic step that survives a crash. The end of the ``with`` block commits;
    an error in the block discards the changes since the last commit. If merges run in the background, the next change
    waits for them, and raises their error if they fail.

    Attributes
    ----------
    path : Path
        Folder of the index or mixture.
    """

    def __init__(
        self,
        updater: IndexUpdater | MixtureUpdater,
        rows: Sequence[_Rows],
        *,
        background_merges: bool,
        progress: Progress,
    ) -> None:
        self.path = updater.path
        self._updater = updater
        self._rows = rows
        """Rows of each part of a mixture, or of the one index."""
        with_attributes = [each for each in rows if each.updater.index.schema]
        self._with_attributes = with_attributes or rows[:1]
        """Parts that keep the attributes of documents."""
        self._progress = progress
        self._merger = ThreadPoolExecutor(1, "termwise-merge") if background_merges else None
        self._merging: Future[Manifest] | None = None
        self._touched: dict[str, bool] = {}
        """Identifiers that were added (True) or deleted (False) since the last commit."""
        self._closed = False
        self._chunk = rows[0].updater.index.manifest.chunk
        self._chunks: dict[str, int] = {}
        """Number of chunks of the documents that were added since."""

    def __enter__(self) -> LiveWriter:
        return self

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
        return self._rows[0].updater.index

    @property
    def schema(self) -> Schema:
        """Types of the attributes, empty without any."""
        return self._with_attributes[0].updater.index.schema

    @property
    def field_weights(self) -> Mapping[str, int]:
        """Weights of the fields of documents; empty if no part has any."""
        weights = (rows.updater.index.manifest.field_weights for rows in self._rows)
        return next(filter(None, weights), {})

    @property
    def fields(self) -> tuple[str, ...] | Mapping[str, int] | None:
        """Fields of the texts that the build chose, with their weights if they have any, for `open_collection`.

        None for the default fields, and for indexes that were written before fields were kept.
        """
        names = (rows.updater.index.manifest.fields for rows in self._rows)
        return self.field_weights or next(filter(None, names), None)

    def add(self, documents: Iterable[Document]) -> Added:
        """Add documents. One with the identifier of an earlier document replaces it, and comes last in the index.

        Parameters
        ----------
        documents : iterable of Document
            Of one identifier, the last document counts.

        Returns
        -------
        Added

        Raises
        ------
        ParameterError
            If a document is not a `Document`, has no string as identifier or text, or lacks the fields of an index
            whose fields have weights, see `Document.of_fields`; or if the writer is closed.
        DataError, MalformedRecordError
            If an attribute has a value of another type than that of the index.
        """
        check_documents(documents)
        self._check_open()
        self._wait()
        schema = self.schema
        new = replaced = unchanged = 0
        for block in document_batches(iter(documents), BLOCK):
            distinct = {document.doc_id: document for document in block}
            for document in block:  # before a part has one of them
                if document.attributes:
                    schema.stored(document.attributes, record=repr(document.doc_id))
            present, same, known = self._present(list(distinct.values()))
            kept = [document for document in distinct.values() if document.doc_id not in same]
            unchanged += len(same)
            replaced += len(present) - len(same)
            new += len(distinct) - len(present)
            if any(self._touched.get(document.doc_id) for document in kept):
                self._flush()  # so that the earlier document can be replaced
            cut = self._cut(kept) if self._chunk else kept
            for rows in self._rows:
                kept_by = cut
                if rows not in self._with_attributes:
                    kept_by = [document._replace(attributes=NO_ATTRIBUTES) for document in cut]
                rows.add(kept_by, known)
            self._touched.update(dict.fromkeys((document.doc_id for document in kept), True))
            self._progress("add documents", new + replaced + unchanged, None)
        return Added(new, replaced, unchanged)

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
            index = self._with_attributes[0].updater.preview()
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
        return self._touched.get(doc_id, self._rows[0].updater.index.find(doc_id) is not None)

    def document(self, doc_id: str) -> Document | None:
        """Return a document of the last published generation, with the text of each field if fields have weights.

        Raises
        ------
        ParameterError
            If the index stores no texts.
        """
        ordinals = self._rows[0].updater.index.find_many([doc_id])
        if ordinals[0] < 0:
            return None
        index = self._index_of_texts()
        if index is None:
            raise ParameterError(
                "the index does not store the texts of its documents",
                facts=[("index", self.path)],
                fixes=[Fix.build(store_text=True)],
            )
        (text,) = index.store.document_texts(ordinals)
        (attributes,) = self._with_attributes[0].updater.index.attributes(ordinals)
        if not self.field_weights:
            return Document.of_texts(doc_id, unpack(text or ""), attributes)
        texts = dict(zip(self.field_weights, unpack(text or ""), strict=True))
        return Document.of_fields(doc_id, texts, attributes)

    def commit(self) -> Manifest:
        """Publish the changes, and merge small segments; return the manifest of the new generation.

        The changes are on the disk when this returns. Without changes, nothing is written. For a mixture, the manifest
        is that of the first part.
        """
        if self._merger is None:
            return self._finish(self._updater.commit)
        manifest = self._finish(partial(self._updater.commit, merge=False))
        self._merging = self._merger.submit(self._updater.commit)
        return manifest

    def merge(self) -> Manifest:
        """Commit the changes, then merge all segments into one and remove deleted documents.

        No text is analysed again, and no network runs.
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

    def _check_open(self) -> None:
        if self._closed:
            raise ParameterError(
                "this writer is closed", facts=[("index", self.path)], fixes=["open another writer"]
            )

    def _reset(self) -> None:
        for rows in self._rows:
            rows.reset()
        self._touched.clear()
        self._chunks.clear()

    def _wait(self) -> None:
        """Wait for the merges in the background; raise their error."""
        if self._merging is None:
            return
        merging, self._merging = self._merging, None
        try:
            merging.result()
        except BaseException:
            self._updater.discard()
            raise
        finally:
            self._reset()

    def _flush(self) -> None:
        for rows in self._rows:
            rows.flush()

    def close(self) -> None:
        """Release the index. Changes since the last commit are lost."""
        self._closed = True
        try:
            self._wait()
        finally:
            if self._merger is not None:
                self._merger.shutdown()
            for rows in self._rows:
                rows.close()
            self._updater.close()

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
        index = self._rows[0].updater.index
        ordinals = index.find_many(doc_ids)
        published = np.zeros(len(ordinals), dtype=np.int64)
        published[ordinals >= 0] = index.chunks.counts(ordinals[ordinals >= 0])
        return [
            chunk_id(doc_id, number)
            for doc_id, count in zip(doc_ids, published.tolist(), strict=True)
            for number in range(1, self._chunks.get(doc_id, count) + 1)
        ]

    def _present(self, documents: Sequence[Document]) -> tuple[set[str], set[str], dict[str, int]]:
        """Compare documents with those of the index.

        Returns
        -------
        present : set of str
            Identifiers that the index has.
        same : set of str
            Those of them with the same text and attributes.
        known : dict of str to int
            Position in the published index of those with the same text and other attributes, or of each of their
            chunks.
        """
        indexes = [rows.updater.index for rows in self._rows]
        ordinals = indexes[0].find_many([document.doc_id for document in documents])
        present = {
            document.doc_id
            for document, ordinal in zip(documents, ordinals.tolist(), strict=True)
            if self._touched.get(document.doc_id, ordinal >= 0)
        }
        same: set[str] = set()
        known: dict[str, int] = {}
        index = self._index_of_texts()
        if index is not None:
            places = [
                place
                for place, document in enumerate(documents)
                if ordinals[place] >= 0 and document.doc_id not in self._touched
            ]
            texts = index.store.document_texts(ordinals[places])
            attributes = self._with_attributes[0].updater.index.attributes(ordinals[places])
            given = texts_to_store([documents[place] for place in places], index.manifest.field_weights)
            for place, text, new_text, values in zip(places, texts, given, attributes, strict=True):
                document = documents[place]
                if text not in (new_text, document.text):  # the second without borders, in an older index
                    continue
                if values == self._kept(document):
                    same.add(document.doc_id)
                elif self._chunk:
                    chunks = enumerate(index.chunks.of(int(ordinals[place])), 1)
                    known |= {chunk_id(document.doc_id, number): ordinal for number, ordinal in chunks}
                else:
                    known[document.doc_id] = int(ordinals[place])
        return present, same, known

    def _index_of_texts(self) -> Index | None:
        """Return the part that stores the texts as they are given, by field if fields have weights; None without."""
        weighted = bool(self.field_weights)
        indexes = (rows.updater.index for rows in self._rows)
        return next(
            (
                index
                for index in indexes
                if index.stores_text and bool(index.manifest.field_weights) == weighted
            ),
            None,
        )

    def _kept(self, document: Document) -> Mapping[str, AttributeValue]:
        """Return the attributes of a document as the index returns them."""
        schema = self.schema
        return schema.convert(document.attributes) if schema else document.attributes


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
        See `build_index`.
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
    (Added(new=1, replaced=0, unchanged=0), ('a',), ('a', 'b'))
    """
    check_path("path", path)
    check_flag("background_merges", background_merges)
    check("wait", wait, is_finite_number(wait) and wait >= 0, "a number of seconds")
    open_rows = partial(
        _open_rows,
        threads=threads,
        memory=memory,
        encoder=encoder,
        precision=precision,
        providers=providers,
        networks={} if networks is None else networks,
        progress=progress,
    )
    folder = Path(path)
    rows: list[_Rows] = []
    if not is_mixture(folder):
        rows.append(open_rows(folder, in_mixture=False, wait=wait))
        return LiveWriter(rows[0].updater, rows, background_merges=background_merges, progress=progress)

    def open_part(part: Path) -> IndexUpdater:
        rows.append(open_rows(part, in_mixture=True, wait=0.0))
        return rows[-1].updater

    mixture = MixtureUpdater(folder, open_part, wait=wait)
    return LiveWriter(mixture, rows, background_merges=background_merges, progress=progress)


def _open_rows(
    path: Path,
    *,
    in_mixture: bool,
    threads: int,
    memory: int,
    encoder: DocumentEncoder | None,
    precision: NetworkPrecision | None,
    providers: Sequence[str] | None,
    wait: float,
    networks: LoadedNetworks,
    progress: Progress,
) -> _Rows:
    """Open an index for writing, and choose how rows of its model are computed; see `open_writer`."""
    index = Index.open(path)
    model = _changeable_model(index)
    make_rows: Callable[[IndexUpdater], _Rows]
    if isinstance(model, NetworkModel):
        current = index.manifest.encoder
        if precision is None and encoder is None:
            precision = built_precision(current.network)
        described, opened = networks.get(path, (None, None))
        if opened is None or described != current or encoder is not None:
            opened = opened_encoder(model, encoder, threads=threads, precision=precision, providers=providers)
            check_network(
                current.network,
                opened,
                index=index.path,
                fixes=[
                    Fix.python("encoder=open_document_encoder(model)", "pass the encoder of the index: {}"),
                    REBUILD,
                ],
            )
            networks[path] = current, opened
        idf = _idf_of(index, opened.idf_power)
        make_rows = partial(_NetworkRows, encoder=opened, idf=idf)
    else:
        assert isinstance(model, CountModel), "models of other kinds are refused"
        if not in_mixture:
            refuse_arguments(
                "these arguments require a model with a network",
                model,
                {"encoder": encoder, "precision": precision, "providers": providers},
            )
        statistics = built_statistics(index)
        idf = _idf_of(index, 1.0 if isinstance(model, BM25) else 0.0)
        make_rows = partial(
            _CountRows, model=model, analyzer=analyzer_of(index), statistics=statistics, threads=threads
        )
    updater = IndexUpdater(
        path,
        memory=memory,
        threads=threads,
        progress=progress,
        opened=index,
        idf=idf,
        in_mixture=in_mixture,
        wait=wait,
    )
    try:
        return make_rows(updater)
    except BaseException:
        updater.close()
        raise


class _Rows(ABC):
    """Computes the rows of documents that join an index.

    Attributes
    ----------
    updater : IndexUpdater
        Takes the rows.
    """

    updater: IndexUpdater

    @abstractmethod
    def add(self, documents: Sequence[Document], known: Mapping[str, int]) -> None:
        """Add documents with distinct identifiers; `known` has the published positions of unchanged texts."""

    @abstractmethod
    def flush(self) -> None:
        """Pass the rows of all documents to the updater."""

    @abstractmethod
    def reset(self) -> None:
        """Forget documents that were not passed to the updater, and start from its current generation."""

    @abstractmethod
    def close(self) -> None:
        """Remove temporary files."""


class _NetworkRows(_Rows):
    """Rows of a network. An idf in the weights is that of the build; see `IdfRecord`."""

    def __init__(self, updater: IndexUpdater, encoder: DocumentEncoder, idf: IdfRecord | None) -> None:
        self.updater = updater
        self._encoder = encoder
        self._factors = None
        if idf is not None:
            data = updater.index.attachment(DOCUMENT_FREQUENCIES)
            frequencies = np.maximum(np.frombuffer(data, dtype="<u4").astype(np.int64), 1)
            self._factors = idf_factors(frequencies, idf.documents, idf.power)

    def add(self, documents: Sequence[Document], known: Mapping[str, int]) -> None:
        """Encode the documents, or copy the rows of those with a known text."""
        if not documents:
            return
        texts = [document.text for document in documents]
        ordinals = np.array([known.get(document.doc_id, -1) for document in documents], dtype=np.int64)
        rows = self._rows_of([text for text, place in zip(texts, ordinals, strict=True) if place < 0])
        if known:
            rows = interleave_rows(self._stored(ordinals[ordinals >= 0]), rows, ordinals >= 0)
        index = self.updater.index
        stored = texts_to_store(documents, index.manifest.field_weights) if index.stores_text else None
        doc_ids = [document.doc_id for document in documents]
        self.updater.add_documents(doc_ids, stored, attributes_of(documents))
        if isinstance(rows, TermWeights):
            self.updater.add_weights(rows)
        else:
            self.updater.add_vectors(rows)

    def _rows_of(self, texts: Sequence[str]) -> EncodedRows:
        """Run the network; multiply its weights by the idf."""
        rows = self._encoder.encode_documents(texts)
        if self._factors is None or not isinstance(rows, TermWeights):
            return rows
        weights = rows.weights.astype(np.float64) * self._factors[rows.terms]
        return TermWeights(rows.indptr, rows.terms, weights, rows.vocabulary)

    def _stored(self, ordinals: npt.NDArray[np.int64]) -> EncodedRows:
        """Return rows of the published index."""
        index = self.updater.index
        return index.weights(ordinals) if index.term_vectors is None else index.document_vectors(ordinals)

    def flush(self) -> None:
        """Do nothing: rows are passed as they come."""

    def reset(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class _CountRows(_Rows):
    """Rows of a count model, weighed with the statistics of the build; new terms join the vocabulary."""

    def __init__(
        self,
        updater: IndexUpdater,
        model: CountModel,
        analyzer: Analyzer,
        statistics: CollectionStatistics,
        threads: int,
    ) -> None:
        self.updater = updater
        self._model = model
        self._statistics = statistics
        self._field_weights = updater.index.manifest.field_weights
        self._analyse = partial(count_documents, analyzer, updater.index.stores_text, self._field_weights)
        self._workers = Workers(self._analyse, threads=threads)
        self._blocks = 1 if threads == 1 else BLOCKS
        self._counts: TokenCounts | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the documents that were not passed on, and the tokens that the current generation lacked."""
        self._new: dict[str, int] = {}
        """Numbers of the tokens that the current generation lacks."""
        self._begin()

    def _begin(self) -> None:
        self._waiting: list[Sequence[Document]] = []
        """Blocks of documents that are not analysed yet."""
        self._remove_counts()

    def add(self, documents: Sequence[Document], known: Mapping[str, int]) -> None:
        """Take the documents, and analyse them when there are enough for all processes."""
        if self._field_weights:
            texts_to_store(
                documents, self._field_weights
            )  # raises the error of a document without the fields
        self._waiting.append(documents)
        if len(self._waiting) >= self._blocks:
            self._count()

    def _count(self) -> None:
        """Analyse the documents that wait, and count their terms; other processes help with several blocks.

        The updater takes the documents at once, and their rows by `flush`.
        """
        waiting, self._waiting = self._waiting, []
        analyse = map(self._analyse, waiting) if len(waiting) == 1 else self._workers.map(waiting)
        for batch in analyse:
            if self._counts is None:
                self._counts = TokenCounts(self.updater.folder)
            self._counts.add(batch)
            self.updater.add_documents(batch.doc_ids, batch.texts, batch.attributes)

    def flush(self) -> None:
        """Compute the weights of the documents, and pass them to the updater, which writes them."""
        self._count()
        if self._counts is None:
            return
        updater, before = self.updater, self.updater.terms
        final = self._numbered(list(self._counts.numbers))
        tokens = list(self._new)[before - updater.index.manifest.terms :]
        statistics = opened_statistics(self._statistics, before + len(tokens))
        floors = self._model.floors(statistics) if tokens else None
        updater.add_terms(tokens, None if floors is None else floors[before : before + len(tokens)])
        model = self._prepared()
        for counts in self._counts.rows(final, updater.vocabulary, postings=chunk_of(model)):
            updater.add_weights(model.weigh(counts, statistics))
        updater.write()
        self._begin()

    def _numbered(self, tokens: list[str]) -> npt.NDArray[np.int32]:
        """Return the term numbers of tokens; those that the current generation lacks get the next ones."""
        vocabulary = self.updater.index.vocabulary
        numbers = vocabulary.numbers(tokens)
        for place in np.flatnonzero(numbers < 0).tolist():
            numbers[place] = self._new.setdefault(tokens[place], len(vocabulary) + len(self._new))
        return numbers.astype(np.int32)

    def _prepared(self) -> CountModel:
        """Return the model for the current vocabulary."""
        if type(self._model).for_vocabulary is CountModel.for_vocabulary:
            return self._model
        vocabulary = self.updater.index.vocabulary
        known = Vocabulary([*vocabulary.load(), *self._new], background=vocabulary.background is not None)
        return replace(self._model.for_vocabulary(known), vocabulary=self.updater.vocabulary)  # type: ignore[call-arg]

    def _remove_counts(self) -> None:
        if self._counts is not None:
            self._counts.close()
            self._counts = None

    def close(self) -> None:
        """Remove the temporary files, and end other processes."""
        self._remove_counts()
        self._workers.close()


def _changeable_model(index: Index) -> Model:
    """Return the model of an index, or raise the error of one whose documents cannot be weighed one by one."""
    name, model, reason = index.manifest.encoder.model.name, model_of(index), None
    if not name:
        reason = "the index has no description of its model"
    elif name == FUSION:
        reason = "its weights are sums over several indexes: change these, and fuse them again"
    elif model is None:
        reason = "termwise has no model of this name"
    elif isinstance(model, VectorModel):
        reason = "its weights are your own: change its rows with `termwise.index.updater.IndexUpdater`"
    elif isinstance(model, BM25) and model.variant != "lucene":
        reason = "its idf can be 0 or negative, so weights of some terms are not stored: use variant=lucene"
    elif isinstance(model, Lookup) and model.form == "terms":
        reason = "which terms it keeps depends on all documents: use form=vectors"
    elif isinstance(model, Tilde) and index.manifest.quantiser.kind == "float32":
        reason = "the floors of the exact form depend on all documents: use form=compact"
    if model is None or reason is not None:
        raise ParameterError(
            "the documents of this index cannot be changed",
            facts=[("index", index.path), ("model", name or "unknown"), ("reason", reason)],
            fixes=["build the index again with all documents"],
        )
    return model


def _idf_of(index: Index, power: float) -> IdfRecord | None:
    """Return the record of the idf in the weights of an index; None without one."""
    if not power:
        return None
    record = index.manifest.encoder.statistics
    if "documents" not in record or DOCUMENT_FREQUENCIES not in index.manifest.attachments:
        raise missing_statistics(index)
    return IdfRecord(float(power), record["documents"])
