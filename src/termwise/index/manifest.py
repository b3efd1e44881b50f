"""Manifest of an index: the JSON file that lists the files of the index and describes their contents."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from termwise.attributes import Schema
from termwise.display.safe_text import shown
from termwise.errors import (
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
    ParameterError,
    UnknownNameError,
)
from termwise.fixes import Code, Fix
from termwise.index.container import VERSION, IndexFile, corrupt, file_name, open_index_file, storage_errors
from termwise.storage.atomic_file import sync_folder, write_synced
from termwise.storage.manifest_json import (
    Misfit,
    canonical_bytes,
    expect_choice,
    expect_digest,
    expect_number,
    expect_object,
    expect_objects,
    expect_text,
    expect_whole,
    sealed,
    unsealed,
)
from termwise.storage.model_folder import MIXTURE, MIXTURE_BUILD, kind_of
from termwise.storage.safe_read import read_regular
from termwise.vectors import LARGEST_SCALE, MOST_DIMENSIONS, SCALES, SMALLEST_SCALE

NAME = "manifest.json"
NEW = "manifest.json.new"
FORMAT = "termwise-index"

BUILD = ".termwise-build-"
"""Start of the name of the folder in which a build keeps its files until they are published."""

FILE = re.compile(
    r"(?:(?:terms|added|segment|ids|texts|vectors|attributes|deletions|graph)-[0-9a-f]{16}\.tw|attachment-[0-9a-f]{16}\.bin)"
)
"""Names of the files of an index; see `file_name`."""

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

MAX_MANIFEST = 256_000_000
"""Largest size of a manifest in bytes."""

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
    vectors: IndexFile | None = None
    terms: int | None = None
    shift: int = 0
    deletions: int = 0
    deleted: IndexFile | None = None
    attributes: IndexFile | None = None

    @property
    def live(self) -> int:
        """Number of documents that are not deleted."""
        return self.documents - self.deletions


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


@dataclass(frozen=True)
class AddedTerms:
    """Terms that were added to an index after its build: their number and their file."""

    terms: int
    file: IndexFile


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


@dataclass(frozen=True)
class Manifest:
    """Contents and files of an index.

    Attributes
    ----------
    documents, postings, terms : int
        Totals, without deleted documents but with their postings, and with added terms; the reserved background term is
        not counted.
    vocabulary : str
        `Vocabulary.id` of the terms.
    background : bool
        Whether documents have a bias.
    encoder : mapping
        JSON-like description of model, analyzer and query encoder, stored without interpretation.
    quantiser : QuantiserRecord
        Parameters and errors of the quantisation.
    terms_file : IndexFile
        Tokens and per-term numbers.
    segments : tuple of SegmentRecord
        Parts of the collection, in the order of the input.
    attachments : mapping of str to IndexFile
        Files of the model or query encoder, such as a ``tokenizer.json``.
    vectors : VectorsRecord or None
        Parameters of the vectors, if the index has them.
    written_by : str
        Program and version that wrote the index.
    generation : int
        Number of changes since the index was built.
    added_terms : tuple of AddedTerms
        Terms that were added since, in the order of their numbers.
    built_vocabulary : str
        `Vocabulary.id` of the terms of the build, if terms were added; otherwise empty.
    idf : IdfRecord or None
        Inverse document frequency in the stored weights, if searches adapt it to the current documents.
    schema : mapping of str to str
        Types of the attributes by field.
    """

    documents: int
    postings: int
    terms: int
    vocabulary: str
    background: bool
    encoder: Mapping[str, Any]
    quantiser: QuantiserRecord
    terms_file: IndexFile
    segments: tuple[SegmentRecord, ...]
    attachments: Mapping[str, IndexFile] = field(default_factory=dict)
    vectors: VectorsRecord | None = None
    written_by: str = ""
    generation: int = 0
    added_terms: tuple[AddedTerms, ...] = ()
    built_vocabulary: str = ""
    idf: IdfRecord | None = None
    schema: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """Version of the index format: the first one that can represent the contents."""
        if self.generation or self.schema:
            return 3
        return 1 if self.vectors is None else 2

    @property
    def built_terms(self) -> int:
        """Number of terms of the build."""
        return self.terms - sum(added.terms for added in self.added_terms)

    @property
    def chunk(self) -> int:
        """Largest number of words of a chunk; 0 if documents are not cut into chunks."""
        return int(self.encoder.get("chunk", 0))

    @cached_property
    def field_weights(self) -> Mapping[str, int]:
        """Weights of the fields of a text, in the order of its stored fields; empty if texts have no fields."""
        return dict(self.encoder.get("field_weights", ()))

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that make up a text, in this order; empty if the build did not name them."""
        return tuple(self.field_weights) or tuple(self.encoder.get("fields", ()))

    def files(self) -> Iterator[IndexFile]:
        """Yield all files of the index except the manifest."""
        yield self.terms_file
        for added in self.added_terms:
            yield added.file
        for segment in self.segments:
            yield segment.views
            yield segment.ids
            if segment.texts is not None:
                yield segment.texts
            if segment.vectors is not None:
                yield segment.vectors
            if segment.attributes is not None:
                yield segment.attributes
            if segment.deleted is not None:
                yield segment.deleted
        yield from self.attachments.values()

    def to_bytes(self) -> bytes:
        """Serialise in canonical form with a checksum."""
        return self._serialised

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the serialised manifest, which changes with every build and every change of the index."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @cached_property
    def _serialised(self) -> bytes:
        body = {"format": FORMAT, "version": self.version, **asdict(self)}
        for key in _later(Manifest, self.version):
            del body[key]
        for key in _later(SegmentRecord, self.version):
            for segment in body["segments"]:
                del segment[key]
        return sealed(body)

    @classmethod
    def read(cls, folder: Path, *, known: Manifest | None = None) -> Manifest:
        """Read the manifest of an index folder; return `known` if it is the current one.

        Raises
        ------
        MissingFileError
            If the folder does not exist or cannot be read.
        NotAnIndexError, NewerFormatError, CorruptIndexError
            If it is not an index, was written by a later version, or is damaged.
        """
        path = folder / NAME
        try:
            with open_index_file(path, MAX_MANIFEST) as file:
                data = file.read()
        except FileNotFoundError:
            raise _no_manifest(folder) from None
        except NotADirectoryError:
            raise NotAnIndexError(
                "this is a file, but an index is a folder",
                facts=[("path", folder)],
                fixes=[_build(Code("DIR"))],
            ) from None
        except OSError as error:
            raise MissingFileError.of(
                "the index cannot be read",
                path,
                error,
                fixes=["check that the path is a file that you may read", _build(Code("DIR"))],
            ) from error
        if known is not None and known.to_bytes() == data:
            return known
        return cls.parse(data, path)

    @classmethod
    def parse(cls, data: bytes, path: Path) -> Manifest:
        """Read a manifest from its bytes; errors name `path`."""
        try:
            body = unsealed(
                data,
                FORMAT,
                VERSION,
                foreign=lambda: NotAnIndexError(
                    "this manifest does not belong to a termwise index",
                    facts=[("file", path), ("expected", f'"format": "{FORMAT}"')],
                ),
                later=lambda version: NewerFormatError(
                    "this index was written by a later version of termwise",
                    facts=[("file", path), ("format", version), ("known here", VERSION)],
                    fixes=["install a newer version of termwise"],
                ),
            )
            if canonical_bytes(body) != data:
                raise Misfit("a manifest in canonical form", "another form of the same content")
            manifest = _manifest(body)
        except Misfit as misfit:
            raise corrupt(path, misfit.offset or 0, misfit.expected, misfit.seen) from None
        manifest.__dict__["_serialised"] = data  # the cached value, which was just compared
        return manifest


