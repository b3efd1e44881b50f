from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise import Ranking, Run
from termwise.errors import ParameterError, UnknownNameError, WeightError
from termwise.fusion import interpolate, reciprocal_rank_fusion

MISSING = ("drop", "minimum", "zero")
SCALINGS = ("z", "minmax", "raw")


def run(name="run", **queries):
    rankings = []
    for query_id, scores in queries.items():
        ordered = sorted(scores.items(), key=lambda pair: -pair[1])
        rankings.append(Ranking([d for d, _ in ordered], [s for _, s in ordered], query_id))
    return Run(rankings, name)


BM25 = run(q={"a": 9.0, "b": 6.0, "c": 3.0})
TILDE = run(q={"c": -1.0, "a": -4.0, "b": -7.0})


def scores(fused, query_id="q"):
    ranking = fused[query_id]
    return dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))


def test_raw_by_hand():
    fused = interpolate(BM25, TILDE, alpha=0.25, scaling="raw", missing="drop", name="mixed")
    # a 9/4 - 3, b 6/4 - 21/4, c 3/4 - 3/4
    assert scores(fused) == {"c": 0.0, "a": -0.75, "b": -3.75}
    assert fused["q"].doc_ids == ("c", "a", "b")
    assert fused.name == "mixed"


def test_min_max_by_hand():
    fused = interpolate(BM25, TILDE, alpha=0.5, scaling="minmax", missing="drop")
    # BM25 1, 1/2, 0; TILDE 1/2, 0, 1
    assert scores(fused) == {"a": 0.75, "c": 0.5, "b": 0.25}


def test_z_by_hand():
    fused = interpolate(BM25, TILDE, alpha=0.5, missing="drop")
    # mean 6 and -4, each with the deviation sqrt((9 + 0 + 9) / 3) = sqrt(6)
    unit = 3 / math.sqrt(6)
    assert scores(fused) == pytest.approx({"a": unit / 2, "c": 0.0, "b": -unit / 2})


@pytest.mark.parametrize("scaling", ["z", "minmax"])
def test_equal_scores_scale_to_zero(scaling):
    # A third is no binary fraction: mean and scores differ in the last digit, and must not be blown up.
    flat = run(q=dict.fromkeys("abcdefg", 1 / 3))
    other = run(q={"g": 2.0, "a": 1.0, **dict.fromkeys("bcdef", 0.0)})
    mixed = interpolate(flat, other, alpha=0.5, scaling=scaling, missing="drop")
    alone = interpolate(other, other, alpha=0.5, scaling=scaling, missing="drop")
    assert {d: 2 * s for d, s in scores(mixed).items()} == pytest.approx(scores(alone))
    assert scores(interpolate(flat, other, alpha=1, scaling=scaling, missing="drop")) == dict.fromkeys(
        "abcdefg", 0.0
    )


def test_scores_of_missing_documents():
    second = run(q={"x": -1.0, "a": -2.0, "c": -6.0})
    options = {"alpha": 0.5, "scaling": "raw"}
    assert scores(interpolate(BM25, second, missing="drop", **options)) == {"a": 3.5, "c": -1.5}
    assert scores(interpolate(BM25, second, missing="minimum", **options)) == {"a": 3.5, "b": 0, "c": -1.5}
    counted = run(q={"x": 3.0, "a": 2.0, "c": 0.0})
    assert scores(interpolate(BM25, counted, missing="zero", **options)) == {"a": 5.5, "b": 3, "c": 1.5}
    union = interpolate(BM25, second, missing="minimum", documents="union", **options)
    assert scores(union) == {"a": 3.5, "x": 1.0, "b": 0.0, "c": -1.5}
    assert union["q"].doc_ids == ("a", "x", "b", "c")


@pytest.mark.parametrize("scaling", ["z", "minmax", "global", "raw"])
def test_a_missing_log_probability_is_never_the_best_score(scaling):
    # 0 is the best of all log-probabilities: b, of which the second run knows nothing, would win by it.
    second = run("ql", q={"a": -2.0, "c": -6.0})
    with pytest.raises(WeightError, match="cannot be 0") as caught:
        interpolate(BM25, second, alpha=0.5, scaling=scaling, missing="zero")
    assert caught.value.facts == (("run", "ql"), ("query", "q"), ("lowest", -6.0))
    for alpha in (0.0, 0.3, 0.7, 1.0):
        mixed = interpolate(BM25, second, alpha=alpha, scaling=scaling, missing="minimum")["q"].doc_ids
        assert mixed.index("a") < mixed.index("b"), "below what both runs hold to be better"


