"""Precomputed rows and the encoder that uses them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from termwise.encode import (
    PrecomputedEncoder,
    PrecomputedRows,
    open_document_encoder,
    open_precomputed_encoder,
)
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.precomputed_rows import row_key
from termwise.errors import (
    CorruptModelError,
    InferenceRequiredError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.models import Tilde
from termwise.weights import TermWeights

TEXTS = ["merge", "sort list", "", "cat dog", "merge"]


@pytest.fixture
def model(tilde: Path) -> Tilde:
    return Tilde(encoder=str(tilde))


@pytest.fixture
def file(model: Tilde, tmp_path: Path) -> Path:
    path = tmp_path / "rows.npz"
    PrecomputedRows.of(TEXTS, open_document_encoder(model)).write(path)
    return path


def test_quantisation_error_is_at_most_half_a_unit(model: Tilde, file: Path) -> None:
    rows = PrecomputedRows.open(file)
    assert len(rows) == 4
    assert (rows.precision, rows.content.terms.dtype) == ("float32", np.uint16)
    true = open_document_encoder(model).encode_documents(TEXTS)
    known = rows.rows(rows.positions(TEXTS))
    assert known.indptr.tolist() == true.indptr.tolist()
    assert known.terms.tolist() == true.terms.tolist()
    assert np.abs(known.weights - true.weights).max() <= rows.content.scale / 2 * 1.000001
    assert known.weights.min() > 0
    assert rows.content.scale == pytest.approx(true.weights.max() / 255)


def test_equal_rows_give_equal_bytes(model: Tilde, file: Path, tmp_path: Path) -> None:
    PrecomputedRows.of(TEXTS[::-1], open_document_encoder(model)).write(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()
    PrecomputedRows.open(file).write(tmp_path / "copy.npz")
    assert (tmp_path / "copy.npz").read_bytes() == file.read_bytes()


def test_precomputed_rows_need_no_network(model: Tilde, tilde: Path, file: Path) -> None:
    (tilde / "model.onnx").unlink()
    encoder = open_precomputed_encoder(model, file)
    assert isinstance(encoder, DocumentEncoder)
    rows = encoder.encode_documents(["", "merge", "cat dog", "merge"])
    assert [len(terms) for terms, _ in rows] == [0, 5, 2, 5]
    assert encoder.description["remembered"]["rows"] == 4
    assert encoder.description["network"]["precision"] == "float32"
    assert encoder.floors is not None
    assert encoder.analyzer.tokens("the merge") == ["merge"]
    assert (encoder.only_text_terms, encoder.gives_log_likelihoods, encoder.block) == (False, False, 1024)
    assert len(encoder.encode_documents([])) == 0


def test_texts_without_a_row_are_refused_or_encoded(model: Tilde, file: Path) -> None:
    texts = ["list", "merge", "sort", "", "sort list", "dog"]
    refusing = open_precomputed_encoder(model, file)
    assert refusing.missing(texts) == [0, 2, 5]
    with pytest.raises(InferenceRequiredError, match="3 of 6 texts") as caught:
        refusing.encode_documents(texts)
    assert caught.value.exit_code == 2
    assert dict(caught.value.facts)["first text"] == "'list'"
    making = open_precomputed_encoder(model, file, missing="encode")
    rows = making.encode_documents(texts)
    true = open_document_encoder(model).encode_documents(texts)
    assert rows.terms.tolist() == true.terms.tolist()
    assert rows.indptr.tolist() == true.indptr.tolist()
    assert [rows.row(i)[1].tolist() == true.row(i)[1].tolist() for i in (0, 2, 5)] == [True] * 3
    known = PrecomputedRows.open(file)
    assert rows.row(1)[1].tolist() == known.rows(known.positions(["merge"])).weights.tolist()


def test_rows_of_another_encoder_or_of_other_settings(
    tiny: ModuleType, model: Tilde, file: Path, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyMismatchError, match="another encoder or to other settings") as caught:
        open_precomputed_encoder(Tilde(encoder=model.encoder, keep=3), file)
    facts = dict(caught.value.facts)
    assert "keep 3" in facts["its settings"]
    assert "{" not in facts["its settings"]
    assert max(map(len, facts["rows of"].split())) == len("sha256:") + 12
    other = tiny.make_folder(tmp_path / "other", "tilde", tiny.square({}), floors=[-3.0] * 16)
    with pytest.raises(VocabularyMismatchError):
        open_precomputed_encoder(Tilde(encoder=str(other)), file)
    terms = np.load(file)["terms"].copy()
    terms[-1] = 16
    with pytest.raises(VocabularyMismatchError, match="not in the vocabulary of the encoder"):
        open_precomputed_encoder(model, saved(tmp_path / "odd.npz", file, terms=terms))
    with pytest.raises(UnknownNameError):
        open_precomputed_encoder(model, file, missing="skip")  # type: ignore[arg-type]


def test_the_precision_is_that_of_the_rows(tiny: ModuleType, tmp_path: Path) -> None:
    tables = {"float32": tiny.square({}, otherwise=1.0), "int8": tiny.square({}, otherwise=2.0)}
    folder = tiny.make_folder(tmp_path / "both", "tilde", tables, floors=[-3.0] * 16)
    model = Tilde(encoder=str(folder))
    for precision in ("float32", "int8"):
        path = tmp_path / f"{precision}.npz"
        PrecomputedRows.of(["cat"], open_document_encoder(model, precision=precision)).write(path)  # type: ignore[arg-type]
        assert open_precomputed_encoder(model, path).description["network"]["precision"] == precision


def test_the_fingerprint_depends_on_the_rows(model: Tilde, file: Path, tmp_path: Path) -> None:
    plain = open_document_encoder(model)
    PrecomputedRows.of(["merge"], plain).write(tmp_path / "fewer.npz")
    made = [open_precomputed_encoder(model, path).fingerprint for path in (file, tmp_path / "fewer.npz")]
    assert len({plain.fingerprint, *made}) == 3


def test_weights_that_are_not_above_0(tilde: Path) -> None:
    exact = open_document_encoder(Tilde(encoder=str(tilde), form="exact"))
    with pytest.raises(WeightError, match="above 0"):
        PrecomputedRows.of(["merge"], exact)


def test_no_rows(model: Tilde, tmp_path: Path) -> None:
    encoder = open_document_encoder(model)
    for texts in ([], [""]):
        PrecomputedRows.of(texts, encoder).write(tmp_path / "none.npz")
        rows = PrecomputedRows.open(tmp_path / "none.npz")
        assert len(rows) == len(texts)
        assert PrecomputedEncoder(rows, encoder).missing(["", "merge"]) == ([0, 1] if not texts else [1])


def test_keys() -> None:
    assert row_key("abc") == 0xBA7816BF8F01CFEA
    assert row_key("\ud800") != row_key("\ufffd")


def test_files_that_are_not_rows(model: Tilde, file: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        PrecomputedRows.open(tmp_path / "missing.npz")
    data = file.read_bytes()
    path = tmp_path / "damaged.npz"
    for place in range(0, len(data), 3):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x20]) + data[place + 1 :])
        try:
            rows = PrecomputedRows.open(path)
        except (CorruptModelError, ModelFormatError):
            continue
        # Bytes of the archive that say nothing of its contents (dates, attributes) may be any.
        kept = PrecomputedRows.open(file)
        assert rows.rows(rows.positions(TEXTS)) == kept.rows(kept.positions(TEXTS))
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(CorruptModelError):
            PrecomputedRows.open(path)


def test_special_and_oversized_files(file: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(CorruptModelError) as caught:
        PrecomputedRows.open(tmp_path / "pipe.npz")
    assert dict(caught.value.facts)["reason"] == "it is a named pipe"
    head = b"{'descr': '<u8', 'fortran_order': False, 'shape': (1000000000000000,), }\n"
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(tmp_path / "huge.npz", "w") as made:
        for name in source.namelist():
            claimed = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
            made.writestr(name, claimed if name == "keys.npy" else source.read(name))
    with pytest.raises(CorruptModelError):
        PrecomputedRows.open(tmp_path / "huge.npz")
    with pytest.raises(ParameterError, match="file of rows"):
        PrecomputedRows.open(None)  # type: ignore[arg-type]


def test_texts_and_encoders_of_the_wrong_type(model: Tilde) -> None:
    encoder = open_document_encoder(model)
    with pytest.raises(ParameterError, match="texts"):
        PrecomputedRows.of("merge", encoder)
    with pytest.raises(ParameterError, match="not an encoder"):
        PrecomputedRows.of(["merge"], model)  # type: ignore[arg-type]


def saved(path: Path, file: Path, **changes: Any) -> Path:
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez_compressed(path, **{**arrays, **changes})
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"keys": np.zeros(4, dtype=np.uint64)},
        {"keys": np.arange(3, dtype=np.uint64)},
        {"indptr": np.array([0, 9, 9, 9, 9])},
        {"indptr": np.array([0, 5, 3, 9, 12])},
        {"indptr": np.array([-1, 5, 5, 9, 12])},
        {"terms": np.zeros(12, dtype=np.uint16)},
        {"terms": np.zeros(12, dtype=np.int64)},
        {"terms": np.zeros(2, dtype=np.uint16)},
        {"impacts": np.zeros(12, dtype=np.uint8)},
        {"impacts": np.ones(2, dtype=np.uint8)},
        {"scale": np.float64(0)},
        {"scale": np.float64("nan")},
        {"scale": np.zeros(3)},
        {"about": np.frombuffer(b"{}", dtype=np.uint8)},
        {"about": np.frombuffer(b'{"format": "termwise-rows", "version": 1}', dtype=np.uint8)},
        {"further": np.zeros(3)},
        {"keys": np.array([{}], dtype=object)},
    ],
)
def test_invalid_arrays(file: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptModelError):
        PrecomputedRows.open(saved(tmp_path / "odd.npz", file, **changes))


def test_files_of_later_versions(file: Path, tmp_path: Path) -> None:
    about = np.frombuffer(b'{"format": "termwise-rows", "version": 2}', dtype=np.uint8)
    with pytest.raises(ModelFormatError, match="later version"):
        PrecomputedRows.open(saved(tmp_path / "later.npz", file, about=about))


def test_mixed_and_repeated_texts(model: Tilde, file: Path) -> None:
    encoder = open_precomputed_encoder(model, file, missing="encode")
    texts = [TEXTS[number % 5] if number % 3 else f"cat {number}" for number in range(40)]
    rows = encoder.encode_documents(texts)
    alone = [encoder.encode_documents([text]) for text in texts]
    assert rows == TermWeights.concatenate(alone)
