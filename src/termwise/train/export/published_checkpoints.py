"""Load and convert published checkpoints, and load the torch networks of encoder folders.

=======================================  =================================================  ==========
layout of the folder                     recognised by                                      kind
=======================================  =================================================  ==========
TILDE: a masked language model           weights of a language-model head                   tilde
TILDEv2, uniCOIL (document side)         ``tok_proj.weight``                                tildev2
encoder folder of termwise               ``token_projection.weight``, or as TILDE           see above
SparseEncoder of sentence-transformers   ``modules.json``, see                              splade-doc
                                         `termwise.train.export.sparse_encoder`
OpenSearch, without modules              ``idf.json``, or ``query_token_weights.txt``       splade-doc
=======================================  =================================================  ==========

Weights are read from ``model.safetensors`` or ``pytorch_model.bin``. A ``pytorch_model.bin`` that would run code is
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import onnx
import torch
import transformers
from transformers import CONFIG_MAPPING, AutoConfig

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
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.progress import Progress, Say, no_progress, silent
from termwise.storage.safe_read import is_file, is_folder
from termwise.text import WordPieceAnalyzer
from termwise.text.cleaned_analyzer import CleanMode
from termwise.train.base_encoder import base_analyzer
from termwise.train.export.checkpoint_files import Arrays, check_finite, misfit, read_json, read_tensors
from termwise.train.export.folder_writer import FOLDER, EncoderContents, write_encoder_folder
from termwise.train.export.onnx_export import load_weights, network_of, parameter_names
from termwise.train.export.quantise import dequantised_weights
from termwise.train.export.sentence_modules import MODULES
from termwise.train.export.sparse_encoder import PlainFolder, SparseEncoderFolder
from termwise.train.export.tilde_floors import sample_collection_passages, tilde_floors
from termwise.train.inputs import Pieces
from termwise.train.library_errors import errors_as
from termwise.train.networks import (
    NETWORKS,
    SpladeDocNetwork,
    TermNetwork,
    TildeNetwork,
    TildeV2Network,
    positions,
    untrained,
)
from termwise.train.settings import ACTIVATIONS, Activation
from termwise.validation import check, check_path

_PROJECTION = "token_projection"
_PROJECTIONS = {f"tok_proj.{part}": f"{_PROJECTION}.{part}" for part in ("weight", "bias")}
_OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}
_HEADS = ("cls.predictions.", "lm_head.", "vocab_transform.", "generator_predictions.")
_LENGTHS = {"tilde": 512, "tildev2": 192, "splade-doc": 512}
"""Document length of the published code in pieces."""
_EXPANSION_LENGTH = 128
"""Document length of the published code in pieces for expansion."""
_CLEANINGS: dict[str, CleanMode] = {"tilde": "repo", "tildev2": "repo", "splade-doc": "none"}
_SEED = 0

_CONFIG = "config.json"
_PUBLISHED_CONFIG = "use the config.json that was published with the weights"
_LARGEST: dict[str, int] = {
    "vocab_size": 1 << 24,
    "max_position_embeddings": 1 << 20,
    "type_vocab_size": 1 << 16,
    **dict.fromkeys(("num_hidden_layers", "n_layers", "num_attention_heads", "n_heads"), 1 << 10),
    **dict.fromkeys(("hidden_size", "dim", "intermediate_size", "hidden_dim", "embedding_size"), 1 << 18),
}
"""Sizes in a configuration, each with the largest accepted value."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Checkpoint:
    """Contents of a published checkpoint.

    Attributes
    ----------
    network : TermNetwork
        In training mode, float32.
    analyzer : WordPieceAnalyzer
        Its tokenizer.
    query_weights : ndarray of shape (V,), float32, or None
        Query-side weight of each term, for a SparseEncoder with static query weights.
    reads_queries : bool
        Whether the checkpoint runs its network over queries too; termwise does not.
    length : int
        Pieces of a document, the two special ones included, to which the published code cuts it; at most the positions
        of the network.
    """

    network: TermNetwork
    analyzer: WordPieceAnalyzer
    query_weights: npt.NDArray[np.float32] | None
    reads_queries: bool
    length: int


