"""Encoders small enough to compute by hand: graphs of a few operations over a vocabulary of a few pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

from termwise.encode import EncoderFile, EncoderManifest, ExpansionRecord, SpecialIds
from termwise.encode.encoder_folder import FLOORS, OUTPUTS, QUERY_ROWS, QUERY_SHIFTS, QUERY_WEIGHTS
from termwise.storage.manifest_json import checksum_of
from termwise.text import AnalyzerSpec, Vocabulary, WordPieceAnalyzer
from termwise.text.analyzer_files import AnalyzerRecord
from termwise.vectors import TermVectors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]")
WORDS = ("the", "merge", "sort", "list", "##s", "how", "definition", "cat", "dog")
PIECES = (*SPECIAL, *WORDS)
PAD, UNK, CLS, SEP, MASK, DOC, QRY = range(7)
THE, MERGE, SORT, LIST, S, HOW, DEFINITION, CAT, DOG = range(7, 16)

NETWORKS = {"float32": "model.onnx", "int8": "model.int8.onnx"}
FAR_BELOW = np.float32(-1e9)


def graph(kind: str, table: np.ndarray, **names: str) -> bytes:
    """Return a network as ONNX.

    - ``tilde``: ``logits[t] = max over the pieces j of table[j, t]``
    - ``splade-doc``: the same, and 0 instead of what is below 0
    - ``tildev2``: ``weights[j] = relu(table[piece at j] + j / 4)``
    - ``lookup``: ``vectors = sum over the pieces j of table[j], divided by its length``
    """
    inputs = [
        helper.make_tensor_value_info(names.get(name, name), TensorProto.INT64, ["b", "l"])
        for name in ("input_ids", "attention_mask")
    ]
    ids, mask = (one.name for one in inputs)
    constants = {"table": table.astype(np.float32)}
    output = names.get("output", OUTPUTS[kind])  # type: ignore[index]
    if kind == "tildev2":
        shape: list[Any] = ["b", "l"]
        constants |= {"axis": np.int64(1), "one": np.float32(1), "quarter": np.float32(0.25)}
        nodes = [
            helper.make_node("Gather", ["table", ids], ["found"]),
            helper.make_node("Cast", [mask], ["there"], to=TensorProto.FLOAT),
            helper.make_node("CumSum", ["there", "axis"], ["counted"]),
            helper.make_node("Sub", ["counted", "one"], ["places"]),
            helper.make_node("Mul", ["places", "quarter"], ["quarters"]),
            helper.make_node("Add", ["found", "quarters"], ["sum"]),
            helper.make_node("Relu", ["sum"], [output]),
        ]
    elif kind == "lookup":
        shape = ["b", table.shape[1]]
        constants |= {"first": np.array([1]), "last": np.array([2])}
        nodes = [
            helper.make_node("Gather", ["table", ids], ["found"]),
            helper.make_node("Cast", [mask], ["there"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["there", "last"], ["column"]),
            helper.make_node("Mul", ["found", "column"], ["masked"]),
            helper.make_node("ReduceSum", ["masked", "first"], ["sum"], keepdims=0),
            helper.make_node("LpNormalization", ["sum"], [output], axis=1, p=2),
        ]
    else:
        shape = ["b", table.shape[1]]
        constants |= {"far": FAR_BELOW, "last": np.array([2])}
        pooled = output if kind == "tilde" else "pooled"
        nodes = [
            helper.make_node("Gather", ["table", ids], ["found"]),
            helper.make_node("Cast", [mask], ["bits"], to=TensorProto.BOOL),
            helper.make_node("Unsqueeze", ["bits", "last"], ["there"]),
            helper.make_node("Where", ["there", "found", "far"], ["masked"]),
            helper.make_node("ReduceMax", ["masked"], [pooled], axes=[1], keepdims=0),
        ]
        if kind == "splade-doc":
            nodes.append(helper.make_node("Relu", [pooled], [output]))
    made = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def square(
    weights: Mapping[int, Mapping[int, float]], *, otherwise: float = -8.0, terms: int = len(PIECES)
) -> np.ndarray:
    """Return a table of logits: ``weights[piece][term]``, and `otherwise` elsewhere."""
    table = np.full((terms, terms), otherwise, dtype=np.float32)
    for piece, row in weights.items():
        for term, weight in row.items():
            table[piece, term] = weight
    return table


def make_folder(
    folder: Path,
    kind: str,
    tables: np.ndarray | Mapping[str, np.ndarray],
    *,
    floors: Sequence[float] | None = None,
    query_weights: Sequence[float] | None = None,
    term_vectors: TermVectors | None = None,
    expansion: ExpansionRecord | None = None,
    pieces: Sequence[str] = PIECES,
    networks: Mapping[str, bytes] | None = None,
    **changes: Any,
) -> Path:
    """Write an encoder folder; `changes` go to the manifest."""
    folder.mkdir(parents=True)
    vocabulary = "\n".join(pieces).encode() + b"\n"
    (folder / "vocab.txt").write_bytes(vocabulary)
    spec = AnalyzerSpec("wordpiece", {}, {"vocab.txt": vocabulary})
    WordPieceAnalyzer(spec)
    if not isinstance(tables, Mapping):
        tables = {"float32": tables}
    files = {}
    for precision, table in tables.items():
        path = folder / NETWORKS[precision]
        path.write_bytes((networks or {}).get(precision) or graph(kind, table))
        files[path.name] = EncoderFile.of(path, precision=precision)  # type: ignore[arg-type]
    for name, vector in ((FLOORS, floors), (QUERY_WEIGHTS, query_weights)):
        if vector is not None:
            np.save(folder / name, np.asarray(vector, dtype=np.float32))
            files[name] = EncoderFile.of(folder / name)
    table_facts: dict[str, Any] = {}
    if term_vectors is not None:
        for name, array in ((QUERY_ROWS, term_vectors.rows), (QUERY_SHIFTS, term_vectors.shifts)):
            np.save(folder / name, array)
            files[name] = EncoderFile.of(folder / name)
        table_facts = {"dimensions": term_vectors.dimensions, "query_scale": term_vectors.scale}
    settings: dict[str, Any] = {
        "kind": kind,
        "tokenizer": AnalyzerRecord.of(spec),
        "terms": len(pieces),
        "cleaning": "repo",
        "special": SpecialIds(document=DOC, query=QRY, cls=CLS, sep=SEP, pad=PAD),
        "positions": 16,
        "length": 10,
        "expansion": expansion,
        "files": files,
        "trained": {"base": "none"},
    }
    manifest = EncoderManifest(**{**settings, **table_facts, **changes})
    (folder / "encoder.json").write_bytes(manifest.to_bytes())
    return folder


def lookup_folder(folder: Path, *, query: np.ndarray | None = None, **changes: Any) -> Path:
    """Write an encoder of kind ``lookup`` in two dimensions.

    Sorting words point to the first axis, animals to the second, `list` between them; a word adds nothing to the
    vector of a document if it is not named here. The default query rows are those of the documents, without `cat`.
    """
    table = np.zeros((len(PIECES), 2), dtype=np.float32)
    table[[MERGE, SORT]] = (2, 0)
    table[[CAT, DOG]] = (0, 2)
    table[LIST] = (3, 4)
    table = changes.pop("table", table)
    if query is None:
        query = table.copy()
        query[CAT] = 0
    vocabulary = Vocabulary(PIECES).id
    return make_folder(folder, "lookup", table, term_vectors=TermVectors.of(query, vocabulary), **changes)


BYTES = ("<s>", "<pad>", "</s>", "Ġ", "a", "b", "c", "ab", "Ġab")
"""Vocabulary of a byte-level BPE; ``ab ab c`` is read as ``ab Ġab Ġ c``."""


def byte_pairs(*, special: bool = True) -> bytes:
    """Return a byte-level BPE of `BYTES`, like that of RoBERTa, as a ``tokenizer.json``."""
    numbers = {piece: number for number, piece in enumerate(BYTES)}
    tokenizer = Tokenizer(models.BPE(numbers, [("a", "b"), ("Ġ", "ab")]))
    tokenizer.add_special_tokens([AddedToken(piece, normalized=False) for piece in BYTES[:3]])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if special:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.enable_truncation(3)  # which the package ignores
    return tokenizer.to_str().encode()


def byte_lookup_folder(folder: Path, *, data: bytes | None = None, **changes: Any) -> Path:
    """Write an encoder of kind ``lookup`` whose documents have the tokenizer `byte_pairs`; see `lookup_folder`.

    The vector of ``ab`` points to the first axis, that of ``c`` to the second one.
    """
    table = np.zeros((len(BYTES), 2), dtype=np.float32)
    table[[7, 8]] = (1, 0)
    table[6] = (0, 1)
    made = lookup_folder(folder, table=table, query=np.ones((len(PIECES), 2), dtype=np.float32))
    (made / "document_tokenizer.json").write_bytes(byte_pairs() if data is None else data)
    body = json.loads((made / "encoder.json").read_text())
    record = asdict(EncoderFile.of(made / "document_tokenizer.json"))
    body["files"]["document_tokenizer.json"] = record
    special = asdict(SpecialIds(document=0, query=0, cls=0, sep=2, pad=1))
    body |= {"document_tokenizer": {"terms": len(BYTES), "special": special}, **changes}
    (made / "encoder.json").write_text(json.dumps({**body, "checksum": checksum_of(body)}))
    return made
