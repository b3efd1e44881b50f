"""Mixtures with fixed scales in place of z-scores: totals by hand, and a run with toy data."""

from __future__ import annotations

import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from termwise import build_index
from termwise.indexing.recipes import Recipe, RecipePart
from termwise.models import Lookup
from termwise.records import Document, Query
from termwise.search import Searcher

DEPTH = 10


@pytest.fixture
def shipped(lookup_encoder, tmp_path, monkeypatch):
    """Ship two small encoders of the kind lookup, which are the same."""
    lookup_encoder()
    shutil.copytree(tmp_path / "lookup", tmp_path / "granite")
    monkeypatch.setattr("termwise.encode.encoder_folder._shipped_root", lambda: tmp_path)


class Kept:
    """Takes the place of a judged collection and keeps the rankings."""

    def __init__(self):
        self.rankings = {}

    def evaluate(self, run, measures):
        self.rankings = {ranking.query_id: ranking for ranking in run}
        return SimpleNamespace(values={measures[0]: np.zeros(len(self.rankings))})


def ranked(queries, weights, scales):
    from fixed_scales import values_with

    kept = Kept()
    values_with(kept, queries, np.array(weights), scales, {"measure": "nDCG@10", "depth": DEPTH})
    return kept.rankings


@pytest.mark.parametrize("collection", ["cats", "dogs"])
def test_z_scores_rank_as_the_mixture_does(shipped, collections, tmp_path, collection):
    import fixed_scales
    from judged_collection import Judged

    judged = Judged.read(collection, collections / collection, "dev")
    parts = (
        RecipePart("bm25", 0.25),
        RecipePart("jm", 0.25),
        RecipePart("lookup", 0.5, retrieves=False),
    )
    searcher = fixed_scales.mixture(Recipe(parts, depth=DEPTH), judged, tmp_path / "work", 1)
    assert [(part.name, part.retrieves) for part in searcher.parts] == [
        ("bm25", True),
        ("jm", True),
        ("lookup", False),
    ]
    assert searcher.backend.feedback is None
    found = ranked(fixed_scales.scored(searcher, judged), [0.25, 0.25, 0.5], None)
    expected = searcher.rank_many(judged.queries, k=DEPTH, exclude=judged.seeds or None)
    assert len(expected) == len(found) == 10
    for ranking in expected:
        assert found[ranking.query_id].doc_ids == ranking.doc_ids


def test_totals_by_hand():
    from fixed_scales import Scored

    queries = {"q": Scored(["a", "b", "c"], [np.array([4.0, 2.0, 0.0]), np.array([0.0, 3.0, 3.0])])}
    # 0.5 * 4 / 2 = 1;  0.5 * 2 / 2 + 0.5 * 3 / 1 = 2;  0.5 * 3 / 1 = 1.5
    found = ranked(queries, [0.5, 0.5], np.array([2.0, 1.0]))["q"]
    assert (found.doc_ids, found.scores.tolist()) == (("b", "c", "a"), [2.0, 1.5, 1.0])
    # Deviations 1.633 and 1.414: without the means, 1.225, 0.612 + 1.061, and 1.061.
    z = ranked(queries, [0.5, 0.5], None)["q"]
    assert z.doc_ids == ("b", "a", "c")
    assert z.scores == pytest.approx([1.6730, 1.2247, 1.0607], abs=1e-4)


def test_a_part_with_equal_scores_changes_no_ranking():
    from fixed_scales import Scored, deviations

    equal, others = np.full(3, 0.1), np.array([0.1, 0.3, 0.2])
    assert equal.std() > 0  # by rounding
    queries = {"q": Scored(["a", "b", "c"], [equal, others]), "one": Scored(["a"], [equal[:1], equal[:1]])}
    found = ranked(queries, [0.5, 0.5], None)
    assert found["q"].doc_ids == ("b", "c", "a")
    assert np.diff(found["q"].scores) == pytest.approx([-0.6124, -0.6124], abs=1e-4)
    assert found["one"].doc_ids == ("a",)
    queries["r"] = Scored(["a", "b"], [np.array([2.0, 0.0]), np.array([0.0, 4.0])])
    assert deviations(queries) == pytest.approx([1.0, (others.std() + 2) / 2])


def test_a_query_without_candidates_has_no_results():
    from fixed_scales import Scored

    queries = {"q": Scored([], [np.empty(0), np.empty(0)])}
    for scales in (None, np.ones(2)):
        assert ranked(queries, [0.5, 0.5], scales)["q"].doc_ids == ()


def test_scores_by_vectors_are_those_of_a_query_of_length_1(shipped, tmp_path):
    from fixed_scales import scored

    documents = [Document("a", "cat dog"), Document("b", "cat"), Document("c", "heap")]
    parts = {
        name: build_index(documents, tmp_path / f"{name}.tw", model=model)
        for name, model in (("bm25", "bm25"), ("lookup", Lookup()))
    }
    asked = [Query("one", "cat"), Query("three", "cat cat cat")]
    found = scored(Searcher.mix(parts, [0.5, 0.5]), SimpleNamespace(queries=asked, seeds={}))
    assert found["one"].doc_ids == found["three"].doc_ids == ["a", "b", "c"]
    (words, cosines), (more_words, same) = found["one"].parts, found["three"].parts
    assert more_words == pytest.approx(3 * words)
    assert same == pytest.approx(cosines)
    assert cosines.argsort().tolist() == [2, 0, 1]
    # The vector of a text of one word is the sum of three directions: of the word and of two special tokens.
    assert cosines[1] == pytest.approx(3**-0.5, abs=0.05)


PLAN = """
name = "fixed_scales"
title = "Scales"
measure = "nDCG@10"
depth = 20
recipes = ["instant", "best-large"]
[collections]
cats = "dev"
dogs = "dev"
"""


def test_a_run(experiment, shipped, tmp_path):
    import fixed_scales

    result = experiment(fixed_scales.main, PLAN)
    assert list(result["recipes"]) == ["instant", "best-large"]
    instant, large = result["recipes"].values()
    assert list(instant["scales"]) == ["bm25", "table"]
    assert list(large["scales"]) == ["bm25", "lookup", "granite"]
    for one in (instant, large):
        own = np.array(list(one["of collections"].values()))
        assert own.shape == (2, len(one["scales"]))
        assert (own > 0).all()
        assert list(one["scales"].values()) == pytest.approx(own.mean(axis=0), rel=1e-5)
        systems = one["macro"]["systems"]
        assert list(systems) == ["z-scores", "fixed scales", "one of each collection"]
        assert [contrast["difference"] for contrast in one["macro"]["contrasts"]] == pytest.approx(
            [systems[way]["mean"] - systems["z-scores"]["mean"] for way in list(systems)[1:]], abs=1e-5
        )
    page = (tmp_path / "out" / "fixed_scales.md").read_text()
    assert page.startswith("# Scales\n\nMade by `experiments/fixed_scales.py` on dev splits, by nDCG@10.")
    assert "\n## instant\n\nConstants: bm25 " in page
    assert "\n## best-large\n" in page
    assert re.search(r"By collection: cats \S+, \S+; dogs \S+, \S+\.\n", page)
    assert len(re.findall(r"^\| z-scores \| \S+ \|  \|  \|$", page, re.MULTILINE)) == 2
    assert len(re.findall(r"^\| fixed scales \| \S+ \| \S+ \| \S+ to \S+ \|$", page, re.MULTILINE)) == 2
