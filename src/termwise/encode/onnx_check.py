"""Check that an ONNX file holds all weights of its network.

ONNX may keep tensors in files beside the network, which the checksums of the manifest would miss. An ONNX file is one
message of protocol buffers [1]_; only its structure is read here, and tensor data is skipped.

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
"""Fields of each message that lead to tensors, and the type of message they hold."""

EXTERNAL_DATA, DATA_LOCATION = 13, 14
"""Fields of a tensor: where its data is, and whether that is in another file."""

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10
_TAGS = 1 << 32


def has_external_data(path: Path) -> bool:
    """Return whether a network keeps tensor data in other files.

    Raises
    ------
    OSError
        If the file cannot be read.
    Misfit
        If it is not a message of protocol buffers.
    """
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _has_external_data(data)


def _has_external_data(data: mmap.mmap) -> bool:
    waiting = [("ModelProto", 0, len(data))]
    while waiting:
        message, place, end = waiting.pop()
        tensor = message == "TensorProto"
        while place < end:
            tag, place = _varint(data, place, end)
            number, kind = tag >> 3, tag & 7
            value = 0
            if kind in (_VARINT, _BYTES):
                value, place = _varint(data, place, end)
            start = place
            if kind == _BYTES:
                place += value
            elif kind == _EIGHT_BYTES:
                place += 8
            elif kind == _FOUR_BYTES:
                place += 4
            if kind not in (_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES) or place > end or tag >= _TAGS:
                raise Misfit("a field of a message", f"other bytes before byte {start}")
            if tensor and (kind, number) == (_BYTES, EXTERNAL_DATA):
                return True
            if tensor and (kind, number) == (_VARINT, DATA_LOCATION) and value != 0:
                return True
            if kind == _BYTES and number in PARTS[message]:
                waiting.append((PARTS[message][number], start, place))
    return False


def _varint(data: mmap.mmap, place: int, end: int) -> tuple[int, int]:
    """Return a number stored seven bits a byte, lowest first, and the position after it."""
    value = 0
    for shift in range(_LONGEST_VARINT):
        if place >= end:
            break
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, place
    raise Misfit("a whole number of at most ten bytes", f"other bytes before byte {place}")
