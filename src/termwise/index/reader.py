"""Open index, whose files are mapped into memory."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, pairwise
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.errors import CorruptIndexError, MissingFileError, ParameterError, UnknownIdError, WeightError
from termwise.index.attribute_columns import AttributeColumns
from termwise.index.attribute_spill import KIND as ATTRIBUTES
from termwise.index.container import Container, IndexFile, corrupt, map_file
from termwise.index.deletions import KIND as DELETIONS
from termwise.index.deletions import LiveRows
from termwise.index.document_vectors import KIND as VECTORS
from termwise.index.document_vectors import SegmentVectors
from termwise.index.field_texts import joined, joined_chunks
from termwise.index.manifest import DOCUMENT_FREQUENCIES, AddedTerms, IdfRecord, Manifest, SegmentRecord
from termwise.index.segment import Segment, concatenated_ranges, views_of
from termwise.index.string_table import PackedStrings, StringTable
from termwise.index.texts import KIND as TEXTS
from termwise.index.texts import TextTable
from termwise.kernels.weighting import lucene_idf
from termwise.records import AttributeValue
from termwise.storage.file_record import text_fingerprint
from termwise.text.vocabulary import BACKGROUND, Vocabulary
from termwise.validation import check_path
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

FEW = 8
"""With fewer documents for each segment, identifiers are read one by one."""

ATTEMPTS = 5
"""Number of attempts to open an index while builds replace it."""

CHECKED = 8 << 20
"""Bytes of an index whose checksums are compared when it is opened; `verify` compares all."""

CHUNK = "#"
"""Separator of the identifier of a document and the number of a chunk."""


def chunk_id(doc_id: str, number: int) -> str:
    """Return the identifier of a chunk of a document; the first has the number 1."""
    return f"{doc_id}{CHUNK}{number}"


CACHED_TOKENS = 1 << 14
"""Tokens whose numbers are kept after a look-up: words of queries repeat."""

LONGEST_CACHED = 64
"""Characters of the longest of them."""


class MappedVocabulary:
    """Vocabulary of an index; look-ups read the mapped files.

    Parameters
    ----------
    tables : sequence of StringTable
        Tokens of the build, and those that were added later, in the order of their numbers.
    background : bool
        Whether there is a background term.
    identity : str
        Identity in the manifest.
    """

    def __init__(self, tables: Sequence[StringTable], *, background: bool, identity: str) -> None:
        self._tables = tuple(tables)
        self._background = background
        self._identity = identity
        self._firsts = [sum(map(len, self._tables[:i])) for i in range(len(self._tables))]
        self._length = sum(map(len, self._tables))
        self._numbers: dict[str, int | None] = {}

    def __len__(self) -> int:
        """Return the number of tokens without the reserved background term."""
        return self._length

    def number(self, token: str) -> int | None:
        """Return the number of a token, or None if it is unknown."""
        try:
            return self._numbers[token]
        except KeyError:
            number = self._number(token)
        if len(token) <= LONGEST_CACHED:
            if len(self._numbers) >= CACHED_TOKENS:
                self._numbers.clear()
            self._numbers[token] = number
        return number

    def _number(self, token: str) -> int | None:
        for first, table in zip(self._firsts, self._tables, strict=True):
            number = table.find(token)
            if number is not None:
                return first + number
        return None

    def numbers(self, tokens: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of several tokens, -1 for unknown ones; faster than `number`."""
        packed = PackedStrings(tokens)
        numbers = np.full(len(tokens), -1, dtype=np.int64)
        for first, table in zip(self._firsts, self._tables, strict=True):
            found = table.find_packed(packed)
            numbers = np.where(found >= 0, found + first, numbers)
        return numbers

    def token(self, number: int) -> str:
        """Return the token with a number; ``[background]`` for the background term."""
        if number == self.background:
            return BACKGROUND
        place = bisect_right(self._firsts, number) - 1
        return self._tables[place].get(number - self._firsts[place])

    def tokens(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return the tokens with several numbers, in ascending order; faster than `token`."""
        bounds = np.searchsorted(numbers, [*self._firsts, self._length]).tolist()
        tokens: list[str] = []
        for table, first, (begin, end) in zip(self._tables, self._firsts, pairwise(bounds), strict=True):
            tokens += table.get_many(numbers[begin:end] - first)
        return tokens

    def starting_with(self, prefix: str) -> npt.NDArray[np.int64]:
        """Return the numbers of the tokens that begin with a prefix, in any order."""
        found = (table.starting_with(prefix) for table in self._tables)
        return np.concatenate([first + numbers for first, numbers in zip(self._firsts, found, strict=True)])

    def code_points(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Return the characters of all tokens; see `StringTable.code_points`."""
        points, starts = zip(*(table.code_points() for table in self._tables), strict=True)
        lengths = np.concatenate([np.diff(each) for each in starts])
        return np.concatenate(points), np.concatenate([[0], np.cumsum(lengths)])

    @property
    def background(self) -> int | None:
        """Number of the reserved background term, or None."""
        return self._length if self._background else None

    @property
    def id(self) -> str:
        """Identity from the manifest: equal ids mean equal numberings."""
        return self._identity

    def check(self) -> None:
        """Check every token and their order; see `StringTable.check`."""
        for table in self._tables:
            table.check()

    def load(self) -> Vocabulary:
        """Read all tokens into memory."""
        return Vocabulary(self._tokens(self._tables), background=self._background)

    def built(self) -> Vocabulary:
        """Read the tokens of the build into memory."""
        return Vocabulary(self._tokens(self._tables[:1]), background=self._background)

    @staticmethod
    def _tokens(tables: Sequence[StringTable]) -> Iterator[str]:
        return (table.get(number) for table in tables for number in range(len(table)))


def grown_vocabulary(built: str, added: Sequence[AddedTerms]) -> str:
    """Return the identity of a vocabulary with added terms."""
    if not added:
        return built
    return text_fingerprint("\n".join([built, *(record.file.sha256 for record in added)]))


def _build_of(manifest: Manifest) -> tuple[object, ...]:
    """Return what all segments of a build and its changes have in common."""
    return manifest.terms_file, manifest.background, manifest.quantiser.kind, manifest.vectors


class Index:
    """A published index that is mapped into memory.

    It keeps the generation that was current when it was opened, even if a build replaces that generation. It is
    read-only and can be shared between threads.

    Attributes
    ----------
    path : Path
        Folder of the index.
    manifest : Manifest
        Contents and files.
    vocabulary : MappedVocabulary
        Vocabulary of the terms.
    segments : tuple of Segment
        Postings, in the order of the input.
    firsts : tuple of int
        Input position of the first document of each segment.
    identifiers : tuple of StringTable
        Identifiers of the rows of each segment, deleted ones included.
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
        self.path = path
        self._unpublished = unpublished
        self.manifest = manifest
        files = set(manifest.files())
        opened = {} if earlier is None else earlier._containers
        self._containers: dict[IndexFile, Container] = {
            file: container for file, container in opened.items() if file in files
        }
        terms = self._container(manifest.terms_file, "terms")
        added = [self._added(record) for record in manifest.added_terms]
        self.vocabulary = MappedVocabulary(
            [
                StringTable(terms, "terms", manifest.built_terms),
                *(StringTable(file, "terms", len(floors)) for file, floors in added),
            ],
            background=manifest.background,
            identity=manifest.vocabulary,
        )
        slots = manifest.built_terms + manifest.background
        self._attachments: dict[str, mmap | bytes] = {
            name: earlier._attachments[name]
            if earlier is not None and earlier.manifest.attachments.get(name) == record
            else map_file(path / record.name, record.length)
            for name, record in manifest.attachments.items()
        }
        floors = terms.array("floors", "<f8")
        self.floors: npt.NDArray[np.float64] = terms.array("floors", "<f8", slots if len(floors) else 0)
        if added and len(floors):
            built = self.floors[: manifest.built_terms]
            self.floors = np.concatenate([built, *(part for _, part in added), self.floors[len(built) :]])
        weights = terms.array("query_weights", "<f4")
        self.query_weights: npt.NDArray[np.float32] = terms.array(
            "query_weights", "<f4", manifest.built_terms if len(weights) else 0
        )
        if added and len(weights):  # added terms have no fixed query weight
            self.query_weights = np.pad(self.query_weights, (0, manifest.terms - len(weights)))
        self.term_vectors = self._term_vectors(terms)
        segments: dict[SegmentRecord, Segment] = {}
        if earlier is not None and _build_of(earlier.manifest) == _build_of(manifest):
            segments = dict(zip(earlier.manifest.segments, earlier.segments, strict=True))
        self.segments: tuple[Segment, ...] = tuple(
            segments[record] if record in segments else self._segment(record) for record in manifest.segments
        )
        self.identifiers = tuple(
            StringTable(self._container(record.ids, "ids"), "ids", record.documents)
            for record in manifest.segments
        )
        self._texts = tuple(
            None
            if record.texts is None
            else TextTable(self._container(record.texts, TEXTS), record.documents)
            for record in manifest.segments
        )
        self.firsts: tuple[int, ...] = tuple(
            sum(len(segment) for segment in self.segments[:i]) for i in range(len(self.segments))
        )

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
                index.check_shortest(() if earlier is None else earlier.manifest.files())
                return index
            except (MissingFileError, CorruptIndexError) as error:
                # A build may have published the next generation since the manifest was read. If the same manifest
                # fails twice, the index is damaged.
                if manifest == before:
                    raise
                before, failure = manifest, error
        raise failure

    def _container(self, record: IndexFile, kind: str) -> Container:
        """Open a file; those of a change that is not published yet are in the folder of the change."""
        if record not in self._containers:
            folder = self.path
            if self._unpublished is not None and (self._unpublished / record.name).exists():
                folder = self._unpublished
            self._containers[record] = Container(folder / record.name, kind, record.length)
        return self._containers[record]

    def check_shortest(self, known: Iterable[IndexFile] = ()) -> None:
        """Compare the checksums of the shortest sections, `CHECKED` bytes together, without those of known files.

        The short sections hold what the long ones are found by, so a damage there changes many results.

        Raises
        ------
        CorruptIndexError
            If a section is damaged.
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

    def _added(self, record: AddedTerms) -> tuple[Container, npt.NDArray[np.float64]]:
        container = self._container(record.file, "added")
        return container, container.array("added.floors", "<f8", record.terms)

    def _segment(self, record: SegmentRecord) -> Segment:
        return Segment(
            self._container(record.views, "views"),
            documents=record.documents,
            postings=record.postings,
            n_terms=self.manifest.built_terms if record.terms is None else record.terms,
            block_bits=record.block_bits,
            kind=self.manifest.quantiser.kind,
            background=self.manifest.background,
            vectors=self._vectors(record),
            own_terms=record.terms is not None,
            shift=record.shift,
            live=None
            if record.deleted is None
            else LiveRows.read(
                self._container(record.deleted, DELETIONS), record.documents, record.deletions
            ),
            attributes=None
            if record.attributes is None
            else AttributeColumns(self._container(record.attributes, ATTRIBUTES), record.documents),
        )

    def _vectors(self, record: SegmentRecord) -> SegmentVectors | None:
        if record.vectors is None or self.manifest.vectors is None:
            return None
        container = self._container(record.vectors, VECTORS)
        return SegmentVectors(container, record.documents, self.manifest.vectors.dimensions)

    def _term_vectors(self, terms: Container) -> TermVectors | None:
        record, count = self.manifest.vectors, self.manifest.built_terms
        if record is None:
            return None
        rows = terms.array("term_vectors.rows", "i1", count * record.dimensions)
        shifts = terms.array("term_vectors.shifts", "u1", count)
        try:
            return TermVectors(
                rows.reshape(count, record.dimensions), shifts, record.scale, self.manifest.vocabulary
            )
        except WeightError as error:
            seen = f"{int(shifts.max(initial=0))}"
            raise corrupt(terms.path, terms.offset("term_vectors.shifts"), error.facts[0][1], seen) from None

    def __len__(self) -> int:
        """Return the number of documents, or of chunks; deleted ones are not counted."""
        return self.manifest.documents

    @property
    def documents(self) -> int:
        """Number of documents, however many chunks they have; deleted ones are not counted."""
        return len(self.document_starts) if self.manifest.chunk else len(self)

    @cached_property
    def document_starts(self) -> npt.NDArray[np.int64]:
        """Position of the first chunk of each document, ascending; all positions if documents are not cut.

        Raises
        ------
        CorruptIndexError
            If the identifiers of the chunks are damaged.
        """
        if not self.manifest.chunk:
            return np.arange(len(self), dtype=np.int64)
        parts = []
        for first, segment, table in zip(self.firsts, self.segments, self.identifiers, strict=True):
            rows = table.ending_with(chunk_id("", 1).encode())
            if segment.live is not None:
                rows = rows[~segment.live.deleted[rows]]
            parts.append(segment.places_of(rows) + first)
        starts = np.concatenate(parts)
        if len(self) and (not len(starts) or starts[0] != 0):
            raise corrupt(
                self.path / self.manifest.segments[0].ids.name, None, "a first chunk", "another one"
            )
        return starts

    def documents_of(self, ordinals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the position of the first chunk of the document of each chunk."""
        if not self.manifest.chunk:
            return ordinals
        return self.document_starts[np.searchsorted(self.document_starts, ordinals, side="right") - 1]

    def check_not_cut(self, use: str) -> None:
        """Refuse documents that are cut into chunks, for a use that needs whole ones.

        Raises
        ------
        ParameterError
            If documents are cut.
        """
        if self.manifest.chunk:
            raise ParameterError(
                f"{use} needs whole documents, and those of this index are cut into chunks",
                facts=[("index", self.path), ("words of a chunk", self.manifest.chunk)],
                fixes=["build the index without `chunk`"],
            )

    def chunks(self, document: int) -> range:
        """Return the positions of the chunks of a document by that of the first; of one that is not cut, its own."""
        count = int(self.chunk_counts(np.array([document]))[0]) if self.manifest.chunk else 1
        return range(document, document + count)

    def chunk_counts(self, documents: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the number of chunks of documents, given by the positions of their first chunks."""
        counts: npt.NDArray[np.int64] = (
            self._document_stops[np.searchsorted(self.document_starts, documents)] - documents
        )
        return counts

    @cached_property
    def _document_stops(self) -> npt.NDArray[np.int64]:
        return np.append(self.document_starts[1:], len(self))

    @property
    def stores_text(self) -> bool:
        """Whether the index stores the texts of the documents."""
        return all(table is not None for table in self._texts)

    def doc_id(self, ordinal: int) -> str:
        """Return the identifier of a document by its position in the input, from 0."""
        segment, row = self.locate(ordinal)
        return self._documents_named([self.identifiers[segment].get(row)])[0]

    def doc_ids(self, ordinals: npt.NDArray[np.int64]) -> list[str]:
        """Return the identifiers of several documents, or of those of chunks; positions must be in range."""
        return self._documents_named(self.stored_ids(ordinals))

    def stored_ids(self, ordinals: npt.NDArray[np.int64]) -> list[str]:
        """Return the identifiers of several rows, which are those of chunks if documents are cut."""
        if len(self.identifiers) == 1:
            return self.identifiers[0].get_many(self.segments[0].rows_of(ordinals))
        if len(ordinals) < FEW * len(self.segments):
            stored, firsts = [], self.firsts
            for ordinal in ordinals.tolist():
                number = bisect_right(firsts, ordinal) - 1
                row, live = ordinal - firsts[number], self.segments[number].live
                stored.append(self.identifiers[number].get(row if live is None else live.rows.item(row)))
            return stored
        doc_ids = [""] * len(ordinals)
        for number, places, rows in self._by_number(ordinals):
            found = self.identifiers[number].get_many(rows)
            for place, doc_id in zip(places.tolist(), found, strict=True):
                doc_ids[place] = doc_id
        return doc_ids

    def _documents_named(self, stored: list[str]) -> list[str]:
        """Return the identifiers of documents for stored ones."""
        return [name.rpartition(CHUNK)[0] for name in stored] if self.manifest.chunk else stored

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
        if self.manifest.chunk:
            doc_ids = [chunk_id(doc_id, 1) for doc_id in doc_ids]
        packed = PackedStrings(doc_ids)
        ordinals = np.full(len(doc_ids), -1, dtype=np.int64)
        for first, segment, table in zip(self.firsts, self.segments, self.identifiers, strict=True):
            rows = table.find_packed(packed)
            found = rows >= 0
            if segment.live is not None:
                found[found] = ~segment.live.deleted[rows[found]]
            ordinals[found] = segment.places_of(rows[found]) + first
        return ordinals

    def text(self, ordinal: int) -> str | None:
        """Return the stored text of a document, or None if the index stores no texts; fields are joined."""
        segment, row = self.locate(ordinal)
        table = self._texts[segment]
        return None if table is None else joined(table.get(row))

    def texts(self, ordinals: npt.NDArray[np.int64]) -> list[str | None]:
        """Return the stored texts of several documents, faster than `text`; positions must be in range."""
        return [None if text is None else joined(text) for text in self.stored_texts(ordinals)]

    def stored_texts(self, ordinals: npt.NDArray[np.int64]) -> list[str | None]:
        """Return the stored texts of several documents with their fields packed, see `termwise.index.field_texts`."""
        texts: list[str | None] = [None] * len(ordinals)
        for number, positions, rows in self._by_number(ordinals):
            table = self._texts[number]
            if table is not None:
                for position, text in zip(positions.tolist(), table.get_many(rows), strict=True):
                    texts[position] = text
        return texts

    def document_texts(self, documents: npt.NDArray[np.int64]) -> list[str | None]:
        """Return the stored texts of several documents, whose chunks and fields are joined."""
        return [None if text is None else joined(text) for text in self.stored_document_texts(documents)]

    def stored_document_texts(self, documents: npt.NDArray[np.int64]) -> list[str | None]:
        """Return the stored texts of several documents, whose chunks are joined; see `stored_texts`."""
        if not self.manifest.chunk or not self.stores_text:
            return self.stored_texts(documents)
        counts = self.chunk_counts(documents)
        stored = self.stored_texts(concatenated_ranges(documents, counts))
        pieces = (piece or "" for piece in stored)
        join = joined_chunks if self.manifest.field_weights else "".join
        return [join(list(islice(pieces, count))) for count in counts.tolist()]

    @cached_property
    def schema(self) -> Schema:
        """Types of the attributes, empty without any."""
        return Schema(self.manifest.schema)

    def attributes(
        self, ordinals: npt.NDArray[np.int64], fields: Collection[str] | None = None
    ) -> list[dict[str, AttributeValue]]:
        """Return attributes of several documents, by default all, without missing values.

        Positions must be in range.
        """
        found: list[dict[str, AttributeValue]] = [{} for _ in range(len(ordinals))]
        for segment, places, rows in self.by_segment(ordinals):
            if segment.attributes is not None:
                for place, values in zip(
                    places.tolist(), segment.attributes.values(rows, fields), strict=True
                ):
                    found[place] = values
        return found

    def locate(self, ordinal: int) -> tuple[int, int]:
        """Return the number of the segment of a document, and its row in the segment.

        Raises
        ------
        IndexError
            If there is no such document.
        """
        if not 0 <= ordinal < len(self):
            raise IndexError(f"document {ordinal} of {len(self)}")
        number = bisect_right(self.firsts, ordinal) - 1
        place = ordinal - self.firsts[number]
        live = self.segments[number].live
        return number, place if live is None else int(live.rows[place])

    def row(self, ordinal: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
        """Return the terms of a document and their impacts in units of the quantiser (weights in a float index)."""
        number, row = self.locate(ordinal)
        segment = self.segments[number]
        starts, lengths = segment.row_bounds(np.array([row]))
        stored = slice(int(starts[0]), int(starts[0] + lengths[0]))
        terms, impacts = segment.index_terms(segment.terms[stored]), segment.impacts[stored]
        return terms, impacts.astype(np.int64) << segment.shift if segment.shift else impacts

    def bias(self, ordinal: int) -> float:
        """Return the bias of a document in the unit of the quantiser; 0 without a background."""
        number, row = self.locate(ordinal)
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
        for segment, places, rows in self.by_segment(ordinals):
            lengths[places] = segment.row_bounds(rows)[1]
        return lengths

    def query_factors(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.float64] | None:
        """Return the factor of each query term that replaces the idf in the stored weights by the current one.

        Parameters
        ----------
        terms : ndarray of shape (n,), int32
            Term numbers; the factor of a background term is 1.

        Returns
        -------
        ndarray of shape (n,), float64, or None
            See `IdfRecord`; None if stored weights are used as they are.
        """
        record = self.manifest.idf
        if record is None:
            return None
        factors = self._factors[terms]
        missing = np.isnan(factors)
        if missing.any():
            wanted = np.unique(terms[missing])
            self._factors[wanted] = self._ratios(record, wanted)
            factors = self._factors[terms]
        return factors

    @cached_property
    def _factors(self) -> npt.NDArray[np.float64]:
        """Factors that were computed, NaN for others; 1 for a background term."""
        factors = np.full(self.manifest.terms + 1, np.nan)
        factors[-1] = 1.0
        return factors

    def _ratios(self, record: IdfRecord, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        stored = np.ones(len(terms), dtype=np.int64)
        built = terms < len(self._built_frequencies)
        stored[built] = np.maximum(self._built_frequencies[terms[built]], 1)
        documents = max(1, len(self))
        current = np.clip(self.frequencies_of(terms), 1, documents)
        ratios: npt.NDArray[np.float64] = lucene_idf(current, documents) / lucene_idf(
            stored, record.documents
        )
        return ratios**record.power

    @cached_property
    def _built_frequencies(self) -> npt.NDArray[np.uint32]:
        return np.frombuffer(self.attachment(DOCUMENT_FREQUENCIES), dtype="<u4")

    def frequencies_of(self, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return the number of documents with a weight for each of some terms, ascending, shape (n,), int64."""
        frequencies = np.zeros(len(terms), dtype=np.int64)
        for segment in self.segments:
            places, known = segment.places_of_terms(terms)
            frequencies[known] += segment.term_counts(places)
        return frequencies

    @cached_property
    def document_frequencies(self) -> npt.NDArray[np.int64]:
        """Number of documents with a weight for each term, shape (terms,); expansion terms count."""
        frequencies = self.frequencies_of(np.arange(self.manifest.terms, dtype=np.int32))
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
        bias_unit = quantiser.scale / 2**quantiser.bias_bits
        lengths = self.lengths(ordinals)
        biases = np.zeros(len(ordinals), dtype=np.float64)
        if self.manifest.background:
            for segment, places, rows in self.by_segment(ordinals):
                biases[places] = segment.bias[rows] * (bias_unit * 2**segment.shift)
        biased = np.flatnonzero(biases)
        indptr = np.concatenate([[0], np.cumsum(lengths + (biases > 0))])
        terms = np.empty(int(indptr[-1]), dtype=np.int32)
        weights = np.empty(len(terms), dtype=np.float64)
        for segment, places, rows in self.by_segment(ordinals):
            starts, counts = segment.row_bounds(rows)
            stored, copied = concatenated_ranges(starts, counts), concatenated_ranges(indptr[places], counts)
            terms[copied] = segment.index_terms(segment.terms[stored])
            weights[copied] = segment.impacts[stored] * (quantiser.scale * 2**segment.shift)
        terms[indptr[biased + 1] - 1] = self.manifest.terms
        weights[indptr[biased + 1] - 1] = biases[biased]
        return TermWeights(indptr, terms, weights, self.manifest.vocabulary)

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
            for segment, places, rows in self.by_segment(ordinals)
            if segment.vectors is not None
        ]
        lengths = np.zeros(len(ordinals), dtype=np.int64)
        for vectors, places, rows in parts:
            lengths[places] = vectors.window_bounds(rows)[1]
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

    def by_segment(
        self, ordinals: npt.NDArray[np.int64]
    ) -> Iterator[tuple[Segment, npt.NDArray[np.intp], npt.NDArray[np.int64]]]:
        """Yield the segments of documents, the positions of their documents in `ordinals`, and the rows of these."""
        for number, positions, rows in self._by_number(ordinals):
            yield self.segments[number], positions, rows

    def _by_number(
        self, ordinals: npt.NDArray[np.int64]
    ) -> Iterator[tuple[int, npt.NDArray[np.intp], npt.NDArray[np.int64]]]:
        owners = np.searchsorted(self.firsts, ordinals, side="right") - 1
        for number in sorted(set(owners.tolist())):
            positions = np.flatnonzero(owners == number)
            yield number, positions, self.segments[number].rows_of(ordinals[positions] - self.firsts[number])

    @property
    def has_postings(self) -> bool:
        """Whether the segments have postings by term; an index with vectors or float weights has none."""
        return self.term_vectors is None and self.manifest.quantiser.kind != "float32"

    @cached_property
    def views(self) -> npt.NDArray[np.void]:
        """Records of the segments for `termwise.kernels.retrieval.retrieve_segments`."""
        return views_of((segment, {}) for segment in self.segments)

    @cached_property
    def largest_shift(self) -> int:
        """Largest `Segment.shift`."""
        return max((segment.shift for segment in self.segments), default=0)

    def check_strings(self) -> None:
        """Check every token, identifier and stored text.

        Raises
        ------
        CorruptIndexError
            If one cannot be read, or a table is out of order.
        """
        self.vocabulary.check()
        for ids in self.identifiers:
            ids.check()
        for texts in self._texts:
            if texts is not None:
                texts.check()
        for segment in self.segments:
            if segment.attributes is not None:
                segment.attributes.check()

    def attachment(self, name: str) -> bytes:
        """Return an attached file.

        Raises
        ------
        UnknownIdError
            If there is no attachment of that name.
        CorruptIndexError
            If the file does not match its checksum.
        """
        record = self.manifest.attachments.get(name)
        if record is None:
            raise UnknownIdError(
                "the index has no such attachment", facts=[("name", name), ("index", self.path)]
            )
        data = bytes(self._attachments[name])
        if hashlib.sha256(data).hexdigest() != record.sha256:
            raise corrupt(
                self.path / record.name, None, "a file that matches its SHA-256", "one that does not"
            )
        return data
