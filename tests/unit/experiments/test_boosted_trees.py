"""The experiment on boosted trees, on two small collections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("lightgbm", reason="needs the extra yardsticks")

PLAN = """
name = "boosted_trees"
title = "Trees"
train = "dev"
measures = ["nDCG@10"]
depth = 10
train_queries = 8
test_queries = 100
[collections]
cats = "test"
"""


def test_trees_are_trained_and_compared(collections: Path, tmp_path: Path) -> None:
    import boosted_trees

    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    folders = ["--collections", collections, "--work", tmp_path / "work", "--out", tmp_path / "out"]
    boosted_trees.main([*map(str, folders), "--plan", str(plan), "--threads", "1"])
    found = json.loads((tmp_path / "out" / "boosted_trees.json").read_text())["collections"]["cats"]
    assert (found["train"], found["test"]) == (8, 10)
    assert found["relevant"] == 20
    assert len(found["weights"]) == 2
    assert [(each["run"], each["baseline"]) for each in found["contrasts"]] == [
        ("fusion", "bm25"),
        ("trees", "bm25"),
        ("trees", "fusion"),
    ]
    for each in found["contrasts"]:
        means = found["means"]
        assert each["difference"] == pytest.approx(means[each["run"]] - means[each["baseline"]], abs=1e-6)
        assert each["wins"] + each["ties"] + each["losses"] == 10
    page = (tmp_path / "out" / "boosted_trees.md").read_text()
    assert "| cats | 8 | 10 |" in page
    assert "| **mean** |" in page
