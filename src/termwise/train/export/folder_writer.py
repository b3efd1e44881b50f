"""Write an encoder folder: export to ONNX, quantise, compare with torch, publish."""

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

from termwise.encode.document_tokenizer import DocumentTokenizer
from termwise.encode.encoder_folder import (
    FLOORS,
    QUERY_ROWS,
    QUERY_SHIFTS,
    QUERY_WEIGHTS,
    VECTORS,
    EncoderFolder,
    is_valid_vector,
)
from termwise.encode.encoder_manifest import (
    DOCUMENT_TOKENIZER,
    NAME,
    DocumentTokenizerRecord,
    EncoderFile,
    EncoderManifest,
    ExpansionRecord,
    NetworkPrecision,
    SpecialIds,
)
from termwise.encode.onnx_session import OnnxSession
from termwise.errors import ModelFormatError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.model_folder import TRAINING
from termwise.text import WordPieceAnalyzer
from termwise.text.analyzer_files import AnalyzerRecord
from termwise.text.cleaned_analyzer import CleanMode
from termwise.train.export.onnx_export import OPSET, agreement, check_agreement, to_onnx, vocabulary_size
from termwise.train.export.quantise import quantise
from termwise.train.inputs import special_ids
from termwise.train.networks import LookupNetwork, TermNetwork, TildeNetwork, TildeV2Network, positions
from termwise.vectors import TermVectors

GRAPHS: dict[NetworkPrecision, str] = {"float32": "model.onnx", "int8": "model.int8.onnx"}
"""File name of each precision."""

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
            QUERY_ROWS,
            QUERY_SHIFTS,
            CONFIG,
            WEIGHTS,
            CARD,
            "tokenizer.json",
            "vocab.txt",
            DOCUMENT_TOKENIZER,
            TRAINING,
            *GRAPHS.values(),
        }
    ),
    kept=TRAINING,
)
"""Layout of an encoder folder for atomic writing."""


