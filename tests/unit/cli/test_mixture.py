"""The commands on the folder of a mixture."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.unit.evaluate.compared_runs import compare_runs
from tests.unit.search.vector_index import write_vector_index

import termwise
from termwise import Document, build_index, read_qrels, read_queries, read_run
from termwise.cli.learn_weights import learned_text
from termwise.cli.learned_gain import gain_text
from termwise.cli.main import run
from termwise.errors import UsageError
from termwise.evaluate import evaluate
from termwise.evaluate.contrast import Contrast
from termwise.fusion import Fusion, cross_validated_run, mix_indexes
from termwise.fusion.weights_file import Learned
from termwise.indexing import builder, recipes
from termwise.indexing.recipes import BEST, Recipe, RecipePart
from termwise.probes.rankers_by_name import open_rankers
from termwise.probes.report import read_report
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers.token_statistics import Background
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors

DOCUMENTS = """\
{"_id": "a", "text": "merge sorted lists"}
{"_id": "b", "text": "shuffle a list of cards"}
{"_id": "c", "text": "sort cards"}
{"_id": "d", "text": "merge the sorted lists and cards"}
"""


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe((RecipePart("bm25", 0.25), RecipePart("jm", 0.75))))
    (tmp_path / "docs.jsonl").write_text(DOCUMENTS)
    (tmp_path / "queries.tsv").write_text("q1\tsorted lists\nq2\tcards\n")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 c 1\n")
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "m", "--store-text"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("m: 4 documents, 0.25 bm25 + 0.75 jm, ")
    assert streams.err.endswith('next: termwise search m "your question" --explain\n')
    return tmp_path


def test_index(place, capsys):
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "m"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "m", "--overwrite", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["mixture"], [part["name"] for part in report["parts"]]) == ("m", ["bm25", "jm"])
    for options in (["--set", "k1=1"], ["--float"]):
        assert run(["index", "docs.jsonl", "--model", "best", "--out", "n", *options]) == 2
        error = capsys.readouterr().err
        assert f"{options[0]} does not apply to a mixture" in error
        mixing = "termwise fuse-indexes bm25.tw jm.tw --weights 0.25,0.75 --normalise z --out n"
        builds = "(bm25.tw with --model bm25, jm.tw with --model jm)"
        assert f"build the indexes one by one {builds} and mix them: {mixing}\n" in error
    assert run(["index", "docs.jsonl", "--model", "bset", "--out", "n"]) == 2
    assert "did you mean best?" in capsys.readouterr().err
    assert run(["probe", "bset"]) == 2
    assert "did you mean best?" in capsys.readouterr().err


def test_search_and_explain(place, capsys):
    assert run(["search", "m", "sorted lists", "--explain"]) == 0
    streams = capsys.readouterr()
    assert "constant -" in streams.out
    assert "2 of 4 documents contain all words" in streams.err
    assert run(["search", "m", "sorted lists", "--only-words", "-k", "1"]) == 0
    assert "1 of 2 matches from 4 documents, with all words" in capsys.readouterr().err
    assert run(["search", "m", "sorted lists", "--json", "--explain", "-k", "1"]) == 0
    record, _ = map(json.loads, capsys.readouterr().out.splitlines())
    parts = record["explanation"]["parts"]
    assert [part["name"] for part in parts] == ["bm25", "jm"]
    total = sum(part["weight"] * (part["score"] - part["mean"]) / part["deviation"] for part in parts)
    assert total == pytest.approx(record["score"])
    assert run(["explain", "m", "sorted lists", "a"]) == 0
    shown = capsys.readouterr().out
    assert "query × doc × scale" in shown
    assert "  bm25  0.25 × (" in shown
    assert "  mean of jm" in shown
    assert run(["explain", "m", "sorted lists", "a", "--html", "page.html"]) == 0
    page = (place / "page.html").read_text()
    assert '<tr class="part"><th scope="rowgroup" colspan="6">jm</th></tr>' in page
    assert "<bdi>mean of bm25</bdi>, the same for every document" in page
    assert run(["explain", "m", "a", "sorted lists"]) == 3
    assert 'termwise explain m "sorted lists" a' in capsys.readouterr().err


def test_query_by_example(place, capsys):
    assert run(["search", "m", "--like", "a"]) == 0
    assert capsys.readouterr().out.startswith("1  ")
    (place / "file.txt").write_text("merge sorted lists")
    assert run(["search", "m", "--like-file", "file.txt"]) == 0
    assert "the text is the same: a" in capsys.readouterr().err
    assert run(["explain", "m", "--like", "a", "d"]) == 0
    assert "like a" in capsys.readouterr().out
    assert run(["search", "m", "cards cards", "--set", "counts=once"]) == 0
    assert run(["search", "m", "zebra"]) == 0
    assert capsys.readouterr().err.endswith("no results: not in the index: zebra\n")
    assert run(["search", "m", "srted lists"]) == 0
    assert "did you mean: sorted\n" in capsys.readouterr().err
    assert run(["search", "m", "srted lists", "--fuzzy", "--json", "-k", "1"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["doc_id"] == "a"


def test_runs(place, capsys):
    files = ["--queries", "queries.tsv", "--out", "run.trec"]
    assert run(["rank", "m", *files, "--measure-time"]) == 0
    assert "scoring" in capsys.readouterr().out
    ranked = read_run("run.trec")
    queries = [("q1", "sorted lists"), ("q2", "cards")]
    mixture = termwise.open("m")
    assert all(ranked[name].doc_ids == mixture.rank(text, k=1000).doc_ids for name, text in queries)
    assert run(["rerank", "m", "--run", "run.trec", "--queries", "queries.tsv", "--out", "again.trec"]) == 0
    assert read_run("again.trec", name="run") == read_run("run.trec", name="run")
    command = [
        "rerank",
        "m",
        "--run",
        "run.trec",
        "--queries",
        "queries.tsv",
        "--out",
        "o",
        "--scorer",
        "bm25",
    ]
    assert run(command) == 0


def test_inspect_and_verify(place, capsys):
    assert run(["inspect", "m"]) == 0
    shown = capsys.readouterr().out
    assert "0.25 × bm25" in shown
    assert "the first 1,000 of each part" in shown
    assert run(["inspect", "m", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [part["index"] for part in facts["parts"]] == ["m/bm25", "m/jm"]
    assert run(["verify", "m"]) == 0
    assert capsys.readouterr().out == "m: intact\n"
    file = next((place / "m" / "jm").glob("ids-*.tw"))
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    assert run(["verify", "m"]) == 5
    assert f"jm/{file.name}" in capsys.readouterr().err


def test_learned_weights_of_a_mixture(place, capsys):
    learn = ["learn-weights", "m", "--qrels", "qrels.txt", "--out", "weights.json"]
    assert run([*learn, "--queries", "queries.tsv"]) == 0
    streams = capsys.readouterr()
    assert "next: termwise fuse-indexes m --weights weights.json --out DIR" in streams.err
    assert "\nnDCG@10 with the present weights, 0.25 bm25 + 0.75 jm: " in streams.out
    assert streams.out.endswith("\nThe learned weights gain nothing on these queries.\n")
    assert "fewer than 5 judged queries, so the gain is not cross-validated\n" in streams.err
    assert streams.out.startswith("Run   normalisation  weight  nDCG@10 over all candidates\n")
    assert (
        "each part ranks the candidates of all parts; its own search would find other documents"
        in streams.out
    )
    assert run(["fuse-indexes", "m", "--weights", "weights.json", "--out", "n"]) == 0
    capsys.readouterr()
    assert run([*learn, "--queries", "queries.tsv", "--overwrite", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["present"]["weights"] == [0.25, 0.75]
    gain = report["fusion"]["learned"]["value"] - report["present"]["value"]
    assert report["present"]["gain"] == pytest.approx(gain)
    assert report["present"]["cross_validated"] is None
    weights = json.loads((place / "weights.json").read_text())["weights"]
    assert [part.weight for part in termwise.open("n").parts] == [w for w in weights if w]
    assert run(learn) == 2
    assert "--queries FILE" in capsys.readouterr().err
    assert run([*learn, "--queries", "queries.tsv", "--missing", "drop"]) == 2
    assert "does not apply to a mixture" in capsys.readouterr().err


def test_the_gain_of_learned_weights(place):
    gain = Contrast(
        "RR", "present", "learned", 9, 0.5, 0.51, 0.01, 0.02, -0.01, 0.03, *[None] * 8, 3, 4, 2, np.zeros(9)
    )
    value = "RR with the present weights, 0.25 bm25 + 0.75 jm: 0.5000.\n"
    mixture = termwise.open("m")
    here = f"{value}The learned weights gain 0.0100 on these queries, where a gain is never negative."
    assert gain_text(mixture.backend.description, gain, None, folds=5) == here
    said = "The gain cross-validated over 5 folds is 0.0100, with a 95% interval from -0.0100 to 0.0300"
    assert (
        gain_text(mixture.backend.description, gain, gain, folds=5)
        == f"{here}\n{said}: too little to prefer them."
    )
    clear = replace(gain, ci_low=0.002)
    assert gain_text(mixture.backend.description, gain, clear, folds=5).endswith(
        "a 95% interval from 0.0020 to 0.0300."
    )


def test_the_gain_is_cross_validated(place, capsys):
    words = ["sorted", "lists", "cards", "merge", "shuffle", "sort"]
    (place / "six.tsv").write_text("".join(f"{word}\t{word}\n" for word in words))
    relevant = {"sorted": "d", "lists": "b", "cards": "d", "merge": "a", "shuffle": "b", "sort": "a"}
    (place / "six.qrels").write_text("".join(f"{word} 0 {doc_id} 1\n" for word, doc_id in relevant.items()))
    learn = ["learn-weights", "m", "--qrels", "six.qrels", "--queries", "six.tsv", "--measure", "RR"]
    assert run([*learn, "--folds", "3", "--json", "--out", "weights.json"]) == 0
    report = json.loads(capsys.readouterr().out)
    queries, qrels = list(read_queries("six.tsv")), list(read_qrels("six.qrels"))
    mixture = termwise.open("m")
    rules = {"missing": "minimum", "documents": "union", "method": "sweep", "measure": "RR"}
    fused = cross_validated_run(
        mixture.part_runs(queries), qrels, partial(termwise.fusion.learn, **rules), folds=3
    )
    now = mixture.rank_many(queries)
    gain = compare_runs([now, fused], qrels, ["RR"]).contrasts[0]
    assert report["present"]["cross_validated"] == pytest.approx(
        {"gain": gain.difference, "ci_low": gain.ci_low, "ci_high": gain.ci_high}
    )
    learned = json.loads((place / "weights.json").read_text())["learned"]
    assert (learned["estimate"], learned["folds"]) == (pytest.approx(gain.run_mean), 3)
    assert run(learn) == 0
    assert "\nThe gain cross-validated over 5 folds is " in capsys.readouterr().out
    assert run([*learn, "--folds", "0"]) == 0
    assert "cross-validated" not in capsys.readouterr().out
    assert run([*learn, "--folds", "7"]) == 2
    assert "fewer judged queries with documents than folds" in capsys.readouterr().err
    for folder in ("bm25", "jm"):
        search = ["rank", f"m/{folder}", "--queries", "six.tsv", "--out", f"{folder}.trec"]
        assert run(search) == 0
    runs = ["learn-weights", "bm25.trec", "jm.trec", "--qrels", "six.qrels", "--missing", "drop"]
    assert run([*runs, "--folds", "3"]) == 2
    assert "--folds does not apply to run files" in capsys.readouterr().err


def test_boosted_trees_over_the_scores_of_a_mixture(place, capsys):
    pytest.importorskip("lightgbm")
    random = np.random.default_rng(1)
    texts = [random.choice([f"w{n}" for n in range(30)], 12).tolist() for _ in range(60)]
    lines = [json.dumps({"_id": f"d{n}", "text": " ".join(words)}) for n, words in enumerate(texts)]
    (place / "docs.jsonl").write_text("\n".join(lines))
    (place / "many.tsv").write_text("".join(f"q{n}\t{words[n % 8]}\n" for n, words in enumerate(texts[:30])))
    (place / "many.qrels").write_text("".join(f"q{n} 0 d{n} 1\nq{n} 0 gone 1\n" for n in range(30)))
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "n", "--store-text"]) == 0
    learn = ["learn-weights", "n", "--queries", "many.tsv", "--qrels", "many.qrels", "--method", "lambdamart"]
    capsys.readouterr()
    assert run([*learn, "--out", "trees", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"bm25", "jm", "standard.span"} < report["gains"].keys()
    assert (report["queries"], report["folder"]) == (30, "trees")
    assert run(["rank", "n", "--queries", "many.tsv", "--out", "first.trec"]) == 0
    again = ["rerank", "n", "--run", "first.trec", "--queries", "many.tsv", "--scorer"]
    assert run([*again, "trees", "--out", "second.trec"]) == 0
    first, second = (read_run(place / f"{name}.trec") for name in ("first", "second"))
    assert set(first["q3"].doc_ids) == set(second["q3"].doc_ids)
    values = [evaluate(one, read_qrels(place / "many.qrels"), ["AP"]).means["AP"] for one in (first, second)]
    assert values[1] > values[0], "on the queries of the training"
    (place / "n").rename(place / "moved")
    again[1] = "moved"
    assert run([*again, "trees", "--out", "third.trec"]) == 3
    assert run([*again, "trees,mixture=moved", "--out", "third.trec"]) == 0
    assert (place / "third.trec").read_bytes() == (place / "second.trec").read_bytes()
    assert run([*again, "trees,mixture=m", "--out", "fourth.trec"]) == 3
    assert "trained with another mixture" in capsys.readouterr().err
    learn[1] = "moved"
    assert run([*learn, "--out", "trees"]) == 2
    assert run(learn) == 2
    assert run([*learn, "--out", "more", "--folds", "3"]) == 2
    runs = ["learn-weights", "first.trec", "second.trec", "--qrels", "many.qrels", "--missing", "drop"]
    assert run([*runs, "--method", "lambdamart"]) == 2
    assert "needs a mixture" in capsys.readouterr().err


def test_results_mark_the_words_that_excerpts_mark(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = ["The pathlib module: ctlib unlinked.", "A ctlib for the paths."]
    documents = [Document(str(place), text) for place, text in enumerate(texts)]
    for name, analyzer in (("pieces", "wordpiece"), ("words", "english")):
        build_index(documents, name, analyzer=analyzer, store_text=True)
    mix_indexes(["pieces", "words"], [0.5, 0.5], "both")
    for name in ("pieces", "both"):
        assert run(["search", name, "pathlib unlinked"]) == 0
        shown = capsys.readouterr().out
        assert "The ‹pathlib› module: ctlib ‹unlinked›." in shown
        assert "A ctlib for the paths." in shown
    build_index(documents, "without-texts")
    assert run(["search", "without-texts", "zebra"]) == 0


def test_a_part_with_the_weight_0_is_left_out_and_its_texts_stay(place, capsys):
    assert run(["fuse-indexes", "m", "--weights", "0,1", "--out", "n"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("n: 4 documents, 1 jm, ")
    assert "bm25 left out: weight 0\n" in streams.err
    assert run(["search", "n", "cards", "-k", "1"]) == 0
    assert "sort ‹cards›" in capsys.readouterr().out
    assert run(["verify", "n"]) == 0
    assert run(["fuse-indexes", "m", "--weights", "0,1", "--out", "one", "--normalise", "raw"]) == 0
    assert "bm25 left out: weight 0\n" in capsys.readouterr().err


def test_the_interval_of_a_weight_has_the_digits_that_tell_its_ends_apart():
    def said(low, high):
        learned = Learned(
            method="sweep",
            measure="RR",
            value=0.5,
            alone=(0.4, 0.3),
            queries=9,
            queries_sha256="0" * 64,
            low=low,
            high=high,
            ties=0,
            deviations=(None, None),
        )
        fusion = Fusion(["bm25", "jm"], [0.4, 0.6], missing="minimum", learned=learned)
        return learned_text(fusion).splitlines()[-2]

    assert said(0.25, 0.5).startswith("Every weight of bm25 from 0.2500 to 0.5000 gives this value; ")
    assert said(0.44061, 0.44063).startswith("Every weight of bm25 from 0.44061 to 0.44063 gives")
    assert said(0.4406, 0.4406 + 1e-12).startswith(
        "The weight of bm25 that gives this value is about 0.4406; "
    )


def test_indexes_that_cannot_be_added_are_mixed(place, capsys):
    """The refusal names one command, and that command works."""
    build_index("docs.jsonl", "english.tw", model="bm25")
    build_index("docs.jsonl", "pieces.tw", model="bm25", analyzer="wordpiece-clean")
    assert run(["fuse-indexes", "english.tw", "pieces.tw", "--alpha", "0.3", "--out", "mixed.tw"]) == 3
    error = capsys.readouterr().err
    command = "termwise fuse-indexes english.tw pieces.tw --weights 0.3,0.7 --normalise z --out DIR"
    assert f"add their scores at search time instead: {command}\n" in error
    assert run(command.replace("DIR", "mixed.tw").split()[1:]) == 0
    assert capsys.readouterr().out.startswith("mixed.tw: 4 documents, 0.3 english + 0.7 pieces, ")
    assert run(["search", "mixed.tw", "sorting cards"]) == 0
    assert run([*command.split()[1:], "--float"]) == 2
    assert "--float does not apply to a mixture" in capsys.readouterr().err


def test_weights_of_more_than_two_parts(place, capsys):
    """A mixture counts as its parts, and z-scores are its only normalisation."""
    build_index("docs.jsonl", "bm25.tw", model="bm25")
    fuse = ["fuse-indexes", "m", "bm25.tw", "--out", "n"]
    assert run([*fuse, "--alpha", "0.3"]) == 2
    error = capsys.readouterr().err
    assert "indexes  m/bm25, m/jm, bm25.tw\n" in error
    assert "--weights W,W,W, one number for each" in error
    assert run([*fuse, "--weights", "0.3,0.7"]) == 2
    assert "--weights needs one number for each of the indexes" in capsys.readouterr().err
    assert run([*fuse, "--weights", "0.25,0.5,0.25"]) == 0
    assert [(part.name, part.weight) for part in termwise.open("n").parts] == [
        ("bm25", 0.25),
        ("jm", 0.5),
        ("bm25-2", 0.25),
    ]
    assert run(["fuse-indexes", "m", "--alpha", "0.5", "--out", "o", "--normalise", "raw"]) == 0
    assert run(["fuse-indexes", "bm25.tw", "m/jm", "--weights", "2,1", "--out", "raw.tw"]) == 0
    assert len(termwise.open("raw.tw").rank("cards")) == 3


def test_an_index_of_vectors_is_mixed_by_default(place, capsys):
    build_index("docs.jsonl", "bm25.tw", model="bm25")
    vocabulary = Vocabulary(["cards", "lists"])
    vectors = DocumentVectors(range(5), [[1, 0], [0, 1], [0, 2], [1, 1]], [0.5] * 4)
    table = TermVectors([[0, 3], [3, 0]], [0, 0], 0.5, vocabulary.id)
    write_vector_index(place / "dense.tw", "abcd", vectors, table, vocabulary)
    pair = ["fuse-indexes", "bm25.tw", "dense.tw", "--alpha", "0.3", "--out", "n"]
    assert run([*pair, "--normalise", "raw"]) == 2
    error = capsys.readouterr().err
    command = "termwise fuse-indexes bm25.tw dense.tw --weights 0.3,0.7 --normalise z --out DIR"
    assert f"add their scores at search time instead: {command}\n" in error
    assert run(pair) == 0
    assert capsys.readouterr().out.startswith("n: 4 documents, 0.3 bm25 + 0.7 dense, ")


def test_a_missing_part(place, capsys):
    shutil.rmtree("m/jm")
    for command in (
        ["search", "m", "cards"],
        ["verify", "m"],
        ["fuse-indexes", "m", "--alpha", "1", "--out", "n"],
    ):
        assert run(command) == 3
        error = capsys.readouterr().err
        assert "the index of a part is missing from the mixture" in error
        assert "mixture  m\n" in error
        assert "build the mixture again" in error
        assert "--out" not in error
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "m", "--overwrite"]) == 0
    assert run(["verify", "m"]) == 0


def test_an_index_is_no_mixture_and_the_reverse(place, capsys):
    build_index("docs.jsonl", "plain.tw")
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "plain.tw", "--overwrite"]) == 2
    error = capsys.readouterr().err
    assert "the folder is an index, not a mixture; nothing was changed" in error
    assert "remove the index first" in error
    assert run(["index", "docs.jsonl", "--model", "bm25", "--out", "m", "--overwrite"]) == 2
    error = capsys.readouterr().err
    assert "the folder is a mixture of indexes, not an index; nothing was changed" in error
    assert "remove the mixture first" in error
    assert run(["verify", "m"]) == 0


def test_probe_a_mixture(place, capsys, monkeypatch):
    monkeypatch.setattr(builder, "DEFAULT_ANALYZER", "english")  # that of scorers of texts
    shutil.rmtree("m")
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "m"]) == 0
    folder = place / "judged"
    (folder / "qrels").mkdir(parents=True)
    shutil.copy("docs.jsonl", folder / "corpus.jsonl")
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "sorted lists"}\n{"_id": "q2", "text": "cards"}\n'
    )
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tc\t1\n")
    rankers = ["m", "best", "bm25", "jm", "again=bm25+jm,alpha=0.25", "x=m/bm25", "y=m/jm", "x+y,alpha=0.25"]
    given = [
        "--judged",
        "judged",
        "--language",
        "rules",
        "--suite",
        "probe:length-doubled",
        "--out",
        "report",
    ]
    assert run(["probe", *rankers, *given]) == 0
    report = read_report(place / "report")
    scorers = {one["name"]: (one["fingerprint"], one["effect_rule"]) for one in report["scorers"]}
    assert scorers["m"] == scorers["best"] == scorers["again"] == scorers["x+y"], (
        "the same scores, and the same δ"
    )
    context = ScorerContext(Background(lambda: [Document("a", "sorted lists"), Document("b", "cards")]))
    opened = open_rankers(["bm25", "best"], [], context)
    assert opened["best"].parts[0] is opened["bm25"], "a text is weighed once for both"
    assert run(["probe", "best,k1=2", *given[:-2]]) == 2
    assert "unknown setting of best 'k1'" in capsys.readouterr().err


def test_a_mixture_of_other_documents_names_the_indexes(place, capsys):
    build_index([Document("a", "sorted lists"), Document("b", "cards")], "other.tw")
    build_index("docs.jsonl", "plain.tw")
    pair = ["fuse-indexes", "plain.tw", "other.tw", "--alpha", "0.3", "--normalise", "z", "--out", "n"]
    assert run(pair) == 2
    error = capsys.readouterr().err
    assert "plain, plain.tw\n" in error
    assert "other, other.tw\n" in error
    assert run([*pair, "--weights", "0.3,0.7"]) == 2
    assert "give only one of --alpha, --weights\n" in capsys.readouterr().err.replace("  [usage]", "")


def test_an_unfinished_mixture(place, capsys):
    build_index("docs.jsonl", "killed.tw/bm25")
    (place / "killed.tw" / "mixture.building").write_text("bm25\njm\n")
    assert run(["search", "killed.tw", "cards"]) == 3
    error = capsys.readouterr().err
    assert "the build of this mixture was not finished" in error
    assert "run its command again" in error
    assert run(["index", "docs.jsonl", "--model", "best", "--out", "killed.tw"]) == 0


def test_an_unknown_document_is_unknown_to_the_mixture(place, capsys):
    for command in (
        ["explain", "m", "cards", "nope"],
        ["search", "m", "--like", "nope"],
        ["explain", "m", "--like", "nope", "a"],
    ):
        assert run(command) == 3
        error = capsys.readouterr().err
        assert "doc_id   nope\n" in error
        assert "mixture  m\n" in error
    (place / "foreign.trec").write_text("q1 Q0 nope 1 2.0 x\n")
    rerank = ["rerank", "m", "--run", "foreign.trec", "--queries", "queries.tsv", "--out", "o"]
    assert run(rerank) == 3
    assert "index    m\n" in capsys.readouterr().err


def test_weights_are_learned_for_a_mixture(place, capsys):
    build_index("docs.jsonl", "plain.tw")
    assert run(["learn-weights", "plain.tw", "--qrels", "qrels.txt", "--queries", "queries.tsv"]) == 2
    error = capsys.readouterr().err
    assert "missing  mixture.json" in error
    assert "termwise fuse-indexes plain.tw OTHER_DIR --alpha 0.3 --normalise z --out DIR" in error


def test_encode_names_the_part(place, capsys):
    assert run(["encode", "docs.jsonl", "--model", "best", "--encoding", "rows"]) == 2
    error = capsys.readouterr().err
    assert "this is the name of a mixture" in error
    assert "termwise index COLLECTION --out DIR --model best\n" in error  # none of its parts has a network
    assert run(["encode", "docs.jsonl", "--model", "best-large", "--encoding", "rows"]) == 2
    error = capsys.readouterr().err
    assert "name the part: --model lookup" in error
    assert "termwise index COLLECTION --out DIR --model best-large --encoding FOLDER" in error


def test_parts_that_know_no_word_of_the_query(place, capsys):
    build_index("docs.jsonl", "stems.tw", model="bm25", analyzer="whitespace")
    build_index("docs.jsonl", "words.tw", model="jm")
    assert (
        run(["fuse-indexes", "stems.tw", "words.tw", "--alpha", "0.3", "--normalise", "z", "--out", "n"]) == 0
    )
    capsys.readouterr()
    assert run(["search", "n", "merging zzz"]) == 0
    assert "\nstems: not in the index: merging, zzz\n" in capsys.readouterr().err
    assert run(["search", "n", "cards zzz"]) == 0
    assert "not in the index" not in capsys.readouterr().err


def test_commands_that_take_no_mixture(place, capsys):
    with pytest.raises(UsageError, match="no text by itself") as caught:
        open_scorer("m", ScorerContext(Background(list)))
    assert "search or re-rank with the mixture: `termwise.open('m')`" in caught.value.fixes_worded()
    with pytest.raises(UsageError, match="no text by itself") as caught:
        open_scorer("best", ScorerContext(Background(list)))
    assert caught.value.fixes_worded()[0] == "`build_index(model='best')`"
    rerank = ["rerank", "m", "--run", "docs.jsonl", "--queries", "queries.tsv", "--out", "o"]
    assert run([*rerank, "--table", "model1"]) == 3
    assert "a mixture of indexes, not an index" in capsys.readouterr().err


def test_negative_weights_are_noted(place, capsys):
    learned = Learned(
        method="sweep", measure="RR", value=0.5, alone=(0.4, 0.3), queries=9, queries_sha256="0" * 64,
        low=0.25, high=0.5, ties=0, deviations=(None, None),
    )  # fmt: skip
    fusion = Fusion(["bm25", "jm"], [1.4, -0.4], missing="minimum", learned=learned)
    assert "\nA negative weight reverses the order of jm.\n" in learned_text(fusion)
    assert "reverses" not in learned_text(replace(fusion, weights=[0.6, 0.4]))
    assert (
        run(["fuse-indexes", "m/bm25", "m/jm", "--weights=1.3,-0.3", "--normalise", "z", "--out", "n"]) == 0
    )
    assert ", 1.3 bm25 - 0.3 jm, " in capsys.readouterr().out
    assert "1.3 bm25 - 0.3 jm" in repr(termwise.open("n"))
    assert run(["explain", "n", "sorted lists", "a"]) == 0
    assert (
        "lower the score, because the part jm has a negative weight: sorted, lists" in capsys.readouterr().out
    )


def test_centred_explanations(place, capsys):
    assert run(["explain", "m", "sorted lists", "c", "--centred"]) == 0
    shown = capsys.readouterr().out
    assert "query × (doc - mean) × scale" in shown
    assert "mean of" not in shown
    assert run(["explain", "m", "--like", "a", "c", "--centred", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["centred"], record["constant"]) == (True, 0.0)
    total = sum(each["score"] for each in record["contributions"])
    assert total == pytest.approx(record["score"])
    assert run(["explain", "m/bm25", "sorted lists", "c", "--centred"]) == 2
    error = capsys.readouterr().err
    assert "only the score of a mixture can be centred" in error
    assert "omit --centred" in error


def test_a_mixture_keeps_its_depth_and_the_names_of_its_parts(place, capsys):
    mix_indexes(["m/bm25", "m/jm"], [0.5, 0.5], "first", names=["words", "language model"], depth=1)
    fuse = ["fuse-indexes", "first", "--alpha", "0.3", "--out", "second", "--overwrite"]
    for _ in range(2):  # the second time, the folders of the parts have other names
        assert run(fuse) == 0
    mixture = termwise.open("second")
    assert mixture.backend.depth == 1
    assert [(part.name, part.weight) for part in mixture.parts] == [("words", 0.3), ("language model", 0.7)]
    assert run(["fuse-indexes", "second", "--alpha", "0.5", "--out", "third"]) == 0
    assert [part.name for part in termwise.open("third").parts] == ["words", "language model"]


def test_a_changed_part_is_not_fused(place, capsys):
    build_index("docs.jsonl", "m/jm", model="ml", overwrite=True)
    assert run(["fuse-indexes", "m", "--alpha", "0.5", "--out", "n"]) == 3
    assert "a part of the mixture has changed since the mixture was built" in capsys.readouterr().err
    assert not (place / "n").exists()


def test_a_damaged_part_is_repaired_by_a_build_of_the_mixture(place, capsys):
    file = next((place / "m" / "jm").glob("terms-*"))
    file.write_bytes(file.read_bytes()[:-1])
    assert run(["search", "m", "cards"]) == 3
    error = capsys.readouterr().err
    assert "build the mixture again" in error
    assert "build the index again" not in error


@pytest.mark.parametrize("weight", ["0.3", "0"])
def test_tuned_settings_are_checked_for_mixtures(place, capsys, weight):
    fusion = Fusion(["bm25", "jm"], [float(weight), 0.7], missing="drop", settings=[{"k1": "5"}, {}])
    fusion.save(place / "weights.json")
    status = run(["fuse-indexes", "m", "--weights", "weights.json", "--out", "n"])
    assert status == (0 if weight == "0" else 2)
    assert ("settings that its weight was tuned with" in capsys.readouterr().err) == (weight != "0")


def test_results_by_meaning_only_are_marked_unless_nothing_matches_by_words(place, capsys):
    assert run(["index", "docs.jsonl", "--model", "instant", "--out", "n", "--store-text"]) == 0

    def shown(*options):
        capsys.readouterr()
        assert run(["search", "n", *options]) == 0
        streams = capsys.readouterr()
        return streams.out.count("meaning only"), streams.err

    assert shown("shuffle") == (3, "1 of 4 documents contains all words\n")
    assert shown("shuffle", "-k", "1") == (0, "1 of 4 documents contains all words\n")
    assert shown("shuffle", "-k", "2", "--offset", "2") == (
        2,
        "1 of 4 documents contains all words\n",
    )
    marked, note = shown("deck", "--min-relevance", "0")
    assert marked == 0
    assert "none of 4 documents contains a word of the query" in note
