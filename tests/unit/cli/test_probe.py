"""``termwise probe``: from a ranker's name to a report."""

from __future__ import annotations

import json
import re
import shutil
import sys
from datetime import date
from types import SimpleNamespace

import pytest

from termwise.cli.main import run as termwise
from termwise.collection import write_run
from termwise.records import Ranking, Run

pytest.importorskip("codespell_lib")

TEXTS = {
    "d1": "A cat sleeps on the warm roof. It dreams of mice and of birds in the garden.",
    "d2": "The dog barks at the mailman every morning. Nobody knows why.",
    "d3": "Cats and dogs can live in one house. A cat needs a quiet place of its own.",
    "d4": "Roofs of tin are warm in summer. They rust after some years.",
    "d5": "The garden has three old apple trees.",
}
SUITE = ["--suite", "probe:shuffle-words", "--suite", "probe:tf-by-*", "--suite", "probe:stuffing-append-1"]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "pets"
    (folder / "qrels").mkdir(parents=True)
    write = {
        "corpus.jsonl": [{"_id": doc_id, "title": "", "text": text} for doc_id, text in TEXTS.items()],
        "queries.jsonl": [
            {"_id": "q1", "text": "where do cats sleep"},
            {"_id": "q2", "text": "dogs and the garden"},
        ],
    }
    for name, rows in write.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = [
        ("q1", "d1", 2),
        ("q1", "d3", 1),
        ("q1", "d4", 0),
        ("q2", "d2", 1),
        ("q2", "d3", 2),
        ("q2", "d5", 0),
    ]
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in judged)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    return folder


def probe(*arguments):
    return termwise(["probe", "--language", "rules", *map(str, arguments)])


def cells(text):
    found = [json.loads(line) for line in text.splitlines()]
    return {(cell["probe"], cell["scorer"]): cell for cell in found}


def test_scores_are_printed(folder, capsys):
    assert probe("bm25", "--judged", folder, *SUITE) == 0
    out, err = capsys.readouterr()
    assert "Words shuffled" in out
    assert "shuffle-words" not in out
    assert probe("bm25", "--judged", folder, *SUITE, "--names") == 0
    assert re.search(r"\nshuffle-words +pets", capsys.readouterr().out)
    assert "Tie threshold δ: bm25" in " ".join(out.split())
    assert "--out DIR" in err


def test_differences_between_rankers_are_printed(folder, monkeypatch, capsys):
    (folder.parent / "long_and_short.py").write_text(
        "import numpy as np\n"
        "def length(queries, texts):\n    return np.array([float(len(text)) for text in texts])\n"
        "def shortness(queries, texts):\n    return -length(queries, texts)\n"
    )
    monkeypatch.chdir(folder.parent)
    given = ["--judged", folder, "--delta", "0.5", "--suite", "probe:length-doubled@written"]
    rankers = [("a", "length"), ("b", "shortness"), ("c", "length")]
    assert probe(*(f"{name}=python:long_and_short:{of}" for name, of in rankers), *given) == 0
    err = capsys.readouterr().err
    assert "b against a: differs most on length-doubled@written −2.00" in err
    assert "c against a: no difference is significant" in err


def test_a_median_gap_of_0_is_noted(folder, monkeypatch, capsys):
    (folder.parent / "coarse.py").write_text(
        "def score(queries, texts):\n    return [float(len(text) > 10**6) for text in texts]\n"
    )
    monkeypatch.chdir(folder.parent)
    given = ["bm25", "python:coarse:score", "--judged", folder, *SUITE]
    assert probe(*given) == 0
    err = capsys.readouterr().err
    assert "\nscore: half of the neighbours at the top of the rankings have equal scores" in err
    assert probe(*given, "--delta", "0") == 0
    assert "equal scores" not in capsys.readouterr().err


def test_cells_as_json(folder, capsys):
    assert probe("bm25", "flat=bm25,b=0", "--judged", f"mine={folder}:test", *SUITE, "--json") == 0
    found = cells(capsys.readouterr().out)
    assert found["shuffle-words@mine", "bm25"]["score"] == 0.0
    assert found["shuffle-words@mine", "flat"]["samples"] == 6
    assert found["stuffing-append-1@mine", "bm25"]["score"] > 0


