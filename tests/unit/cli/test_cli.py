"""The command line as scripts rely on it: verbs, options, streams, exit codes."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import termwise
from termwise import Ranking, Run, __version__, write_run
from termwise.cli.main import note_compiling, run
from termwise.cli.terminal import working_seconds
from termwise.index import IndexWriter
from termwise.index.updater import IndexUpdater
from termwise.kernels import code_cache
from termwise.kernels.jit import compilation_seconds, compiled_for
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

DOCUMENTS = [
    {"_id": "a", "title": "Merging", "text": "merge two sorted lists into one"},
    {"_id": "b", "title": "Cards", "text": "shuffle a list of cards"},
    {"_id": "c", "title": "Files", "text": "read a file line by line into a list"},
]
QUERIES = [{"_id": "q1", "text": "merging sorted lists"}, {"_id": "q2", "text": "shuffled cards"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tc\t1\nq2\tb\t1\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(d) + "\n" for d in DOCUMENTS))
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in QUERIES))
    (tmp_path / "qrels.tsv").write_text(QRELS)
    return tmp_path


@pytest.fixture
def index(place):
    assert (
        run(["index", "docs.jsonl", "--model", "bm25", "--out", "i.tw", "--store-text", "--threads", "1"])
        == 0
    )
    return place / "i.tw"


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"termwise {__version__}\n"
    assert run(["--help"]) == 0
    assert "explain" in capsys.readouterr().out


def test_the_help_of_a_command_shows_arguments_without_types_and_each_example_on_its_own_line(capsys):
    assert run(["fuse", "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "RUN  Run files, two or more, in the order of the weights.  [required]" in lines
    assert "termwise fuse bm25.trec tilde.trec dense.trec --rrf --out fused.trec" in lines


@pytest.mark.parametrize("group", [[], ["train"]])
def test_the_help_describes_each_verb_on_one_whole_line(capsys, monkeypatch, group):
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*group, "--help"]) == 0
    assert "..." not in capsys.readouterr().out.partition("Options:")[2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serch", "i.tw", "x"], "did you mean search"),
        (["SEARCH", "i.tw", "x"], "did you mean search?"),
        (["train", "TILDE"], "did you mean tilde?"),
        (["index", "docs.jsonl", "--out", "n", "--model", "TILDE"], "did you mean tilde?"),
        (["index", "docs.jsonl", "--out", "n", "--analyzer", "English"], "did you mean english?"),
        (["search", "i.tw", "x", "--explan"], "--explain"),
        (["search", "i.tw", "x", "-k", "many"], "-k"),
        (["index", "docs.jsonl"], "--out"),
        (["search", "i.tw"], "give a query, a query document, or conditions"),
        (
            ["rank", "i.tw", "x", "--queries", "queries.jsonl", "--out", "r"],
            "more arguments than the command takes",
        ),
        (["search", "i.tw", "x", "--like", "a"], "a query, --like and --like-file exclude each other"),
        (["search", "i.tw", "--like", "a", "--like-file", "docs.jsonl"], "exclude each other"),
        (["search", "i.tw", "--like", "a", "--exclude-seed", "id"], "--exclude-seed"),
        (["search", "i.tw", "--like", "a", "--out", "r"], "--out"),
        (["search", "i.tw", "x", "--set", "terms"], "--set max_terms=30"),
        (["search", "i.tw", "x", "--set", "max_term=3"], "did you mean max_terms?"),
        (
            ["search", "i.tw", "x", "--set", "max_terms=3", "--set", "max_terms=4"],
            "--set max_terms=4, once",
        ),
        (["search", "i.tw", "x", "--set", "counts=twice"], "saturated"),
        (["explain", "i.tw", "lists"], "--like OTHER_ID DOC_ID"),
        (["explain", "i.tw", "lists", "a", "--like", "b"], "give only the document to explain"),
        (["explain", "i.tw", "a", "--like", "b", "--like-file", "docs.jsonl"], "exclude each other"),
        (["explain", "i.tw", "a", "--like", "b", "--like", "c"], "only one document can be the query"),
        (
            ["search", "i.tw", "--like-file", "docs.jsonl", "--like-file", "docs.jsonl"],
            "only one document can be the query",
        ),
        (["rank", "i.tw", "--queries", "queries.jsonl"], "Missing option '--out'"),
        (["rank", "i.tw", "--queries", "q", "--out", "r", "--show", "x"], "No such option '--show'"),
        (["search", "i.tw", "--like", "a", "--prefix", "--syntax"], "--prefix, --syntax do not apply"),
        (["explain", "i.tw", "a", "--like", "b", "--fuzzy"], "--fuzzy does not apply"),
        (["search", "i.tw", "x", "--out", "r"], "No such option '--out'"),
        (["index", "docs.jsonl", "--out", "n", "--model", "bm52"], "bm25"),
        (["index", "docs.jsonl", "--out", "n", "--set", "k1"], "--set k1=0.9"),
        (["index", "docs.jsonl", "--out", "n", "--set", "k1=a"], "k1"),
        (["index", "docs.jsonl", "--out", "n", "--set", "k1=1", "--set", "k1=2"], "twice"),
        (["index", "docs.jsonl", "--out", "n", "--memory", "lots"], "--memory 2GB"),
        (["index", "docs.jsonl", "--out", "n", "--threads", "1025"], "<=1024"),
        (
            ["encode", "docs.jsonl", "--model", "tilde", "--encoding", "n", "--threads", "2147483648"],
            "<=1024",
        ),
        (["rank", "i.tw", "--queries", "q", "--out", "n", "--threads", "1025"], "<=1024"),
        (["index", "docs.jsonl", "--model", "bm25", "--out", "n", "--fields", "titel"], "title"),
        (["evaluate", "--qrels", "qrels.tsv", "run.trec", "-m", "nDGC@10"], "nDCG"),
        (["evaluate", "--qrels", "qrels.tsv", "run.trec", "--missing", "maybe"], "zero"),
        (["compare", "--qrels", "qrels.tsv", "run.trec"], "two"),
        (["explain", "i.tw", "x", "a", "--json", "--html", "x.html"], "exclude"),
    ],
)
def test_wrong_usage_exits_with_2_and_a_fix(index, capsys, arguments, said):
    run(["rank", "i.tw", "--queries", "queries.jsonl", "--out", "run.trec"])
    capsys.readouterr()
    assert run(arguments) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert said in streams.err
    assert not (index.parent / "n").exists()


@pytest.mark.parametrize("k", ["0", "-3"])
def test_k_below_1_is_wrong_usage(index, capsys, k):
    capsys.readouterr()
    assert run(["search", "i.tw", "lists", "-k", k]) == 2
    assert "is not in the range x>=1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["index", "docs.jsonl", "--out", "n", "--set", "k1=x"], "fix        use --set k1=NUMBER"),
        (["search", "i.tw", "lists", "--set", "k3=1"], "use --set counts=saturated"),
        (
            ["index", "docs.jsonl", "--out", "n", "--model", "tildev2", "--set", "expansion_terms=0"],
            "use --set expansion_terms=NUMBER",
        ),
    ],
)
def test_a_fix_is_an_option_of_the_command(index, capsys, arguments, fix):
    capsys.readouterr()
    assert run(arguments) == 2
    assert fix in capsys.readouterr().err


def test_printed_commands_quote_paths(index, capsys):
    (index.parent / "an array.jsonl").write_text("[1]\n")
    assert run(["index", "an array.jsonl", "--model", "bm25", "--out", "n"]) == 3
    assert "jq -c '.[]' 'an array.jsonl'" in capsys.readouterr().err
    assert run(["index", "docs.jsonl", "--model", "bm25", "--out", "my index"]) == 0
    streams = capsys.readouterr()
    assert "termwise search 'my index'" in streams.err
    assert "my index: 3 documents" in streams.out


def test_ignored_term_weights_are_reported(place, capsys):
    (place / "w.jsonl").write_text('{"id": "a", "contents": "merge", "vector": {"merge": 1}}\n')
    assert run(["index", "w.jsonl", "--model", "bm25", "--out", "text.tw"]) == 0
    assert 'w.jsonl: the field "vector" is ignored; --model vectors uses' in capsys.readouterr().err
    assert run(["index", "w.jsonl", "--out", "weights.tw", "--model", "vectors"]) == 0
    assert "ignored" not in capsys.readouterr().err


def test_an_unreadable_manifest_has_a_fix(place, capsys):
    (place / "i.tw" / "manifest.json").mkdir(parents=True)
    assert run(["search", "i.tw", "lists"]) == 3
    assert "fix     check that the path is a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "nowhere.tw", "x"], "no such index"),
        (["search", ".", "x"], "no index"),
        (["search", "docs.jsonl", "x"], "folder"),
        (["compare", "--qrels", "qrels.tsv", "i.tw", "i.tw"], "given twice"),
        (["evaluate", "--qrels", "qrels.tsv", "i.tw"], "termwise search i.tw"),
        (["compare", "--qrels", "qrels.tsv", "i.tw", "r.trec"], "termwise search i.tw"),
        (["index", "nowhere.jsonl", "--model", "bm25", "--out", "n"], "nowhere.jsonl"),
        (["index", "empty.jsonl", "--model", "bm25", "--out", "n"], "collection  empty.jsonl"),
        (["index", "empty.jsonl", "--model", "best", "--out", "n"], "collection  empty.jsonl"),
        (["learn-weights", "nowhere.tw", "--qrels", "qrels.tsv"], "no such mixture"),
        (["index", "bad.jsonl", "--model", "bm25", "--out", "n"], "bad.jsonl"),
        (["index", "twice.jsonl", "--model", "bm25", "--out", "n"], "number 1 and number 2"),
        (["explain", "i.tw", "lists", "nope"], "nope"),
        (["explain", "i.tw", "nope", "--like", "a"], "nope"),
        (["search", "i.tw", "--like", "nope"], "nope"),
        (["search", "i.tw", "--like-file", "nowhere.txt"], "nowhere.txt"),
        (["search", "i.tw", "--like-file", "."], "not a text file"),
        (["search", "i.tw", "--like-file", "empty.txt"], "the text is empty"),
        (["search", "i.tw", "--like-file", "packed.gz"], "gunzip"),
        (["search", "i.tw", "--like-file", "bad.jsonl"], "not in UTF-8"),
        (["rank", "i.tw", "--queries", "queries.jsonl", "--out", "o", "--exclude-seed", "no"], "no"),
        (["evaluate", "--qrels", "nowhere.tsv", "queries.jsonl"], "nowhere.tsv"),
        (["rerank", "i.tw", "--run", "foreign.trec", "--queries", "queries.jsonl", "--out", "o"], "zzz"),
    ],
)
def test_bad_data_exits_with_3_and_its_place(index, capsys, arguments, said):
    (index.parent / "empty.jsonl").write_text("")
    (index.parent / "bad.jsonl").write_bytes(b'{"_id": "a", "text": "\xff"}\n')
    (index.parent / "packed.gz").write_bytes(gzip.compress(b"words"))
    (index.parent / "empty.txt").write_text(" \n")
    (index.parent / "twice.jsonl").write_text('{"_id": "a", "text": "x"}\n' * 2)
    (index.parent / "foreign.trec").write_text("q1 Q0 zzz 1 2.0 x\n")
    capsys.readouterr()
    assert run(arguments) == 3
    streams = capsys.readouterr()
    assert streams.out == ""
    assert said in streams.err
    assert not (index.parent / "n").exists()


def test_index_prints_a_summary(place, capsys):
    assert run(["index", "docs.jsonl", "--model", "bm25", "--out", "i.tw", "--json"]) == 0
    (report,) = lines(capsys)
    assert report["documents"] == 3
    assert report["terms"] > 5
    assert run(["index", "docs.jsonl", "--model", "bm25", "--out", "i.tw"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert run(["index", "docs.jsonl", "--out", "i.tw", "--overwrite", "--model", "jm", "--float"]) == 0


def test_search_prints_results_on_stdout_and_the_rest_on_stderr(index, capsys):
    capsys.readouterr()
    assert run(["search", "i.tw", "sorted lists", "-k", "2"]) == 0
    streams = capsys.readouterr()
    assert "a" in streams.out.split()
    assert "documents" in streams.err
    assert run(["search", "i.tw", "sorted lists", "--explain"]) == 0
    assert "sort" in capsys.readouterr().out


def test_search_as_json(index, capsys):
    capsys.readouterr()
    assert run(["search", "i.tw", "sorted lists", "--json"]) == 0
    *found, counted = lines(capsys)
    assert [hit["rank"] for hit in found] == [1, 2, 3]
    assert found[0]["doc_id"] == "a"
    assert counted == {"total": 3, "documents": 3}
    assert run(["search", "i.tw", "sorted lists", "--json", "--explain", "-k", "1"]) == 0
    hit, counted = lines(capsys)
    assert counted == {"total": 3, "documents": 3}
    parts = hit["explanation"]["contributions"]
    assert sum(part["score"] for part in parts) + hit["explanation"]["constant"] == hit["score"]


MORE = (
    "the model of this index matches exact terms only; "
    "model1, tilde, tildev2, lookup and best also find related terms"
)


def test_a_query_with_the_name_of_a_file_is_noted(index, capsys):
    capsys.readouterr()
    assert run(["search", "i.tw", "queries.jsonl"]) == 0
    said = capsys.readouterr().err
    assert "searched for the words queries.jsonl, which is also a file" in said
    assert "termwise rank i.tw --queries queries.jsonl --out run.trec" in said
    assert run(["search", "i.tw", "sorted" * 1000]) == 0
    assert "which is a file" not in capsys.readouterr().err


def test_the_question_and_the_document_exchanged(index, capsys):
    assert run(["explain", "i.tw", "a", "merging sorted lists"]) == 3
    assert 'termwise explain i.tw "merging sorted lists" a, the question first' in capsys.readouterr().err


@pytest.mark.parametrize("query", ["首都", "ラーメン", "서울"])
def test_chinese_japanese_and_korean_need_their_analyzer(index, capsys, query):
    capsys.readouterr()
    assert run(["search", "i.tw", query]) == 0
    assert "the analyzer english-parts does not split Chinese, Japanese and Korean" in capsys.readouterr().err
    Path("cjk.jsonl").write_text('{"_id": "a", "text": "首都のラーメン、서울의"}\n')
    assert run(["index", "cjk.jsonl", "--analyzer", "cjk", "--out", "cjk.tw"]) == 0
    capsys.readouterr()
    assert run(["search", "cjk.tw", query]) == 0
    assert run(["search", "cjk.tw", "東京"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("1  ")
    assert "--analyzer" not in streams.err


def test_an_offset_skips_results(index, capsys):
    capsys.readouterr()
    assert run(["search", "i.tw", "sorted lists", "-k", "2"]) == 0
    streams = capsys.readouterr()
    assert streams.err == "2 of 3 matches from 3 documents\n"
    assert run(["search", "i.tw", "sorted lists", "-k", "2", "--offset", "1"]) == 0
    paged = capsys.readouterr()
    assert [line[:1] for line in paged.out.splitlines() if line[:1] != " "] == ["2", "3"]
    assert paged.err == "2 of 3 matches from 3 documents\n"
    assert run(["search", "i.tw", "sorted lists", "--offset", "2", "--json"]) == 0
    hit, counted = lines(capsys)
    assert (hit["rank"], counted["total"]) == (3, 3)
    assert run(["search", "i.tw", "sorted lists", "--offset", "9"]) == 0
    assert capsys.readouterr().err == "no results: 3 documents match, and 9 are skipped\n"


def test_the_note_says_which_words_matches_contain(index, capsys):
    capsys.readouterr()
    assert run(["search", "i.tw", "sorted lists", "-k", "1", "--match", "any"]) == 0
    assert capsys.readouterr().err == "1 of 3 matches from 3 documents, with any word\n"


def test_words_of_similar_spelling(index, capsys):
    capsys.readouterr()
    for query, suggested in {
        "shufle srted": "did you mean: shuffle, sorted\n",
        "srted lists": "did you mean: sorted\n",
        "shufle lists": "",  # b is the first result anyway
    }.items():
        assert run(["search", "i.tw", query, "-k", "1"]) == 0
        error = capsys.readouterr().err
        assert suggested in error
        assert ("did you mean" in error) == bool(suggested)
    assert run(["search", "i.tw", "shufle", "--fuzzy", "--explain"]) == 0
    streams = capsys.readouterr()
    assert streams.err.endswith("also searched for: shuffle\n")
    assert "shufle (shuffl) " in streams.out
    assert run(["search", "i.tw", "shufle", "--json"]) == 0
    word = {"word": "shuffle", "term": "shuffl", "distance": 1, "documents": 1}
    assert lines(capsys) == [
        {"total": 0, "documents": 3, "reasons": ["not in the index: shufle", MORE]},
        {"did_you_mean": [{"word": "shufle", "span": [0, 6], "words": [word]}]},
    ]
    assert run(["explain", "i.tw", "shufle", "b", "--fuzzy"]) == 0
    assert "shufle (shuffl)  fuzzy" in capsys.readouterr().out
    assert run(["rank", "i.tw", "--queries", "queries.jsonl", "--out", "fuzzy.trec", "--fuzzy"]) == 0


def test_the_last_word_as_a_prefix(index, capsys):
    capsys.readouterr()
    assert run(["search", "i.tw", "shu", "--prefix", "--json", "--explain"]) == 0
    hit, _ = lines(capsys)
    part = hit["explanation"]["contributions"][0]
    assert (hit["doc_id"], part["term"], part["origin"], part["query_spans"]) == (
        "b",
        "shuffl",
        "prefix",
        [[0, 3]],
    )
    assert run(["search", "i.tw", "shu"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["explain", "i.tw", "shu", "b", "--prefix"]) == 0
    assert "shu (shuffl)  prefix" in capsys.readouterr().out


def test_an_index_of_pieces_knows_no_similar_words(place, capsys):
    assert run(["index", "docs.jsonl", "--out", "i.tw", "--analyzer", "wordpiece"]) == 0
    capsys.readouterr()
    assert run(["search", "i.tw", "shufle", "--fuzzy", "--prefix"]) == 2
    said = capsys.readouterr().err
    assert "need an index of whole words" in said
    assert "omit --fuzzy" in said
    assert "omit --prefix" in said


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("the of", ["no results: the analyzer removes all words of the query"]),
        ("", ["no results: the query is empty"]),
        (" \n", ["no results: the query is empty"]),
        ("zebras quagga", ["no results: not in the index: zebras, quagga", MORE]),
        (
            "shufle zebras",
            ["no results: not in the index: shufle, zebras", "did you mean: shuffle", MORE],
        ),
    ],
)
def test_an_empty_result_has_one_reason(index, capsys, query, said):
    capsys.readouterr()
    assert run(["search", "i.tw", query]) == 0
    streams = capsys.readouterr()
    assert streams.out == ""
    assert [line.strip() for line in streams.err.splitlines()] == said


def test_a_word_without_pieces_is_reported(index, capsys):
    Path("pizza.tsv").write_text("a\t\U0001f355 pizza\nb\t\U0001f363 sushi\n", encoding="utf-8")
    assert run(["index", "pizza.tsv", "--out", "pizza.tw", "--analyzer", "wordpiece"]) == 0
    capsys.readouterr()
    assert run(["search", "pizza.tw", "\U0001f377"]) == 0
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.splitlines()[0] == "no results: not in the index: \U0001f377"
    assert "did you mean" not in streams.err


def test_runs_from_search_to_comparison(index, capsys):
    assert run(["rank", "i.tw", "--queries", "queries.jsonl", "--out", "bm25.trec", "--tag", "bm25"]) == 0
    rows = [line.split() for line in (index.parent / "bm25.trec").read_text().splitlines()]
    assert {len(row) for row in rows} == {6}
    assert rows[0][:4] == ["q1", "Q0", "a", "1"]
    assert {row[5] for row in rows} == {"bm25"}

    assert run(["index", "docs.jsonl", "--model", "dirichlet", "--out", "d.tw"]) == 0
    assert run(
        ["rerank", "d.tw", "--run", "bm25.trec", "--queries", "queries.jsonl", "--out", "lm.trec", "-k", "2"]
    ) == 0  # fmt: skip
    again = [line.split() for line in (index.parent / "lm.trec").read_text().splitlines()]
    assert next(row[2] for row in again if row[0] == "q1") == "a"

    capsys.readouterr()
    assert (
        run(
            [
                "evaluate",
                "--qrels",
                "qrels.tsv",
                "bm25.trec",
                "lm.trec",
                "-m",
                "nDCG@10",
                "-m",
                "RR",
                "--json",
            ]
        )
        == 0
    )
    found = lines(capsys)
    assert {record["run"] for record in found} == {"bm25", "lm"}
    assert run(["evaluate", "--qrels", "qrels.tsv", "bm25.trec", "--per-query"]) == 0
    assert "q2" in capsys.readouterr().out

    arguments = ["compare", "--qrels", "qrels.tsv", "bm25.trec", "lm.trec", "-m", "nDCG@10", "--queries"]
    files = ["--html", "c.html", "--latex", "c.tex", "--csv", "c.csv"]
    assert run([*arguments, "queries.jsonl", *files]) == 0
    assert "nDCG@10" in capsys.readouterr().out
    assert "<html" in (index.parent / "c.html").read_text()
    assert "tabular" in (index.parent / "c.tex").read_text()
    assert (index.parent / "c.csv").read_text().count("\n") >= 2


def test_ties_and_a_page_of_an_evaluation(place, capsys):
    write_run(Run([Ranking("ab", [1.0, 1.0], "q")]), "tied.trec")
    (place / "one.qrels").write_text("q 0 a 1\n")
    usual = ["evaluate", "--qrels", "one.qrels", "tied.trec", "-m", "RR"]
    assert run([*usual, "--html", "e.html"]) == 0
    out, err = capsys.readouterr()
    assert "1.0000" in out
    assert "e.html: written" in err
    assert "Evaluation of tied" in (place / "e.html").read_text()
    assert run([*usual, "--ties", "trec-eval"]) == 0
    assert "0.5000" in capsys.readouterr().out
    assert run([*usual, "--ties", "some"]) == 2
    assert "--ties trec-eval" in capsys.readouterr().err
    assert run([*usual, "--html", "one.qrels"]) == 2


def test_options_of_the_paired_test(place, capsys):
    for name, ranked in (("a", "ba"), ("b", "ab")):
        write_run(Run([Ranking(ranked, [2.0, 1.0], f"q{i}") for i in range(1, 7)]), f"{name}.trec")
    (place / "six.qrels").write_text("".join(f"q{i} 0 a 1\n" for i in range(1, 7)))
    usual = ["compare", "--qrels", "six.qrels", "a.trec", "b.trec", "-m", "RR"]
    chosen = [*usual, "--test", "t", "--correction", "bonferroni", "--level", "0.5"]
    chosen += ["--confidence", "0.9", "--resamples", "200"]
    assert run([*usual, "--json"]) == 0
    assert lines(capsys)[-1]["verdict"] == "better"
    assert run([*chosen, "--json"]) == 0
    contrast = lines(capsys)[-1]
    assert (contrast["test"], contrast["correction"], contrast["level"]) == ("t", "bonferroni", 0.5)
    assert (contrast["confidence"], contrast["resamples"]) == (0.9, 200)
    assert contrast["verdict"] == "not significant", "the differences are all the same, so there is no t"
    assert run([*chosen, "--html", "c.html", "--latex", "c.tex"]) == 0
    decided = "paired t-test, Bonferroni correction"
    for text in (capsys.readouterr().out, Path("c.html").read_text(), Path("c.tex").read_text()):
        assert decided in text
    few = [*usual, "--resamples", "100", "--level", "0.01"]
    assert run(few) == 0
    assert "needs at least 8 queries" in capsys.readouterr().out
    assert run([*few, "--json"]) == 0
    assert "needs at least 8 queries" in capsys.readouterr().err
    assert run([*usual, "--resamples", "100000000000"]) == 2
    assert "10000000" in capsys.readouterr().err
    for option, known in (("--test", "permutation, t"), ("--correction", "bonferroni, holm, none")):
        assert run([*usual, option, "other"]) == 2
        assert f"known  {known}" in capsys.readouterr().err


@pytest.mark.parametrize("first", ["id\ttitle\ttext", "a\ttext"])
def test_a_skipped_header_is_noted(place, capsys, first):
    (place / "docs.tsv").write_text(f"{first}\nb\tmerge\n")
    assert run(["index", "docs.tsv", "--model", "bm25", "--out", "t.tw", "--json"]) == 0
    streams = capsys.readouterr()
    said = "docs.tsv: the first line is a header and is skipped: 'id\\ttitle\\ttext'\n"
    assert streams.err == (said if first.startswith("id") else "")
    assert json.loads(streams.out)["documents"] == (1 if first.startswith("id") else 2)


def test_a_header_in_another_order_is_a_document_and_noted(place, capsys):
    (place / "docs.tsv").write_text("text\tid\nmerge\tb\n")
    assert run(["index", "docs.tsv", "--model", "bm25", "--out", "t.tw", "--json"]) == 0
    streams = capsys.readouterr()
    assert streams.err == (
        "docs.tsv: the first line is read as a document, although it looks like a header whose first "
        "column is the identifier: 'text\\tid'\n"
    )
    assert json.loads(streams.out)["documents"] == 2


def test_a_header_in_a_pipe_is_noted(place, capsys):
    os.mkfifo(place / "docs.tsv")
    writer = threading.Thread(target=(place / "docs.tsv").write_text, args=("id\ttext\nb\tmerge\n",))
    writer.start()
    assert run(["index", "docs.tsv", "--model", "bm25", "--out", "t.tw", "--json"]) == 0
    writer.join()
    streams = capsys.readouterr()
    assert streams.err == "docs.tsv: the first line is a header and is skipped: 'id\\ttext'\n"
    assert json.loads(streams.out)["documents"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "empty.trec", "--qrels", "qrels.tsv"],
        ["compare", "r.trec", "empty.trec", "--qrels", "qrels.tsv"],
        ["compare", "r.trec", "empty.trec", "--qrels", "qrels.tsv", "--json"],
        ["fuse", "r.trec", "empty.trec", "--rrf", "--out", "o.trec"],
    ],
)
def test_an_empty_run_is_noted(place, capsys, arguments):
    (place / "r.trec").write_text("q1 Q0 a 1 2.0 x\n")
    (place / "empty.trec").write_text("")
    assert run(arguments) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "empty.trec: the run is empty: it ranks no document for any query"
    assert not any("r.trec: the run is empty" in line for line in said[1:])


def test_measure_time_prints_latencies(index, capsys):
    capsys.readouterr()
    arguments = ["rank", "i.tw", "--queries", "queries.jsonl", "--out", "r.trec", "--measure-time"]
    assert run(arguments) == 0
    assert "p99" in capsys.readouterr().out
    assert run([*arguments, "--overwrite", "--json"]) == 0
    (record,) = lines(capsys)
    assert record["queries"] == 2
    assert record["scoring_p50_ms"] > 0


def test_seeds_are_left_out_on_request(index, capsys):
    (index.parent / "seeds.tsv").write_text("query-id\tcorpus-id\nq1\ta\n")
    (index.parent / "r.trec").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 c 2 1.0 x\nq2 Q0 b 1 1.0 x\n")
    capsys.readouterr()
    assert run(["evaluate", "--qrels", "qrels.tsv", "r.trec", "-m", "RR", "--json"]) == 0
    assert run(
        ["evaluate", "--qrels", "qrels.tsv", "r.trec", "-m", "P@1", "--exclude-seed", "seeds.tsv", "--json"]
    ) == 0  # fmt: skip
    assert "1.0" in capsys.readouterr().out


def test_a_document_is_the_query(index, capsys):
    capsys.readouterr()
    assert run(["search", "i.tw", "--like", "b", "--json"]) == 0
    assert [record["doc_id"] for record in lines(capsys)[:-1]] == ["a", "c"]
    assert run(["search", "i.tw", "--like", "b", "--explain", "--set", "max_terms=1"]) == 0
    assert "list" in capsys.readouterr().out
    assert run(["explain", "i.tw", "a", "--like", "b", "--json"]) == 0
    (record,) = lines(capsys)
    assert (record["example"], record["rank"]) == ("b", 1)
    assert run(["search", "i.tw", "--like", "b", "--explain", "--json", "-k", "1"]) == 0
    assert lines(capsys)[0]["explanation"]["example"] == "b"
    assert run(["explain", "i.tw", "a", "--like", "b", "--html", "e.html"]) == 0
    assert "Documents like <bdi>b</bdi>" in (index.parent / "e.html").read_text()


def test_a_file_is_the_query(index, capsys):
    (index.parent / "one.txt").write_text("\ufeffCards shuffle a list\nof cards\n", encoding="utf-8")
    capsys.readouterr()
    assert run(["search", "i.tw", "--like-file", "one.txt"]) == 0
    streams = capsys.readouterr()
    assert streams.out.split()[2] == "a"
    assert "excluded, because the text is the same: b" in streams.err
    assert run(["search", "i.tw", "--like-file", "one.txt", "--json"]) == 0
    assert "the same: b" in capsys.readouterr().err
    assert run(["search", "i.tw", "--like-file", "one.txt", "--set", "min_df=9"]) == 0
    assert "the weighting removes all terms" in capsys.readouterr().err
    (index.parent / "two.txt").write_text("shuffle")
    assert run(["explain", "i.tw", "c", "--like-file", "one.txt", "--competitors", "0"]) == 0
    assert run(["explain", "i.tw", "c", "--like-file", "one.txt"]) == 0
    assert "like one.txt" in capsys.readouterr().out


def test_seeds_are_left_out_of_a_run(index, capsys):
    assert run(["rank", "i.tw", "--queries", "queries.jsonl", "--out", "all.trec"]) == 0
    (index.parent / "seeds.tsv").write_text("query-id\tcorpus-id\nq1\ta\n")
    arguments = ["rank", "i.tw", "--queries", "queries.jsonl", "--out", "r.trec"]
    assert run([*arguments, "--exclude-seed", "seeds.tsv", "--set", "counts=once"]) == 0
    whole = (index.parent / "all.trec").read_text().splitlines()
    left = (index.parent / "r.trec").read_text().splitlines()
    assert [line.split()[2] for line in whole if line.startswith("q1")] == ["a", "b", "c"]
    assert [line.split()[2] for line in left if line.startswith("q1")] == ["b", "c"]
    assert [line.split()[2] for line in left if line.startswith("q2")] == ["b"]
    assert run([*arguments[:-1], "seeds.tsv", "--exclude-seed", "seeds.tsv"]) == 2
    capsys.readouterr()
    assert run([*arguments, "--overwrite", "--exclude-seed", "id"]) == 0
    assert "excluded: 0 documents, in 0 of 2 queries" in capsys.readouterr().err


def test_explain_in_three_forms(index, capsys):
    capsys.readouterr()
    assert run(["explain", "i.tw", "sorted lists", "a"]) == 0
    assert "sort" in capsys.readouterr().out
    assert run(["explain", "i.tw", "sorted lists", "a", "--json"]) == 0
    (record,) = lines(capsys)
    assert record["rank"] == 1
    assert run(["explain", "i.tw", "sorted lists", "a", "--html", "e.html"]) == 0
    page = (index.parent / "e.html").read_text()
    assert "<html" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_inspect_shows_vectors(tmp_path, capsys):
    vocabulary = Vocabulary(["list", "merge", "of"])
    with IndexWriter(tmp_path / "v.tw") as writer:
        writer.add_documents(["a", "b"])
        writer.add_vectors(DocumentVectors([0, 2, 3], np.ones((3, 16), dtype=np.int8), [1.0, 1.0, 1.0]))
        table = TermVectors(np.eye(3, 16, dtype=np.int8) * [[1], [2], [0]], [0, 0, 0], 1.0, vocabulary.id)
        writer.commit(vocabulary, encoder={}, term_vectors=table)
    assert run(["inspect", str(tmp_path / "v.tw")]) == 0
    shown = capsys.readouterr().out
    assert not [line for line in shown.splitlines() if line != line.rstrip()]
    assert not [name for name in ("postings", "forward bytes", "inverted bytes") if name in shown]
    shown = " ".join(shown.split())
    # 3 windows of 16 + 4 bytes, and 3 starts of 4
    assert "vectors 3 windows of 16 dimensions, 100 bytes per document" in shown
    assert "query table 2 of 3 terms have a vector" in shown
    assert run(["inspect", str(tmp_path / "v.tw"), "--json"]) == 0
    (facts,) = lines(capsys)
    assert facts["vectors"] == {"windows": 3, "terms": 2, "dimensions": 16}
    assert facts["bytes"]["vectors"] == 72 + 16 * 8  # the last is the sum of the directions
    assert run(["verify", str(tmp_path / "v.tw")]) == 0
    with IndexUpdater(tmp_path / "v.tw") as updater:
        updater.delete(["a", "b"])
        updater.commit()
    capsys.readouterr()
    assert run(["inspect", str(tmp_path / "v.tw")]) == 0
    assert "of 16 dimensions\n" in capsys.readouterr().out


def test_inspect_and_verify(index, capsys):
    capsys.readouterr()
    assert run(["inspect", "i.tw"]) == 0
    shown = capsys.readouterr().out
    assert "bm25" in shown
    assert not [name for name in ("postings", "forward bytes", "inverted bytes") if name not in shown]
    assert run(["inspect", "i.tw", "--json"]) == 0
    (facts,) = lines(capsys)
    assert facts["documents"] == 3
    assert facts["encoder"]["analyzer"]["name"] == "english-parts"
    assert run(["verify", "i.tw"]) == 0
    assert "intact" in capsys.readouterr().out
    segment = next(index.glob("segment-*.tw"))
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    assert run(["verify", "i.tw", "--json"]) == 5
    (report,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert not report["intact"]
    assert report["damages"][0]["file"] == segment.name


def test_an_index_from_elsewhere_sends_nothing_to_the_terminal(tmp_path, capsys):
    vocabulary = Vocabulary(["merge"])
    rows = TermWeights([0, 1], [0], [1.0], vocabulary.id)
    with IndexWriter(tmp_path / "i.tw") as writer:
        writer.add(["a"], rows)
        writer.commit(vocabulary, encoder={"model": {"name": "\x1b[2Jbm25\nfake row"}})
    assert run(["inspect", str(tmp_path / "i.tw")]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "�[2Jbm25 fake row" in shown


def test_an_unwritable_output_is_refused(index, capsys):
    capsys.readouterr()
    arguments = ["rank", "i.tw", "--queries", "queries.jsonl", "--out", "docs.jsonl/run.trec"]
    assert run(arguments) == 3
    assert "docs.jsonl" in capsys.readouterr().err
    assert run(["explain", "i.tw", "x", "a", "--html", "nowhere/e.html"]) == 3


@pytest.mark.parametrize(
    ("query", "operators"),
    [
        ("lists -bread", "-bread"),
        ('"sorted lists" AND +merge', '"sorted lists", AND, +merge'),
        ("lists NOT (cards OR sorted)", "NOT, OR"),
        ("lists - and not -5 well-known c++ 'or' android ORACLE", None),
    ],
)
def test_operators_of_other_search_engines_are_noted(index, capsys, query, operators):
    capsys.readouterr()
    assert run(["search", "i.tw", query]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("taken as words")]
    said = f"taken as words: {operators} (with --syntax, + and - and quotes are operators)"
    assert notes == ([] if operators is None else [said])


def test_the_fix_for_a_missing_index_is_a_command(place, capsys):
    assert run(["search", "no such.tw", "x"]) == 3
    assert "termwise index COLLECTION --out 'no such.tw'\n" in capsys.readouterr().err


def test_bugs_are_owned(monkeypatch, capsys, index):
    def broken(*_, **__):
        raise RuntimeError("surprise")

    monkeypatch.setattr("termwise.search.opening.open_searcher", broken)
    capsys.readouterr()
    assert run(["search", "i.tw", "x"]) == 1
    assert "bug in termwise" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["tune"], ["tune", "--json"]])
def test_the_first_compilation_on_a_machine_is_noted(monkeypatch, tmp_path, capsys, arguments):
    def kernel(number):
        return number + 1

    monkeypatch.setattr(code_cache, "places", lambda: iter([tmp_path]))
    monkeypatch.setattr("termwise.cli.main.note_compiling", note_compiling)
    for signature, is_first in (("int64", True), ("float64", False)):
        compiling = compiled_for(signature)(kernel)
        monkeypatch.setattr("termwise.cli.main.app", lambda compiling=compiling, **_: compiling(1) and None)
        before, clock, working = compilation_seconds(), time.perf_counter(), working_seconds()
        assert run(arguments) == 0
        said = "compiling for this machine, once; termwise warm does it for all commands\n"
        assert capsys.readouterr().err == (said if is_first and "--json" not in arguments else "")
        spent = compilation_seconds() - before
        assert spent > 0
        assert working_seconds() - working <= time.perf_counter() - clock - spent


LOST = """
import ctypes, os, signal, sys, time
from termwise.cli import main