def publish(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest of `folder` in one atomic step that survives a crash."""
    stage(folder, manifest)
    try:
        publish_staged(folder)
    except BaseException:
        with suppress(OSError):
            (folder / NEW).unlink()
        raise


def stage(folder: Path, manifest: Manifest) -> None:
    """Write a manifest to ``manifest.json.new`` and flush it to the disk; `publish_staged` makes it the current one."""
    temporary = folder / NEW
    with storage_errors(temporary):
        try:
            write_synced(temporary, manifest.to_bytes())
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def publish_staged(folder: Path) -> None:
    """Replace the manifest of `folder` by the one that `stage` wrote."""
    with storage_errors(folder / NEW):
        (folder / NEW).replace(folder / NAME)
    with storage_errors(folder):
        sync_folder(folder)


def staged_manifest(folder: Path, sha256: str) -> Manifest | None:
    """Return the manifest that `stage` wrote; None if there is none with this SHA-256."""
    try:
        data = read_regular(folder / NEW, MAX_MANIFEST)
    except (OSError, Misfit):
        return None
    return Manifest.parse(data, folder / NEW) if hashlib.sha256(data).hexdigest() == sha256 else None


def json_copy(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of an encoder as it is read back from a manifest.

    Raises
    ------
    ParameterError
        If JSON cannot represent it, or its model has the wrong type.
    """
    try:
        copy: dict[str, Any] = json.loads(canonical_bytes(dict(description)).decode("utf-8", "surrogatepass"))
        _check_encoder(copy)
    except Misfit as misfit:
        raise ParameterError(
            "the description of the encoder has a value of the wrong type",
            facts=[("expected", misfit.expected), ("given", misfit.seen)],
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            "the description of the encoder cannot be written as JSON", facts=[("reason", error)]
        ) from None
    return copy


def _build(path: Path | Code) -> Fix:
    return Fix.sentence("build an index: {}", Fix.call("build_index", Code("COLLECTION"), path))


def _no_manifest(folder: Path) -> MissingFileError | NotAnIndexError:
    around = kind_of(folder.parent)
    if around is not None and around.manifest == MIXTURE:
        missing = NotAnIndexError if folder.exists() else MissingFileError
        return missing(
            "the index of a part is missing from the mixture",
            facts=[("mixture", folder.parent), ("missing", folder / NAME)],
            fixes=["build the mixture again"],
        )
    build = _build(folder)
    if not folder.exists():
        return MissingFileError("there is no such index", facts=[("path", folder)], fixes=[build])
    names: list[str] = []
    with suppress(OSError):  # it may be removed meanwhile
        names = [entry.name for entry in folder.iterdir()]
    if any(name.startswith(BUILD) for name in names):
        return NotAnIndexError(
            "the build of this index was not finished", facts=[("path", folder)], fixes=[build]
        )
    if (kind := kind_of(folder)) is None and MIXTURE_BUILD in names:
        return NotAnIndexError(
            "the build of this mixture was not finished",
            facts=[("path", folder)],
            fixes=["run its command again: finished blocks of documents are kept"],
        )
    if kind is not None:
        return NotAnIndexError(
            f"this folder is {kind.noun}, not an index",
            facts=[("path", folder), ("found", kind.manifest), ("missing", NAME)],
            fixes=kind.uses,
        )
    if names:
        build = _build(Code("DIR"))
    return NotAnIndexError(
        "this folder holds no index", facts=[("path", folder), ("missing", NAME)], fixes=[build]
    )


def _manifest(body: Mapping[str, Any]) -> Manifest:
    """Build a manifest from JSON, or raise `Misfit` for a missing, unknown or invalid value."""
    version = expect_whole(body.get("version"), "version", 1, VERSION)
    names = _names(Manifest) | {"format", "version", "checksum"}
    body = expect_object(body, names - _later(Manifest, version), "manifest")
    if not isinstance(body["segments"], list) or not body["segments"]:
        raise Misfit("segments, at least one", body["segments"])
    segments = tuple(_segment(value, f"segments[{i}]", version) for i, value in enumerate(body["segments"]))
    vectors = _vectors(body["vectors"]) if version == 2 or body.get("vectors") is not None else None
    for i, segment in enumerate(segments):
        if (segment.vectors is None) != (vectors is None):
            raise Misfit(
                f"segments[{i}] {'with' if vectors else 'without'} vectors, as the index", "the opposite"
            )
    expect_objects(body, ("encoder", "attachments"))
    _check_encoder(body["encoder"])
    if not isinstance(body["background"], bool):
        raise Misfit("background as true or false", body["background"])
    if not isinstance(body["written_by"], str):
        raise Misfit("written_by as a string", body["written_by"])
    return Manifest(
        documents=_total(body, "documents", [segment.live for segment in segments]),
        postings=_total(body, "postings", [segment.postings for segment in segments]),
        terms=expect_whole(body["terms"], "terms", 0, MAX_TERMS),
        vocabulary=expect_text(body["vocabulary"], "vocabulary"),
        background=body["background"],
        encoder=body["encoder"],
        quantiser=_quantiser(body["quantiser"]),
        terms_file=_file(body["terms_file"], "terms_file", "terms"),
        segments=segments,
        attachments={
            name: _file(value, f"attachments[{name!r}]", "attachment")
            for name, value in body["attachments"].items()
        },
        vectors=vectors,
        written_by=body["written_by"],
        **(_changes(body) if version > 2 else {}),
    )


def _changes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a manifest that version 3 adds."""
    if not isinstance(body["added_terms"], list):
        raise Misfit("added_terms as an array", type(body["added_terms"]).__name__)
    added = []
    for number, value in enumerate(body["added_terms"]):
        where = f"added_terms[{number}]"
        record = expect_object(value, _names(AddedTerms), where)
        terms = expect_whole(record["terms"], f"{where}.terms", 1, MAX_TERMS)
        added.append(AddedTerms(terms, _file(record["file"], f"{where}.file", "added")))
    expect_whole(body["terms"], "terms", sum(record.terms for record in added), MAX_TERMS)
    built = body["built_vocabulary"]
    if not isinstance(built, str) or bool(built) != bool(added):
        raise Misfit("built_vocabulary, as a string that is empty without added terms", built)
    idf = None
    if body["idf"] is not None:
        record = expect_object(body["idf"], _names(IdfRecord), "idf")
        power = expect_number(record["power"], "idf.power", 0, MAX_IDF_POWER)
        idf = IdfRecord(float(power), expect_whole(record["documents"], "idf.documents", 1))
        if DOCUMENT_FREQUENCIES not in body["attachments"]:
            raise Misfit(f"an attachment {DOCUMENT_FREQUENCIES}, as there is an idf", "none")
    return {
        "generation": expect_whole(body["generation"], "generation", 0 if body["schema"] else 1),
        "added_terms": tuple(added),
        "built_vocabulary": built,
        "idf": idf,
        "schema": _schema(body["schema"]),
    }


def _schema(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Misfit("schema as an object", type(value).__name__)
    try:
        return dict(Schema(value))
    except (ParameterError, UnknownNameError) as error:
        raise Misfit("a schema of fields with known types", error.message) from None


def _check_encoder(encoder: Mapping[str, Any]) -> None:
    """Check the types of the model, the fields, and the parts of a fused index, where the description has them."""
    fields = encoder.get("field_weights", [])
    if not isinstance(fields, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in fields):
        raise Misfit("encoder.field_weights as an array of pairs", shown(fields))
    for name, weight in fields:
        expect_whole(weight, f"encoder.field_weights[{expect_text(name, 'encoder.field_weights')!r}]", 1)
    names = encoder.get("fields", [])
    if not isinstance(names, list):
        raise Misfit("encoder.fields as an array", type(names).__name__)
    for number, name in enumerate(names):
        expect_text(name, f"encoder.fields[{number}]")
    expect_whole(encoder.get("chunk", 0), "encoder.chunk", 0)
    parts = encoder.get("parts", [])
    if not isinstance(parts, list):
        raise Misfit("encoder.parts as an array", type(parts).__name__)
    described = [("encoder", encoder)]
    for number, part in enumerate(parts):
        where = f"encoder.parts[{number}]"
        if not isinstance(part, dict) or not {"model", "weight"} <= part.keys():
            raise Misfit(f"{where} as an object with model and weight", type(part).__name__)
        expect_number(part["weight"], f"{where}.weight", -math.inf, math.inf)
        described.append((where, part))
    for where, body in described:
        model = body.get("model", {})
        if not isinstance(model, dict):
            raise Misfit(f"{where}.model as an object", type(model).__name__)
        expect_objects({"parameters": {}, **model}, ("parameters",), f"{where}.model.")


def _segment(value: object, where: str, version: int) -> SegmentRecord:
    body = expect_object(value, _names(SegmentRecord) - _later(SegmentRecord, version), where)

    def optional(kind: str) -> IndexFile | None:
        return None if body.get(kind) is None else _file(body[kind], f"{where}.{kind}", kind)

    documents = expect_whole(body["documents"], f"{where}.documents", 1, MAX_DOCUMENTS)
    changes: dict[str, Any] = {}
    if version > 2:
        deletions = expect_whole(body["deletions"], f"{where}.deletions", 0, documents)
        deleted = None
        if deletions:
            deleted = _file(body["deleted"], f"{where}.deleted", "deletions")
        elif body["deleted"] is not None:
            raise Misfit(f"{where}.deleted as null without deletions", body["deleted"])
        terms = body["terms"]
        changes = {
            "terms": None if terms is None else expect_whole(terms, f"{where}.terms", 0, MAX_TERMS),
            "shift": expect_whole(body["shift"], f"{where}.shift", 0, MAX_SHIFT),
            "deletions": deletions,
            "deleted": deleted,
            "attributes": optional("attributes"),
        }
    return SegmentRecord(
        documents=documents,
        postings=expect_whole(body["postings"], f"{where}.postings", 0, MAX_POSTINGS),
        block_bits=expect_whole(body["block_bits"], f"{where}.block_bits", BLOCK_BITS, BLOCK_BITS),
        views=_file(body["views"], f"{where}.views", "views"),
        ids=_file(body["ids"], f"{where}.ids", "ids"),
        texts=optional("texts"),
        vectors=optional("vectors"),
        **changes,
    )


def _quantiser(value: object) -> QuantiserRecord:
    body = expect_object(value, _names(QuantiserRecord), "quantiser")
    numbers = {
        name: _real(body[name], f"quantiser.{name}")
        for name in ("scale", "largest", "max_error", "mean_error", "bias_error")
    }
    if not MIN_SCALE <= numbers["scale"] <= MAX_SCALE:
        raise Misfit(f"a quantiser.scale from {MIN_SCALE:g} to {MAX_SCALE:g}", numbers["scale"])
    return QuantiserRecord(
        kind=expect_choice(body["kind"], "quantiser.kind", ("uint8", "float32")),
        bias_bits=expect_whole(body["bias_bits"], "quantiser.bias_bits", 0, MAX_BIAS_BITS),
        raised=expect_whole(body["raised"], "quantiser.raised", 0),
        dropped=expect_whole(body["dropped"], "quantiser.dropped", 0),
        **numbers,
    )


def _vectors(value: object) -> VectorsRecord:
    body = expect_object(value, _names(VectorsRecord), "vectors")
    scale = _real(body["scale"], "vectors.scale")
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise Misfit(f"a vectors.scale {SCALES}", scale)
    return VectorsRecord(expect_whole(body["dimensions"], "vectors.dimensions", 1, MOST_DIMENSIONS), scale)


def _file(value: object, where: str, kind: str) -> IndexFile:
    body = expect_object(value, _names(IndexFile), where)
    digest = expect_digest(body["sha256"], f"{where}.sha256")
    name = expect_choice(body["name"], f"{where}.name", (file_name(kind, digest),))
    return IndexFile(name, expect_whole(body["length"], f"{where}.length", 0), digest)


def _later(record: type, version: int) -> set[str]:
    """Return the names of the fields of a record that a version of the format lacks."""
    since = {
        Manifest: {
            "vectors": 2,
            "generation": 3,
            "added_terms": 3,
            "built_vocabulary": 3,
            "idf": 3,
            "schema": 3,
        },
        SegmentRecord: {"vectors": 2, "terms": 3, "shift": 3, "deletions": 3, "deleted": 3, "attributes": 3},
    }
    return {name for name, first in since[record].items() if first > version}


def _names(record: type) -> set[str]:
    return {each.name for each in fields(record)}


def _total(body: Mapping[str, Any], name: str, parts: list[int]) -> int:
    if type(body[name]) is not int or body[name] != sum(parts):
        raise Misfit(f"{sum(parts)} {name}, the sum over the segments", body[name])
    return sum(parts)


def _real(value: object, where: str) -> float:
    """Return a number that is written with a decimal point or an exponent, or raise `Misfit`."""
    if type(value) is not float or not 0 <= value < math.inf:
        raise Misfit(f"{where} as a number of 0 or more", value)
    return value
