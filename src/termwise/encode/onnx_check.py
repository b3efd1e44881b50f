"""Detection of ONNX files that keep tensors in other files, which the checksums of the manifest do not cover.

An ONNX file is one protocol buffers message [1]_. Only its structure is parsed; tensor data is skipped.

.. [1] https://protobuf.dev/programming-guides/encoding, and the fields in
   https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

import mmap
from pathlib import Path

from termwise.storage.manifest_json import Misfit

PARTS: dict[str, dict[int, str]] = {
    "ModelProto": {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"},
    "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
    "GraphProto": {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        5: "TensorProto",
        10: "TensorProto",
        6: "GraphProto",
        11: "GraphProto",
        22: "SparseTensorProto",
        23: "SparseTensorProto",
    },
    "SparseTensorProto": {1: "TensorProto", 2: "TensorProto"},
    "TensorProto": {},
}
"""Fields of each message type that contain tensors, directly or nested, with the message type of the field."""

EXTERNAL_DATA, DATA_LOCATION = 13, 14
"""Fields of a tensor: location of its external data, and whether its data is external."""

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10
_TAGS = 1 << 32


def has_external_data(path: Path) -> bool:
    """Return whether a network keeps tensor data in other files.

    Raise `Misfit` if the file is not a protocol buffers message.
    """
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _has_external_data(data)


def _has_external_data(data: mmap.mmap) -> bool:
    pending = [("ModelProto", 0, len(data))]
    while pending:
        message, position, end = pending.pop()
        tensor = message == "TensorProto"
        while position < end:
            tag, position = _varint(data, position, end)
            number, wire_type = tag >> 3, tag & 7
            value = 0
            if wire_type in (_VARINT, _BYTES):
                value, position = _varint(data, position, end)
            start = position
            if wire_type == _BYTES:
                position += value
            elif wire_type == _EIGHT_BYTES:
                position += 8
            elif wire_type == _FOUR_BYTES:
                position += 4
            if (
                wire_type not in (_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES)
                or position > end
                or tag >= _TAGS
            ):
                raise Misfit("a protocol buffers field", f"invalid bytes before byte {start}")
            if tensor and (wire_type, number) == (_BYTES, EXTERNAL_DATA):
                return True
            if tensor and (wire_type, number) == (_VARINT, DATA_LOCATION) and value != 0:
                return True
            if wire_type == _BYTES and number in PARTS[message]:
                pending.append((PARTS[message][number], start, position))
    return False


def _varint(data: mmap.mmap, position: int, end: int) -> tuple[int, int]:
    """Return a variable-length integer (7 bits per byte, lowest first) and the position after it."""
    value = 0
    for shift in range(_LONGEST_VARINT):
        if position >= end:
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, position
    raise Misfit("an integer of at most ten bytes", f"invalid bytes before byte {position}")