@ctypes.CFUNCTYPE(None)
def callback():
    os.kill(os.getpid(), int(sys.argv[1]))
    time.sleep(0.01)

def work(**_):
    callback()
    time.sleep(30)

main.app = work
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
main.script()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interruption_in_a_callback_of_a_library_is_not_lost(number):
    done = subprocess.run(
        [sys.executable, "-c", LOST, str(int(number))],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr) == (128 + number, "")


def test_interruption_exits_with_130(monkeypatch, index):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("termwise.search.opening.open_searcher", interrupted)
    assert run(["search", "i.tw", "x"]) == 130


@pytest.mark.parametrize("module", ["termwise.cli.main", "click"])
def test_interruption_of_the_imports_is_silent(place, module):
    (place / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
    )
    paths = os.pathsep.join([str(place), str(Path(termwise.__file__).parents[1])])
    program = [sys.executable, "-m", "termwise", "--version"]
    done = subprocess.run(
        program,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in jobs in the background
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["verify", "i.tw"], 0), (["verify", "--no-such"], 2), (["verify", "nowhere"], 3)],
)
def test_a_full_stderr_does_not_change_the_exit_status(index, arguments, status):
    program = ["-c", "from termwise.__main__ import script; script()", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, *program], stdout=subprocess.DEVNULL, stderr=full, check=False)
    assert done.returncode == status


