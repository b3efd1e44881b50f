"""From a torch network to an ONNX graph in float32, and the proof that both compute the same.

The graph is what the exporter of torch makes of the program of the network (``torch.export``), without its rewrites:
these fold small constants into weights, drop biases that happen to be zero and rename what they touch, and the
runtime does the same when it loads the graph. Left alone, every parameter is an initialiser under the name it has in
the network and in the layout of torch, so that a graph can be quantised, compared and turned into a network again
(`network_of`) by name.

The older exporter, which traces a run, was tried beside it: it is four times as fast, but deprecated, and warns of
branches in transformers that it would freeze.
"""

from __future__ import annotations

import copy
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from transformers import AutoConfig

from termwise.encode.encoder_folder import OUTPUTS
from termwise.encode.encoder_manifest import EncoderKind
from termwise.encode.onnx_session import OnnxSession
from termwise.errors import CheckFailedError, ModelFormatError
from termwise.train.messages import first_line
from termwise.train.networks import NETWORKS, TermNetwork, TildeV2Network, positions, untrained

OPSET = 20
"""Version of the standard operators: the first with GELU as one operator."""

TOLERANCE = 1e-4
"""Largest difference between the float32 graph and torch, relative to the output where that is above 1."""

INPUTS = ("input_ids", "attention_mask")

_KIND = "termwise.kind"
_CONFIG = "termwise.config"
_CHECK_SHAPES = ((1, 2), (3, 11), (4, 23))
_FLOAT = onnx.TensorProto.FLOAT


