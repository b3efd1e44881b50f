"""Export of a torch network to an ONNX graph in float32, and comparison of both.

The exporter of torch translates the program of the network (``torch.export``) without rewrites. Rewrites fold small
constants into weights, drop biases that are zero and rename tensors, and the runtime applies them anyway when it loads
the graph. Without them every parameter is an initialiser with its torch name and layout, so that a graph can be
quantised, compared and converted back into a network (`network_of`) by name.

The older exporter, which traces a run, is four times as fast, but is deprecated and warns about branches in
transformers.
"""

from __future__ import annotations

import copy
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import torch
from torch import nn
from transformers import AutoConfig

from termwise.encode.encoder_folder import OUTPUTS
from termwise.encode.encoder_manifest import EncoderKind
from termwise.encode.onnx_session import OnnxSession
from termwise.errors import CheckFailedError, ModelFormatError
from termwise.fast_dataclass import dataclass
from termwise.train.library_errors import errors_as, first_line
from termwise.train.networks import (
    NETWORKS,
    POOLINGS,
    LookupNetwork,
    Pooling,
    TermNetwork,
    TildeV2Network,
    check_finite,
    positions,
    untrained,
)

OPSET = 20
"""Version of the standard operators: the first with GELU as one operator."""

TOLERANCE = 1e-4
"""Largest accepted value of `Agreement.largest` for a float32 graph."""

INPUTS = ("input_ids", "attention_mask")

_KIND = "termwise.kind"
_CONFIG = "termwise.config"
_POOLING = "termwise.pooling"
_TORCH_WEIGHTS = "train from the torch weights of the network"
_CHECK_SHAPES = ((1, 2), (3, 11), (4, 23))
_FLOAT = onnx.TensorProto.FLOAT


