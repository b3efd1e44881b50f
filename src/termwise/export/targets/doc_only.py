"""Encoding of queries inside OpenSearch: a tokenizer with a weight for each token, for `neural_sparse` with a text.

    data/doc_only/tokenizer.zip    tokenizer.json and idf.json, the form of the function SPARSE_TOKENIZE
    data/doc_only/model.json       body of POST /_plugins/_ml/models/_register, with the checksum of the archive
    data/doc_only/pipeline.json    body of PUT /_search/pipeline/NAME, which gives the model to queries without one
    data/doc_only/search.json      body of a search with that pipeline

OpenSearch counts a token once, and weighs it by its entry of idf.json, or by 1 without one. These are the weights of
models whose query encoder counts tokens or has a weight for each; repeated words of a query count once.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np

from termwise.export.folder import ExportFolder
from termwise.export.scripts.bulk_engine import feature
from termwise.export.source import ExportSource
from termwise.export.target import Statement
from termwise.models.count_query_encoder import CountQueryEncoder
from termwise.text import unknown_token
from termwise.text.wordpiece import WordPieceAnalyzer

FOLDER = "data/doc_only"
LARGEST = 64.0
"""Largest weight of a token in `neural_sparse`."""

IGNORED = 1e-6
"""Weight of tokens that a query must not contain; without an entry they would have 1, and 0 is refused."""

_EPOCH = (1980, 1, 1, 0, 0, 0)


def encoder_of(source: ExportSource) -> tuple[CountQueryEncoder, WordPieceAnalyzer] | None:
    """Return the query encoder and its analyzer; None for several parts, a bias, or other analyzers and encoders."""
    (first, *others) = source.parts
    encoder = first.part.backend.encoder
    if others or first.kind == "dense" or first.has_bias or not isinstance(encoder, CountQueryEncoder):
        return None
    return (encoder, encoder.analyzer) if isinstance(encoder.analyzer, WordPieceAnalyzer) else None


def token_weights(source: ExportSource) -> dict[str, float]:
    """Return the weights of the tokens of the index that are not 1, and of those that are ignored."""
    found = encoder_of(source)
    assert found is not None, "the index has such an encoder"
    encoder, analyzer = found
    part = source.parts[0]
    terms = np.arange(len(part.tokens), dtype=np.int32)
    weights = np.ones(len(terms)) if encoder.term_weights is None else encoder.term_weights.astype(np.float64)
    factors = part.index.query_factors(terms)
    weights = weights[: len(terms)] * (1.0 if factors is None else factors)
    largest = float(weights.max(initial=1.0))
    if largest > LARGEST:
        weights = weights * (LARGEST / largest)
    named = dict(zip(part.tokens, np.maximum(weights, IGNORED).tolist(), strict=True))
    named |= dict.fromkeys((unknown_token(analyzer) or "[UNK]", "[CLS]", "[SEP]"), IGNORED)
    return {token: weight for token, weight in named.items() if weight != 1.0}


def write_doc_only(source: ExportSource, folder: ExportFolder) -> None:
    """Write the files, if the query encoder of the index has this form."""
    found = encoder_of(source)
    if found is None:
        return
    archive = io.BytesIO()
    contents = {
        "tokenizer.json": found[1].tokenizer_json,
        "idf.json": json.dumps(token_weights(source), ensure_ascii=False),
    }
    with zipfile.ZipFile(archive, "w") as out:
        for name, text in contents.items():
            out.writestr(zipfile.ZipInfo(name, _EPOCH), text.encode(), zipfile.ZIP_DEFLATED)
    with folder.piece(f"{FOLDER}/tokenizer.zip") as file:
        file.write(archive.getvalue())
    model = {
        "name": f"termwise {source.path.resolve().stem}",
        "version": "1.0.0",
        "function_name": "SPARSE_TOKENIZE",
        "model_format": "TORCH_SCRIPT",
        "model_content_hash_value": hashlib.sha256(archive.getvalue()).hexdigest(),
        "url": "file:///PATH/data/doc_only/tokenizer.zip",
    }
    pipeline = {"request_processors": [{"neural_query_enricher": {"default_model_id": "MODEL_ID"}}]}
    search = {"query": {"neural_sparse": {source.parts[0].field: {"query_text": "TEXT"}}}}
    for name, body in {"model": model, "pipeline": pipeline, "search": search}.items():
        folder.write(f"{FOLDER}/{name}.json", json.dumps(body, indent=1) + "\n")


def doc_only_statements(source: ExportSource) -> list[Statement]:
    """Return what differs when OpenSearch encodes the queries."""
    if encoder_of(source) is None:
        return []
    lost = sum(feature(token) != token for token in source.parts[0].tokens)
    reason = (
        f"a repeated word counts once, weights have other roundings, and {lost:,} tokens with the characters "
        "%, . or * are not found, because their features have other names"
    )
    return [Statement("queries that OpenSearch encodes (data/doc_only)", False, reason)]
