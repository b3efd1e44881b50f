import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.evaluate.compared_runs import compare_runs

from termwise.errors import DataError, DuplicateIdError, ParameterError, UnknownNameError
from termwise.evaluate import compare, comparison_text, evaluate
from termwise.records import Qrel, Ranking, Run


def run_at(name, ranks):
    """Make a run whose query i finds its only relevant document at ranks[i]; None leaves the query out."""
    rankings = []
    for i, rank in enumerate(ranks):
        if rank is not None:
            docs = [f"n{j}" for j in range(rank - 1)] + ["yes"]
            rankings.append(Ranking(docs, np.ones(rank), query_id=f"q{i}"))
    return Run(rankings, name)


def qrels_for(n):
    return [Qrel(f"q{i}", "yes", 1) for i in range(n)]


def contrast_of(one, other, **options):
    n = len(one)
    result = compare_runs([run_at("one", one), run_at("other", other)], qrels_for(n), ["RR"], **options)
    return result.contrasts[0]


def test_by_hand():
    c = contrast_of([2, 2, 1, 4], [1, 1, 2, 4])  # RR: .5 .5 1 .25 against 1 1 .5 .25
    assert c.differences.tolist() == [0.5, 0.5, -0.5, 0.0]
    assert (c.baseline, c.run, c.measure, c.queries) == ("one", "other", "RR", 4)
    assert (c.wins, c.ties, c.losses) == (2, 1, 1)
    assert c.baseline_mean == 0.5625
    assert c.run_mean == 0.6875
    assert c.difference == 0.125
    assert c.relative == pytest.approx(0.125 / 0.5625)
    deviation = np.sqrt(((0.375**2) * 2 + 0.625**2 + 0.125**2) / 3)
    assert c.effect_size == pytest.approx(0.125 / deviation)
    assert c.t == pytest.approx(0.125 / (deviation / 2))
    # Of the 8 signs of (.5, .5, -.5) all have a mean of .5 or more in size: p = 1.
    assert c.p_permutation == 1.0
    assert c.ci_low < 0.125 < c.ci_high


def test_the_permutation_test_is_exact_for_few_queries():
    rng = np.random.default_rng(5)
    one, other = rng.integers(1, 9, 10).tolist(), rng.integers(1, 5, 10).tolist()
    c = contrast_of(one, other)
    d = c.differences
    means = [abs(np.dot(signs, d)) for signs in itertools.product([-1, 1], repeat=len(d))]
    expected = np.mean(np.array(means) >= abs(d.sum()) - 1e-9)
    assert c.p_permutation == pytest.approx(expected)


def test_identical_runs():
    c = contrast_of([1, 2, 3], [1, 2, 3])
    assert (c.difference, c.relative) == (0.0, 0.0)
    assert (c.wins, c.ties, c.losses) == (0, 3, 0)
    assert c.p_permutation == c.p_permutation_holm == 1.0
    assert [c.t, c.p_t, c.p_t_holm, c.p_t_bonferroni, c.effect_size, c.ci_low, c.ci_high] == [None] * 7


def test_a_constant_difference_has_no_variance():
    c = contrast_of([2] * 8, [1] * 8)
    assert c.difference == 0.5
    assert c.p_permutation == 2 / 2**8
    assert [c.t, c.p_t, c.effect_size, c.ci_low, c.ci_high] == [None] * 5
    runs = [run_at("a", [2, 2]), run_at("b", [1, 1])]
    assert "all differences are equal, as for b (RR)" in comparison_text(
        compare_runs(runs, qrels_for(2), ["RR"])
    )
    runs = [run_at("a", [2, 2]), run_at("b", [1, 2])]
    assert "all differences are equal" not in comparison_text(compare_runs(runs, qrels_for(2), ["RR"]))


def test_one_query_has_no_statistics():
    c = contrast_of([2], [1])
    assert (c.difference, c.wins) == (0.5, 1)
    assert [c.p_permutation, c.p_permutation_holm, c.t, c.p_t, c.effect_size, c.ci_low, c.ci_high] == [
        None
    ] * 7


def test_a_relative_difference_to_zero_is_undefined():
    qrels = qrels_for(2)
    nothing = Run([Ranking(["n"], [1], query_id="q0")], "nothing")
    c = compare_runs([nothing, run_at("some", [1, 2])], qrels, ["RR"]).contrasts[0]
    assert c.baseline_mean == 0.0
    assert c.relative is None


def test_rounding_is_a_tie():
    # The same gains added up in another order differ in the last bits.
    qrels = [Qrel(f"q{i}", d, 1) for i in range(3) for d in "abcdefg"]
    orders = ["axbxcxdxexfxg", "gxfxexdxcxbxa"]
    runs = [
        Run(
            [
                Ranking([c if c != "x" else f"x{p}" for p, c in enumerate(o)], np.zeros(len(o)), f"q{i}")
                for i in range(3)
            ],
            o,
        )
        for o in orders
    ]
    for c in compare_runs(runs, qrels, ["AP", "nDCG@10"]).contrasts:
        assert (c.ties, c.difference) == (3, 0.0)


