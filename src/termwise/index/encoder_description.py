"""Analyzer, model and settings with which an index encodes texts: the object `encoder` of its manifest."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.storage.manifest_json import (
    Misfit,
    canonical_bytes,
    expect_flag,
    expect_list,
    expect_mapping,
    expect_number,
    expect_text,
    expect_whole,
)
from termwise.text import AnalyzerSpec

FUSION = "fusion"
"""Model name of an index that is a weighted sum of indexes."""

TEXT_KEYS = ("chunk", "field_weights", "fields", "html")
"""Keys of `encoder` in the file that are fields of the manifest; see `Manifest.chunk`."""


DOCUMENTS_OF_LANGUAGE = "documents:"
"""Prefix of the names of statistics that count the documents of each language."""


def documents_of_languages(statistics: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of documents of languages in the statistics of an index.

    Examples
    --------
    >>> documents_of_languages({"documents": 5, "documents:de": 2, "documents:en": 3})
    {'de': 2, 'en': 3}
    """
    return {
        name.removeprefix(DOCUMENTS_OF_LANGUAGE): count
        for name, count in statistics.items()
        if name.startswith(DOCUMENTS_OF_LANGUAGE)
    }


@dataclass(frozen=True)
class ModelRecord:
    """Name and parameters of a model, and whether every weighted term occurs in the text of its document.

    The name is empty if the index does not describe its model.
    """

    name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = False

    @classmethod
    def parse(cls, body: Mapping[str, Any], where: str) -> ModelRecord:
        """Read the record from JSON, or raise `Misfit`."""
        if "model" not in body:
            return cls()
        where = f"{where}.model"
        model = expect_mapping(body["model"], where)
        return cls(
            expect_text(model["name"], f"{where}.name") if "name" in model else "",
            expect_mapping(model.get("parameters", {}), f"{where}.parameters"),
            expect_flag(model.get("exact", False), f"{where}.exact"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON."""
        name = {"name": self.name} if self.name else {}
        return {**name, "parameters": dict(self.parameters), "exact": self.exact}


@dataclass(frozen=True)
class AnalyzerRecord:
    """Specification of an analyzer whose files are attachments of the index; see `AnalyzerSpec`."""

    name: str
    options: Mapping[str, Any]
    files: tuple[str, ...]
    fingerprint: str

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> AnalyzerRecord | None:
        """Read the record from JSON, or raise `Misfit`; None without one."""
        if "analyzer" not in body:
            return None
        where = "encoder.analyzer"
        analyzer = expect_mapping(body["analyzer"], where)
        files = expect_list(analyzer.get("files"), f"{where}.files")
        return cls(
            expect_text(analyzer.get("name"), f"{where}.name"),
            expect_mapping(analyzer.get("options"), f"{where}.options"),
            tuple(expect_text(name, f"{where}.files[{place}]") for place, name in enumerate(files)),
            expect_text(analyzer.get("fingerprint"), f"{where}.fingerprint"),
        )


@dataclass(frozen=True)
class NetworkRecord:
    """Network that weighed the documents, as its encoder describes it; strings are empty where it does not.

    `length` is the number of pieces in a window, `overlap` the number that neighbouring windows share, and
    `document_tokenizer` the SHA-256 of a tokenizer of documents that is not that of queries. `json` is the whole
    description.
    """

    name: str
    id: str
    precision: str
    processor: str
    settings: Mapping[str, Any]
    length: int | None
    overlap: int | None
    idf_power: float
    document_prompt: str
    document_tokenizer: str
    json: Mapping[str, Any]

    @classmethod
    def parse(cls, body: Mapping[str, Any], where: str) -> NetworkRecord | None:
        """Read the record from JSON, or raise `Misfit`; None without one."""
        if "network" not in body:
            return None
        where = f"{where}.network"
        facts = expect_mapping(body["network"], where)
        network = expect_mapping(facts.get("network", {}), f"{where}.network")
        settings = expect_mapping(facts.get("settings", {}), f"{where}.settings")
        length, overlap = settings.get("length"), settings.get("overlap")
        if length is not None:
            length = expect_whole(length, f"{where}.settings.length", 3)
            if overlap is not None:
                overlap = expect_whole(overlap, f"{where}.settings.overlap", 0, length - 3)
        if facts.get("expansion") is not None:
            expect_mapping(facts["expansion"], f"{where}.expansion")
        return cls(
            name=_text(facts, "name", where),
            id=_text(facts, "id", where),
            precision=_text(network, "precision", f"{where}.network"),
            processor=_text(network, "processor", f"{where}.network"),
            settings=settings,
            length=length,
            overlap=overlap,
            idf_power=expect_number(facts.get("idf_power", 0), f"{where}.idf_power", 0, math.inf),
            document_prompt=_text(facts, "document_prompt", where),
            document_tokenizer=_text(facts, "document_tokenizer", where),
            json=facts,
        )


@dataclass(frozen=True)
class TableRecord:
    """Name or path, and id, of the translation table of the weights."""

    name: str
    id: str

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> TableRecord | None:
        """Read the record from JSON, or raise `Misfit`; None without one."""
        if "table" not in body:
            return None
        table = expect_mapping(body["table"], "encoder.table")
        return cls(*(expect_text(table.get(name), f"encoder.table.{name}") for name in ("name", "id")))


@dataclass(frozen=True)
class PartRecord:
    """Part of a weighted sum of indexes: its weight, its model, and the network that weighed its documents."""

    weight: float
    model: ModelRecord
    network: NetworkRecord | None

    @classmethod
    def parse(cls, value: object, where: str) -> PartRecord:
        """Read the record from JSON, or raise `Misfit`."""
        part = expect_mapping(value, where)
        weight = expect_number(part.get("weight"), f"{where}.weight", -math.inf, math.inf)
        expect_mapping(part.get("model"), f"{where}.model")
        return cls(weight, ModelRecord.parse(part, where), NetworkRecord.parse(part, where))

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON."""
        network = {} if self.network is None else {"network": self.network.json}
        return {"weight": self.weight, "model": self.model.to_json(), **network}


@dataclass(frozen=True)
class EncoderDescription:
    """How an index encodes documents and queries.

    Attributes
    ----------
    model : ModelRecord
        Model of the weights; of the name `FUSION` for a weighted sum of indexes.
    analyzer : AnalyzerRecord or None
        Analyzer of queries.
    weighting : str
        Weighting of query tokens, see `CountQueryEncoder`.
    network : NetworkRecord or None
        Network that weighed the documents.
    table : TableRecord or None
        Translation table of the weights.
    statistics : mapping of str to int
        Statistics of the collection that weights of later documents depend on; empty without any.
    parts : tuple of PartRecord
        Parts of a weighted sum of indexes; otherwise the index itself, with the weight 1.
    json : mapping
        The description as it is stored. Keys that this version does not know are kept.
    """

    model: ModelRecord
    analyzer: AnalyzerRecord | None
    weighting: str
    network: NetworkRecord | None
    table: TableRecord | None
    statistics: Mapping[str, int]
    parts: tuple[PartRecord, ...]
    json: Mapping[str, Any]

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> EncoderDescription:
        """Read a description from JSON, or raise `Misfit`."""
        for key in TEXT_KEYS:
            if key in body:
                raise Misfit(f"encoder without the key {key}", key)
        query = expect_mapping(body.get("query", {}), "encoder.query")
        statistics = expect_mapping(body.get("statistics", {}), "encoder.statistics")
        model, network = ModelRecord.parse(body, "encoder"), NetworkRecord.parse(body, "encoder")
        parts = [
            PartRecord.parse(part, f"encoder.parts[{place}]")
            for place, part in enumerate(expect_list(body.get("parts", []), "encoder.parts"))
        ]
        return cls(
            model=model,
            analyzer=AnalyzerRecord.parse(body),
            weighting=expect_text(query.get("weighting", "counts"), "encoder.query.weighting"),
            network=network,
            table=TableRecord.parse(body),
            statistics={
                name: expect_whole(value, f"encoder.statistics.{name}", int(name == "documents"))
                for name, value in statistics.items()
            },
            parts=tuple(parts) if model.name == FUSION else (PartRecord(1.0, model, network),),
            json=body,
        )

    def with_statistics(self, statistics: Mapping[str, int]) -> EncoderDescription:
        """Return the description with other statistics."""
        return replace(self, statistics=statistics, json={**self.json, "statistics": dict(statistics)})

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> EncoderDescription:
        """Check a description that is to be written, and return it as it is read back.

        Raises
        ------
        ParameterError
            If JSON cannot represent it, or a value has the wrong type.
        """
        try:
            return cls.parse(json.loads(canonical_bytes(dict(description)).decode("utf-8", "surrogatepass")))
        except Misfit as misfit:
            raise ParameterError(
                "the description of the encoder has a value of the wrong type",
                facts=[("expected", misfit.expected), ("given", misfit.seen)],
            ) from None
        except (TypeError, ValueError, RecursionError) as error:
            raise ParameterError(
                "the description of the encoder cannot be written as JSON", facts=[("reason", error)]
            ) from None


def encoder_description(
    *,
    model: str,
    parameters: Mapping[str, object],
    analyzer: AnalyzerSpec,
    weighting: str,
    exact: bool,
    network: Mapping[str, object] | None = None,
    table: Mapping[str, object] | None = None,
    statistics: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the JSON of an `EncoderDescription`, for `IndexWriter.commit`.

    Parameters
    ----------
    model, parameters, exact
        See `ModelRecord`.
    analyzer : AnalyzerSpec
        Specification of the analyzer; the index keeps its files as attachments of the same names.
    weighting : str
        Weighting of query tokens, see `CountQueryEncoder`.
    network : mapping, optional
        JSON-like facts about the network, see `NetworkRecord`.
    table : mapping, optional
        Name or path, and id of the translation table.
    statistics : mapping of str to int, optional
        Statistics of the collection that the weights depend on, for documents that are added later.
    """
    optional = {"network": network, "table": table, "statistics": statistics}
    return {
        "model": ModelRecord(model, parameters, exact).to_json(),
        "analyzer": {
            "name": analyzer.name,
            "options": dict(analyzer.options),
            "files": sorted(analyzer.files),
            "fingerprint": analyzer.fingerprint,
        },
        "query": {"weighting": weighting},
        **{name: dict(value) for name, value in optional.items() if value is not None},
    }


def fused_description(
    encoders: Sequence[EncoderDescription], weights: Sequence[float], analyzer: AnalyzerSpec, weighting: str
) -> dict[str, Any]:
    """Return the JSON of the description of a weighted sum of indexes.

    An index that is a sum itself is replaced by its parts; analyzer and weighting are common to all.
    """
    parts = [
        PartRecord(weight * part.weight, part.model, part.network)
        for encoder, weight in zip(encoders, weights, strict=True)
        for part in encoder.parts
    ]
    description = encoder_description(
        model=FUSION,
        parameters={},
        analyzer=analyzer,
        weighting=weighting,
        exact=all(part.model.exact for part in parts),
    )
    return {**description, "parts": [part.to_json() for part in parts]}


def _text(body: Mapping[str, Any], key: str, where: str) -> str:
    """Return an optional string, which may be empty, or raise `Misfit`."""
    return expect_text(body[key], f"{where}.{key}") if body.get(key) not in (None, "") else ""