def convert_checkpoint(
    folder: str | Path,
    out: str | Path,
    *,
    kind: str | None = None,
    activation: Activation | None = None,
    floors_from: str | Path | None = None,
    expansion: Expansion | None = None,
    progress: Progress = no_progress,
    say: Say = silent,
) -> EncoderFolder:
    """Convert a published checkpoint to an encoder folder.

    Document length and cleaning are those of the published code.

    Parameters
    ----------
    folder, kind, activation
        See `load_checkpoint`.
    out : str or Path
        The encoder folder.
    floors_from : str or Path, optional
        Kind tilde: the collection of passages for the floors of the compact form, see `open_collection`. Without floors
        only the exact form can be used.
    expansion : Expansion, optional
        Kind tildev2: the TILDE encoder that expanded the training passages, and its parameters. No checkpoint records
        them.
    progress : callable, optional
        Called with a stage, the amount done, and the total.
    say : callable, optional
        Called with progress messages, and with warnings on features of the checkpoint that are not converted.

    Raises
    ------
    ForeignFolderError
        If `out` holds an encoder or something else, or is the folder of the checkpoint.
    ParameterError
        If floors or an expansion are given for another kind, or a document with its expansion is longer than the input
        of the network.
    ModelFormatError, VocabularyMismatchError
        If the expanding encoder is not a TILDE encoder, or has another vocabulary.
    TermwiseError
        See `load_checkpoint`, `open_collection` and `write_encoder_folder`.
    """
    check("folder", folder, isinstance(folder, str | Path), "a folder")
    check_path("out", out)
    check("expansion", expansion, isinstance(expansion, Expansion | None), "an Expansion, or None")
    FOLDER.check_output(Path(out), base=folder)
    FOLDER.refuse_finished(Path(out))
    collection = None if floors_from is None else open_collection(floors_from)
    say(f"reading the checkpoint {folder}")
    checkpoint = load_checkpoint(folder, kind=kind, activation=activation)
    network, analyzer = checkpoint.network, checkpoint.analyzer
    length = checkpoint.length
    cleaning = _CLEANINGS[network.kind]
    record = None if expansion is None else _expansion(checkpoint, expansion)
    floors = None
    if collection is not None:
        if not isinstance(network, TildeNetwork):
            raise ParameterError(
                "only encoders of kind tilde have floors",
                facts=[("checkpoint", folder), ("kind", network.kind)],
                fixes=[Fix.omit("floors_from")],
            )
        floors = tilde_floors(
            network,
            Pieces(analyzer, network.kind),
            sample_collection_passages(collection, seed=_SEED, progress=progress),
            length=length,
            cleaning=cleaning,
            progress=progress,
        )
    if checkpoint.reads_queries:
        say(
            "warning: this checkpoint runs its network over queries too; termwise counts the words of a query instead, "
            "so scores differ from those of the checkpoint"
        )
    say(f"writing the encoder to {out}: ONNX in float32 and int8, compared with torch")
    return write_encoder_folder(
        network,
        analyzer,
        out,
        EncoderContents(
            cleaning=cleaning,
            length=length,
            floors=floors,
            expansion=record,
            query_weights=checkpoint.query_weights,
        ),
        trained={
            "converted": {
                "from": Path(folder).resolve().name,
                "architecture": type(network.pretrained).__name__,
                "queries": _query_side(checkpoint),
                "floors_from": None if collection is None else collection.name,
            }
        },
    )


