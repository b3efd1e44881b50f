"""Folders of exports: resumption, refusals, and the commands."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.export.sources import QUERIES

import termwise
import termwise.filters
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
from termwise.export import (
    ExportSource,
    LinearForm,
    check_export,
    export_changes,
    export_index,
    make_target,
    measured_scales,
    translated_filter,
)
from termwise.export.check import check_files, compare_rankings, open_engine, program
from termwise.export.contents import SCRIPTS
from termwise.export.folder import one_writer
from termwise.export.targets import jsonl
from termwise.export.targets.registry import TARGETS, target_class
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


@pytest.mark.parametrize("name", ["export.json", ".export.json"])
@pytest.mark.parametrize(
    "record", ['{"a": 1}', "{", '{"format": "termwise-export", "version": 99}', '{"version": 1}']
)
def test_records_of_other_programs(sources: dict[str, Path], tmp_path: Path, name: str, record: str) -> None:
    files = {"data/x": "mine", "README.md": "mine", name: record}
    (tmp_path / "data").mkdir()
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    for overwrite in (False, True):
        with pytest.raises(ForeignFolderError, match="nothing was changed"):
            export_index(sources["bm25"], "sqlite", tmp_path, overwrite=overwrite)
    assert {file: (tmp_path / file).read_text() for file in files} == files


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
    same = compare_rankings(ours, [("a", 4.0), ("b", 3.0), ("c", 3.0), ("d", 1.0)], 4)
    assert (same.identical, same.overlap, same.difference, same.tau) == (True, 1.0, 0.0, 1.0)
    other = compare_rankings(ours, [("a", 4.0), ("c", 3.0), ("b", 3.0), ("e", 1.0)], 4)
    assert (other.identical, other.overlap) == (True, 0.75)  # e has the score of the last one
    uncut = compare_rankings(ours, [("a", 4.0), ("c", 3.0), ("b", 3.0), ("e", 1.0)], 5)
    assert (uncut.identical, uncut.overlap) == (False, 0.75)  # there was room for d
    shorter = compare_rankings(ours, [("a", 4.0), ("b", 3.0)], 4)
    assert (shorter.identical, shorter.overlap) == (False, 0.5)
    twice = compare_rankings(ours, [("a", 4.0), ("b", 3.0), ("b", 3.0), ("d", 1.0)], 4)
    assert not twice.identical
    wrong = compare_rankings(ours, [("b", 3.0), ("a", 4.0), ("c", 3.0), ("d", 1.0)], 4)
    assert not wrong.identical
    scored = compare_rankings(ours, [("a", 4.0), ("b", 3.0), ("c", 3.0), ("d", 1.1)], 4)
    assert (scored.identical, scored.difference) == (False, pytest.approx(0.025))
    assert compare_rankings(Ranking([], []), [], 4).identical


def test_engines_that_fail(sources: dict[str, Path], tmp_path: Path) -> None:
    export_index(sources["bm25"], "sqlite", tmp_path / "out")
    (tmp_path / "x.sqlite").write_bytes(b"no database, but a file of some length")
    with pytest.raises(EngineError, match="cannot be reached") as caught:
        check_export(sources["bm25"], tmp_path / "out", QUERIES, at=str(tmp_path / "x.sqlite"))
    assert dict(caught.value.facts)["reason"] == "DatabaseError: file is not a database"
    with pytest.raises(ParameterError, match="k cannot have this value"):
        check_export(sources["bm25"], tmp_path / "out", QUERIES, k=10**21)
    with (
        pytest.raises(EngineError, match="there is no such file"),
        open_engine(tmp_path / "out", "no.sqlite") as engine,
    ):
        engine.load(print)
    (tmp_path / "out" / "linear_sql.py").rename(tmp_path / "linear_sql.py")
    with pytest.raises(MissingFileError, match="a program of the export is missing") as missing:
        check_export(sources["bm25"], tmp_path / "out", QUERIES)
    assert dict(missing.value.facts)["file"] == tmp_path / "out" / "linear_sql.py"
    export_index(sources["bm25"], "jsonl", tmp_path / "lines")
    with pytest.raises(ParameterError, match="file format") as caught:
        check_export(sources["bm25"], tmp_path / "lines", QUERIES)
    assert "an engine, such as sqlite" in str(caught.value.fixes[0])
    (tmp_path / "lines" / "export.json").write_text("{")
    with pytest.raises(CorruptIndexError, match="damaged"):
        check_export(sources["bm25"], tmp_path / "lines", QUERIES)
    with pytest.raises(ParameterError, match="at least one query"):
        check_export(sources["bm25"], tmp_path / "out", [])
    shutil.copytree(sources["bm25"], tmp_path / "other")
    with termwise.open_writer(tmp_path / "other") as writer:
        writer.add([termwise.Document("new", "sort")])
    with pytest.raises(ParameterError, match="before its last change") as caught:
        check_export(tmp_path / "other", tmp_path / "out", QUERIES)
    assert "export_changes(" in str(caught.value.fixes[0])
    termwise.build_index([termwise.Document("a", "tea")], tmp_path / "tea", model="bm25")
    with pytest.raises(ParameterError, match="another index") as caught:  # both have generation 0
        check_export(tmp_path / "tea", tmp_path / "out", QUERIES)
    assert caught.value.fixes[0] == "give the index that was exported"


def test_a_damaged_state_is_told(sources: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(sources["bm25"], tmp_path / "index")
    export_index(tmp_path / "index", "sqlite", tmp_path / "out")
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.add([termwise.Document("new", "sort")])
    (tmp_path / "out" / "state" / "0" / "rows.npy").write_bytes(b"x")
    with pytest.raises(CorruptIndexError, match="state of the export"):
        export_changes(tmp_path / "index", tmp_path / "out", since=0)
    with pytest.raises(MissingFileError, match="no finished export"):
        export_changes(tmp_path / "index", tmp_path / "none", since=0)
    with pytest.raises(ParameterError, match="another index"):
        export_changes(sources["instant"], tmp_path / "out", since=0)
    with pytest.raises(ParameterError, match="another index"):
        export_changes(sources["dirichlet"], tmp_path / "out", since=0)
    described = json.loads((tmp_path / "out" / "export.json").read_bytes())
    (tmp_path / "out" / "export.json").write_text(json.dumps({**described, "settings": {"shards": 2}}))
    with pytest.raises(CorruptIndexError, match="unknown target or setting"):
        export_changes(tmp_path / "index", tmp_path / "out", since=0)


MISSING: Any = object()

WRONG: tuple[Any, ...] = (MISSING, [], 99, {})

DAMAGES: list[tuple[tuple[str | int, ...], Any]] = [
    *(((name,), value) for name in ("format", "version", "target") for value in WRONG),
    (("version",), True),
    *(((name,), MISSING) for name in ("origin", "source", "generation", "schema", "files", "settings")),
    *((("parts",), value) for value in (None, [], [3], [{}])),
    *((("parts", 0, name), MISSING) for name in ("name", "scale", "field", "kind", "terms", "integer")),
    *((("parts", 0, "scale"), value) for value in ("1", 0, -1)),
    *((("files",), value) for value in (None, {"data/x": None}, {"data/x": {"bytes": 1, "sha256": 3}})),
    *((("schema",), value) for value in (None, {"lang": "text"}, {"lang": 3})),
    *((("changes",), value) for value in (None, [3], ["../0-1"])),
    (("origin",), 3),
    (("generation",), "0"),
]


@pytest.mark.parametrize(("place", "value"), DAMAGES)
def test_damaged_descriptions(
    bm25_export: Path, sources: dict[str, Path], tmp_path: Path, place: tuple[Any, ...], value: Any
) -> None:
    out = tmp_path / "out"
    shutil.copytree(bm25_export, out)
    described = json.loads((out / "export.json").read_bytes())
    *outer, last = place
    inner = described
    for name in outer:
        inner = inner[name]
    if value is MISSING:
        del inner[last]
    else:
        inner[last] = value
    (out / "export.json").write_text(json.dumps(described))
    before = contents(out)
    for use in (
        lambda: export_changes(sources["bm25"], out, since=0),
        lambda: check_export(sources["bm25"], out, QUERIES),
        lambda: translated_filter(out, "year > 2000"),
    ):
        with pytest.raises(CorruptIndexError):
            use()
    assert contents(out) == before


@pytest.fixture(scope="module")
def bm25_export(sources: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bm25") / "out"
    export_index(sources["bm25"], "sqlite", out)
    return out


def test_commands(sources: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, queries = tmp_path / "out", tmp_path / "queries.tsv"
    queries.write_text("".join(f"{query.query_id}\t{query.text}\n" for query in QUERIES[:3]))
    index = str(sources["instant"])
    assert run(["export", index, "--to", "duckdb", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "240 documents" in said.out
    assert f'next: python {out}/client.py search "your question"; ' in said.err  # nothing is loaded
    assert (
        run(["export-check", index, str(out), "--queries", str(queries), "-k", "20", "--json", "--load"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["exact"] is True
    assert found["native_overlap"] > 0.5
    assert found["is_mixture"] is True
    check = ["export-check", index, str(out), "--queries", str(queries)]
    assert run([*check, "--filter", "year > 2000"]) == 0  # 1,000 results of 240 documents
    shown = capsys.readouterr().out
    assert "identical order" in shown
    assert "not measured: -k is not below the number of documents" in shown
    assert run([*check, "-k", "240", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["native_overlap"] is None
    assert run([*check, "-k", "239"]) == 0
    assert "not measured" not in capsys.readouterr().out
    assert run(["export", index, "--to", "sqlite", "--set", "schema=x", "--out", str(tmp_path / "no")]) == 2
    assert "omit --set\n" in capsys.readouterr().err
    assert run(["export", index, "--out", str(out), "--since", "last"]) == 0
    assert "0 rows changed and 0 deleted since generation 0" in capsys.readouterr().out
    assert run(["export", index, "--out", str(out), "--since", "1"]) == 2
    assert f"termwise export {index} --out {out} --since last" in capsys.readouterr().err
    for wrong in ("first", "9" * 5000):
        assert run(["export", index, "--out", str(out), "--since", wrong]) == 2
        assert "--since last" in capsys.readouterr().err
    assert run(["export", index, "--to", "duckdb", "--out", str(out), "--since", "0"]) == 0
    assert run(["export", index, "--to", "sqlite", "--out", str(out), "--since", "0"]) == 2
    assert "target there  duckdb" in capsys.readouterr().err
    assert run(["export", index, "--out", str(out), "--since", "0", "--overwrite"]) == 2
    assert "--overwrite does not apply" in capsys.readouterr().err
    assert run(["export", index, "--to", "duckdb"]) == 2
    assert "--out" in capsys.readouterr().err
    assert run(["export", index, "--out", str(out)]) == 2
    assert "a new export needs a target" in capsys.readouterr().err
    assert (
        run(["export", index, "--to", "duckdb", "--out", str(out), "--scale", "bm25=x", "--overwrite"]) == 2
    )
    assert run(["export", index, "--to", "duckdb", "--out", str(out)]) == 2
    assert f"termwise export {index} --out {out} --since last" in capsys.readouterr().err


def test_the_list_of_targets_has_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--to", "list", "--json"]) == 0
    listed = {each["target"]: each for each in map(json.loads, capsys.readouterr().out.splitlines())}
    assert list(listed) == list(TARGETS)
    for name, each in listed.items():
        kind = target_class(name)
        assert {one["name"]: one["default"] for one in each["settings"]} == vars(kind())
        assert all(one["meaning"] and one["values"] for one in each["settings"])
    assert run(["export", "--to", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "sqlite         SQLite" in lines
    place = lines.index("elasticsearch  Elasticsearch")
    assert lines[place + 1].split() == (
        [
            "--set",
            "shards=1",
            "number",
            "of",
            "primary",
            "shards",
            "[a",
            "whole",
            "number",
            "from",
            "1",
            "to",
            "1,024]",
        ]
    )
    assert run(["export"]) == 2
    assert "--to list" in capsys.readouterr().err


def test_settings_of_an_export_of_changes(
    sources: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(sources["bm25"], tmp_path / "index")
    index, out = str(tmp_path / "index"), str(tmp_path / "out")
    export_index(index, "jsonl", out, settings={"weights": "impacts"})
    with termwise.open_writer(index) as writer:
        writer.add([termwise.Document("new", "sort")])
    changes = ["export", index, "--out", out, "--since", "0"]
    assert run([*changes, "--set", "weights=real"]) == 2
    assert "weights there  impacts" in capsys.readouterr().err
    assert run([*changes, "--set", "weights=impacts"]) == 0
    assert "client.py" not in capsys.readouterr().err  # a file format has none
    (file,) = (
        each for each in (tmp_path / "out" / "changes" / "0-1").iterdir() if "deleted" not in each.name
    )
    assert all(isinstance(weight, int) for weight in json.loads(file.read_text())["vector"].values())


def test_the_scales_of_an_export_of_changes_are_those_of_the_export(
    sources: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(sources["instant"], tmp_path / "index")
    scales = {"bm25": 2.0, "table": 0.5}
    export_index(tmp_path / "index", "duckdb", tmp_path / "out", scales=scales)
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.add([termwise.Document("new", "sort")])
    assert export_changes(tmp_path / "index", tmp_path / "out", since=0)["changed"] == 1
    described = json.loads((tmp_path / "out" / "export.json").read_bytes())
    assert {part["name"]: part["scale"] for part in described["parts"]} == scales


@pytest.mark.parametrize("to", ["sqlite", "qdrant"])
def test_a_filter_for_the_program_of_an_export(
    sources: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], to: str
) -> None:
    out = tmp_path / "out"
    export_index(sources["bm25"], to, out)
    assert run(["export-filter", str(out), "year > 2000"]) == 0
    printed = capsys.readouterr().out.removesuffix("\n")
    with open_engine(out, f"path:{tmp_path / 'store'}" if to == "qdrant" else None) as engine:
        parsed = engine.parsed_filter(printed)  # type: ignore[attr-defined]
        engine.load(lambda line: None)
        kit = program(out / "query_kit" / "query_kit.py").QueryKit(out / "query_kit")
        found = engine.search(kit.query("sort a list"), 1000, parsed)
    expected = termwise.open(sources["bm25"]).rank("sort a list", k=1000, filter="year > 2000")
    assert 0 < len(found) < 240
    assert [doc_id for doc_id, _ in found] == list(expected.doc_ids)
    assert run(["export-filter", str(out), "yeer > 2000"]) == 2
    assert "yeer" in capsys.readouterr().err


def client(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program of an export, in a Python that has no packages."""
    command = [sys.executable, "-S", "-E", str(out / "client.py"), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_filters_of_the_program_are_checked(sources: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_index(sources["bm25"], "sqlite", out)
    for empty in ("", " \n"):
        refused = client(out, "search", "sort a list", "--filter", empty)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "--filter is empty" in refused.stderr
    refused = client(out, "search", "sort a list", "--filter", "price < 10")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert "no such column: price" in refused.stderr
    assert f"termwise export-filter {out} 'price < 10'" in refused.stderr
    parsed_filter = program(SCRIPTS / "client.py").parsed_filter
    engine = SimpleNamespace(parsed_filter=json.loads)  # as those of OpenSearch, Elasticsearch and Qdrant
    assert parsed_filter(engine, '{"term": {"a": 1}}') == {"term": {"a": 1}}
    for wrong in ("price < 10", "[]", "null", "{}", "5", '"price"'):
        with pytest.raises(SystemExit, match="not in the form of the engine"):
            parsed_filter(engine, wrong)


def test_the_program_says_what_to_install_or_remove(sources: dict[str, Path], tmp_path: Path) -> None:
    export_index(sources["bm25"], "opensearch", tmp_path / "opensearch")
    told = client(tmp_path / "opensearch", "search", "sort")
    assert told.returncode == 4
    assert told.stderr == "client.py: No module named 'opensearchpy': pip install opensearch-py\n"
    export_index(sources["bm25"], "sqlite", tmp_path / "sqlite")
    nothing = client(tmp_path / "sqlite", "search", "zzz")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "no results\n")
    assert "--replace" not in client(tmp_path / "sqlite", "load", "--help").stdout
    export_index(sources["bm25"], "postgresql", tmp_path / "postgresql")
    assert "--replace" in client(tmp_path / "postgresql", "load", "--help").stdout


@pytest.mark.parametrize("to", [name for name in TARGETS if target_class(name).engine])
def test_the_readme_shows_how_the_program_is_used(sources: dict[str, Path], tmp_path: Path, to: str) -> None:
    export_index(sources["bm25"], to, tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    packages = {"opensearch": "opensearch-py", "duckdb": "duckdb", "milvus": "pymilvus", "sqlite": None}
    if to in packages:
        assert (f"pip install {packages[to]}\n" in text) == (packages[to] is not None)
    assert ("python client.py load" in text) == (to not in ("sqlite", "duckdb"))
    assert "LOCATION is " in text
    assert "default" in text
    assert ("update changes/A-B" in text) == (to != "anserini")
    if to != "anserini":
        condition = translated_filter(tmp_path / "out", termwise.filters.Exists("day"))
        shown = condition if isinstance(condition, str) else json.dumps(condition)
        assert f"--filter {quote(shown)}`" in text
        field = "attributes." if to == "qdrant" else "attribute_"
        names = text.partition("Names of tables and fields, from ")[2].partition("\n")[0]
        assert {f"{field}{name}" for name in ("day", "lang", "ok", "price", "tags", "year")} < {
            *re.split(r"[ ,]+", names)
        }
        assert "bm25" in names


def test_languages_that_the_query_kit_cannot_reproduce(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    texts = ("les chevaux nationaux", "une utilisation nationale", "le cheval")
    documents = [termwise.Document(f"d{number}", text) for number, text in enumerate(texts)]
    searcher = termwise.build_index(documents, tmp_path / "index", model="bm25", analyzer="french")
    out = tmp_path / "out"
    export_index(tmp_path / "index", "sqlite", out)
    assert not (out / "query_kit").exists()
    found = check_export(tmp_path / "index", out, [termwise.Query("1", "cheval national")])
    assert (found.is_exact, found.results) == (True, 3)
    search = [sys.executable, str(out / "client.py"), "search", "cheval"]
    told = subprocess.run(search, check=False, capture_output=True, text=True)
    assert told.returncode == 1
    assert told.stderr.startswith("client.py: this export has no query kit: queries are computed by termwise")
    readme = (out / "README.md").read_text()
    code = readme.partition("```python\n")[2].partition("```")[0]
    code = code.replace("INDEX", str(tmp_path / "index")).replace("your question", "cheval national")
    *lines, last = code.splitlines()
    run_here = "\n".join([*lines, f"print({last})"])
    shown = subprocess.run(
        [sys.executable, "-c", run_here], cwd=out, check=True, capture_output=True, text=True
    )
    expected = searcher.rank("cheval national")
    assert shown.stdout.startswith(f"[('{expected.doc_ids[0]}', {expected.scores[0]}")


def test_a_link_to_no_folder(sources: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "none")
    with pytest.raises(ForeignFolderError, match="a link to a folder that does not exist"):
        export_index(sources["bm25"], "sqlite", tmp_path / "link")
    (tmp_path / "none").mkdir()
    export_index(sources["bm25"], "sqlite", tmp_path / "link")
    assert (tmp_path / "none" / "export.json").is_file()


def test_texts_that_sql_cannot_have(sources: dict[str, Path], tmp_path: Path) -> None:
    export_index(sources["bm25"], "postgresql", tmp_path / "out")
    for value in ("a\0b", "\0"):
        with pytest.raises(ParameterError, match="NUL"):
            translated_filter(tmp_path / "out", termwise.filters.Equals("lang", value))


@pytest.mark.parametrize("name", ["", "a/b", "a\nb", "x" * 256, "a:b"])
def test_names_of_collections_of_qdrant(sources: dict[str, Path], tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="name of a collection"):
        export_index(sources["bm25"], "qdrant", tmp_path / "out", settings={"collection": name})


@pytest.mark.parametrize("to", ["qdrant", "milvus", "vespa", "elasticsearch"])
def test_what_no_server_has_run_is_stated(sources: dict[str, Path], tmp_path: Path, to: str) -> None:
    export_index(sources["bm25"], to, tmp_path / "out")
    lines = (tmp_path / "out" / "README.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if "| untested |" in line]
    assert f"not run against a server of {make_target(to).title};" in line


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
        export_changes(tmp_path / "index", tmp_path / "out", since=0)
    made = [termwise.Document("a", "tea", {"price": 1})]
    termwise.build_index(made, tmp_path / "index", model="bm25", attributes="all", overwrite=True)
    with pytest.raises(ParameterError, match="another index") as caught:
        export_changes(tmp_path / "index", tmp_path / "out", since=0)
    assert "schema" in caught.value.render()


def test_an_index_that_was_built_anew_and_changed_is_no_change(tmp_path: Path) -> None:
    """The new terms have the numbers of the old ones, so the rows of both indexes are equal."""
    index = tmp_path / "index"
    for text in ("green tea", "blue cup"):
        termwise.build_index([termwise.Document("a", text)], index, model="bm25", overwrite=True)
        if text == "green tea":
            export_index(index, "jsonl", tmp_path / "out")
    with termwise.open_writer(index) as writer:
        writer.add([termwise.Document("z", "pot")])
    with pytest.raises(ParameterError, match="built anew"):
        export_changes(index, tmp_path / "out", since=0)


def test_an_export_follows_weights_that_were_computed_again(tmp_path: Path) -> None:
    """All rows are other ones; a merge of all segments gives the terms other numbers, which an export cannot follow."""
    path, out = tmp_path / "i", tmp_path / "out"
    termwise.build_index([termwise.Document("a", "green tea"), termwise.Document("b", "a red pot")], path)
    export_index(path, "jsonl", out)
    with termwise.open_writer(path) as writer:
        writer.add([termwise.Document("c", "a cup of black tea")])
    assert writer.index.manifest.encoder.statistics["documents"] == 3
    assert export_changes(path, out)["changed"] == 3
    with termwise.open_writer(path) as writer:
        writer.merge()
    with pytest.raises(ParameterError, match="built anew"):
        export_changes(path, out)


@pytest.mark.usefixtures("no_counts")
def test_added_terms_are_those_of_the_export(tmp_path: Path) -> None:
    for name, word in (("one", "pot"), ("other", "jug")):
        index = tmp_path / name
        termwise.build_index([termwise.Document("a", "green tea")], index, model="bm25")
        for number in range(3):  # more terms share a file
            with termwise.open_writer(index) as writer:
                writer.add([termwise.Document(f"z{number}", f"{word}{number}")])
            if name == "one" and number == 0:
                export_index(index, "jsonl", tmp_path / "out")
    with pytest.raises(ParameterError, match="built anew"):
        export_changes(tmp_path / "other", tmp_path / "out", since=1)
    assert export_changes(tmp_path / "one", tmp_path / "out", since=1)["changed"] == 2


@pytest.mark.usefixtures("no_counts")
def test_an_interrupted_export_of_changes_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, out = tmp_path / "index", tmp_path / "out"
    termwise.build_index([termwise.Document("a", "green tea")], index, model="bm25")
    export_index(index, "sqlite", out)

    def add(text: str) -> None:
        with termwise.open_writer(index) as writer:
            writer.add([termwise.Document(text, text)])

    def client(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(out / "client.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def interrupted(*_: Any) -> None:
        raise Interrupted

    add("pot")
    with monkeypatch.context() as patch:
        patch.setattr("termwise.export.folder.write_bytes_whole", interrupted)
        with pytest.raises(Interrupted):
            export_changes(index, out, since=0)
    assert (out / "changes" / "0-1").is_dir()
    shutil.copytree(out / "changes" / "0-1", tmp_path / "orphan" / "0-1")
    refused = client("update", str(out / "changes" / "0-1"))
    assert refused.returncode != 0
    assert "no changes of this export, which has none" in refused.stderr
    add("cup")
    assert export_changes(index, out, since=0)["folder"] == "changes/0-2"
    assert [path.name for path in (out / "changes").iterdir()] == ["0-2"]
    assert [path.name for path in (out / "state").iterdir()] == ["2"]
    described = json.loads((out / "export.json").read_bytes())["files"]
    assert all((out / name).is_file() for name in described)
    assert client("update", str(tmp_path / "orphan" / "0-1")).returncode != 0
    assert client("update", str(out / "changes" / "0-2")).returncode == 0
    assert check_export(index, out, QUERIES).is_exact


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
