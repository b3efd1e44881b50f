"""``termwise tune``, and the verbs that take what it found."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

import termwise
from termwise import read_qrels, read_queries, read_run
from termwise.cli.main import run
from termwise.fusion import Fusion, TunedTable, tune
from termwise.index import Index
from termwise.search import TranslationScorer
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, open_table, write_table
from termwise.translation.table_folder import read_manifest

DOCUMENTS = {
    "a": "cardiac valve cardiac surgeon",
    "b": "car on a road",
    "c": "nurse and doctor in a car",
    "d": "valve of a car",
    "e": "heart of the road",
}
QUERIES = {"q1": "heart valve", "q2": "car", "q3": "heart of a car"}
QRELS = [("q1", "a"), ("q2", "b"), ("q3", "d")]
WORDS = ["cardiac", "heart", "valve", "car", "road"]
GRID = ["--self-translation", "0.1,0.9", "--lambda", "0.1,0.5", "--folds", "3"]
TUNE = [
    "tune",
    "said.tw",
    "--table",
    "table",
    "--first",
    "bm25.trec",
    "--queries",
    "q.tsv",
    "--qrels",
    "q.rel",
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"_id": doc_id, "text": text}) + "\n" for doc_id, text in DOCUMENTS.items()]
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    (tmp_path / "q.tsv").write_text("".join(f"{query_id}\t{text}\n" for query_id, text in QUERIES.items()))
    (tmp_path / "q.rel").write_text("".join(f"{query_id} 0 {doc_id} 1\n" for query_id, doc_id in QRELS))
    table = TranslationTable(
        Vocabulary(WORDS), [0, 2, 3, 4, 6, 6], [0, 1, 1, 2, 3, 4], [0.25, 0.5, 0.5, 0.5, 0.5, 0.25],
        [3, 2, 1, 2, 1], make_analyzer("whitespace").spec,
    )  # fmt: skip
    write_table(table, tmp_path / "table")
    assert run(["index", "docs.jsonl", "--analyzer", "whitespace", "--out", "bm25.tw"]) == 0
    said = ["--model", "ml", "--float", "--analyzer", "whitespace", "--out", "said.tw"]
    assert run(["index", "docs.jsonl", *said]) == 0
    assert run(["rank", "bm25.tw", "--queries", "q.tsv", "--out", "bm25.trec"]) == 0
    return tmp_path


def found():
    scorer = TranslationScorer(Index.open("said.tw"), open_table("table"))
    first = read_run("bm25.trec", name="bm25")
    grid = {"self_translations": (0.1, 0.9), "lambdas": (0.1, 0.5)}
    table = TunedTable("table", read_manifest("table").id)
    tuning = tune(scorer, first, read_queries("q.tsv"), read_qrels("q.rel"), folds=3, **grid)
    return replace(tuning, fusion=replace(tuning.fusion, tables=(None, table)))


def test_every_stage_is_shown(place, monkeypatch):
    stages = []

    @contextmanager
    def recorded():
        yield lambda stage, *_: stages.append(stage)

    monkeypatch.setattr("termwise.cli.tune.progress_bar", recorded)
    first = TUNE.index("--first") + 1
    assert run([*TUNE[:first], "bm25.tw", *TUNE[first + 1 :], *GRID]) == 0
    assert list(dict.fromkeys(stages)) == ["search", "gather", "tune"]


def test_a_table_is_printed_and_a_file_kept(place, capsys):
    capsys.readouterr()
    assert run([*TUNE, *GRID, "--out", "t.json"]) == 0
    streams = capsys.readouterr()
    tuning = found()
    lines = streams.out.splitlines()
    assert lines[0] == "nDCG@10 over 3 judged queries, each cell with its best weight of bm25"
    assert lines[2].split() == ["p", "\\", "lambda", "0.1", "0.5"]
    values = [float(cell) for line in lines[3:5] for cell in line.split()[1:]]
    assert values == pytest.approx([cell.value for cell in tuning.cells], abs=5e-5)
    assert f"tuned: self_translation={tuning.best.self_translation:g} lambda=" in streams.out
    assert lines[-1].split()[-1] == f"{tuning.fusion.learned.estimate:.4f}"
    assert streams.err == "t.json: written\n"
    assert Fusion.open("t.json") == tuning.fusion


def test_as_json(place, capsys):
    capsys.readouterr()
    assert run([*TUNE, *GRID, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": None, **json.loads(json.dumps(found().to_dict()))}


def test_an_index_may_be_the_first_stage(place, capsys):
    capsys.readouterr()
    assert run([*TUNE[:4], "--first", "bm25.tw", *TUNE[6:], *GRID, "--json"]) == 0
    tuned = json.loads(capsys.readouterr().out)
    assert tuned["cells"] == found().to_dict()["cells"]
    assert run([*TUNE, *GRID, "-k", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] != tuned["cells"]


def test_other_settings_of_the_table_are_kept(place):
    settings = ["--set", "least=0.3", "--set", "background=bitext"]
    assert (
        run([*TUNE, *GRID, *settings, "--normalise", "idf", "--normalise", "query-length", "--out", "t"]) == 0
    )
    fusion = Fusion.open("t")
    assert fusion.settings[1]["least"] == 0.3
    assert fusion.settings[1]["background"] == "bitext"
    assert fusion.scaling == ("idf", "query-length")


def test_tuned_settings_are_used_by_index_rerank_and_fuse(place):
    assert run([*TUNE, *GRID, "--out", "t.json"]) == 0
    tuned = Fusion.open("t.json")
    again = ["--queries", "q.tsv", "--run", "bm25.trec"]
    built = ["--model", "./table", "--settings", "t.json", "--set", "keep=0", "--float", "--out", "words.tw"]
    assert run(["index", "docs.jsonl", *built]) == 0
    kept = termwise.open("words.tw").index.manifest.encoder.json["model"]["parameters"]
    assert {name: kept[name] for name in tuned.settings[1]} == tuned.settings[1]
    assert run(["rerank", "words.tw", *again, "--out", "compiled.trec"]) == 0
    exact = ["--table", "table", "--settings", "t.json"]
    assert run(["rerank", "said.tw", *exact, *again, "--out", "gathered.trec"]) == 0
    assert run(["fuse", "bm25.trec", "gathered.trec", "--weights", "t.json", "--out", "fused.trec"]) == 0
    gathered, compiled = read_run("gathered.trec"), read_run("compiled.trec")
    for ranking in gathered:
        assert ranking.doc_ids == compiled[ranking.query_id].doc_ids
        assert ranking.scores.tolist() == pytest.approx(compiled[ranking.query_id].scores.tolist(), rel=1e-6)
    from termwise.evaluate import evaluate

    value = evaluate(read_run("fused.trec"), read_qrels("q.rel"), ["nDCG@10"]).means["nDCG@10"]
    assert value == pytest.approx(tuned.learned.value)


def test_reranking_by_a_table_takes_settings(place):
    again = ["--queries", "q.tsv", "--run", "bm25.trec", "--table", "table", "--out", "out.trec"]
    assert run(["rerank", "said.tw", *again, "--set", "lambda=0.7"]) == 0
    scorer = TranslationScorer(Index.open("said.tw"), open_table("table"), lambda_=0.7)
    timed = scorer.timed_run(read_queries("q.tsv"), candidates=read_run("bm25.trec"), name="termwise")
    assert read_run("out.trec") == timed.run


def test_files_are_replaced_with_overwrite_only(place, capsys):
    (place / "t.json").write_text("mine")
    assert run([*TUNE, *GRID, "--out", "t.json"]) == 2
    assert "the output file exists" in capsys.readouterr().err
    assert (place / "t.json").read_text() == "mine"
    assert run([*TUNE, *GRID, "--out", "t.json", "--overwrite"]) == 0
    assert Fusion.open("t.json").runs == ("bm25", "model1")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--lambda", "1"], 2),
        (["--lambda", "a"], 2),
        (["--self-translation", ""], 2),
        (["--folds", "9"], 2),
        (["-m", "ERR@10"], 2),
        (["--normalise", "half"], 2),
        (["--set", "keep=3"], 2),
        (["--set", "lambda=0.3"], 2),
        (["--set", "least=2"], 2),
        (["--out", "bm25.trec", "--overwrite"], 2),
    ],
    ids=str,
)
def test_mistakes(place, capsys, options, code):
    assert run([*TUNE, "--self-translation", "0.1", *options]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_missing_inputs_are_refused(place, capsys):
    (place / "none.rel").write_text("q9 0 a 1\n")
    assert run([*TUNE[:-1], "none.rel"]) == 3
    assert "no query in common" in capsys.readouterr().err
    (place / "empty.trec").write_text("")
    assert run([*TUNE[:5], "empty.trec", *TUNE[6:]]) == 3
    assert run(["tune", "bm25.tw", *TUNE[2:]]) == 2
    assert "relative term frequencies" in capsys.readouterr().err
    other = TranslationTable(
        Vocabulary(WORDS), [0, 0, 0, 0, 0, 0], [], [], [0] * 5, make_analyzer("english").spec
    )
    write_table(other, place / "other")
    assert run([*TUNE[:3], "other", *TUNE[4:]]) == 3
    assert "different analyzers" in capsys.readouterr().err


def test_settings_are_not_given_twice_nor_without_use(place, capsys):
    assert run([*TUNE, *GRID, "--out", "t.json"]) == 0
    built = ["index", "docs.jsonl", "--model", "./table", "--settings", "t.json", "--out", "words.tw"]
    assert run([*built, "--set", "lambda=0.3"]) == 2
    assert "set twice" in capsys.readouterr().err
    again = ["--queries", "q.tsv", "--run", "bm25.trec", "--out", "out.trec"]
    assert run(["rerank", "bm25.tw", *again, "--settings", "t.json"]) == 2
    assert run(["rerank", "said.tw", *again, "--table", "table", "--set", "keep=3"]) == 2
    assert run(["rerank", "said.tw", *again, "--table", "table", "--threads", "2"]) == 2
    Fusion(["bm25"], [1.0], missing="drop").save("plain.json")
    assert run(["rerank", "said.tw", *again, "--table", "table", "--settings", "plain.json"]) == 3
    assert "no tuned settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("lambda", 7, "lambda of model1 is out of range"),
        ("background", "smooth", "unknown background of model1"),
        ("lambdas", 0.1, "unknown parameter of model1"),
        ("renormalise", "perhaps", "renormalise of model1 is not true or false"),
        ("keep", 3, "this setting is not tuned"),
    ],
)
def test_bad_settings_of_a_file_are_refused(place, capsys, name, value, said):
    Fusion(["bm25", "model1"], [0.5, 0.5], missing="drop", settings=[{}, {name: value}]).save("t.json")
    capsys.readouterr()
    again = ["--queries", "q.tsv", "--run", "bm25.trec", "--out", "out.trec"]
    for arguments in (
        ["rerank", "said.tw", *again, "--table", "table", "--settings", "t.json"],
        ["index", "docs.jsonl", "--model", "./table", "--settings", "t.json", "--out", "words.tw"],
    ):
        assert run(arguments) == 3
        error = capsys.readouterr().err
        assert "the file holds a setting that cannot be used" in error
        assert all(part in error for part in ("t.json", name, said))
    assert not (place / "words.tw").exists()


def tuned_for_another(place):
    """Tune, and lay another table beside the one it was for."""
    assert run([*TUNE, *GRID, "--out", "t.json"]) == 0
    table = open_table("table")
    write_table(replace(table, probabilities=table.probabilities / 2), place / "other")
    return {name: read_manifest(name).id[:19] for name in ("table", "other")}


def test_settings_tuned_for_another_table_are_refused(place, capsys):
    digests = tuned_for_another(place)
    again = ["--queries", "q.tsv", "--run", "bm25.trec", "--out", "out.trec"]
    for name, code in (("other", 2), ("table", 0)):
        for arguments in (
            ["index", "docs.jsonl", "--model", f"./{name}", "--settings", "t.json", "--out", "words.tw"],
            ["rerank", "said.tw", *again, "--table", name, "--settings", "t.json"],
        ):
            capsys.readouterr()
            assert run(arguments) == code
            error = capsys.readouterr().err
            assert ("tuned for another translation table" in error) == (name == "other")
            if name == "other":
                assert f"table  {digests['table']}" in error
                assert f"other  {digests['other']}" in error
                assert "give the table that the settings were tuned for: table" in error
                assert not (place / "words.tw").exists()
    kept = (place / "table").rename(place / "moved")
    assert (
        run(["rerank", "said.tw", *again, "--table", str(kept), "--settings", "t.json", "--overwrite"]) == 0
    )


def test_settings_without_a_table_apply_to_any_table(place):
    tuned_for_another(place)
    old = replace(Fusion.open("t.json"), tables=None)
    old.save("old.json")
    assert "tables" not in json.loads((place / "old.json").read_text())
    built = ["--model", "./other", "--settings", "old.json", "--out", "words.tw"]
    assert run(["index", "docs.jsonl", *built]) == 0


def test_an_index_of_another_table_does_not_fit_the_weights(place, capsys):
    tuned_for_another(place)
    assert run([*TUNE, *GRID, "--normalise", "raw", "--out", "t.json", "--overwrite"]) == 0
    replace(Fusion.open("t.json"), tables=None).save("old.json")
    for name, settings, code in (("table", "t.json", 0), ("other", "old.json", 2)):
        built = ["--model", f"./{name}", "--settings", settings, "--overwrite", "--out", "model1.tw"]
        assert run(["index", "docs.jsonl", *built]) == 0
        capsys.readouterr()
        assert (
            run(["fuse-indexes", "bm25.tw", "model1.tw", "--weights", "t.json", "--out", f"{name}.tw"])
            == code
        )
    error = capsys.readouterr().err
    assert "not have the settings" in error
    assert "./other, tuned with table" in error


def test_tuned_settings_go_with_a_table(place, capsys):
    assert run([*TUNE, *GRID, "--out", "t.json"]) == 0
    capsys.readouterr()
    assert run(["index", "docs.jsonl", "--model", "bm25", "--settings", "t.json", "--out", "words.tw"]) == 2
    error = capsys.readouterr().err
    assert "--settings applies to translation tables only" in error
    assert "t.json" in error


def test_without_anything_to_choose_by(place, capsys):
    (place / "none.rel").write_text("".join(f"{query_id} 0 a 0\n" for query_id in QUERIES))
    (place / "strange.tsv").write_text("".join(f"{query_id}\tunheard\n" for query_id in QUERIES))
    capsys.readouterr()
    assert run([*TUNE[:-1], "none.rel", *GRID, "--out", "t.json"]) == 3
    assert "all weights have the same value" in capsys.readouterr().err
    assert run([*TUNE[:7], "strange.tsv", *TUNE[8:], *GRID, "--out", "t.json"]) == 3
    assert "all weights have the same value" in capsys.readouterr().err
    assert not (place / "t.json").exists()
