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

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt

from termwise.errors import ModelFormatError, VocabularyMismatchError
from termwise.text import WordPieceAnalyzer
from termwise.train.base_encoder import base_analyzer, tokenize_alike
from termwise.train.export.checkpoint_files import check_finite, misfit, read_json, read_tensors

MODULES = "modules.json"
"""File that identifies the folder."""

_ROUTER = "router_config.json"
_SETTINGS = "config_sentence_transformers.json"
_TRANSFORMER = "sentence_bert_config.json"
_CONFIG = "config.json"
_TASKS = {"MLMTransformer": "fill-mask", "Transformer": "feature-extraction"}
"""Default tasks of transformers."""

_WEIGHT = "weight"


@dataclass(frozen=True)
class _Module:
    kind: str
    folder: Path


@dataclass(frozen=True)
class SparseEncoderFolder:
    """The two sides of a SparseEncoder.

    Attributes
    ----------
    documents : Path
        Folder of the transformer for documents.
    queries : Path or None
        Folder of the static weights of queries; None if the transformer encodes queries too.
    """

    documents: Path
    queries: Path | None

    @classmethod
    def read(cls, folder: Path) -> SparseEncoderFolder:
        """Read the modules of both sides.

        Raises
        ------
        MissingFileError
            If a file is missing.
        ModelFormatError
            If a file has unexpected content, or termwise does not support the modules.
        """
        modules = _modules(folder)
        _check_settings(folder)
        if [module.kind for module in modules] != ["Router"]:
            return cls(_transformer(modules), None)
        routes = _routes(modules[0].folder)
        documents = _transformer(routes["document"])
        queries = routes["query"]
        if [module.kind for module in queries] != ["SparseStaticEmbedding"]:
            raise _unsupported("modules of the query side", "SparseStaticEmbedding", _listed(queries))
        return cls(documents, queries[0].folder)

    def query_weights(self, analyzer: WordPieceAnalyzer) -> npt.NDArray[np.float32] | None:
        """Read the weight of each term in queries, of shape (V,); None without static weights.

        Parameters
        ----------
        analyzer : WordPieceAnalyzer
            The tokenizer of documents.

        Raises
        ------
        VocabularyMismatchError
            If the tokenizer of queries differs.
        ModelFormatError
            If there is not one weight of at least 0 for each term.
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


def _modules(folder: Path) -> list[_Module]:
    file = folder / MODULES
    modules = []
    for number, entry in enumerate(read_json(file, list)):
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise misfit(file, f"[{number}].type", "the name of a class", entry)
        path = _inner(file, f"[{number}].path", entry.get("path"))
        modules.append(_Module(_last(entry["type"]), folder / path))
    return modules


def _routes(router: Path) -> dict[str, list[_Module]]:
    """List the modules of a router for documents and for queries."""
    file = router / _ROUTER
    described = read_json(file, dict)
    structure, types = described.get("structure"), described.get("types")
    parameters = described.get("parameters")
    if isinstance(parameters, dict) and parameters.get("route_mappings"):
        raise _unsupported("route_mappings of the router", "none", str(parameters["route_mappings"]))
    routes: dict[str, list[_Module]] = {}
    for side in ("document", "query"):
        parts = structure.get(side, []) if isinstance(structure, dict) else None
        if not isinstance(parts, list):
            raise misfit(file, f"structure.{side}", "a list of modules", structure)
        routes[side] = []
        for number, part in enumerate(parts):
            path = _inner(file, f"structure.{side}[{number}]", part)
            kind = types.get(part) if isinstance(types, dict) else None
            if not isinstance(kind, str):
                raise misfit(file, f"types.{part}", "the name of a class", kind)
            routes[side].append(_Module(_last(kind), router / path))
    return routes


def _transformer(modules: list[_Module]) -> Path:
    """Return the folder of the transformer of documents; the modules must form a splade-doc."""
    kinds = [module.kind for module in modules]
    task = _task(modules[0]) if modules else None
    if kinds[1:] != ["SpladePooling"] or task != "fill-mask":
        raise _unsupported(
            "modules of the document side",
            "Transformer for the task fill-mask, SpladePooling",
            _listed(modules) + (f" (the task is {task})" if task not in (None, "fill-mask") else ""),
        )
    pooling = read_json(modules[1].folder / _CONFIG, dict)
    for setting, expected in (("pooling_strategy", "max"), ("activation_function", "relu")):
        if pooling.get(setting, expected) != expected:
            raise _unsupported(setting, expected, str(pooling[setting]))
    return modules[0].folder


def _task(module: _Module) -> str | None:
    if module.kind not in _TASKS:
        return None
    file = module.folder / _TRANSFORMER
    settings = read_json(file, dict) if file.is_file() else {}
    return str(settings.get("transformer_task", _TASKS[module.kind]))


def _check_settings(folder: Path) -> None:
    """Refuse prompts, and scores that are not inner products."""
    file = folder / _SETTINGS
    if not file.is_file():
        return
    settings = read_json(file, dict)
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict):
        raise misfit(file, "prompts", "an object", prompts)
    used = ("query", "document", "passage", "corpus", settings.get("default_prompt_name"))
    found = ", ".join(f"{name}: {text!r}" for name, text in prompts.items() if name in used and text)
    if found:
        raise _unsupported("prompts", "none", found)
    similarity = settings.get("similarity_fn_name") or "dot"
    if similarity != "dot":
        raise _unsupported("similarity_fn_name", "dot", str(similarity))


def _inner(file: Path, key: str, path: object) -> str:
    """Return a path in a file if it is inside the folder of the file."""
    text = path if isinstance(path, str) else "/"
    inner = PurePosixPath(text)
    if {"\\", "\0"} & set(text) or inner.is_absolute() or ".." in inner.parts or Path(text).is_absolute():
        raise misfit(file, key, "a folder inside that of the file", path)
    return text


def _unsupported(what: str, expected: str, seen: str) -> ModelFormatError:
    return ModelFormatError(
        "termwise does not support this SparseEncoder as a splade-doc network",
        facts=[("part", what), ("expected", expected), ("seen", seen)],
        fixes=["write its weights as JSON vectors and index them with `model='vectors'`"],
    )


def _listed(modules: list[_Module]) -> str:
    return ", ".join(module.kind for module in modules) or "none"


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]