def test_a_closed_pipe_ends_the_program(index):
    program = "from termwise.cli.main import script; script()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "search", str(index), "list", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read().decode()
    process.stderr.close()
    process.wait()
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_try_answers_and_measures(place, capsys):
    assert run(["try", "random choice with weights", "--json"]) == 0
    (record,) = lines(capsys)
    assert record["documents"] > 5000
    assert record["questions"] >= 80
    assert 0.05 < record["measures"]["nDCG@10"] < 0.95
    assert len(record["ranking"]) == 5


def test_outputs_never_replace_inputs(index, capsys):
    before = (index.parent / "queries.jsonl").read_bytes()
    manifest = (index / "manifest.json").read_bytes()
    (index.parent / "r.trec").write_text("q1 Q0 a 1 2.0 x\n")
    for arguments in (
        ["rank", "i.tw", "--queries", "queries.jsonl", "--out", "queries.jsonl"],
        ["rank", "i.tw", "--queries", "queries.jsonl", "--out", "i.tw/manifest.json"],
        ["rerank", "i.tw", "--run", "r.trec", "--queries", "queries.jsonl", "--out", "./r.trec"],
        ["explain", "i.tw", "list", "a", "--html", "i.tw/x.html"],
        ["compare", "--qrels", "qrels.tsv", "r.trec", "docs.jsonl", "--html", "qrels.tsv"],
        ["compare", "--qrels", "qrels.tsv", "r.trec", "docs.jsonl", "--html", "z", "--csv", "z"],
    ):
        assert run(arguments) == 2, arguments
    assert (index.parent / "queries.jsonl").read_bytes() == before
    assert (index / "manifest.json").read_bytes() == manifest
    assert "q1" in (index.parent / "qrels.tsv").read_text()


