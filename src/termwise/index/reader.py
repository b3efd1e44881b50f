"""Open index, whose files are mapped into memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.errors import CorruptIndexError, MissingFileError, ParameterError, UnknownIdError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index.container import corrupt
from termwise.index.document_store import CHUNK, DocumentChunks, DocumentStore, chunk_id
from termwise.index.field_texts import joined
from termwise.index.manifest import Manifest
from termwise.index.manifest_records import DOCUMENT_FREQUENCIES, SegmentRecord
from termwise.index.open_files import OpenFiles
from termwise.index.segment import Segment, concatenated_ranges
from termwise.index.segments import IdfRatios, Segments, open_segment
from termwise.index.string_table import StringTable
from termwise.index.terms import open_term_vectors, open_terms
from termwise.index.texts import KIND as TEXTS
from termwise.index.texts import TextTable
from termwise.records import AttributeValue
from termwise.storage.folder_path import FolderPath
from termwise.validation import check_path
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

ATTEMPTS = 100
"""Number of attempts to open an index; one fails if a writer publishes the next generation in the meantime."""


@dataclass(frozen=True, eq=False)
class ImpactRows:
    """Stored impacts of several documents.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries.
    terms : ndarray of shape (nnz,), int32
        Term numbers, ascending in a row.
    impacts : ndarray of shape (nnz,), int64 (float64 in a float index)
        In units of the quantiser.
    biases : ndarray of shape (n,), int64 (float64 in a float index)
        Document biases, in units of the quantiser's scale divided by ``2**bias_bits``; 0 without a background term.
    """

    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    impacts: npt.NDArray[Any]
    biases: npt.NDArray[Any]


def _build_of(manifest: Manifest) -> tuple[object, ...]:
    """Return what all segments of a build and its changes have in common."""
    return manifest.terms_file, manifest.background, manifest.quantiser.kind, manifest.vectors


class Index:
    """A published index that is mapped into memory.

    It keeps the generation that was current when it was opened, even if a build replaces that generation. It is
    read-only and can be shared between threads.

    Attributes
    ----------
    manifest : Manifest
        Contents and files.
    vocabulary : MappedVocabulary
        Vocabulary of the terms.
    segments : Segments
        Postings and rows, in the order of the input.
    store : DocumentStore
        Identifiers and texts as they are stored.
    chunks : DocumentChunks
        Chunks of the documents.
    files : OpenFiles
    floors : ndarray of shape (terms, or terms + 1 with a background term), float64
        Contribution of an absent term per unit of query weight; empty if it is 0 for all terms.
    query_weights : ndarray of shape (terms,), float32
        Static query weights; empty if there are none.
    term_vectors : TermVectors or None
        Vectors of the terms, if the index ranks by vectors; `Segment.vectors` has those of the documents.

    Examples
    --------
    >>> index = Index.open("no/such/folder")
    Traceback (most recent call last):
    termwise.errors.MissingFileError: there is no such index  [missing-file]
    ...
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        *,
        unpublished: Path | None = None,
        earlier: Index | None = None,
    ) -> None:
        self._folder = FolderPath.of(path)
        self.manifest = manifest
        known = None if earlier is None else earlier.files
        files = OpenFiles(path, manifest, unpublished=unpublished, earlier=known)
        self.files: OpenFiles = files
        self.vocabulary, self.floors, self.query_weights = open_terms(files, manifest)
        self.term_vectors = open_term_vectors(files, manifest)
        opened: dict[SegmentRecord, Segment] = {}
        if earlier is not None and _build_of(earlier.manifest) == _build_of(manifest):
            opened = dict(zip(earlier.manifest.segments, earlier.segments, strict=True))
        self.segments: Segments = Segments(
            opened[record] if record in opened else open_segment(files, manifest, record)
            for record in manifest.segments
        )
        identifiers = tuple(
            StringTable(files.container(record.ids, "ids"), "ids", record.documents)
            for record in manifest.segments
        )
        texts = tuple(
            None
            if record.texts is None
            else TextTable(files.container(record.texts, TEXTS), record.documents)
            for record in manifest.segments
        )
        self.chunks = DocumentChunks(manifest.chunk, self.segments, identifiers)
        self.store = DocumentStore(
            self.segments, self.chunks, len(manifest.field_weights), identifiers, texts
        )

    @property
    def path(self) -> Path:
        """Folder of the index: as it was given, or absolute if the working directory has changed since."""
        return self._folder.current

    @property
    def name(self) -> str:
        """Name of the folder, or of the folder that a link leads to."""
        return self._folder.name

    @classmethod
    def open(cls, path: str | Path) -> Index:
        """Open the current generation of an index folder.

        The checksums of the shortest sections are compared, `CHECKED` bytes in all, which takes some milliseconds.

        Raises
        ------
        MissingFileError
            If the folder or one of its files does not exist.
        NotAnIndexError, NewerFormatError, CorruptIndexError
            If it is not an index, was written by a later version, or has a damaged manifest, header or compared
            section; `verify` reads every byte.
        """
        check_path("the index", path)
        return cls._current(Path(path), None)

    def newest(self) -> Index:
        """Return the current generation, which shares the files of both; this index if it is the current one.

        For the errors, see `open`.
        """
        return self._current(self.path, self)

    @classmethod
    def _current(cls, folder: Path, earlier: Index | None) -> Index:
        before: Manifest | None = None
        for _ in range(ATTEMPTS):
            manifest = Manifest.read(folder, known=None if earlier is None else earlier.manifest)
            if earlier is not None and manifest == earlier.manifest:
                return earlier
            try:
                index = cls(folder, manifest, earlier=earlier)
                index.files.check_shortest(() if earlier is None else earlier.manifest.files())
                return index
            except (MissingFileError, CorruptIndexError) as error:
                # A build may have published the next generation since the manifest was read. If the same manifest
                # fails twice, the index is damaged.
                if manifest == before:
                    raise
                before, failure = manifest, error
        raise failure

    def __len__(self) -> int:
        """Return the number of documents, or of chunks; deleted ones are not counted."""
        return self.manifest.documents

    @property
    def documents(self) -> int:
        """Number of documents, however many chunks they have; deleted ones are not counted."""
        return len(self.chunks.starts) if self.chunks.words else len(self)

    def check_not_cut(self, use: str) -> None:
        """Refuse documents that are cut into chunks, for a use that needs whole ones.

        Raises
        ------
        ParameterError
            If documents are cut.
        """
        if self.chunks.words:
            raise ParameterError(
                f"{use} needs whole documents, and those of this index are cut into chunks",
                facts=[("index", self.path), ("words of a chunk", self.chunks.words)],
                fixes=[Fix.omit("chunk", "build the index without {}")],
            )

    @property
    def stores_text(self) -> bool:
        """Whether the index stores the texts of the documents."""
        return self.store.has_texts

    def doc_id(self, ordinal: int) -> str:
        """Return the identifier of a document by its position in the input, from 0."""
        number, row = self.segments.locate(ordinal)
        return self._documents_named([self.store.identifiers[number].get(row)])[0]

    def doc_ids(self, ordinals: npt.NDArray[np.int64]) -> list[str]:
        """Return the identifiers of several documents, or of those of chunks; positions must be in range."""
        return self._documents_named(self.store.ids(ordinals))

    def _documents_named(self, stored: list[str]) -> list[str]:
        """Return the identifiers of documents for stored ones."""
        return [name.rpartition(CHUNK)[0] for name in stored] if self.chunks.words else stored

    def ordinal(self, doc_id: str) -> int:
        """Return the position of a document in the input.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        ordinal = self.find(doc_id)
        if ordinal is None:
            raise UnknownIdError(
                "the index holds no such document", facts=[("doc_id", doc_id), ("index", self.path)]
            )
        return ordinal

    def find(self, doc_id: str) -> int | None:
        """Return the position of a document in the input, or None."""
        ordinal = int(self.find_many([doc_id])[0])
        return None if ordinal < 0 else ordinal

    def find_many(self, doc_ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the positions of several documents in the input, -1 for unknown ones; of chunks, that of the first."""
        return self.store.find([chunk_id(doc_id, 1) for doc_id in doc_ids] if self.chunks.words else doc_ids)

    def text(self, ordinal: int) -> str | None:
        """Return the stored text of a document, or None if the index stores no texts; fields are joined."""
        self.segments.locate(ordinal)
        return self.texts(np.array([ordinal]))[0]

    def texts(self, ordinals: npt.NDArray[np.int64]) -> list[str | None]:
        """Return the stored texts of several documents, faster than `text`; positions must be in range."""
        return [None if text is None else joined(text) for text in self.store.texts(ordinals)]

    def document_texts(self, documents: npt.NDArray[np.int64]) -> list[str | None]:
        """Return the stored texts of several documents, whose chunks and fields are joined."""
        return [None if text is None else joined(text) for text in self.store.document_texts(documents)]

    @cached_property
    def schema(self) -> Schema:
        """Types of the attributes, empty without any."""
        return Schema(self.manifest.schema, texts=self.manifest.field_weights or self.manifest.fields)

    def attributes(
        self, ordinals: npt.NDArray[np.int64], fields: Collection[str] | None = None
    ) -> list[dict[str, AttributeValue]]:
        """Return attributes of several documents, by default all, without missing values.

        Positions must be in range.
        """
        found: list[dict[str, AttributeValue]] = [{} for _ in range(len(ordinals))]
        for segment, places, rows in self.segments.by_segment(ordinals):
            if segment.attributes is not None:
                for place, values in zip(
                    places.tolist(), segment.attributes.values(rows, fields), strict=True
                ):
                    found[place] = values
        return found

    def row(self, ordinal: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Return the terms of a document and their impacts in units of the quantiser (weights in a float index)."""
        number, row = self.segments.locate(ordinal)
        segment = self.segments[number]
        starts, lengths = segment.row_bounds(np.array([row]))
        stored = slice(int(starts[0]), int(starts[0] + lengths[0]))
        terms, impacts = segment.index_terms(segment.terms[stored]), segment.impacts[stored]
        return terms, impacts.astype(np.int64) << segment.shift if segment.shift else impacts

    def bias(self, ordinal: int) -> float:
        """Return the bias of a document in the unit of the quantiser; 0 without a background."""
        number, row = self.segments.locate(ordinal)
        segment = self.segments[number]
        return segment.bias[row].item() * 2**segment.shift if len(segment.bias) else 0

    def lengths(self, ordinals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of term weights of several documents; positions must be in range.

        Raises
        ------
        CorruptIndexError
            If the rows of a segment are out of order.
        """
        lengths = np.empty(len(ordinals), dtype=np.int64)
        for segment, places, rows in self.segments.by_segment(ordinals):
            lengths[places] = segment.row_bounds(rows)[1]
        return lengths

    @cached_property
    def idf(self) -> IdfRatios | None:
        """Factors of query terms in an index that was changed; None if stored weights are used as they are."""
        record = self.manifest.idf
        if record is None:
            return None
        return IdfRatios(record, self.built_frequencies(), self.segments, self.manifest.terms)

    def query_factors(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.float64] | None:
        """Return the idf factors of query terms if the index was changed after its build; None otherwise."""
        return None if self.idf is None else self.idf.of(terms)

    def built_frequencies(self) -> npt.NDArray[np.uint32]:
        """Return the number of documents with each term, as it was when the index was built.

        Raises
        ------
        UnknownIdError
            If the index does not keep these numbers.
        CorruptIndexError
            If their file is damaged.
        """
        data = self.attachment(DOCUMENT_FREQUENCIES)
        if len(data) % 4:
            file = self.manifest.attachments[DOCUMENT_FREQUENCIES].name
            raise corrupt(self.path / file, None, "numbers of 4 bytes", f"{len(data)} bytes")
        return np.frombuffer(data, dtype="<u4")

    @cached_property
    def document_frequencies(self) -> npt.NDArray[np.int64]:
        """Number of documents with a weight for each term, shape (terms,); expansion terms count."""
        frequencies = self.segments.frequencies_of(np.arange(self.manifest.terms, dtype=np.int32))
        frequencies.setflags(write=False)
        return frequencies

    def weights(self, ordinals: npt.NDArray[np.int64]) -> TermWeights:
        """Return the stored weights of several documents.

        Parameters
        ----------
        ordinals : ndarray of shape (n,), int64
            Positions in the input, in range, in any order.

        Returns
        -------
        TermWeights of n rows
            Impacts times their scale, or the unchanged weights of a float index; a document bias above 0 is the weight
            of the background term. Floors are not added.

        Raises
        ------
        CorruptIndexError
            If the rows of a segment are out of order, or contain a term outside the vocabulary.
        WeightError
            If the terms of a row are out of order, or a weight is not finite.
        """
        quantiser = self.manifest.quantiser
        found = self.impacts(ordinals)
        biases = found.biases * (quantiser.scale / 2**quantiser.bias_bits)
        biased = np.flatnonzero(biases)
        lengths = np.diff(found.indptr)
        indptr = np.concatenate([[0], np.cumsum(lengths + (biases > 0))])
        terms = np.empty(int(indptr[-1]), dtype=np.int32)
        weights = np.empty(len(terms), dtype=np.float64)
        copied = concatenated_ranges(indptr[:-1], lengths)
        terms[copied], weights[copied] = found.terms, found.impacts * quantiser.scale
        terms[indptr[biased + 1] - 1] = self.manifest.terms
        weights[indptr[biased + 1] - 1] = biases[biased]
        return TermWeights(indptr, terms, weights, self.manifest.vocabulary)

    def impacts(self, ordinals: npt.NDArray[np.int64]) -> ImpactRows:
        """Return the stored impacts of several documents.

        Parameters
        ----------
        ordinals : ndarray of shape (n,), int64
            Positions in the input, in range, in any order.

        Raises
        ------
        CorruptIndexError
            If the rows of a segment are out of order, or contain a term outside the vocabulary.
        """
        number = np.float64 if self.manifest.quantiser.kind == "float32" else np.int64
        lengths = self.lengths(ordinals)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        biases = np.zeros(len(ordinals), dtype=number)
        terms = np.empty(int(indptr[-1]), dtype=np.int32)
        impacts = np.empty(len(terms), dtype=number)
        for segment, places, rows in self.segments.by_segment(ordinals):
            starts, counts = segment.row_bounds(rows)
            stored, copied = concatenated_ranges(starts, counts), concatenated_ranges(indptr[places], counts)
            terms[copied] = segment.index_terms(segment.terms[stored])
            impacts[copied] = segment.impacts[stored] * number(2**segment.shift)
            if self.manifest.background:
                biases[places] = segment.bias[rows] * number(2**segment.shift)
        return ImpactRows(indptr, terms, impacts, biases)

    @property
    def keeps_counts(self) -> bool:
        """Whether the index keeps term counts, so that its weights can be computed again without texts."""
        return all(segment.counts is not None for segment in self.segments)

    def counts(self, ordinals: npt.NDArray[np.int64]) -> TermWeights:
        """Return the term counts of several documents of an index that keeps them.

        `ordinals` are positions in the input, in range, in any order. Damaged rows raise `CorruptIndexError`.
        """
        lengths = self.lengths(ordinals)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        terms = np.empty(int(indptr[-1]), dtype=np.int32)
        counts = np.empty(len(terms), dtype=np.float32)
        for segment, places, rows in self.segments.by_segment(ordinals):
            assert segment.counts is not None, "the index keeps counts"
            firsts, several = segment.row_bounds(rows)
            stored, copied = (
                concatenated_ranges(firsts, several),
                concatenated_ranges(indptr[places], several),
            )
            terms[copied] = segment.index_terms(segment.terms[stored])
            counts[copied] = segment.counts.of(stored)
        return TermWeights(indptr, terms, counts, self.manifest.vocabulary)

    def document_vectors(self, ordinals: npt.NDArray[np.int64]) -> DocumentVectors:
        """Return the stored vectors of several documents.

        Parameters
        ----------
        ordinals : ndarray of shape (n,), int64
            Positions in the input, in range, in any order.

        Raises
        ------
        ParameterError
            If the index has no vectors.
        CorruptIndexError
            If the vectors of a segment are damaged.
        """
        record = self.manifest.vectors
        if record is None:
            raise ParameterError("the index has no vectors", facts=[("index", self.path)])
        parts = [
            (segment.vectors, places, rows)
            for segment, places, rows in self.segments.by_segment(ordinals)
            if segment.vectors is not None
        ]
        lengths = self.window_counts(ordinals)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        numbers = np.empty((int(indptr[-1]), record.dimensions), dtype=np.int8)
        scales = np.empty(len(numbers), dtype=np.float32)
        for vectors, places, rows in parts:
            starts, counts = vectors.window_bounds(rows)
            stored, copied = concatenated_ranges(starts, counts), concatenated_ranges(indptr[places], counts)
            numbers[copied] = vectors.rows[stored]
            scales[copied] = vectors.scales[stored]
        try:
            return DocumentVectors(indptr, numbers, scales)
        except WeightError as error:
            raise corrupt(parts[0][0].path, None, error.facts[0][1], "another number") from None

    def window_counts(self, ordinals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of vectors of several documents; positions must be in range."""
        counts = np.zeros(len(ordinals), dtype=np.int64)
        for segment, places, rows in self.segments.by_segment(ordinals):
            if segment.vectors is not None:
                counts[places] = segment.vectors.window_bounds(rows)[1]
        return counts

    @cached_property
    def mean_direction(self) -> npt.NDArray[np.float64]:
        """Mean of the directions of the windows of all documents, shape (dimensions,); of an index with vectors.

        It has the unit of `termwise.index.document_vectors.directions`. It is that of a new index of the same
        documents, to the bit.
        """
        parts = [segment.directions() for segment in self.segments]
        total = np.sum([sums for sums, _ in parts], axis=0)
        return np.asarray(total / max(1, sum(windows for _, windows in parts)))

    @property
    def has_postings(self) -> bool:
        """Whether the segments have postings by term; an index with vectors or float weights has none."""
        return self.term_vectors is None and self.manifest.quantiser.kind != "float32"

    def attachment(self, name: str) -> bytes:
        """Return an attached file.

        Raises
        ------
        UnknownIdError
            If there is no attachment of that name.
        CorruptIndexError
            If the file does not match its checksum.
        """
        return self.files.attachment(name)
