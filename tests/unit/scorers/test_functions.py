"""Scorers that call Python functions: import and failures."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from termwise import Document
from termwise.errors import DataError, ParameterError, UsageError
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers import Background, FunctionScorer
from termwise.scorers.score_pairs import as_scores, score_pairs_with

CONTEXT = ScorerContext(Background(lambda: [Document("a", "x")]))


def test_a_function_of_a_module(monkeypatch):
    module = ModuleType("mine_of_this_test")
    module.count = lambda queries, texts: [len(text) for text in texts]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    scorer = open_scorer("long=python:mine_of_this_test:count", CONTEXT)
    assert scorer.name == "long"
    assert scorer.score("q", ["ab", "abc"]).tolist() == [2, 3]
    assert scorer.fingerprint is None
    for wrong in (
        "python:mine_of_this_test:none",
        "python:nowhere:count",
        "python:mine_of_this_test",
        "python::",
    ):
        with pytest.raises(UsageError, match="no such function"):
            open_scorer(wrong, CONTEXT)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("import sys\nsys.exit(0)", DataError, "line 2"),
        ("raise SystemExit", DataError, "line 1"),
        ("1 / 0", DataError, "ZeroDivisionError"),
        ("import no_such_module_at_all", DataError, "no_such_module_at_all"),
        ("from math import no_such_name", DataError, "line 1"),
        ("a b", DataError, "line 1"),
        ("x = '\0'", DataError, "null byte"),
        ("def __getattr__(name):\n    raise OSError('no')", DataError, "OSError: no"),
        ("def __getattr__(name):\n    raise AttributeError(name)", UsageError, "no such function"),
        ("score = 5", ParameterError, "a function of queries and texts"),
    ],
)
def test_modules_that_cannot_be_imported(source, error, message, tmp_path, monkeypatch):
    (tmp_path / "fails_here.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(error) as caught:
        open_scorer("python:fails_here:score", CONTEXT)
    assert message in str(caught.value)
    sys.modules.pop("fails_here", None)


@pytest.mark.parametrize(
    "name", ["python:.r:f", "python:a\0b:f", "python:a..b:f", "python:math:a.b", "python: :f"]
)
def test_invalid_function_names_are_refused(name):
    with pytest.raises(UsageError, match="no such function"):
        open_scorer(name, CONTEXT)


class Mute(Exception):
    """An exception without a text."""

    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.parametrize("raised", [SystemExit, SystemExit(0), Mute(), ValueError("x" * 9999)])
def test_functions_that_exit_or_fail(raised):
    def leaves(queries, texts):
        raise raised

    with pytest.raises(DataError, match="failed") as caught:
        FunctionScorer(leaves, name="mine").score("a", ["b"])
    facts = dict(caught.value.facts)
    assert "in leaves" in facts["where"]
    assert len(facts["Python error"]) < 300


@pytest.mark.parametrize(
    "given",
    [
        np.ma.masked_array([1.0, 2.0], mask=[False, True]),
        np.array([1, np.finfo(np.longdouble).max], dtype=np.longdouble),
        [1, 10**400],
        ["1", "2"],
        None,
        [1j, 2],
        Mute(),
        [Mute(), Mute()],
        np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
        [1.0],
        [[1.0, 2.0]],
        5.0,
    ],
)
def test_results_that_are_not_scores_are_refused(given):
    with pytest.raises(DataError) as caught:
        FunctionScorer(lambda queries, texts: given, name="mine").score("a", ["b", "c"])
    assert ("scorer", "mine") in caught.value.facts


def test_scores_of_any_scorer_are_checked():
    class Odd:
        name = "odd"

        def score(self, query, texts):
            return [1.0]

    assert score_pairs_with(Odd(), ["a", "b"], ["x", "y"]).tolist() == [1.0, 1.0]
    with pytest.raises(DataError, match="one score for each text"):
        score_pairs_with(Odd(), ["a", "a"], ["x", "y"])
    assert as_scores("odd", (1, np.float32(2)), 2).tolist() == [1.0, 2.0]


def test_a_fingerprint_is_a_text():
    with pytest.raises(ParameterError, match="fingerprint"):
        FunctionScorer(len, name="mine", fingerprint=1)


@pytest.mark.parametrize("function", [list, lambda queries: [], lambda queries, texts, more: []])
def test_a_function_takes_queries_and_texts(function):
    with pytest.raises(ParameterError, match="function of queries and texts") as caught:
        FunctionScorer(function, name="mine")
    assert ("scorer", "mine") in caught.value.facts
    assert "def NAME(queries, texts)" in caught.value.fixes_worded()[0]


def test_a_function_of_variable_arguments_is_accepted():
    assert FunctionScorer(lambda *both: [float(len(both))], name="any").score("a", ["b"]).tolist() == [2.0]
