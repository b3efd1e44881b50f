"""Lookup encoder: vectors by hand, windows, blocks and shipped rows."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.unit.encode.counting import digest, path_of

from termwise.encode import (
    EncoderFolder,
    encoded_blocks,
    open_document_encoder,
)
from termwise.encode.block_file import block_files, text_digests
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.lookup import LookupDocumentEncoder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.shipped_rows import open_shipped_encoder, write_rows
from termwise.encode.stored_rows import StoredRows
from termwise.errors import CorruptModelError, ModelFormatError, ParameterError, UnknownNameError
from termwise.models import Lookup
from termwise.records import Document
from termwise.vectors import DocumentVectors

TEXTS = ["merge", "", "list", "sort sort cat", "how the"]
DOCUMENTS = [Document(f"d{number}", text) for number, text in enumerate(["merge", "", "list", "cat", "dog"])]


@pytest.fixture
def folder(tiny: ModuleType, tmp_path: Path) -> Path:
    table = np.zeros((16, 2), dtype=np.float32)
    table[[tiny.MERGE, tiny.SORT]] = (2, 0)
    table[[tiny.CAT, tiny.DOG]] = (0, 2)
    table[tiny.LIST] = (3, 4)
    table[tiny.SEP] = (0.001, 0)  # a text of other words has a direction too
    return tiny.lookup_folder(tmp_path / "lookup", table=table)


def encoder(folder: Path, **settings: Any) -> LookupDocumentEncoder:
    return LookupDocumentEncoder(
        Lookup(**{"overlap": 2, **settings}), OnnxSession(EncoderFolder.open(folder))
    )


def same(first: DocumentVectors, second: DocumentVectors) -> bool:
    names = ("indptr", "rows", "scales")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


def test_by_hand(folder: Path) -> None:
    made = encoder(folder)
    assert isinstance(made, DocumentEncoder)
    assert (made.only_text_terms, made.gives_log_likelihoods, made.floors) == (False, False, None)
    assert (made.idf_power, made.query_weights) == (0, None)
    vectors = made.encode_documents(TEXTS)
    assert vectors.indptr.tolist() == [0, 1, 1, 2, 3, 4]
    expected = [[1, 0], [0.6, 0.8], np.array([2, 1]) / np.sqrt(5), [1, 0]]
    np.testing.assert_allclose(vectors.matrix(), expected, atol=0.004)
    assert vectors.rows[1].tolist() == [95, 127]
    assert len(made.encode_documents([])) == 0


def test_windows_keep_their_order(folder: Path, tiny: ModuleType) -> None:
    text = "merge merge merge cat cat cat list list list merge"
    vectors = encoder(folder, length=5, overlap=0).encode_documents(["dog", text, "sort"])
    assert vectors.indptr.tolist() == [0, 1, 5, 6]
    expected = [[0, 1], [1, 0], [0, 1], [0.6, 0.8], [8, 8], [1, 0]]  # the last window moves back
    expected[4] = (np.array([8, 8]) / np.sqrt(128)).tolist()
    np.testing.assert_allclose(vectors.matrix(), expected, atol=0.004)


def test_texts_alone_and_together(folder: Path) -> None:
    made = encoder(folder)
    alone = [made.encode_documents([text]) for text in TEXTS]
    assert same(made.encode_documents(TEXTS), DocumentVectors.concatenate(alone))


def test_vectors_without_a_direction(tiny: ModuleType, tmp_path: Path) -> None:
    made = encoder(tiny.lookup_folder(tmp_path / "a"))
    with pytest.raises(ModelFormatError, match="without a direction"):
        made.encode_documents(["merge", "how"])


def test_settings_and_kind(folder: Path, tilde: Path) -> None:
    assert encoder(folder).fingerprint == encoder(folder, form="terms").fingerprint
    assert encoder(folder).fingerprint != encoder(folder, length=5).fingerprint
    assert encoder(folder).description["kind"] == "lookup"
    with pytest.raises(ModelFormatError, match="not lookup"):
        encoder(tilde)
    with pytest.raises(ParameterError, match="longer than"):
        encoder(folder, length=17)


def test_the_cleaning_of_queries_does_not_change_the_vectors_of_documents(
    folder: Path, tiny: ModuleType, tmp_path: Path
) -> None:
    table = np.ones((16, 2), dtype=np.float32)
    kept = tiny.lookup_folder(tmp_path / "kept", table=table, cleaning="none")
    cleaned = tiny.lookup_folder(tmp_path / "cleaned", table=table)
    assert EncoderFolder.open(kept).id != EncoderFolder.open(cleaned).id
    assert encoder(kept).fingerprint == encoder(cleaned).fingerprint


def test_the_model() -> None:
    assert Lookup().keep is None
    assert Lookup(form="terms").keep == 1024
    with pytest.raises(ParameterError, match="keeps no term weights"):
        Lookup(keep=5)
    with pytest.raises(UnknownNameError):
        Lookup(form="dense")  # type: ignore[arg-type]


class Vectors:
    """Stands in for an encoder of vectors: one window for each character of a text."""

    block = 2
    fingerprint = "sha256:v"
    description: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, folder: EncoderFolder) -> None:
        self.vocabulary = folder.vocabulary
        self.seen: list[str] = []

    def encode_documents(self, texts: Any, *, advance: Any = None) -> DocumentVectors:
        self.seen += texts
        indptr = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
        numbers = np.arange(indptr[-1] * 3, dtype=np.float32).reshape(-1, 3) - 2
        return DocumentVectors.of(indptr, numbers)


def test_the_bytes_of_a_block(folder: Path, tmp_path: Path) -> None:
    made = Vectors(EncoderFolder.open(folder))
    list(encoded_blocks([Document("a", "xy"), Document("b", "")], made, tmp_path / "w"))
    data = path_of(tmp_path / "w", "xy", "").read_bytes()
    body = hashlib.sha256(f"sha256:v\n{made.vocabulary.id}".encode()).digest()
    body += np.array([2, 2, 3], dtype="<i8").tobytes() + digest("xy") + digest("")
    body += np.array([0, 2, 2], dtype="<i8").tobytes()
    body += np.array([-127, -64, 0, 42, 85, 127], dtype="i1").tobytes()  # (-2, -1, 0) and (1, 2, 3)
    body += (np.array([2, 3], dtype="<f4") / np.float32(127)).tobytes()
    assert data == b"TWVECS02" + hashlib.sha256(body).digest() + body


def test_blocks_are_read_again_or_encoded_again(folder: Path, tmp_path: Path) -> None:
    opened = EncoderFolder.open(folder)
    first = Vectors(opened)
    made = [rows for _, rows in encoded_blocks(DOCUMENTS, first, tmp_path / "w")]
    again = Vectors(opened)
    read_again = [rows for _, rows in encoded_blocks(DOCUMENTS, again, tmp_path / "w")]
    assert all(same(*pair) for pair in zip(made, read_again, strict=True))
    assert again.seen == []
    path = path_of(tmp_path / "w", "list", "cat")
    data = path.read_bytes()
    damaged = [
        data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :] for place in range(0, len(data), 3)
    ]
    digests = text_digests(document.text for document in DOCUMENTS)
    for other in (*damaged, data[:-1], data[:100], b"", data + b"x"):
        path.write_bytes(other)
        found = StoredRows(tmp_path / "w", again).find(digests)
        assert (found >= 0).tolist() == [True, True, False, False, True]
    list(encoded_blocks(DOCUMENTS, again, tmp_path / "w"))
    assert again.seen == ["list", "cat"]
    assert path.read_bytes() == data


def test_blocks_with_invalid_vectors_are_encoded_again(folder: Path, tmp_path: Path) -> None:
    opened = EncoderFolder.open(folder)
    list(encoded_blocks(DOCUMENTS, Vectors(opened), tmp_path / "w"))
    path = path_of(tmp_path / "w", "list", "cat")
    body = path.read_bytes()[40:]
    for odd in (
        b"\x00\x00\x80\x7f",
        b"\x00\x00\x80\xbf",
        b"\x00\x00\xc0\x7f",
    ):  # infinity, -1 and NaN as a scale
        forged = body[:-4] + odd
        path.write_bytes(b"TWVECS02" + hashlib.sha256(forged).digest() + forged)
        made = Vectors(opened)
        list(encoded_blocks(DOCUMENTS, made, tmp_path / "w"))
        assert made.seen == ["list", "cat"]


def test_both_forms_share_a_work_folder(folder: Path, tmp_path: Path) -> None:
    made = encoder(folder)
    whole = made.encode_documents([document.text for document in DOCUMENTS])
    list(encoded_blocks(DOCUMENTS, made, tmp_path / "w"))
    (folder / "model.onnx").unlink()
    again = [part for _, part in encoded_blocks(DOCUMENTS, encoder(folder, form="terms"), tmp_path / "w")]
    assert same(DocumentVectors.concatenate(again), whole)


def test_only_new_texts_are_encoded(folder: Path, tmp_path: Path) -> None:
    made = encoder(folder)
    list(encoded_blocks([DOCUMENTS[3], DOCUMENTS[1]], made, tmp_path / "w"))
    ((_, rows),) = encoded_blocks(DOCUMENTS, made, tmp_path / "w")
    assert same(rows, made.encode_documents([document.text for document in DOCUMENTS]))
    assert len(block_files(tmp_path / "w")) == 2


def test_shipped_vectors(folder: Path, tmp_path: Path) -> None:
    model = Lookup(encoder=str(folder))
    made = open_document_encoder(model)
    write_rows(tmp_path / "rows.npz", TEXTS, made, made.encode_documents(TEXTS))
    known = open_shipped_encoder(model, TEXTS, tmp_path / "rows.npz")
    assert isinstance(known, DocumentEncoder)
    assert known.term_vectors is not None
    assert known.description["remembered"] == {"rows": len(TEXTS)}
    for texts in (TEXTS, ["dog", *TEXTS, "merge list"]):
        assert same(known.encode_documents(texts), made.encode_documents(texts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": np.full((4, 2), -128, dtype=np.int8)},
        {"rows": np.zeros(8, dtype=np.int8)},
        {"scales": np.zeros(4, dtype=np.float32)},
        {"indptr": np.array([0, 1, 1, 2, 3, 5])},
        {"terms": np.zeros(4, dtype=np.uint16)},
    ],
)
def test_damaged_shipped_vectors(folder: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    model = Lookup(encoder=str(folder))
    made = open_document_encoder(model)
    write_rows(tmp_path / "rows.npz", TEXTS, made, made.encode_documents(TEXTS))
    with np.load(tmp_path / "rows.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(tmp_path / "odd.npz", **{**arrays, **changes})
    with pytest.raises(CorruptModelError):
        open_shipped_encoder(model, TEXTS, tmp_path / "odd.npz")
