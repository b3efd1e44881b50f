"""Parts of collections: lines and rows, in the order of the documents."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.collection import open_collection
from termwise.collection.parts import FolderCollection, collection_parts
from termwise.errors import MalformedRecordError, MissingFileError, ParameterError

pa = pytest.importorskip("pyarrow", reason="pip install 'termwise[parquet]'")
parquet = pytest.importorskip("pyarrow.parquet")


def records(count):
    return [{"_id": f"d{number}", "text": "wörd " * (number % 5 + 1)} for number in range(count)]


def documents_of(parts):
    return [document for part in parts for document in part.documents()]


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(st.text(alphabet="aé \n", max_size=8), max_size=12),
    size=st.integers(1, 200),
    documents=st.integers(1, 5),
    ends=st.sampled_from(["\n", "\r\n", "\n\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_parts_of_lines_have_the_documents_of_the_file(tmp_path_factory, texts, size, documents, ends, mark):
    path = tmp_path_factory.mktemp("parts") / "docs.jsonl"
    lines = [json.dumps({"_id": f"d{n}", "text": text}, ensure_ascii=False) for n, text in enumerate(texts)]
    path.write_text(mark + "".join(line + ends for line in lines), newline="")
    collection = open_collection(path)
    parts = collection_parts(collection, size=size, documents=documents)
    assert documents_of(parts) == list(collection.documents())


@pytest.mark.parametrize("documents", [1, 3, 7, 100])
def test_parts_of_rows_have_the_documents_of_the_file(tmp_path, documents):
    path = tmp_path / "docs.parquet"
    parquet.write_table(pa.Table.from_pylist(records(20)), path, row_group_size=6)
    collection = open_collection(path)
    parts = collection_parts(collection, documents=documents)
    assert documents_of(parts) == list(collection.documents())
    assert [part.length for part in parts] == [len(list(part.documents())) for part in parts]


def test_a_folder_has_the_files_in_the_order_of_their_names(tmp_path):
    rows = records(9)
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[3:6]))
    parquet.write_table(pa.Table.from_pylist(rows[:3]), tmp_path / "a.parquet")
    with gzip.open(tmp_path / "c.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows[6:])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".a.jsonl").write_text("{}")
    collection = open_collection(tmp_path)
    assert isinstance(collection, FolderCollection)
    assert [document.doc_id for document in collection.documents()] == [row["_id"] for row in rows]
    assert documents_of(collection_parts(collection, documents=2)) == list(collection.documents())


def test_a_folder_in_beir_layout_without_a_corpus_is_still_an_error(tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    with pytest.raises(MissingFileError, match="BEIR"):
        open_collection(tmp_path)


def test_an_error_names_the_line_of_the_file(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in records(5)) + "{\n")
    *good, bad = collection_parts(open_collection(path), documents=2)
    assert len(documents_of(good)) == 4
    with pytest.raises(MalformedRecordError) as caught:
        list(bad.documents())
    assert ("line", "6") in [(name, str(value)) for name, value in caught.value.facts] or "6" in str(
        caught.value
    )


def test_a_part_may_lack_the_chosen_fields(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"_id": "a", "text": "x"}\n{"_id": "b", "text": "y", "title": "z"}\n')
    collection = open_collection(path, fields=("title", "text"))
    assert [d.text for d in documents_of(collection_parts(collection, documents=1))] == ["x", "z\ny"]


def test_other_collections_are_refused(tmp_path):
    path = tmp_path / "docs.tsv"
    path.write_text("a\tx\n")
    with pytest.raises(ParameterError, match="JSONL or Parquet"):
        collection_parts(open_collection(path))
