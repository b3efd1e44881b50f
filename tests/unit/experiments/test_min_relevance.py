"""Experiment on relevance: areas, levels and kinds of queries by hand."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def experiment():
    import min_relevance

    return min_relevance


def test_area_by_hand(experiment):
    true, others = np.array([0.9, 0.5]), np.array([0.5, 0.1, 0.95])
    # (0.9 > 0.5, 0.1) + (0.5 > 0.1) + half of (0.5 = 0.5), of six pairs
    assert experiment.area(true, others) == pytest.approx(3.5 / 6)


def test_the_level_has_the_largest_sum(experiment):
    def kinds(true, letters, shuffled):
        levels = ("0.5", "0.9")
        shares = {"true": true, "letters": letters, "shuffled": shuffled}
        return {
            "kinds": {kind: {"above": dict(zip(levels, each, strict=True))} for kind, each in shares.items()}
        }

    collections = {
        "a": kinds([1.0, 0.8], [0.6, 0.1], [0.4, 0.1]),
        "b": kinds([1.0, 0.9], [0.5, 0.0], [0.3, 0.2]),
    }
    found = experiment.choice({"levels": [0.5, 0.9]}, collections)
    assert found["0.5"] == pytest.approx({"true": 1.0, "nonsense": 0.55, "sum": 1.55})
    assert found["0.9"] == pytest.approx({"true": 0.85, "nonsense": 0.9, "sum": 1.75})


def test_other_texts_are_the_same_again(experiment):
    others = ["green tea", "red sofa", "oak table"]
    made = experiment.other_texts("shop", ["two words"], others, 3, 1)
    assert made == experiment.other_texts("shop", ["two words"], others, 3, 1)
    assert [sorted(word) for word in made["shuffled"][0].split()] == [sorted("two"), sorted("words")]
    assert sorted(made["other queries"]) == sorted(others)
    assert all(4 <= len(word) <= 10 for text in made["letters"] for word in text.split())
    known = {word for text in others for word in text.split()}
    assert {word for text in made["other words"] for word in text.split()} <= known
