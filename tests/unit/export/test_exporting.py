"""Folders of exports: resumption, refusals, and the commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.export.sources import QUERIES

import termwise
from termwise.cli.main import run
from termwise.errors import (
    CorruptIndexError,
    EngineError,
    ForeignFolderError,
    IndexExistsError,
    IndexLockedError,
    MissingFileError,
    ParameterError,
    UnknownNameError,
)
from termwise.export import ExportSource, LinearForm, check_export, export_index, make_target, measured_scales
from termwise.export.check import check_files, compare_rankings, open_engine
from termwise.export.folder import one_writer
from termwise.export.targets import jsonl
from termwise.records import Ranking
from termwise.storage.atomic_file import remove


class Interrupted(Exception):
    """Raised in place of a signal."""


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "export.json"
    }


def test_an_interrupted_export_keeps_its_pieces(
    sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(jsonl.pieces.__kwdefaults__, "size", 50)
    export_index(sources["bm25"], "jsonl", tmp_path / "whole")
    written: list[int] = []
    original = jsonl.Jsonl._write

    def interrupted(self: Any, batches: Iterator[Any], *given: Any) -> None:
        written.append(len(written))
        if len(written) == 3:
            raise Interrupted
        original(self, batches, *given)

    monkeypatch.setattr(jsonl.Jsonl, "_write", interrupted)
    with pytest.raises(Interrupted):
        export_index(sources["bm25"], "jsonl", tmp_path / "out")
    assert not (tmp_path / "out" / "export.json").exists()
    with pytest.raises(MissingFileError, match="no finished export"):
        check_export(sources["bm25"], tmp_path / "out", QUERIES)
    export_index(sources["bm25"], "jsonl", tmp_path / "out")
    assert len(written) == 3 + 3  # two of five pieces were kept
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_pieces_of_another_export_are_not_kept(
    sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr("termwise.export.exporting.readme", interrupted)
        with pytest.raises(Interrupted):
            export_index(sources["bm25"], "jsonl", tmp_path / "out")
    export_index(sources["changed"], "jsonl", tmp_path / "out")
    export_index(sources["changed"], "jsonl", tmp_path / "other")
    assert contents(tmp_path / "out") == contents(tmp_path / "other")


def test_folders_that_are_no_exports(sources: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "out" / "data").mkdir(parents=True)
    (tmp_path / "out" / "data" / "mine").write_text("x")
    with pytest.raises(ForeignFolderError):
        export_index(sources["bm25"], "jsonl", tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "data" / "mine").read_text() == "x"
    (tmp_path / "file").write_text("x")
    with pytest.raises(ForeignFolderError, match="is a file"):
        export_index(sources["bm25"], "jsonl", tmp_path / "file")
    with pytest.raises(ForeignFolderError):
        export_index(sources["bm25"], "jsonl", sources["bm25"])


def test_a_finished_export_is_replaced_on_demand(sources: dict[str, Path], tmp_path: Path) -> None:
    export_index(sources["bm25"], "jsonl", tmp_path / "out")
    with pytest.raises(IndexExistsError):
        export_index(sources["dirichlet"], "jsonl", tmp_path / "out")
    made = export_index(sources["dirichlet"], "jsonl", tmp_path / "out", overwrite=True)
    assert made["parts"][0]["bias"] is True
    assert json.loads((tmp_path / "out" / "export.json").read_bytes()) == made


def test_settings_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="sqlit"):
        make_target("sqlit")
    with pytest.raises(ParameterError, match="no settings"):
        make_target("sqlite", {"schema": "x"})
    with pytest.raises(UnknownNameError):
        make_target("jsonl", {"weights": "whole"})
    assert make_target("jsonl", {"weights": "impacts"}).weights == "impacts"  # type: ignore[attr-defined]


def test_scales_of_a_mixture(sources: dict[str, Path], tmp_path: Path) -> None:
    searcher = termwise.open(sources["instant"])
    source = ExportSource(searcher)
    assert [part.scale for part in source.parts] == [1.419, 0.0773]
    with pytest.raises(ParameterError, match="by their names"):
        ExportSource(searcher, scales={"bm26": 1.0})
    with pytest.raises(ParameterError, match="a scale is a number"):
        ExportSource(searcher, scales={"bm25": 0.0})
    with pytest.raises(ParameterError, match="by their names"):
        ExportSource(termwise.open(sources["bm25"]), scales={"bm25": 1.0})
    measured = measured_scales(searcher, [query.text for query in QUERIES])
    assert measured.keys() == {"bm25", "table"}
    assert 0.01 < measured["table"] < 0.1 < measured["bm25"] < 10
    made = export_index(
        sources["instant"], "numpy", tmp_path / "out", queries=[query.text for query in QUERIES]
    )
    assert {part["name"]: part["scale"] for part in made["parts"]} == measured
    with pytest.raises(ParameterError, match="measured on queries"):
        export_index(sources["instant"], "numpy", tmp_path / "no", queries=["a"], scales={"bm25": 1.0})
    with pytest.raises(ParameterError, match="no query has candidates"):
        measured_scales(searcher, [""])


def test_the_linear_form_of_a_mixture_by_hand(sources: dict[str, Path]) -> None:
    """The score of a document is the sum of its scores in the parts, times weight / scale (/ length of the query)."""
    searcher = termwise.open(sources["instant"])
    form = LinearForm(ExportSource(searcher))
    text, k = "sort a list of lines", 240
    found = form.rank(text, k=k)
    bm25, table = (termwise.Searcher.of_index(part.index) for part in searcher.parts)
    vector = form.part_queries(text)[1].vector
    length = np.linalg.norm(vector.vector.astype(float)) * vector.unit  # type: ignore[union-attr]
    totals = dict.fromkeys(searcher.index.doc_ids(np.arange(240)), 0.0)
    for part, factor in ((bm25, 0.4 / 1.419), (table, 0.6 / 0.0773 / length)):
        ranking = part.rank(text, k=k)
        for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True):
            totals[doc_id] += factor * score
    expected = sorted(totals, key=lambda doc_id: -totals[doc_id])
    assert list(found.doc_ids) == expected[: len(found.doc_ids)]
    assert found.scores == pytest.approx([totals[doc_id] for doc_id in found.doc_ids])


def test_comparison_of_rankings() -> None:
    ours = Ranking(["a", "b", "c", "d"], [4.0, 3.0, 3.0, 1.0])
    same = compare_rankings(ours, [("a", 4.0), ("b", 3.0), ("c", 3.0), ("d", 1.0)])
    assert (same.identical, same.overlap, same.difference, same.tau) == (True, 1.0, 0.0, 1.0)
    other = compare_rankings(ours, [("a", 4.0), ("c", 3.0), ("b", 3.0), ("e", 1.0)])
    assert (other.identical, other.overlap) == (True, 0.75)  # e has the score of the last one
    shorter = compare_rankings(ours, [("a", 4.0), ("b", 3.0)])
    assert (shorter.identical, shorter.overlap) == (False, 0.5)
    twice = compare_rankings(ours, [("a", 4.0), ("b", 3.0), ("b", 3.0), ("d", 1.0)])
    assert not twice.identical
    wrong = compare_rankings(ours, [("b", 3.0), ("a", 4.0), ("c", 3.0), ("d", 1.0)])
    assert not wrong.identical
    scored = compare_rankings(ours, [("a", 4.0), ("b", 3.0), ("c", 3.0), ("d", 1.1)])
    assert (scored.identical, scored.difference) == (False, pytest.approx(0.025))
    assert compare_rankings(Ranking([], []), []).identical


def test_engines_that_fail(sources: dict[str, Path], tmp_path: Path) -> None:
    export_index(sources["bm25"], "sqlite", tmp_path / "out")
    (tmp_path / "x.sqlite").write_bytes(b"no database, but a file of some length")
    with pytest.raises(EngineError, match="cannot be reached"):
        check_export(sources["bm25"], tmp_path / "out", QUERIES, at=str(tmp_path / "x.sqlite"))
    with (
        pytest.raises(EngineError, match="there is no such file"),
        open_engine(tmp_path / "out", "no.sqlite") as engine,
    ):
        engine.load(print)
    export_index(sources["bm25"], "jsonl", tmp_path / "lines")
    with pytest.raises(ParameterError, match="file format"):
        check_export(sources["bm25"], tmp_path / "lines", QUERIES)
    (tmp_path / "lines" / "export.json").write_text("{")
    with pytest.raises(CorruptIndexError, match="damaged"):
        check_export(sources["bm25"], tmp_path / "lines", QUERIES)
    with pytest.raises(ParameterError, match="at least one query"):
        check_export(sources["bm25"], tmp_path / "out", [])
    with pytest.raises(ParameterError, match="another index"):
        check_export(sources["dirichlet"], tmp_path / "out", QUERIES)


def test_a_damaged_state_is_told(sources: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(sources["bm25"], tmp_path / "index")
    export_index(tmp_path / "index", "sqlite", tmp_path / "out")
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.add([termwise.Document("new", "sort")])
    (tmp_path / "out" / "state" / "0" / "rows.npy").write_bytes(b"x")
    with pytest.raises(CorruptIndexError, match="state of the export"):
        export_index(tmp_path / "index", "sqlite", tmp_path / "out", since=0)
    with pytest.raises(MissingFileError, match="no finished export"):
        export_index(tmp_path / "index", "sqlite", tmp_path / "none", since=0)
    with pytest.raises(ParameterError, match="another kind"):
        export_index(tmp_path / "index", "jsonl", tmp_path / "out", since=0)


def test_commands(sources: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, queries = tmp_path / "out", tmp_path / "queries.tsv"
    queries.write_text("".join(f"{query.query_id}\t{query.text}\n" for query in QUERIES[:3]))
    index = str(sources["instant"])
    assert run(["export", index, "--to", "list"]) == 0
    listed = capsys.readouterr().out
    assert "sqlite         SQLite\n" in listed
    assert run(["export", index, "--to", "duckdb", "--out", str(out)]) == 0
    assert "240 documents" in capsys.readouterr().out
    assert (
        run(["export-check", index, str(out), "--queries", str(queries), "-k", "20", "--json", "--load"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["exact"] is True
    assert found["native_overlap"] > 0.5
    assert run(["export-check", index, str(out), "--queries", str(queries), "--filter", "year > 2000"]) == 0
    assert "identical order" in capsys.readouterr().out
    assert run(["export", index, "--to", "duckdb", "--out", str(out), "--since", "0"]) == 0
    assert "0 rows changed" in capsys.readouterr().out
    assert run(["export", index, "--to", "duckdb"]) == 2
    assert "--out" in capsys.readouterr().err
    assert (
        run(["export", index, "--to", "duckdb", "--out", str(out), "--scale", "bm25=x", "--overwrite"]) == 2
    )
    assert run(["export", index, "--to", "duckdb", "--out", str(out)]) == 2
    assert "--since" in capsys.readouterr().err


def test_a_check_fails_if_results_differ(
    sources: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sqlite3
    from contextlib import closing

    out, queries = tmp_path / "out", tmp_path / "queries.tsv"
    queries.write_text("1\tsort a list\n")
    export_index(sources["bm25"], "sqlite", out)
    with closing(sqlite3.connect(out / "data" / "index.sqlite")) as database, database:
        database.execute("UPDATE bm25_postings SET impact = impact + 1 WHERE position % 2 = 0")
    assert run(["export-check", str(sources["bm25"]), str(out), "--queries", str(queries)]) == 5
    said = capsys.readouterr()
    assert "queries that differ  1" in said.err
    assert "query 1, rank " in said.err
    assert "largest score difference" in said.out


def test_one_export_at_a_time_in_a_folder(sources: dict[str, Path], tmp_path: Path) -> None:
    with one_writer(tmp_path / "out"), pytest.raises(IndexLockedError, match="writing this export"):
        export_index(sources["bm25"], "sqlite", tmp_path / "out")
    export_index(sources["bm25"], "sqlite", tmp_path / "out")


def test_an_export_does_not_lie_inside_an_index(sources: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(sources["bm25"], tmp_path / "index")
    with pytest.raises(ForeignFolderError, match="inside an index"):
        export_index(tmp_path / "index", "sqlite", tmp_path / "index" / "out")
    assert not (tmp_path / "index" / "out").exists()


def test_an_interrupted_replacement_can_be_repeated(
    sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_index(sources["bm25"], "jsonl", tmp_path / "out")
    removed: list[Path] = []

    def interrupted(path: Path) -> None:
        if len(removed) == 3:
            raise Interrupted
        removed.append(path)
        remove(path)

    with monkeypatch.context() as patch:
        patch.setattr("termwise.export.folder.remove", interrupted)
        with pytest.raises(Interrupted):
            export_index(sources["dirichlet"], "jsonl", tmp_path / "out", overwrite=True)
    assert not (tmp_path / "out" / "export.json").exists()
    made = export_index(sources["dirichlet"], "jsonl", tmp_path / "out")
    assert made["parts"][0]["name"] == "dirichlet"


def test_an_index_that_was_built_anew_is_no_change(tmp_path: Path) -> None:
    for text in ("green tea", "black tea"):
        termwise.build_index([termwise.Document("a", text)], tmp_path / "index", model="bm25", overwrite=True)
        if text == "green tea":
            export_index(tmp_path / "index", "sqlite", tmp_path / "out")
    with pytest.raises(ParameterError, match="built anew"):
        export_index(tmp_path / "index", "sqlite", tmp_path / "out", since=0)
    made = [termwise.Document("a", "tea", {"price": 1})]
    termwise.build_index(made, tmp_path / "index", model="bm25", attributes="all", overwrite=True)
    with pytest.raises(ParameterError, match="another kind") as caught:
        export_index(tmp_path / "index", "sqlite", tmp_path / "out", since=0)
    assert "schema" in caught.value.render()


def test_names_of_attributes_that_are_no_columns(tmp_path: Path) -> None:
    for number, attributes in enumerate(({"Price": 1, "price": 2}, {"a\nb": 1})):
        index = tmp_path / f"index{number}"
        termwise.build_index(
            [termwise.Document("a", "tea", attributes)], index, model="bm25", attributes="all"
        )
        with pytest.raises(ParameterError, match=r"upper and lower case|control characters"):
            export_index(index, "sqlite", tmp_path / "out")


def test_an_index_without_documents(tmp_path: Path) -> None:
    termwise.build_index([termwise.Document("a", "tea")], tmp_path / "index", model="bm25", store_text=True)
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.delete(["a"])
    for to in ("sqlite", "jsonl", "ciff", "pisa", "numpy"):
        export_index(tmp_path / "index", to, tmp_path / to)
    with pytest.raises(ParameterError, match="no documents"):
        export_index(tmp_path / "index", "web", tmp_path / "web")
    found = check_export(tmp_path / "index", tmp_path / "sqlite", [termwise.Query("1", "tea")])
    assert (found.is_exact, found.without_results) == (True, 1)


def test_damaged_files_are_not_loaded(sources: dict[str, Path], tmp_path: Path) -> None:
    export_index(sources["bm25"], "anserini", tmp_path / "out")
    check_files(tmp_path / "out")
    (tmp_path / "out" / "data" / "00000.jsonl").write_text("")
    with pytest.raises(CorruptIndexError, match="missing or damaged"):
        check_files(tmp_path / "out")
    export_index(sources["bm25"], "sqlite", tmp_path / "kit")
    (tmp_path / "kit" / "query_kit" / "query_kit.json").write_text("[]")
    with pytest.raises(CorruptIndexError, match="query kit"):
        check_export(sources["bm25"], tmp_path / "kit", QUERIES)


def test_patterns_of_addresses_have_no_forms(sources: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="pattern of addresses"):
        export_index(sources["bm25"], "web", tmp_path / "web", settings={"url": "{doc_id!r:>9999999999}"})
