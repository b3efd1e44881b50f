"""Query encoder of an index, made from the description in its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, get_args

from termwise.display.safe_text import short_digest
from termwise.errors import (
    CorruptIndexError,
    ParameterError,
    UnknownNameError,
    UsageError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.index import Index
from termwise.models.base import QueryWeighting
from termwise.models.count_query_encoder import CountQueryEncoder
from termwise.text import Analyzer, AnalyzerSpec, analyzer_from_spec
from termwise.weights import TermWeights

FUSION = "fusion"
"""Model name of an index that is a weighted sum of indexes."""


class QueryEncoder(Protocol):
    """Encodes a query as one row of weights, without running a network."""

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer of queries."""

    def encode_query(self, query: str) -> TermWeights:
        """Return one row over the vocabulary of the index."""


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
    fields: Sequence[str] | Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the description of model and query encoder for the manifest of an index.

    Parameters
    ----------
    model, parameters
        Name and parameters of the model.
    analyzer : AnalyzerSpec
        Specification of the analyzer; the index keeps its files as attachments of the same names.
    weighting : str
        Weighting of query tokens, see `CountQueryEncoder`.
    exact : bool
        Whether every weighted term occurs in the text of its document; False with expansion.
    network : mapping, optional
        JSON-like facts about the network: name, precision, processor.
    table : mapping, optional
        Name or path, and id of the translation table.
    statistics : mapping of str to int, optional
        Statistics of the collection that the weights depend on, for documents that are added later.
    fields : sequence of str or mapping of str to int, optional
        Fields of the texts, if the build names them, in the order of the texts; a mapping has their weights.
    """
    description: dict[str, Any] = {
        "model": {"name": model, "parameters": dict(parameters), "exact": exact},
        "analyzer": {
            "name": analyzer.name,
            "options": dict(analyzer.options),
            "files": sorted(analyzer.files),
            "fingerprint": analyzer.fingerprint,
        },
        "query": {"weighting": weighting},
    }
    if network is not None:
        description["network"] = dict(network)
    if table is not None:
        description["table"] = dict(table)
    if statistics is not None:
        description["statistics"] = dict(statistics)
    if isinstance(fields, Mapping):
        description["field_weights"] = [[name, weight] for name, weight in fields.items()]
    elif fields is not None:
        description["fields"] = list(fields)
    return description


def fused_description(
    encoders: Sequence[Mapping[str, Any]], weights: Sequence[float], analyzer: AnalyzerSpec, weighting: str
) -> dict[str, Any]:
    """Return the description of a weighted sum of indexes for its manifest.

    Parameters
    ----------
    encoders : sequence of mapping
        Descriptions of the indexes. One that is a sum itself is replaced by its parts.
    weights : sequence of float
        One per index.
    analyzer, weighting
        Common analyzer and weighting; see `encoder_description`.

    Returns
    -------
    dict
        Description of a model named ``fusion``, with ``parts``: model, network (if any) and weight of each part.
    """
    parts = [
        {**part, "weight": weight * part["weight"]}
        for encoder, weight in zip(encoders, weights, strict=True)
        for part in parts_of(encoder)
    ]
    description = encoder_description(
        model=FUSION,
        parameters={},
        analyzer=analyzer,
        weighting=weighting,
        exact=all(part["model"].get("exact", False) for part in parts),
    )
    return {**description, "parts": parts}


def parts_of(encoder: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of an index from its description: those of a sum, or the index itself.

    Returns
    -------
    list of dict
        ``weight``, ``model`` and, if there is one, ``network``.
    """
    if encoder.get("model", {}).get("name") == FUSION:
        return [dict(part) for part in encoder.get("parts", ())]
    kept = {name: encoder[name] for name in ("model", "network") if name in encoder}
    return [{"weight": 1.0, "model": {}, **kept}]


def analyzer_of(index: Index) -> Analyzer:
    """Make the analyzer of an index from its description.

    Raises
    ------
    VocabularyMismatchError
        If this version of termwise makes a different analyzer of the same specification.
    UnknownNameError
        If the index has no description of an analyzer.
    """
    described = index.manifest.encoder.get("analyzer")
    if described is None:
        raise UnknownNameError(
            "the index has no description of its query analyzer",
            facts=[("index", index.path)],
            fixes=["search with rows of term weights instead of text"],
        )
    if not _describes_analyzer(described):
        raise _unreadable(index, "analyzer", described)
    files = {name: index.attachment(name) for name in described["files"]}
    spec = AnalyzerSpec(described["name"], described["options"], files)
    try:
        analyzer = analyzer_from_spec(spec)
    except UsageError as error:
        raise _unreadable(index, "analyzer", error.message) from error
    if analyzer.spec.fingerprint != described["fingerprint"]:
        built, current = spec.differences(analyzer.spec)
        raise VocabularyMismatchError(
            "the analyzer of this index has changed since the build",
            facts=[
                ("index", index.path),
                ("built with", f"{built}  {short_digest(described['fingerprint'])}"),
                ("now", f"{current}  {short_digest(analyzer.spec.fingerprint)}"),
            ],
            fixes=["build the index again"],
        )
    return analyzer


def query_encoder_of(index: Index) -> QueryEncoder:
    """Make the query encoder of an index from its description."""
    weighting = query_weighting_of(index)
    term_weights = index.query_weights if weighting == "idf" else None
    analyzer = analyzer_of(index)
    try:
        return CountQueryEncoder(analyzer, index.vocabulary, weighting=weighting, term_weights=term_weights)
    except (ParameterError, WeightError) as error:
        raise _unreadable(index, "query", error.message) from error


def query_weighting_of(index: Index) -> Any:
    """Return the query weighting in the description of an index."""
    query = index.manifest.encoder.get("query", {})
    if not isinstance(query, Mapping):
        raise _unreadable(index, "query", query)
    weighting = query.get("weighting", "counts")
    if weighting not in get_args(QueryWeighting):
        raise _unreadable(index, "query", query)
    return weighting


def _describes_analyzer(described: object) -> bool:
    return (
        isinstance(described, Mapping)
        and isinstance(described.get("name"), str)
        and isinstance(described.get("options"), Mapping)
        and isinstance(described.get("fingerprint"), str)
        and isinstance(described.get("files"), list)
        and all(isinstance(name, str) for name in described["files"])
    )


def _unreadable(index: Index, part: str, seen: object) -> CorruptIndexError:
    return CorruptIndexError(
        f"the index has an unreadable description of its {part}",
        facts=[("index", index.path), (part, str(seen)[:120])],
        fixes=["build the index again"],
    )
