"""Target qdrant: results, filters and changes in real shards of Qdrant Edge, and in the local mode of the client."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.export import samples
from tests.unit.export.samples import QUERIES, build, change, engine_of, kit, random_filters, windows_index

import termwise
from termwise.attributes import Schema
from termwise.errors import EngineError, MissingExtraError, ParameterError
from termwise.export import check_export, export_changes, export_index
from termwise.export.targets.qdrant import Qdrant
from termwise.filters import Equals, Greater, Less, parse_filter
from termwise.fusion import mix_indexes

pytest.importorskip("qdrant_edge", reason="install termwise[qdrant]")
pytest.importorskip("qdrant_client", reason="install termwise[qdrant]")


def silent(line: str) -> None:
    """Print nothing."""


def loaded(export: Path, at: str) -> str:
    """Load an export, and return where it is."""
    engine: Any = engine_of(export, at)
    engine.load(silent)
    engine.close()
    return at


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("qdrant")


@pytest.fixture(scope="module")
def bm25(folder: Path) -> Path:
    """Index, whose export is loaded."""
    path = build(folder, "bm25")
    export_index(path, "qdrant", folder / "bm25.out")
    loaded(folder / "bm25.out", f"edge:{folder / 'bm25.shard'}")
    return path


@pytest.mark.parametrize(
    ("model", "chunk"), [("bm25", None), ("dirichlet", None), ("bm25", 15), ("dirichlet", 15)]
)
def test_results_are_equal(tmp_path: Path, model: str, chunk: int | None) -> None:
    path = build(tmp_path, model, chunk)
    made = export_index(path, "qdrant", tmp_path / "out")
    assert made["rows"] > made["documents"] if chunk else made["rows"] == 200
    at = loaded(tmp_path / "out", f"edge:{tmp_path / 'shard'}")
    for k in (10, 1000):
        found = check_export(path, tmp_path / "out", QUERIES, at=at, k=k)
        assert found.is_exact, found


def test_mixtures_are_added_up_exactly(tmp_path: Path) -> None:
    path = build(tmp_path, "instant", 15)
    export_index(path, "qdrant", tmp_path / "out")
    at = loaded(tmp_path / "out", f"edge:{tmp_path / 'shard'}")
    found = check_export(path, tmp_path / "out", QUERIES, at=at, k=20)
    assert found.is_exact
    found = check_export(path, tmp_path / "out", QUERIES, at=at, k=1000)
    assert found.is_exact


def test_formula_adds_up_in_the_engine(tmp_path: Path) -> None:
    path = build(tmp_path, "instant")
    export_index(path, "qdrant", tmp_path / "out", settings={"fusion": "formula", "candidates": "300"})
    at = loaded(tmp_path / "out", f"edge:{tmp_path / 'shard'}")
    assert check_export(path, tmp_path / "out", QUERIES, at=at, k=20).is_exact
    export_index(
        path, "qdrant", tmp_path / "out", settings={"fusion": "formula", "candidates": "10"}, overwrite=True
    )
    found = check_export(path, tmp_path / "out", QUERIES, at=at, k=10)
    assert found.overlap > 0.9
    assert found.score_difference < 1e-5


def test_the_best_window_counts(tmp_path: Path) -> None:
    path = windows_index(tmp_path)
    queries = [
        termwise.Query("1", "read a file"),
        termwise.Query("2", "process"),
        termwise.Query("3", "nothing"),
    ]
    export_index(path, "qdrant", tmp_path / "out")
    for at in (f"edge:{tmp_path / 'shard'}", f"path:{tmp_path / 'local'}"):
        loaded(tmp_path / "out", at)
        found = check_export(path, tmp_path / "out", queries, at=at, k=100)
        assert found.is_exact, (at, found)


def test_local_mode_of_the_client(tmp_path: Path) -> None:
    path = build(tmp_path, "instant", number=40)
    for fusion in ("exact", "formula"):
        export_index(path, "qdrant", tmp_path / fusion, settings={"fusion": fusion})
        at = loaded(tmp_path / fusion, f"path:{tmp_path / f'{fusion}.local'}")
        assert check_export(path, tmp_path / fusion, QUERIES, at=at, k=10).is_exact
    filter = "words > 20 and not module = 'abc' or `all parts` in ('abc', 'ast') and day < '2030-01-01'"
    assert check_export(
        path, tmp_path / "exact", QUERIES, at=f"path:{tmp_path / 'exact.local'}", filter=filter
    ).is_exact


def test_filters_are_those_of_termwise(bm25: Path, folder: Path) -> None:
    searcher = termwise.open(bm25)
    schema = searcher.backend.attribute_index.schema
    assert schema["all parts"] == "keywords"
    assert schema["day"] == "date"
    query = kit(folder / "bm25.out").query("the name of a file")
    engine: Any = engine_of(folder / "bm25.out", f"edge:{folder / 'bm25.shard'}")
    sizes = set()
    for filter in random_filters(150):
        try:
            translated = Qdrant().filter(filter, schema)
        except ParameterError:
            assert "big" in str(filter)  # beyond 2**53
            continue
        expected = searcher.rank("the name of a file", k=1000, filter=filter)
        found = engine.search(query, 1000, json.loads(json.dumps(translated)))
        assert [doc_id for doc_id, _ in found] == list(expected.doc_ids), str(filter)
        sizes.add(len(found))
    engine.close()
    assert len(sizes) > 25


def test_inexpressible_filters_are_refused() -> None:
    schema = Schema({"lang": "keyword", "n": "integer", "day": "date", "x": "float"})
    with pytest.raises(ParameterError, match="no ranges of strings"):
        Qdrant().filter(Less("lang", "de"), schema)
    with pytest.raises(ParameterError, match="round this bound"):
        Qdrant().filter(Greater("n", 2**53), schema)
    with pytest.raises(ParameterError, match="round this bound"):
        Qdrant().filter(parse_filter("day < '2300-01-01'"), schema)
    assert Qdrant().filter(Equals("n", 2**53 + 1), schema) == {
        "should": [{"key": "attributes.n", "match": {"value": 2**53 + 1}}]
    }
    assert Qdrant().filter(Greater("x", 1e300), schema)["should"][0]["range"]["gte"] > 1e300


def test_changes_are_applied(tmp_path: Path) -> None:
    path = build(tmp_path, "dirichlet")
    export_index(path, "qdrant", tmp_path / "out")
    at = loaded(tmp_path / "out", f"edge:{tmp_path / 'shard'}")
    change(path)
    made = export_changes(path, tmp_path / "out", since=0)
    assert made["deleted"] == 17
    for _ in range(2):  # a second time, nothing changes
        engine: Any = engine_of(tmp_path / "out", at)
        engine.update(tmp_path / "out" / made["folder"], silent)
        engine.close()
        assert check_export(path, tmp_path / "out", QUERIES, at=at, k=1000).is_exact
    other = loaded(tmp_path / "out", f"edge:{tmp_path / 'other'}")  # data and changes
    assert check_export(path, tmp_path / "out", QUERIES, at=other, k=1000).is_exact


def test_an_index_with_deleted_documents(tmp_path: Path) -> None:
    path = build(tmp_path, "bm25")
    change(path)
    export_index(path, "qdrant", tmp_path / "out")
    at = loaded(tmp_path / "out", f"edge:{tmp_path / 'shard'}")
    assert check_export(path, tmp_path / "out", QUERIES, at=at, k=1000).is_exact


@pytest.mark.parametrize("kind", ["edge", "path"])
def test_loading_is_resumed(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(tmp_path, "bm25", number=40)
    export_index(path, "qdrant", tmp_path / "out")
    engine: Any = engine_of(tmp_path / "out", f"{kind}:{tmp_path / 'store'}")
    monkeypatch.setitem(type(engine).load.__globals__, "POINTS", 16)
    upsert, written = engine.store.upsert, []

    def interrupted(points: Any) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(len(points))
        upsert(points)

    monkeypatch.setattr(engine.store, "upsert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.load(silent)
    engine.close()
    engine = engine_of(tmp_path / "out", f"{kind}:{tmp_path / 'store'}")
    assert engine.store.count() == 32
    upsert, again = engine.store.upsert, []
    monkeypatch.setattr(engine.store, "upsert", lambda points: (again.append(len(points)), upsert(points)))
    engine.load(silent)
    engine.close()
    assert again == [8]
    at = f"{kind}:{tmp_path / 'store'}"
    assert check_export(path, tmp_path / "out", QUERIES, at=at, k=100).is_exact


def test_a_collection_of_another_export_is_kept(bm25: Path, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "bm25.shard", tmp_path / "shard")
    path = build(tmp_path, "bm25", number=40)
    export_index(path, "qdrant", tmp_path / "out")
    with pytest.raises(SystemExit, match="of another export"):
        loaded(tmp_path / "out", f"edge:{tmp_path / 'shard'}")


def test_a_missing_collection_or_server(bm25: Path, folder: Path, tmp_path: Path) -> None:
    engine: Any = engine_of(folder / "bm25.out", f"edge:{tmp_path / 'none'}")
    with pytest.raises(SystemExit, match="run load first"):
        engine.search({"parts": [], "constant": 0.0}, 10)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = f"http://127.0.0.1:{free.getsockname()[1]}"
    engine = engine_of(folder / "bm25.out", at)
    with pytest.raises(SystemExit, match="no server of Qdrant answers"):
        engine.load(silent)
    with pytest.raises(EngineError, match="no server of Qdrant answers"):
        check_export(bm25, folder / "bm25.out", QUERIES, at=at)


def test_a_missing_library(bm25: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(MissingExtraError, match="qdrant"):
        check_export(bm25, folder / "bm25.out", QUERIES)


def test_negative_weights_are_refused(tmp_path: Path) -> None:
    one, other = build(tmp_path, "bm25", number=40), build(tmp_path, "dirichlet", number=40)
    mix_indexes(
        [one, other], [1.0, -0.5], tmp_path / "mixed.tw", names=["a", "b"], scales={"a": 1.0, "b": 1.0}
    )
    with pytest.raises(ParameterError, match="negative weight"):
        export_index(tmp_path / "mixed.tw", "qdrant", tmp_path / "out")


def test_the_programs_run_without_termwise(bm25: Path, folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(folder / "bm25.out" / "client.py")]
    at = ["--at", f"edge:{tmp_path / 'shard'}"]
    subprocess.run([*command, "load", *at], check=True, capture_output=True, cwd=tmp_path)
    filter = Qdrant().filter(Greater("words", 20), termwise.open(bm25).backend.attribute_index.schema)
    found = subprocess.run(
        [*command, "search", "abstract base class", "-k", "3", "--json", "--filter", json.dumps(filter), *at],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        text=True,
    )
    expected = termwise.open(bm25).rank("abstract base class", k=3, filter="words > 20")
    results = json.loads(found.stdout)["results"]
    assert [each["doc_id"] for each in results] == list(expected.doc_ids)
    for file in (folder / "bm25.out").glob("*.py"):
        assert "import termwise" not in file.read_text(encoding="utf-8")
        assert "from termwise" not in file.read_text(encoding="utf-8")


def test_the_readme_says_what_is_exact(bm25: Path, folder: Path) -> None:
    text = (folder / "bm25.out" / "README.md").read_text(encoding="utf-8")
    assert "| weights | yes |" in text
    assert "| results | yes |" in text
    assert samples.ODD not in text
