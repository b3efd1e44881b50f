"""Blocks of eight bits: errors of weights, and quantised graphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

onnx = pytest.importorskip("onnx")

import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from termwise.errors import ModelFormatError  # noqa: E402
from termwise.train.export.quantise import BLOCK, SCALE, Blocks, dequantised_weights, quantise  # noqa: E402

matrices = arrays(
    np.float32,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=70),
    elements=st.floats(-1e4, 1e4, width=32, allow_subnormal=False),
)


@given(matrices, st.sampled_from([16, 32, 64]))
def test_the_error_of_a_weight_is_at_most_half_a_step(matrix, block):
    blocks = Blocks.of(matrix, block=block)
    step = np.repeat(blocks.scales, block, axis=1)[:, : matrix.shape[1]]
    assert (np.abs(blocks.matrix().astype(np.float64) - matrix) <= 0.5001 * step).all()


@given(matrices)
def test_zero_and_the_largest_weight_are_exact(matrix):
    blocks = Blocks.of(matrix)
    read = blocks.matrix()
    assert (read[matrix == 0] == 0).all()
    assert blocks.values.min() >= 1
    rows = np.abs(matrix).max(axis=1)
    np.testing.assert_allclose(np.abs(read).max(axis=1), rows, rtol=1e-5)


@given(matrices)
def test_the_opposite_matrix_has_opposite_blocks(matrix):
    np.testing.assert_array_equal(Blocks.of(-matrix).matrix(), -Blocks.of(matrix).matrix())


def test_rounding_by_hand():
    blocks = Blocks.of(np.array([[127.0, -63.4, 0.0, 2.6], [0.0, 0.0, 0.0, 0.0]], dtype=np.float32), block=16)
    assert blocks.values.shape == (2, 1, 16)
    assert blocks.values[0, 0, :5].tolist() == [255, 65, 128, 131, 128]
    assert blocks.scales.tolist() == [[1.0], [1.0]]
    assert blocks.matrix().tolist() == [[127.0, -63.0, 0.0, 3.0], [0.0] * 4]


def test_blocks_are_independent():
    matrix = np.full((1, 2 * BLOCK), 1e-3, dtype=np.float32)
    matrix[0, 0] = 1e3
    read = Blocks.of(matrix).matrix()
    assert read[0, 1] == 0
    np.testing.assert_allclose(read[0, BLOCK:], 1e-3, rtol=1e-6)


TERMS, SIZE, WIDE = 40, 80, 24


def graph(*, tied="table", extra=()):
    """Look pieces up, widen and narrow them, and score them against the table of the look-up.

    ``logits = relu(E[ids] A') B' E' + c``, with the three ways a linear layer is written by the exporter.
    """
    random = np.random.default_rng(1)
    constants = {
        "table": random.normal(size=(TERMS, SIZE)),
        "up": random.normal(size=(WIDE, SIZE)),
        "down": random.normal(size=(SIZE, WIDE)),
        "bias": random.normal(size=TERMS),
        "thin": random.normal(size=(2, SIZE)),
    }
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["found"], axis=0),
        helper.make_node("Transpose", ["up"], ["up_turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["found", "up_turned"], ["wide"]),
        helper.make_node("Relu", ["wide"], ["kept"]),
        helper.make_node("Transpose", ["down"], ["down_turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["kept", "down_turned"], ["narrow"]),
        helper.make_node("Gather", ["thin", "zero"], ["type"], axis=0),
        helper.make_node("Add", ["narrow", "type"], ["typed"]),
        helper.make_node("ReduceMean", ["typed", "axis"], ["pooled"], keepdims=0),
        helper.make_node("Gemm", ["pooled", tied, "bias"], ["logits"], transB=1),
        *extra,
    ]
    values = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()]
    values += [numpy_helper.from_array(np.array([1]), "axis"), numpy_helper.from_array(np.array(0), "zero")]
    made = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", TERMS])],
        values,
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def run(model, ids):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"ids": ids})[0]


@pytest.fixture(scope="module")
def toy():
    return graph()


@pytest.fixture(scope="module")
def small(toy):
    return quantise(toy)


IDS = np.array([[1, 7, 39, 0, 7], [2, 2, 3, 4, 5]])


def with_weights(model, weights):
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for tensor in made.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    return made


@pytest.mark.parametrize("block", [16, 32, 64, 128])
def test_outputs_stay_close(toy, block):
    expected = run(toy, IDS)
    seen = run(quantise(toy, block=block), IDS)
    assert np.linalg.norm(seen - expected) / np.linalg.norm(expected) < 0.03


def test_the_graph_computes_with_the_dequantised_weights(toy, small):
    """The int8 graph differs from a float32 graph of the rounded weights only by the rounding of activations."""
    weights = dequantised_weights(small)
    expected = run(with_weights(toy, weights), IDS)
    seen = run(small, IDS)
    assert np.linalg.norm(seen - expected) / np.linalg.norm(expected) < 0.02
    np.testing.assert_array_equal(
        weights["table"], Blocks.of(numpy_helper.to_array(toy.graph.initializer[0])).matrix()
    )
    np.testing.assert_array_equal(weights["thin"], numpy_helper.to_array(toy.graph.initializer[4]))
    assert not any(name.endswith(SCALE) for name in weights)


def test_a_table_with_two_readers_is_stored_once(small):
    tables = [tensor for tensor in small.graph.initializer if tensor.dims and tensor.dims[0] == TERMS]
    assert {tensor.name: tensor.data_type for tensor in tables} == {
        "table": TensorProto.UINT8,
        "table" + SCALE: TensorProto.FLOAT,
        "bias": TensorProto.FLOAT,
    }
    readers = [node.op_type for node in small.graph.node if "table" in node.input]
    assert readers == ["Gather", "MatMulNBits"]


def test_small_matrices_and_biases_stay_in_float32(small):
    kinds = {tensor.name: tensor.data_type for tensor in small.graph.initializer}
    assert kinds["thin"] == kinds["bias"] == TensorProto.FLOAT
    assert kinds["up"] == kinds["down"] == TensorProto.UINT8
    assert not any(node.op_type == "Transpose" for node in small.graph.node)


def test_the_float32_graph_is_not_changed(toy):
    before = toy.SerializeToString()
    quantise(toy)
    assert toy.SerializeToString() == before


def test_a_text_has_the_same_outputs_in_any_batch(small):
    random = np.random.default_rng(2)
    batch = random.integers(0, TERMS, size=(6, 5))
    batch[3] = IDS[0]
    assert np.array_equal(run(small, batch)[3], run(small, np.stack([IDS[0], batch[0]]))[0])


def test_a_matrix_with_an_unknown_reader_stays_in_float32(toy):
    made = graph(extra=[helper.make_node("ReduceSum", ["up"], ["unused"])])
    kinds = {tensor.name: tensor.data_type for tensor in quantise(made).graph.initializer}
    assert kinds["up"] == TensorProto.FLOAT
    assert kinds["down"] == TensorProto.UINT8
    expected = run(made, IDS)
    assert np.linalg.norm(run(quantise(made), IDS) - expected) / np.linalg.norm(expected) < 0.03


def test_extreme_values_do_not_overflow():
    """255 and 1 against activations of one size: where 16-bit sums saturate, this product is far off."""
    columns = 256
    weights = np.full((32, columns), 1.0, dtype=np.float32)
    made = helper.make_graph(
        [
            helper.make_node("Transpose", ["w"], ["turned"], perm=[1, 0]),
            helper.make_node("MatMul", ["x", "turned"], ["y"]),
        ],
        "extreme",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", columns])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 32])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = quantise(helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for rows in (1, 5):
        (seen,) = session.run(None, {"x": np.ones((rows, columns), dtype=np.float32)})
        np.testing.assert_allclose(seen, columns, rtol=1e-4)


def test_a_graph_without_linear_layers_is_refused():
    made = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "bare",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows"])],
    )
    with pytest.raises(ModelFormatError, match="no linear layer"):
        quantise(helper.make_model(made))


def test_missing_scales_are_an_error(small):
    made = onnx.ModelProto()
    made.CopyFrom(small)
    kept = [tensor for tensor in made.graph.initializer if tensor.name != "up" + SCALE]
    kept = [TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
    del made.graph.initializer[:]
    made.graph.initializer.extend(kept)
    with pytest.raises(ModelFormatError, match="no scales") as caught:
        dequantised_weights(made)
    assert dict(caught.value.facts) == {"weight": "up"}