def test_an_output_may_be_in_a_folder_without_an_index(index, capsys):
    (index.parent / "r.trec").write_text("q1 Q0 a 1 2.0 x\n")
    reranked = ["--run", "r.trec", "--queries", "queries.jsonl", "--out", "o.trec"]
    for folder in (".", ""):
        assert run(["rerank", folder, *reranked]) == 3
        assert "this folder holds no index" in capsys.readouterr().err
    assert run(["rerank", "i.tw", *reranked[:-1], "i.tw/o.trec"]) == 2
    assert "written into the folder of an input" in capsys.readouterr().err
    (index.parent / "beir").mkdir()
    queries = (index.parent / "queries.jsonl").rename(index.parent / "beir" / "queries.jsonl")
    before = queries.read_bytes()
    searched = ["rank", "i.tw", "--queries", "beir", "--out"]
    assert run([*searched, "beir/queries.jsonl"]) == 2
    assert "written over an input" in capsys.readouterr().err
    assert run([*searched, "beir/o.trec"]) == 0
    assert queries.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["rank", "i.tw", "--queries", "queries.jsonl"],
        ["rerank", "i.tw", "--run", "r.trec", "--queries", "queries.jsonl"],
        ["fuse", "r.trec", "s.trec", "--rrf"],
        ["learn-weights", "r.trec", "s.trec", "--qrels", "qrels.tsv", "--missing", "zero"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_existing_output_is_replaced_with_overwrite_only(index, capsys, arguments):
    for name in ("r.trec", "s.trec"):
        (index.parent / name).write_text("q1 Q0 a 1 2.0 x\n")
    output = index.parent / "o"
    output.write_text("mine")
    assert run([*arguments, "--out", "o"]) == 2
    assert "replace it with --overwrite" in capsys.readouterr().err
    assert output.read_text() == "mine"
    assert run([*arguments, "--out", "o", "--overwrite"]) == 0
    assert output.read_text() != "mine"
    assert run([*arguments, "--out", "/dev/null"]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["index", "docs.jsonl", "--out", "n", "--set", "k1=1", "--set", "k1=2"],
            "fix        --set k1=2, once",
        ),
        (["evaluate", "--qrels", "qrels.tsv", "r.trec", "./r.trec"], "give each run once"),
        (["compare", "--qrels", "q", "a", "b", "--html", "z", "--csv", "z"], "choose a name for each"),
        (["compare", "--qrels", "q", "a", "b", "--level", "2"], "--level 0.05"),
        (["compare", "--qrels", "qrels.tsv", "r.trec", "s.trec", "--confidence", "2"], "--confidence 0.95"),
    ],
)
def test_values_given_twice_or_out_of_range_are_refused_with_a_fix(index, capsys, arguments, said):
    for name in ("r.trec", "s.trec"):
        (index.parent / name).write_text("q1 Q0 a 1 2.0 x\n")
    assert run(arguments) in (2, 3)
    assert said in capsys.readouterr().err