def load_checkpoint(
    folder: str | Path, *, kind: str | None = None, activation: Activation | None = None
) -> Checkpoint:
    """Load a checkpoint from a local folder.

    Parameters
    ----------
    folder : str or Path
        In one of the layouts listed in the module docstring.
    kind : {"tilde", "tildev2", "splade-doc"}, optional
        By default the layout decides; a masked language model is loaded as ``tilde``.
    activation : {"relu", "log1p_relu"}, optional
        Kind splade-doc, for a folder that does not state it: how logits become weights, see `SpladeDocNetwork`. A
        folder of OpenSearch without modules needs it: ``log1p_relu`` for doc-v3, ``relu`` for the others.

    Raises
    ------
    MissingFileError
        If there is no such folder, or it has no weights or no configuration.
    UnknownNameError
        If there is no such kind or activation.
    ParameterError
        If an activation is given for another kind, or for a folder that states its own; or if it is needed and missing.
    ModelFormatError
        If the configuration does not describe a network, weights of the head or of the encoder are missing, a weight is
        not finite or has another type or shape, the file would run code, a file outside the folder is named, the
        tokenizer has another vocabulary, or a SparseEncoder has modules that termwise does not support.
    VocabularyMismatchError
        If the two sides of a SparseEncoder have different tokenizers, or query weights name unknown tokens.
    """
    folder, given = Path(folder), folder
    if kind is not None and kind not in NETWORKS:
        raise UnknownNameError.of("kind of network", kind, NETWORKS)
    if activation is not None and activation not in ACTIVATIONS:
        raise UnknownNameError.of("activation", activation, ACTIVATIONS)
    if not is_folder(folder):
        raise MissingFileError("there is no such checkpoint", facts=[("path", folder)])
    sparse = SparseEncoderFolder.read(folder) if is_file(folder / MODULES) else None
    if sparse is not None:
        if kind not in (None, SpladeDocNetwork.kind):
            raise ModelFormatError(
                f"a SparseEncoder is of kind {SpladeDocNetwork.kind}",
                facts=[("folder", folder), ("kind", kind)],
                fixes=[Fix.use(kind=SpladeDocNetwork.kind), Fix.omit("kind")],
            )
        folder, kind = sparse.documents, SpladeDocNetwork.kind
    plain = PlainFolder.find(folder) if sparse is None and kind in (None, SpladeDocNetwork.kind) else None
    if plain is not None:
        kind = SpladeDocNetwork.kind
    tensors, other_tensors = read_tensors(folder)
    weights = {_current_name(name): array for name, array in tensors.items()}
    others = {_current_name(name): kind for name, kind in other_tensors.items()}
    if kind is None:
        kind = TildeV2Network.kind if f"{_PROJECTION}.weight" in weights else TildeNetwork.kind
    check_finite(folder, weights)
    network = _network(folder, kind, weights, others)
    if isinstance(network, SpladeDocNetwork):
        if sparse is not None:
            network.activation, network.pooling = sparse.activation, sparse.pooling
        _set_activation(network, activation, given, stated=sparse is not None, needed=plain is not None)
    elif activation is not None:
        raise ParameterError(
            "only a network of kind splade-doc has an activation",
            facts=[("checkpoint", given), ("kind", kind)],
            fixes=[Fix.omit("activation")],
        )
    analyzer = base_analyzer(folder)
    terms = network.config.vocab_size
    if terms != len(analyzer.vocabulary):
        raise ModelFormatError(
            "the checkpoint and its tokenizer have vocabularies of different sizes",
            facts=[("terms of the network", terms), ("terms of the tokenizer", len(analyzer.vocabulary))],
            fixes=["put its own tokenizer.json or vocab.txt into the folder"],
        )
    queries = sparse or plain
    longest = positions(network)
    return Checkpoint(
        network=network.train(),
        analyzer=analyzer,
        query_weights=None if queries is None else queries.query_weights(analyzer),
        reads_queries=_is_unicoil(folder) if sparse is None else sparse.queries is None,
        length=min((sparse.length or longest) if sparse is not None else _LENGTHS[kind], longest),
    )


def dequantised_network(encoder: str | Path) -> TermNetwork:
    """Build a torch network from the ONNX graph of an encoder folder, for example to train a shipped encoder further.

    Parameters
    ----------
    encoder : str or Path
        A shipped encoder or a folder. Its float32 graph is read if there is one; otherwise the weights of its int8
        graph are dequantised.

    Returns
    -------
    TermNetwork
        In training mode, float32.

    Raises
    ------
    ModelFormatError
        If `to_onnx` did not write the graph.
    """
    opened = EncoderFolder.open(encoder)
    networks = opened.manifest.networks()
    path = opened.path(networks.get("float32", networks.get("int8", "")))
    with errors_as(ModelFormatError, "the graph cannot be read", facts=[("file", path)]):
        model = onnx.load(path)
    return network_of(model, dequantised_weights(model))


