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
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from termwise.errors import ModelFormatError, VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
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
    SETTINGS,
    TRANSFORMER_SETTINGS,
    Module,
    class_name,
    inner_path,
    listed,
    listed_prompts,
    read_modules,
)
from termwise.train.settings import ACTIVATIONS, Activation

_ROUTER = "router_config.json"
_TASKS = {"MLMTransformer": "fill-mask", "Transformer": "feature-extraction"}
"""Default tasks of transformers."""

_WEIGHT = "weight"


@dataclass(frozen=True)
class SparseEncoderFolder:
    """The two sides of a SparseEncoder: folders of the transformer of documents and of the static weights of queries.

    `queries` is None if the transformer encodes queries too. `activation` is that of documents, see `SpladeDocNetwork`.
    """

    documents: Path
    queries: Path | None
    activation: Activation

    @classmethod
    def read(cls, folder: Path) -> SparseEncoderFolder:
        """Read the modules of both sides; a missing file, or a module that is not supported, is an error."""
        modules = read_modules(folder)
        _check_settings(folder)
        if [module.kind for module in modules] != ["Router"]:
            return cls(_transformer(modules), None, _activation(modules))
        routes = _routes(modules[0].folder)
        documents = _transformer(routes["document"])
        queries = routes["query"]
        if [module.kind for module in queries] != ["SparseStaticEmbedding"]:
            raise _unsupported("modules of the query side", "SparseStaticEmbedding", listed(queries))
        return cls(documents, queries[0].folder, _activation(routes["document"]))

    def query_weights(self, analyzer: WordPieceAnalyzer) -> npt.NDArray[np.float32] | None:
        """Read the weight of each term in queries, of shape (V,); None without static weights.

        The tokenizer of queries must be that of documents, `analyzer`.
        """
        if self.queries is None:
            return None
        other = base_analyzer(self.queries)
        if other.vocabulary != analyzer.vocabulary or not tokenize_alike(other, analyzer):
            raise VocabularyMismatchError(
                "the two sides of this SparseEncoder have different tokenizers",
                facts=[("documents", self.documents), ("queries", self.queries)],
                fixes=["save it with one tokenizer on both sides"],
            )
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


def _routes(router: Path) -> dict[str, list[Module]]:
    """List the modules of a router for documents and for queries."""
    file = router / _ROUTER
    described = read_json(file, dict)
    structure, types = described.get("structure"), described.get("types")
    parameters = described.get("parameters")
    if isinstance(parameters, dict) and parameters.get("route_mappings"):
        raise _unsupported("route_mappings of the router", "none", str(parameters["route_mappings"]))
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
            routes[side].append(Module(class_name(kind), router / path))
    return routes


def _transformer(modules: list[Module]) -> Path:
    """Return the folder of the transformer of documents; the modules must form a splade-doc."""
    kinds = [module.kind for module in modules]
    task = _task(modules[0]) if modules else None
    if "Pooling" in kinds:
        folder = modules[0].folder
        raise ModelFormatError(
            "this is a dense encoder, not a SparseEncoder",
            facts=[("folder", folder), ("modules", listed(modules))],
            fixes=[Fix.sentence("fit a query table to it: {}", Fix.call("train_lookup", teacher=folder))],
        )
    if kinds[1:] != ["SpladePooling"] or task != "fill-mask":
        raise _unsupported(
            "modules of the document side",
            "Transformer for the task fill-mask, SpladePooling",
            listed(modules) + (f" (the task is {task})" if task not in (None, "fill-mask") else ""),
        )
    return modules[0].folder


def _activation(modules: list[Module]) -> Activation:
    """Return the activation of the pooling of documents; only the maximum over positions is supported."""
    settings = read_json(modules[1].folder / MODULE_SETTINGS, dict)
    for setting, supported in (("pooling_strategy", ("max",)), ("activation_function", ACTIVATIONS)):
        if settings.get(setting, supported[0]) not in supported:
            raise _unsupported(setting, " or ".join(supported), str(settings[setting]))
    return cast(Activation, settings.get("activation_function", ACTIVATIONS[0]))


def _task(module: Module) -> str | None:
    if module.kind not in _TASKS:
        return None
    settings = read_settings(module.folder / TRANSFORMER_SETTINGS)
    return str(settings.get("transformer_task", _TASKS[module.kind]))


def _check_settings(folder: Path) -> None:
    """Refuse prompts, and scores that are not inner products."""
    if found := listed_prompts(folder):
        raise _unsupported("prompts", "none", found)
    similarity = read_settings(folder / SETTINGS).get("similarity_fn_name") or "dot"
    if similarity != "dot":
        raise _unsupported("similarity_fn_name", "dot", str(similarity))


def _unsupported(what: str, expected: str, seen: str) -> ModelFormatError:
    return ModelFormatError(
        "termwise does not support this SparseEncoder as a splade-doc network",
        facts=[("part", what), ("expected", expected), ("seen", seen)],
        fixes=[Fix.build("write its weights as JSON vectors and index them with {}", model="vectors")],
    )
