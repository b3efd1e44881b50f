"""Target vespa: golden files, and operators and rank expressions computed from the feed; no server of Vespa runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

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
from tests.unit.export.vespa_arithmetic import Application, Condition, served

import termwise
from termwise import BuildOptions, Document
from termwise.attributes import Schema
from termwise.errors import DataError, ParameterError
from termwise.export import check_export, export_changes, export_index
from termwise.export.targets.vespa import Vespa
from termwise.filters import Equals, Greater, Less

GOLDEN = Path(__file__).parent / "golden_vespa"


def silent(line: str) -> None:
    """Print nothing."""


@contextmanager
def running(export: Path) -> Iterator[tuple[Application, str]]:
    """Load an export into the stand-in for a server."""
    application = Application((export / "data/application/schemas/termwise.sd").read_text(encoding="utf-8"))
    for address in served(application):
        engine: Any = engine_of(export, address)
        engine.load(silent)
        engine.close()
        yield application, address


@pytest.mark.parametrize(
    ("model", "chunk"), [("bm25", None), ("dirichlet", None), ("dirichlet", 15), ("bm25", 15)]
)
def test_results_are_equal(tmp_path: Path, model: str, chunk: int | None) -> None:
    path = build(tmp_path, model, chunk, 120)
    export_index(path, "vespa", tmp_path / "out")
    with running(tmp_path / "out") as (_, at):
        for k in (5, 1000):
            found = check_export(path, tmp_path / "out", QUERIES, at=at, k=k)
            assert found.is_exact, found
            assert found.score_difference < 1e-14


def test_vectors_are_exact(tmp_path: Path) -> None:
    path = windows_index(tmp_path)
    queries = [
        termwise.Query("1", "read a file"),
        termwise.Query("2", "process"),
        termwise.Query("3", "nothing"),
    ]
    export_index(path, "vespa", tmp_path / "out")
    with running(tmp_path / "out") as (_, at):
        found = check_export(path, tmp_path / "out", queries, at=at, k=100)
    assert found.is_exact
    assert found.score_difference < 1e-12


def test_mixtures_are_exact(tmp_path: Path) -> None:
    path = build(tmp_path, "instant", number=12)
    export_index(path, "vespa", tmp_path / "out")
    with running(tmp_path / "out") as (_, at):
        for filter in (None, "words > 20 and not module = 'abc' or `all parts` in ('abc', 'ast')"):
            found = check_export(path, tmp_path / "out", QUERIES[:3], at=at, k=100, filter=filter)
            assert found.is_exact
            assert found.score_difference < 1e-10


def test_filters_are_those_of_termwise(tmp_path: Path) -> None:
    path = build(tmp_path, "bm25")
    searcher = termwise.open(path)
    schema = searcher.backend.attribute_index.schema
    export_index(path, "vespa", tmp_path / "out")
    with running(tmp_path / "out") as (_, at):
        query = kit(tmp_path / "out").query("the name of a file")
        engine: Any = engine_of(tmp_path / "out", at)
        sizes = set()
        for filter in random_filters(120):
            expected = searcher.rank("the name of a file", k=1000, filter=filter)
            found = engine.search(query, 1000, Vespa().filter(filter, schema))
            assert [doc_id for doc_id, _ in found] == list(expected.doc_ids), str(filter)
            sizes.add(len(found))
    assert len(sizes) > 25


def test_changes_are_applied(tmp_path: Path) -> None:
    path = build(tmp_path, "dirichlet")
    export_index(path, "vespa", tmp_path / "out")
    with running(tmp_path / "out") as (application, at):
        change(path)
        made = export_changes(path, tmp_path / "out", since=0)
        for _ in range(2):  # a second time, nothing changes
            engine: Any = engine_of(tmp_path / "out", at)
            engine.update(tmp_path / "out" / made["folder"], silent)
            assert check_export(path, tmp_path / "out", QUERIES, at=at, k=1000).is_exact
        kept = dict(application.documents)
    with running(tmp_path / "out") as (application, at):  # data and changes
        assert application.documents == kept


def teas(folder: Path) -> Path:
    """Build a small index with every type of attribute."""
    day = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    documents = [
        Document(
            "a/1",
            "green tea",
            attributes={
                "price": 2.5,
                "stock": 2**40,
                "day": day,
                "fresh": True,
                "kind": ODD,
                "tags of it": ["x", "y"],
            },
        ),
        Document("b", "black\0 tea, black coffee", attributes={"stock": -3, "fresh": False}),
        Document("c", ""),
    ]
    path = folder / "teas.tw"
    termwise.build_index(documents, path, model="dirichlet", store_text=True)
    return path


def test_files_have_the_expected_bytes(tmp_path: Path) -> None:
    export_index(teas(tmp_path), "vespa", tmp_path / "out")
    data = tmp_path / "out" / "data"
    written = {path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()}
    kept = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*") if path.is_file()}
    assert written == kept
    for name in sorted(kept):
        assert (data / name).read_bytes() == (GOLDEN / name).read_bytes(), name
    ElementTree.parse(data / "application" / "services.xml")
    ElementTree.parse(data / "application" / "search" / "query-profiles" / "default.xml")


def test_requests_have_the_expected_form(tmp_path: Path) -> None:
    path = teas(tmp_path)
    export_index(path, "vespa", tmp_path / "out")
    engine: Any = engine_of(tmp_path / "out", None)
    body = engine.request(kit(tmp_path / "out").query("black tea"), 5, "(true)")
    assert body["yql"] == (
        "select doc_id, position from termwise where (dotProduct(dirichlet, [[0, 256], [3, 256]])) and (true)"
    )
    assert body["input.query(dirichlet_terms)"] == {"0": 256, "3": 256}
    assert body["input.query(dirichlet_background)"] == 2
    bm25 = build(tmp_path, "bm25", number=5)
    export_index(bm25, "vespa", tmp_path / "bm25")
    engine = engine_of(tmp_path / "bm25", None)
    assert (
        "({totalTargetHits: 105}wand(bm25, [["
        in engine.request(kit(tmp_path / "bm25").query("abstract base class"), 5, None)["yql"]
    )
    assert engine.request(kit(tmp_path / "bm25").query("unknownword"), 5, None) is None


def test_what_vespa_cannot_hold_is_refused(tmp_path: Path) -> None:
    schema = Schema({"kind": "keyword", "stock": "integer"})
    with pytest.raises(ParameterError, match="no ranges of strings"):
        Vespa().filter(Less("kind", "de"), schema)
    with pytest.raises(ParameterError, match="name of a schema"):
        export_index(teas(tmp_path), "vespa", tmp_path / "out", settings={"schema": "a b"})
    one = Document("a", "tea", attributes={"stock": -(2**63)})
    termwise.build_index([one], tmp_path / "least.tw")
    with pytest.raises(DataError, match="missing value"):
        export_index(tmp_path / "least.tw", "vespa", tmp_path / "least")
    termwise.build_index([Document("a\x01", "tea")], tmp_path / "odd.tw")
    with pytest.raises(DataError, match="control characters"):
        export_index(tmp_path / "odd.tw", "vespa", tmp_path / "odd")
    options = BuildOptions(quantiser="float32")
    termwise.build_index([Document("a", "tea")], tmp_path / "float.tw", options=options)
    with pytest.raises(ParameterError, match="whole numbers"):
        export_index(tmp_path / "float.tw", "vespa", tmp_path / "float")


def test_conditions_of_the_stand_in() -> None:
    schema = Schema({"kind": "keyword", "stock": "integer"})
    fields = {
        "present": ["attribute_kind", "attribute_stock"],
        "attribute_kind": ODD,
        "attribute_stock": 2**40,
    }
    for filter, expected in (
        (Equals("kind", ODD), True),
        (Greater("stock", 2**40), False),
        (Less("stock", 2**41), True),
    ):
        assert Condition(Vespa().filter(filter, schema))(fields) is expected


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    export_index(teas(tmp_path), "vespa", tmp_path / "out")
    engine: Any = engine_of(tmp_path / "out", "http://127.0.0.1:1")
    with pytest.raises(SystemExit, match="Vespa does not answer"):
        engine.load(silent)
    assert "not run against a server" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    shutil.rmtree(tmp_path / "out")


def test_templates_are_json(tmp_path: Path) -> None:
    export_index(teas(tmp_path), "vespa", tmp_path / "out")
    template = json.loads((tmp_path / "out/data/query.json").read_text(encoding="utf-8"))
    assert template["input.query(dirichlet_terms)"] == "<numbers of dirichlet>"
