"""Block files: their bytes, and invalid files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from tests.unit.encode.counting import Counting, digest, path_of, read, texts

from termwise.encode.block_file import block_files, cut_blocks
from termwise.errors import MissingFileError
from termwise.records import Document


def test_the_bytes_of_a_block(tmp_path: Path) -> None:
    read(tmp_path, Counting(), documents=[Document("a", "xy")])
    (path,) = block_files(tmp_path)
    body = hashlib.sha256(f"sha256:a\n{Counting.vocabulary.id}".encode()).digest()
    body += np.array([1, 2], dtype="<u8").tobytes()
    body += hashlib.sha256(b"xy").digest()[:16]
    body += np.array([0, 2], dtype="<i8").tobytes()
    body += np.array([0, 1], dtype="<i4").tobytes() + np.array([2, 0.1], dtype="<f4").tobytes()
    assert path.read_bytes() == b"TWROWS02" + hashlib.sha256(body).digest() + body
    assert path.name == f"block-{hashlib.sha256(digest('xy')).hexdigest()[:16]}.rows"


def test_blocks_of_another_encoder_are_not_used(tmp_path: Path) -> None:
    read(tmp_path / "a", Counting())
    read(tmp_path / "b", Counting("sha256:b"))
    path = path_of(tmp_path / "a", *texts(3, 4, 5))
    good = path.read_bytes()
    path.write_bytes((tmp_path / "b" / path.name).read_bytes())
    encoder = Counting()
    read(tmp_path / "a", encoder)
    assert encoder.seen == texts(3, 4, 5)
    assert path.read_bytes() == good


def test_damaged_blocks_are_encoded_again(tmp_path: Path) -> None:
    made = [rows for _, rows in read(tmp_path, Counting())]
    path = path_of(tmp_path, *texts(3, 4, 5))
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
    path = path_of(tmp_path, *texts(3, 4, 5))
    body = path.read_bytes()[40:]
    first = 32 + 2 * 8 + 3 * 16 + 4 * 8
    terms = np.frombuffer(body[first : first + 24], dtype="<i4")
    assert terms.tolist() == [0, 1] * 3
    odd_terms = ([1, 0] * 3, [0, -1] * 3, [0, 1, 0, 1, 0, 7])
    forgeries = [body[:first] + np.array(odd, "<i4").tobytes() + body[first + 24 :] for odd in odd_terms]
    forgeries += [body[:32] + np.array([n, 6], "<u8").tobytes() + body[48:] for n in (2, 4, 2**61, 2**63)]
    forgeries.append(body[:-4])
    for forged in forgeries:
        path.write_bytes(b"TWROWS02" + hashlib.sha256(forged).digest() + forged)
        encoder = Counting()
        read(tmp_path, encoder)
        assert encoder.seen == texts(3, 4, 5)


def test_blocks_end_at_documents_or_characters() -> None:
    lengths = [10, 250, 150, 1, 0, 2, 3, 450, 4]
    documents = [Document(str(number), "x" * length) for number, length in enumerate(lengths)]
    blocks = list(cut_blocks(documents, 3))  # 3 * 128 characters
    assert [[int(document.doc_id) for document in block] for block in blocks] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7],
        [8],
    ]
    assert list(cut_blocks([], 3)) == []


def test_special_files_are_not_read(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    path = path_of(tmp_path, *texts(3, 4, 5))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(MissingFileError) as caught:
        read(tmp_path, Counting())
    assert dict(caught.value.facts)["reason"] == "it is a named pipe"
    path.unlink()
    path.mkdir()
    with pytest.raises(MissingFileError):
        read(tmp_path, Counting())
