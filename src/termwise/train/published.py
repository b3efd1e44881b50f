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
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import onnx
import torch
from safetensors.torch import load_file
from transformers import AutoConfig

from termwise.encode.folder import EncoderFolder
from termwise.encode.manifest import ExpansionRecord
from termwise.errors import MissingFileError, ModelFormatError, UnknownNameError
from termwise.text import WordPieceAnalyzer
from termwise.text.cleaning import CleanMode
from termwise.train.base import base_analyzer
from termwise.train.export import load_weights, network_of
from termwise.train.networks import NETWORKS, SpladeDoc, TermNetwork, Tilde, TildeV2, positions, untrained
from termwise.train.quantise import dequantised_weights
from termwise.train.telling import first_line
from termwise.train.write_folder import FOLDER, write_encoder_folder

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_PROJECTION = "token_projection"
_PROJECTIONS = {f"tok_proj.{part}": f"{_PROJECTION}.{part}" for part in ("weight", "bias")}
_OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}
_HEADS = ("cls.predictions.", "lm_head.", "vocab_transform.", "generator_predictions.")
_LENGTHS = {"tilde": 512, "tildev2": 192, "splade-doc": 512}
"""Pieces that the published code reads of a document."""
_CLEANINGS: dict[str, CleanMode] = {"tilde": "repo", "tildev2": "repo", "splade-doc": "none"}

_CONFIG = "config.json"
_MODULES = "modules.json"
_ROUTER = "router_config.json"
_LARGEST: dict[str, int] = {
    "vocab_size": 1 << 24,
    "max_position_embeddings": 1 << 20,
    "type_vocab_size": 1 << 16,
    **dict.fromkeys(("num_hidden_layers", "n_layers", "num_attention_heads", "n_heads"), 1 << 10),
    **dict.fromkeys(("hidden_size", "dim", "intermediate_size", "hidden_dim", "embedding_size"), 1 << 18),
}
"""Sizes in a configuration, each with the largest that is believed."""

_Value = TypeVar("_Value")

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

    Raises
    ------
    ForeignFolderError
        If `out` holds an encoder already, or something else, or is the folder of the checkpoint.
    TermwiseError
        As `load` and `write_encoder_folder` do.
    """
    FOLDER.check_place(Path(out), base=folder)
    FOLDER.refuse_finished(Path(out))
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
        If the configuration is not that of a network, weights of the head or of the encoder are missing, one is not
        finite or has another type or shape, the file would run code, a file outside the folder is named, or the
        tokenizer has another vocabulary.
    """
    folder = Path(folder)
    if kind is not None and kind not in NETWORKS:
        raise UnknownNameError.of("kind of network", kind, NETWORKS)
    if not folder.is_dir():
        raise MissingFileError("there is no such checkpoint", facts=[("path", folder)])
    if (folder / _MODULES).is_file():
        folder = _document_side(folder)
        kind = SpladeDoc.kind if kind is None else kind
    weights, others = _read_weights(folder)
    if kind is None:
        kind = TildeV2.kind if f"{_PROJECTION}.weight" in weights else Tilde.kind
    _check_finite(folder, weights)
    network = _network(folder, kind, weights, others)
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
        raise ModelFormatError(
            "the graph cannot be read", facts=[("file", path), ("why", first_line(error))]
        ) from error
    return network_of(model, dequantised_weights(model))


def _network(folder: Path, kind: str, weights: Arrays, others: Mapping[str, str]) -> TermNetwork:
    config = _configuration(folder, weights)
    with torch.device("meta"):  # sizes only, which may be beyond reason
        shape = _built(folder, kind, config)
    named = _named(shape, weights)
    _check_numbers(folder, shape, _named(shape, others))
    _check_head(folder, shape, named)
    _check_shapes(folder, shape, named)
    network = _built(folder, kind, config)
    load_weights(network, named)
    return network


def _configuration(folder: Path, weights: Arrays) -> Any:
    """Read ``config.json``, and see that its sizes can be those of a network."""
    file = folder / _CONFIG
    sizes = _json(file, dict)
    if not isinstance(sizes.get("model_type"), str):
        raise _misfit(file, "model_type", "the name of an architecture, as bert", sizes.get("model_type"))
    for key, largest in _LARGEST.items():
        value = sizes.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            raise _misfit(file, key, f"a whole number, 1 to {largest:,}", value)
    for key in ("num_hidden_layers", "n_layers"):
        if sizes.get(key, 1) > len(weights):
            raise _misfit(
                file, key, f"no more layers than the {len(weights):,} tensors there are", sizes[key]
            )
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        config.is_decoder = config.add_cross_attention = False
    except Exception as error:  # transformers documents no type
        raise ModelFormatError(
            "the configuration of the checkpoint cannot be read",
            facts=[("file", file), ("transformers says", first_line(error))],
            fixes=["take the config.json that was published with the weights"],
        ) from error
    return config


def _built(folder: Path, kind: str, config: Any) -> TermNetwork:
    """Make a network of this configuration, with random weights."""
    try:
        return untrained(kind, config)
    except Exception as error:  # transformers documents no type
        raise ModelFormatError(
            "no network can be made from the configuration of the checkpoint",
            facts=[
                ("file", folder / _CONFIG),
                ("model_type", config.model_type),
                ("transformers says", first_line(error)),
            ],
            fixes=["take the config.json that was published with the weights"],
        ) from error


def _named(network: TermNetwork, weights: Mapping[str, _Value]) -> dict[str, _Value]:
    """Name the weights of a checkpoint as the network does."""
    prefix = f"{network.pretrained.base_model_prefix}." if isinstance(network, TildeV2) else ""
    return {
        name if name.startswith(_PROJECTION) else f"pretrained.{name.removeprefix(prefix)}": array
        for name, array in weights.items()
    }


