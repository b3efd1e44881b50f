"""Reading checkpoints as others publish them, and the int8 networks that ship with the package.

=======================================  =================================================  ==========
layout of the folder                     told by                                            kind
=======================================  =================================================  ==========
TILDE: a masked language model           weights of a language-model head                   tilde
TILDEv2, uniCOIL (document side)         ``tok_proj.weight``                                tildev2
our own, as `write_encoder_folder` does  ``token_projection.weight``, or as TILDE           see above
SparseEncoder of sentence-transformers   ``modules.json``: MLMTransformer, SpladePooling,   splade-doc
                                         alone or as the document side of a Router
=======================================  =================================================  ==========

Weights are read from ``model.safetensors`` or ``pytorch_model.bin``; of the latter, tensors only: a file that would
run code is refused.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForMaskedLM

from termwise.encode.folder import EncoderFolder
from termwise.encode.manifest import ExpansionRecord
from termwise.errors import MissingFileError, ModelFormatError, UnknownNameError
from termwise.text import WordPieceAnalyzer
from termwise.text.cleaning import CleanMode
from termwise.train.base import base_analyzer
from termwise.train.export import bare_encoder, load_weights, network_of, positions
from termwise.train.networks import NETWORKS, SpladeDoc, TermNetwork, Tilde, TildeV2
from termwise.train.quantise import dequantised_weights
from termwise.train.write_folder import write_encoder_folder

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_PROJECTION = "token_projection"
_PROJECTIONS = {f"tok_proj.{part}": f"{_PROJECTION}.{part}" for part in ("weight", "bias")}
_OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}
_HEADS = ("cls.predictions.", "lm_head.", "vocab_transform.", "generator_predictions.")
_LENGTHS = {"tilde": 512, "tildev2": 192, "splade-doc": 512}
"""Pieces that the published code reads of a document."""
_CLEANINGS: dict[str, CleanMode] = {"tilde": "repo", "tildev2": "repo", "splade-doc": "none"}

Arrays = dict[str, npt.NDArray[np.float32]]


def convert(
    folder: str | Path, out: str | Path, *, kind: str | None = None, expansion: ExpansionRecord | None = None
) -> EncoderFolder:
    """Convert a published checkpoint to an encoder folder.

    Windows and cleaning are those of the published code. A TILDE made so has no floors, which its exact form does not
    need.

    Parameters
    ----------
    folder, kind
        See `load`.
    out : str or Path
        The encoder folder.
    expansion : ExpansionRecord, optional
        Kind tildev2: what its documents were expanded with. No checkpoint says so.

    Returns
    -------
    EncoderFolder
    """
    network, analyzer = load(folder, kind=kind)
    return write_encoder_folder(
        network,
        analyzer,
        out,
        cleaning=_CLEANINGS[network.kind],
        length=min(_LENGTHS[network.kind], positions(network)),
        expansion=expansion,
        trained={
            "converted": {
                "from": Path(folder).resolve().name,
                "architecture": type(network.pretrained).__name__,
            }
        },
    )


def load(folder: str | Path, *, kind: str | None = None) -> tuple[TermNetwork, WordPieceAnalyzer]:
    """Load a checkpoint from a local folder.

    Parameters
    ----------
    folder : str or Path
        In one of the layouts at the top of the module.
    kind : str, optional
        ``tilde``, ``tildev2`` or ``splade-doc``. Where nothing is said the layout decides; a masked language model is
        taken for a TILDE.

    Returns
    -------
    network : TermNetwork
        In training mode, float32.
    analyzer : WordPieceAnalyzer

    Raises
    ------
    MissingFileError
        If there is no such folder, or it has no weights or no configuration.
    UnknownNameError
        If there is no such kind.
    ModelFormatError
        If weights of the head or of the encoder are missing, one is not finite or has another shape, the file would
        run code, or the tokenizer has another vocabulary.
    """
    folder = Path(folder)
    if kind is not None and kind not in NETWORKS:
        raise UnknownNameError.of("kind of network", kind, NETWORKS)
    if not folder.is_dir():
        raise MissingFileError("there is no such checkpoint", facts=[("path", folder)])
    if (folder / "modules.json").is_file():
        folder = _document_side(folder)
        kind = SpladeDoc.kind if kind is None else kind
    weights = _read_weights(folder)
    if kind is None:
        kind = TildeV2.kind if f"{_PROJECTION}.weight" in weights else Tilde.kind
    _check_finite(folder, weights)
    network = _network(folder, kind, weights)
    analyzer = base_analyzer(folder)
    terms = network.config.vocab_size
    if terms != len(analyzer.vocabulary):
        raise ModelFormatError(
            "the checkpoint and its tokenizer have vocabularies of different sizes",
            facts=[("terms of the network", terms), ("terms of the tokenizer", len(analyzer.vocabulary))],
            fixes=["put the tokenizer.json or vocab.txt it was trained with into the folder"],
        )
    return network.train(), analyzer


def dequantised(encoder: str | Path) -> TermNetwork:
    """Build a torch network from the weights of an encoder folder, to train on from an encoder that ships.

    Parameters
    ----------
    encoder : str or Path
        A shipped encoder or a folder. Its float32 graph is read where there is one, else its int8 graph, whose
        rounded weights are taken for what they stand for.

    Returns
    -------
    TermNetwork
        In training mode, float32.

    Raises
    ------
    ModelFormatError
        If the graph does not hold a network that `to_onnx` wrote.
    """
    opened = EncoderFolder.open(encoder)
    networks = opened.manifest.networks()
    path = opened.path(networks.get("float32", networks.get("int8", "")))
    try:
        model = onnx.load(path)
    except Exception as error:  # protobuf has no error of its own that is documented
        raise ModelFormatError("the graph cannot be read", facts=[("file", path), ("why", error)]) from error
    return network_of(model, dequantised_weights(model))


def _network(folder: Path, kind: str, weights: Arrays) -> TermNetwork:
    try:
        config = AutoConfig.from_pretrained(folder)
    except (OSError, ValueError, KeyError) as error:
        raise ModelFormatError(
            "the configuration of the checkpoint cannot be read",
            facts=[("file", folder / "config.json"), ("transformers says", _first_line(error))],
        ) from error
    config.is_decoder = config.add_cross_attention = False
    if kind == TildeV2.kind:
        network: TermNetwork = TildeV2(bare_encoder(config))
        prefix = f"{network.pretrained.base_model_prefix}."
        weights = {
            name if name.startswith(_PROJECTION) else f"pretrained.{name.removeprefix(prefix)}": array
            for name, array in weights.items()
        }
    else:
        network = NETWORKS[kind](AutoModelForMaskedLM.from_config(config))
        weights = {f"pretrained.{name}": array for name, array in weights.items()}
    _check_head(folder, network, weights)
    load_weights(network, weights)
    return network


def _check_finite(folder: Path, weights: Arrays) -> None:
    for name, array in weights.items():
        unsound = int((~np.isfinite(array)).sum())
        if unsound:
            raise ModelFormatError(
                "a weight of the checkpoint is not a finite number",
                facts=[("folder", folder), ("tensor", name), ("not finite", f"{unsound} of {array.size}")],
                fixes=["download the checkpoint again, or take an earlier one"],
            )


def _check_head(folder: Path, network: TermNetwork, weights: Mapping[str, Any]) -> None:
    """Tell a checkpoint without the head of its kind from one that is damaged."""
    head = {id(parameter) for parameter in network.head_parameters()}
    names: dict[int, list[str]] = {}
    for name, parameter in network.named_parameters(remove_duplicate=False):
        if id(parameter) in head:
            names.setdefault(id(parameter), []).append(name)
    missing = [
        alike[0].removeprefix("pretrained.") for alike in names.values() if not set(alike) & set(weights)
    ]
    if missing:
        bare = {name.removeprefix("pretrained.") for name in weights}
        others = [TildeV2.kind] if f"{_PROJECTION}.weight" in bare else []
        others += [Tilde.kind] if any(name.startswith(_HEADS) for name in bare) else []
        raise ModelFormatError(
            f"the checkpoint has no head for the kind {network.kind}",
            facts=[
                ("folder", folder),
                ("missing", ", ".join(missing)),
                ("has a head for", ", ".join(others) or "none: it is a bare encoder"),
            ],
            fixes=[
                f"--kind {others[0]}"
                if others
                else f"train one: termwise train {network.kind} --base {folder}"
            ],
        )


def _read_weights(folder: Path) -> Arrays:
    path = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)
    if path is None:
        raise MissingFileError(
            "the checkpoint has no weights",
            facts=[("folder", folder), ("expected", " or ".join(_WEIGHTS))],
            fixes=["download the whole checkpoint"],
        )
    try:
        if path.suffix == ".safetensors":
            state: Mapping[str, Any] = load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise ModelFormatError(
            "the weights of the checkpoint cannot be read, or are more than tensors",
            facts=[("file", path), ("torch says", _first_line(error))],
            fixes=["convert them to model.safetensors where you trust the file"],
        ) from error
    if not isinstance(state, Mapping) or not all(
        isinstance(tensor, torch.Tensor) for tensor in state.values()
    ):
        raise ModelFormatError("the weights are not tensors by name", facts=[("file", path)])
    return {
        _renamed(name): tensor.float().numpy() for name, tensor in state.items() if tensor.is_floating_point()
    }


def _renamed(name: str) -> str:
    """Give a tensor the name it has today."""
    name = _PROJECTIONS.get(name, name)
    for old, new in _OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _document_side(folder: Path) -> Path:
    """Return the folder of the transformer that a SparseEncoder runs over documents; check what follows it."""
    modules = [(entry["type"], entry["path"]) for entry in _json(folder / "modules.json", list)]
    if len(modules) == 1 and _last(modules[0][0]) == "Router":
        router = folder / modules[0][1]
        described = _json(router / "router_config.json", dict)
        parts = described.get("structure", {}).get("document", [])
        modules = [(described["types"][part], f"{modules[0][1]}/{part}".lstrip("/")) for part in parts]
    names = [_last(kind) for kind, _ in modules]
    if names != ["MLMTransformer", "SpladePooling"]:
        raise _unlike(
            "modules of the document side", "MLMTransformer, SpladePooling", ", ".join(names) or "none"
        )
    pooling = _json(folder / modules[1][1] / "config.json", dict)
    for setting, expected in (("pooling_strategy", "max"), ("activation_function", "relu")):
        if pooling.get(setting, expected) != expected:
            raise _unlike(setting, expected, str(pooling[setting]))
    return folder / str(modules[0][1])


def _unlike(what: str, expected: str, seen: str) -> ModelFormatError:
    return ModelFormatError(
        "this SparseEncoder does not compute what a splade-doc network computes",
        facts=[("part", what), ("expected", expected), ("seen", seen)],
        fixes=["write its weights as JSON vectors and index them with --model vectors"],
    )


def _json(path: Path, kind: type) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MissingFileError("a file of the checkpoint is missing", facts=[("file", path)]) from error
    except ValueError as error:
        raise ModelFormatError(
            "a file of the checkpoint is no JSON", facts=[("file", path), ("why", error)]
        ) from error
    if not isinstance(content, kind):
        raise ModelFormatError("a file of the checkpoint is not as expected", facts=[("file", path)])
    return content


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
