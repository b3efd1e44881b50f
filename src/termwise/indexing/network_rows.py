"""Rows computed by a network."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from termwise.collection.fields import FieldChoice
from termwise.display.safe_text import short_digest
from termwise.encode import DocumentEncoder, encoded_blocks
from termwise.encode.block_encoding import STAGE
from termwise.encode.block_file import cut_blocks
from termwise.encode.document_encoder import EncodedRows, network_record
from termwise.encode.row_selection import interleave_rows
from termwise.errors import ParameterError, VocabularyMismatchError, WeightError
from termwise.fixes import Fix
from termwise.index import IndexWriter, Manifest
from termwise.index.encoder_description import encoder_description
from termwise.index.manifest_records import DOCUMENT_FREQUENCIES, IdfRecord
from termwise.index.spill import RowSpill
from termwise.index.updater import IndexUpdater
from termwise.indexing.context import RowSource, cannot_be_empty, pass_documents
from termwise.indexing.count_rows import TokenCounter, placeholder
from termwise.indexing.lookup_rows import CompiledTerms, RowSink
from termwise.indexing.row_statistics import read_row_statistics
from termwise.models import Lookup, NetworkModel
from termwise.models.idf_power import idf_factors
from termwise.parallel import Workers
from termwise.records import Document
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

CHUNK = 1 << 20
"""Postings per chunk of the second pass."""

PATIENCE = 6.0
"""Seconds of work without a network after which more processes start."""

BELOW = 2.0**-10
"""Distance between the smallest log-likelihood of a term and its floor in the exact form, in nats."""


def build_network(
    writer: IndexWriter,
    *,
    documents: tuple[Iterator[Document], int | None],
    model: NetworkModel,
    open_encoder: Callable[[], DocumentEncoder],
    work: AbstractContextManager[Path],
    fields: FieldChoice = None,
    store_rows: bool = True,
    statistics: Path | None = None,
    empty: bool = False,
) -> Manifest:
    """Encode documents block by block, and publish the index.

    `documents` come with their number, if it is known. `work` is the folder of finished blocks, which is used
    if rows are stored. `statistics` is the file of the collection of which the documents are a part. `fields` are those
    of the texts, if they were chosen; they have weights, all of them 1, if documents are cut into chunks with the other
    fields in each. An index is `empty` if its only document is a placeholder.

    Raises `VocabularyMismatchError` for an analyzer of queries with another vocabulary than the rows, and
    `EmptyCollectionError` if an empty index is not possible, because the rows of documents depend on others.
    """
    encoder = open_encoder()
    _check_vocabulary(encoder)
    unread, length = documents
    field_weights = fields if isinstance(fields, Mapping) else {}
    with work as folder:
        with closing(_row_sink(writer, encoder, model, statistics)) as sink:
            if empty:
                if not isinstance(sink, _Unchanged):
                    raise cannot_be_empty(model.name)
                unread, store_rows = iter([placeholder(field_weights)]), False
            if store_rows:
                blocks = encoded_blocks(unread, encoder, folder, length=length, progress=writer.progress)
            else:
                blocks = _without_network(unread, encoder, length, writer)
            for block, rows in blocks:
                pass_documents(writer, block, writer.store_text, field_weights)
                sink.add(rows, [document.text for document in block])
            sink.write(writer)
        query_weights = encoder.query_weights
        spec = encoder.analyzer.spec
        return writer.commit(
            encoder.vocabulary,
            encoder=encoder_description(
                model=model.name,
                parameters=model.parameters(),
                analyzer=spec,
                weighting=model.query_weighting if query_weights is None else "idf",
                exact=encoder.only_text_terms,
                network=network_record(encoder),
                statistics=None if sink.frequencies is None else {"documents": sink.documents},
            ),
            fields=fields,
            floors=sink.floors,
            term_vectors=sink.term_vectors,
            query_weights=query_weights,
            attachments=spec.files
            if sink.frequencies is None
            else {**spec.files, DOCUMENT_FREQUENCIES: sink.frequencies.astype("<u4").tobytes()},
            empty=empty,
        )


def _without_network(
    documents: Iterator[Document], encoder: DocumentEncoder, length: int | None, writer: IndexWriter
) -> Iterator[tuple[list[Document], EncodedRows]]:
    """Encode documents in blocks with the threads of the writer; encoded blocks are not stored."""
    waiting: deque[list[Document]] = deque()

    def texts() -> Iterator[list[str]]:
        for block in cut_blocks(documents, encoder.block):
            waiting.append(block)
            yield [document.text for document in block]

    done = 0
    # Starting a process takes seconds, because each reads the table.
    with Workers(encoder.encode_documents, threads=writer.threads, patience=PATIENCE) as workers:
        for rows in workers.map(texts()):
            block = waiting.popleft()
            done += len(block)
            writer.progress(STAGE, done, length)
            yield block, rows


def _check_vocabulary(encoder: DocumentEncoder) -> None:
    """Refuse an encoder whose query analyzer has another vocabulary than its rows."""
    spec, closed = encoder.analyzer.spec, encoder.analyzer.vocabulary
    if closed is not None and closed.id == encoder.vocabulary.id:
        return
    queries = "an open vocabulary" if closed is None else f"{len(closed):,} terms  {short_digest(closed.id)}"
    raise VocabularyMismatchError(
        "the query analyzer of the encoder has another vocabulary than its rows",
        facts=[
            ("documents", f"{len(encoder.vocabulary):,} terms  {short_digest(encoder.vocabulary.id)}"),
            ("queries", f"{spec.name}  {queries}"),
            ("reason", "equal numbers stand for different words, so scores would be meaningless"),
        ],
    )


class _Unchanged(RowSink):
    """Rows that are written as they come."""

    def __init__(self, writer: IndexWriter, encoder: DocumentEncoder) -> None:
        self._writer = writer
        self.floors = encoder.floors
        self.term_vectors = encoder.term_vectors

    def add(self, rows: EncodedRows, texts: Sequence[str]) -> None:
        """Write rows."""
        if isinstance(rows, DocumentVectors):
            self._writer.add_vectors(rows)
        else:
            self._writer.add_weights(rows)


class _TwoPassRows(RowSink):
    """Term weights that stay on disk until statistics of all rows are known, and are then transformed and written."""

    stage: ClassVar[str]
    """Name of the second pass, for progress."""

    operation: ClassVar[np.ufunc]
    """Combines each weight with the operand of its term."""

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        self._spill = RowSpill(folder, "two_pass")
        self._vocabulary = encoder.vocabulary.id

    def add(self, rows: EncodedRows, texts: Sequence[str]) -> None:
        """Store rows on disk and update the statistics."""
        if not isinstance(rows, TermWeights):
            raise WeightError("an idf or floors need term weights", facts=[("given", type(rows).__name__)])
        self._update(rows)
        self._spill.add(rows.indptr, rows.terms, rows.weights)

    def write(self, writer: IndexWriter) -> None:
        """Write all transformed rows to the index."""
        operands = self._operands()
        done = 0
        for indptr, terms, weights in self._spill.read(0, self._spill.rows, postings=CHUNK):
            rows = TermWeights(indptr, terms, weights, self._vocabulary)
            writer.add_weights(_transformed(rows, self.operation, operands))
            done += len(indptr) - 1
            writer.progress(self.stage, done, self._spill.rows)

    def close(self) -> None:
        """Remove the temporary file."""
        self._spill.close()

    @abstractmethod
    def _update(self, rows: TermWeights) -> None:
        """Update the statistics with some rows."""

    @abstractmethod
    def _operands(self) -> npt.NDArray[np.float64]:
        """Return the operand of each term, shape (V,)."""


class _Likelihoods(_TwoPassRows):
    """Rows of ln P(t|d) for the exact form of TILDE, from which the floor of each term is subtracted.

    Every row that is not empty must hold the same terms, so that a missing value never counts as a likely one. The
    floor of a term is just below its smallest value, so every document with a row is a result of every query. A
    document without a row gets the floor for every term.
    """

    stage = "subtract floors"
    operation = np.subtract

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        super().__init__(folder, encoder)
        self._terms: npt.NDArray[np.int32] | None = None
        self._smallest = np.zeros(len(encoder.vocabulary), dtype=np.float64)

    def _update(self, rows: TermWeights) -> None:
        for terms, weights in rows:
            if len(terms) == 0:
                continue
            if self._terms is None:
                self._terms = terms
                self._smallest[terms] = weights
            if not np.array_equal(terms, self._terms):
                raise WeightError(
                    "rows of the exact form must all hold the same terms",
                    facts=[("terms", len(terms)), ("in the first row", len(self._terms))],
                )
            self._smallest[terms] = np.minimum(self._smallest[terms], weights)

    def _operands(self) -> npt.NDArray[np.float64]:
        self.floors = self._smallest.copy()
        if self._terms is not None:
            self.floors[self._terms] -= BELOW
        return self.floors


class _IdfWeights(_TwoPassRows):
    """Rows whose weights are multiplied by a power of the idf, see `termwise.models.idf_power`.

    The idf is that of these rows, or of the collection of which they are a part, see `RowStatistics`.
    """

    stage = "multiply by the idf"
    operation = np.multiply

    def __init__(self, folder: Path, encoder: DocumentEncoder, statistics: Path | None) -> None:
        super().__init__(folder, encoder)
        self._encoder = encoder
        self._collection = None if statistics is None else (statistics, read_row_statistics(statistics))
        self.frequencies: npt.NDArray[np.int64] = np.zeros(len(encoder.vocabulary), dtype=np.int64)

    def _update(self, rows: TermWeights) -> None:
        self.frequencies += np.bincount(rows.terms[rows.weights > 0], minlength=len(self.frequencies))

    def _operands(self) -> npt.NDArray[np.float64]:
        self.documents = self._spill.rows
        if self._collection is not None:
            path, whole = self._collection
            whole.check(self._encoder, self.documents, self.frequencies, path)
            self.documents, self.frequencies = whole.documents, whole.frequencies
        return idf_factors(self.frequencies, self.documents, self._encoder.idf_power)


def _transformed(rows: TermWeights, operation: np.ufunc, operands: npt.NDArray[np.float64]) -> TermWeights:
    """Combine each weight with the operand of its term, shape (V,)."""
    weights = operation(rows.weights.astype(np.float64), operands[rows.terms])
    return TermWeights(rows.indptr, rows.terms, weights, rows.vocabulary)


def _row_sink(
    writer: IndexWriter, encoder: DocumentEncoder, model: NetworkModel, statistics: Path | None
) -> RowSink:
    """Return the sink for the rows of an encoder; statistics that it does not use raise `ParameterError`."""
    if statistics is not None and not encoder.idf_power:
        raise ParameterError(
            "the weights of this model do not depend on statistics of rows",
            facts=[
                ("model", model.name),
                ("idf_power", f"{encoder.idf_power:g}"),
                ("statistics", statistics),
            ],
            fixes=[Fix.omit("statistics")],
        )
    if encoder.gives_log_likelihoods:
        return _Likelihoods(writer.folder, encoder)
    if encoder.idf_power:
        return _IdfWeights(writer.folder, encoder, statistics)
    if isinstance(model, Lookup) and model.keep is not None and encoder.term_vectors is not None:
        counter = TokenCounter(encoder.analyzer)
        return CompiledTerms(writer.folder, encoder.term_vectors, counter, keep=model.keep)
    return _Unchanged(writer, encoder)


class AddedNetworkRows(RowSource):
    """Rows of documents that are added to the index of a network.

    An idf in the weights is that of the build; see `IdfRecord`.
    """

    def __init__(self, updater: IndexUpdater, encoder: DocumentEncoder, idf: IdfRecord | None) -> None:
        self.updater = updater
        self._encoder = encoder
        self._factors = None
        if idf is not None:
            frequencies = np.maximum(updater.index.built_frequencies().astype(np.int64), 1)
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
        pass_documents(self.updater, documents, index.stores_text, index.manifest.field_weights)
        if isinstance(rows, TermWeights):
            self.updater.add_weights(rows)
        else:
            self.updater.add_vectors(rows)

    def _rows_of(self, texts: Sequence[str]) -> EncodedRows:
        """Run the network; multiply its weights by the idf."""
        rows = self._encoder.encode_documents(texts)
        if self._factors is None or not isinstance(rows, TermWeights):
            return rows
        return _transformed(rows, np.multiply, self._factors)

    def _stored(self, ordinals: npt.NDArray[np.int64]) -> EncodedRows:
        """Return rows of the published index."""
        index = self.updater.index
        return index.weights(ordinals) if index.term_vectors is None else index.document_vectors(ordinals)
