"""Commands on mixtures with feedback and with parts that only score: instant and best-large with small encoders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.encode import tiny

import termwise
from termwise import BuildOptions, Document, Searcher, build_index, open_writer
from termwise.cli.main import run
from termwise.encode import open_document_encoder
from termwise.errors import MissingFileError, ParameterError
from termwise.indexing import build_graph
from termwise.models import Lookup
from termwise.search import Feedback, Search

TEXTS = {"a": "merge list list", "b": "sort the list", "c": "cat and dog", "d": "dog list", "e": "merge cat"}
QUERY = "merge list"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("termwise.encode.encoder_folder._shipped_root", lambda: tmp_path / "models")
    random = np.random.default_rng(5)
    for name in ("lookup", "granite"):
        table = random.normal(size=(len(tiny.PIECES), 2)).astype(np.float32)
        tiny.lookup_folder(tmp_path / "models" / name, table=table, positions=64, length=64)
    records = [json.dumps({"_id": doc_id, "text": text}) for doc_id, text in TEXTS.items()]
    (tmp_path / "docs.jsonl").write_text("\n".join(records) + "\n")
    (tmp_path / "queries.tsv").write_text(f"q1\t{QUERY}\n")
    for model in ("instant", "best", "best-large"):
        assert run(["index", "docs.jsonl", "--model", model, "--out", f"{model}.tw"]) == 0
    capsys.readouterr()
    return tmp_path


def ranked(searcher: Searcher, search: Search) -> dict[str, float]:
    ranking = searcher.search(search).ranking
    return dict(zip(ranking.doc_ids, ranking.scores, strict=True))


def scores(capsys: Any, *command: str) -> dict[str, float]:
    assert run(["search", *command, "--json"]) == 0
    *found, _ = map(json.loads, capsys.readouterr().out.splitlines())
    return {each["doc_id"]: each["score"] for each in found}


@pytest.mark.parametrize("model", ["instant", "best", "best-large"])
def test_every_command_does_without_feedback(place: Path, capsys: Any, model: str) -> None:
    folder = f"{model}.tw"
    searcher = termwise.open(folder)
    without = ranked(searcher, Search(QUERY, feedback=False))
    with_feedback = ranked(searcher, Search(QUERY))
    assert with_feedback != without
    assert scores(capsys, folder, QUERY) == pytest.approx(with_feedback)
    assert scores(capsys, folder, QUERY, "--no-feedback") == pytest.approx(without)
    assert run(["explain", folder, QUERY, "a", "--json", "--no-feedback"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert explained["score"] == pytest.approx(without["a"])
    assert all(each["origin"] != "feedback" for each in explained["contributions"])
    for command in (["rank"], ["rerank", "--run", "ranked.trec"]):
        out = "ranked.trec" if command == ["rank"] else "again.trec"
        given = [*command, folder, "--queries", "queries.tsv", "--out", out, "--overwrite"]
        for options, expected in (([], with_feedback), (["--no-feedback"], without)):
            assert run([*given, *options]) == 0
            found = {line.split()[2]: float(line.split()[4]) for line in Path(out).read_text().splitlines()}
            assert found == pytest.approx(expected, abs=1e-4)


def test_the_line_of_a_search_adds_up_feedback_of_all_parts(place: Path, capsys: Any) -> None:
    assert run(["search", "best-large.tw", QUERY, "--explain", "-k", "1"]) == 0
    assert capsys.readouterr().out.count("similar to") == 1


def test_work_folders_of_two_networks(place: Path, capsys: Any) -> None:
    given = ["index", "docs.jsonl", "--model", "best-large", "--encoding", "work"]
    assert run([*given, "--out", "one.tw"]) == 0
    assert "resuming" not in capsys.readouterr().err
    assert sorted(path.name for path in Path("work").iterdir()) == ["granite", "lookup"]
    assert run([*given, "--out", "two.tw"]) == 0
    error = capsys.readouterr().err
    for part in ("lookup", "granite"):
        assert f"texts of 1 finished block in {Path('work') / part} are not encoded again" in error
    assert list(termwise.open("one.tw").rank(QUERY)) == list(termwise.open("best-large.tw").rank(QUERY))
    assert run(["encode", "docs.jsonl", "--model", "lookup", "--encoding", "rows/lookup"]) == 0
    granite = ["--set", "encoder=granite", "--encoding", "rows/granite"]
    assert run(["encode", "docs.jsonl", "--model", "lookup", *granite]) == 0
    capsys.readouterr()
    assert run([*given[:-1], "rows", "--out", "three.tw"]) == 0
    assert capsys.readouterr().err.count("not encoded again") == 2


def test_encoding_of_a_mixture_names_its_parts(place: Path, capsys: Any) -> None:
    assert run(["encode", "docs.jsonl", "--model", "best-large", "--encoding", "rows"]) == 2
    error = capsys.readouterr().err
    assert "bm25, lookup, granite" in error
    assert "--model lookup" in error
    assert run(["encode", "docs.jsonl", "--model", "instant", "--encoding", "rows"]) == 2
    error = capsys.readouterr().err
    assert "bm25, table" in error
    assert "encoded documents" not in error


def test_one_encoder_for_two_networks_is_refused(place: Path) -> None:
    encoder = open_document_encoder(Lookup())
    documents = [Document(doc_id, text) for doc_id, text in TEXTS.items()]
    with pytest.raises(ParameterError, match="no common encoder"):
        build_index(documents, "new.tw", model="best-large", options=BuildOptions(encoder=encoder))
    with pytest.raises(ParameterError, match="no common encoder"):
        open_writer("best-large.tw", encoder=encoder)
    with open_writer("best.tw", encoder=encoder) as writer:
        writer.delete(["a"])
    assert termwise.open("best.tw").documents == 4


def test_options_of_networks_are_refused_for_a_mixture_without_one(place: Path, capsys: Any) -> None:
    Path("more.jsonl").write_text('{"_id": "f", "text": "dog"}\n')
    assert run(["add", "instant.tw", "more.jsonl", "--precision", "float32"]) == 2
    error = capsys.readouterr().err
    assert "these arguments require a model with a network" in error
    assert "omit --precision" in error
    assert run(["add", "instant.tw", "more.jsonl", "--provider", "cpu"]) == 2
    assert "omit --provider" in capsys.readouterr().err
    with pytest.raises(ParameterError, match="require a model with a network"):
        open_writer("instant.tw", providers=("CPUExecutionProvider",))
    assert run(["add", "instant.tw", "more.jsonl"]) == 0
    assert termwise.open("instant.tw").documents == 6


def test_a_graph_of_a_part_that_finds_no_candidates_is_not_needed(place: Path) -> None:
    search = Search(QUERY, approximate=3)
    with pytest.raises(MissingFileError):
        ranked(termwise.open("best-large.tw"), search)
    built = build_graph("best-large.tw")
    assert {path.parent.name for path in built} == {"lookup"}
    assert len(ranked(termwise.open("best-large.tw"), search)) == 5
    only = Searcher.mix(
        {"bm25": termwise.open("best.tw/bm25"), "lookup": termwise.open("best.tw/lookup")},
        [0.5, 0.5],
        only_scoring=["lookup"],
    )
    with pytest.raises(ParameterError, match="finds candidates by them"):
        only.search(search)


def test_parts_keep_their_flags_when_they_are_renamed(place: Path, capsys: Any) -> None:
    fuse = ["fuse-indexes", "best-large.tw", "granite.tw", "--weights", "0.2,0.4,0.3,0.1", "--out", "m.tw"]
    build = ["index", "docs.jsonl", "--model", "lookup", "--set", "encoder=granite", "--out", "granite.tw"]
    assert run(build) == 0
    assert run(fuse) == 0
    parts = termwise.open("m.tw").parts
    assert [(part.name, part.retrieves) for part in parts] == [
        ("bm25", True),
        ("lookup", True),
        ("granite", False),
        ("granite-2", True),
    ]
    capsys.readouterr()
    assert run([*fuse, "--overwrite", "--only-scoring", "granite"]) == 2
    error = capsys.readouterr().err
    assert "2 parts have the name that --only-scoring gives" in error
    assert "--only-scoring granite-2" in error
    assert run([*fuse, "--overwrite", "--only-scoring", "granite-2"]) == 0
    assert [part.retrieves for part in termwise.open("m.tw").parts] == [True, True, False, False]
    capsys.readouterr()
    assert run([*fuse, "--overwrite", "--only-scoring", "granite.tw"]) == 2
    error = capsys.readouterr().err
    assert "no part has the name that --only-scoring gives" in error
    assert "bm25, lookup, granite, granite-2" in error
    assert run([*fuse, "--overwrite", "--only-scoring", "lookup"]) == 0
    assert [part.retrieves for part in termwise.open("m.tw").parts] == [True, False, False, True]


def test_feedback_of_a_fused_mixture(place: Path, capsys: Any) -> None:
    fuse = ["fuse-indexes", "best.tw", "--weights", "0.5,0.5", "--out", "m.tw", "--overwrite"]
    for options, expected in (
        ([], Feedback()),
        (["--no-feedback"], None),
        (["--feedback"], Feedback()),
    ):
        assert run([*fuse, *options]) == 0
        assert termwise.open("m.tw").backend.feedback == expected  # type: ignore[union-attr]
    # Without vectors there is none.
    assert run(["fuse-indexes", "best.tw", "--weights", "1,0", "--out", "m.tw", "--overwrite"]) == 0
    assert termwise.open("m.tw").backend.feedback is None  # type: ignore[union-attr]
    assert run([*fuse[:3], "1,0", *fuse[4:], "--feedback"]) == 2
    error = capsys.readouterr().err
    assert "feedback moves queries by vectors" in error
    assert "omit --feedback" in error
    # Two mixtures with different settings.
    parts = {name: termwise.open(f"best.tw/{name}") for name in ("bm25", "lookup")}
    termwise.fusion.mix_indexes(
        [part.index for part in parts.values()], [0.5, 0.5], "other.tw", feedback=Feedback(3, 0.5)
    )
    both = ["fuse-indexes", "best.tw", "other.tw", "--weights", "1,1,1,1", "--out", "n.tw"]
    assert run(both) == 2
    error = capsys.readouterr().err
    assert "different settings of feedback" in error
    assert "3 documents, weight 0.5" in error
    assert run([*both, "--no-feedback"]) == 0


def test_a_fix_builds_the_same_mixture(place: Path, capsys: Any) -> None:
    assert run(["index", "docs.jsonl", "--model", "best-large", "--set", "k1=1", "--out", "n.tw"]) == 2
    error = capsys.readouterr().err
    assert "granite.tw with --model lookup --set encoder=granite" in error
    command = error.partition("mix them: termwise ")[2].splitlines()[0].split()
    for name, options in (("bm25", []), ("lookup", []), ("granite", ["--set", "encoder=granite"])):
        model = "bm25" if name == "bm25" else "lookup"
        assert run(["index", "docs.jsonl", "--model", model, *options, "--out", f"{name}.tw"]) == 0
    assert run(command) == 0
    assert list(termwise.open("n.tw").rank(QUERY)) == list(termwise.open("best-large.tw").rank(QUERY))


def test_a_name_of_many_first_documents_is_short(place: Path) -> None:
    parts = {name: termwise.open(f"best.tw/{name}") for name in ("bm25", "lookup")}
    mixture = Searcher.mix(parts, [0.5, 0.5], feedback=Feedback(documents=4))
    (name,) = [each.term for each in mixture.explain(QUERY, "a").contributions if each.origin == "feedback"]
    assert name.startswith("similar to ")
    assert name.endswith(" and 2 more")