def test_a_score_that_has_changed_ends_with_5(folder, tmp_path, capsys):
    given = ["--judged", folder, *SUITE, "--delta"]
    assert probe("bm25", *given, "0.1", "--out", tmp_path / "out") == 0
    against = ["--against", tmp_path / "out", "--fail-if", "changed"]
    assert probe("bm25", *given, "0.1", *against) == 0
    assert termwise(["probe", "--report", *map(str, (tmp_path / "out", *against))]) == 0
    capsys.readouterr()
    assert probe("bm25", *given, "100", *against, "--fail-if", "stuffing-append-1>0.5") == 5
    err = capsys.readouterr().err
    assert "termwise: 2 scores fail --fail-if" in err
    assert "changed  bm25, stuffing-append-1@written: +1.000 before, +0.000 now" in err
    assert probe("bm25", *given, "0.1", "--fail-if", "changed") == 2
    assert "--against DIR" in capsys.readouterr().err
    assert probe("other=bm25", *given, "0.1", *against) == 2
    assert "no score can be compared" in capsys.readouterr().err


def test_a_report_is_resumed_and_compared(folder, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["bm25", "jm", "bm25+jm,alpha=0.3", "--judged", folder, *SUITE, "--out", out, "--json"]
    assert probe(*arguments) == 0
    first = capsys.readouterr().out
    assert {"report.html", "report.json", "report.md", "scores.sqlite"} <= {
        path.name for path in out.iterdir()
    }
    report = json.loads((out / "report.json").read_text())
    assert [one["name"] for one in report["scorers"]] == ["bm25", "jm", "bm25+jm"]
    assert report["facts"]["judged"] == {"pets": "6 judgments of 2 queries"}
    assert report["facts"]["seed"] == 0
    assert probe(*arguments) == 0
    assert capsys.readouterr().out == first
    assert probe("bm25", "--judged", folder, *SUITE, "--against", out, "--json") == 0
    err = capsys.readouterr().err
    assert err.count("scored only in") == 2  # a line for jm, and one for the mixture
    assert f"jm, scored only in {out}: shuffle-words@pets, stuffing-append-1@written" in err
    assert "another" not in err
    assert "nothing has changed" not in err
    assert probe(*arguments[:-3], "--seed", "1", "--against", out, "--json") == 0
    assert f"seed: 0 in {out}, 1 now" in capsys.readouterr().err
    assert probe("bm25,b=0.1", "--judged", folder, *SUITE, "--against", out, "--json", "--delta", "0.2") == 0
    err = capsys.readouterr().err
    assert f"bm25: the ranker or its settings differ from those in {out}" in err
    assert f"bm25: the tie threshold δ differs from that in {out}" in err


def test_a_failed_assertion_sets_the_exit_status(folder, capsys):
    given = ["bm25", "--judged", folder, *SUITE, "--json"]
    assert probe(*given, "--fail-if", "shuffle-words>0.5") == 0
    assert probe(*given, "--fail-if", "stuffing-append-1>0.1") == 5
    err = capsys.readouterr().err
    assert "termwise: 2 scores fail --fail-if" in err
    assert "stuffing-append-1@pets: +" in err
    assert probe(*given, "--fail-if", "stuffing-append-1@pets>0.1") == 5
    assert "termwise: a score fails --fail-if" in capsys.readouterr().err
    assert probe(*given, "--fail-if", "tpyos<0") == 2
    assert probe(*given, "--fail-if", "typos") == 2


def test_a_report_is_read_without_scoring(folder, tmp_path, capsys):
    def read(*arguments):
        return termwise(["probe", *map(str, arguments)])

    given = ["--judged", folder, "--delta", "0", *SUITE]
    assert probe("bm25", *given, "--out", tmp_path / "old") == 0
    tables, _ = capsys.readouterr()
    assert probe("bm25=bm25,analyzer=whitespace", *given, "--out", tmp_path / "new") == 0
    capsys.readouterr()
    assert read("--report", tmp_path / "old") == 0
    assert capsys.readouterr().out == tables
    assert read("--report", tmp_path / "new", "--against", tmp_path / "old") == 0
    changes = capsys.readouterr().err
    assert "bm25: the ranker or its settings differ" in changes
    assert "changed" in changes
    assert read("--report", tmp_path / "old", "--fail-if", "stuffing-append-1@pets>0") == 5
    capsys.readouterr()
    assert read("--report", tmp_path / "old", "--json") == 0
    assert {scorer for _, scorer in cells(capsys.readouterr().out)} == {"bm25"}
    assert read("--report", tmp_path / "old", "bm25", "--list") == 2
    assert "SCORER, --list do not apply with --report" in capsys.readouterr().err
    assert read("--report", tmp_path / "old", "--delta", "0.9", "--limit", "3") == 2
    assert "--limit, --delta do not apply with --report" in capsys.readouterr().err
    assert read("--report", tmp_path / "none") == 3


def test_the_deviation_between_seeds_is_printed(folder, capsys):
    rankers = ["m@1=bm25", "m@2=bm25,analyzer=whitespace"]
    assert probe(*rankers, "--judged", folder, "--delta", "0", *SUITE) == 0
    assert "m: 2 seeds, standard deviation between them: Textual manipulation 0." in capsys.readouterr().err


def test_a_number_is_a_threshold(folder, capsys):
    assert probe("bm25", "--judged", folder, *SUITE, "--delta", "1000", "--json") == 0
    assert {cell["score"] for cell in cells(capsys.readouterr().out).values()} <= {0.0, None}
    for wrong in ("mean", "-1", "nan"):
        assert probe("bm25", "--judged", folder, *SUITE, "--delta", wrong) == 2


def test_a_run_scores_judged_texts_only(folder, tmp_path, capsys):
    path = tmp_path / "mine.run"
    write_run(
        Run([Ranking(["d1", "d3", "d4"], [3.0, 2.0, 1.0], "q1"), Ranking(["d2", "d3"], [2.0, 1.0], "q2")]),
        path,
    )
    assert probe(path, "--judged", folder, *SUITE, "--out", tmp_path / "out", "--json") == 0
    found = cells(capsys.readouterr().out)
    assert set(found) == {("tf-by-relevance@pets", "mine")} or all(
        name.startswith("tf-by") for name, _ in found
    )
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "shuffle-words@pets" in report["scorers"][0]["skipped"]


def test_skipped_probes_are_noted(folder, tmp_path, capsys):
    path = tmp_path / "mine.run"
    write_run(Run([Ranking(["d1", "d3", "d4"], [3.0, 2.0, 1.0], "q1")]), path)
    assert probe(path, "--judged", folder, *SUITE, "--suite", "probe:stuffing-append-2") == 0
    told = capsys.readouterr().err.splitlines()
    assert any(line.startswith("skipped for mine: ") and "such as" in line for line in told)
    assert probe(path, "bm25", "--judged", folder, "--suite", "probe:shuffle-words", "--json") == 0
    assert capsys.readouterr().err.splitlines()[0] == (
        "skipped for mine: shuffle-words@pets: the run does not rank both texts of any pair"
    )


def test_a_function_of_the_current_folder(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "ranker_of_tests.py").write_text(
        "def longest(queries, texts):\n    return [len(text) for text in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    given = ["python:ranker_of_tests:longest", "--judged", folder, *SUITE, "--json"]
    assert probe(*given) == 0
    assert cells(capsys.readouterr().out)["stuffing-append-1@pets", "longest"]["score"] == 1.0
    assert probe("python:ranker_of_tests:shortest", "--judged", folder, *SUITE) == 2
    assert sys.path[-1] == str(tmp_path)


def test_probes_of_a_yaml_file(folder, tmp_path, capsys):
    pytest.importorskip("yaml")
    path = tmp_path / "mine.yaml"
    path.write_text(
        "probes:\n"
        "  - name: currency\n"
        "    title: Currency asked for\n"
        "    cases:\n"
        "      - query: cats\n"
        "        first: cats cats cats\n"
        "        second: dogs\n"
    )
    status = probe("bm25", "--judged", folder, "--suite", path, "--delta", "0", "--json")
    out, err = capsys.readouterr()
    assert status == 0, err
    ((cell,),) = [list(cells(out).values())]
    assert (cell["score"], cell["samples"]) == (1.0, 1)


def test_a_probe_without_pairs_has_a_reason(folder, capsys):
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    probes = ["--suite", "probe:fold-case", "--suite", "probe:attack-none@pets"]
    assert probe("bm25", "--judged", folder, "--delta", "0", *probes) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "1 probe has no pair in these texts: there are no texts that were judged not relevant (attack-none@"
        in out
    )


def test_probes_are_listed(folder, capsys):
    assert probe("--list", "--judged", folder, "--suite", "all") == 0
    out = capsys.readouterr().out
    assert (
        "  shuffle-words: Words shuffled (expected: −1)  @pets\n      First: the text with its words in random order"
        in out
    )
    assert "  length-doubled: Text twice (expected: 0)  @written @pets\n      First: the text twice." in out
    assert "quick" in out
    assert "jfleg" in out
    assert re.search(r"\n\d+ probes of all\. After @: source of\s+the texts", out)
    assert "(symmetric, expected: 0)  @written" in out
    assert probe("--list", "--judged", folder, "--suite", "probe:length-doubled") == 0
    out = capsys.readouterr().out
    assert "\n2 probes. After @" in out
    assert "jfleg" not in out
    assert probe("--list", "--judged", folder, "--suite", "axioms", "--json") == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(one["section"] == "Axioms" and one["definition"].endswith(".") for one in told)


def test_a_list_names_the_extra_of_a_probe(folder, capsys):
    given = ["--list", "--judged", folder, "--suite", "probe:typos"]
    assert probe(*given) == 0
    assert "  typos: Typos (expected: 0, needs the extra probe)  @pets\n" in capsys.readouterr().out
    assert probe(*given, "--json") == 0
    assert json.loads(capsys.readouterr().out)["extra"] == "probe"
    (folder / "typos.txt").write_text("ct->cat\n")
    assert probe(*given, "--data", f"typos={folder / 'typos.txt'}") == 0
    assert "  typos: Typos (expected: 0)  @pets\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["bm24"],
        ["bm25", "bm25"],
        ["bm25", "--suite", "none"],
        ["bm25", "--suite", "probe:none"],
        ["bm25", "--data", "jfleg"],
        ["bm25", "--data", "jlfeg=."],
        ["bm25+jm"],
        ["bm25", "bm25+jm"],
        ["bm25", "--judged", "nowhere"],
        ["bm25", "--judged", "a,b"],
        ["bm25", "--language", "latin"],
        ["bm25", "--suite", "mine.toml"],
    ],
)
def test_bad_arguments_are_refused(arguments, folder, capsys):
    given = arguments if "--judged" in arguments else [*arguments, "--judged", str(folder)]
    given = given if "--suite" in arguments else [*given, *SUITE]
    assert probe(*given) == 2
    assert "termwise:" in capsys.readouterr().err


