"""All commands on a mixture that was changed, against one that is built from the same documents."""

from __future__ import annotations

import json
import re

import pytest

from termwise import read_run
from termwise.cli.main import run
from termwise.probes.report import read_report

BUILT = [
    ("tent", "A light tent for two people.", "camping", 120),
    ("stove", "A small stove for gas, with a pot.", "kitchen", 40),
    ("old", "A tent of canvas. It is sold out.", "camping", 90),
    ("lamp", "A lamp with batteries for the camp.", "camping", 15),
    ("gone", "A camping table of wood.", "camping", 999),
    ("boots", "Boots of leather for long walks.", "shoes", 140),
]
ADDED = [
    ("bag", "A warm sleeping bag for cold nights in a tent.", "camping", 80),
    ("stove", "A stove for gas with two flames and a pot of steel. It boils water fast.", "kitchen", 55),
    ("sandals", "Sandals of leather for the summer.", "shoes", 60),
    ("lamp", "A lamp with batteries for the camp.", "camping", 12),
]
NOW = [BUILT[0], BUILT[5], *ADDED]
LATER = [("rope", "A rope of ten metres for a tent.", "camping", 20)]
QUERIES = {"q1": "tent for a camp", "q2": "leather shoes", "q3": "boil water"}

SEARCHES = [
    ["search", "M", "tent for a camp"],
    ["search", "M", "tent for a camp", "--explain", "--show", "kind,price"],
    ["search", "M", "tent for a camp", "--json", "--explain"],
    ["search", "M", "tent", "--filter", 'kind = "camping" and price < 100'],
    ["search", "M", "leather", "--sort", "-price", "--collapse", "kind"],
    ["search", "M", "leather", "--facets", "kind", "--filter", "price > 50"],
    ["search", "M", "pot", "--must", "gas", "--must", "two flames", "--must-not", "canvas"],
    ["search", "M", '+lamp "for the camp"', "--syntax"],
    ["search", "M", "leahter sandels", "--fuzzy", "--explain"],
    ["search", "M", "warm slee", "--prefix"],
    ["search", "M", "--like", "tent"],
    ["explain", "M", "boil water", "stove"],
    ["explain", "M", "boil water", "stove", "--json", "--centred"],
]


def write(path, documents):
    fields = ("_id", "text", "kind", "price")
    path.write_text("".join(json.dumps(dict(zip(fields, each, strict=True))) + "\n" for each in documents))


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    """Change into a folder with the mixtures ``changed`` and ``rebuilt`` of the same documents."""
    monkeypatch.chdir(tmp_path)
    for name, documents in {"built": BUILT, "added": ADDED, "now": NOW, "later": LATER}.items():
        write(tmp_path / f"{name}.jsonl", documents)
    (tmp_path / "queries.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in QUERIES.items()))
    (tmp_path / "qrels.txt").write_text("q1 0 tent 1\nq1 0 bag 1\nq2 0 boots 1\nq3 0 stove 1\n")
    options = ["--model", "best", "--store-text", "--attributes", "all"]
    assert run(["index", "built.jsonl", "--out", "changed", *options]) == 0
    assert run(["index", "now.jsonl", "--out", "rebuilt", *options]) == 0
    assert run(["add", "changed", "added.jsonl"]) == 0
    assert run(["delete", "changed", "old"]) == 0
    assert run(["delete", "changed", "--filter", "price > 900"]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.fixture
def printed(capsys):
    """Return a function that runs a command on a mixture, and returns what it prints, without names and times."""

    def printed(command, folder):
        assert run([re.sub(r"^M\b", folder, word) for word in command]) == 0
        streams = capsys.readouterr()
        shown = f"{streams.out}\n{streams.err}".replace(folder, "M")
        return re.sub(r"[0-9.]+ m?s\b", "TIME", shown)

    return printed


def rank(folder):
    """Rank, re-rank and fuse the queries of a file; return the runs."""
    files = ["--queries", "queries.tsv"]
    assert run(["rank", folder, *files, "--out", f"{folder}.run"]) == 0
    assert run(["rank", f"{folder}/bm25", *files, "--out", f"{folder}.bm25"]) == 0
    candidates = ["--run", f"{folder}.bm25", "--out", f"{folder}.reranked"]
    assert run(["rerank", folder, *files, *candidates]) == 0
    fused = ["--out", f"{folder}.fused", "--alpha", "0.4", "--missing", "minimum"]
    assert run(["fuse", f"{folder}.run", f"{folder}.bm25", *fused]) == 0
    return [read_run(f"{folder}.{name}", name="run") for name in ("run", "bm25", "reranked", "fused")]


def ranked(shown):
    """Return the identifiers that a search as JSON prints, in their order."""
    return [json.loads(line).get("doc_id") for line in shown.splitlines() if line.startswith("{")]


def test_a_changed_mixture_ranks_like_a_new_one(place, printed, capsys):
    """Before its statistics are renewed, only the scores differ a little."""
    for command in SEARCHES[:-2]:
        asked = [word for word in command if word != "--json"]
        assert ranked(printed([*asked, "--json"], "changed")) == ranked(
            printed([*asked, "--json"], "rebuilt")
        ), command
    for ours, theirs in zip(rank("changed"), rank("rebuilt"), strict=True):
        for query_id in QUERIES:
            scores = dict(zip(theirs[query_id].doc_ids, theirs[query_id].scores, strict=True))
            found = dict(zip(ours[query_id].doc_ids, ours[query_id].scores, strict=True))
            assert found == pytest.approx(scores, abs=0.2)


def test_a_renewed_mixture_answers_like_a_new_one(place, printed, capsys):
    assert run(["merge", "changed", "--renew"]) == 0
    capsys.readouterr()
    for command in SEARCHES:
        assert printed(command, "changed") == printed(command, "rebuilt"), command
    assert rank("changed") == rank("rebuilt")
    capsys.readouterr()
    for name in ("run", "reranked", "fused"):
        command = ["evaluate", f"M.{name}", "--qrels", "qrels.txt", "--per-query"]
        assert printed(command, "changed") == printed(command, "rebuilt")


def test_probes_of_a_changed_mixture(place):
    """Their statistics are those of the judged collection, and equal fingerprints mean equal scores."""
    (place / "judged" / "qrels").mkdir(parents=True)
    (place / "now.jsonl").rename(place / "judged" / "corpus.jsonl")
    lines = [json.dumps({"_id": name, "text": text}) + "\n" for name, text in QUERIES.items()]
    (place / "judged" / "queries.jsonl").write_text("".join(lines))
    rows = ["query-id\tcorpus-id\tscore", "q1\ttent\t1", "q2\tboots\t1", "q3\tstove\t1"]
    (place / "judged" / "qrels" / "test.tsv").write_text("\n".join(rows) + "\n")
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
    assert run(["probe", "changed", "rebuilt", *given]) == 0
    report = read_report(place / "report")
    ours, theirs = ({**scorer, "name": ""} for scorer in report["scorers"])
    assert ours == theirs


def test_changes_of_a_changed_and_of_a_new_mixture(place, printed, capsys):
    assert run(["merge", "changed", "--renew"]) == 0
    capsys.readouterr()
    for change in (
        ["delete", "M", "--filter", 'kind = "kitchen"'],
        ["add", "M", "later.jsonl"],
        ["delete", "M", "bag", "nobody"],
        ["merge", "M"],
        ["verify", "M"],
    ):
        assert printed(change, "changed") == printed(change, "rebuilt"), change
        for command in SEARCHES[:3]:
            assert printed(command, "changed") == printed(command, "rebuilt"), (change, command)
