"""Manifest of an index: the JSON file that lists the files of the index and describes their contents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, field
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
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.index.container import VERSION, IndexFile, corrupt, open_index_file
from termwise.index.encoder_description import TEXT_KEYS, EncoderDescription
from termwise.index.manifest_records import (
    DOCUMENT_FREQUENCIES,
    MAX_TERMS,
    SINCE,
    AddedTerms,
    IdfRecord,
    QuantiserRecord,
    SegmentRecord,
    VectorsRecord,
    file_of,
    keys_of,
)
from termwise.storage.manifest_json import (
    Misfit,
    canonical_bytes,
    expect_flag,
    expect_list,
    expect_mapping,
    expect_object,
    expect_text,
    expect_whole,
    sealed,
    unsealed,
)
from termwise.storage.model_folder import MIXTURE, MIXTURE_BUILD, kind_of
from termwise.storage.safe_read import is_file

NAME = "manifest.json"
NEW = "manifest.json.new"
FORMAT = "termwise-index"

BUILD = ".termwise-build-"
"""Start of the name of the folder in which a build keeps its files until they are published."""

FILE = re.compile(
    r"(?:(?:terms|added|segment|ids|texts|vectors|attributes|deletions|graph)-[0-9a-f]{16}\.tw|attachment-[0-9a-f]{16}\.bin)"
)
"""Names of the files of an index; see `file_name`."""

MAX_MANIFEST = 256_000_000
"""Largest size of a manifest in bytes."""


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
    encoder : EncoderDescription
        Model, analyzer and query encoder.
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
    chunk : int
        Largest number of words of a chunk; 0 if documents are not cut into chunks.
    html : bool
        Whether the texts of documents are HTML, of which the plain text is indexed and stored.
    fields : tuple of str
        Names of the fields that make up a text, in this order; empty if the build did not name them.
    field_weights : mapping of str to int
        Weights of these fields, which stored texts keep apart; empty if texts have no fields.
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
    encoder: EncoderDescription
    quantiser: QuantiserRecord
    terms_file: IndexFile
    segments: tuple[SegmentRecord, ...]
    attachments: Mapping[str, IndexFile] = field(default_factory=dict)
    vectors: VectorsRecord | None = field(default=None, metadata={SINCE: 2})
    written_by: str = ""
    chunk: int = 0
    html: bool = False
    fields: tuple[str, ...] = ()
    field_weights: Mapping[str, int] = field(default_factory=dict)
    generation: int = field(default=0, metadata={SINCE: 3})
    added_terms: tuple[AddedTerms, ...] = field(default=(), metadata={SINCE: 3})
    built_vocabulary: str = field(default="", metadata={SINCE: 3})
    idf: IdfRecord | None = field(default=None, metadata={SINCE: 3})
    schema: Mapping[str, str] = field(default_factory=dict, metadata={SINCE: 3})

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

    def files(self) -> Iterator[IndexFile]:
        """Yield all files of the index except the manifest."""
        yield self.terms_file
        for added in self.added_terms:
            yield added.file
        for segment in self.segments:
            yield from segment.files()
        yield from self.attachments.values()

    def encoder_json(self) -> dict[str, Any]:
        """Return the object ``encoder`` of the file, which also describes the texts: chunks, HTML and fields."""
        described = dict(self.encoder.json)
        if self.chunk:
            described["chunk"] = self.chunk
        if self.html:
            described["html"] = True
        if self.field_weights:
            described["field_weights"] = [[name, weight] for name, weight in self.field_weights.items()]
        elif self.fields:
            described["fields"] = list(self.fields)
        return described

    def to_bytes(self) -> bytes:
        """Serialise in canonical form with a checksum."""
        return self._serialised

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the serialised manifest, which changes with every build and every change of the index."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @cached_property
    def _serialised(self) -> bytes:
        values = asdict(self) | {"encoder": self.encoder_json()}
        body = {key: values[key] for key in keys_of(Manifest, self.version).difference(TEXT_KEYS)}
        known = keys_of(SegmentRecord, self.version)
        body["segments"] = [{key: segment[key] for key in known} for segment in body["segments"]]
        return sealed({"format": FORMAT, "version": self.version, **body})

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


def _build(path: Path | Code) -> Fix:
    return Fix.sentence("build an index: {}", Fix.call("build_index", Code("COLLECTION"), path))


def _no_manifest(folder: Path) -> MissingFileError | NotAnIndexError:
    if is_file(folder.parent / MIXTURE):
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
    names = keys_of(Manifest, version).difference(TEXT_KEYS) | {"format", "version", "checksum"}
    body = expect_object(body, names, "manifest")
    records = expect_list(body["segments"], "segments")
    if not records:
        raise Misfit("segments, at least one", "none")
    segments = tuple(SegmentRecord.parse(value, f"segments[{i}]", version) for i, value in enumerate(records))
    vectors = None
    if version == 2 or body.get("vectors") is not None:
        vectors = VectorsRecord.parse(body["vectors"])
    for i, segment in enumerate(segments):
        if (segment.vectors is None) != (vectors is None):
            raise Misfit(
                f"segments[{i}] {'with' if vectors else 'without'} vectors, as the index", "the opposite"
            )
    if not isinstance(body["written_by"], str):
        raise Misfit("written_by as a string", body["written_by"])
    encoder = expect_mapping(body["encoder"], "encoder")
    attachments = expect_mapping(body["attachments"], "attachments")
    return Manifest(
        documents=_total(body, "documents", [segment.live for segment in segments]),
        postings=_total(body, "postings", [segment.postings for segment in segments]),
        terms=expect_whole(body["terms"], "terms", 0, MAX_TERMS),
        vocabulary=expect_text(body["vocabulary"], "vocabulary"),
        background=expect_flag(body["background"], "background"),
        encoder=EncoderDescription.parse(
            {key: value for key, value in encoder.items() if key not in TEXT_KEYS}
        ),
        quantiser=QuantiserRecord.parse(body["quantiser"]),
        terms_file=file_of(body["terms_file"], "terms_file", "terms"),
        segments=segments,
        attachments={
            name: file_of(value, f"attachments[{name!r}]", "attachment")
            for name, value in attachments.items()
        },
        vectors=vectors,
        written_by=body["written_by"],
        **_texts(encoder),
        **(_changes(body) if version > 2 else {}),
    )


def _texts(encoder: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a manifest that describe the texts, from the object ``encoder``."""
    weights: dict[str, int] = {}
    for place, pair in enumerate(expect_list(encoder.get("field_weights", []), "encoder.field_weights")):
        where = f"encoder.field_weights[{place}]"
        if len(expect_list(pair, where)) != 2 or expect_text(pair[0], where) in weights:
            raise Misfit(f"{where} as the name of another field and its weight", shown(pair))
        weights[pair[0]] = expect_whole(pair[1], where, 1)
    names = expect_list(encoder.get("fields", []), "encoder.fields")
    return {
        "chunk": expect_whole(encoder.get("chunk", 0), "encoder.chunk", 0),
        "html": expect_flag(encoder.get("html", False), "encoder.html"),
        "fields": tuple(weights)
        or tuple(expect_text(name, f"encoder.fields[{place}]") for place, name in enumerate(names)),
        "field_weights": weights,
    }