def test_an_empty_file_of_queries_is_refused(index, capsys):
    (index.parent / "none.jsonl").write_text("")
    os.mkfifo(index.parent / "pipe")
    for name in ("none.jsonl", "pipe", "/dev/null"):
        assert run(["rank", "i.tw", "--queries", name, "--out", "r.trec"]) == 3
    assert not (index.parent / "r.trec").exists()


def test_results_go_through_links_and_devices(index):
    (index.parent / "link.html").symlink_to("target.html")
    assert run(["explain", "i.tw", "list", "a", "--html", "link.html"]) == 0
    assert (index.parent / "link.html").is_symlink()
    assert "<html" in (index.parent / "target.html").read_text()
    assert run(["explain", "i.tw", "list", "a", "--html", "/dev/null"]) == 0
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("name", ["[/]x", "d[v2]", "[bold]z", ":smile:"])
def test_names_are_not_markup(place, capsys, name):
    (place / "m.jsonl").write_text(json.dumps({"_id": name, "text": "a list"}) + "\n")
    assert run(["index", "m.jsonl", "--model", "bm25", "--out", f"./{name}.tw", "--store-text"]) == 0
    for arguments in (
        ["search", f"{name}.tw", "list"],
        ["explain", f"{name}.tw", "list", name],
        ["inspect", f"{name}.tw"],
    ):
        assert run(arguments) == 0
    assert capsys.readouterr().out.count(name) >= 3


def test_weights_of_0_only_are_refused(place, capsys):
    (place / "v.jsonl").write_text('{"id": "a", "vector": {"x": 0}}\n')
    assert run(["index", "v.jsonl", "--model", "vectors", "--out", "v.tw"]) == 3
    assert "all weights are 0" in capsys.readouterr().err
    assert not (place / "v.tw").exists()


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (SystemExit("enough"), 1, "termwise: enough"),
        (SystemExit(None), 0, ""),
        (SystemExit(7), 7, ""),
        (MemoryError("2 TiB"), 3, "not enough memory: MemoryError: 2 TiB"),
        (PermissionError(13, "Permission denied", "/srv/x"), 3, "system error: /srv/x: Permission denied"),
        (OSError("odd"), 3, "system error: odd"),
    ],
)
def test_exit_status_and_message_of_exceptions(raised, status, said, monkeypatch, capsys):
    def ends(**_):
        raise raised

    monkeypatch.setattr("termwise.cli.main.app", ends)
    assert run([]) == status
    assert said in capsys.readouterr().err
