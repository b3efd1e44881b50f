"""Making the query side of an index again from what its manifest says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from termwise.display.safe_text import short_digest
from termwise.errors import CorruptIndexError, UnknownNameError, VocabularyMismatchError
from termwise.index import Index
from termwise.models.count_query_encoder import CountQueryEncoder
from termwise.text import Analyzer, AnalyzerSpec, analyzer_from_spec
from termwise.weights import TermWeights

FUSION = "fusion"
"""What the model of an index is called that is a weighted sum of others."""


class QueryEncoder(Protocol):
    """Turns the text of a query into one row of weights, without running a network."""

    @property
    def analyzer(self) -> Analyzer:
        """What cuts the query into tokens."""
        ...

    def encode_query(self, query: str) -> TermWeights:
        """Return one row over the vocabulary of the index."""
        ...


def encoder_description(
    *,
    model: str,
    parameters: Mapping[str, object],
    analyzer: AnalyzerSpec,
    weighting: str,
    exact: bool,
    network: Mapping[str, object] | None = None,
    table: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Describe model and query side for the manifest of an index.

    Parameters
    ----------
    model, parameters
        Name and parameters of the model that weighed the documents.
    analyzer : AnalyzerSpec
        Recipe of the analyzer of the queries; its files are kept as attachments under the same names.
    weighting : str
        How query tokens weigh, see `CountQueryEncoder`.
    exact : bool
        Whether every weighted term occurs in the text of its document (no expansion).
    network : mapping, optional
        JSON-like facts about the network that made the weights: which, in which precision, on which processor.
    table : mapping, optional
        The translation table that the weights were made with: its name or path, and its id.
    """
    described: dict[str, Any] = {
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
        described["network"] = dict(network)
    if table is not None:
        described["table"] = dict(table)
    return described


def fused_description(
    encoders: Sequence[Mapping[str, Any]], weights: Sequence[float], analyzer: AnalyzerSpec, weighting: str
) -> dict[str, Any]:
    """Describe a weighted sum of indexes for its manifest.

    Parameters
    ----------
    encoders : sequence of mapping
        What the manifests of the indexes say. One that is a sum itself is replaced by its parts.
    weights : sequence of float
        One for each.
    analyzer, weighting
        What all of them share; see `encoder_description`.

    Returns
    -------
    dict
        As of one model, named ``fusion``, and ``parts``: the model of each part, its network where it had one, and
        its weight.
    """
    parts = [
        {**part, "weight": weight * part["weight"]}
        for encoder, weight in zip(encoders, weights, strict=True)
        for part in parts_of(encoder)
    ]
    described = encoder_description(
        model=FUSION,
        parameters={},
        analyzer=analyzer,
        weighting=weighting,
        exact=all(part["model"].get("exact", False) for part in parts),
    )
    return {**described, "parts": parts}


def parts_of(encoder: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts that the manifest of an index tells of: those of a sum, or the index itself.

    Returns
    -------
    list of dict
        ``weight``, ``model`` and, where there was one, ``network``.
    """
    if encoder.get("model", {}).get("name") == FUSION:
        return [dict(part) for part in encoder.get("parts", ())]
    kept = {name: encoder[name] for name in ("model", "network") if name in encoder}
    return [{"weight": 1.0, "model": {}, **kept}]


def analyzer_of(index: Index) -> Analyzer:
    """Make the analyzer of an index again.

    Raises
    ------
    VocabularyMismatchError
        If this version of termwise makes another analyzer of the same recipe.
    UnknownNameError
        If the index does not say how its queries are analysed.
    """
    described = index.manifest.encoder.get("analyzer")
    if described is not None and not _describes_analyzer(described):
        raise _odd(index, "analyzer", described)
    if described is None:
        raise UnknownNameError(
            "the index does not say how its queries are to be analysed",
            facts=[("index", index.path)],
            fixes=["search with rows of term weights instead of text"],
        )
    files = {name: index.attachment(name) for name in described["files"]}
    spec = AnalyzerSpec(described["name"], described["options"], files)
    analyzer = analyzer_from_spec(spec)
    if analyzer.spec.fingerprint != described["fingerprint"]:
        then, now = spec.beside(analyzer.spec)
        raise VocabularyMismatchError(
            "the analyzer of this index has changed since it was built",
            facts=[
                ("index", index.path),
                ("built with", f"{then}  {short_digest(described['fingerprint'])}"),
                ("now", f"{now}  {short_digest(analyzer.spec.fingerprint)}"),
            ],
            fixes=["build the index again"],
        )
    return analyzer


def query_encoder_of(index: Index) -> QueryEncoder:
    """Make the query encoder of an index again."""
    weighting = query_weighting_of(index)
    term_weights = index.query_weights if weighting == "idf" else None
    return CountQueryEncoder(
        analyzer_of(index), index.vocabulary, weighting=weighting, term_weights=term_weights
    )


def query_weighting_of(index: Index) -> Any:
    """Return how the queries of an index weigh their tokens, as its manifest says."""
    query = index.manifest.encoder.get("query", {})
    if not isinstance(query, Mapping):
        raise _odd(index, "query", query)
    return query.get("weighting", "counts")


def _describes_analyzer(described: object) -> bool:
    return (
        isinstance(described, Mapping)
        and isinstance(described.get("name"), str)
        and isinstance(described.get("options"), Mapping)
        and isinstance(described.get("fingerprint"), str)
        and isinstance(described.get("files"), list)
        and all(isinstance(name, str) for name in described["files"])
    )


def _odd(index: Index, part: str, seen: object) -> CorruptIndexError:
    return CorruptIndexError(
        f"the index does not describe its {part} as termwise does",
        facts=[("index", index.path), (part, str(seen)[:120])],
        fixes=["build the index again"],
    )
