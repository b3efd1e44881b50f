"""The best share of each query: never below the best one for all, and held against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.fusion.judged_runs import runs_and_qrels
from tests.unit.fusion.test_weight_learning import separate

from termwise import Qrel, Ranking, Run
from termwise.errors import DataError, ParameterError, UnknownNameError
from termwise.evaluate import evaluate
from termwise.fusion import fuse, learn, oracle

# b is above a from .5 on for q, and never for r, which has nothing to choose; s is not judged
ONE = Run(
    [
        Ranking(["b", "a"], [1.0, 0.0], query_id="q"),
        Ranking(["a", "b"], [1.0, 0.0], query_id="r"),
        Ranking(["a"], [1.0], query_id="s"),
    ],
    name="one",
)
OTHER = Run(
    [Ranking(["a", "b"], [1.0, 0.0], query_id="q"), Ranking(["a", "b"], [1.0, 0.0], query_id="r")],
    name="other",
)
QRELS = [Qrel("q", "b", 1), Qrel("r", "a", 1), Qrel("unseen", "a", 1)]
RULES = {"missing": "drop", "scaling": "raw"}


def values_at(runs, qrels, measure, alpha, **rules):
    fused = fuse(runs, (alpha, 1 - alpha), **rules)
    return evaluate(fused, qrels, [measure])


def test_by_hand():
    found = oracle([ONE, OTHER], QRELS, measure="RR", **RULES)
    assert found.query_ids == ("q", "r")
    assert found.judged == 3
    assert found.alpha == 0.75
    assert found.alphas.tolist() == [0.75, 0.75]
    assert found.best.tolist() == [1, 1]
    assert found.first.tolist() == [1, 1]
    assert found.second.tolist() == [0.5, 1]
    assert found.indifferent.tolist() == [False, True]
    summary = found.summary()
    assert summary["oracle"] == summary["fixed"] == pytest.approx(2 / 3)
    assert (summary["queries"], summary["indifferent"], summary["mean alpha, others"]) == (3, 1, 0.75)


@pytest.mark.parametrize(
    ("method", "ties", "alphas", "counts"),
    [
        ("sweep", "smallest", [0.5, 0.0], (1, 0)),
        ("sweep", "nearest", [0.75, 0.75], (0, 0)),
        ("sweep", "largest", [1.0, 1.0], (0, 2)),
        ("grid", "smallest", [0.5, 0.0], (1, 0)),  # at .5 both tie, and the first run decides
        ("grid", "nearest", [0.7, 0.7], (0, 0)),
        ("grid", "largest", [1.0, 1.0], (0, 2)),
    ],
)
def test_the_rule_for_ties_changes_shares_and_no_values(method, ties, alphas, counts):
    found = oracle([ONE, OTHER], QRELS, measure="RR", method=method, ties=ties, **RULES)
    assert found.best.tolist() == [1, 1]
    assert found.alphas == pytest.approx(alphas, abs=1e-8)
    assert (found.summary()["at 0"], found.summary()["at 1"]) == counts


@given(
    runs_and_qrels(),
    st.sampled_from(["sweep", "grid"]),
    st.sampled_from(["nearest", "smallest", "largest"]),
    st.sampled_from(["nDCG@3", "AP", "RR", "P@2"]),
)
def test_no_query_does_worse_than_with_one_share_for_all(drawn, method, ties, measure):
    runs, qrels = drawn
    try:
        found = oracle(runs[:2], qrels, measure=measure, method=method, ties=ties, missing="minimum")
    except DataError:
        assume(False)
    best = learn(runs[:2], qrels, measure=measure, method=method, missing="minimum")
    assert found.alpha == best.weights[0]
    assert found.mean(found.fixed) == pytest.approx(best.learned.value)
    assert (found.best >= found.fixed).all()
    assert (found.best >= np.maximum(found.first, found.second) - 1e-12).all()
    assert ((found.alphas >= 0) & (found.alphas <= 1)).all()
    assert found.best[found.indifferent] == pytest.approx(found.fixed[found.indifferent])


@pytest.mark.parametrize("measure", ["nDCG@10", "AP"])
def test_a_fine_grid_finds_no_more(measure):
    runs, qrels = separate(3)
    found = oracle(runs, qrels, measure=measure, missing="drop")
    fine = np.stack(
        [
            values_at(runs, qrels, measure, alpha, missing="drop").values[measure]
            for alpha in np.linspace(0, 1, 401)
        ]
    )
    assert (found.best >= fine.max(axis=0) - 1e-9).all()
    assert found.best.mean() <= fine.max(axis=0).mean() + 0.01
    there = [
        values_at(runs, qrels, measure, alpha, missing="drop").values[measure][place]
        for place, alpha in enumerate(found.alphas.tolist())
    ]
    assert there == pytest.approx(found.best)


def test_a_measure_without_kernels_needs_the_grid():
    runs, qrels = separate(5)
    found = oracle(runs, qrels, measure="Judged@5", method="grid", missing="drop")
    assert found.mean(found.best) > found.mean(found.fixed)
    with pytest.raises(ParameterError, match="exact sweep"):
        oracle(runs, qrels, measure="Judged@5", missing="drop")


def test_wrong_arguments():
    with pytest.raises(UnknownNameError, match="ties"):
        oracle([ONE, OTHER], QRELS, ties="middle", **RULES)
    with pytest.raises(UnknownNameError, match="method"):
        oracle([ONE, OTHER], QRELS, method="ascent", **RULES)
    with pytest.raises(ParameterError, match="two runs"):
        oracle([ONE, OTHER, OTHER], QRELS, **RULES)
    with pytest.raises(DataError):
        oracle([ONE, OTHER], [Qrel("elsewhere", "a", 1)], **RULES)
