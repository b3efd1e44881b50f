"""Weights learned on judged queries."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.fusion.judged_runs import run_of, runs_and_qrels

from termwise import Qrel, Ranking, Run
from termwise.errors import DataError, ParameterError, UnknownNameError, WeightError
from termwise.evaluate import evaluate
from termwise.fusion import Starts, cross_validated_run, fuse, interpolate, learn, objective_of
from termwise.fusion.coordinate_ascent import ascent
from termwise.fusion.line_search import best_of_grid, best_share
from termwise.fusion.objective import MeasuredObjective, RankedObjective

MEASURES = (
    *("nDCG@3", "nDCG", "AP", "AP@2", "AP(rel=2)", "RR", "RR@2", "RR(rel=2)@3", "P@3", "P(rel=2)@1"),
    *("R@3", "R(rel=2)@2", "Success@2", "nDCG(dcg='log2')@10"),
)
RULES = st.sampled_from(["drop", "minimum"])
SCALINGS = st.sampled_from(["z", "minmax", "global", "raw"])
GRID = [number / 10 for number in range(11)]


def worth(runs, qrels, measure, weights, **options):
    """Fuse and evaluate: what a value has to agree with."""
    return evaluate(fuse(runs, weights, **options), qrels, [measure]).means[measure]


def separate(seed, queries=20, documents=30, runs=2):
    """Draw runs in which no two scores are equal, with a few relevant documents each."""
    source = np.random.default_rng(seed)
    tables = [{} for _ in range(runs)]
    qrels = []
    for query in range(queries):
        relevant = source.choice(documents, 3, replace=False)
        qrels += [Qrel(f"q{query}", f"d{d}", int(1 + d % 3)) for d in relevant]
        for number, table in enumerate(tables):
            scores = source.normal(size=documents)
            scores[relevant] += 0.6 + 0.3 * number
            table[f"q{query}"] = {f"d{d}": float(s) for d, s in enumerate(scores)}
    return [run_of(f"r{number}", table) for number, table in enumerate(tables)], qrels


# --- the objective ------------------------------------------------------------------------------------------------


@given(
    runs_and_qrels(3),
    st.sampled_from(MEASURES),
    st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, -0.3, 0.25]), min_size=3, max_size=3),
    SCALINGS,
    RULES,
    st.sampled_from(["first", "union"]),
)
def test_the_kernels_agree_with_evaluate(drawn, measure, weights, scaling, missing, documents):
    runs, qrels = drawn
    assume(any(weights))
    options = {"scaling": scaling, "missing": missing, "documents": documents}
    objective = objective_of(runs, qrels, measure, **options)
    assert isinstance(objective, RankedObjective)
    expected = evaluate(fuse(runs, weights, **options), qrels, [measure])
    assert objective.value(weights) == pytest.approx(*expected.means.values(), abs=1e-9)
    assert objective.query_ids == expected.query_ids


def test_measures_without_kernels_are_computed_by_evaluate():
    runs, qrels = separate(1)
    for measure in ("Bpref", "Judged@5", "nDCG(judged_only=True)@5", "Rprec"):
        objective = objective_of(runs, qrels, measure, missing="drop")
        assert isinstance(objective, MeasuredObjective)
        assert objective.value([0.3, 0.7]) == worth(runs, qrels, measure, [0.3, 0.7], missing="drop")


def test_the_curve_of_a_query():
    runs, qrels = separate(2, queries=5)
    objective = objective_of(runs, qrels, "AP", missing="drop")
    curve = objective.curve([1, 0], [0, 1])
    for alpha in np.random.default_rng(0).random(20).tolist():
        per_query = evaluate(interpolate(*runs, alpha=alpha, missing="drop"), qrels, ["AP"]).values["AP"]
        for query, (first, last) in enumerate(zip(curve.indptr, curve.indptr[1:], strict=False)):
            step = np.searchsorted(curve.alphas[first:last], alpha) - 1
            assert curve.values[first:last][step] == pytest.approx(per_query[query], abs=1e-9)
        assert curve.at(alpha) == pytest.approx(per_query, abs=1e-9)
        ends, means = curve.mean()
        assert means[np.searchsorted(ends, alpha) - 1] == pytest.approx(per_query.mean(), abs=1e-9)
    assert (ends[0], ends[-1], len(ends)) == (0.0, 1.0, len(means) + 1)


def test_the_curve_of_some_queries():
    runs, qrels = separate(3, queries=6)
    curve = objective_of(runs, qrels, "RR", missing="drop").curve([1, 0], [0, 1])
    kept = np.array([True, False, True, True, False, False])
    some = curve.only(kept)
    wanted = {query_id for query_id, one in zip(curve.query_ids, kept, strict=True) if one}
    alone = [qrel for qrel in qrels if qrel.query_id in wanted]
    expected = objective_of(runs, alone, "RR", missing="drop").curve([1, 0], [0, 1])
    assert some.query_ids == expected.query_ids
    assert some.best() == expected.best()
    assert some.at(0.3).tolist() == expected.at(0.3).tolist()


# --- sweep and grid -----------------------------------------------------------------------------------------------


@given(runs_and_qrels(), st.sampled_from(MEASURES), SCALINGS, RULES)
def test_the_sweep_is_never_below_the_grid_and_reports_its_value(drawn, measure, scaling, missing):
    runs, qrels = drawn
    options = {"scaling": scaling, "missing": missing}
    choice = best_share(objective_of(runs, qrels, measure, **options), "sweep")
    name = objective_of(runs, qrels, measure, **options).measure
    at = {
        alpha: evaluate(interpolate(*runs, alpha=alpha, **options), qrels, [measure]).means[name]
        for alpha in (*GRID, choice.alpha)
    }
    assert choice.value == pytest.approx(at[choice.alpha], abs=1e-9)
    assert choice.value >= max(at.values()) - 1e-9
    assert choice.low <= choice.alpha <= choice.high


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR@5", "R@7"])
@pytest.mark.parametrize("seed", range(3))
def test_no_alpha_is_better_than_that_of_the_sweep(measure, seed):
    runs, qrels = separate(seed)
    objective = objective_of(runs, qrels, measure, missing="drop")
    choice = best_share(objective, "sweep")
    tried = [objective.value((alpha, 1 - alpha)) for alpha in np.linspace(0, 1, 2001).tolist()]
    assert choice.value >= max(tried) - 1e-12
    inside = np.linspace(choice.low, choice.high, 9)[1:-1].tolist()
    assert {round(objective.value((alpha, 1 - alpha)), 12) for alpha in inside} == {round(choice.value, 12)}
    assert choice.alpha == (choice.low + choice.high) / 2


def test_ties_of_the_sweep_go_to_the_widest_interval():
    one = run_of("one", {"q": {"r": 3.0, "x": 1.0, "y": 2.0}})
    other = run_of("other", {"q": {"r": 1.0, "x": 0.0, "y": 0.0}})
    objective = objective_of([one, other], [Qrel("q", "r", 1)], "RR", scaling="raw", missing="drop")
    assert best_share(objective, "sweep").alpha == 0.5, "always first: the middle of everything"
    one = run_of("one", {"p": {"x": 1.0, "r": 0.0}, "q": {"r": 1.0, "x": 0.0}})
    other = run_of("other", {"p": {"r": 1.0, "x": 0.0}, "q": {"x": 3.0, "r": 0.0}})
    qrels = [Qrel("p", "r", 1), Qrel("q", "r", 1)]
    # p is right below 1/2, q above 3/4: below 1/2 and above 3/4 one of the two, between them none.
    choice = best_share(objective_of([one, other], qrels, "P@1", scaling="raw", missing="drop"), "sweep")
    assert (choice.low, choice.alpha, choice.high, choice.value, choice.ties) == (0.0, 0.25, 0.5, 0.5, 1)


def test_ties_of_the_grid_go_to_the_middle_of_the_longest_stretch():
    one = run_of("one", {"q": {"r": 1.0, "x": 0.0}})
    other = run_of("other", {"q": {"x": 1.0, "r": 0.0}})
    objective = objective_of([one, other], [Qrel("q", "r", 1)], "P@1", scaling="raw", missing="drop")
    # Right from 0.5 on, where both are equal and the first run decides: 0.5, 0.6, ..., 1.
    choice = best_share(objective, "grid")
    assert (choice.alpha, choice.value, choice.ties) == (0.7, 1.0, 5)
    assert best_of_grid(objective, (1.0, 0.0), (0.0, 1.0), [0.0, 0.9, 1.0]).alpha == 0.9


def test_an_end_that_is_better_than_all_between_is_found():
    # In p the first run is right by the order of its ties alone, and whatever the second adds, undoes it.
    one = run_of("one", {"p": {"r": 1.0, "x": 1.0}, "q": {"r": 2.0, "x": 0.0}})
    assert one["p"].doc_ids == ("r", "x")
    other = run_of("other", {"p": {"x": 1.0, "r": 0.0}, "q": {"x": 2.0, "r": 0.0}})
    objective = objective_of(
        [one, other], [Qrel("p", "r", 1), Qrel("q", "r", 1)], "P@1", scaling="raw", missing="drop"
    )
    choice = best_share(objective, "sweep")
    assert (choice.alpha, choice.low, choice.high, choice.value) == (1.0, 1.0, 1.0, 1.0)


def test_inputs_that_sweep_and_grid_refuse():
    runs, qrels = separate(0, runs=3)
    for method in ("sweep", "grid"):
        with pytest.raises(ParameterError, match="two runs") as caught:
            learn(runs, qrels, method=method, missing="drop")
        assert "ascent" in caught.value.fixes_worded()[0]
    with pytest.raises(ParameterError, match="Bpref"):
        learn(runs[:2], qrels, method="sweep", measure="Bpref", missing="drop")
    big = run_of("big", {"q0": {"d0": 1e200, "d1": 0.0}})
    with pytest.raises(WeightError, match="too large for an exact search"):
        learn([big, big], qrels, method="sweep", scaling="raw", missing="drop")


# --- ascent -------------------------------------------------------------------------------------------------------


@given(runs_and_qrels(), st.sampled_from(["nDCG@3", "AP", "RR"]), RULES)
def test_with_two_runs_the_ascent_reaches_the_sweep(drawn, measure, missing):
    objective = objective_of(*drawn, measure, missing=missing)
    assert ascent(objective, Starts(1))[1] >= best_share(objective, "sweep").value - 1e-9


@pytest.mark.parametrize("measure", ["nDCG@10", "AP"])
def test_the_ascent_of_two_separate_runs_is_the_sweep(measure):
    objective = objective_of(*separate(5), measure, missing="drop")
    (weights, value), best = ascent(objective), best_share(objective, "sweep")
    assert value == pytest.approx(best.value, abs=1e-12)
    assert best.low < weights[0] < best.high


@pytest.mark.parametrize("measure", ["nDCG@10", "Bpref"])
def test_the_ascent_is_never_below_a_single_run_and_reports_its_value(measure):
    runs, qrels = separate(3, queries=8, runs=3)
    fusion = learn(runs, qrels, method="ascent", measure=measure, missing="drop", starts=Starts(2))
    assert fusion.learned.value >= max(fusion.learned.alone)
    assert fusion.learned.value == pytest.approx(
        worth(runs, qrels, measure, fusion.weights, missing="drop"), abs=1e-12
    )
    assert math.fsum(map(abs, fusion.weights)) == pytest.approx(1.0)


def test_starts_differ(monkeypatch):
    starts = []

    def climb(objective, start, order, tell):
        starts.append((start, tuple(order)))
        return start, 0.0

    monkeypatch.setattr("termwise.fusion.coordinate_ascent._climb", climb)
    ascent(objective_of(*separate(4, queries=2, runs=4), "nDCG@5", missing="drop"), Starts(4, seed=7))
    assert starts[0] == ((0.25,) * 4, (0, 1, 2, 3))
    assert len({start for start, _ in starts}) == 4
    assert len({order for _, order in starts}) > 1
    assert all(sum(start) == pytest.approx(1) and min(start) > 0 for start, _ in starts)


@pytest.mark.parametrize(
    ("method", "measure", "stages"),
    [
        ("grid", "Bpref", [("gather", 4), ("grid", 11)]),
        ("sweep", "nDCG@5", [("gather", 4), ("sweep", 3), ("grid", 11)]),
        ("ascent", "nDCG@5", [("gather", 4), ("ascent", 2)]),
    ],
)
def test_progress_of_each_method(method, measure, stages):
    runs, qrels = separate(2, queries=3)
    told = []
    unheld = Qrel("in no run", "d1", 1)
    learn(
        runs,
        [*qrels, unheld],
        method=method,
        measure=measure,
        missing="drop",
        starts=Starts(2),
        progress=lambda stage, *counts: told.append((stage.partition(":")[0], *counts)),
    )
    assert list(dict.fromkeys((stage, total) for stage, _, total in told)) == stages
    for name, total in stages:
        done = [done for stage, done, _ in told if stage == name]
        assert done == sorted(done)
        assert set(done) >= {0, total}


def test_progress_of_the_ascent_names_round_and_value():
    objective = objective_of(*separate(3, queries=8, runs=3), "nDCG@5", missing="drop")
    told = []
    _, arrived = ascent(objective, Starts(1), progress=lambda *step: told.append(step))
    assert told[0] == (f"ascent: round 1, nDCG@5 {objective.value([1 / 3] * 3):.4f}", 0, 1)
    assert told[-2][0].endswith(f", nDCG@5 {arrived:.4f}")
    assert told[-1] == ("ascent", 1, 1)


def test_equal_seeds_give_equal_weights():
    objective = objective_of(*separate(4, runs=4), "nDCG@5", missing="drop")
    found = ascent(objective, Starts(seed=3))
    assert found == ascent(objective, Starts(seed=3))
    assert found[1] >= ascent(objective, Starts(1))[1], (
        "the first start is the same for every number of starts"
    )


def test_small_weights_change_their_sign():
    # The second run is worse than nothing for the relevant documents: it has to count against, however little.
    source = np.random.default_rng(0)
    good, bad, qrels = {}, {}, []
    for query in range(30):
        noise, signal = source.normal(size=20), np.zeros(20)
        signal[0] = 1.0
        good[f"q{query}"] = {f"d{d}": float(s) for d, s in enumerate(signal + noise)}
        bad[f"q{query}"] = {f"d{d}": float(s) for d, s in enumerate(noise + 0.1 * source.normal(size=20))}
        qrels.append(Qrel(f"q{query}", "d0", 1))
    runs = [run_of("good", good), run_of("bad", bad)]
    fusion = learn(runs, qrels, method="ascent", measure="RR", missing="drop", scaling="raw")
    assert fusion.weights[1] < 0 < fusion.weights[0]
    assert fusion.learned.value > max(fusion.learned.alone) + 0.3


@pytest.mark.parametrize(
    "options", [{"number": 0}, {"number": 10**20}, {"number": 2.0}, {"seed": -1}, {"number": True}]
)
def test_starts_are_counted(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        Starts(**options)


# --- learn --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["grid", "sweep", "ascent"])
def test_learned_weights_are_applied_unchanged(method):
    runs, qrels = separate(6)
    fusion = learn(runs, qrels, method=method, measure="nDCG@5", missing="drop", scaling="minmax")
    assert fusion.runs == ("r0", "r1")
    assert fusion.learned.method == method
    assert fusion.learned.measure == "nDCG@5"
    assert fusion.learned.queries == 20
    applied = evaluate(fusion.apply(runs), qrels, ["nDCG@5"]).means["nDCG@5"]
    assert applied == pytest.approx(fusion.learned.value, abs=1e-12)
    for run, alone in zip(runs, fusion.learned.alone, strict=True):
        assert evaluate(run, qrels, ["nDCG@5"]).means["nDCG@5"] == pytest.approx(alone, abs=1e-12)
    assert (fusion.learned.seed is not None) == (method == "ascent")
    assert (fusion.learned.ties is not None) == (method != "ascent")


def test_judged_queries_that_no_run_holds_count_zero():
    runs, qrels = separate(6)
    more = [*qrels, Qrel("elsewhere", "d1", 1)]
    few, many = (learn(runs, q, method="sweep", missing="drop").learned for q in (qrels, more))
    assert many.value == pytest.approx(few.value * 20 / 21)
    assert many.queries == 21
    assert many.queries_sha256 != few.queries_sha256


def test_queries_that_are_not_judged_do_not_count():
    runs, qrels = separate(6)
    some = [qrel for qrel in qrels if qrel.query_id < "q15"]
    kept = {qrel.query_id for qrel in some}
    fewer = [Run([ranking for ranking in run if ranking.query_id in kept], run.name) for run in runs]
    assert learn(runs, some, method="sweep", missing="drop") == learn(
        fewer, some, method="sweep", missing="drop"
    )


def test_wrong_arguments():
    runs, qrels = separate(0, queries=3)
    with pytest.raises(UnknownNameError, match="method"):
        learn(runs, qrels, method="guess", missing="drop")
    with pytest.raises(UnknownNameError, match="measure"):
        learn(runs, qrels, method="grid", measure="nDGC@10", missing="drop")
    with pytest.raises(ParameterError, match="grid needs two runs"):
        learn(runs[:1], qrels, method="grid", missing="drop")
    assert learn(runs[:1], qrels, method="ascent", missing="drop").weights == (1.0,)
    with pytest.raises(DataError, match="no query in common"):
        learn(runs, [Qrel("elsewhere", "d", 1)], method="grid", missing="drop")
    with pytest.raises(TypeError, match="missing"):
        learn(runs, qrels, method="grid")
    endless = Run([Ranking(["a", "b"], [math.inf, 0.0], "q0")], "endless")
    with pytest.raises(WeightError, match="infinite"):
        learn([runs[0], endless], qrels, method="grid", missing="drop")
    with pytest.raises(WeightError, match="not a number"):
        Ranking(["a"], [math.nan], "q0")


@pytest.mark.parametrize("measure", ["nDCG@10", "P(rel=2)@5"])
@pytest.mark.parametrize("judged", [Qrel("q", "a", 0), Qrel("q", "z", 3), Qrel("other", "a", 3)])
def test_runs_without_a_relevant_document_are_refused(measure, judged):
    runs = [run_of("one", {"q": {"a": 2.0, "b": 1.0}}), run_of("other", {"q": {"b": 2.0, "a": 1.0}})]
    for method in ("grid", "ascent"):
        with pytest.raises(DataError, match="no relevant document") as caught:
            learn(runs, [Qrel("q", "b", 0), judged], method=method, measure=measure, missing="drop")
        assert dict(caught.value.facts) == {"measure": measure, "queries": "'q'", "documents": 2}


def test_the_deviations_of_global_are_stored():
    one = run_of("one", {"q1": {"a": 3.0, "b": 1.0}, "q2": {"a": 5.0, "b": 3.0}})
    other = run_of("other", {"q1": {"a": 1.0, "b": 2.0}, "q2": {"a": 0.0, "b": 9.0}})
    same = run_of("same", {"q1": {"a": 1.0, "b": 1.0}})
    qrels = [Qrel("q1", "a", 1)]
    options = {"method": "ascent", "measure": "RR", "missing": "drop"}
    learned = learn([one, other, same], qrels, scaling=["global", "raw", "global"], **options).learned
    assert learned.deviations == (math.sqrt(2), None, 0.0)


# --- cross-validation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sweep", "ascent"])
def test_every_query_has_the_weights_of_the_other_queries(method):
    runs, qrels = separate(5, queries=4)
    options = {"method": method, "measure": "nDCG@5", "missing": "drop"}
    fused = cross_validated_run(runs, qrels, partial(learn, **options), folds=4)  # each query is a fold
    assert (fused.name, sorted(fused.rankings)) == ("cross-validated", ["q0", "q1", "q2", "q3"])
    for query in fused.rankings:
        others = [Run([ranking for ranking in run if ranking.query_id != query], run.name) for run in runs]
        fusion = learn(others, [qrel for qrel in qrels if qrel.query_id != query], **options)
        assert fused[query] == fusion.apply(runs)[query]
    unjudged = [Run([*run, Ranking(["x"], [1.0], "unjudged")], run.name) for run in runs]
    again = cross_validated_run(
        unjudged, [*qrels[::-1], Qrel("lost", "x", 1)], partial(learn, **options), folds=4
    )
    assert dict(again.rankings) == dict(fused.rankings)


def test_folds_that_are_refused():
    runs, qrels = separate(6, queries=3)
    options = {"method": "sweep", "missing": "drop"}
    with pytest.raises(ParameterError, match="fewer judged queries with documents than folds"):
        cross_validated_run(runs, qrels, partial(learn, **options), folds=4)
    for folds in (0, 1, 2.5):
        with pytest.raises(ParameterError, match="folds"):
            cross_validated_run(runs, qrels, partial(learn, **options), folds=folds)
