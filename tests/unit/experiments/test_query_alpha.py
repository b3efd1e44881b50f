"""A share for each query: what can be foretold is, and what cannot costs nothing."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

pytest.importorskip("sklearn")

from termwise import Document, Ranking, build_index

ALPHAS = np.linspace(0, 1, 21)


def curves_by(sign):
    """Return a curve for each query that rises or falls with the share."""
    return 0.5 + 0.3 * sign[:, None] * (ALPHAS - 0.5)[None, :]


@pytest.fixture
def drawn():
    """Queries of which one feature tells which end is best, and the mean a little more for the first system."""
    random = np.random.default_rng(0)
    features = random.normal(size=(300, 4))
    sign = np.where(features[:, 2] > 0.1, -1.0, 1.0)
    curves = curves_by(sign) + 0.02 * random.normal(size=(300, 1))
    return features, curves, [f"q{number}" for number in range(300)]


def test_folds_hold_every_query_once_and_keep_groups_together():
    from foretelling import folds

    groups = [f"paper {number // 3}" for number in range(30)]
    parts = list(folds(groups, 4, seed=1))
    assert sorted(np.concatenate(parts).tolist()) == list(range(30))
    where = {place: number for number, part in enumerate(parts) for place in part.tolist()}
    assert all(where[place] == where[place - place % 3] for place in range(30))
    assert [part.tolist() for part in folds(groups, 4, seed=2)] != [part.tolist() for part in parts]


@pytest.mark.parametrize("learner", ["ridge", "boosting"])
def test_what_can_be_foretold_is(drawn, learner, monkeypatch):
    import foretelling
    from foretelling import Boosting, chosen, folds, ridge

    monkeypatch.setattr(foretelling, "INNER", 2)
    make = ridge if learner == "ridge" else partial(Boosting, iterations=30)
    features, curves, groups = drawn
    parts = list(folds(groups, 2, seed=0))
    every = np.arange(len(curves))
    fixed = curves[every, chosen(features, curves, groups, parts, None)].mean()
    found = curves[every, chosen(features, curves, groups, parts, make)].mean()
    best = curves.max(axis=1).mean()
    assert found > fixed + 0.7 * (best - fixed)


def test_noise_is_not_believed(drawn):
    from foretelling import chosen, folds, ridge

    features, curves, groups = drawn
    shuffled = features[np.random.default_rng(5).permutation(len(features))]
    parts = list(folds(groups, 5, seed=0))
    every = np.arange(len(curves))
    fixed = curves[every, chosen(shuffled, curves, groups, parts, None)].mean()
    found = curves[every, chosen(shuffled, curves, groups, parts, ridge)].mean()
    assert found > fixed - 0.01


@pytest.mark.parametrize(
    ("values", "place"), [([1, 3, 2], 1), ([2, 2, 2], 1), ([0, 2, 2, 0], 1), ([5, 0, 5, 5, 5], 0), ([1], 0)]
)
def test_the_middle_of_equal_shares(values, place):
    from foretelling import middle_of_best

    assert middle_of_best(np.array(values, dtype=np.float64)) == place


def test_features_by_hand(tmp_path):
    from features import NAMES, features, idf_of

    documents = [Document("a", "apple pear"), Document("b", "apple"), Document("c", "plum")]
    searcher = build_index(documents, tmp_path / "i.tw", analyzer="whitespace")
    first = Ranking(["a", "b", "c"], [3.0, 2.0, 1.0])
    second = Ranking(["c", "a", "b"], [9.0, 5.0, 4.0])
    found = dict(
        zip(
            NAMES,
            features("apple apple pear zzz", searcher, idf_of(searcher), first, second).tolist(),
            strict=True,
        )
    )
    apple, pear = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    assert found["ln tokens"] == math.log(5)
    assert found["ln terms"] == math.log(4)
    assert found["repetition"] == 3 / 4
    assert found["unseen terms"] == 1 / 4
    assert found["idf: sum"] == pytest.approx(math.log1p(apple + pear))
    assert found["idf: largest"] == pytest.approx(pear)
    assert found["first: lead"] == pytest.approx(2 / np.std([3, 2, 1]))
    assert found["first: skew"] == pytest.approx(0)
    assert found["first: score over idf"] == pytest.approx(3 / (apple + pear))
    assert found["first: its best by the second"] == pytest.approx((5 - 6) / np.std([9, 5, 4]))
    assert found["second: its best by the first"] == pytest.approx(-1 / np.std([3, 2, 1]))
    assert found["in common, first 10"] == 1
    assert found["rank correlation"] == pytest.approx(-0.5)


def test_features_of_a_query_without_anything(tmp_path):
    from features import NAMES, features, idf_of

    searcher = build_index([Document("a", "apple"), Document("b", "pear")], tmp_path / "i.tw")
    empty = Ranking([], [])
    found = features("", searcher, idf_of(searcher), empty, empty)
    assert found.shape == (len(NAMES),)
    assert np.isfinite(found).all()


def test_what_is_reported(drawn, monkeypatch):
    import query_alpha
    from foretelling import ridge
    from query_alpha import FIXED, ORACLE, RRF, Measured, correlations, gaps, values_of

    monkeypatch.setattr(query_alpha, "LEARNERS", {"ridge": ridge})
    features, curves, groups = drawn
    names = np.zeros((300, 20 - 4))
    rows = np.hstack([features, names])
    found = {
        name: Measured(
            tuple(groups[part]), tuple(f"{name} {one}" for one in groups[part]), rows[part], curves[part],
            curves[part, 10], ALPHAS[curves[part].argmax(axis=1)], np.zeros(len(curves[part]), dtype=bool), {},
        )
        for name, part in (("one", slice(0, 200)), ("two", slice(200, 300)))
    }  # fmt: skip
    plan = {"seed": 0, "repeats": 2, "folds": 5}
    ways = values_of(found, plan, transfer=False)
    assert [len(ways[FIXED][name]) for name in found] == [200, 100]
    report = gaps(ways)
    assert report[ORACLE]["gap closed"] == 1
    assert report[FIXED]["difference"] == 0
    assert report["ridge"]["gap closed"] > 0.7
    low, high = report["ridge"]["gap interval"]
    assert low < report["ridge"]["gap closed"] < high
    assert report["ridge"]["p"] < 0.01
    assert report[RRF]["pooled"] == pytest.approx(curves[:, 10].mean())
    assert gaps(values_of(found, plan, transfer=True))["ridge"]["gap closed"] > 0.5
    told = correlations(found)
    assert min(told["repetition"].values(), key=abs) != 0
    assert abs(told["repetition"]["one"]) > 0.5
