"""Reader of the folder of a SparseEncoder of sentence-transformers.

===================  ==================================================  =============================================
side                 modules                                             converted to
===================  ==================================================  =============================================
documents            Transformer for the task ``fill-mask``, or the      the network
                     older MLMTransformer; then SpladePooling
queries, in a        SparseStaticEmbedding                               a weight for each term, independent of its
Router                                                                   count in the query
queries, otherwise   those of documents                                  not converted: queries need the network
===================  ==================================================  =============================================

The models of OpenSearch (doc-v1, doc-v2, doc-v3 and multilingual-v1) are such folders. Earlier downloads of them have
no modules; `PlainFolder` reads these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, MissingFileError, ModelFormatError, VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.models.token_weights import read_token_weights, term_weights
from termwise.storage.safe_read import is_file
from termwise.text import WordPieceAnalyzer
from termwise.train.base_encoder import base_analyzer, tokenize_alike
from termwise.train.export.checkpoint_files import (
    check_finite,
    misfit,
    read_json,
    read_settings,
    read_tensors,
)
from termwise.train.export.sentence_modules import (
    MODULE_SETTINGS,
    MODULES,
    SETTINGS,
    TRANSFORMER_SETTINGS,
    Module,
    class_name,
    inner_path,
    listed,
    listed_prompts,
    read_modules,
)
from termwise.train.networks import SPLADE_POOLINGS, SpladePooling
from termwise.train.settings import ACTIVATIONS, Activation

ROUTER = "router_config.json"
"""Modules of queries and of documents."""

IDF = "idf.json"
"""Query weights of a model of OpenSearch, ``{token: weight}``."""

_IDF_FILES = (IDF, "query_token_weights.txt")
_TASKS = {"MLMTransformer": "fill-mask", "Transformer": "feature-extraction"}
"""Default tasks of transformers."""

_SPARSE = ("SpladePooling", "SparseAutoEncoder")
_TOKENIZER_SETTINGS = "tokenizer_config.json"
_LENGTHS = ("document_length", "max_seq_length")
"""Numbers of pieces of a document in the settings of a transformer; the first one applies."""

_UNLIMITED = 1 << 20
"""A number of pieces from here on is no limit: tokenizers write 10^30 for none."""

_WEIGHT = "weight"


@dataclass(frozen=True)
class SparseEncoderFolder:
    """The two sides of a SparseEncoder: folders of the transformer of documents and of the static weights of queries.

    `queries` is None if the transformer encodes queries too. `activation` and `pooling` are those of documents, see
    `SpladeDocNetwork`. `length` is the number of pieces of a document, the two special ones included, to which
    sentence-transformers cuts it; None if nothing limits it.
    """

    documents: Path
    queries: Path | None
    activation: Activation
    pooling: SpladePooling
    length: int | None

    @classmethod
    def read(cls, folder: Path) -> SparseEncoderFolder:
        """Read the modules of both sides; a missing file, or a module that is not supported, is an error."""
        file, modules, queries = folder / MODULES, read_modules(folder), None
        _check_settings(folder)
        if [module.kind for module in modules] == ["Router"]:
            file = modules[0].folder / ROUTER
            routes = _routes(file)
            modules = routes["document"]
            if [module.kind for module in routes["query"]] != ["SparseStaticEmbedding"]:
                raise _unsupported(
                    file, "modules of the query side", "SparseStaticEmbedding", listed(routes["query"])
                )
            queries = routes["query"][0].folder
        documents = _transformer(file, modules)
        settings = modules[1].folder / MODULE_SETTINGS
        activation = _setting(settings, "activation_function", ACTIVATIONS)
        pooling = _setting(settings, "pooling_strategy", SPLADE_POOLINGS)
        return cls(
            documents,
            queries,
            cast(Activation, activation),
            cast(SpladePooling, pooling),
            _length(documents),
        )

    def query_weights(self, analyzer: WordPieceAnalyzer) -> npt.NDArray[np.float32] | None:
        """Read the weight of each term in queries, of shape (V,); None without static weights.

        The tokenizer of queries must be that of documents, `analyzer`.
        """
        _check_case(self.documents, analyzer)
        if self.queries is None:
            return None
        other = base_analyzer(self.queries)
        if other.vocabulary != analyzer.vocabulary or not tokenize_alike(other, analyzer):
            raise VocabularyMismatchError(
                "the two sides of this SparseEncoder have different tokenizers",
                facts=[("documents", self.documents), ("queries", self.queries)],
                fixes=["save it with one tokenizer on both sides"],
            )
        if (file := _token_weights_file(self.queries)) is not None:
            return _token_weights(file, analyzer)
        weights, _ = read_tensors(self.queries)
        check_finite(self.queries, weights)
        terms = len(analyzer.vocabulary)
        found = weights.get(_WEIGHT)
        if found is None or found.shape != (terms,):
            raise ModelFormatError(
                "the query side does not have one weight for each term",
                facts=[
                    ("folder", self.queries),
                    ("expected", f"{_WEIGHT} of shape ({terms},)"),
                    ("seen", ", ".join(f"{name} {array.shape}" for name, array in weights.items()) or "none"),
                ],
                fixes=["download the checkpoint again"],
            )
        negative = np.flatnonzero(found < 0)
        if len(negative):
            raise ModelFormatError(
                "a query weight is below 0, which an index does not support",
                facts=[
                    ("folder", self.queries),
                    ("term", analyzer.vocabulary.token(int(negative[0]))),
                    ("weight", float(found[negative[0]])),
                    ("negative weights", len(negative)),
                ],
                fixes=["train it with weights of at least 0, or set negative ones to 0 and save it again"],
            )
        return found


@dataclass(frozen=True)
class PlainFolder:
    """A masked language model with a file of query weights and no modules: an earlier download from OpenSearch."""

    queries: Path

    @classmethod
    def find(cls, folder: Path) -> PlainFolder | None:
        """Return the folder if it has a file of query weights, otherwise None."""
        file = next((folder / name for name in _IDF_FILES if is_file(folder / name)), None)
        return None if file is None else cls(file)

    def query_weights(self, analyzer: WordPieceAnalyzer) -> npt.NDArray[np.float32]:
        """Read the weight of each term in queries, of shape (V,), 0 for a term without an entry."""
        return _token_weights(self.queries, analyzer)


def _token_weights_file(queries: Path) -> Path | None:
    """Return the JSON file that a SparseStaticEmbedding names in place of tensors, or None."""
    file = queries / MODULE_SETTINGS
    path = read_settings(file).get("path")
    return None if path is None else queries / inner_path(file, "path", path)


def _token_weights(file: Path, analyzer: WordPieceAnalyzer) -> npt.NDArray[np.float32]:
    try:
        weights = read_token_weights(file)
    except MissingFileError:
        raise
    except DataError as error:
        raise ModelFormatError(
            "the query weights of the checkpoint cannot be read",
            facts=error.facts,
            fixes=["download the checkpoint again"],
        ) from error
    unknown = next((token for token in weights if token not in analyzer.vocabulary), None)
    if unknown is not None:
        raise VocabularyMismatchError(
            "a token of the query weights is not in the vocabulary of the tokenizer",
            facts=[
                ("file", file),
                ("token", unknown),
                ("vocabulary", f"{len(analyzer.vocabulary):,} terms"),
            ],
            fixes=["put its own tokenizer.json into the folder"],
        )
    return term_weights(weights, analyzer.vocabulary, missing=0.0)


def _routes(file: Path) -> dict[str, list[Module]]:
    """List the modules of a router for documents and for queries."""
    described = read_json(file, dict)
    structure, types = described.get("structure"), described.get("types")
    parameters = described.get("parameters")
    if isinstance(parameters, dict) and parameters.get("route_mappings"):
        raise _unsupported(file, "route_mappings", "none", str(parameters["route_mappings"]))
    routes: dict[str, list[Module]] = {}
    for side in ("document", "query"):
        parts = structure.get(side, []) if isinstance(structure, dict) else None
        if not isinstance(parts, list):
            raise misfit(file, f"structure.{side}", "a list of modules", structure)
        routes[side] = []
        for number, part in enumerate(parts):
            path = inner_path(file, f"structure.{side}[{number}]", part)
            kind = types.get(part) if isinstance(types, dict) else None
            if not isinstance(kind, str):
                raise misfit(file, f"types.{part}", "the name of a class", kind)
            routes[side].append(Module(class_name(kind), file.parent / path))
    return routes


def _transformer(file: Path, modules: list[Module]) -> Path:
    """Return the folder of the transformer of documents; the modules, listed in `file`, must form a splade-doc."""
    kinds = [module.kind for module in modules]
    task = _task(modules[0]) if modules else None
    if "Pooling" in kinds and not set(_SPARSE) & set(kinds):
        folder = modules[0].folder
        raise ModelFormatError(
            "this is a dense encoder, not a SparseEncoder",
            facts=[("folder", folder), ("modules", listed(modules))],
            fixes=[Fix.sentence("fit a query table to it: {}", Fix.call("train_lookup", teacher=folder))],
        )
    if kinds[1:] != ["SpladePooling"] or task != "fill-mask":
        raise _unsupported(
            file,
            "modules of the document side",
            "Transformer for the task fill-mask, SpladePooling",
            listed(modules) + (f" (the task is {task})" if task not in (None, "fill-mask") else ""),
        )
    return modules[0].folder


def _setting(file: Path, key: str, supported: Sequence[str]) -> str:
    """Return a setting of a module, by default the first supported value."""
    value = read_json(file, dict).get(key, supported[0])
    if value not in supported:
        raise _unsupported(file, key, " or ".join(supported), str(value))
    return str(value)


def _task(module: Module) -> str | None:
    if module.kind not in _TASKS:
        return None
    settings = read_settings(module.folder / TRANSFORMER_SETTINGS)
    return str(settings.get("transformer_task", _TASKS[module.kind]))


def _length(transformer: Path) -> int | None:
    """Return the number of pieces to which sentence-transformers cuts documents, or None."""
    file = transformer / TRANSFORMER_SETTINGS
    settings = read_settings(file)
    if settings.get("processing_kwargs"):
        raise _unsupported(file, "processing_kwargs", "none", str(settings["processing_kwargs"]))
    for key in _LENGTHS:
        if settings.get(key) is not None:
            return _pieces(file, key, settings)
    file = transformer / _TOKENIZER_SETTINGS
    settings = read_settings(file)
    return _pieces(file, "model_max_length", settings) if settings.get("model_max_length") else None


def _pieces(file: Path, key: str, settings: Mapping[str, object]) -> int | None:
    value = settings[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 3:
        raise misfit(file, key, "a number of pieces, at least 3", value)
    return int(value) if value < _UNLIMITED else None


def _check_case(transformer: Path, analyzer: WordPieceAnalyzer) -> None:
    """Refuse a transformer that lower-cases texts for a tokenizer that does not."""
    file, key = transformer / TRANSFORMER_SETTINGS, "do_lower_case"
    if read_settings(file).get(key) and analyzer.tokens("A Word") != analyzer.tokens("a word"):
        raise _unsupported(
            file, key, "false, or a tokenizer that lower-cases", "true, with a cased tokenizer"
        )


def _check_settings(folder: Path) -> None:
    """Refuse prompts, and scores that are not inner products."""
    file = folder / SETTINGS
    if found := listed_prompts(folder):
        raise _unsupported(file, "prompts", "none", found)
    similarity = read_settings(file).get("similarity_fn_name") or "dot"
    if similarity != "dot":
        raise _unsupported(file, "similarity_fn_name", "dot", str(similarity))


def _unsupported(file: Path, what: str, expected: str, seen: str) -> ModelFormatError:
    return ModelFormatError(
        "termwise does not support this SparseEncoder as a splade-doc network",
        facts=[("file", file), ("part", what), ("expected", expected), ("seen", seen)],
        fixes=[Fix.build("write its weights as JSON vectors and index them with {}", model="vectors")],
    )
