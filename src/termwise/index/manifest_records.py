"""Records of a manifest: segments, quantiser, vectors, added terms, idf; each is read from JSON with its checks."""

from __future__ import annotations

import math
from dataclasses import field, fields

from termwise.fast_dataclass import dataclass
from termwise.index.container import VERSION, IndexFile, file_name
from termwise.storage.manifest_json import (
    Misfit,
    expect_choice,
    expect_digest,
    expect_number,
    expect_object,
    expect_whole,
)
from termwise.vectors import LARGEST_SCALE, MOST_DIMENSIONS, SCALES, SMALLEST_SCALE

SINCE = "since"
"""Key of the metadata of a field: the first version of the format that has it."""

BLOCK_BITS = 8
"""Blocks of the inverted view hold 256 documents."""

MAX_DOCUMENTS = 1 << 24
"""Largest number of documents of a segment: 65,536 blocks of 256."""

MAX_POSTINGS = (1 << 32) - 1
"""Largest number of postings of a segment."""

MAX_TERMS = (1 << 31) - 1
"""Largest number of terms of an index: term numbers fit a signed 32-bit integer."""

MAX_BIAS_BITS = 8
"""The document bias is at most this many bits finer than the impacts."""

DOCUMENT_FREQUENCIES = "document-frequencies"
"""Name of the attachment with the document frequency of each term at the build, u4."""

MAX_IDF_POWER = 4.0
"""Largest power of an idf in stored weights."""

MAX_SHIFT = 8
"""Impacts of a segment have a unit of at most ``2**MAX_SHIFT`` times the scale of the index."""

MIN_SCALE, MAX_SCALE = 2.0**-160, 2.0**128
"""Bounds of the scale of a quantiser; every float32 weight gives a scale between them."""


@dataclass(frozen=True)
class SegmentRecord:
    """Size and files of a segment.

    Attributes
    ----------
    documents, postings : int
        Number of documents, deleted ones included, and of their postings without document biases.
    block_bits : int
        Blocks of the inverted view hold ``2**block_bits`` documents.
    views, ids, texts, vectors : IndexFile
        Postings in both directions; document identifiers; stored texts, or None; vectors of the documents, or None.
    terms : int or None
        Number of distinct terms, if the segment numbers its own terms; None if it has the term numbers of the build.
    shift : int
        Impacts and biases are in units of ``2**shift`` times those of the quantiser.
    deletions : int
        Number of deleted documents.
    deleted : IndexFile or None
        Marks of the deleted documents, if there are any.
    attributes : IndexFile or None
        Attributes of the documents; None if no document of the segment has any.
    """

    documents: int
    postings: int
    block_bits: int
    views: IndexFile
    ids: IndexFile
    texts: IndexFile | None = None
    vectors: IndexFile | None = field(default=None, metadata={SINCE: 2})
    terms: int | None = field(default=None, metadata={SINCE: 3})
    shift: int = field(default=0, metadata={SINCE: 3})
    deletions: int = field(default=0, metadata={SINCE: 3})
    deleted: IndexFile | None = field(default=None, metadata={SINCE: 3})
    attributes: IndexFile | None = field(default=None, metadata={SINCE: 3})

    @property
    def live(self) -> int:
        """Number of documents that are not deleted."""
        return self.documents - self.deletions

    def files(self) -> list[IndexFile]:
        """Return the files of the segment."""
        optional = (self.texts, self.vectors, self.attributes, self.deleted)
        return [self.views, self.ids, *(file for file in optional if file is not None)]

    @classmethod
    def parse(cls, value: object, where: str, version: int) -> SegmentRecord:
        """Read a segment from JSON, or raise `Misfit`."""
        body = expect_object(value, keys_of(cls, version), where)

        def optional(kind: str) -> IndexFile | None:
            return None if body.get(kind) is None else file_of(body[kind], f"{where}.{kind}", kind)

        documents = expect_whole(body["documents"], f"{where}.documents", 1, MAX_DOCUMENTS)
        deletions = expect_whole(body.get("deletions", 0), f"{where}.deletions", 0, documents)
        deleted, terms = body.get("deleted"), body.get("terms")
        if not deletions and deleted is not None:
            raise Misfit(f"{where}.deleted as null without deletions", deleted)
        return cls(
            documents=documents,
            postings=expect_whole(body["postings"], f"{where}.postings", 0, MAX_POSTINGS),
            block_bits=expect_whole(body["block_bits"], f"{where}.block_bits", BLOCK_BITS, BLOCK_BITS),
            views=file_of(body["views"], f"{where}.views", "views"),
            ids=file_of(body["ids"], f"{where}.ids", "ids"),
            texts=optional("texts"),
            vectors=optional("vectors"),
            terms=None if terms is None else expect_whole(terms, f"{where}.terms", 0, MAX_TERMS),
            shift=expect_whole(body.get("shift", 0), f"{where}.shift", 0, MAX_SHIFT),
            deletions=deletions,
            deleted=file_of(deleted, f"{where}.deleted", "deletions") if deletions else None,
            attributes=optional("attributes"),
        )