def _check_numbers(folder: Path, network: TermNetwork, others: Mapping[str, str]) -> None:
    """Refuse weights that are not floating-point numbers; of what is no weight they may be any."""
    wrong = [name for name, _ in network.named_parameters(remove_duplicate=False) if name in others]
    if wrong:
        raise ModelFormatError(
            "a weight of the checkpoint is not made of floating-point numbers",
            facts=[
                ("folder", folder),
                ("tensor", wrong[0].removeprefix("pretrained.")),
                ("seen", others[wrong[0]]),
            ],
            fixes=["take the checkpoint as it was before it was quantised or made sparse"],
        )


def _check_shapes(folder: Path, network: TermNetwork, weights: Arrays) -> None:
    given = _json(folder / _CONFIG, dict)
    unsaid = [
        f"{key}={getattr(network.config, key)}"
        for key in _LARGEST
        if key not in given and hasattr(network.config, key)
    ]
    for name, parameter in network.named_parameters(remove_duplicate=False):
        if name in weights and weights[name].shape != tuple(parameter.shape):
            raise ModelFormatError(
                "a weight has another shape than the configuration says",
                facts=[
                    ("file", folder / _CONFIG),
                    ("weight", name.removeprefix("pretrained.")),
                    ("seen", weights[name].shape),
                    ("expected", tuple(parameter.shape)),
                    *([("taken for", f"{', '.join(unsaid)}: the file does not say")] if unsaid else []),
                ],
                fixes=["take the config.json that was published with the weights"],
            )


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


def _read_weights(folder: Path) -> tuple[Arrays, dict[str, str]]:
    """Read the tensors of floating-point numbers, and of all others what they are."""
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
    except Exception as error:  # torch documents no type for a damaged file
        raise ModelFormatError(
            "the weights of the checkpoint cannot be read, or are more than tensors",
            facts=[("file", path), ("torch says", first_line(error))],
            fixes=["convert them to model.safetensors where you trust the file"],
        ) from error
    if not isinstance(state, Mapping) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in state.items()
    ):
        raise ModelFormatError(
            "the weights are not tensors by name",
            facts=[("file", path)],
            fixes=["save the state_dict() of the network, and nothing around it"],
        )
    plain = {
        _renamed(name): tensor.detach().float().numpy() for name, tensor in state.items() if _is_plain(tensor)
    }
    others = {
        _renamed(name): f"{str(tensor.dtype).removeprefix('torch.')}, {tensor.layout}"
        for name, tensor in state.items()
        if not _is_plain(tensor)
    }
    return plain, others


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.layout == torch.strided and not tensor.is_meta


def _renamed(name: str) -> str:
    """Give a tensor the name it has today."""
    name = _PROJECTIONS.get(name, name)
    for old, new in _OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _document_side(folder: Path) -> Path:
    """Return the folder of the transformer that a SparseEncoder runs over documents; check what follows it."""
    file = folder / _MODULES
    modules = []
    for number, entry in enumerate(_json(file, list)):
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise _misfit(file, f"[{number}].type", "the name of a class", entry)
        modules.append((entry["type"], _inner(file, f"[{number}].path", entry.get("path"))))
    if len(modules) == 1 and _last(modules[0][0]) == "Router":
        modules = _routed(folder, modules[0][1])
    names = [_last(kind) for kind, _ in modules]
    if names != ["MLMTransformer", "SpladePooling"]:
        raise _unlike(
            "modules of the document side", "MLMTransformer, SpladePooling", ", ".join(names) or "none"
        )
    pooling = _json(folder / modules[1][1] / _CONFIG, dict)
    for setting, expected in (("pooling_strategy", "max"), ("activation_function", "relu")):
        if pooling.get(setting, expected) != expected:
            raise _unlike(setting, expected, str(pooling[setting]))
    return folder / modules[0][1]


def _routed(folder: Path, router: str) -> list[tuple[str, str]]:
    """List the modules through which a router sends documents: the class of each, and its folder."""
    file = folder / router / _ROUTER
    described = _json(file, dict)
    structure, types = described.get("structure"), described.get("types")
    parts = structure.get("document", []) if isinstance(structure, dict) else None
    if not isinstance(parts, list):
        raise _misfit(file, "structure.document", "a list of modules", structure)
    modules = []
    for number, part in enumerate(parts):
        place = _inner(file, f"structure.document[{number}]", part)
        kind = types.get(part) if isinstance(types, dict) else None
        if not isinstance(kind, str):
            raise _misfit(file, f"types.{part}", "the name of a class", kind)
        modules.append((kind, str(PurePosixPath(router) / place)))
    return modules


def _inner(file: Path, key: str, path: object) -> str:
    """Return a path that a file names, where it lies inside the folder of the file."""
    if not isinstance(path, str) or "\\" in path or "\0" in path:
        raise _misfit(file, key, "a folder inside that of the file", path)
    inner = PurePosixPath(path)
    if inner.is_absolute() or ".." in inner.parts or Path(path).is_absolute():
        raise _misfit(file, key, "a folder inside that of the file", path)
    return path


def _misfit(file: Path, key: str, expected: str, seen: object) -> ModelFormatError:
    return ModelFormatError(
        "a file of the checkpoint is not as expected",
        facts=[("file", file), ("key", key), ("expected", expected), ("seen", repr(seen)[:80])],
        fixes=["download the checkpoint again"],
    )


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
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(
            "a file of the checkpoint is no JSON", facts=[("file", path), ("why", first_line(error))]
        ) from error
    if not isinstance(content, kind):
        expected = "an object" if kind is dict else "a list"
        raise _misfit(path, "the whole file", expected, content)
    return content


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]
