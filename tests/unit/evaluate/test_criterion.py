"""When one run is called better than another."""

from __future__ import annotations

import json

import pytest
from tests.unit.evaluate.test_report import QREL, comparison, run_at

from termwise.errors import ParameterError, UnknownNameError
from termwise.evaluate import Criterion, compare


def test_a_run_is_better_or_worse_or_neither_is_shown():
    better, worse = comparison().of("RR@10")
    assert Criterion().verdict(better) == "better"
    assert Criterion().verdict(worse) == "worse"
    assert Criterion(level=1e-9).verdict(better) == "not shown"
    (same,) = compare([run_at("a", [1] * 12), run_at("b", [1] * 12)], QREL, ["RR"]).contrasts
    assert same.p_t is None
    assert Criterion(test="t", level=0.99).verdict(same) == "not shown"
    assert Criterion(level=0.99).verdict(same) == "not shown"


def test_test_and_correction_decide():
    runs = [run_at("a", [2, 2, 2, 1]), run_at("b", [1, 1, 1, 1]), run_at("c", [2, 1, 1, 2])]
    first = compare(runs, QREL[:4], ["RR"]).contrasts[0]
    assert (first.p_permutation, first.p_permutation_bonferroni) == (0.25, 0.5)
    assert first.p_t == pytest.approx(0.058, abs=1e-3)
    for options, verdict in (
        ({"test": "permutation", "correction": "none", "level": 0.3}, "better"),
        ({"test": "permutation", "correction": "bonferroni", "level": 0.3}, "not shown"),
        ({"test": "permutation", "correction": "none", "level": 0.1}, "not shown"),
        ({"test": "t", "correction": "none", "level": 0.1}, "better"),
    ):
        assert Criterion(**options).verdict(first) == verdict


def test_json_lines_say_what_decides():
    criterion = Criterion(test="t", correction="none", level=0.1)
    lines = [json.loads(line) for line in comparison().to_json_lines(criterion=criterion)]
    contrasts = [line for line in lines if line["kind"] == "contrast"]
    assert {(line["test"], line["correction"], line["level"]) for line in contrasts} == {("t", "none", 0.1)}
    assert [line["verdict"] for line in contrasts] == ["better", "worse", "better", "not shown"]


@pytest.mark.parametrize("level", [0, 1, -0.1, float("nan"), 10**400, "0.05", None], ids=repr)
def test_a_level_is_between_0_and_1(level):
    with pytest.raises(ParameterError, match="a number between 0 and 1"):
        Criterion(level=level)


def test_other_tests_and_corrections_are_refused_with_those_that_exist():
    with pytest.raises(UnknownNameError, match="known  permutation, t"):
        Criterion(test="wilcoxon")
    with pytest.raises(UnknownNameError, match="did you mean bonferroni"):
        Criterion(correction="bonferoni")