def test_zero_among_log_probabilities_does_no_harm_where_nothing_is_missing():
    assert interpolate(BM25, TILDE, alpha=0.0, missing="zero")["q"].doc_ids == TILDE["q"].doc_ids


def test_the_minimum_is_that_of_the_documents_that_are_fused():
    second = run(q={"a": 5.0, "b": 4.0, "elsewhere": -100.0})
    fused = interpolate(BM25, second, alpha=0.0, scaling="raw", missing="minimum")
    assert scores(fused) == {"a": 5.0, "b": 4.0, "c": 4.0}


def test_filled_in_scores_are_part_of_the_scaling():
    second = run(q={"a": 4.0, "elsewhere": 400.0})
    fused = interpolate(BM25, second, alpha=0.0, missing="zero")
    # 4, 0, 0: mean 4/3, deviation sqrt(32)/3
    high, low = 8 / math.sqrt(32), -4 / math.sqrt(32)
    assert scores(fused) == pytest.approx({"a": high, "b": low, "c": low})


def test_each_query_is_scaled_by_itself():
    one = run(long={"a": -100.0, "b": -90.0}, short={"a": -1.0, "b": -2.0})
    fused = interpolate(one, one, alpha=0.3, missing="drop")
    assert scores(fused, "long") == pytest.approx({"b": 1.0, "a": -1.0})
    assert scores(fused, "short") == pytest.approx({"a": 1.0, "b": -1.0})


def test_ties_keep_the_order_of_the_first_run_then_of_the_second():
    first = Run([Ranking(["b", "a", "c"], [1.0, 1.0, 1.0], "q")])
    second = Run([Ranking(["z", "c", "y", "a"], [0.0, 0.0, 0.0, 0.0], "q")])
    options = {"scaling": "raw", "missing": "zero"}
    assert interpolate(first, second, alpha=0.5, **options)["q"].doc_ids == ("b", "a", "c")
    both = interpolate(second, second, alpha=0.5, documents="union", **options)
    assert both["q"].doc_ids == ("z", "c", "y", "a")
    union = interpolate(second, first, alpha=1.0, documents="union", **options)
    assert union["q"].doc_ids == ("z", "c", "y", "a", "b")
    assert interpolate(first, second, alpha=0.0, **options)["q"].doc_ids == ("c", "a", "b")


def test_queries_that_one_run_lacks():
    first = run(p={"a": 1.0}, q={"a": 1.0, "b": 0.5})
    second = run(q={"b": 9.0, "a": 1.0}, r={"a": 1.0})
    fused = interpolate(first, second, alpha=0.5, missing="minimum")
    assert list(fused.rankings) == ["p", "q"]
    assert scores(fused, "p") == {"a": 0.0}
    union = interpolate(first, second, alpha=0.5, missing="zero", scaling="raw", documents="union")
    assert list(union.rankings) == ["p", "q", "r"]
    assert scores(union, "r") == {"a": 0.5}
    assert len(interpolate(first, second, alpha=0.5, missing="drop")["p"]) == 0


def test_a_ranking_without_documents():
    empty = Run([Ranking([], [], "q")])
    for scaling in SCALINGS:
        assert len(interpolate(empty, BM25, alpha=0.5, scaling=scaling, missing="zero")["q"]) == 0


@pytest.mark.parametrize("alpha", [-0.1, 1.01, math.nan, math.inf, "0.5", None, True])
def test_alpha_is_a_share(alpha):
    with pytest.raises(ParameterError, match="alpha is out of range"):
        interpolate(BM25, TILDE, alpha=alpha, missing="drop")


@pytest.mark.parametrize(
    ("option", "name"), [("missing", "missing"), ("scaling", "normalisation"), ("documents", "documents")]
)
def test_unknown_choices(option, name):
    options = {"missing": "drop", option: "nothing"}
    with pytest.raises(UnknownNameError, match=name):
        interpolate(BM25, TILDE, alpha=0.5, **options)


def test_missing_has_no_default():
    with pytest.raises(TypeError, match="missing"):
        interpolate(BM25, TILDE, alpha=0.5)


def test_scores_that_cannot_be_mixed():
    endless = run(q={"a": 1.0, "b": -math.inf})
    with pytest.raises(WeightError, match="infinite") as caught:
        interpolate(BM25, endless, alpha=0.5, missing="drop")
    assert ("document", "b") in caught.value.facts
    with pytest.raises(WeightError, match="too far apart"):
        interpolate(run(q={"a": 1e308, "b": -1e308}), BM25, alpha=0.5, missing="drop")
    with pytest.raises(WeightError, match="too near"):
        interpolate(run(q={"a": 5e-324, "b": 0.0}), BM25, alpha=0.5, missing="drop")


