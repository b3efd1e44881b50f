"""Networks in onnxruntime: precision, providers and checks of the output."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.onnx_session import OnnxSession, choose_precision
from termwise.errors import (
    CorruptModelError,
    MissingExtraError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
)

IDS = np.array([[5, 8, 3]], dtype=np.int64)
ONES = np.ones_like(IDS)


def opened(
    tiny: ModuleType, path: Path, kind: str = "tilde", tables: Any = None, **options: Any
) -> EncoderFolder:
    if tables is None:
        tables = tiny.square({tiny.MERGE: {tiny.MERGE: 3.0}})
    return EncoderFolder.open(tiny.make_folder(path, kind, tables, **options))


def test_the_output(tilde: Path, tiny: ModuleType) -> None:
    session = OnnxSession(EncoderFolder.open(tilde))
    logits = session.run(IDS, ONES)
    assert logits.shape == (1, 16)
    assert logits[0, tiny.MERGE] == 3.0
    assert logits[0, tiny.CAT] == -1.0
    assert logits[0, tiny.LIST] == -8.0


def test_padding_does_not_change_the_output(tilde: Path) -> None:
    session = OnnxSession(EncoderFolder.open(tilde))
    longer = np.array([[5, 8, 3, 9, 9]], dtype=np.int64)
    mask = np.array([[1, 1, 1, 0, 0]], dtype=np.int64)
    assert np.array_equal(session.run(longer, mask), session.run(IDS, ONES))


def test_weights_at_padding_are_0(tiny: ModuleType, tmp_path: Path) -> None:
    table = np.zeros(16, dtype=np.float32)
    table[tiny.PAD] = np.nan
    session = OnnxSession(opened(tiny, tmp_path / "a", "tildev2", table))
    mask = np.array([[1, 1, 0]], dtype=np.int64)
    assert session.run(np.array([[2, 8, 0]]), mask).tolist() == [[0.0, 0.25, 0.0]]


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        ("avx512-vnni", "int8"),
        ("avx-vnni", "int8"),
        ("arm-dotprod", "int8"),
        ("avx2", "float32"),
        ("other", "float32"),
    ],
)
def test_the_faster_of_two_networks_is_chosen(
    tiny: ModuleType, tmp_path: Path, processor: Any, expected: str
) -> None:
    tables = {"float32": tiny.square({}), "int8": tiny.square({}, otherwise=-7.0)}
    folder = opened(tiny, tmp_path / "a", tables=tables)
    session = OnnxSession(folder, processor=processor)
    assert session.precision == expected
    assert session.description["precision"] == expected
    assert session.description["processor"] == processor
    assert session.run(IDS, ONES)[0, 0] == {"int8": -7.0, "float32": -8.0}[expected]
    assert OnnxSession(folder, processor=processor, precision="float32").file == "model.onnx"
    assert OnnxSession(folder, processor=processor, precision="int8").file == "model.int8.onnx"
    assert choose_precision(folder, None, processor=processor, on_cpu=False) == "float32"


def test_a_single_network_is_chosen_on_any_processor(tiny: ModuleType, tmp_path: Path) -> None:
    folder = opened(tiny, tmp_path / "a", tables={"int8": tiny.square({})})
    assert choose_precision(folder, None, processor="other") == "int8"
    with pytest.raises(ParameterError, match="no network in float32"):
        OnnxSession(folder, precision="float32")
    with pytest.raises(UnknownNameError, match="did you mean"):
        choose_precision(folder, "float16", processor="other")


def test_the_description(tilde: Path) -> None:
    import onnxruntime

    described = OnnxSession(EncoderFolder.open(tilde)).description
    assert described["onnxruntime"] == onnxruntime.__version__
    assert described["providers"] == ["CPUExecutionProvider"]
    assert described["file"] == "model.onnx"


def test_missing_providers(tilde: Path) -> None:
    session = OnnxSession(EncoderFolder.open(tilde), providers=["abacus"])
    with pytest.raises(ParameterError, match="no such execution provider") as caught:
        session.load()
    assert "CPUExecutionProvider" in dict(caught.value.facts)["available"]


def test_float32_is_float32_on_cuda(tilde: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    handed: list[Any] = []
    make = onnxruntime.InferenceSession

    class Pretending:
        def __init__(self, path: str, options: Any, *, providers: Any) -> None:
            handed.append(providers)
            self._session = make(path, options, providers=["CPUExecutionProvider"])

        def get_providers(self) -> list[str]:
            return [name for name, _ in handed[-1]]

        def __getattr__(self, name: str) -> Any:
            return getattr(self._session, name)

    names = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: names)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Pretending)
    for given in ("cuda", "CUDAExecutionProvider"):
        session = OnnxSession(EncoderFolder.open(tilde), providers=[given])
        session.load()
        assert handed.pop() == [("CUDAExecutionProvider", {"use_tf32": "0"}), ("CPUExecutionProvider", {})]
        assert session.description["provider_options"] == {"CUDAExecutionProvider": {"use_tf32": "0"}}
    OnnxSession(EncoderFolder.open(tilde)).load()
    assert handed.pop() == [("CPUExecutionProvider", {})]
    assert "provider_options" not in OnnxSession(EncoderFolder.open(tilde)).description


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, 1025, 1 << 31])
def test_threads(tilde: Path, threads: Any) -> None:
    with pytest.raises(ParameterError, match="threads"):
        OnnxSession(EncoderFolder.open(tilde), threads=threads)
    OnnxSession(EncoderFolder.open(tilde), threads=2).load()


@pytest.mark.parametrize(
    ("kind", "odd"), [("tilde", np.inf), ("splade-doc", np.inf), ("tildev2", np.inf), ("tildev2", np.nan)]
)
def test_outputs_that_are_not_finite(tiny: ModuleType, tmp_path: Path, kind: str, odd: float) -> None:
    table = np.zeros(16, dtype=np.float32) if kind == "tildev2" else tiny.square({})
    table[tiny.MERGE] = odd
    session = OnnxSession(opened(tiny, tmp_path / "a", kind, table))
    with pytest.raises(ModelFormatError, match="not a finite number") as caught:
        session.run(IDS, ONES)
    assert dict(caught.value.facts)["file"].name == "model.onnx"
    session.run(np.array([[5, 9, 3]]), ONES)


def test_a_network_without_the_head(tiny: ModuleType, tmp_path: Path) -> None:
    table = tiny.square({})
    data = tiny.graph("tilde", table, output="last_hidden_state")
    folder = opened(tiny, tmp_path / "a", networks={"float32": data})
    with pytest.raises(ModelFormatError, match="has no output logits") as caught:
        OnnxSession(folder).load()
    assert dict(caught.value.facts)["outputs"] == "last_hidden_state"


def test_a_network_with_other_inputs(tiny: ModuleType, tmp_path: Path) -> None:
    data = tiny.graph("tilde", tiny.square({}), attention_mask="mask")
    with pytest.raises(ModelFormatError, match="inputs of the network"):
        OnnxSession(opened(tiny, tmp_path / "a", networks={"float32": data})).load()


def test_a_network_with_another_vocabulary(tiny: ModuleType, tmp_path: Path) -> None:
    data = tiny.graph("tilde", tiny.square({}, terms=20))
    with pytest.raises(ModelFormatError, match="different vocabularies") as caught:
        OnnxSession(opened(tiny, tmp_path / "a", networks={"float32": data})).load()
    assert dict(caught.value.facts)["terms of the network"] == 20


def test_vectors_of_other_dimensions_or_not_finite(tiny: ModuleType, tmp_path: Path) -> None:
    table = np.zeros((16, 2), dtype=np.float32)
    table[tiny.SORT] = (3, 4)
    table[tiny.MERGE] = (1, np.nan)
    query = np.ones((16, 2), dtype=np.float32)
    session = OnnxSession(EncoderFolder.open(tiny.lookup_folder(tmp_path / "a", table=table, query=query)))
    np.testing.assert_allclose(session.run(np.array([[5, tiny.SORT, 3]]), ONES), [[0.6, 0.8]], rtol=1e-6)
    with pytest.raises(ModelFormatError, match="not a finite number") as caught:
        session.run(np.array([[5, tiny.MERGE, 3]]), ONES)
    assert "dimension" in dict(caught.value.facts)
    folder = EncoderFolder.open(tiny.lookup_folder(tmp_path / "b", table=table, query=np.ones((16, 3))))
    with pytest.raises(ModelFormatError, match="different numbers of dimensions") as caught:
        OnnxSession(folder).load()
    assert dict(caught.value.facts)["dimensions of the network"] == 2


def test_an_output_of_another_shape(tiny: ModuleType, tmp_path: Path) -> None:
    data = tiny.graph("splade-doc", tiny.square({}))  # its output has the name, but a weight for each term
    folder = opened(tiny, tmp_path / "a", "tildev2", np.zeros(16), networks={"float32": data})
    with pytest.raises(ModelFormatError, match="wrong shape") as caught:
        OnnxSession(folder).run(IDS, ONES)
    assert dict(caught.value.facts)["expected"] == "float32 of shape (1, 3)"
    assert dict(caught.value.facts)["seen"] == "float32 of shape (1, 16)"


def test_invalid_onnx_files(tiny: ModuleType, tmp_path: Path) -> None:
    for number, (data, said) in enumerate(
        {b"not a network": "not a valid ONNX file", b"\x08\x08": "cannot load the network"}.items()
    ):
        folder = opened(tiny, tmp_path / str(number), networks={"float32": data})
        with pytest.raises(ModelFormatError, match=said):
            OnnxSession(folder).load()


def test_networks_with_external_data(tiny: ModuleType, tmp_path: Path) -> None:
    model = onnx.load_from_string(tiny.graph("tilde", tiny.square({})))
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="rest", size_threshold=0)
    data = (tmp_path / "model.onnx").read_bytes()
    folder = opened(tiny, tmp_path / "a", networks={"float32": data})
    (tmp_path / "rest").rename(tmp_path / "a" / "rest")
    with pytest.raises(ModelFormatError, match="other files") as caught:
        OnnxSession(folder).load()
    assert dict(caught.value.facts)["file"] == tmp_path / "a" / "model.onnx"


def test_a_network_that_fails_while_it_runs(tiny: ModuleType, tmp_path: Path) -> None:
    folder = opened(tiny, tmp_path / "a")
    with pytest.raises(ModelFormatError, match="cannot be run"):
        OnnxSession(folder).run(np.array([[5, 99, 3]]), ONES)


def test_a_file_that_was_truncated_changed_or_removed(tiny: ModuleType, tmp_path: Path) -> None:
    folder = opened(tiny, tmp_path / "a")
    path = tmp_path / "a" / "model.onnx"
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(CorruptModelError, match="damaged") as caught:
        OnnxSession(folder).load()
    assert dict(caught.value.facts) == {
        "file": path,
        "expected": f"{len(data)} bytes",
        "seen": f"{len(data) - 1} bytes",
    }
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CorruptModelError, match="damaged") as changed:
        OnnxSession(folder).load()
    assert dict(changed.value.facts)["file"] == path
    path.unlink()
    with pytest.raises(MissingFileError):
        OnnxSession(folder).run(IDS, ONES)


def test_onnxruntime_is_not_installed(tilde: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match="onnxruntime") as caught:
        OnnxSession(EncoderFolder.open(tilde)).load()
    assert "pip install onnxruntime" in caught.value.fixes_worded()