def test_missing_queries_count_zero_for_every_run():
    result = compare_runs([run_at("a", [1, None, 1]), run_at("b", [1, 1, None])], qrels_for(3), ["RR"])
    assert result.query_ids == ("q0", "q1", "q2")
    assert result.contrasts[0].differences.tolist() == [0.0, 1.0, -1.0]


def test_skipping_compares_the_queries_of_all_runs():
    runs = [run_at("a", [1, None, 2, 1]), run_at("b", [2, 1, 1, 1]), run_at("c", [1, 1, 1, None])]
    result = compare_runs(runs, qrels_for(4), ["RR"], missing="skip")
    assert result.query_ids == ("q0", "q2")
    assert [c.queries for c in result.contrasts] == [2, 2]
    assert result.evaluations[0].means["RR"] == 0.75
    with pytest.raises(DataError):
        compare_runs([run_at("a", [1, None]), run_at("b", [None, 1])], qrels_for(2), ["RR"], missing="skip")


def test_seeds_are_left_out():
    runs = [run_at("a", [2, 2]), run_at("b", [1, 2])]
    c = compare_runs(runs, qrels_for(2), ["RR"], exclude={"q0": "n0", "q1": {"n0"}}).contrasts[0]
    assert c.differences.tolist() == [0.0, 0.0]


def test_pairs_and_families():
    runs = [run_at(name, np.roll([1, 2, 3, 4, 5, 6], shift)) for shift, name in enumerate("abcd")]
    to_baseline = compare_runs(runs, qrels_for(6), ["RR", "P@2"], baseline="b")
    assert [(c.baseline, c.run) for c in to_baseline.of("RR")] == [("b", "a"), ("b", "c"), ("b", "d")]
    assert to_baseline.family == 3
    everything = compare_runs(runs, qrels_for(6), ["RR"], pairs="all")
    assert [c.baseline + c.run for c in everything.contrasts] == ["ab", "ac", "ad", "bc", "bd", "cd"]
    assert everything.family == 6
    first = everything.contrasts[0]
    assert first.p_t_bonferroni == pytest.approx(min(1, 6 * first.p_t))
    with pytest.raises(UnknownNameError):
        to_baseline.of("AP")


def test_a_contrast_depends_neither_on_other_runs_nor_on_their_order():
    rng = np.random.default_rng(1)
    a, b, c = (run_at(name, rng.integers(1, 9, 30)) for name in "abc")
    options = {"qrels": qrels_for(30), "measures": ["RR"], "baseline": "a"}

    def raw(runs):
        row = {x.run: x for x in compare_runs(runs, **options).contrasts}["b"].row()
        return {key: value for key, value in row.items() if not key.endswith(("_holm", "_bonferroni"))}

    assert raw([a, b]) == raw([a, c, b]) == raw([b, a]) == raw([c, b, a])


def test_swapping_the_runs_reverses_the_signs():
    rng = np.random.default_rng(2)
    a, b = run_at("a", rng.integers(1, 9, 40)), run_at("b", rng.integers(1, 9, 40))
    there = compare_runs([a, b], qrels_for(40), ["RR"]).contrasts[0]
    back = compare_runs([a, b], qrels_for(40), ["RR"], baseline="b").contrasts[0]
    assert there.difference == -back.difference
    assert there.t == pytest.approx(-back.t)
    assert there.p_t == pytest.approx(back.p_t)
    assert there.p_permutation == pytest.approx(back.p_permutation)
    assert there.ci_low == pytest.approx(-back.ci_high)
    assert (there.wins, there.losses) == (back.losses, back.wins)


def test_resampling_depends_on_the_seed():
    rng = np.random.default_rng(3)
    one, other = rng.integers(1, 9, 40), rng.integers(1, 9, 40)
    first, again = contrast_of(one, other, seed=7), contrast_of(one, other, seed=7)
    assert first.row() == again.row()
    assert contrast_of(one, other, seed=8).ci_low != first.ci_low


def test_a_higher_confidence_gives_a_wider_interval():
    rng = np.random.default_rng(4)
    one, other = rng.integers(1, 9, 40), rng.integers(1, 9, 40)
    narrow, wide = contrast_of(one, other, confidence=0.5), contrast_of(one, other, confidence=0.99)
    assert wide.ci_low < narrow.ci_low < narrow.difference < narrow.ci_high < wide.ci_high


