"""The experiment on identifiers in the queries of a mixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from termwise import Document, Qrel, Query


def test_the_rule_is_compared_with_the_weights_of_the_recipe(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    experiments = Path(__file__).resolve().parents[3] / "experiments"
    for folder in (experiments, experiments / "identifiers"):
        monkeypatch.syspath_prepend(str(folder))
    import identifiers
    from judged_collection import Judged

    plan = {"title": "T", "measure": "RR@10", "products": 60, "queries": 40, "seed": 0}
    first = identifiers.products(plan, tmp_path, "instant")
    assert first["bm25"]["first"] == first["after"]["first"] == 1.0
    assert 0.0 <= first["before"]["first"] <= 1.0
    texts = {"a": "pump", "b": "filter AB-1200/X", "c": "water filter"}
    documents = [Document(*each) for each in texts.items()]
    queries = [Query("1", "AB-1200/X"), Query("2", "water filter")]
    judged = Judged("shop", tmp_path, documents, queries, [Qrel("1", "b", 1), Qrel("2", "c", 1)], {}, {})
    searcher = identifiers.opened(documents, tmp_path / "shop", "instant")
    found = identifiers.quality(judged, searcher, "RR@10")
    assert (found["queries"], found["identifiers"], found["examples"]) == (2, 1, ["AB-1200/X"])
    assert found["after"] == 1.0
    shown = identifiers.page(
        {"config": plan, "recipes": {"instant": {"products": first, "splits": {"dev": {"shop": found}}}}}
        | {"provenance": identifiers.record.provenance(["numpy"]) | {"seconds": 1.0}}
    )
    assert "| shop | 2 | 1 |" in shown
