"""Block files: their bytes, and invalid files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from tests.unit.encode.counting import DOCUMENTS, Counting, read, texts

from termwise.encode.block_file import count_blocks, cut_blocks, holds_block
from termwise.errors import ForeignFolderError, MissingFileError
from termwise.records import Document


def test_the_bytes_of_a_block(tmp_path: Path) -> None:
    read(tmp_path, Counting(), documents=[Document("a", "xy")])
    data = (tmp_path / "block-000000.rows").read_bytes()
    hashed = b"".join(len(one).to_bytes(8, "little") + one for one in (b"a", b"xy"))
    body = hashlib.sha256(f"sha256:a\n{Counting.vocabulary.id}".encode()).digest()
    body += hashlib.sha256(hashed).digest()
    body += np.array([1, 2, 0, 2], dtype="<i8").tobytes()
    body += np.array([0, 1], dtype="<i4").tobytes() + np.array([2, 0.1], dtype="<f4").tobytes()
    assert data == b"TWROWS01" + hashlib.sha256(body).digest() + body


def test_identifier_and_text_are_not_confused(tmp_path: Path) -> None:
    read(tmp_path, Counting(), documents=[Document("ab", "c")])
    with pytest.raises(ForeignFolderError, match="other documents"):
        read(tmp_path, Counting(), documents=[Document("a", "bc")])


def test_blocks_of_another_encoder_are_not_used(tmp_path: Path) -> None:
    read(tmp_path / "a", Counting())
    read(tmp_path / "b", Counting("sha256:b"))
    name = "block-000001.rows"
    (tmp_path / "a" / name).write_bytes((tmp_path / "b" / name).read_bytes())
    keys = [key for key, _ in cut_blocks(DOCUMENTS, 3)]
    assert [holds_block(tmp_path / "a", key, Counting()) for key in keys] == [True, False, True]
    encoder = Counting()
    read(tmp_path / "a", encoder)
    assert encoder.seen == texts(3, 4, 5)
    assert all(holds_block(tmp_path / "a", key, Counting()) for key in keys)


def test_undamaged_blocks_are_counted(tmp_path: Path) -> None:
    assert count_blocks(tmp_path / "none", Counting()) == 0
    read(tmp_path / "a", Counting())
    read(tmp_path / "b", Counting("sha256:b"))
    assert count_blocks(tmp_path / "a", Counting()) == 3
    assert count_blocks(tmp_path / "a", Counting("sha256:b")) == 0
    path = tmp_path / "a" / "block-000001.rows"
    data = path.read_bytes()
    changed = data[:-1] + bytes([data[-1] ^ 1])
    for other in (changed, data[:-1], data[:50], b"", data + b"x", (tmp_path / "b" / path.name).read_bytes()):
        path.write_bytes(other)
        assert count_blocks(tmp_path / "a", Counting()) == 2
    path.unlink()
    path.mkdir()
    assert count_blocks(tmp_path / "a", Counting()) == 2


def test_damaged_blocks_are_encoded_again(tmp_path: Path) -> None:
    made = [rows for _, rows in read(tmp_path, Counting())]
    path = tmp_path / "block-000001.rows"
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        encoder = Counting()
        assert [rows for _, rows in read(tmp_path, encoder)] == made
        assert encoder.seen == texts(3, 4, 5)
        assert path.read_bytes() == data
    for length in range(0, len(data), 5):
        path.write_bytes(data[:length])
        encoder = Counting()
        read(tmp_path, encoder)
        assert encoder.seen == texts(3, 4, 5)
    path.write_bytes(data + b"x")
    encoder = Counting()
    read(tmp_path, encoder)
    assert encoder.seen == texts(3, 4, 5)


def test_blocks_with_invalid_rows_are_encoded_again(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    path = tmp_path / "block-000001.rows"
    body = path.read_bytes()[40:]
    first = 32 + 48 + 32
    terms = np.frombuffer(body[first : first + 24], dtype="<i4")
    assert terms.tolist() == [0, 1] * 3
    for odd in (np.array([1, 0] * 3), np.array([0, -1] * 3), np.array([0, 1, 0, 1, 0, 7])):
        forged = body[:first] + odd.astype("<i4").tobytes() + body[first + 24 :]
        path.write_bytes(b"TWROWS01" + hashlib.sha256(forged).digest() + forged)
        encoder = Counting()
        read(tmp_path, encoder)
        assert encoder.seen == texts(3, 4, 5)


def test_blocks_end_at_documents_or_characters() -> None:
    lengths = [10, 250, 150, 1, 0, 2, 3, 450, 4]
    documents = [Document(str(number), "x" * length) for number, length in enumerate(lengths)]
    blocks = list(cut_blocks(documents, 3))  # 3 * 128 characters
    assert [[int(document.doc_id) for document in block] for _, block in blocks] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7],
        [8],
    ]
    assert [(key.number, key.documents) for key, _ in blocks] == [(0, 3), (1, 3), (2, 2), (3, 1)]
    assert list(cut_blocks([], 3)) == []


def test_special_files_are_not_read(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    path = tmp_path / "block-000001.rows"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(MissingFileError) as caught:
        read(tmp_path, Counting())
    assert dict(caught.value.facts)["reason"] == "it is a named pipe"
    path.unlink()
    path.mkdir()
    with pytest.raises(MissingFileError):
        read(tmp_path, Counting())
