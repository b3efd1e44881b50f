"""Reading and converting checkpoints as others publish them, and the int8 networks that ship with the package.

=======================================  =================================================  ==========
layout of the folder                     told by                                            kind
=======================================  =================================================  ==========
TILDE: a masked language model           weights of a language-model head                   tilde
TILDEv2, uniCOIL (document side)         ``tok_proj.weight``                                tildev2
our own, as `write_encoder_folder` does  ``token_projection.weight``, or as TILDE           see above
SparseEncoder of sentence-transformers   ``modules.json``, see                              splade-doc
                                         `termwise.train.export.sparse_encoder`
=======================================  =================================================  ==========

Weights are read from ``model.safetensors`` or ``pytorch_model.bin``; of the latter, tensors only: a file that would
run code is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import onnx
import torch
from transformers import AutoConfig

from termwise.collection import open_collection
from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.encoder_manifest import ExpansionRecord
from termwise.encode.expansion import Expansion
from termwise.errors import (
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    VocabularyMismatchError,
)
from termwise.progress import Progress, no_progress
from termwise.text import WordPieceAnalyzer
from termwise.text.vocabulary_cleaning import CleanMode
from termwise.train.base_encoder import base_analyzer
from termwise.train.data.inputs import Pieces
from termwise.train.export.checkpoint_files import Arrays, check_finite, misfit, read_json, read_tensors
from termwise.train.export.folder_writer import FOLDER, write_encoder_folder
from termwise.train.export.onnx_export import load_weights, network_of
from termwise.train.export.quantise import dequantised_weights
from termwise.train.export.sparse_encoder import MODULES, SparseEncoderFolder
from termwise.train.export.tilde_floors import sample_collection_passages, tilde_floors
from termwise.train.messages import Say, first_line, silent
from termwise.train.networks import (
    NETWORKS,
    SpladeDocNetwork,
    TermNetwork,
    TildeNetwork,
    TildeV2Network,
    positions,
    untrained,
)
from termwise.validation import check, check_callable, check_path

_PROJECTION = "token_projection"
_PROJECTIONS = {f"tok_proj.{part}": f"{_PROJECTION}.{part}" for part in ("weight", "bias")}
_OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}
_HEADS = ("cls.predictions.", "lm_head.", "vocab_transform.", "generator_predictions.")
_LENGTHS = {"tilde": 512, "tildev2": 192, "splade-doc": 512}
"""Pieces that the published code reads of a document."""
_EXPANSION_LENGTH = 128
"""Pieces that the published code reads of a document to expand it."""
_CLEANINGS: dict[str, CleanMode] = {"tilde": "repo", "tildev2": "repo", "splade-doc": "none"}
_SEED = 0

_CONFIG = "config.json"
_LARGEST: dict[str, int] = {
    "vocab_size": 1 << 24,
    "max_position_embeddings": 1 << 20,
    "type_vocab_size": 1 << 16,
    **dict.fromkeys(("num_hidden_layers", "n_layers", "num_attention_heads", "n_heads"), 1 << 10),
    **dict.fromkeys(("hidden_size", "dim", "intermediate_size", "hidden_dim", "embedding_size"), 1 << 18),
}
"""Sizes in a configuration, each with the largest that is believed."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Checkpoint:
    """What a published checkpoint holds.

    Attributes
    ----------
    network : TermNetwork
        In training mode, float32.
    analyzer : WordPieceAnalyzer
        Its tokenizer.
    query_weights : ndarray of shape (V,), float32, or None
        Weight of each term that a query holds, of a SparseEncoder with static weights on its query side.
    reads_queries : bool
        Whether the checkpoint runs its network over queries too, which termwise does not.
    """

    network: TermNetwork
    analyzer: WordPieceAnalyzer
    query_weights: npt.NDArray[np.float32] | None
    reads_queries: bool


