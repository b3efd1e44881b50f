"""Manifest of an encoder folder: kind, tokenizer, files and defaults of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from termwise.fast_dataclass import dataclass
from termwise.models.idf_power import LARGEST_POWER
from termwise.models.tildev2 import Counting
from termwise.storage.file_record import FileRecord, digest_of
from termwise.storage.manifest_json import (
    Misfit,
    expect_choice,
    expect_file_name,
    expect_number,
    expect_object,
    expect_objects,
    expect_text,
    expect_whole,
)
from termwise.storage.model_folder import ModelFolders
from termwise.text import CleanMode
from termwise.text.analyzer_files import AnalyzerRecord
from termwise.vectors import LARGEST_SCALE, MOST_DIMENSIONS, SMALLEST_SCALE

NAME = "encoder.json"
DOCUMENT_TOKENIZER = "document_tokenizer.json"
VERSION = 1

FOLDERS = ModelFolders(
    noun="encoder",
    article="an",
    format="termwise-encoder",
    version=VERSION,
    repairs=("copy the folder again, or export the encoder again",),
)

EncoderKind = Literal["tilde", "tildev2", "splade-doc", "lookup"]
NetworkPrecision = Literal["float32", "int8"]

NETWORK_PRECISIONS: tuple[NetworkPrecision, ...] = get_args(NetworkPrecision)

MAX_TERMS = (1 << 31) - 1
MAX_POSITIONS = 1 << 16


@dataclass(frozen=True)
class SpecialIds:
    """Ids of the special tokens.

    Attributes
    ----------
    document, query : int
        Kind tilde: position 0 of a document and of a query. Other kinds have `cls` there.
    cls, sep, pad : int
        Start of the input, separator, and padding.
    """

    document: int
    query: int
    cls: int
    sep: int
    pad: int


@dataclass(frozen=True)
class DocumentTokenizerRecord:
    """Tokenizer of documents that differs from that of queries, see `termwise.encode.document_tokenizer`.

    `terms` is the number of rows of the embedding of the network; `special` are among these rows.
    """

    terms: int
    special: SpecialIds


@dataclass(frozen=True)
class ExpansionRecord:
    """Default expansion of documents for a network of kind tildev2.

    It is the expansion of the training passages, but `terms` and `lift` may have been changed after training.

    Attributes
    ----------
    terms : int
        Number of appended terms.
    counting : {"new", "raw"}
        What `terms` counts, see `expand`.
    length : int
        Number of pieces in a window of the expanding encoder, including two special tokens.
    encoder, name : str
        `EncoderFolder.id` and name of the expanding encoder.
    lift : float
        See `TildeV2.expansion_lift`.
    """

    terms: int
    counting: Counting
    length: int
    encoder: str
    name: str
    lift: float = 0.0


@dataclass(frozen=True)
class EncoderFile(FileRecord):
    """Record of a file: SHA-256, size in bytes and, for a network, its precision."""

    precision: NetworkPrecision | None = None

    @classmethod
    def of(cls, path: Path, *, precision: NetworkPrecision | None = None) -> EncoderFile:
        """Return the record of a file."""
        return cls(digest_of(path), path.stat().st_size, precision)

    @classmethod
    def parse(cls, value: object, where: str) -> EncoderFile:
        """Parse the record of a manifest, or raise `Misfit`."""
        if isinstance(value, dict):
            value = {"precision": None, **value}
        body = expect_object(value, {"sha256", "bytes", "precision"}, where)
        plain = FileRecord.parse({name: body[name] for name in ("sha256", "bytes")}, where)
        precision = body["precision"]
        if precision is not None:
            precision = expect_choice(precision, f"{where}.precision", NETWORK_PRECISIONS)
        return cls(plain.sha256, plain.bytes, cast("NetworkPrecision | None", precision))


@dataclass(frozen=True, kw_only=True)
class EncoderManifest:
    """Manifest of an encoder folder.

    Attributes
    ----------
    kind : {"tilde", "tildev2", "splade-doc", "lookup"}
        Output of the network, see `termwise.encode.encoder_folder`.
    tokenizer : AnalyzerRecord
        Of queries and, unless `document_tokenizer` is there, of documents.
    terms : int
        Size of its vocabulary.
    cleaning : {"paper", "repo", "none"}
        Cleaning of the vocabulary, see `clean_vocabulary`.
    special : SpecialIds
        Ids of the special tokens of this vocabulary.
    positions : int
        Largest number of pieces in an input, including special tokens.
    length : int
        Default number of pieces in a window at index time, including two special tokens; at most `positions`.
    expansion : ExpansionRecord or None
        Kind tildev2: expansion of the training passages.
    idf_power : float
        Kinds tildev2 and splade-doc: default power of the idf that weights are multiplied by, see
        `termwise.models.idf_power`; 0 for none.
    files : mapping of str to EncoderFile
        Networks, floors, query weights, query table and tokenizer of documents by file name.
    dimensions : int or None
        Kind lookup: number of dimensions of a vector.
    query_scale : float or None
        Kind lookup: `TermVectors.scale` of the query table.
    document_tokenizer : DocumentTokenizerRecord or None
        Kind lookup: tokenizer of documents, if the network has another vocabulary than queries.
    document_prompt : str
        Kind lookup: text that the network reads before each window of a document; empty for none.
    trained : mapping
        Facts about the training: free JSON, not interpreted.
    version : int
        Version of the format.
    """

    kind: EncoderKind
    tokenizer: AnalyzerRecord
    terms: int
    cleaning: CleanMode
    special: SpecialIds
    positions: int
    length: int
    expansion: ExpansionRecord | None
    files: Mapping[str, EncoderFile]
    idf_power: float = 0.0
    dimensions: int | None = None
    query_scale: float | None = None
    document_tokenizer: DocumentTokenizerRecord | None = None
    document_prompt: str = ""
    trained: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    @property
    def defaults(self) -> dict[str, Any]:
        """Default values of the parameters of the model.

        ``length`` and ``idf_power``; with an expansion also ``expansion_terms``, ``counting`` and ``expansion_lift``.
        """
        defaults: dict[str, Any] = {"length": self.length, "idf_power": self.idf_power}
        if self.expansion is not None:
            defaults |= {
                "expansion_terms": self.expansion.terms,
                "counting": self.expansion.counting,
                "expansion_lift": self.expansion.lift,
            }
        return defaults

    def to_bytes(self) -> bytes:
        """Serialise the manifest, see `ModelFolders.sealed`; other kinds have no fields of the kind lookup."""
        body = asdict(self)
        return FOLDERS.sealed(
            {name: value for name, value in body.items() if (name, value) not in _LOOKUP_DEFAULTS.items()}
        )

    @classmethod
    def parse(cls, data: bytes, path: Path) -> EncoderManifest:
        """Parse a manifest, see `ModelFolders.parsed`."""
        return FOLDERS.parsed(data, path, _manifest)

    def networks(self) -> dict[NetworkPrecision, str]:
        """Return the network file of each precision."""
        return {record.precision: name for name, record in self.files.items() if record.precision is not None}


_LOOKUP_DEFAULTS: dict[str, Any] = {
    "dimensions": None,
    "query_scale": None,
    "document_tokenizer": None,
    "document_prompt": "",
}
"""Fields that only the kind lookup has, and the value of each in other kinds."""


def _manifest(body: Mapping[str, Any]) -> EncoderManifest:
    body = expect_object(
        {"idf_power": 0.0, **_LOOKUP_DEFAULTS, **body},
        {field.name for field in fields(EncoderManifest)} | {"format", "checksum"},
        "manifest",
    )
    version = expect_whole(body["version"], "version", 1, VERSION)
    terms = expect_whole(body["terms"], "terms", 1, MAX_TERMS)
    positions = expect_whole(body["positions"], "positions", 3, MAX_POSITIONS)
    kind = cast(EncoderKind, expect_choice(body["kind"], "kind", get_args(EncoderKind)))
    expect_objects(body, ("files", "trained"))
    expansion = body["expansion"]
    if expansion is not None and kind != "tildev2":
        raise Misfit("an expansion for the kind tildev2 only", kind)
    idf_power = expect_number(body["idf_power"], "idf_power", 0, LARGEST_POWER)
    if idf_power and kind not in ("tildev2", "splade-doc"):
        raise Misfit("an idf for the kinds tildev2 and splade-doc only", kind)
    dimensions, query_scale, documents, prompt = (body[name] for name in _LOOKUP_DEFAULTS)
    if kind == "lookup":
        dimensions = expect_whole(dimensions, "dimensions", 1, MOST_DIMENSIONS)
        query_scale = expect_number(query_scale, "query_scale", SMALLEST_SCALE, LARGEST_SCALE)
        prompt = expect_text(prompt, "document_prompt") if prompt != "" else ""
    elif [dimensions, query_scale, documents, prompt] != list(_LOOKUP_DEFAULTS.values()):
        raise Misfit(f"{', '.join(_LOOKUP_DEFAULTS)} for the kind lookup only", kind)
    manifest = EncoderManifest(
        kind=kind,
        tokenizer=AnalyzerRecord.parse(body["tokenizer"], "tokenizer"),
        terms=terms,
        cleaning=cast(CleanMode, expect_choice(body["cleaning"], "cleaning", get_args(CleanMode))),
        special=_special(body["special"], terms),
        positions=positions,
        length=expect_whole(body["length"], "length", 3, positions),
        expansion=None if expansion is None else _expansion(expansion),
        idf_power=idf_power,
        dimensions=dimensions,
        query_scale=query_scale,
        document_tokenizer=None if documents is None else _document_tokenizer(documents),
        document_prompt=prompt,
        files={
            expect_file_name(name): EncoderFile.parse(value, f"files[{name!r}]")
            for name, value in body["files"].items()
        },
        trained=body["trained"],
        version=version,
    )
    precisions = [record.precision for record in manifest.files.values() if record.precision is not None]
    if not precisions or len(set(precisions)) != len(precisions):
        raise Misfit("files with one network, or one of each precision", ", ".join(precisions) or "none")
    if (manifest.document_tokenizer is not None) != (DOCUMENT_TOKENIZER in manifest.files):
        raise Misfit("document_tokenizer and its file, or neither", ", ".join(manifest.files))
    return manifest


def _special(value: object, terms: int, where: str = "special") -> SpecialIds:
    names = [field.name for field in fields(SpecialIds)]
    body = expect_object(value, set(names), where)
    return SpecialIds(**{name: expect_whole(body[name], f"{where}.{name}", 0, terms - 1) for name in names})


def _document_tokenizer(value: object) -> DocumentTokenizerRecord:
    where = "document_tokenizer"
    body = expect_object(value, {field.name for field in fields(DocumentTokenizerRecord)}, where)
    terms = expect_whole(body["terms"], f"{where}.terms", 1, MAX_TERMS)
    return DocumentTokenizerRecord(terms, _special(body["special"], terms, f"{where}.special"))


def _expansion(value: object) -> ExpansionRecord:
    if isinstance(value, dict):
        value = {"lift": 0.0, **value}
    body = expect_object(value, {field.name for field in fields(ExpansionRecord)}, "expansion")
    return ExpansionRecord(
        terms=expect_whole(body["terms"], "expansion.terms", 1, MAX_POSITIONS),
        counting=cast(Counting, expect_choice(body["counting"], "expansion.counting", get_args(Counting))),
        length=expect_whole(body["length"], "expansion.length", 3, MAX_POSITIONS),
        encoder=expect_text(body["encoder"], "expansion.encoder"),
        name=expect_text(body["name"], "expansion.name"),
        lift=expect_number(body["lift"], "expansion.lift", 0, 1),
    )