def test_missing_files_are_refused(folder, tmp_path, capsys):
    for arguments in (
        ["--data", "jfleg=nowhere"],
        ["--judged", f"{folder}:dev"],
        ["--against", tmp_path],
        ["--candidates", tmp_path / "none.run"],
        ["--idf", tmp_path / "none.tsv"],
        ["--stop-words", tmp_path / "none.txt"],
        ["--suite", tmp_path / "none.yaml"],
    ):
        given = arguments if arguments[0] == "--judged" else ["--judged", folder, *arguments]
        assert probe("bm25", *SUITE, *given) == 3, arguments
        assert "termwise:" in capsys.readouterr().err


def test_the_idf_of_a_larger_collection_comes_from_a_file(folder, tmp_path, capsys):
    words = tmp_path / "idf.tsv"
    words.write_text("documents=1000000\taverage_length=12.5\ncat\t3\nsleep\t3\ndogs\t3\ngarden\t3\n")
    given = ["bm25", "--judged", folder, *SUITE, "--out", tmp_path / "out"]
    assert probe(*given) == 0
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert probe(*given, "--idf", words) == 0
    other = json.loads((tmp_path / "out" / "report.json").read_text())
    assert other["scorers"][0]["fingerprint"] != found["scorers"][0]["fingerprint"]
    assert other["facts"]["statistics"] == "pets, with idf.tsv"
    assert found["facts"]["statistics"] == "pets"
    # every matching word is in 3 documents of a million, instead of 1 to 3 of 5
    delta = [report["scorers"][0]["effect_rule"]["delta"] for report in (found, other)]
    assert delta[1] > 5 * delta[0]
    words.write_text("documents=10\taverage_length=12.5\ncat\t11\n")
    capsys.readouterr()
    assert probe(*given, "--idf", words) == 3
    err = capsys.readouterr().err
    assert str(words) in err
    assert re.search(r"line +2", err)
    assert termwise(["probe", "--report", str(tmp_path / "out"), "--idf", str(words)]) == 2
    assert "--idf" in capsys.readouterr().err