def convert_checkpoint(
    folder: str | Path,
    out: str | Path,
    *,
    kind: str | None = None,
    floors_from: str | Path | None = None,
    expansion: Expansion | None = None,
    progress: Progress = no_progress,
    say: Say = silent,
) -> EncoderFolder:
    """Convert a published checkpoint to an encoder folder.

    Windows and cleaning are those of the published code.

    Parameters
    ----------
    folder, kind
        See `load`.
    out : str or Path
        The encoder folder.
    floors_from : str or Path, optional
        Kind tilde: the collection over whose passages the floors of the compact form are measured, see
        `open_collection`. Without floors only the exact form can be used.
    expansion : Expansion, optional
        Kind tildev2: the TILDE encoder that expanded the passages it was trained on, and how. No checkpoint says so.
    progress : callable, optional
        Called with a stage, what is done, and the total.
    say : callable, optional
        Called with lines on what is going on, and on what the checkpoint does that is not taken over.

    Returns
    -------
    EncoderFolder

    Raises
    ------
    ForeignFolderError
        If `out` holds an encoder already, or something else, or is the folder of the checkpoint.
    ParameterError
        If floors or an expansion are given for another kind, or windows and their expansions are longer than what
        the networks read.
    ModelFormatError, VocabularyMismatchError
        If what is to expand documents is no TILDE encoder, or has another vocabulary.
    TermwiseError
        As `load`, `open_collection` and `write_encoder_folder` do.
    """
    check("folder", folder, isinstance(folder, str | Path), "a folder")
    check_path("out", out)
    check("expansion", expansion, isinstance(expansion, Expansion | None), "an Expansion, or None")
    check_callable("progress", progress)
    check_callable("say", say)
    FOLDER.check_place(Path(out), base=folder)
    FOLDER.refuse_finished(Path(out))
    collection = None if floors_from is None else open_collection(floors_from)
    say(f"reading the checkpoint {folder}")
    read = load_checkpoint(folder, kind=kind)
    network, analyzer = read.network, read.analyzer
    length = min(_LENGTHS[network.kind], positions(network))
    cleaning = _CLEANINGS[network.kind]
    record = None if expansion is None else _expansion(read, expansion)
    floors = None
    if collection is not None:
        if not isinstance(network, TildeNetwork):
            raise ParameterError(
                "only encoders of kind tilde have floors",
                facts=[("checkpoint", folder), ("kind", network.kind)],
                fixes=["leave --floors-from out"],
            )
        floors = tilde_floors(
            network,
            Pieces(analyzer, network.kind),
            sample_collection_passages(collection, seed=_SEED, progress=progress),
            length=length,
            cleaning=cleaning,
            progress=progress,
        )
    if read.reads_queries:
        say(
            "warning: this checkpoint runs its network over queries too; here the words of a query are counted, and "
            "scores are not those of the checkpoint"
        )
    say(f"writing the encoder: ONNX in float32 and int8, compared with torch, to {out}")
    return write_encoder_folder(
        network,
        analyzer,
        out,
        cleaning=cleaning,
        length=length,
        floors=floors,
        expansion=record,
        query_weights=read.query_weights,
        trained={
            "converted": {
                "from": Path(folder).resolve().name,
                "architecture": type(network.pretrained).__name__,
                "queries": _queries(read),
                "floors_from": None if collection is None else collection.name,
            }
        },
    )


