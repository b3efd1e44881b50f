"""``termwise fuse``, ``learn-weights`` and ``fuse-indexes``."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from termwise import BuildOptions, Document, Qrel, Ranking, Run, build_index, read_run, write_run
from termwise.cli.learn_weights import learned_text
from termwise.cli.main import run
from termwise.evaluate import evaluate
from termwise.fusion import Fusion, fuse, interpolate, learn
from termwise.fusion import reciprocal_rank_fusion as rrf

BM25 = Run(
    [Ranking(["a", "b", "c"], [9.0, 6.0, 3.0], "q1"), Ranking(["b", "a", "c"], [5.0, 4.0, 1.0], "q2")], "bm25"
)
TILDE = Run(
    [Ranking(["c", "a", "b"], [-1.0, -4.0, -7.0], "q1"), Ranking(["c", "a", "b"], [-1.0, -2.0, -9.0], "q2")],
    "tilde",
)
QRELS = [Qrel("q1", "a", 1), Qrel("q2", "c", 2), Qrel("q2", "a", 1)]
TWO = ["fuse", "bm25.trec", "tilde.trec"]
LEARN_TWO = ["learn-weights", "bm25.trec", "tilde.trec"]
JUDGED = ["--qrels", "qrels.txt", "--missing", "drop"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run(BM25, "bm25.trec")
    write_run(TILDE, "tilde.trec")
    write_run(Run([Ranking(["c", "b"], [2.0, 1.0], "q1")], "third"), "third.trec")
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 {d} {r}\n" for q, d, r, _ in QRELS))
    (tmp_path / "queries.tsv").write_text("q1\tsorted lists\nq2\tcards\n")
    return tmp_path


def test_a_given_share(place, capsys):
    assert run([*TWO, "--alpha", "0.25", "--missing", "drop", "--out", "out.trec", "--tag", "mixed"]) == 0
    assert read_run("out.trec") == interpolate(BM25, TILDE, alpha=0.25, missing="drop", name="mixed")
    streams = capsys.readouterr()
    assert (streams.out, streams.err) == ("", "out.trec: 2 queries\n")


@pytest.mark.parametrize(("alpha", "single"), [("1", BM25), ("0", TILDE)])
def test_at_the_ends_the_single_runs_come_out(place, alpha, single):
    assert run([*TWO, "--alpha", alpha, "--missing", "drop", "--out", "out.trec"]) == 0
    assert [ranking.doc_ids for ranking in read_run("out.trec")] == [ranking.doc_ids for ranking in single]


def test_scalings_and_documents(place):
    options = ["--missing", "minimum", "--documents", "union", "--normalise", "raw", "--normalise", "minmax"]
    assert run(["fuse", "third.trec", "bm25.trec", "--alpha", "0.5", *options, "--out", "out.trec"]) == 0
    expected = fuse(
        [read_run("third.trec"), BM25],
        [0.5, 0.5],
        missing="minimum",
        documents="union",
        scaling=["raw", "minmax"],
        name="termwise",
    )
    assert read_run("out.trec") == expected


@pytest.mark.parametrize("method", ["grid", "sweep", "ascent"])
def test_learned_weights_are_shown_kept_and_used(place, capsys, method):
    learning = [*LEARN_TWO, *JUDGED, "--method", method, "-m", "nDCG@2"]
    assert run([*learning, "--out", "w.json"]) == 0
    fusion = Fusion.open("w.json")
    assert fusion == learn([BM25, TILDE], QRELS, method=method, measure="nDCG@2", missing="drop")
    streams = capsys.readouterr()
    assert streams.out.startswith("Run    normalisation")
    assert f"nDCG@2 of the fused run: {fusion.learned.value:.4f}, over 2 judged queries." in streams.out
    assert "evaluate them on other queries" in streams.out
    assert streams.err == "w.json: written\n"
    assert run([*TWO, "--weights", "w.json", "--out", "out.trec"]) == 0
    assert "w.json: the weights were learned on these queries" in capsys.readouterr().err
    value = evaluate(read_run("out.trec"), QRELS, ["nDCG@2"]).means["nDCG@2"]
    assert value == pytest.approx(fusion.learned.value)
    assert read_run("out.trec") == fusion.apply([BM25, TILDE], name="termwise")
    for name in ("bm25", "tilde"):
        lines = (place / f"{name}.trec").read_text().splitlines(keepends=True)
        (place / f"{name}.trec").write_text("".join(line for line in lines if line.startswith("q1")))
    assert run([*TWO, "--weights", "w.json", "--out", "other.trec"]) == 0
    assert "these queries" not in capsys.readouterr().err


def test_the_method_follows_the_number_of_runs(place, capsys):
    for runs, method in (
        (["bm25.trec", "tilde.trec"], "sweep"),
        (["bm25.trec", "tilde.trec", "third.trec"], "ascent"),
    ):
        assert run(["learn-weights", *runs, "--qrels", "qrels.txt", "--missing", "minimum", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["fusion"]["learned"]["method"] == method


def test_runs_with_other_names_than_the_weights_are_noted(place, capsys):
    Fusion(["dev-bm25", "tilde"], [0.2, 0.8], missing="drop").save("w.json")
    assert run([*TWO, "--weights", "w.json", "--out", "out.trec"]) == 0
    assert capsys.readouterr().err == "w.json: bm25 takes the weight of dev-bm25\nout.trec: 2 queries\n"
    assert run(["fuse", "tilde.trec", "third.trec", "--weights", "w.json", "--out", "o"]) == 2
    assert "give them in this order: dev-bm25 tilde" in capsys.readouterr().err
    assert not (place / "o").exists()


def test_a_link_to_itself_is_refused_as_output(place, capsys):
    (place / "loop").symlink_to("loop")
    assert run([*TWO, *ALPHA, "--out", "loop"]) == 3
    assert "the link leads back to itself" in capsys.readouterr().err
    assert (place / "loop").is_symlink()
    assert run([*TWO, "--weights", "loop", "--out", "o"]) == 3
    assert "Too many levels of symbolic links" in capsys.readouterr().err


def test_learning_shows_its_stages(place, monkeypatch):
    stages = []

    @contextmanager
    def recorded():
        yield lambda stage, *_: stages.append(stage.partition(":")[0])

    monkeypatch.setattr("termwise.cli.learn_weights.progress_bar", recorded)
    assert run([*LEARN_TWO, "--method", "ascent", "--qrels", "qrels.txt", "--missing", "minimum"]) == 0
    assert list(dict.fromkeys(stages)) == ["gather", "ascent"]


def test_learning_alone_prints(place, capsys):
    learning = [
        *LEARN_TWO,
        "third.trec",
        "--qrels",
        "qrels.txt",
        "--seed",
        "3",
        "--missing",
        "minimum",
        "--json",
    ]
    assert run(learning) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["weights_file"] is None
    assert record["fusion"]["runs"] == ["bm25", "tilde", "third"]
    assert record["fusion"]["learned"]["seed"] == 3
    assert record["fusion"]["learned"]["restarts"] == 5
    assert run([*learning, "--starts", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["fusion"]["learned"]["restarts"] == 2
    assert record["fusion"]["learned"]["measure"] == "nDCG@10"


@pytest.mark.parametrize(
    ("ties", "said"),
    [
        (0, "no other weight does"),
        (1, "1 other interval does"),
        (2, "2 other intervals do"),
        (None, "no other"),
    ],
)
def test_other_intervals_of_equal_value_are_counted_in_words(ties, said):
    fusion = learn([BM25, TILDE], QRELS, method="sweep", missing="minimum")
    assert said in learned_text(replace(fusion, learned=replace(fusion.learned, ties=ties)))


def test_reciprocal_ranks(place):
    assert run([*TWO, "--rrf", "--out", "out.trec"]) == 0
    assert read_run("out.trec") == rrf([BM25, TILDE], name="termwise")


def test_divisors_from_an_index(place, capsys):
    texts = [("a", "merge sorted lists"), ("b", "sort a list"), ("c", "shuffle cards")]
    build_index([Document(*pair) for pair in texts], "docs.tw")
    normalise = ["--normalise", "idf", "--normalise", "query-length"]
    texts_of = ["--queries", "queries.tsv", "--index", "docs.tw"]
    assert run([*LEARN_TWO, *JUDGED, *normalise, *texts_of, "--out", "w.json"]) == 0
    assert Fusion.open("w.json").scaling == ("idf", "query-length")
    assert run([*TWO, "--weights", "w.json", *texts_of, "--out", "out.trec"]) == 0
    assert run([*TWO, "--weights", "w.json", *texts_of, "--index", "docs.tw", "--out", "again.trec"]) == 0
    assert (place / "again.trec").read_bytes() == (place / "out.trec").read_bytes()
    capsys.readouterr()
    assert run([*TWO, "--weights", "w.json", "--out", "none.trec"]) == 2
    assert "--queries FILE --index DIR" in capsys.readouterr().err
    (place / "queries.tsv").write_text("q1\tsorted lists\n")
    assert run([*TWO, "--weights", "w.json", *texts_of, "--out", "none.trec"]) == 3
    assert "q2" in capsys.readouterr().err


ALPHA = ["--alpha", "0.5", "--missing", "drop"]
OUT = ["--out", "o"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fuse", "bm25.trec", *ALPHA, *OUT], "two runs or more"),
        ([*TWO, "--rrf", *OUT, "--tag", ""], "choose a name without spaces for the run"),
        ([*TWO, *OUT, "--missing", "drop"], "say how to weigh the "),
        ([*TWO, *ALPHA, "--rrf", *OUT], "give only one of --alpha, --weights, --rrf"),
        ([*TWO, "--alpha", "0.5", *OUT], "the lowest score of the run"),
        ([*TWO, *ALPHA], "--out"),
        ([*TWO, "--alpha", "1.5", "--missing", "drop", *OUT], "0 to 1"),
        ([*TWO, "third.trec", *ALPHA, *OUT], "first of two runs"),
        ([*TWO, "--alpha", "0.5", "--missing", "min", *OUT], "did you mean minimum?"),
        ([*TWO, *ALPHA, "--normalise", "min-max", *OUT], "did you mean minmax?"),
        ([*TWO, *ALPHA, "--documents", "all", *OUT], "first, union"),
        ([*TWO, *ALPHA, *["--normalise", "z"] * 3, *OUT], "one for each"),
        ([*TWO, *ALPHA, "--normalise", "idf", *OUT], "--queries FILE --index DIR"),
        ([*TWO, *ALPHA, "--queries", "queries.tsv", *OUT], "--normalise idf"),
        ([*TWO, "--weights", "w.json", "--missing", "drop", *OUT], "the file states them"),
        ([*TWO, "--rrf", "--normalise", "z", *OUT], "ranks only"),
        ([*TWO, *ALPHA, "--out", "bm25.trec"], "over an input"),
        ([*TWO, *ALPHA, *OUT, "--separator", "comma"], "--separator space"),
        (["learn-weights", "bm25.trec", *JUDGED], "two runs or more"),
        ([*LEARN_TWO, "--qrels", "qrels.txt"], "--missing is required"),
        ([*LEARN_TWO, "--missing", "drop"], "--qrels"),
        ([*LEARN_TWO, *JUDGED, "--seed", "3"], "uses no random numbers"),
        ([*LEARN_TWO, *JUDGED, "--starts", "3"], "--starts does not apply"),
        ([*LEARN_TWO, *JUDGED, "--method", "ascent", "--starts", "0"], "--starts"),
        ([*LEARN_TWO, *JUDGED, "--method", "grid", "--seed", "3"], "uses no random numbers"),
        ([*LEARN_TWO, "third.trec", *JUDGED, "--method", "sweep"], "--method ascent"),
        ([*LEARN_TWO, *JUDGED, "-m", "Bpref"], "exact sweep"),
        ([*LEARN_TWO, *JUDGED, "-m", "nDGC@10"], "nDCG"),
        ([*LEARN_TWO, *JUDGED, "--method", "swep"], "did you mean sweep?"),
        ([*LEARN_TWO, *JUDGED, "--out", "qrels.txt"], "over an input"),
    ],
)
def test_wrong_usage(place, capsys, arguments, said):
    before = sorted(path.name for path in place.iterdir())
    assert run(arguments) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert said in streams.err
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fuse", "bm25.trec", "nowhere.trec", *ALPHA, "--out", "o"], "nowhere.trec"),
        (["fuse", "bm25.trec", "bm25.trec", *ALPHA, "--out", "o"], "given twice"),
        ([*TWO, "--weights", "nowhere.json", "--out", "o"], "learn-weights"),
        ([*TWO, "--weights", "queries.tsv", "--out", "o"], "not a file of fusion weights"),
        (["fuse", "bm25.trec", "inf.trec", *ALPHA, "--out", "o"], "infinite"),
        (["fuse", "bm25.trec", "nan.trec", *ALPHA, "--out", "o"], "a score: a number"),
        (
            ["fuse", "bm25.trec", "short.trec", "--alpha", "0.5", "--missing", "zero", "--out", "o"],
            "lowest",
        ),
        ([*LEARN_TWO, "--method", "grid", "--qrels", "other.txt", "--missing", "drop"], "no query in common"),
        (["fuse", "bm25.trec", "far.trec", *ALPHA, "--out", "o"], "two runs have no query in common"),
    ],
)
def test_bad_data(place, capsys, arguments, said):
    (place / "inf.trec").write_text("q1 Q0 a 1 inf x\nq2 Q0 a 1 1 x\n")
    (place / "nan.trec").write_text("q1 Q0 a 1 nan x\n")
    (place / "far.trec").write_text("q77 Q0 a 1 1 x\n")
    (place / "short.trec").write_text("q1 Q0 a 1 -1 x\n")
    (place / "other.txt").write_text("elsewhere 0 a 1\n")
    assert run(arguments) == 3
    streams = capsys.readouterr()
    assert streams.out == ""
    assert said in streams.err
    assert not (place / "o").exists()


PAIR = ["fuse-indexes", "bm25.tw", "jm.tw"]
RAW = ["--alpha", "0.25", "--normalise", "raw"]


@pytest.fixture
def folders(place, capsys):
    texts = [("a", "merge sorted lists"), ("b", "sort a list"), ("c", "shuffle cards")]
    for name in ("bm25", "jm"):
        build_index(
            [Document(*pair) for pair in texts],
            f"{name}.tw",
            model=name,
            options=BuildOptions(quantiser="float32"),
        )
    return place


def test_indexes_become_one(folders, capsys, monkeypatch):
    assert run([*PAIR, *RAW, "--out", "both.tw", "--threads", "1", "--memory", "1MB"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("both.tw: 3 documents, ")
    assert "next: termwise search both.tw" in streams.err
    for name in ("bm25", "jm", "both"):
        assert run(["rank", f"{name}.tw", "--queries", "queries.tsv", "--out", f"{name}.run"]) == 0
    runs = [read_run(f"{name}.run", name=name) for name in ("bm25", "jm")]
    expected = fuse(runs, [0.25, 0.75], scaling="raw", missing="zero", documents="union")
    found = read_run("both.run")
    for ranking in expected:
        assert found[ranking.query_id].doc_ids == ranking.doc_ids
        assert found[ranking.query_id].scores.tolist() == pytest.approx(ranking.scores.tolist(), rel=1e-6)
    capsys.readouterr()
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["inspect", "both.tw"]) == 0
    shown = capsys.readouterr().out
    assert "fusion" in shown
    assert "0.25 × bm25 (b 0.4, k1 0.9" in shown
    assert "0.75 × jm (" in shown
    assert run(["verify", "both.tw"]) == 0
    assert run(["explain", "both.tw", "sorted lists", "a"]) == 0


def test_learned_weights_go_into_an_index(folders, capsys):
    for name in ("bm25", "jm"):
        run(["rank", f"{name}.tw", "--queries", "queries.tsv", "--out", f"{name}.run"])
    learning = ["--qrels", "qrels.txt", "--missing", "zero", "--out", "w.json", "--overwrite"]
    for scaling in ("raw", "global"):
        assert run(["learn-weights", "bm25.run", "jm.run", *learning, "--normalise", scaling]) == 0
        capsys.readouterr()
        options = ["--weights", "w.json", "--out", "both.tw", "--overwrite", "--float", "--json"]
        assert run([*PAIR, *options]) == 0
        assert json.loads(capsys.readouterr().out)["documents"] == 3
    assert run(["learn-weights", "bm25.run", "jm.run", *learning]) == 0
    capsys.readouterr()
    assert run([*PAIR, "--weights", "w.json", "--out", "mixture.tw"]) == 0
    assert (folders / "mixture.tw" / "mixture.json").is_file()  # z-scores are added at search time
    assert run(["learn-weights", "bm25.run", "jm.run", *learning, "--normalise", "minmax"]) == 0
    capsys.readouterr()
    assert run([*PAIR, "--weights", "w.json", "--out", "other.tw"]) == 2
    assert "those of the results of each query" in capsys.readouterr().err
    assert not (folders / "other.tw").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fuse-indexes", "bm25.tw", *RAW, "--out", "o"], "nothing to fuse"),
        ([*PAIR, *RAW], "Missing option '--out'"),
        ([*PAIR, "--out", "o"], "say how to weigh the "),
        ([*PAIR, *RAW, "--weights", "w.json", "--out", "o"], "give only one of --alpha, --weights"),
        ([*PAIR, "bm25.tw", *RAW, "--out", "o"], "first of two indexes"),
        ([*PAIR, "--weights", "w.json", "--normalise", "raw", "--out", "o"], "the file states it"),
        (
            [*PAIR, "--alpha", "0.5", "--normalise", "minmax", "--out", "o"],
            "an index cannot hold this normalisation",
        ),
        ([*PAIR, "--alpha", "2", "--normalise", "raw", "--out", "o"], "0 to 1"),
        ([*PAIR, *RAW, "--out", "bm25.tw", "--overwrite"], "overlaps the folder of an old index"),
        (["fuse-indexes", "bm25.tw", "./bm25.tw", *RAW, "--out", "o"], "given twice"),
        (["fuse-indexes", "bm25.tw", "bm25.trec", *RAW, "--out", "o"], "one of these is a file"),
        (["fuse", "bm25.tw", "bm25.trec", *ALPHA, "--out", "o"], "termwise fuse-indexes"),
        ([*PAIR, *RAW, "--out", "o", "--memory", "lots"], "--memory 2GB"),
    ],
)
def test_wrong_usage_with_indexes(folders, capsys, arguments, said):
    before = sorted(path.name for path in folders.iterdir())
    assert run(arguments) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert said in streams.err
    assert sorted(path.name for path in folders.iterdir()) == before


def test_indexes_of_other_documents(folders, capsys):
    build_index([Document("z", "merge"), Document("y", "cards")], "other.tw")
    assert run(["fuse-indexes", "bm25.tw", "other.tw", *RAW, "--out", "o"]) == 3
    streams = capsys.readouterr()
    assert "3 documents of the other index, for example this one" in streams.err
    assert run(["fuse-indexes", "bm25.tw", "nowhere.tw", *RAW, "--out", "o"]) == 3
    assert "there is no such index" in capsys.readouterr().err
    assert not (folders / "o").exists()


def test_documents_of_later_runs_only_are_left_out_and_noted(place, capsys):
    mixed = ["--alpha", "0.5", "--missing", "minimum", "--out", "out.trec", "--overwrite"]
    assert run(["fuse", "third.trec", "bm25.trec", *mixed]) == 0
    said = "left out: 1 document that third does not rank for their query; --documents union fuses them too"
    assert said in capsys.readouterr().err
    for chosen in ("first", "union"):
        assert run(["fuse", "third.trec", "bm25.trec", *mixed, "--documents", chosen]) == 0
        assert "left out" not in capsys.readouterr().err