def test_json_lines_give_everything_back():
    result = compare_runs([run_at("a", [1, 2, 2]), run_at("b", [1, 1, 1])], qrels_for(3), ["RR"])
    lines = [json.loads(line) for line in result.to_json_lines(per_query=True)]
    (contrast,) = [line for line in lines if line["kind"] == "contrast"]
    assert {key: contrast[key] for key in result.contrasts[0].row()} == result.contrasts[0].row()
    assert (contrast["seed"], contrast["resamples"], contrast["confidence"]) == (0, 10_000, 0.95)
    differences = [line["difference"] for line in lines if line["kind"] == "difference"]
    assert differences == result.contrasts[0].differences.tolist()
    assert [line["run"] for line in lines if line["kind"] == "mean"] == ["a", "b"]


def test_a_comparison_is_short_when_printed():
    runs = [run_at("a", [2] * 500), run_at("b", [1] * 500)]
    result = compare_runs(runs, qrels_for(500), ["RR"], resamples=100)
    assert repr(result) == "Comparison(runs=['a', 'b'], measures=['RR'], queries=500)"


def test_runs_are_compared_in_the_order_of_trec_eval():
    runs = [Run([Ranking(order, [1.0, 1.0], "q1")], name) for name, order in (("a", "xy"), ("b", "yx"))]
    qrels = [Qrel("q1", "y", 1)]
    assert compare_runs(runs, qrels, ["RR"]).contrasts[0].difference == 0.5
    assert compare_runs(runs, qrels, ["RR"], ties="trec_eval").contrasts[0].difference == 0.0


def test_runs_must_be_two_and_distinct():
    with pytest.raises(ParameterError):
        compare_runs([run_at("a", [1])], qrels_for(1), ["RR"])
    with pytest.raises(DuplicateIdError):
        compare_runs([run_at("a", [1]), run_at("a", [2])], qrels_for(1), ["RR"])
    with pytest.raises(UnknownNameError):
        compare_runs([run_at("a", [1]), run_at("b", [2])], qrels_for(1), ["RR"], baseline="c")


@pytest.mark.parametrize(
    "options",
    [
        {"pairs": "some"},
        {"confidence": 0},
        {"confidence": 1.0},
        {"confidence": float("nan")},
        {"resamples": 10},
        {"resamples": 1000.0},
        {"resamples": 10_000_001},
        {"resamples": 10**5000},
        {"seed": -1},
        {"seed": 0.5},
    ],
)
def test_unknown_options_are_refused(options):
    with pytest.raises(ParameterError) as caught:
        contrast_of([1, 2], [2, 1], **options)
    if "pairs" not in options:
        assert caught.value.fixes_worded()[0].startswith(f"use `{next(iter(options))}=")


def test_unknown_tests_are_refused():
    contrast = contrast_of([1, 2], [2, 1])
    assert contrast.p("permutation", "none") == contrast.p_permutation
    for test, correction in (("u", "none"), ("t", "sidak")):
        with pytest.raises(UnknownNameError):
            contrast.p(test, correction)


ranks = st.lists(st.integers(1, 6), min_size=2, max_size=14)


@settings(max_examples=40, deadline=None)
@given(ranks, ranks, ranks)
def test_every_number_is_defined_or_none(first, second, third):
    n = min(len(first), len(second), len(third))
    runs = [run_at(name, r[:n]) for name, r in zip("abc", (first, second, third), strict=True)]
    result = compare_runs(runs, qrels_for(n), ["RR", "P@1"], pairs="all", resamples=200)
    for c in result.contrasts:
        assert c.wins + c.ties + c.losses == c.queries == n
        assert 0 < c.p_permutation <= c.p_permutation_holm <= c.p_permutation_bonferroni <= 1
        if c.p_t is not None:
            assert 0 <= c.p_t <= c.p_t_holm <= c.p_t_bonferroni <= 1
            assert c.ci_low <= c.difference + 1e-12
            assert c.difference <= c.ci_high + 1e-12
        assert c.difference == pytest.approx(c.run_mean - c.baseline_mean, abs=1e-9)
        json.dumps(c.row(), allow_nan=False)


def test_queries_in_another_order_are_matched_by_id():
    one = evaluate(run_at("one", [2, 1, 4]), qrels_for(3), ["RR"])
    other = evaluate(run_at("other", [1, 1, 2]), qrels_for(3)[::-1], ["RR"])
    assert other.query_ids == ("q2", "q1", "q0")
    compared = compare([one, other])
    assert compared.query_ids == ("q0", "q1", "q2")
    assert compared.contrasts[0].differences.tolist() == [0.5, 0.0, 0.25]
    assert compared.evaluations[1].values["RR"].tolist() == [1.0, 1.0, 0.5]


def test_runs_measured_by_other_measures_are_refused():
    one = evaluate(run_at("one", [2, 1]), qrels_for(2), ["RR"])
    other = evaluate(run_at("other", [2, 1]), qrels_for(2), ["P@1"])
    with pytest.raises(ParameterError, match="same measures"):
        compare([one, other])