def load_checkpoint(folder: str | Path, *, kind: str | None = None) -> Checkpoint:
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
    Checkpoint

    Raises
    ------
    MissingFileError
        If there is no such folder, or it has no weights or no configuration.
    UnknownNameError
        If there is no such kind.
    ModelFormatError
        If the configuration is not that of a network, weights of the head or of the encoder are missing, one is not
        finite or has another type or shape, the file would run code, a file outside the folder is named, the
        tokenizer has another vocabulary, or a SparseEncoder computes what termwise does not.
    VocabularyMismatchError
        If the two sides of a SparseEncoder cut text in different ways.
    """
    folder = Path(folder)
    if kind is not None and kind not in NETWORKS:
        raise UnknownNameError.of("kind of network", kind, NETWORKS)
    if not folder.is_dir():
        raise MissingFileError("there is no such checkpoint", facts=[("path", folder)])
    sparse = SparseEncoderFolder.read(folder) if (folder / MODULES).is_file() else None
    if sparse is not None:
        if kind not in (None, SpladeDocNetwork.kind):
            raise ModelFormatError(
                f"a SparseEncoder is of kind {SpladeDocNetwork.kind}",
                facts=[("folder", folder), ("asked for", kind)],
                fixes=[f"--kind {SpladeDocNetwork.kind}", "leave the kind out"],
            )
        folder, kind = sparse.documents, SpladeDocNetwork.kind
    found, unlike = read_tensors(folder)
    weights, others = _renamed(found), _renamed(unlike)
    if kind is None:
        kind = TildeV2Network.kind if f"{_PROJECTION}.weight" in weights else TildeNetwork.kind
    check_finite(folder, weights)
    network = _network(folder, kind, weights, others)
    analyzer = base_analyzer(folder)
    terms = network.config.vocab_size
    if terms != len(analyzer.vocabulary):
        raise ModelFormatError(
            "the checkpoint and its tokenizer have vocabularies of different sizes",
            facts=[("terms of the network", terms), ("terms of the tokenizer", len(analyzer.vocabulary))],
            fixes=["put the tokenizer.json or vocab.txt it was trained with into the folder"],
        )
    return Checkpoint(
        network.train(),
        analyzer,
        None if sparse is None else sparse.query_weights(analyzer),
        _is_unicoil(folder) if sparse is None else sparse.queries is None,
    )


def dequantised_network(encoder: str | Path) -> TermNetwork:
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
    sizes = read_json(file, dict)
    if not isinstance(sizes.get("model_type"), str):
        raise misfit(file, "model_type", "the name of an architecture, as bert", sizes.get("model_type"))
    for key, largest in _LARGEST.items():
        value = sizes.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            raise misfit(file, key, f"a whole number, 1 to {largest:,}", value)
    for key in ("num_hidden_layers", "n_layers"):
        if sizes.get(key, 1) > len(weights):
            raise misfit(file, key, f"no more layers than the {len(weights):,} tensors there are", sizes[key])
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
    prefix = f"{network.pretrained.base_model_prefix}." if isinstance(network, TildeV2Network) else ""
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
    given = read_json(folder / _CONFIG, dict)
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
        others = [TildeV2Network.kind] if f"{_PROJECTION}.weight" in bare else []
        others += [TildeNetwork.kind] if any(name.startswith(_HEADS) for name in bare) else []
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


def _renamed(tensors: Mapping[str, _Value]) -> dict[str, _Value]:
    """Give tensors the names they have today."""
    return {_name_today(name): tensor for name, tensor in tensors.items()}


def _name_today(name: str) -> str:
    name = _PROJECTIONS.get(name, name)
    for old, new in _OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _is_unicoil(folder: Path) -> bool:
    """Tell whether a checkpoint calls itself a uniCOIL, whose network weighs queries as it weighs documents."""
    return "coil" in str(read_json(folder / _CONFIG, dict).get("architectures")).lower()


def _queries(read: Checkpoint) -> str:
    if read.query_weights is not None:
        return "static weights"
    return "counted, where the checkpoint runs its network" if read.reads_queries else "counted"


def _expansion(read: Checkpoint, expansion: Expansion) -> ExpansionRecord:
    """Describe an expansion that the network and the TILDE encoder can make."""
    name, terms = expansion.encoder, expansion.terms
    if read.network.kind != TildeV2Network.kind:
        raise ParameterError(
            "only encoders of kind tildev2 are run with expansions",
            facts=[("kind", read.network.kind)],
            fixes=["leave --expand-with out"],
        )
    expander = EncoderFolder.open(name)
    if expander.manifest.kind != TildeNetwork.kind:
        raise ModelFormatError(
            "an encoder of kind tilde expands documents, and this is one of another kind",
            facts=[("encoder", name), ("kind", expander.manifest.kind)],
            fixes=["--expand-with FOLDER of a TILDE encoder"],
        )
    if expander.vocabulary != read.analyzer.vocabulary:
        raise VocabularyMismatchError(
            "the checkpoint and the encoder that is to expand its documents have different vocabularies",
            facts=[
                ("checkpoint", f"{len(read.analyzer.vocabulary):,} terms"),
                ("expands", f"{name}, {len(expander.vocabulary):,} terms"),
            ],
            fixes=[
                "--expand-with FOLDER of the TILDE encoder it was trained with",
                "leave --expand-with out",
            ],
        )
    room = positions(read.network) - terms - 1
    if room < 3:
        raise ParameterError(
            "expansions leave no room for the document in what the network reads",
            facts=[("expansion terms", terms), ("the network reads", positions(read.network))],
            fixes=["--expansion-terms NUMBER, fewer"],
        )
    return expander.expansion(
        terms=terms,
        counting=expansion.counting,
        length=min(_EXPANSION_LENGTH, expander.manifest.positions, room),
        lift=expansion.lift,
    )