def test_a_folder_of_something_else_is_left_alone(folder, tmp_path, capsys):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    assert probe("bm25", "--judged", folder, *SUITE, "--out", tmp_path / "other") == 2
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["notes.txt"]


def test_probes_whose_package_is_missing_are_left_out_and_named(folder, monkeypatch, capsys):
    from termwise.errors import MissingExtraError
    from termwise.probes.manipulations import typos

    def missing(*_, **__):
        raise MissingExtraError.of("codespell", "probe", "the probe typos")

    monkeypatch.setattr(typos, "codespell_misspellings", missing)
    given = ["bm25", "--judged", folder, "--json", "--suite", "probe:typos"]
    assert probe(*given) == 4
    capsys.readouterr()
    assert probe(*given, "--suite", "probe:shuffle-words") == 0
    out, err = capsys.readouterr()
    assert set(cells(out)) == {("shuffle-words@pets", "bm25")}
    assert "typos@pets" in err
    assert "termwise[probe]" in err
    monkeypatch.setattr("termwise.probes.run.run_suite", missing)  # fails before anything is scored
    assert probe(*given, "--suite", "probe:shuffle-words") == 4
    assert "skipped, because a package is missing: typos@pets" in capsys.readouterr().err


def test_a_second_run_leaves_every_file_as_it_was(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("termwise.probes.run.date", SimpleNamespace(today=lambda: date(2024, 2, 29)))
    out = tmp_path / "out"
    arguments = ["bm25", "jm", "--judged", folder, *SUITE, "--suite", "probe:length-doubled", "--out", out]
    assert probe(*arguments) == 0
    first = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert probe(*arguments) == 0
    again = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert [path.name for path in first if first[path] != again.get(path)] == []
    assert set(first) == set(again)


def test_a_smaller_report_is_noted_and_removes_old_files(folder, tmp_path, capsys):
    out = tmp_path / "out"
    given = ["--judged", folder, "--out", out]
    assert probe("bm25", "jm", *given, *SUITE) == 0
    foreign = out / "samples" / "mine.jsonl.gz"
    foreign.write_bytes(b"")
    assert "that the new one lacks" not in capsys.readouterr().err
    before = len(list((out / "results").iterdir()))
    assert probe("bm25", *given, "--suite", "probe:shuffle-words") == 0
    assert (
        f"the replaced report in {out} had {before - 1} scores that the new one lacks"
        in capsys.readouterr().err
    )
    assert [path.name for path in (out / "results").iterdir()] == ["shuffle-words@pets+bm25.jsonl.gz"]
    assert {path.name for path in (out / "samples").iterdir()} == {
        "shuffle-words@pets.jsonl.gz",
        foreign.name,
    }
    (out / "report.json").write_text('{"format": "termwise-probes", "version": 2}')
    assert probe("bm25", *given, "--suite", "probe:shuffle-words") == 0


def test_control_characters_of_input_are_replaced(folder, tmp_path, capsys):
    pytest.importorskip("yaml")
    path = tmp_path / "odd.yaml"
    path.write_text(
        "probes:\n"
        "  - name: odd\n"
        '    title: "a\\e[31mred\\e[2J\\u202e"\n'
        "    cases: [{query: cats, first: cats cats, second: dogs}]\n"
    )
    given = ["--judged", folder, "--suite", path]
    report = tmp_path / "report.json"
    assert probe("bm25", *given, "--delta", "0", "--out", tmp_path / "out") == 0
    earlier = json.loads((tmp_path / "out" / "report.json").read_text())
    earlier["probes"][0]["name"] = earlier["cells"][0]["probe"] = "gone\x1b[2J\u202e"
    report.write_text(json.dumps(earlier))
    assert probe("bm25", *given, "--delta", "0", "--against", report) == 0
    assert probe("--list", *given) == 0
    told = "".join(capsys.readouterr())
    assert "gone" in told
    assert "\x1b" not in told
    assert "\u202e" not in told


def twin(folder, **changed):
    """Return a second collection with the same identifiers, of which some queries or texts say something else."""
    other = folder.parent / "twin"
    shutil.copytree(folder, other)
    for name, (old, new) in changed.items():
        path = other / f"{name}.jsonl"
        path.write_text(path.read_text().replace(old, new))
    return other


@pytest.mark.parametrize("rule", ["by-query", "by-rank"])
def test_thresholds_of_one_collection_are_not_those_of_another(rule, folder, capsys):
    both = [folder, twin(folder, queries=("sleep", "sleep at night"))]
    given = ["bm25", "--suite", "probe:shuffle-words", "--delta", rule, "--json"]
    for first, second in (both, both[::-1]):
        assert probe(*given, "--judged", first, "--judged", second) == 0
        out, err = capsys.readouterr()
        assert set(cells(out)) == {(f"shuffle-words@{first.name}", "bm25")}
        assert f"queries of {first.name}, its queries of {second.name}" in err


@pytest.mark.parametrize(
    ("changed", "what"),
    [({"queries": ("sleep", "sleep at night")}, "query"), ({"corpus": ("tin", "slate")}, "document")],
)
def test_a_run_is_of_one_collection(changed, what, folder, tmp_path, capsys):
    path = tmp_path / "mine.run"
    write_run(Run([Ranking(["d1", "d3", "d4"], [3.0, 2.0, 1.0], "q1")]), path)
    other = twin(folder, **changed)
    given = ["--judged", folder, "--judged", other, "--suite", "probe:relevance-by-sum-tf", "--json"]
    assert probe(path, *given) == 2
    err = capsys.readouterr().err
    assert f"  {what} " in err
    assert "judged=pets" in err
    assert "judged=twin" in err
    assert probe(f"a={path},judged=pets", f"b={path},judged=twin", *given) == 0
    samples = {name: cell["samples"] for name, cell in cells(capsys.readouterr().out).items()}
    assert samples["relevance-by-sum-tf@pets", "a"] == samples["relevance-by-sum-tf@twin", "b"] > 0
    if what == "query":
        assert set(samples) == {("relevance-by-sum-tf@pets", "a"), ("relevance-by-sum-tf@twin", "b")}
    assert probe(f"{path},judged=cats", *given) == 2
    assert "pets, twin" in capsys.readouterr().err


def test_a_run_of_two_judged_parts_of_one_collection(folder, tmp_path, capsys):
    path = tmp_path / "mine.run"
    write_run(Run([Ranking(["d1", "d3", "d4"], [3.0, 2.0, 1.0], "q1")]), path)
    suite = ["--suite", "probe:relevance-by-sum-tf"]
    assert probe(path, "--judged", f"a={folder}", "--judged", f"b={folder}", *suite, "--json") == 0
    found = cells(capsys.readouterr().out)
    assert (
        found["relevance-by-sum-tf@a", "mine"]["samples"]
        == found["relevance-by-sum-tf@b", "mine"]["samples"]
        > 0
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--delta", "medain"], "did you mean median?"),
        (["--delta", "nan"], "nan"),
        (["--delta", "1", "--candidates", "nofile"], "nofile"),
        (["--candidates", "nofile"], "nofile"),
        (["--fail-if", "tpyos<1"], "tpyos"),
        (["--fail-if", "nobody:shuffle-words<1"], "nobody"),
        (["--suite", "probe:shufle-sentences"], "did you mean probe:shuffle-sentences"),
        (["bm25"], "FIRST=bm25"),
        (["bm25+jm"], "named before: bm25".replace(": ", "  ")),
    ],
)
def test_options_are_checked_before_anything_is_computed(wrong, told, folder, tmp_path, monkeypatch, capsys):
    def computed(*_, **__):
        raise AssertionError("something was computed")

    monkeypatch.setattr("termwise.probes.run.bm25_rankings", computed)
    monkeypatch.setattr("termwise.probes.core.run_suite.ProbeSamples.of", computed)
    given = ["bm25", "--judged", folder, "--suite", "probe:shuffle-words", "--out", tmp_path / "out"]
    assert probe(*given, *wrong) in (2, 3)
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_run_cannot_be_fused_measures(folder, tmp_path, capsys):
    path = tmp_path / "mine.run"
    write_run(Run([Ranking(["d1", "d3"], [2.0, 1.0], "q1")]), path)
    assert probe("bm25", path, "bm25+mine", "--judged", folder, *SUITE) == 2
    assert "a run cannot be mixed" in capsys.readouterr().err


