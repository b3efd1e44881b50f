from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.unit.encode import tiny

from termwise.encode import EncoderFolder, shipped_encoders
from termwise.encode.onnx_check import DATA_LOCATION, EXTERNAL_DATA, PARTS, has_external_data
from termwise.storage.manifest_json import Misfit


def tensor(*, external: bool) -> TensorProto:
    made = numpy_helper.from_array(np.arange(4, dtype=np.float32), "numbers")
    if external:
        made.ClearField("raw_data")
        made.data_location = TensorProto.EXTERNAL
        made.external_data.add(key="location", value="rest")
    return made


def graph(node: onnx.NodeProto | None = None, **parts: list[object]) -> onnx.GraphProto:
    made = onnx.GraphProto(name="g", node=[] if node is None else [node])
    for name, values in parts.items():
        getattr(made, name).extend(values)
    return made


def places(one: TensorProto) -> dict[str, onnx.ModelProto]:
    """Return models with a tensor at each place that ONNX allows."""
    sparse = onnx.SparseTensorProto(values=one, dims=[4])
    deep = graph(helper.make_node("If", [], ["y"], then_branch=graph(initializer=[one])))
    function = onnx.FunctionProto(
        name="f", domain="d", node=[helper.make_node("Constant", [], ["y"], value=one)]
    )
    return {
        "initializer": onnx.ModelProto(graph=graph(initializer=[one])),
        "sparse initializer": onnx.ModelProto(graph=graph(sparse_initializer=[sparse])),
        "attribute": onnx.ModelProto(graph=graph(helper.make_node("Constant", [], ["y"], value=one))),
        "attributes": onnx.ModelProto(graph=graph(helper.make_node("X", [], ["y"], values=[one, one]))),
        "sparse attribute": onnx.ModelProto(graph=graph(helper.make_node("X", [], ["y"], value=sparse))),
        "branch": onnx.ModelProto(graph=deep),
        "function": onnx.ModelProto(graph=graph(), functions=[function]),
        "training": onnx.ModelProto(
            graph=graph(), training_info=[onnx.TrainingInfoProto(algorithm=graph(initializer=[one]))]
        ),
    }


def found(tmp_path: Path, data: bytes) -> bool:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    return has_external_data(path)


@pytest.mark.parametrize("place", places(tensor(external=False)))
def test_external_tensors_are_found_at_every_position(tmp_path, place):
    for external in (False, True):
        assert found(tmp_path, places(tensor(external=external))[place].SerializeToString()) is external


def test_either_field_marks_an_external_tensor(tmp_path):
    location, data = tensor(external=True), tensor(external=True)
    location.ClearField("external_data")
    data.ClearField("data_location")
    for one in (location, data):
        assert found(tmp_path, onnx.ModelProto(graph=graph(initializer=[one])).SerializeToString())


def test_the_table_of_fields_is_complete():
    known: dict[str, dict[int, str]] = {}
    waiting = [onnx.ModelProto.DESCRIPTOR]
    while waiting:
        message = waiting.pop()
        if message.name not in known:
            inner = [field for field in message.fields if field.message_type is not None]
            known[message.name] = {field.number: field.message_type.name for field in inner}
            waiting += [field.message_type for field in inner]
    leading = {"TensorProto"}
    while more := {name for name, parts in known.items() if leading & set(parts.values())} - leading:
        leading |= more
    assert {
        name: {number: part for number, part in parts.items() if part in leading}
        for name, parts in known.items()
        if name in leading
    } == PARTS
    fields = TensorProto.DESCRIPTOR.fields_by_name
    assert (fields["external_data"].number, fields["data_location"].number) == (EXTERNAL_DATA, DATA_LOCATION)


@pytest.mark.parametrize(
    "data",
    [
        b"not a network",
        b"\x3a\x05ab",  # a graph of five bytes, of which two are there
        b"\x08" + b"\x80" * 10 + b"\x01",  # a number without an end
        b"\x08",
        b"\xba\x80\x80\x80\x10\x00",  # a tag that keeps 32 bits would make the field of the graph of it
        b"\x3b\x3c",  # a group
    ],
)
def test_invalid_messages(tmp_path, data):
    with pytest.raises(Misfit):
        found(tmp_path, data)


def test_an_empty_file(tmp_path):
    assert not found(tmp_path, b"")


def test_networks_without_external_data(tmp_path):
    for kind, table in (("tilde", tiny.square({})), ("tildev2", np.ones(len(tiny.PIECES)))):
        assert not found(tmp_path, tiny.graph(kind, table))
    for name in shipped_encoders():
        folder = EncoderFolder.open(name)
        for file in folder.manifest.networks().values():
            begin = time.process_time()
            assert not has_external_data(folder.folder / file)
            assert time.process_time() - begin < 2