def _network(folder: Path, kind: str, weights: Arrays, others: Mapping[str, str]) -> TermNetwork:
    config = _configuration(folder, weights)
    with torch.device("meta"):  # shapes only, because the sizes may be too large for memory
        shape = _built(folder, kind, config)
    named = _named(shape, weights)
    _check_weights(folder, shape, named, _named(shape, others))
    network = _built(folder, kind, config)
    load_weights(network, named)
    return network


def _set_activation(
    network: SpladeDocNetwork,
    activation: Activation | None,
    folder: str | Path,
    *,
    stated: bool,
    needed: bool,
) -> None:
    """Set the activation of a network that the user gives, if its folder does not state one."""
    stated = stated or network.states_activation
    if activation is not None and stated:
        raise ParameterError(
            "this checkpoint states its activation",
            facts=[("checkpoint", folder), ("stated", network.activation), ("given", activation)],
            fixes=[Fix.omit("activation")],
        )
    if activation is None and needed and not stated:
        raise ParameterError(
            "this checkpoint does not state its activation",
            facts=[("checkpoint", folder), ("missing", MODULES)],
            fixes=[
                Fix.use("use {} for doc-v1, doc-v2 and multilingual-v1", activation="relu"),
                Fix.use("use {} for doc-v3", activation="log1p_relu"),
                "download the complete checkpoint, with modules.json",
            ],
        )
    if activation is not None:
        network.activation = activation


def _configuration(folder: Path, weights: Arrays) -> Any:
    """Read ``config.json`` and check its sizes."""
    file = folder / _CONFIG
    sizes = read_json(file, dict)
    if not isinstance(sizes.get("model_type"), str):
        raise misfit(file, "model_type", "the name of an architecture, such as bert", sizes.get("model_type"))
    if sizes["model_type"] not in CONFIG_MAPPING:
        raise ModelFormatError(
            "transformers does not have the architecture of this checkpoint",
            facts=[
                ("file", file),
                ("model_type", sizes["model_type"]),
                ("transformers", transformers.__version__),
            ],
            fixes=[
                "termwise runs no code of a checkpoint: encode its documents with the code that came with it, and "
                "write the weights as JSON vectors",
                Fix.build("index such weights with {}", model="vectors"),
            ],
        )
    for key, largest in _LARGEST.items():
        value = sizes.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            raise misfit(file, key, f"a whole number, 1 to {largest:,}", value)
    for key in ("num_hidden_layers", "n_layers"):
        if sizes.get(key, 1) > len(weights):
            raise misfit(
                file, key, f"at most as many layers as there are tensors, {len(weights):,}", sizes[key]
            )
    with errors_as(
        ModelFormatError,
        "the configuration of the checkpoint cannot be read",
        facts=[("file", file)],
        fixes=[_PUBLISHED_CONFIG],
    ):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        config.is_decoder = config.add_cross_attention = False
    return config


def _built(folder: Path, kind: str, config: Any) -> TermNetwork:
    """Return a network with this configuration and random weights."""
    with errors_as(
        ModelFormatError,
        "no network can be built from the configuration of the checkpoint",
        facts=[("file", folder / _CONFIG), ("model_type", config.model_type)],
        fixes=[_PUBLISHED_CONFIG],
    ):
        return untrained(kind, config)


def _named(network: TermNetwork, weights: Mapping[str, _Value]) -> dict[str, _Value]:
    """Return the weights of a checkpoint under the names of the network's parameters."""
    prefix = f"{network.pretrained.base_model_prefix}." if isinstance(network, TildeV2Network) else ""
    return {
        name if name.startswith(_PROJECTION) else f"pretrained.{name.removeprefix(prefix)}": array
        for name, array in weights.items()
    }


