"""Encoder folders with changed or lost bytes are refused with the name of the file."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from termwise.encode import open_document_encoder
from termwise.encode.encoder_folder import EncoderFolder
from termwise.errors import CorruptModelError, DataError, MissingFileError, ModelFormatError
from termwise.models import Tilde

TINY = Path(__file__).resolve().parents[1] / "unit" / "encode" / "tiny.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a small TILDE encoder in both precisions."""
    spec = importlib.util.spec_from_file_location("tiny", TINY)
    assert spec is not None
    assert spec.loader is not None
    tiny = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tiny)
    tables = {"float32": tiny.square({}, otherwise=1.0), "int8": tiny.square({}, otherwise=2.0)}
    made: Path = tiny.make_folder(tmp_path / "tilde", "tilde", tables, floors=[-3.0] * 16)
    return made


def use(folder: Path, precision: str) -> None:
    model = Tilde(encoder=str(folder))
    open_document_encoder(model, precision=precision).encode_documents(["merge"])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["model.onnx", "model.int8.onnx", "floors.npy"])
def test_a_changed_or_truncated_file_is_named(folder: Path, name: str) -> None:
    precision = "int8" if "int8" in name else "float32"
    use(folder, precision)
    path = folder / name
    data = path.read_bytes()
    for place in {*range(0, len(data), 41), len(data) - 1}:
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x04]) + data[place + 1 :])
        with pytest.raises(CorruptModelError, match="of the encoder is damaged") as caught:
            use(folder, precision)
        assert dict(caught.value.facts)["file"] == path
        path.write_bytes(data[:place])
        with pytest.raises(CorruptModelError, match="of the encoder is damaged") as caught:
            use(folder, precision)
        assert dict(caught.value.facts)["seen"] == f"{place} bytes"
    path.write_bytes(data + b"\0")
    with pytest.raises(CorruptModelError):
        use(folder, precision)
    path.unlink()
    with pytest.raises(MissingFileError) as missing:
        use(folder, precision)
    assert dict(missing.value.facts)["file"] == path
    path.mkdir()
    with pytest.raises(DataError):
        use(folder, precision)


def test_the_other_network_may_be_damaged(folder: Path) -> None:
    (folder / "model.int8.onnx").write_bytes(b"")
    use(folder, "float32")


def test_a_changed_tokenizer(folder: Path) -> None:
    path = folder / "vocab.txt"
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x01]) + data[place + 1 :])
        with pytest.raises(CorruptModelError, match="analyzer of the encoder was changed"):
            EncoderFolder.open(folder)


def test_a_truncated_manifest(folder: Path) -> None:
    path = folder / "encoder.json"
    data = path.read_bytes()
    for length in range(len(data) - 2):
        path.write_bytes(data[:length])
        with pytest.raises(CorruptModelError) as caught:
            EncoderFolder.open(folder)
        assert dict(caught.value.facts)["file"] == path


def test_a_manifest_with_any_bit_flipped(folder: Path) -> None:
    path = folder / "encoder.json"
    data = path.read_bytes()
    for place in range(len(data) - 1):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x02]) + data[place + 1 :])
        with pytest.raises(ModelFormatError):
            EncoderFolder.open(folder)


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[" * 100_000, b"\xff", b'{"format": "termwise-encoder"}', b"1" * 5_000, b'{"a": NaN}'],
)
def test_manifests_of_anything(folder: Path, content: bytes) -> None:
    (folder / "encoder.json").write_bytes(content)
    with pytest.raises(ModelFormatError):
        EncoderFolder.open(folder)


def test_a_manifest_that_is_too_large(folder: Path) -> None:
    path = folder / "encoder.json"
    body = json.loads(path.read_text())
    path.write_text(json.dumps({**body, "trained": {"log": "x" * (1 << 24)}}))
    with pytest.raises(CorruptModelError, match="damaged"):
        EncoderFolder.open(folder)