@dataclass(frozen=True)
class QuantiserRecord:
    """Parameters and errors of the quantisation of weights.

    Attributes
    ----------
    kind : str
        ``"uint8"``: impacts 1 to 255; ``"float32"``: unchanged weights, no inverted view.
    scale : float
        Weight of one impact unit.
    bias_bits : int
        The document bias is stored in units of ``scale / 2**bias_bits``.
    largest : float
        Largest term weight.
    max_error, mean_error : float
        Largest and mean absolute difference between a term weight and its stored value.
    bias_error : float
        Largest absolute difference between a document bias and its stored value.
    raised : int
        Number of weights of at most half a unit, which are stored as 1 so that no posting is lost.
    dropped : int
        Number of term weights of exactly 0, which are not stored.
    """

    kind: str
    scale: float = 1.0
    bias_bits: int = 0
    largest: float = 0.0
    max_error: float = 0.0
    mean_error: float = 0.0
    bias_error: float = 0.0
    raised: int = 0
    dropped: int = 0

    @classmethod
    def parse(cls, value: object) -> QuantiserRecord:
        """Read the record from JSON, or raise `Misfit`."""
        body = expect_object(value, keys_of(cls), "quantiser")
        numbers = {
            name: _real(body[name], f"quantiser.{name}")
            for name in ("scale", "largest", "max_error", "mean_error", "bias_error")
        }
        if not MIN_SCALE <= numbers["scale"] <= MAX_SCALE:
            raise Misfit(f"a quantiser.scale from {MIN_SCALE:g} to {MAX_SCALE:g}", numbers["scale"])
        return cls(
            kind=expect_choice(body["kind"], "quantiser.kind", ("uint8", "float32")),
            bias_bits=expect_whole(body["bias_bits"], "quantiser.bias_bits", 0, MAX_BIAS_BITS),
            raised=expect_whole(body["raised"], "quantiser.raised", 0),
            dropped=expect_whole(body["dropped"], "quantiser.dropped", 0),
            **numbers,
        )


@dataclass(frozen=True)
class VectorsRecord:
    """Parameters of the vectors of documents and terms.

    Attributes
    ----------
    dimensions : int
        Number of dimensions of all vectors.
    scale : float
        `TermVectors.scale`.
    """

    dimensions: int
    scale: float

    @classmethod
    def parse(cls, value: object) -> VectorsRecord:
        """Read the record from JSON, or raise `Misfit`."""
        body = expect_object(value, keys_of(cls), "vectors")
        scale = _real(body["scale"], "vectors.scale")
        if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
            raise Misfit(f"a vectors.scale {SCALES}", scale)
        return cls(expect_whole(body["dimensions"], "vectors.dimensions", 1, MOST_DIMENSIONS), scale)


@dataclass(frozen=True)
class AddedTerms:
    """Terms that were added to an index after its build: their number and their file."""

    terms: int
    file: IndexFile

    @classmethod
    def parse(cls, value: object, where: str) -> AddedTerms:
        """Read the record from JSON, or raise `Misfit`."""
        body = expect_object(value, keys_of(cls), where)
        terms = expect_whole(body["terms"], f"{where}.terms", 1, MAX_TERMS)
        return cls(terms, file_of(body["file"], f"{where}.file", "added"))


@dataclass(frozen=True)
class IdfRecord:
    """Inverse document frequency that is part of the stored weights.

    Searches multiply the weight of a query term by the ratio of its current idf to the one in the stored weights, both
    ln(1 + (N - df + 0.5) / (df + 0.5)) to a power. The df of the stored weights are in the attachment
    `DOCUMENT_FREQUENCIES`, one for each term of the build; 1 is the least.

    Attributes
    ----------
    power : float
        Power of the idf, above 0.
    documents : int
        N of the stored weights.
    """

    power: float
    documents: int

    @classmethod
    def parse(cls, value: object) -> IdfRecord:
        """Read the record from JSON, or raise `Misfit`."""
        body = expect_object(value, keys_of(cls), "idf")
        power = expect_number(body["power"], "idf.power", 0, MAX_IDF_POWER)
        return cls(power, expect_whole(body["documents"], "idf.documents", 1))


def file_of(value: object, where: str, kind: str) -> IndexFile:
    """Read a file from JSON, or raise `Misfit`."""
    body = expect_object(value, keys_of(IndexFile), where)
    digest = expect_digest(body["sha256"], f"{where}.sha256")
    name = expect_choice(body["name"], f"{where}.name", (file_name(kind, digest),))
    return IndexFile(name, expect_whole(body["length"], f"{where}.length", 0), digest)


def keys_of(record: type, version: int = VERSION) -> set[str]:
    """Return the keys of a record in a version of the format."""
    return {each.name for each in fields(record) if each.metadata.get(SINCE, 1) <= version}


def _real(value: object, where: str) -> float:
    """Return a number that is written with a decimal point or an exponent, or raise `Misfit`."""
    if type(value) is not float or not 0 <= value < math.inf:
        raise Misfit(f"{where} as a number of 0 or more", value)
    return value
