"""Quantisation of a float32 graph to int8: a quarter of the size, and faster on processors that multiply bytes.

A matrix W of shape (out, in) is divided along its rows into blocks of 64 numbers. Each block stores integers q from 1
to 255, where 128 means zero, and one scale:

    scale = max |w| / 127          w = (q - 128) * scale

Matrix products become ``MatMulNBits`` with ``accuracy_level`` 4: the runtime divides each row of the activations into
blocks of the same length, rounds them to int8 with one scale per block, multiplies integers and sums the blocks in
float32. Look-ups of an embedding gather rows of q and multiply them by their scales. An embedding that is also the
decoder is stored as one table, which both operators read.

The usual method, ``DynamicQuantizeLinear`` and ``MatMulInteger``, has one scale for the activations of a whole batch. A
BERT has a few very large activations, so the other activations are rounded to few values. In addition the scale, and
therefore every weight of a document, depends on the other documents of the batch. One scale per block avoids both: the
output for a document is equal to the bit in any batch. The disadvantage of blocks is lower speed.

Measurements on the last layer of a 6-layer MiniLM against float32, for 300 passages of five collections in batches of
32. Deviation: mean norm of the difference, divided by the norm of the output of a piece. Kept: share of the 10 nearest
neighbours, by the cosine of mean outputs, that stay the same. Time: for a batch of 32 x 128 pieces relative to float32,
one thread, with VNNI. In all rows the embeddings have 8 bits and one scale per row.

===================================================  =====  =========  ===========  =====  ====
activations and weights of linear layers             MB     deviation  batch alone  kept   time
===================================================  =====  =========  ===========  =====  ====
one scale per batch; 8 bits, one scale per row       22.9   0.151      changes      0.932  0.39
the same with 7 bits, as AVX2 needs                  22.9   0.161      changes      0.927  0.39
the same, second matrix of each layer in float32     33.6   0.114      changes      0.948  0.57
one scale per row of activations, plain operators    23.0   0.074      same         0.959  2.66
blocks of 128                                        23.2   0.048      same         0.976  0.66
**blocks of 64**                                     23.5   0.037      same         0.985  0.71
blocks of 32                                         24.2   0.030      same         0.986  0.77
float32                                              54.7   0.007      same         0.998  1.00
===================================================  =====  =========  ===========  =====  ====

With blocks of 64 for the embeddings too, whole networks take 24.1 MB (``tildev2``) and 24.4 MB (``tilde``).

Without VNNI, x86 adds pairs of products of bytes in 16 bits, which overflow in ``MatMulInteger`` unless weights have
only 7 bits. The kernels of ``MatMulNBits`` do not overflow: matrices of extreme values give the exact products under an
emulated AVX2 processor and under one with VNNI (onnxruntime 1.22, 1.23 and 1.31). So all 8 bits are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from termwise.errors import ModelFormatError
from termwise.fast_dataclass import dataclass

BLOCK = 64
"""Length of a block."""

SMALLEST = 16
"""Matrices with fewer rows or columns stay in float32."""

SCALE = ".scale"
"""Suffix of the name of the scales of a weight: float32 of shape (rows, blocks of a row)."""

_ZERO = 128
_LARGEST = 127
_CONTRIB = "com.microsoft"
_LENGTHS = "termwise.row_lengths"
_INT8_ARITHMETIC = 4


@dataclass(frozen=True)
class Blocks:
    """A matrix in blocks; `columns` is the length of a row.

    `values`, uint8 of shape (rows, blocks, length of a block), are 128 for zero, also beyond the end of a row.
    `scales`, float32 of shape (rows, blocks), are above 0.
    """

    values: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.float32]
    columns: int

    @classmethod
    def of(cls, matrix: npt.NDArray[np.float32], *, block: int = BLOCK) -> Blocks:
        """Quantise a finite matrix with blocks of this length, a power of two from 16 to 256.

        Examples
        --------
        >>> blocks = Blocks.of(np.array([[0.5, -1.0, 0.25]], dtype=np.float32), block=16)
        >>> blocks.values[0, 0, :4].tolist(), blocks.scales.tolist()
        ([192, 1, 160, 128], [[0.007874015718698502]])
        >>> blocks.matrix().tolist()
        [[0.5039370059967041, -1.0, 0.25196850299835205]]
        """
        rows, columns = matrix.shape
        count = -(-columns // block)
        padded = np.zeros((rows, count * block), dtype=np.float64)
        padded[:, :columns] = matrix
        cut = padded.reshape(rows, count, block)
        scales = (np.abs(cut).max(axis=2) / _LARGEST).astype(np.float32)
        scales[scales == 0] = 1
        rounded = np.rint(cut / scales[:, :, None])
        values = np.clip(rounded, -_LARGEST, _LARGEST) + _ZERO
        return cls(values.astype(np.uint8), scales, columns)

    def matrix(self) -> npt.NDArray[np.float32]:
        """Return the dequantised matrix, of shape (rows, columns)."""
        values = (self.values.astype(np.float32) - _ZERO) * self.scales[:, :, None]
        return np.ascontiguousarray(values.reshape(len(values), -1)[:, : self.columns])


def quantise(model: onnx.ModelProto, *, block: int = BLOCK) -> onnx.ModelProto:
    """Quantise the matrices of a graph that `to_onnx` made: embeddings, linear layers, the decoder.

    The result has the same inputs, outputs and metadata. A quantised matrix keeps its name; its scales have this name
    and ``.scale``. Biases, normalisations and small matrices stay in float32.
    """
    quantised = onnx.ModelProto()
    quantised.CopyFrom(model)
    graph = quantised.graph
    matrices = _matrices(graph)
    if not any(use.node.op_type in ("MatMul", "Gemm") for uses in matrices.values() for use in uses):
        raise ModelFormatError(
            "the graph has no linear layer that can be quantised",
            facts=[("operators", ", ".join(sorted({node.op_type for node in graph.node})))],
            fixes=["export the network again and quantise the new graph"],
        )
    floats = {tensor.name: tensor for tensor in graph.initializer}
    blocks = {name: Blocks.of(numpy_helper.to_array(floats[name]), block=block) for name in matrices}
    replaced = {id(use.node): use for uses in matrices.values() for use in uses}
    transposed = {use.transposed for use in replaced.values()}
    nodes: list[NodeProto] = []
    for node in graph.node:
        if id(node) in replaced:
            nodes.extend(_replacement(node, replaced[id(node)].matrix, blocks[replaced[id(node)].matrix]))
        elif not set(node.output) & transposed:
            nodes.append(node)
    kept = [tensor for tensor in graph.initializer if tensor.name not in blocks]
    for name, part in blocks.items():
        kept.append(numpy_helper.from_array(part.values, name))
        kept.append(numpy_helper.from_array(part.scales, name + SCALE))
    kept += [numpy_helper.from_array(np.array(value, dtype=kind), name) for name, value, kind in _CONSTANTS]
    fresh = [_copy(node) for node in nodes]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(fresh)
    graph.initializer.extend(kept)
    quantised.opset_import.append(helper.make_opsetid(_CONTRIB, 1))
    lengths = " ".join(f"{name}={part.columns}" for name, part in sorted(blocks.items()))
    quantised.metadata_props.add(key=_LENGTHS, value=lengths)
    return quantised


def dequantised_weights(model: onnx.ModelProto) -> dict[str, npt.NDArray[np.float32]]:
    """Return the constants of a graph by name, in float32; those that `quantise` made are dequantised."""
    props = {entry.key: entry.value for entry in model.metadata_props}
    columns = dict(pair.rsplit("=", 1) for pair in props.get(_LENGTHS, "").split())
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    weights: dict[str, npt.NDArray[np.float32]] = {}
    for name, array in arrays.items():
        if name in columns:
            if name + SCALE not in arrays:
                raise ModelFormatError("a quantised weight has no scales", facts=[("weight", name)])
            weights[name] = Blocks(array, arrays[name + SCALE], int(columns[name])).matrix()
        elif array.dtype == np.float32 and name.removesuffix(SCALE) not in columns:
            weights[name] = array
    return weights


@dataclass(frozen=True)
class _Use:
    """Node that reads a matrix, directly or through a transposition with the output `transposed`."""

    node: NodeProto
    matrix: str
    transposed: str


_CONSTANTS: tuple[tuple[str, Any, Any], ...] = (
    ("termwise.zero", _ZERO, np.float32),
    ("termwise.last_axis", [-1], np.int64),
    ("termwise.start", [0], np.int64),
)


def _matrices(graph: onnx.GraphProto) -> dict[str, list[_Use]]:
    """Find the matrices that are read by look-ups and linear layers only."""
    readers: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in set(node.input):
            readers.setdefault(name, []).append(node)
    found = {}
    for tensor in graph.initializer:
        large = (
            tensor.data_type == TensorProto.FLOAT and len(tensor.dims) == 2 and min(tensor.dims) >= SMALLEST
        )
        if large:
            uses = list(_uses(tensor.name, readers))
            if uses and None not in uses:
                found[tensor.name] = [use for use in uses if use is not None]
    return found


def _uses(matrix: str, readers: dict[str, list[NodeProto]]) -> Iterator[_Use | None]:
    """Yield each use of a matrix; None for one that cannot be replaced."""
    for node in readers.get(matrix, ()):
        attributes = {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}
        if node.op_type == "Gather" and node.input[0] == matrix and attributes.get("axis", 0) == 0:
            yield _Use(node, matrix, "")
        elif node.op_type == "Gemm" and node.input[1] == matrix:
            plain = attributes.get("alpha", 1) == attributes.get("beta", 1) == 1
            plain = plain and attributes.get("transB", 0) == 1 and attributes.get("transA", 0) == 0
            yield _Use(node, matrix, "") if plain else None
        elif node.op_type == "Transpose" and list(attributes.get("perm", [1, 0])) == [1, 0]:
            transposed = node.output[0]
            for reader in readers.get(transposed, ()):
                product = reader.op_type == "MatMul" and reader.input[1] == transposed != reader.input[0]
                yield _Use(reader, matrix, transposed) if product else None
        else:
            yield None


def _replacement(node: NodeProto, matrix: str, blocks: Blocks) -> list[NodeProto]:
    """Return the nodes that compute `node` with a quantised matrix."""
    output = node.output[0]
    rows, count, length = blocks.values.shape
    if node.op_type == "Gather":
        indices = node.input[1]
        steps = ["whole", "read", "centred", "scales", "unit", "scaled", "shape", "flat_shape", "flat", "end"]
        names = {step: f"{output}.{step}" for step in steps}
        whole = count * length == blocks.columns
        nodes = [
            helper.make_node("Gather", [matrix, indices], [names["whole"]], axis=0),
            helper.make_node("Cast", [names["whole"]], [names["read"]], to=TensorProto.FLOAT),
            helper.make_node("Sub", [names["read"], "termwise.zero"], [names["centred"]]),
            helper.make_node("Gather", [matrix + SCALE, indices], [names["scales"]], axis=0),
            helper.make_node("Unsqueeze", [names["scales"], "termwise.last_axis"], [names["unit"]]),
            helper.make_node("Mul", [names["centred"], names["unit"]], [names["scaled"]]),
            helper.make_node("Shape", [indices], [names["shape"]]),
            helper.make_node("Concat", [names["shape"], "termwise.last_axis"], [names["flat_shape"]], axis=0),
            helper.make_node(
                "Reshape", [names["scaled"], names["flat_shape"]], [output if whole else names["flat"]]
            ),
        ]
        if not whole:
            columns = numpy_helper.from_array(np.array([blocks.columns], dtype=np.int64))
            nodes.append(helper.make_node("Constant", [], [names["end"]], value=columns))
            inputs = [names["flat"], "termwise.start", names["end"], "termwise.last_axis"]
            nodes.append(helper.make_node("Slice", inputs, [output]))
        return nodes
    bias = node.input[2] if node.op_type == "Gemm" and len(node.input) > 2 else ""
    product = f"{output}.product" if bias else output
    nodes = [
        helper.make_node(
            "MatMulNBits",
            [node.input[0], matrix, matrix + SCALE],
            [product],
            domain=_CONTRIB,
            K=blocks.columns,
            N=rows,
            bits=8,
            block_size=length,
            accuracy_level=_INT8_ARITHMETIC,
        )
    ]
    if bias:
        nodes.append(helper.make_node("Add", [product, bias], [output]))
    return nodes


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy
