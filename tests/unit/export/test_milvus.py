"""Target milvus: results, filters and changes in files of Milvus Lite."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.export.samples import (
    ODD,
    QUERIES,
    build,
    change,
    engine_of,
    kit,
    random_filters,
    windows_index,
)

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.errors import DataError, MissingExtraError, ParameterError
from termwise.export import check_export, export_changes, export_index
from termwise.export.targets.milvus import MOST_VALUES, Milvus
from termwise.filters import Less

pytest.importorskip("pymilvus", reason="install termwise[milvus]")
pytest.importorskip("milvus_lite", reason="install termwise[milvus]")


def silent(line: str) -> None:
    """Print nothing."""


def loaded(export: Path, at: Path) -> str:
    """Load an export, and return where it is."""
    engine: Any = engine_of(export, str(at))
    engine.load(silent)
    engine.close()
    return str(at)


@pytest.fixture(scope="module", autouse=True)
def servers_are_stopped() -> Iterator[None]:
    """Stop the servers in this process, which the clients share."""
    yield
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("milvus")


@pytest.fixture(scope="module")
def bm25(folder: Path) -> Path:
    """Index, whose export is loaded."""
    path = build(folder, "bm25")
    export_index(path, "milvus", folder / "bm25.out")
    loaded(folder / "bm25.out", folder / "bm25.db")
    return path


@pytest.mark.parametrize(("model", "chunk"), [("bm25", None), ("dirichlet", None), ("dirichlet", 15)])
def test_results_are_equal(tmp_path: Path, model: str, chunk: int | None) -> None:
    path = build(tmp_path, model, chunk)
    export_index(path, "milvus", tmp_path / "out")
    at = loaded(tmp_path / "out", tmp_path / "file.db")
    for k in (10, 1000):
        found = check_export(path, tmp_path / "out", QUERIES, at=at, k=k)
        assert found.is_exact, found


def test_mixtures_are_added_up_exactly(tmp_path: Path) -> None:
    path = build(tmp_path, "instant", 15)
    export_index(path, "milvus", tmp_path / "out")
    at = loaded(tmp_path / "out", tmp_path / "file.db")
    filter = "words > 20 and not module = 'abc' or `all parts` in ('abc', 'ast') and day < '2030-01-01'"
    for each in (None, filter):
        assert check_export(path, tmp_path / "out", QUERIES, at=at, k=20, filter=each).is_exact
    found = check_export(path, tmp_path / "out", QUERIES, at=at, k=1000)
    assert found.is_exact


def test_the_best_window_counts(tmp_path: Path) -> None:
    path = windows_index(tmp_path)
    queries = [
        termwise.Query("1", "read a file"),
        termwise.Query("2", "process"),
        termwise.Query("3", "nothing"),
    ]
    export_index(path, "milvus", tmp_path / "out")
    at = loaded(tmp_path / "out", tmp_path / "file.db")
    found = check_export(path, tmp_path / "out", queries, at=at, k=100)
    assert found.is_exact


def test_more_results_than_a_search_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = windows_index(tmp_path)
    export_index(path, "milvus", tmp_path / "out")
    at = loaded(tmp_path / "out", tmp_path / "file.db")
    engine: Any = engine_of(tmp_path / "out", at)
    monkeypatch.setitem(type(engine).load.__globals__, "MOST", 7)
    query = kit(tmp_path / "out").query("read a file")
    expected = termwise.open(path).rank("read a file", k=100)
    found = engine.search(query, 100)
    assert [doc_id for doc_id, _ in found] == list(expected.doc_ids)
    named = engine.search(query, 100, "position < 20")
    assert [doc_id for doc_id, _ in named] == [each for each in expected.doc_ids if int(each[1:]) < 20]
    vectors = engine.search.__globals__["VectorList"](
        engine.client, "termwise_lookup", "vector", [1.0] * 8, None, 1.0
    )
    assert len(vectors.rows(range(60))) == len(expected.doc_ids)
    engine.close()


def test_rows_without_terms(tmp_path: Path) -> None:
    documents = [Document("a", "green tea"), Document("b", "--"), Document("c", "black tea")]
    path = tmp_path / "tea.tw"
    termwise.build_index(documents, path, model="bm25")
    export_index(path, "milvus", tmp_path / "out")
    lines = (tmp_path / "out/data/documents-00000.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[1])["bm25"] == {"2147483646": 1}
    at = loaded(tmp_path / "out", tmp_path / "file.db")
    assert check_export(path, tmp_path / "out", [termwise.Query("1", "tea")], at=at).is_exact


def test_filters_are_those_of_termwise(bm25: Path, folder: Path) -> None:
    searcher = termwise.open(bm25)
    schema = searcher.backend.attribute_index.schema
    query = kit(folder / "bm25.out").query("the name of a file")
    engine: Any = engine_of(folder / "bm25.out", str(folder / "bm25.db"))
    sizes = set()
    for filter in random_filters(120, ranges_of_strings=True):
        expected = searcher.rank("the name of a file", k=1000, filter=filter)
        found = engine.search(query, 1000, Milvus().filter(filter, schema))
        assert [doc_id for doc_id, _ in found] == list(expected.doc_ids), str(filter)
        sizes.add(len(found))
    engine.close()
    assert len(sizes) > 25


def test_inexpressible_filters_and_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no ranges of the strings of a list"):
        Milvus().filter(Less("tags", "de"), Schema({"tags": "keywords"}))
    with pytest.raises(ParameterError, match="name of a collection"):
        export_index(
            build(tmp_path, "bm25", number=5), "milvus", tmp_path / "out", settings={"collection": "a-b"}
        )
    for name, value in (("list", [str(number) for number in range(MOST_VALUES + 1)]), ("long", "é" * 40_000)):
        path = tmp_path / f"{name}.tw"
        termwise.build_index([Document("a", "tea", attributes={name: value})], path, model="bm25")
        with pytest.raises(DataError, match="limit of Milvus"):
            export_index(path, "milvus", tmp_path / f"{name}.out")
    many = {f"field{number}": number for number in range(70)}
    termwise.build_index([Document("a", "tea", attributes=many)], tmp_path / "many.tw", model="bm25")
    with pytest.raises(ParameterError, match="too few fields"):
        export_index(tmp_path / "many.tw", "milvus", tmp_path / "many.out")


def test_long_texts_are_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "long.tw"
    termwise.build_index([Document("a", "é" * 40_000)], path, model="bm25", store_text=True)
    export_index(path, "milvus", tmp_path / "out")
    row = json.loads((tmp_path / "out/data/documents-00000.jsonl").read_text(encoding="utf-8"))
    assert row["text"] == "é" * 32_767
    assert "the rest of a longer text is cut off" in (tmp_path / "out/README.md").read_text(encoding="utf-8")


def test_changes_are_applied(tmp_path: Path) -> None:
    path = build(tmp_path, "instant")
    export_index(path, "milvus", tmp_path / "out")
    at = loaded(tmp_path / "out", tmp_path / "file.db")
    change(path)
    made = export_changes(path, tmp_path / "out", since=0)
    for _ in range(2):  # a second time, nothing changes
        engine: Any = engine_of(tmp_path / "out", at)
        engine.update(tmp_path / "out" / made["folder"], silent)
        engine.close()
        assert check_export(path, tmp_path / "out", QUERIES, at=at, k=20).is_exact
    assert check_export(path, tmp_path / "out", QUERIES, at=at, k=1000).is_exact
    other = loaded(tmp_path / "out", tmp_path / "other.db")  # data and changes
    assert check_export(path, tmp_path / "out", QUERIES, at=other, k=20).is_exact


def test_loading_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(tmp_path, "bm25", number=40)
    export_index(path, "milvus", tmp_path / "out")
    at = str(tmp_path / "file.db")
    engine: Any = engine_of(tmp_path / "out", at)
    monkeypatch.setitem(type(engine).load.__globals__, "ROWS", 16)
    upsert, written = engine.client.upsert, []

    def interrupted(name: str, rows: Any) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(len(rows))
        upsert(name, rows)

    monkeypatch.setattr(engine.client, "upsert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.load(silent)
    engine.close()
    engine = engine_of(tmp_path / "out", at)
    again: list[int] = []
    upsert = engine.client.upsert
    monkeypatch.setattr(
        engine.client, "upsert", lambda name, rows: (again.append(len(rows)), upsert(name, rows))
    )
    engine.load(silent)
    engine.close()
    assert sum(again) == 8
    assert check_export(path, tmp_path / "out", QUERIES, at=at, k=100).is_exact


def test_wrong_places(bm25: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(tmp_path, "bm25", number=5)
    export_index(path, "milvus", tmp_path / "out")
    with pytest.raises(SystemExit, match="of another export"):
        loaded(tmp_path / "out", folder / "bm25.db")
    engine: Any = engine_of(folder / "bm25.out", str(tmp_path / "none.db"))
    with pytest.raises(SystemExit, match="run load first"):
        engine.search({"parts": [], "constant": 0.0}, 10)
    engine.close()
    engine = engine_of(folder / "bm25.out", "http://127.0.0.1:1")
    with pytest.raises(SystemExit, match="Milvus does not answer"):
        engine.load(silent)
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(MissingExtraError, match="milvus"):
        check_export(bm25, folder / "bm25.out", QUERIES)


def test_odd_strings_are_literals(bm25: Path, folder: Path) -> None:
    schema = termwise.open(bm25).backend.attribute_index.schema
    written = Milvus().filter(termwise.filters.Equals("module", ODD), schema)
    assert (
        written
        == r"""(attribute_module is not null and (attribute_module in ["quote \" back\\slash ' é"]))"""
    )