def _check_weights(folder: Path, network: TermNetwork, weights: Arrays, others: Mapping[str, str]) -> None:
    """Raise `ModelFormatError` for a parameter that is not floating-point or has another shape, or a missing head."""
    parameters = dict(network.named_parameters(remove_duplicate=False))
    for name in parameters:
        if name in others:
            raise ModelFormatError(
                "a weight of the checkpoint does not contain floating-point numbers",
                facts=[
                    ("folder", folder),
                    ("tensor", name.removeprefix("pretrained.")),
                    ("seen", others[name]),
                ],
                fixes=["use the checkpoint before quantisation or conversion to a sparse layout"],
            )
    _check_head(folder, network, weights)
    given = read_json(folder / _CONFIG, dict)
    defaults = [
        f"{key}={getattr(network.config, key)}"
        for key in _LARGEST
        if key not in given and hasattr(network.config, key)
    ]
    for name, parameter in parameters.items():
        if name in weights and weights[name].shape != tuple(parameter.shape):
            raise ModelFormatError(
                "the shape of a weight differs from the configuration",
                facts=[
                    ("file", folder / _CONFIG),
                    ("weight", name.removeprefix("pretrained.")),
                    ("seen", weights[name].shape),
                    ("expected", tuple(parameter.shape)),
                    *([("defaults", f"{', '.join(defaults)}: not in the file")] if defaults else []),
                ],
                fixes=[_PUBLISHED_CONFIG],
            )


def _check_head(folder: Path, network: TermNetwork, weights: Mapping[str, Any]) -> None:
    """Raise `ModelFormatError` for a checkpoint without the head of its kind."""
    head = {id(parameter) for parameter in network.head_parameters()}
    missing = [
        names[0].removeprefix("pretrained.")
        for names in parameter_names(network)
        if id(network.get_parameter(names[0])) in head and not set(names) & set(weights)
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
                Fix.use(kind=others[0])
                if others
                else Fix.sentence(
                    "train a {} encoder from it: {}", network.kind, Fix.call("train_encoder", base=folder)
                )
            ],
        )


def _current_name(name: str) -> str:
    name = _PROJECTIONS.get(name, name)
    for old, new in _OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _is_unicoil(folder: Path) -> bool:
    """Return whether the configuration of a checkpoint names uniCOIL, whose network also encodes queries."""
    return "coil" in str(read_json(folder / _CONFIG, dict).get("architectures")).lower()


def _query_side(checkpoint: Checkpoint) -> str:
    if checkpoint.query_weights is not None:
        return "static weights"
    return "counted, where the checkpoint runs its network" if checkpoint.reads_queries else "counted"


def _expansion(checkpoint: Checkpoint, expansion: Expansion) -> ExpansionRecord:
    """Return the record of an expansion, after checking the TILDE encoder."""
    name, terms, network = expansion.encoder, expansion.terms, checkpoint.network
    if network.kind != TildeV2Network.kind:
        raise ParameterError(
            "only encoders of kind tildev2 have an expansion",
            facts=[("kind", network.kind)],
            fixes=["omit the expansion"],
        )
    expander = EncoderFolder.open(name)
    if expander.manifest.kind != TildeNetwork.kind:
        raise ModelFormatError(
            "only encoders of kind tilde can expand documents",
            facts=[("encoder", name), ("kind", expander.manifest.kind)],
            fixes=["expand with a TILDE encoder"],
        )
    if expander.vocabulary != checkpoint.analyzer.vocabulary:
        raise VocabularyMismatchError(
            "the checkpoint and the encoder that expands its documents have different vocabularies",
            facts=[
                ("checkpoint", f"{len(checkpoint.analyzer.vocabulary):,} terms"),
                ("expansion", f"{name}, {len(expander.vocabulary):,} terms"),
            ],
            fixes=["expand with the TILDE encoder of its training", "omit the expansion"],
        )
    room = positions(network) - terms - 1
    if room < 3:
        raise ParameterError(
            "the expansion leaves no room for the document in the input of the network",
            facts=[("expansion terms", terms), ("positions", positions(network))],
            fixes=["use fewer expansion terms"],
        )
    return expander.expansion(
        terms=terms,
        counting=expansion.counting,
        length=min(_EXPANSION_LENGTH, expander.manifest.positions, room),
        lift=expansion.lift,
    )
