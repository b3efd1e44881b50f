"""When one run is called better than another."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.evaluate.compared_runs import compare_runs
from tests.unit.evaluate.test_tables import QREL, comparison, run_at

from termwise.errors import ParameterError, UnknownNameError
from termwise.evaluate import Criterion, comparison_html, comparison_text, methods
from termwise.evaluate.tables import power_note
from termwise.records import Qrel


def test_verdicts_are_better_worse_or_not_shown():
    better, worse = comparison().of("RR@10")
    assert Criterion().verdict(better) == "better"
    assert Criterion().verdict(worse) == "worse"
    assert Criterion(level=1e-9).verdict(better) == "not significant"
    (same,) = compare_runs([run_at("a", [1] * 12), run_at("b", [1] * 12)], QREL, ["RR"]).contrasts
    assert same.p_t is None
    assert Criterion(test="t", level=0.99).verdict(same) == "not significant"
    assert Criterion(level=0.99).verdict(same) == "not significant"


def test_the_verdict_depends_on_test_and_correction():
    runs = [run_at("a", [2, 2, 2, 1]), run_at("b", [1, 1, 1, 1]), run_at("c", [2, 1, 1, 2])]
    first = compare_runs(runs, QREL[:4], ["RR"]).contrasts[0]
    assert (first.p_permutation, first.p_permutation_bonferroni) == (0.25, 0.5)
    assert first.p_t == pytest.approx(0.058, abs=1e-3)
    for options, verdict in (
        ({"test": "permutation", "correction": "none", "level": 0.3}, "better"),
        ({"test": "permutation", "correction": "bonferroni", "level": 0.3}, "not significant"),
        ({"test": "permutation", "correction": "none", "level": 0.1}, "not significant"),
        ({"test": "t", "correction": "none", "level": 0.1}, "better"),
    ):
        assert Criterion(**options).verdict(first) == verdict


def test_json_lines_name_test_correction_and_level():
    criterion = Criterion(test="t", correction="none", level=0.1)
    lines = [json.loads(line) for line in comparison().to_json_lines(criterion=criterion)]
    contrasts = [line for line in lines if line["kind"] == "contrast"]
    assert {(line["test"], line["correction"], line["level"]) for line in contrasts} == {("t", "none", 0.1)}
    assert [line["verdict"] for line in contrasts] == ["better", "worse", "better", "not significant"]


@pytest.mark.parametrize("level", [0, 1, -0.1, float("nan"), 10**400, "0.05", None], ids=repr)
def test_a_level_is_between_0_and_1(level):
    with pytest.raises(ParameterError, match=r"a number between 0 and 1\n  fix       use `level=0.05`"):
        Criterion(level=level)


def test_too_few_resamples_for_any_difference_are_reported():
    few = comparison(resamples=100)  # two comparisons of a measure: 2 · 2 / 101
    assert few.of("RR@10")[0].p_permutation_holm >= 2 * 2 / 101
    strict = Criterion(level=0.01)
    text = comparison_text(few, criterion=strict)
    assert text.endswith(
        "No difference can be significant: with 100 resamples, the smallest possible corrected p of the permutation "
        "test is 0.04. p < 0.01 needs at least 400."
    )
    assert methods(few, criterion=strict)[-1] in comparison_html(few, criterion=strict).replace("&lt;", "<")
    for criterion in (Criterion(), Criterion(test="t", level=0.01), Criterion(correction="none", level=0.02)):
        assert "No difference can be significant" not in comparison_text(few, criterion=criterion)
    many = [Qrel(f"q{number}", "yes", 1) for number in range(40)]
    result = compare_runs([run_at("a", [1] * 40), run_at("b", [2] * 40)], many, ["RR"])
    assert methods(result, criterion=Criterion(level=1e-8))[-1].endswith("needs another test or level.")


@pytest.mark.parametrize(
    ("count", "runs", "criterion", "least", "needed"),
    [
        (5, 2, Criterion(), "p of the permutation test is 0.062", 6),
        (6, 3, Criterion(), "corrected p of the permutation test is 0.062", 7),
        (6, 3, Criterion(correction="none"), None, None),
        (6, 2, Criterion(), None, None),
        (2, 2, Criterion(level=0.5), "p of the permutation test is 0.5", 3),
        (2, 2, Criterion(test="t"), None, None),
        (3, 2, Criterion(level=1e-9), "p of the permutation test is 0.25", 31),
    ],
)
def test_too_few_queries_for_any_difference_are_reported(count, runs, criterion, least, needed):
    found = [run_at(name, [rank] * count) for rank, name in enumerate("abc"[:runs], 1)]
    result = compare_runs(found, QREL[:count], ["RR"])
    best = min(contrast.p_permutation_holm for contrast in result.contrasts)
    note = power_note(result, criterion)
    if least is None:
        assert note is None
    else:
        assert note.startswith(
            f"No difference can be significant: with {count} queries, the smallest possible "
        )
        assert note.endswith(f"{least}. p < {criterion.level:g} needs at least {needed} queries.")
        assert f"{least}.".endswith(f"{best:.2g}."), "the largest possible difference has this p"


def test_a_single_query_cannot_be_tested():
    result = compare_runs([run_at("a", [1]), run_at("b", [2])], QREL[:1], ["RR"])
    for test in ("t", "permutation"):
        assert power_note(result, Criterion(test=test)).endswith("a test needs at least 2 queries.")


@pytest.mark.parametrize("level", [0.05, 0.01, 0.001, 0.3])
@pytest.mark.parametrize("correction", ["none", "holm"])
def test_the_stated_number_of_resamples_is_the_smallest_sufficient_one(level, correction):
    criterion, few = Criterion(correction=correction, level=level), comparison()
    needed = int(2 * (1 if correction == "none" else few.family) / level)
    assert power_note(replace(few, resamples=needed), criterion) is None
    assert power_note(replace(few, resamples=needed - 1), criterion).endswith(f"at least {needed}.")


def test_other_tests_and_corrections_are_refused_with_those_that_exist():
    with pytest.raises(UnknownNameError, match="known  permutation, t"):
        Criterion(test="wilcoxon")
    with pytest.raises(UnknownNameError, match="did you mean bonferroni"):
        Criterion(correction="bonferoni")