def _changes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a manifest that version 3 adds."""
    added = tuple(
        AddedTerms.parse(value, f"added_terms[{number}]")
        for number, value in enumerate(expect_list(body["added_terms"], "added_terms"))
    )
    expect_whole(body["terms"], "terms", sum(record.terms for record in added), MAX_TERMS)
    built = body["built_vocabulary"]
    if not isinstance(built, str) or bool(built) != bool(added):
        raise Misfit("built_vocabulary, as a string that is empty without added terms", built)
    idf = None if body["idf"] is None else IdfRecord.parse(body["idf"])
    if idf is not None and DOCUMENT_FREQUENCIES not in body["attachments"]:
        raise Misfit(f"an attachment {DOCUMENT_FREQUENCIES}, as there is an idf", "none")
    try:
        schema = dict(Schema(expect_mapping(body["schema"], "schema")))
    except (ParameterError, UnknownNameError) as error:
        raise Misfit("a schema of fields with known types", error.message) from None
    return {
        "generation": expect_whole(body["generation"], "generation", 0 if schema else 1),
        "added_terms": added,
        "built_vocabulary": built,
        "idf": idf,
        "schema": schema,
    }


def _total(body: Mapping[str, Any], name: str, parts: list[int]) -> int:
    if type(body[name]) is not int or body[name] != sum(parts):
        raise Misfit(f"{sum(parts)} {name}, the sum over the segments", body[name])
    return sum(parts)