def to_onnx(network: TermNetwork) -> onnx.ModelProto:
    """Export a network to an ONNX graph in float32; the network is not changed.

    Batch and length are variable, token types are 0 and inside. The metadata contain the kind of the network, the
    configuration of its encoder and, for the kind lookup, the pooling. An embedding that is also the decoder is one
    initialiser.
    """
    check_finite(network)
    _check_tied(network)
    still = copy.deepcopy(network).to(device="cpu", dtype=torch.float32).eval()
    still.pretrained.set_attn_implementation("eager")
    vocabulary, length = vocabulary_size(still), min(8, positions(still))
    input_ids = torch.arange(2 * length, dtype=torch.int64).reshape(2, length) % vocabulary
    attention_mask = torch.ones_like(input_ids)
    attention_mask[1, length // 2 :] = 0
    variable = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        with _quiet(), torch.no_grad():
            program = torch.onnx.export(
                still,
                (input_ids, attention_mask),
                dynamo=True,
                dynamic_shapes=dict.fromkeys(INPUTS, variable),
                input_names=list(INPUTS),
                output_names=[OUTPUTS[cast(EncoderKind, still.kind)]],
                opset_version=OPSET,
                optimize=False,
                verbose=False,
            )
    except Exception as error:  # the exporter documents no type
        raise ModelFormatError(
            "torch cannot export this network to ONNX",
            facts=[("architecture", type(still.pretrained).__name__), *_reasons(error)],
            fixes=["use a BERT, DistilBERT or MPNet encoder, or another version of torch and onnxscript"],
        ) from error
    model = cast(torch.onnx.ONNXProgram, program).model_proto
    _tidy(model, still)
    _check_one_table(model, still)
    return model


def _reasons(error: BaseException) -> list[tuple[str, str]]:
    """List the message of an error of the exporter and the message of its first cause."""
    first = error
    while (earlier := first.__cause__ or first.__context__) is not None:
        first = earlier
    reasons = [("reason", first_line(error))]
    if first is not error:
        reasons.append(("cause", f"{type(first).__name__}: {first_line(first)}"))
    return reasons


def network_of(model: onnx.ModelProto, weights: Mapping[str, npt.NDArray[np.float32]]) -> TermNetwork:
    """Build the network, in training mode, that `to_onnx` exported a graph from.

    The graph may be quantised. `weights` has its initialisers in float32 by name; others than the parameters of the
    network are ignored.
    """
    facts = {entry.key: entry.value for entry in model.metadata_props}
    kind = facts.get(_KIND)
    pooling = facts.get(_POOLING, POOLINGS[0])
    if kind not in {*NETWORKS, LookupNetwork.kind} or _CONFIG not in facts or pooling not in POOLINGS:
        raise ModelFormatError(
            "the graph has no metadata of the network",
            facts=[
                ("needed", f"metadata {_KIND} and {_CONFIG}"),
                ("has", ", ".join(sorted(facts)) or "none"),
            ],
            fixes=[_TORCH_WEIGHTS],
        )
    with errors_as(
        ModelFormatError,
        "no network can be built from the metadata of the graph",
        facts=[("metadata", _CONFIG)],
        fixes=[_TORCH_WEIGHTS],
    ):
        settings = json.loads(facts[_CONFIG])
        config = AutoConfig.for_model(settings.pop("model_type"), **settings)
        network = untrained(kind, config, pooling=cast(Pooling, pooling))
    load_weights(network, weights)
    return network.train()


def load_weights(network: TermNetwork, weights: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Set every parameter of a network from the array of the same name, in place.

    For a parameter with several names, such as a tied embedding, one array is enough.
    """
    missing: list[str] = []
    with torch.no_grad():
        for names in parameter_names(network):
            known = [name for name in names if name in weights]
            if not known:
                missing.append(names[0])
                continue
            parameter, array = network.get_parameter(names[0]), weights[known[0]]
            if tuple(array.shape) != tuple(parameter.shape):
                raise ModelFormatError(
                    "the shape of a weight differs from the shape in the network",
                    facts=[("weight", known[0]), ("seen", array.shape), ("expected", tuple(parameter.shape))],
                    fixes=["use the configuration that the weights were saved with"],
                )
            if any(not np.array_equal(array, weights[other]) for other in known[1:]):
                raise ModelFormatError(
                    "weights that are tied in the network differ",
                    facts=[("weights", ", ".join(known))],
                    fixes=["use a checkpoint whose embedding is tied to the decoder"],
                )
            parameter.copy_(torch.from_numpy(np.array(array, dtype=np.float32)))
    if missing:
        raise ModelFormatError(
            "weights of the network are missing",
            facts=[("missing", f"{len(missing)}: {', '.join(missing[:8])}")],
            fixes=["use the complete checkpoint"],
        )


def parameter_names(network: TermNetwork) -> list[list[str]]:
    """Return the names of each parameter; a tied one has several."""
    names: dict[int, list[str]] = {}
    for name, parameter in network.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return list(names.values())


@dataclass(frozen=True)
class Agreement:
    """Differences between the outputs of a graph and of torch on random batches.

    `largest` is the largest absolute difference of two outputs, divided by the torch output if the output is above 1;
    `relative` is the Euclidean norm of all differences, divided by the norm of all outputs of torch.
    """

    largest: float
    relative: float


def agreement(network: TermNetwork, session: OnnxSession) -> Agreement:
    """Compare a graph with its network on batches of random pieces, of several shapes and lengths of text."""
    random = np.random.default_rng(0)
    still = copy.deepcopy(network).to(device="cpu", dtype=torch.float32).eval()
    largest, differences, total = 0.0, 0.0, 0.0
    for rows, length in _CHECK_SHAPES:
        length = min(length, positions(still))
        input_ids = random.integers(0, vocabulary_size(still), size=(rows, length))
        lengths = random.integers(1, length + 1, size=rows)
        lengths[0] = length
        mask = (np.arange(length) < lengths[:, None]).astype(np.int64)
        with torch.no_grad():
            expected = still(torch.from_numpy(input_ids), torch.from_numpy(mask)).numpy().astype(np.float64)
        if network.kind == "tildev2":  # one weight for each position
            expected = expected * mask
        seen = session.run(input_ids, mask).astype(np.float64)
        difference = np.abs(seen - expected)
        largest = float(
            np.maximum(largest, (difference / np.maximum(1, np.abs(expected))).max())
        )  # keeps NaN
        differences += float((difference**2).sum())
        total += float((expected**2).sum())
    return Agreement(largest, float(np.sqrt(differences / total)) if total else 0.0)


def check_agreement(network: TermNetwork, session: OnnxSession) -> Agreement:
    """Compare a float32 graph with its network; raise `CheckFailedError` beyond `TOLERANCE`."""
    seen = agreement(network, session)
    if not seen.largest <= TOLERANCE:
        raise CheckFailedError(
            "the outputs of the exported graph differ from those of the network",
            facts=[
                ("largest difference", f"{seen.largest:.3g}"),
                ("allowed", TOLERANCE),
                ("architecture", type(network.pretrained).__name__),
                ("torch", torch.__version__),
            ],
            fixes=["export with another version of torch"],
        )
    return seen


def vocabulary_size(network: TermNetwork) -> int:
    """Return the number of rows of the input embedding."""
    return len(_embedding(network))


def _tidy(model: onnx.ModelProto, network: TermNetwork) -> None:
    """Drop notes of the exporter (call stacks with paths), name the variable axes, add the metadata."""
    graph = model.graph
    del graph.value_info[:], graph.metadata_props[:], model.metadata_props[:], model.functions[:]
    model.doc_string = graph.doc_string = ""
    for part in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        part.doc_string = ""
        del part.metadata_props[:]
    for value in (*graph.input, *graph.output):
        axes = value.type.tensor_type.shape.dim
        axes[0].dim_param = "batch"
        if value.name in INPUTS or network.kind == TildeV2Network.kind:
            axes[1].dim_param = "length"
    config = network.config.to_diff_dict()
    for local in ("_name_or_path", "transformers_version", "architectures", "dtype"):
        config.pop(local, None)
    config["model_type"] = network.config.model_type
    facts = {_KIND: network.kind, _CONFIG: json.dumps(config, sort_keys=True)}
    if isinstance(network, LookupNetwork):
        facts[_POOLING] = network.pooling
    onnx.helper.set_model_props(model, facts)


def _embedding(network: TermNetwork) -> nn.Parameter:
    return cast(nn.Parameter, network.encoder.get_input_embeddings().weight)


def _check_tied(network: TermNetwork) -> None:
    output: Any = network.pretrained.get_output_embeddings()
    if output is not None and output.weight is not _embedding(network):
        raise ModelFormatError(
            "the decoder of this network is not its embedding",
            facts=[("architecture", type(network.pretrained).__name__)],
            fixes=["use an encoder whose configuration has tie_word_embeddings"],
        )


def _check_one_table(model: onnx.ModelProto, network: TermNetwork) -> None:
    """Raise `ModelFormatError` if a tensor of torch is in the graph more than once."""
    shape = sorted(_embedding(network).shape)
    tables = [
        tensor.name
        for tensor in model.graph.initializer
        if tensor.data_type == _FLOAT and sorted(tensor.dims) == shape
    ]
    expected = sum(sorted(parameter.shape) == shape for parameter in network.parameters())
    if len(tables) != expected:
        raise ModelFormatError(
            "the exporter wrote the embedding more than once",
            facts=[("architecture", type(network.pretrained).__name__), ("tables", ", ".join(tables))],
            fixes=["export with another version of torch"],
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings and log records of the exporter inside the block."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