@dataclass(frozen=True, kw_only=True)
class EncoderContents:
    """Contents of an encoder folder besides network and tokenizer.

    Attributes
    ----------
    cleaning : {"paper", "repo", "none"}
        Terms of the vocabulary that are used.
    length : int
        Default window length of an index in pieces, the two special ones included.
    floors : ndarray of shape (V,), float32, optional
        Kind tilde: the mean ln P(t|d) of each term, at most 0.
    expansion : ExpansionRecord, optional
        Kind tildev2: the expansion of training.
    idf_power : float, optional
        Kinds tildev2 and splade-doc: default power of the idf in an index.
    query_weights : ndarray of shape (V,), float32, optional
        Kinds tildev2 and splade-doc: weight of each term in a query, regardless of its count, at least 0. By default
        the occurrences of query terms are counted.
    term_vectors : TermVectors, optional
        Kind lookup, required: the query table, over the vocabulary of the tokenizer.
    document_tokenizer : DocumentTokenizer, optional
        Kind lookup: the tokenizer of the network, if queries have another vocabulary.
    document_prompt : str, optional
        Kind lookup: text that the network reads before a document.
    special : SpecialIds, optional
        Special pieces of the tokenizer of queries; by default see `termwise.train.inputs.special_ids`.
    """

    cleaning: CleanMode
    length: int
    floors: npt.NDArray[np.float32] | None = None
    expansion: ExpansionRecord | None = None
    idf_power: float = 0.0
    query_weights: npt.NDArray[np.float32] | None = None
    term_vectors: TermVectors | None = None
    document_tokenizer: DocumentTokenizer | None = None
    document_prompt: str = ""
    special: SpecialIds | None = None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of the folder by file name."""
        table = self.term_vectors
        vectors = {FLOORS: self.floors, QUERY_WEIGHTS: self.query_weights}
        arrays = {name: vector.astype(np.float32) for name, vector in vectors.items() if vector is not None}
        return arrays if table is None else arrays | {QUERY_ROWS: table.rows, QUERY_SHIFTS: table.shifts}


def write_encoder_folder(
    network: TermNetwork,
    analyzer: WordPieceAnalyzer,
    out: str | Path,
    contents: EncoderContents,
    *,
    trained: Mapping[str, Any],
    precisions: Sequence[NetworkPrecision] = ("float32", "int8"),
    weights: Literal["kept", "left out"] = "kept",
) -> EncoderFolder:
    """Write an encoder folder.

    All files are written and checked in a hidden folder inside `out` and then moved into place, the manifest last. An
    earlier encoder is replaced; the folder ``training`` stays.

    Parameters
    ----------
    network : TermNetwork
        It is not changed.
    analyzer : WordPieceAnalyzer
        The tokenizer of queries, and of the network unless there is a document tokenizer. Its files are written too,
        except for the shipped vocabulary.
    out : str or Path
        The folder.
    contents : EncoderContents
    trained : mapping
        JSON-like facts on the training; measurements of the export are added under ``export``.
    precisions : sequence of str, optional
        Graphs to write. The float32 graph is always compared with torch.
    weights : {"kept", "left out"}, optional
        Whether the torch weights, which further training needs, are written.

    Raises
    ------
    ForeignFolderError
        If `out` contains something other than an encoder.
    ModelFormatError
        If network, tokenizer and special pieces do not match, or a weight is not finite.
    ParameterError
        If the length, the floors, the query weights, the query table or the precisions are invalid.
    CheckFailedError
        If the outputs of the float32 graph differ from torch.
    StorageError
        If the folder cannot be written.
    """
    out = Path(out)
    _check(network, analyzer, contents, precisions)
    table, document_tokenizer, arrays = contents.term_vectors, contents.document_tokenizer, contents.arrays()
    special = contents.special or special_ids(analyzer.vocabulary, network.kind)
    with FOLDER.stage(out) as stage:
        graph = to_onnx(network)
        onnx.save(graph, stage / GRAPHS["float32"])
        if "int8" in precisions:
            onnx.save(quantise(graph), stage / GRAPHS["int8"])
        for name, array in arrays.items():
            np.save(stage / name, array)
        for name, data in analyzer.spec.files.items():
            (stage / name).write_bytes(data)
        written = [*arrays]
        documents = None
        if document_tokenizer is not None:
            (stage / DOCUMENT_TOKENIZER).write_bytes(document_tokenizer.data)
            written.append(DOCUMENT_TOKENIZER)
            documents = DocumentTokenizerRecord(
                vocabulary_size(network), document_special(document_tokenizer, network)
            )

        def manifest(kept: Sequence[NetworkPrecision], facts: Mapping[str, Any]) -> bytes:
            files = {
                GRAPHS[precision]: EncoderFile.of(stage / GRAPHS[precision], precision=precision)
                for precision in kept
            }
            files |= {name: EncoderFile.of(stage / name) for name in written}
            return EncoderManifest(
                kind=network.kind,  # type: ignore[arg-type]
                tokenizer=AnalyzerRecord.of(analyzer.spec),
                terms=len(analyzer.vocabulary),
                cleaning=contents.cleaning,
                special=special,
                positions=positions(network),
                length=contents.length,
                expansion=contents.expansion,
                idf_power=contents.idf_power,
                dimensions=None if table is None else table.dimensions,
                query_scale=None if table is None else table.scale,
                document_tokenizer=documents,
                document_prompt=contents.document_prompt,
                files=files,
                trained={**trained, "export": facts},
            ).to_bytes()

        (stage / NAME).write_bytes(manifest(("float32", *(("int8",) if "int8" in precisions else ())), {}))
        facts = _comparison(network, EncoderFolder.open(stage), precisions)
        if "float32" not in precisions:
            (stage / GRAPHS["float32"]).unlink()
        if weights == "kept":
            save_weights(network, stage)
        (stage / NAME).write_bytes(manifest(precisions, facts))
        FOLDER.publish(stage, out)
    return EncoderFolder.open(out)


def document_special(tokenizer: DocumentTokenizer, network: TermNetwork) -> SpecialIds:
    """Return the special pieces of a tokenizer; padding is that of the configuration of the network."""
    pad = getattr(network.config, "pad_token_id", None)
    first = tokenizer.first
    return SpecialIds(document=first, query=first, cls=first, sep=tokenizer.last, pad=pad or 0)


def save_weights(network: TermNetwork, folder: Path) -> None:
    """Write ``config.json`` and ``model.safetensors`` for transformers and `load_checkpoint`.

    A tied weight is written once. A token projection is named ``token_projection``.
    """
    network.config.to_json_file(folder / CONFIG, use_diff=True)
    prefix = f"{network.pretrained.base_model_prefix}." if isinstance(network, TildeV2Network) else ""
    named = {}
    for name, parameter in network.named_parameters():
        inner = name.removeprefix("pretrained.")
        named[name if inner == name else prefix + inner] = parameter.detach().cpu().float().contiguous()
    save_file(named, folder / WEIGHTS, metadata={"format": "pt"})


def _comparison(
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
    contents: EncoderContents,
    precisions: Sequence[NetworkPrecision],
) -> None:
    tokenizer, length = contents.document_tokenizer, contents.length
    size = vocabulary_size(network)
    terms = len(analyzer.vocabulary) if tokenizer is None else tokenizer.terms
    # The embedding of an encoder with its own tokenizer may have more rows, to fill a round number.
    if size != terms if tokenizer is None else size < terms:
        raise ModelFormatError(
            "the network and its tokenizer have vocabularies of different sizes",
            facts=[("terms of the network", size), ("terms of the tokenizer", terms)],
            fixes=["give the tokenizer of the network"],
        )
    if not 3 <= length <= positions(network):
        raise ParameterError(
            "the window length is out of range",
            facts=[("length", length), ("expected", f"3 to {positions(network)}")],
        )
    if not precisions or len(set(precisions)) < len(precisions) or set(precisions) - set(GRAPHS):
        raise ParameterError(
            "the precisions of an encoder are float32, int8, or both",
            facts=[("given", ", ".join(precisions) or "none")],
        )
    if contents.expansion is not None and network.kind != TildeV2Network.kind:
        raise ParameterError(
            "only encoders of kind tildev2 have an expansion", facts=[("kind", network.kind)]
        )
    for name, vector in ((FLOORS, contents.floors), (QUERY_WEIGHTS, contents.query_weights)):
        if vector is not None:
            _check_vector(network, name, vector, terms=len(analyzer.vocabulary))
    _check_table(network, analyzer, contents.term_vectors)


def _check_vector(network: TermNetwork, name: str, vector: npt.NDArray[np.float32], *, terms: int) -> None:
    """Raise `ParameterError` for a vector of another kind of encoder, or with wrong shape or values."""
    if network.kind == LookupNetwork.kind or (network.kind == TildeNetwork.kind) != (name == FLOORS):
        raise ParameterError(
            "only encoders of kind tilde have floors, and only those of kinds tildev2 and splade-doc query weights",
            facts=[("kind", network.kind), ("given", name)],
        )
    if vector.shape != (terms,) or not is_valid_vector(name, vector):
        raise ParameterError(
            f"{name} must hold {VECTORS[name]}", facts=[("shape", vector.shape), ("terms", terms)]
        )


def _check_table(network: TermNetwork, analyzer: WordPieceAnalyzer, table: TermVectors | None) -> None:
    """Raise `ParameterError` for a query table of another kind of encoder or vocabulary, or a missing one."""
    if (network.kind == LookupNetwork.kind) != (table is not None):
        raise ParameterError(
            "encoders of kind lookup, and only these, have a query table",
            facts=[("kind", network.kind), ("query table", "none" if table is None else "given")],
        )
    if table is not None and (
        table.vocabulary != analyzer.vocabulary.id or len(table) != len(analyzer.vocabulary)
    ):
        raise ParameterError(
            "the query table has another vocabulary than the tokenizer",
            facts=[
                ("terms of the query table", len(table)),
                ("terms of the tokenizer", len(analyzer.vocabulary)),
            ],
        )
