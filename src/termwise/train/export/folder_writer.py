"""Writing the folder of an encoder: export, quantise, compare with torch, and only then show it to the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
import torch
from safetensors.torch import save_file

from termwise.encode.encoder_folder import FLOORS, QUERY_WEIGHTS, VECTORS, EncoderFolder, is_valid_vector
from termwise.encode.encoder_manifest import (
    NAME,
    EncoderFile,
    EncoderManifest,
    ExpansionRecord,
    NetworkPrecision,
    SpecialIds,
)
from termwise.encode.onnx_session import OnnxSession
from termwise.errors import ModelFormatError, ParameterError
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.model_folder import TRAINING
from termwise.text import WordPieceAnalyzer
from termwise.text.analyzer_files import AnalyzerRecord
from termwise.text.vocabulary_cleaning import CleanMode
from termwise.train.data.inputs import special_ids
from termwise.train.export.onnx_export import OPSET, agreement, check_agreement, to_onnx, vocabulary_size
from termwise.train.export.quantise import quantise
from termwise.train.networks import TermNetwork, TildeNetwork, TildeV2Network, positions

GRAPHS: dict[NetworkPrecision, str] = {"float32": "model.onnx", "int8": "model.int8.onnx"}
"""The file of each precision."""

CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"

FOLDER = AtomicFolder(
    noun="encoder",
    article="an",
    manifest=NAME,
    files=frozenset(
        {
            NAME,
            FLOORS,
            QUERY_WEIGHTS,
            CONFIG,
            WEIGHTS,
            CARD,
            "tokenizer.json",
            "vocab.txt",
            TRAINING,
            *GRAPHS.values(),
        }
    ),
    kept=TRAINING,
)
"""How an encoder folder is written."""


def write_encoder_folder(
    network: TermNetwork,
    analyzer: WordPieceAnalyzer,
    out: str | Path,
    *,
    cleaning: CleanMode,
    length: int,
    trained: Mapping[str, Any],
    floors: npt.NDArray[np.float32] | None = None,
    expansion: ExpansionRecord | None = None,
    idf_power: float = 0.0,
    query_weights: npt.NDArray[np.float32] | None = None,
    special: SpecialIds | None = None,
    precisions: Sequence[NetworkPrecision] = ("float32", "int8"),
    weights: Literal["kept", "left out"] = "kept",
    card: str | None = None,
) -> EncoderFolder:
    """Write an encoder folder.

    Everything is made and checked in a hidden folder inside `out` and moved into place afterwards, the manifest last.
    An encoder that was there before is replaced; what training keeps there (``training/``) stays.

    Parameters
    ----------
    network : TermNetwork
        It is not changed.
    analyzer : WordPieceAnalyzer
        The tokenizer of the network. Its files are written too; the shipped vocabulary has none.
    out : str or Path
        The folder.
    cleaning : {"paper", "repo", "none"}
        Terms that take part.
    length : int
        Pieces of a window at index time where nothing else is said, the two special ones included.
    trained : mapping
        JSON-like facts on the training; what the export measured is added under ``export``.
    floors : ndarray of shape (V,), float32, optional
        Kind tilde: the mean ln P(t|d) of each term, at most 0.
    expansion : ExpansionRecord, optional
        Kind tildev2: the expansion it was trained with.
    idf_power : float, optional
        Kinds tildev2 and splade-doc: the power of the idf that an index takes in where nothing else is said.
    query_weights : ndarray of shape (V,), float32, optional
        Kinds tildev2 and splade-doc: the weight that each term has in a query, however often the query says it, at
        least 0. Where they are left out, terms of a query are counted.
    special : SpecialIds, optional
        Where nothing is said: see `termwise.train.data.inputs.special_ids`.
    precisions : sequence of str, optional
        Which graphs to write. The float32 graph is compared with torch in any case.
    weights : {"kept", "left out"}, optional
        Whether the folder gets what training needs to go on.
    card : str, optional
        The model card, see `termwise.train.export.model_card`.

    Returns
    -------
    EncoderFolder

    Raises
    ------
    ForeignFolderError
        If `out` holds something that is not an encoder.
    ModelFormatError
        If network, tokenizer and special pieces do not go together, or a weight is not finite.
    ParameterError
        If the length, the floors, the weights of queries or the precisions cannot be.
    CheckFailedError
        If the float32 graph does not compute what torch computes.
    StorageError
        If the folder cannot be written.
    """
    out = Path(out)
    _check(network, analyzer, length=length, expansion=expansion, precisions=precisions)
    vectors = {FLOORS: floors, QUERY_WEIGHTS: query_weights}
    given = {name: vector for name, vector in vectors.items() if vector is not None}
    for name, vector in given.items():
        _check_vector(network, name, vector, terms=len(analyzer.vocabulary))
    special = special_ids(analyzer.vocabulary, network.kind) if special is None else special
    with FOLDER.stage(out) as stage:
        graph = to_onnx(network)
        onnx.save(graph, stage / GRAPHS["float32"])
        if "int8" in precisions:
            onnx.save(quantise(graph), stage / GRAPHS["int8"])
        for name, vector in given.items():
            np.save(stage / name, vector.astype(np.float32))
        for name, data in analyzer.spec.files.items():
            (stage / name).write_bytes(data)

        def manifest(kept: Sequence[NetworkPrecision], facts: Mapping[str, Any]) -> bytes:
            files = {GRAPHS[one]: EncoderFile.of(stage / GRAPHS[one], precision=one) for one in kept}
            files |= {name: EncoderFile.of(stage / name) for name in given}
            return EncoderManifest(
                kind=network.kind,  # type: ignore[arg-type]
                tokenizer=AnalyzerRecord.of(analyzer.spec),
                terms=len(analyzer.vocabulary),
                cleaning=cleaning,
                special=special,
                positions=positions(network),
                length=length,
                expansion=expansion,
                idf_power=idf_power,
                files=files,
                trained={**trained, "export": facts},
            ).to_bytes()

        (stage / NAME).write_bytes(manifest(("float32", *(("int8",) if "int8" in precisions else ())), {}))
        facts = _compared(network, EncoderFolder.open(stage), precisions)
        if "float32" not in precisions:
            (stage / GRAPHS["float32"]).unlink()
        if weights == "kept":
            save_weights(network, stage)
        if card is not None:
            (stage / CARD).write_text(card, encoding="utf-8")
        (stage / NAME).write_bytes(manifest(precisions, facts))
        FOLDER.publish(stage, out)
    return EncoderFolder.open(out)


def save_weights(network: TermNetwork, folder: Path) -> None:
    """Write ``config.json`` and ``model.safetensors``, which transformers and `published.load` read.

    A tied weight is written once. A token projection stands beside the encoder as ``token_projection``.
    """
    network.config.to_json_file(folder / CONFIG, use_diff=True)
    prefix = f"{network.pretrained.base_model_prefix}." if isinstance(network, TildeV2Network) else ""
    named = {}
    for name, parameter in network.named_parameters():
        inner = name.removeprefix("pretrained.")
        named[name if inner == name else prefix + inner] = parameter.detach().cpu().float().contiguous()
    save_file(named, folder / WEIGHTS, metadata={"format": "pt"})


def _compared(
    network: TermNetwork, folder: EncoderFolder, precisions: Sequence[NetworkPrecision]
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "opset": OPSET,
        "torch": torch.__version__,
        "transformers": metadata.version("transformers"),
        "float32": asdict(check_agreement(network, OnnxSession(folder, precision="float32"))),
    }
    if "int8" in precisions:
        facts["int8"] = asdict(agreement(network, OnnxSession(folder, precision="int8")))
    return facts


def _check(
    network: TermNetwork,
    analyzer: WordPieceAnalyzer,
    *,
    length: int,
    expansion: ExpansionRecord | None,
    precisions: Sequence[NetworkPrecision],
) -> None:
    terms = len(analyzer.vocabulary)
    if vocabulary_size(network) != terms:
        raise ModelFormatError(
            "the network and its tokenizer have vocabularies of different sizes",
            facts=[("terms of the network", vocabulary_size(network)), ("terms of the tokenizer", terms)],
            fixes=["give the tokenizer that the network was trained with"],
        )
    if not 3 <= length <= positions(network):
        raise ParameterError(
            "the length of a window must hold a piece between two special ones, and be within what the network reads",
            facts=[("length", length), ("expected", f"3 to {positions(network)}")],
        )
    if not precisions or len(set(precisions)) < len(precisions) or set(precisions) - set(GRAPHS):
        raise ParameterError(
            "an encoder has graphs in float32, in int8, or one in each",
            facts=[("given", ", ".join(precisions) or "none")],
        )
    if expansion is not None and network.kind != TildeV2Network.kind:
        raise ParameterError(
            "only encoders of kind tildev2 are trained with expansions", facts=[("kind", network.kind)]
        )


def _check_vector(network: TermNetwork, name: str, vector: npt.NDArray[np.float32], *, terms: int) -> None:
    """Refuse a vector that its file cannot hold, or an encoder of this kind does not have."""
    if (network.kind == TildeNetwork.kind) != (name == FLOORS):
        raise ParameterError(
            "only encoders of kind tilde have floors, and only those of the other kinds have weights of queries",
            facts=[("kind", network.kind), ("given", name)],
        )
    if vector.shape != (terms,) or not is_valid_vector(name, vector):
        raise ParameterError(
            f"{name} holds {VECTORS[name]}",
            facts=[("shape", vector.shape), ("terms", terms)],
        )
