"""Rows of the shipped collection, and the encoder that uses them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from termwise.collection import open_collection
from termwise.encode import EncoderFolder, open_document_encoder, shipped_encoders
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.shipped_rows import open_shipped_encoder, shipped_rows, write_rows
from termwise.errors import CorruptModelError, WeightError
from termwise.models import Tilde, make_model
from termwise.weights import TermWeights

TEXTS = ["merge", "sort list", "", "cat dog", "merge"]


@pytest.fixture
def model(tilde: Path) -> Tilde:
    return Tilde(encoder=str(tilde))


@pytest.fixture
def file(model: Tilde, tmp_path: Path) -> Path:
    return written(tmp_path / "rows.npz", model)


def written(path: Path, model: Tilde, texts: list[str] = TEXTS) -> Path:
    encoder = open_document_encoder(model)
    write_rows(path, texts, encoder, encoder.encode_documents(texts))
    return path


def reads(encoder: DocumentEncoder) -> bool:
    """Return whether an encoder reads rows from a file."""
    return "remembered" in encoder.description


@pytest.mark.parametrize("name", shipped_encoders())
def test_the_shipped_rows_are_those_of_the_shipped_encoders_and_texts(name: str) -> None:
    texts = [document.text for document in open_collection("python:stdlib").documents()]
    rows = shipped_rows(name)
    assert rows is not None
    model = make_model(EncoderFolder.open(name).manifest.kind, {"encoder": name})
    encoder = open_shipped_encoder(model, texts, rows)  # type: ignore[arg-type]
    assert reads(encoder)
    assert encoder.description["remembered"]["rows"] == len(texts)


def test_quantisation_error_is_at_most_half_a_unit(model: Tilde, file: Path) -> None:
    true = open_document_encoder(model).encode_documents(TEXTS)
    encoder = open_shipped_encoder(model, TEXTS, file)
    scale = encoder.description["remembered"]["scale"]
    assert scale == pytest.approx(true.weights.max() / 255)
    known = encoder.encode_documents(TEXTS)
    assert known.indptr.tolist() == true.indptr.tolist()
    assert known.terms.tolist() == true.terms.tolist()
    assert np.abs(known.weights - true.weights).max() <= scale / 2 * 1.000001
    assert known.weights.min() > 0


def test_equal_rows_give_equal_bytes(model: Tilde, file: Path, tmp_path: Path) -> None:
    assert written(tmp_path / "again.npz", model).read_bytes() == file.read_bytes()


def test_rows_need_no_network(model: Tilde, tilde: Path, file: Path) -> None:
    (tilde / "model.onnx").unlink()
    encoder = open_shipped_encoder(model, TEXTS, file)
    assert isinstance(encoder, DocumentEncoder)
    rows = encoder.encode_documents(["", "merge", "cat dog", "merge"])
    assert [len(terms) for terms, _ in rows] == [0, 5, 2, 5]
    assert encoder.description["remembered"]["rows"] == 5
    assert encoder.floors is not None
    assert encoder.analyzer.tokens("the merge") == ["merge"]
    assert (encoder.only_text_terms, encoder.gives_log_likelihoods, encoder.block) == (False, False, 1024)
    assert len(encoder.encode_documents([])) == 0


def test_other_texts_are_encoded(model: Tilde, file: Path) -> None:
    encoder = open_shipped_encoder(model, TEXTS, file)
    texts = [TEXTS[number % 5] if number % 3 else f"cat {number}" for number in range(40)]
    rows = encoder.encode_documents(texts)
    assert rows == TermWeights.concatenate([encoder.encode_documents([text]) for text in texts])
    true = open_document_encoder(model).encode_documents(texts)
    assert rows.terms.tolist() == true.terms.tolist()
    assert rows.row(0)[1].tolist() == true.row(0)[1].tolist()


def test_everything_is_encoded_if_the_encoder_or_the_texts_differ(
    tiny: ModuleType, model: Tilde, file: Path, tmp_path: Path
) -> None:
    assert reads(open_shipped_encoder(model, TEXTS, file))
    for texts in (TEXTS[:-1], TEXTS[::-1], [*TEXTS[:-1], "sort"]):
        encoder = open_shipped_encoder(model, texts, file)
        assert not reads(encoder)
        assert encoder.encode_documents(texts) == open_document_encoder(model).encode_documents(texts)
    other = tiny.make_folder(tmp_path / "other", "tilde", tiny.square({}), floors=[-3.0] * 16)
    for different in (Tilde(encoder=str(other)), Tilde(encoder=model.encoder, keep=3)):
        assert not reads(open_shipped_encoder(different, TEXTS, file))
    about = np.frombuffer(b'{"format": "termwise-rows", "version": 3}', dtype=np.uint8)
    assert not reads(open_shipped_encoder(model, TEXTS, saved(tmp_path / "later.npz", file, about=about)))


def test_the_fingerprint_depends_on_the_texts(model: Tilde, file: Path, tmp_path: Path) -> None:
    fewer = open_shipped_encoder(model, ["merge"], written(tmp_path / "fewer.npz", model, ["merge"]))
    encoders = [open_document_encoder(model), open_shipped_encoder(model, TEXTS, file), fewer]
    assert len({encoder.fingerprint for encoder in encoders}) == 3


def test_weights_that_are_not_above_0(tilde: Path, tmp_path: Path) -> None:
    with pytest.raises(WeightError, match="above 0"):
        written(tmp_path / "rows.npz", Tilde(encoder=str(tilde), form="exact"))


@pytest.mark.parametrize("texts", [[], [""]])
def test_no_rows(model: Tilde, tmp_path: Path, texts: list[str]) -> None:
    encoder = open_shipped_encoder(model, texts, written(tmp_path / "none.npz", model, texts))
    assert reads(encoder)
    assert encoder.encode_documents(texts).indptr.tolist() == [0] * (len(texts) + 1)


def test_damaged_files(model: Tilde, file: Path, tmp_path: Path) -> None:
    kept = open_shipped_encoder(model, TEXTS, file).encode_documents(TEXTS)
    path = tmp_path / "damaged.npz"
    with pytest.raises(CorruptModelError):
        open_shipped_encoder(model, TEXTS, path)
    data = file.read_bytes()
    for place in range(0, len(data), 3):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x20]) + data[place + 1 :])
        try:
            encoder = open_shipped_encoder(model, TEXTS, path)
        except CorruptModelError:
            continue
        # Bytes of the archive that say nothing of its contents (dates, attributes) may be any.
        assert encoder.encode_documents(TEXTS) == kept
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(CorruptModelError):
            open_shipped_encoder(model, TEXTS, path)


def saved(path: Path, file: Path, **changes: Any) -> Path:
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez_compressed(path, **{**arrays, **changes})
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": np.array([0, 9, 9, 9, 9, 9])},
        {"indptr": np.array([0, 5, 3, 9, 12, 17])},
        {"terms": np.zeros(17, dtype=np.uint16)},
        {"terms": np.zeros(2, dtype=np.uint16)},
        {"impacts": np.ones(2, dtype=np.uint8)},
        {"scale": np.float64("nan")},
        {"scale": np.zeros(3)},
        {"about": np.frombuffer(b"{", dtype=np.uint8)},
        {"rows": np.zeros(3)},
        {"indptr": np.array([{}], dtype=object)},
    ],
)
def test_invalid_arrays(model: Tilde, file: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptModelError):
        open_shipped_encoder(model, TEXTS, saved(tmp_path / "odd.npz", file, **changes))