@pytest.mark.parametrize("alpha", ["x", "-1", "nan", "1.5"])
def test_a_share_is_from_0_to_1(alpha, folder, capsys):
    assert probe("bm25", "jm", f"bm25+jm,alpha={alpha}", "--judged", folder, *SUITE) == 2
    assert f"alpha={alpha}" in capsys.readouterr().err


def test_a_name_given_twice_is_refused_with_both_sources(folder, tmp_path, capsys):
    pytest.importorskip("yaml")
    assert probe("bm25", "--judged", f"a={folder}", "--judged", f"a={twin(folder)}", *SUITE) == 2
    err = capsys.readouterr().err
    assert f"first   a={folder}" in err
    assert "NAME=DIR" in err
    text = "probes: [{name: p, title: P, cases: [{query: cats, first: cats, second: dogs}]}]\n"
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text(text)
    given = ["bm25", "--judged", folder, "--json", "--suite", tmp_path / "one.yaml", "--suite"]
    assert probe(*given, tmp_path / "two.yaml") == 2
    err = capsys.readouterr().err
    assert "one.yaml" in err
    assert "two.yaml" in err
    assert probe(*given, tmp_path / "one.yaml") == 0


def test_output_of_a_function_goes_to_stderr(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "chatty_here.py").write_text(
        "print('loading')\n\n\ndef score(queries, texts):\n    print('scoring')\n    return [len(t) for t in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    assert probe("python:chatty_here:score", "--judged", folder, "--json", *SUITE) == 0
    out, err = capsys.readouterr()
    assert cells(out)
    assert "loading" in err
    assert "scoring" in err


@pytest.mark.parametrize("source", ["import sys\nsys.exit(0)", "def score(q, t):\n    raise SystemExit"])
def test_a_function_that_exits_fails_the_check(source, folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "leaves_here.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "leaves_here", raising=False)
    given = ["python:leaves_here:score", "--judged", folder, *SUITE, "--fail-if", "shuffle-words<-1"]
    assert probe(*given) == 3
    assert "SystemExit" in capsys.readouterr().err


def test_a_run_of_another_collection_is_refused(folder, tmp_path, capsys):
    path = tmp_path / "other.run"
    for ranking in (Ranking(["d1"], [1.0], "x9"), Ranking(["zz"], [1.0], "q1")):
        write_run(Run([ranking]), path)
        assert probe("bm25", path, "--judged", folder, *SUITE) == 3
        assert "ranks no judged text" in capsys.readouterr().err
    path.write_text("")
    assert probe("bm25", path, "--judged", folder, *SUITE) == 3
    assert re.search(r"queries of the run +none\n", capsys.readouterr().err)


def test_an_assertion_about_a_probe_without_pairs_is_refused_before_scoring(folder, monkeypatch, capsys):
    def scored(*_, **__):
        raise AssertionError("something was scored")

    monkeypatch.setattr("termwise.probes.run.bm25_rankings", scored)
    monkeypatch.setattr("termwise.probes.run.run_suite", scored)
    given = [
        "bm25",
        "--judged",
        folder,
        *SUITE,
        "--suite",
        "probe:overlap-by-length",
        "--fail-if",
        "overlap-by-length<0",
    ]
    assert probe(*given) == 2
    err = capsys.readouterr().err
    assert "can never fail" in err
    assert "overlap-by-length@pets  there is no pair in these texts" in err


def test_judgments_are_found_by_their_whole_names(folder, capsys):
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev[1].tsv")
    (folder / "qrels" / "test.tsv.bak").write_text("no judgments")
    assert probe("bm25", "--judged", folder, "--json", *SUITE) == 0
    assert probe("bm25", "--judged", f"{folder}:test", *SUITE) == 3
    assert "found     dev[1]" in capsys.readouterr().err


def test_an_unused_data_set_is_noted(folder, tmp_path, capsys):
    nevir = tmp_path / "nevir"
    nevir.mkdir()
    (nevir / "test.jsonl").write_text('{"q1": "cats?", "q2": "dogs?", "doc1": "A cat.", "doc2": "A dog."}\n')
    given = ["bm25", "--judged", folder, "--delta", "0", "--json", "--data", f"nevir={nevir}"]
    assert probe(*given, *SUITE) == 0
    assert "nevir: no probe of these suites uses it; --suite all does" in capsys.readouterr().err
    assert probe(*given, *SUITE, "--suite", "probe:negation@nevir") == 0
    out, err = capsys.readouterr()
    assert "no probe of these suites" not in err
    assert cells(out)["negation@nevir", "bm25"]["samples"] == 2
    assert probe(*given[1:], "--list") == 0
    assert "negation@nevir" in capsys.readouterr().out


def test_a_data_set_is_named_once(folder, capsys):
    assert probe("bm25", "--judged", folder, "--data", "jfleg=a", "--data", "jfleg=b", *SUITE) == 2
    assert "named twice" in capsys.readouterr().err


def test_judged_texts_of_one_identifier_are_refused(folder, capsys):
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d1", "title": "", "text": "Another cat."}\n')
    assert probe("bm25", "--judged", folder, "--delta", "1", *SUITE) == 3
    err = capsys.readouterr().err
    assert "document    d1" in err
    assert "Another cat." in err


def test_an_interrupted_run_stores_scores(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "stops_here.py").write_text("def score(q, t):\n    raise KeyboardInterrupt\n")
    monkeypatch.chdir(tmp_path)
    given = ["--judged", folder, "--delta", "1", *SUITE]
    assert probe("python:stops_here:score", *given, "--out", "out") == 130
    err = capsys.readouterr().err
    assert "score: scores are not stored in out, and the next run computes them again" in err
    assert "interrupted; 0 scores are stored in out" in err
    assert probe("python:stops_here:score,fingerprint=1", *given, "--out", "out") == 130
    assert "not stored" not in capsys.readouterr().err
    assert probe("bm25", "python:stops_here:score", *given, "--out", "out") == 130
    assert re.search(
        r"interrupted; \d+ scores are stored in out: the same command resumes", capsys.readouterr().err
    )
    assert probe("python:stops_here:score", *given) == 130
    assert "with --out DIR" in capsys.readouterr().err


def test_a_name_that_no_file_can_have(folder, capsys):
    assert probe(5000 * "a", "--judged", folder, *SUITE) == 2
    err = capsys.readouterr().err
    assert "5,000" in err
    assert len(err) < 1000


def test_a_collection_in_which_nothing_is_found(folder, tmp_path, capsys):
    path = tmp_path / "strange.jsonl"
    path.write_text('{"id": "x", "text": "zebra"}\n')
    assert probe("bm25", "--judged", folder, "--collection", path, *SUITE) == 3
    err = capsys.readouterr().err
    assert "BM25 finds two documents" in err
    assert "--collection COLLECTION" in err
