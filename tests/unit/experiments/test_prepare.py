"""Training pairs of the shipped encoders: removal of pairs that share text with a judged collection."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def prepare():
    import prepare

    return prepare


def packed(path: Path, *records: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def write_pairs(folder: Path, pairs: dict[str, tuple[str, str, str]]) -> None:
    """Write pairs as (query, title, text) by the id of their document; all in train, the first in test too."""
    packed(folder / "corpus.jsonl.gz", *({"_id": i, "title": t, "text": x} for i, (_, t, x) in pairs.items()))
    packed(folder / "queries.jsonl.gz", *({"_id": f"q-{i}", "text": q} for i, (q, _, _) in pairs.items()))
    (folder / "qrels").mkdir()
    lines = [f"q-{i}\t{i}\t1" for i in pairs]
    with gzip.open(folder / "qrels" / "train.tsv.gz", "wt") as file:
        file.write("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{lines[0]}\n")


def test_pairs_that_share_text_with_a_judged_collection_are_removed(prepare, tmp_path, monkeypatch):
    judged = tmp_path / "collections" / "cats"
    packed(
        judged / "corpus.jsonl.gz",
        {
            "_id": "1",
            "title": "Of cats and their ways",
            "text": "A cat sat on the mat and looked at the dog for long.",
        },
    )
    (judged / "queries.jsonl").write_text('{"_id": "1", "text": "Where does a cat sit?"}\n')
    pairs = {
        "kept": ("what flies", "", "A kite flies where the wind is strong enough to hold it up."),
        "seven": ("who sat", "", "We know: on the mat and looked at the horse, then went."),  # seven in a row
        "eight": ("who looked", "", "We know, a dog: on the MAT -- and looked at the dog, and went."),
        "whole": ("who is long", "", "A cat sat on the mat and looked at the dog for long."),
        "inside": (
            "a function",
            "",
            "def f(): 'Cat sat on the mat and looked at the dog.' return None or one",
        ),
        "query": ("where does a cat sit", "", "On anything that is warm, and at night on you."),
        "title": ("their ways", "Of Cats, and their Ways!", "Something else entirely."),
    }
    write_pairs(tmp_path / "pairs" / "tldr", pairs)
    library = {
        "json.dumps": ("turn into JSON", "", "Serialise an object into a string of JSON."),
        "requests.get": ("fetch a page", "", "Send a request and return what the server says."),
    }
    write_pairs(tmp_path / "pairs" / "docstrings", library)
    manuals = {
        "python3.11-doc/json.html": ("json module", "", "How the module for JSON is used."),
        "make-doc/rules.html": ("rules of make", "", "How a target is made of what it needs."),
    }
    write_pairs(tmp_path / "pairs" / "techdocs", manuals)
    monkeypatch.setattr(prepare, "SOURCES", ("docstrings", "techdocs", "tldr"))
    out = tmp_path / "prepared"
    arguments = [f"--pairs={tmp_path / 'pairs'}", f"--collections={tmp_path / 'collections'}", f"--out={out}"]
    monkeypatch.setattr(sys, "argv", ["prepare.py", *arguments])
    prepare.main()

    def kept(part: str, name: str) -> list[str]:
        return [json.loads(line)["query"] for line in (out / part / f"{name}.jsonl").read_text().splitlines()]

    assert kept("train", "tldr") == ["what flies", "who sat"]
    assert kept("validation", "tldr") == ["what flies"]
    assert kept("train", "docstrings") == ["fetch a page"]
    assert kept("train", "techdocs") == ["rules of make"]
    counts = json.loads((out / "counts.json").read_text())
    assert counts["tldr"]["train"] == {"pairs": 7, "kept": 2}
    assert counts["docstrings"] == {"train": {"pairs": 2, "kept": 1}, "test": {"pairs": 1, "kept": 0}}


def test_sequences_of_words(prepare):
    assert prepare.RUN == 8
    eight = "a b c d e f g h"
    judged = prepare.Judged.of([f"x {eight} y", ""])
    assert judged.shares(f"1 {eight} 2")
    assert not judged.shares("1 a b c d e f g 2 h")
    assert not judged.shares("")
    assert len(list(prepare.runs(eight))) == 1
    assert not list(prepare.runs("a b c d e f g"))
