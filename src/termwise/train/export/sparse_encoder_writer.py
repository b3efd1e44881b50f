"""Write an encoder of kind splade-doc as the folder of a SparseEncoder of sentence-transformers.

The folder has the layout of OpenSearch's doc-only models:

====================================  ================================================================================
files                                 content
====================================  ================================================================================
``modules.json``                      one module: a Router
``router_config.json``                queries: SparseStaticEmbedding; documents: MLMTransformer, then SpladePooling
``config.json``,                      the network and its tokenizer: transformers reads them with
``model.safetensors``,                ``AutoModelForMaskedLM`` and ``AutoTokenizer``
``tokenizer.json``, …
``query_0_SparseStaticEmbedding``     the weight of each term in queries, and the tokenizer again
``document_1_SpladePooling``          activation and pooling
``idf.json``                          the query weights as ``{token: weight}``
====================================  ================================================================================

``tokenizer.json`` and ``idf.json`` in a zip file are the tokenizer of queries for OpenSearch (``SPARSE_TOKENIZE``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file
from tokenizers import processors

from termwise.encode.encoder_folder import EncoderFolder
from termwise.errors import ModelFormatError
from termwise.models.token_weights import token_weights
from termwise.progress import Say, silent
from termwise.storage.atomic_folder import AtomicFolder
from termwise.text.tokenizer_json import load_tokenizer
from termwise.train.export.folder_writer import CONFIG, WEIGHTS
from termwise.train.export.published_checkpoints import dequantised_network
from termwise.train.export.sentence_modules import MODULE_SETTINGS, MODULES, SETTINGS, TRANSFORMER_SETTINGS
from termwise.train.export.sparse_encoder import IDF, ROUTER
from termwise.train.networks import SpladeDocNetwork, output_layer
from termwise.train.pretrained import quiet
from termwise.validation import check_path

_QUERIES, _POOLING = "query_0_SparseStaticEmbedding", "document_1_SpladePooling"
_TOKENIZER, _TOKENIZER_SETTINGS = "tokenizer.json", "tokenizer_config.json"
_TYPES = "sentence_transformers.sparse_encoder.models."
_EXCLUDED_BIAS = -1e4
"""Bias of a term that the encoder excludes: its weight is 0 in every document."""

_FOLDER = AtomicFolder(
    noun="SparseEncoder",
    article="a",
    manifest=MODULES,
    files=frozenset(
        {
            MODULES,
            ROUTER,
            SETTINGS,
            TRANSFORMER_SETTINGS,
            CONFIG,
            WEIGHTS,
            _TOKENIZER,
            _TOKENIZER_SETTINGS,
            IDF,
            _QUERIES,
            _POOLING,
        }
    ),
    kept="",
)


def write_sparse_encoder(encoder: str | Path, out: str | Path, *, say: Say = silent) -> Path:
    """Write an encoder of kind splade-doc as a folder that ``SparseEncoder(folder)`` opens.

    Its document weights are those of the encoder in float32, for documents of one window: sentence-transformers cuts
    longer ones, where termwise reads them in several windows. A document without a piece has no weights in termwise,
    but those of the two special pieces there. Its query weights are those of the encoder. If the encoder counts the
    terms of a query instead, a term of a query has weight 1 there, however often it occurs.

    Parameters
    ----------
    encoder : str or Path
        The encoder folder. Its float32 network is written if it has one; otherwise the dequantised int8 network.
    out : str or Path
        The new folder.
    say : callable, optional
        Called with a message for each part of the encoder that the folder cannot represent exactly.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind: sentence-transformers has no module for it. Or if its network was not made by
        `write_encoder_folder`.
    ForeignFolderError
        If `out` holds a SparseEncoder or something else, or is the folder of the encoder.
    StorageError
        If the folder cannot be written.
    TermwiseError
        See `EncoderFolder.open`.
    """
    check_path("out", out)
    opened, target = EncoderFolder.open(encoder), Path(out)
    kind = opened.manifest.kind
    if kind != SpladeDocNetwork.kind:
        raise ModelFormatError(
            f"sentence-transformers has no module for an encoder of kind {kind}",
            facts=[("encoder", encoder), ("kind", kind), ("expected", SpladeDocNetwork.kind)],
            fixes=["export an index that was built with it"],
        )
    _FOLDER.check_output(target, base=encoder)
    _FOLDER.refuse_finished(target)
    network = cast(SpladeDocNetwork, dequantised_network(encoder))
    weights = opened.query_weights
    for message in _differences(opened):
        say(message)
    if weights is None:
        weights = opened.kept.astype(np.float32)
    with torch.no_grad():
        output_layer(network.pretrained).bias[torch.from_numpy(~opened.kept)] = _EXCLUDED_BIAS
    with _FOLDER.stage(target) as stage:
        with quiet(bars=False):
            network.pretrained.save_pretrained(stage)
        (stage / "generation_config.json").unlink(missing_ok=True)
        _write_tokenizer(stage, opened)
        _write_json(stage / TRANSFORMER_SETTINGS, _transformer_settings(opened))
        _write_pooling(stage / _POOLING, network)
        _write_queries(stage / _QUERIES, opened, weights)
        _write_json(stage / IDF, token_weights(weights, opened.vocabulary))
        _write_json(stage / ROUTER, _router())
        _write_json(
            stage / SETTINGS,
            {
                "model_type": "SparseEncoder",
                "prompts": {"query": "", "document": ""},
                "default_prompt_name": None,
                "similarity_fn_name": "dot",
            },
        )
        router = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Router"}
        _write_json(stage / MODULES, [router])
        _FOLDER.publish(stage, target)
    return target


def _differences(encoder: EncoderFolder) -> list[str]:
    """List the parts of an encoder that a SparseEncoder does not represent exactly."""
    manifest = encoder.manifest
    messages = []
    if "float32" not in manifest.networks():
        messages.append(
            "the network was dequantised from int8: weights differ slightly from those of the encoder"
        )
    if encoder.query_weights is None:
        messages.append(
            "this encoder counts the terms of a query; the SparseEncoder gives weight 1 to each term"
        )
    if manifest.idf_power:
        messages.append(
            f"an index multiplies weights by the collection's idf to the power of {manifest.idf_power:g}; "
            "the SparseEncoder does not"
        )
    return messages


def _write_tokenizer(folder: Path, encoder: EncoderFolder) -> None:
    special, vocabulary = encoder.manifest.special, encoder.vocabulary
    cls, sep = vocabulary.token(special.cls), vocabulary.token(special.sep)
    tokenizer = load_tokenizer(encoder.analyzer.tokenizer_json.encode())
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}", special_tokens=[(cls, special.cls), (sep, special.sep)]
    )
    tokenizer.save(str(folder / _TOKENIZER))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": encoder.manifest.length,
        "model_input_names": ["input_ids", "attention_mask"],
        "cls_token": cls,
        "sep_token": sep,
        "pad_token": vocabulary.token(special.pad),
        "unk_token": vocabulary.token(encoder.analyzer.unknown),
    }
    _write_json(folder / _TOKENIZER_SETTINGS, settings)


def _transformer_settings(encoder: EncoderFolder) -> dict[str, Any]:
    return {"max_seq_length": encoder.manifest.length, "do_lower_case": False}


def _write_pooling(folder: Path, network: SpladeDocNetwork) -> None:
    folder.mkdir()
    settings = {"pooling_strategy": network.pooling, "activation_function": network.activation}
    _write_json(folder / MODULE_SETTINGS, settings)


def _write_queries(folder: Path, encoder: EncoderFolder, weights: npt.NDArray[np.float32]) -> None:
    folder.mkdir()
    _write_json(folder / MODULE_SETTINGS, {"frozen": True})
    _write_tokenizer(folder, encoder)
    save_file({"weight": torch.from_numpy(weights.copy())}, folder / WEIGHTS)


def _router() -> dict[str, Any]:
    """Describe both sides; the transformer of documents is in the folder of the router itself."""
    return {
        "types": {
            _QUERIES: f"{_TYPES}SparseStaticEmbedding",
            "": f"{_TYPES}MLMTransformer",
            _POOLING: f"{_TYPES}SpladePooling",
        },
        "structure": {"query": [_QUERIES], "document": ["", _POOLING]},
        "parameters": {"default_route": "query", "allow_empty_key": True},
    }


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
