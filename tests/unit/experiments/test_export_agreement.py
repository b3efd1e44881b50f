"""Agreement of exports, on a small judged collection."""

from __future__ import annotations

from pathlib import Path

import pytest

import termwise
from termwise.collection import open_collection
from termwise.records import Qrel, Query


def test_an_engine_agrees_with_its_index(tmp_path: Path) -> None:
    import export_agreement

    (tmp_path / "docs.tsv").write_text("a\tgreen tea\nb\tblack tea\nc\tsort a list\n")
    documents = open_collection(tmp_path / "docs.tsv")
    queries = [Query("1", "tea"), Query("2", "list")]
    qrels = [Qrel("1", "a", 1), Qrel("2", "c", 1)]
    termwise.build_index(documents, tmp_path / "toy-bm25", model="bm25")
    case = export_agreement.Case("toy", "bm25", tmp_path / "toy-bm25", queries, qrels)
    found = export_agreement.compared(case, "sqlite", None, 10, tmp_path)
    assert (found["queries"], found["identical"], found["difference"]) == (2, 2, 0.0)
    assert found["index"] == found["engine"] == pytest.approx(1.0)
