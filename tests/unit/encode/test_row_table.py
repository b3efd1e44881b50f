"""Rows of encoded documents as Arrow tables and Parquet files."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.encode.block_encoding import claim
from termwise.encode.block_file import text_digests
from termwise.encode.row_table import (
    encode_table,
    encoder_identity,
    read_row_file,
    row_file_name,
    row_files,
    row_table,
    table_rows,
    write_row_file,
)
from termwise.encode.stored_rows import StoredRows
from termwise.errors import ForeignFolderError, WeightError
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

pa = pytest.importorskip("pyarrow", reason="pip install 'termwise[parquet]'")

TEXTS = ["merge lists", "", "sort"]


class Encoder:
    """Encoder whose rows are written by hand."""

    block = 2
    vocabulary = Vocabulary(["list", "merge", "sort"])

    def __init__(self, fingerprint="sha256:toy", vectors=False):
        self.fingerprint, self.vectors = fingerprint, vectors
        self.description = {"name": "toy", "settings": {"keep": 2}}

    def encode_documents(self, texts, *, advance=None):
        if self.vectors:
            numbers = np.array([[1, -127], [0, 5], [7, 0]], dtype=np.int8)
            return DocumentVectors([0, 2, 2, 3], numbers, [0.5, 0.25, 1.0])
        return TermWeights.from_rows([{0: 0.5, 1: 2.0}, {}, {2: 0.125}], self.vocabulary.id)


def table_of(encoder=None):
    return encode_table(["a", "b", "c"], TEXTS, encoder or Encoder())


def test_columns_of_term_weights():
    table = table_of()
    assert table.column_names == ["doc_id", "text_digest", "encoder", "terms", "weights"]
    assert table.column("terms").to_pylist() == [[0, 1], [], [2]]
    assert table.column("weights").to_pylist() == [[0.5, 2.0], [], [0.125]]
    assert set(table.column("encoder").to_pylist()) == {encoder_identity(Encoder())}
    assert {len(digest) for digest in table.column("text_digest").to_pylist()} == {16}


def test_columns_of_vectors():
    table = table_of(Encoder(vectors=True))
    assert table.column("vectors").to_pylist() == [[b"\x01\x81", b"\x00\x05"], [], [b"\x07\x00"]]
    assert table.column("scales").to_pylist() == [[0.5, 0.25], [], [1.0]]


@pytest.mark.parametrize("vectors", [False, True])
def test_rows_come_back_and_equal_tables_give_equal_bytes(vectors, tmp_path):
    encoder = Encoder(vectors=vectors)
    for name in ("a.parquet", "b.parquet"):
        write_row_file(tmp_path / name, table_of(encoder))
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    digests, rows = read_row_file(tmp_path / "a.parquet", encoder)
    assert digests.tolist() == text_digests(TEXTS).tolist()
    expected = encoder.encode_documents(TEXTS)
    assert rows.indptr.tolist() == expected.indptr.tolist()
    if vectors:
        assert rows.rows.tolist() == expected.rows.tolist()
        assert rows.scales.tolist() == expected.scales.tolist()
    else:
        assert rows == expected


def test_a_digest_with_zero_bytes_at_its_end_keeps_them():
    digest = np.array([b"x" * 14 + b"\0\0"], dtype="S16")
    rows = TermWeights.from_rows([{0: 1.0}], Encoder.vocabulary.id)
    table = row_table(["a"], digest, rows, encoder_identity(Encoder()))
    assert table.column("text_digest").to_pylist() == [b"x" * 14 + b"\0\0"]
    assert table_rows(table, Encoder())[0].tolist() == digest.tolist()


def test_rows_in_another_order_and_in_large_lists_are_read():
    table = table_of()
    kinds = {"terms": pa.large_list(pa.int64()), "weights": pa.large_list(pa.float64())}
    fields = [pa.field(field.name, kinds.get(field.name, field.type)) for field in table.schema]
    changed = pa.Table.from_pylist(table.to_pylist()[::-1], schema=pa.schema(fields))
    assert table_rows(changed, Encoder())[1].row(0)[1].tolist() == [0.125]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop_columns(["weights"]), "lacks columns"),
        (lambda table: table.set_column(3, "terms", pa.array([[0], [], [2]])), "different lengths"),
        (lambda table: table.set_column(3, "terms", pa.array([[0, 9], [], [2]])), "the vocabulary lacks"),
        (lambda table: table.set_column(4, "weights", pa.array([["x", "y"], [], ["z"]])), "no rows"),
        (lambda table: table.set_column(2, "encoder", pa.array(["rows-9:00"] * 3)), "another version"),
    ],
)
def test_other_tables_are_refused(change, message):
    with pytest.raises(WeightError, match=message):
        table_rows(change(table_of()), Encoder())


def test_a_damaged_file_counts_as_missing_and_one_of_another_encoder_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    write_row_file(path, table_of())
    assert read_row_file(tmp_path / "none.parquet", Encoder()) is None
    with pytest.raises(ForeignFolderError, match="another encoder") as caught:
        read_row_file(path, Encoder("sha256:other"))
    assert ("file", path) in caught.value.facts
    whole = bytearray(path.read_bytes())
    path.write_bytes(whole[:-20])
    assert read_row_file(path, Encoder()) is None
    whole[60] ^= 255  # in the first page
    path.write_bytes(whole)
    assert read_row_file(path, Encoder()) is None


def test_a_folder_of_rows_is_claimed_by_their_encoder_only(tmp_path):
    write_row_file(tmp_path / "part-0.snappy.parquet", table_of())
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(ForeignFolderError, match="another encoder"):
        claim(tmp_path, Encoder("sha256:other"))
    assert not (tmp_path / "encoding.json").exists()
    claim(tmp_path, Encoder())
    assert len(row_files(tmp_path)) == 1
    stored = StoredRows(tmp_path, Encoder())
    positions = stored.find(text_digests(["sort", "unknown"]))
    assert positions.tolist() == [2, -1]
    assert stored.rows(positions[:1]).row(0)[1].tolist() == [0.125]


def test_the_name_depends_on_identifiers_texts_and_encoder():
    digests = text_digests(TEXTS)
    names = {
        row_file_name(["a", "b", "c"], digests, "one"),
        row_file_name(["a", "b", "d"], digests, "one"),
        row_file_name(["a", "b", "c"], digests[::-1], "one"),
        row_file_name(["a", "b", "c"], digests, "two"),
    }
    assert len(names) == 4
