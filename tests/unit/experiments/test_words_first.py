"""The experiment on documents with all words of a query."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import termwise
from termwise import Qrel, Query
from termwise.search.mixture import MixtureMatches


def test_lengths_are_compared_with_the_order_of_scores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "experiments"))
    import words_first
    from judged_collection import Judged

    texts = {
        "a": "sofa",
        "b": "couch with three seats",
        "c": "leather chair",
        "d": "a sofa of leather for the garden",
    }
    records = [{"id": name, "text": text} for name, text in texts.items()]
    searcher = termwise.build_index(records, tmp_path / "m", model="instant")
    queries = [Query("1", "leather sofa"), Query("2", "leather sofa for a garden")]
    judged = Judged("shop", tmp_path, records, queries, [Qrel("1", "d", 1), Qrel("2", "a", 1)], {}, {})
    stated = MixtureMatches.words_first
    plan = {"measure": "RR@10", "lengths": [1, 2, 9], "title": "T"}
    found = words_first.differences(judged, searcher, plan)
    assert MixtureMatches.words_first is stated
    assert found["lengths"]["1"] == {"changed": 0, "difference": 0.0, "interval": (0.0, 0.0)}
    rules = {
        words: words_first.measured(judged, searcher, words_first.up_to(words), "RR@10") for words in (2, 9)
    }
    assert rules[2][0] == rules[9][0] == 1.0  # the document with both words is first
    assert rules[2][1] >= rules[9][1]
    of_length = {str(words): found["lengths"]["2"] for words in (2, words_first.SHORT_QUERY)}
    shown = words_first.page(
        {"config": plan | {"lengths": [2]}, "splits": {"dev": {"shop": found | {"lengths": of_length}}}}
        | {"provenance": words_first.record.provenance(["numpy"]) | {"seconds": 1.0}}
    )
    assert "| shop | 2 |" in shown
    assert np.isfinite(found["plain"])
