"""Effects, thresholds and statistics of probes."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import DataError, DuplicateIdError, ParameterError, UnknownIdError, WeightError
from termwise.probes import (
    ByQuery,
    ByRank,
    Constant,
    Probe,
    Sample,
    Samples,
    compare,
    estimate,
    median_gap,
    pooled_gaps,
    published_t,
    query_gaps,
    random_for,
    run_probe,
    sweep,
    top_gaps,
)
from termwise.probes.core.statistics import clustered_t

SAMPLES = [
    Sample("1", "cats", "cat cat", "cat", "q1"),
    Sample("2", "cats", "cat", "cat dog cat", "q1"),
    Sample("3", "dogs", "cat", "cat", "q2"),
    Sample("4", "dogs", "dog cat", "dog dog", "q2"),
]


class Words:
    """Scores a text by the occurrences of the query without its last letter; counts the scored pairs."""

    name = "words"

    def __init__(self):
        self.scored = []

    def score(self, query, texts):
        self.scored += [(query, text) for text in texts]
        return np.array([float(text.split().count(query[:-1])) for text in texts])


class Fixed(Probe):
    name, title, strategy = "fixed", "Fixed", "transfer"

    def __init__(self, samples=SAMPLES, symmetric=False):
        self._samples, self.symmetric = samples, symmetric

    def samples(self, seed):
        yield from self._samples


def test_effects_by_hand():
    result = run_probe(Words(), Fixed(), Constant(0.5))
    assert result.sample_ids == ("1", "2", "3", "4")
    assert result.first.tolist() == [2, 1, 0, 1]
    assert result.second.tolist() == [1, 2, 0, 2]
    assert result.effects.tolist() == [1, -1, 0, -1]
    assert result.counts == (1, 1, 2)
    assert result.score == -0.25
    assert result.identical == 1
    assert result.query_scores == {"q1": 0.0, "q2": -0.5}


def test_a_symmetric_probe_counts_distinguished_pairs():
    result = run_probe(Words(), Fixed(symmetric=True), Constant(0.5))
    assert result.effects.tolist() == [1, 1, 0, 1]
    assert result.score == 0.75


@pytest.mark.parametrize("symmetric", [False, True])
def test_both_boundaries_are_neutral(symmetric):
    result = run_probe(Words(), Fixed(symmetric=symmetric), Constant(1.0))
    assert result.effects.tolist() == [0, 0, 0, 0]


def test_every_text_is_scored_once():
    words = Words()
    run_probe(words, Fixed(), Constant(0))
    assert len(words.scored) == len(set(words.scored)) == 6


def test_a_result_is_independent_of_order_and_other_samples():
    whole = run_probe(Words(), Fixed(), Constant(0.5))
    turned = run_probe(Words(), Fixed(SAMPLES[::-1]), Constant(0.5))
    assert turned.content == whole.content
    assert turned.effects.tolist() == whole.effects.tolist()
    some = run_probe(Words(), Fixed(), Constant(0.5), samples=[SAMPLES[3], SAMPLES[1]])
    assert dict(zip(some.sample_ids, some.effects.tolist(), strict=True)) == {"2": -1, "4": -1}


def test_different_samples_have_different_hashes():
    changed = Sample("1", "cats", "cat cat", "cat!", "q1")
    assert Samples.of([changed, *SAMPLES[1:]]).content != Samples.of(SAMPLES).content
    with pytest.raises(DuplicateIdError):
        Samples.of([SAMPLES[0], SAMPLES[0]])


def test_an_empty_probe_has_no_score():
    result = run_probe(Words(), Fixed([]), Constant(0.5))
    assert (len(result), result.score, result.counts) == (0, None, (0, 0, 0))
    found = estimate(result)
    assert (found.value, found.low, found.p, found.samples) == (None, None, None, 0)
    assert published_t(result) == (None, None)
    assert sweep(result, np.array([1.0])) is None


@pytest.mark.parametrize("wrong", [None, -1, math.nan, math.inf, "0.5", True])
def test_a_missing_or_invalid_threshold_is_refused(wrong):
    with pytest.raises(ParameterError, match="needs a threshold"):
        Constant(wrong)
    with pytest.raises(ParameterError, match="an effect rule is required"):
        run_probe(Words(), Fixed(), wrong)


class Odd(Words):
    def __init__(self, scores):
        super().__init__()
        self._given = scores

    def score(self, query, texts):
        return self._given(texts)


def test_the_error_for_a_nan_names_the_scorer():
    with pytest.raises(WeightError) as caught:
        run_probe(Odd(lambda texts: [1.0, math.nan, 1.0][: len(texts)]), Fixed(), Constant(0))
    assert dict(caught.value.facts)["scorer"] == "words"
    assert "cat" in dict(caught.value.facts)["text"]


@pytest.mark.parametrize(
    "scores", [lambda texts: [1.0], lambda texts: np.ones((len(texts), 2)), lambda texts: 1.0]
)
def test_a_wrong_number_of_scores_is_refused(scores):
    with pytest.raises(DataError, match="one score for each text"):
        run_probe(Odd(scores), Fixed(), Constant(0))


def test_infinite_scores_have_effects():
    result = run_probe(Odd(lambda texts: [-math.inf] * len(texts)), Fixed(), Constant(0.5))
    assert result.effects.tolist() == [0, 0, 0, 0]
    assert published_t(result) == (None, None)
    assert json.loads(list(result.to_json_lines())[1])["first"] == "-inf"


def test_thresholds_by_query():
    result = run_probe(Words(), Fixed(), ByQuery({"q1": 2.0, "q2": 0.5}))
    assert result.effects.tolist() == [0, 0, 0, -1]
    with pytest.raises(UnknownIdError, match="threshold"):
        run_probe(Words(), Fixed(), ByQuery({"q1": 2.0}))


def test_ranks_instead_of_a_threshold():
    lists = {"q1": np.array([1.5, 9.0]), "q2": np.array([5.0, 0.0])}
    assert run_probe(Words(), Fixed(), ByRank(lists)).effects.tolist() == [1, -1, 0, 0]
    with pytest.raises(UnknownIdError, match="reference ranking"):
        run_probe(Words(), Fixed(), ByRank({}))


def test_equal_scores_have_a_gap_of_0_without_a_sign():
    assert str(median_gap({"q": [1.0, 1.0, 1.0]})) == "0.0"


def test_gaps_by_hand():
    lists = {"q": [5.0, 1.0, 4.0, 4.0], "r": [2.0], "s": np.arange(20.0)}
    gaps = top_gaps(lists)
    assert gaps["q"].tolist() == [1.0, 0.0, 3.0]
    assert gaps["r"].tolist() == []
    assert gaps["s"].tolist() == [1.0] * 9, "of the best ten alone"
    assert pooled_gaps(lists).tolist() == [0, *[1.0] * 10, 3]
    assert median_gap(lists) == 1.0
    assert query_gaps(lists) == {"q": 1.0, "s": 1.0}
    with pytest.raises(DataError, match="no gap"):
        median_gap({"r": [2.0]})
    with pytest.raises(ParameterError, match="finite"):
        median_gap({"r": [2.0, math.nan]})


def test_random_choices_depend_on_seed_and_sample():
    assert random_for(0, "p", "1").random() == random_for(0, "p", "1").random()
    others = [(0, "p", "1"), (1, "p", "1"), (0, "q", "1"), (0, "p", "2"), (0, "p1")]
    assert len({random_for(*parts).random() for parts in others}) == 5


def test_a_clustered_test_by_hand():
    """Effects 1, 1 of one query and 0, 1, 0 of two others: a ratio over three clusters."""
    values, query_ids = np.array([1.0, 1.0, 0.0, 1.0, 0.0]), ["a", "a", "b", "c", "c"]
    mean = 3 / 5
    sums, sizes = np.array([2.0, 0.0, 1.0]), np.array([2.0, 1.0, 2.0])
    variance = sum((s - mean * n) ** 2 for s, n in zip(sums, sizes, strict=True)) / 25 * 3 / 2
    t, p = clustered_t(values, query_ids)
    assert t == pytest.approx(mean / math.sqrt(variance))
    assert 0 < p < 1
    assert clustered_t(np.ones(3), ["a", "a", "a"]) == (None, None)


def test_equal_queries_have_the_p_of_a_sign_test():
    """The variance is 0. All G signs are equal in 2 of 2^G equally likely cases."""
    assert clustered_t(np.ones(3), ["a", "b", "c"]) == (None, 0.25)
    assert clustered_t(-np.ones(12), [f"q{number % 6}" for number in range(12)]) == (None, 2 / 2**6)
    assert clustered_t(np.zeros(3), ["a", "b", "c"]) == (None, None), "nothing points anywhere"
    thirds = np.tile([1.0, 0.0, 0.0], 7)
    assert clustered_t(thirds, [f"q{number // 3}" for number in range(21)]) == (None, 2 / 2**7), (
        "but for rounding"
    )


def test_clusters_agree_with_statsmodels():
    statsmodels = pytest.importorskip("statsmodels.api")
    generator = np.random.default_rng(4)
    query_ids = [f"q{number}" for number in generator.integers(0, 30, size=400)]
    values = generator.integers(-1, 2, size=400).astype(float)
    number = np.unique(query_ids, return_inverse=True)[1]
    fitted = statsmodels.OLS(values, np.ones(400)).fit(
        cov_type="cluster", cov_kwds={"groups": number, "use_correction": False}, use_t=True
    )
    clusters = len(set(query_ids))
    t, _ = clustered_t(values, query_ids)
    assert t == pytest.approx(float(fitted.tvalues[0]) * math.sqrt((clusters - 1) / clusters))


def test_many_samples_of_few_queries_have_wide_intervals():
    few = [Sample(f"{number}", "cats", "cat cat", "cat", f"q{number % 3}") for number in range(600)]
    few += [Sample(f"n{number}", "cats", "cat", "cat cat", "q3") for number in range(200)]
    many = [Sample(one.sample_id, one.query, one.first, one.second, one.sample_id) for one in few]
    clustered, apart = (estimate(run_probe(Words(), Fixed(those), Constant(0.5))) for those in (few, many))
    assert clustered.value == apart.value == 0.5
    assert clustered.high - clustered.low > 5 * (apart.high - apart.low)
    assert clustered.p > 0.05 > apart.p


def test_scorers_are_compared_on_the_same_samples():
    one = run_probe(Words(), Fixed(), Constant(0.5))
    other = run_probe(Odd(lambda texts: [float(len(text)) for text in texts]), Fixed(), Constant(0.5))
    assert compare(one, other).value == pytest.approx(one.score - other.score)
    shorter = run_probe(Words(), Fixed(SAMPLES[:2]), Constant(0.5))
    with pytest.raises(ParameterError, match="different samples"):
        compare(one, shorter)


def test_the_published_test_equals_that_of_scipy():
    from scipy.stats import ttest_rel

    result = run_probe(Words(), Fixed(), Constant(0.5))
    expected = ttest_rel(result.first, result.second)
    assert published_t(result) == pytest.approx((expected.statistic, expected.pvalue))
    assert published_t(run_probe(Words(), Fixed(symmetric=True), Constant(0.5))) == (None, None)


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=20),
    st.lists(st.integers(0, 6), min_size=1, max_size=8),
    st.booleans(),
)
def test_a_sweep_has_the_score_at_each_threshold(scores, gaps, symmetric):
    samples = [Sample(f"{n}", f"q{n}", "one", "two") for n in range(len(scores))]

    class Given(Words):
        def score(self, query, texts):
            pair = scores[int(query[1:])]
            return np.array([float(pair[("one", "two").index(text)]) for text in texts])

    pool = np.array(sorted(gaps), dtype=float)
    found = sweep(run_probe(Given(), Fixed(samples, symmetric), Constant(0)), pool)
    for place in (0, 37, 50, 100):
        again = run_probe(Given(), Fixed(samples, symmetric), Constant(float(found.deltas[place])))
        assert found.scores[place] == pytest.approx(again.score)
    assert found.area == pytest.approx(found.scores.mean())


def test_results_as_json_lines():
    result = run_probe(Words(), Fixed(), Constant(0.5))
    first, *samples = map(json.loads, result.to_json_lines())
    assert first["score"] == -0.25
    assert first["effect_rule"] == {"kind": "constant", "delta": 0.5}
    assert first["content"].startswith("sha256:")
    assert [one["effect"] for one in samples] == [1, -1, 0, -1]


@pytest.mark.parametrize("wrong", [[1.0, math.nan], np.zeros((2, 2)), "12", [[1.0], [2.0, 3.0]], 3.0, None])
def test_reference_rankings_are_vectors_without_nan(wrong):
    with pytest.raises(ParameterError, match="vector of scores") as caught:
        ByRank({"r": [1.0, -math.inf], "q": wrong})
    assert caught.value.facts[0] == ("query", "q")


@pytest.mark.parametrize("rule", [ByQuery, ByRank])
def test_rules_by_query_require_mappings(rule):
    with pytest.raises(ParameterError, match="cannot have this value"):
        rule([1.0])


def test_invalid_probes_scorers_samples_and_rules_are_refused():
    for arguments, what in (
        ((None, Fixed(), Constant(0)), "scorer"),
        ((Words(), None, Constant(0)), "probe"),
        ((Words(), Fixed(), Constant), "an effect rule is required"),
        ((Words(), Fixed([1]), Constant(0)), "yields samples"),
        ((Words, Fixed(), Constant(0)), "scorer"),
    ):
        with pytest.raises(ParameterError, match=what):
            run_probe(*arguments)
    with pytest.raises(ParameterError, match="yields samples"):
        run_probe(Words(), Fixed(), Constant(0), samples=[None])
    for odd in ({"seed": "1"}, {"seed": 1.5}, {"samples": 5}):
        with pytest.raises(ParameterError, match=f"{next(iter(odd))} cannot have this value"):
            run_probe(Words(), Fixed(), Constant(0), **odd)


@pytest.mark.parametrize(
    "lists", [[1.0, 2.0], {"q": ["a", "b"]}, {"q": None}, {"q": [[1.0]]}, {"q": [1, 1e400]}]
)
def test_gaps_require_vectors_of_finite_scores(lists):
    with pytest.raises(ParameterError):
        median_gap(lists)