def to_onnx(network: TermNetwork) -> onnx.ModelProto:
    """Turn a network into an ONNX graph.

    Parameters
    ----------
    network : TermNetwork
        Of any device and precision; it is not changed.

    Returns
    -------
    onnx.ModelProto
        float32, opset 20, batch and length free, token types 0 inside. Its metadata hold the kind of the network and
        the configuration of its encoder. The embedding that is also the decoder is one initialiser.

    Raises
    ------
    ModelFormatError
        If a parameter is not finite, the encoder is of an architecture that torch cannot export, or its tied
        embedding would be written more than once.
    """
    check_finite(network)
    _check_tied(network)
    still = copy.deepcopy(network).to(device="cpu", dtype=torch.float32).eval()
    still.pretrained.set_attn_implementation("eager")
    vocabulary, length = vocabulary_size(still), min(8, positions(still))
    input_ids = torch.arange(2 * length, dtype=torch.int64).reshape(2, length) % vocabulary
    attention_mask = torch.ones_like(input_ids)
    attention_mask[1, length // 2 :] = 0
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        with _quiet(), torch.no_grad():
            program = torch.onnx.export(
                still,
                (input_ids, attention_mask),
                dynamo=True,
                dynamic_shapes=dict.fromkeys(INPUTS, free),
                input_names=list(INPUTS),
                output_names=[OUTPUTS[cast(EncoderKind, still.kind)]],
                opset_version=OPSET,
                optimize=False,
                verbose=False,
            )
    except Exception as error:  # the exporter documents no type
        raise ModelFormatError(
            "torch cannot export this network to ONNX",
            facts=[("architecture", type(still.pretrained).__name__), *_said(error)],
            fixes=["use a BERT, DistilBERT or MPNet encoder, or another version of torch and onnxscript"],
        ) from error
    model = cast(torch.onnx.ONNXProgram, program).model_proto
    _tidy(model, still)
    _check_one_table(model, still)
    return model


def _said(error: BaseException) -> list[tuple[str, str]]:
    """List what an error of the exporter says and, where it was raised because of others, what the first one said."""
    first = error
    while (earlier := first.__cause__ or first.__context__) is not None:
        first = earlier
    said = [("reason", first_line(error))]
    if first is not error:
        said.append(("because", f"{type(first).__name__}: {first_line(first)}"))
    return said


def network_of(model: onnx.ModelProto, weights: Mapping[str, npt.NDArray[np.float32]]) -> TermNetwork:
    """Build the network that a graph was exported from.

    Parameters
    ----------
    model : onnx.ModelProto
        Made by `to_onnx`, perhaps quantised since.
    weights : mapping of str to ndarray
        Its initialisers in float32, by name; what is no parameter of the network is not looked at.

    Returns
    -------
    TermNetwork
        In training mode.

    Raises
    ------
    ModelFormatError
        If the graph does not say what network it was, or lacks a parameter.
    """
    facts = {entry.key: entry.value for entry in model.metadata_props}
    kind = facts.get(_KIND)
    if kind not in NETWORKS or _CONFIG not in facts:
        raise ModelFormatError(
            "the graph does not say which network it was made of",
            facts=[
                ("needed", f"metadata {_KIND} and {_CONFIG}"),
                ("has", ", ".join(sorted(facts)) or "none"),
            ],
            fixes=["train on from the weights the graph was exported from"],
        )
    try:
        settings = json.loads(facts[_CONFIG])
        config = AutoConfig.for_model(settings.pop("model_type"), **settings)
        network = untrained(kind, config)
    except Exception as error:  # transformers documents no type
        raise ModelFormatError(
            "the graph does not say rightly which network it was made of",
            facts=[("metadata", _CONFIG), ("reason", first_line(error))],
            fixes=["train on from the weights the graph was exported from"],
        ) from error
    load_weights(network, weights)
    return network.train()


def load_weights(network: TermNetwork, weights: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Set every parameter of a network from arrays of the same name, in place.

    A parameter that the network has under several names, as a tied embedding, needs one of them.

    Raises
    ------
    ModelFormatError
        If a parameter is missing, has another shape, or is given twice with different values.
    """
    names: dict[int, list[str]] = {}
    for name, parameter in network.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    missing: list[str] = []
    with torch.no_grad():
        for parameter in network.parameters():
            known = [name for name in names[id(parameter)] if name in weights]
            if not known:
                missing.append(names[id(parameter)][0])
                continue
            array = weights[known[0]]
            if tuple(array.shape) != tuple(parameter.shape):
                raise ModelFormatError(
                    "a weight has another shape than the network needs",
                    facts=[("weight", known[0]), ("seen", array.shape), ("expected", tuple(parameter.shape))],
                    fixes=["use the configuration that the weights were saved with"],
                )
            if any(not np.array_equal(array, weights[other]) for other in known[1:]):
                raise ModelFormatError(
                    "weights that the network has as one differ",
                    facts=[("weights", ", ".join(known))],
                    fixes=["train with an embedding that is tied to the decoder"],
                )
            parameter.copy_(torch.from_numpy(np.array(array, dtype=np.float32)))
    if missing:
        raise ModelFormatError(
            "weights of the network are missing",
            facts=[("missing", f"{len(missing)}: {', '.join(missing[:8])}")],
            fixes=["take the whole checkpoint"],
        )


@dataclass(frozen=True)
class Agreement:
    """How far the outputs of a graph are from those of torch, over random batches.

    Attributes
    ----------
    largest : float
        Largest difference of two outputs, divided by the output where that is above 1.
    relative : float
        Euclidean length of all differences over that of all outputs.
    """

    largest: float
    relative: float


def agreement(network: TermNetwork, session: OnnxSession) -> Agreement:
    """Compare a graph with the network it was made of.

    Batches of random pieces are run, of several shapes and with texts of different lengths.

    Parameters
    ----------
    network : TermNetwork
        It is not changed.
    session : OnnxSession
        The graph.
    """
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
        if network.kind == "tildev2":  # a weight for each position
            expected = expected * mask
        seen = session.run(input_ids, mask).astype(np.float64)
        apart = np.abs(seen - expected)
        largest = float(np.maximum(largest, (apart / np.maximum(1, np.abs(expected))).max()))  # keeps NaN
        differences += float((apart**2).sum())
        total += float((expected**2).sum())
    return Agreement(largest, float(np.sqrt(differences / total)) if total else 0.0)


def check_agreement(network: TermNetwork, session: OnnxSession) -> Agreement:
    """Refuse a float32 graph that does not compute what the network does.

    Raises
    ------
    CheckFailedError
        If outputs differ by more than `TOLERANCE`.
    """
    seen = agreement(network, session)
    if not seen.largest <= TOLERANCE:
        raise CheckFailedError(
            "the exported graph does not compute what the network computes",
            facts=[
                ("largest difference", f"{seen.largest:.3g}"),
                ("allowed", TOLERANCE),
                ("architecture", type(network.pretrained).__name__),
                ("torch", torch.__version__),
            ],
            fixes=["export with another version of torch"],
        )
    return seen


def check_finite(network: nn.Module) -> None:
    """Refuse a network with a weight that is not a finite number.

    Raises
    ------
    ModelFormatError
        Naming the first such tensor.
    """
    for name, parameter in network.named_parameters():
        unsound = int((~torch.isfinite(parameter)).sum())
        if unsound:
            raise ModelFormatError(
                "a weight of the network is not a finite number",
                facts=[("tensor", name), ("not finite", f"{unsound} of {parameter.numel()}")],
                fixes=["take an earlier checkpoint; train with a smaller learning rate or in float32"],
            )


def vocabulary_size(network: TermNetwork) -> int:
    """Return the number of rows of the input embedding."""
    return len(_embedding(network))


def initialisers(model: onnx.ModelProto) -> dict[str, npt.NDArray[Any]]:
    """Return the constants of a graph by name."""
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def _tidy(model: onnx.ModelProto, network: TermNetwork) -> None:
    """Drop what the exporter notes of its run (call stacks with paths), name the free axes, say what this is."""
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
    onnx.helper.set_model_props(model, {_KIND: network.kind, _CONFIG: json.dumps(config, sort_keys=True)})


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
    """Make sure that what is one tensor in torch is one in the graph."""
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
    """Keep what the exporter says of its own inside, warnings and log records."""
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
