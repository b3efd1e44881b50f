"""Candidates of a mixture in a browser: the ways that the experiment compares."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import termwise
from termwise.collection.openers import open_collection
from termwise.collection.python_docs import PYTHON, python_folder


def test_more_groups_come_nearer_to_all_documents(tmp_path: Path) -> None:
    from search_groups import COORDINATES, FIRST, READ, measured

    documents = list(islice(open_collection(PYTHON).documents(), 2000))
    termwise.build_index(documents, tmp_path / "docs.tw", model="instant", store_text=True)
    split = next((python_folder() / "qrels").glob("*.tsv")).stem
    rows = {row[0]: row[1:] for row in measured(tmp_path / "docs.tw", python_folder(), split)}
    assert len(rows) == 3 + len(FIRST) + len(COORDINATES) * len(READ)
    assert rows["all documents"][1] == "1.000"
    assert rows["without vectors"][3] == "0"
    ways = [rows[f"first {count}, 24 coordinates"] for count in READ]
    overlaps = [float(way[1]) for way in ways]
    read = [float(way[3].replace(",", "")) for way in ways]
    assert overlaps == sorted(overlaps)
    assert read == sorted(read)
    assert read[-1] < float(rows["all documents"][3].replace(",", ""))