def test_an_overflow_over_all_queries_names_its_place():
    wide = run(q1={"a": 1e308, "b": -1e308}, q2={"a": 1.0})
    narrow = run(q0={"a": 2.0, "b": 1.0}, q1={"a": 2.0, "b": 1.0})
    with pytest.raises(WeightError, match="too far apart") as caught:
        interpolate(narrow, wide, alpha=0.5, scaling="global", missing="minimum", documents="union")
    facts = dict(caught.value.facts)
    assert (facts["lowest"], facts["highest"]) == ("-1e+308, query q1", "1e+308, query q1")


rankings = st.dictionaries(
    st.sampled_from("abcdefghij"), st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6)), max_size=8
)


def above_zero(scores, missing):
    """Return scores that can be mixed under any rule for what is missing."""
    return {d: abs(s) for d, s in scores.items()} if missing == "zero" else scores


@given(rankings, rankings, st.sampled_from(SCALINGS), st.sampled_from(MISSING))
def test_alpha_0_and_1_give_the_single_runs(one, other, scaling, missing):
    one, other = above_zero(one, missing), above_zero(other, missing)
    first, second = run(q=one), run(q=other)
    at_one = interpolate(first, second, alpha=1, scaling=scaling, missing=missing)["q"].doc_ids
    at_zero = interpolate(first, second, alpha=0, scaling=scaling, missing=missing)["q"].doc_ids
    ranked = first["q"].doc_ids
    assert set(at_one) == set(at_zero)
    assert list(at_one) == [d for d in ranked if d in at_one]
    # Missing documents take a place by the score that is filled in; the others keep the order of the second run.
    assert [d for d in at_zero if d in other] == [d for d in second["q"].doc_ids if d in at_zero]


@given(rankings, rankings, st.floats(0, 1), st.sampled_from(SCALINGS), st.sampled_from(MISSING))
def test_scores_follow_the_formula(one, other, alpha, scaling, missing):
    one, other = above_zero(one, missing), above_zero(other, missing)
    fused = interpolate(run(q=one), run(q=other), alpha=alpha, scaling=scaling, missing=missing)["q"]
    chosen = [d for d in one if missing != "drop" or d in other]
    expected = np.zeros(len(chosen))
    for share, table in ((alpha, one), (1 - alpha, other)):
        least = min((table[d] for d in chosen if d in table), default=0.0) if missing == "minimum" else 0.0
        x = np.array([table.get(d, least) for d in chosen])
        if len(x) and scaling != "raw":
            spread = x.std() if scaling == "z" else np.ptp(x)
            x = (
                np.zeros(len(x))
                if np.ptp(x) == 0
                else (x - (x.mean() if scaling == "z" else x.min())) / spread
            )
        expected += share * x
    assert set(fused.doc_ids) == set(chosen)
    found = dict(zip(fused.doc_ids, fused.scores.tolist(), strict=True))
    assert [found[d] for d in chosen] == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)


def test_reciprocal_ranks_by_hand():
    one = run(q={"a": 3.0, "b": 2.0}, p={"x": 1.0})
    other = run(q={"c": 9.0, "b": 8.0, "d": 7.0})
    fused = reciprocal_rank_fusion([one, other])
    assert list(fused.rankings) == ["q", "p"]
    assert fused["q"].doc_ids == ("b", "a", "c", "d")
    assert scores(fused) == {"b": 2 / 62, "a": 1 / 61, "c": 1 / 61, "d": 1 / 63}
    assert scores(fused, "p") == {"x": 1 / 61}
    assert scores(reciprocal_rank_fusion([one, other], k=0))["b"] == 1.0


def test_the_same_ranks_in_other_runs_tie():
    # In floating point 1/61 + 1/67 + 1/62 depends on the order of the summands.
    a = [1, 7, 2]
    fused = reciprocal_rank_fusion(
        [
            Run(
                [
                    Ranking(
                        [{a[i]: "x", a[(i + 1) % 3]: "y"}.get(r, f"f{r}") for r in range(1, 8)],
                        range(7, 0, -1),
                        "q",
                    )
                ]
            )
            for i in range(3)
        ]
    )
    assert scores(fused)["x"] == scores(fused)["y"]


def test_one_run_keeps_its_order_and_none_is_refused():
    assert reciprocal_rank_fusion([TILDE])["q"].doc_ids == TILDE["q"].doc_ids
    with pytest.raises(ParameterError, match="no run"):
        reciprocal_rank_fusion([])
    for k in (-1, math.nan, "60"):
        with pytest.raises(ParameterError, match="out of range"):
            reciprocal_rank_fusion([BM25], k=k)
