"""Conversion of a T5 in ONNX with 8-bit weights to a trainable one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parents[3] / "experiments" / "probes"


def test_weights_keep_names_and_values(monkeypatch):
    pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    monkeypatch.syspath_prepend(str(HERE))
    import onnx_to_t5

    stored = {
        "onnx::MatMul_7_quantized": np.array([[1, 3, 5], [2, 4, 6]], dtype=np.int8),
        "onnx::MatMul_7_zero_point": np.array(1, dtype=np.int8),
        "onnx::MatMul_7_scale": np.array(0.5, dtype=np.float32),
        "enc.embed_tokens.weight_quantized": np.array([[10]], dtype=np.uint8),
        "enc.embed_tokens.weight_zero_point": np.array(8, dtype=np.uint8),
        "enc.embed_tokens.weight_scale": np.array(2.0, dtype=np.float32),
        "enc.final_layer_norm.weight": np.array([1.5], dtype=np.float32),
    }
    node = helper.make_node(
        "MatMulInteger",
        ["x", "onnx::MatMul_7_quantized", "x_zero_point", "onnx::MatMul_7_zero_point"],
        ["y"],
        name="/enc/block.0/layer.0/SelfAttention/q/MatMul_quant",
    )
    graph = helper.make_graph(
        [node],
        "g",
        [],
        [],
        initializer=[numpy_helper.from_array(value, name) for name, value in stored.items()],
    )
    found = onnx_to_t5.parameters(graph, "encoder", "enc")
    assert {name: values.tolist() for name, values in found.items()} == {
        "encoder.block.0.layer.0.SelfAttention.q.weight": [[0, 0.5], [1, 1.5], [2, 2.5]],
        "shared.weight": [[4.0]],
        "encoder.final_layer_norm.weight": [1.5],
    }
    head = onnx_to_t5._renamed("m.lm_head.weight", "decoder", "m.decoder")
    assert (head, onnx_to_t5._renamed("m.decoder.block.0.x", "decoder", "m.decoder")) == (
        "lm_head.weight",
        "decoder.block.0.x",
    )
