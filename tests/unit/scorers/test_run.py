"""Scorers of a run."""

from __future__ import annotations

import pytest

from termwise.errors import DuplicateIdError, UnknownIdError
from termwise.records import Ranking, Run
from termwise.scorers import RunScorer


def test_a_run_scores_its_documents_by_rank():
    run = Run([Ranking(["a", "b", "z"], [9.0, 9.0, 1.0], "q")], "mine")
    scorer = RunScorer(run, {"q": "cats"}, {"a": "A", "b": "B", "c": "C"})
    assert scorer.score("cats", ["B", "A"]).tolist() == [-2, -1]
    assert scorer.knows("cats", "A")
    assert not scorer.knows("cats", "C")
    with pytest.raises(UnknownIdError, match="does not rank"):
        scorer.score("cats", ["C"])
    twice = Run([Ranking(["a"], [1.0], "q"), Ranking(["a"], [1.0], "r")])
    with pytest.raises(DuplicateIdError):
        RunScorer(twice, {"q": "cats", "r": "cats"}, {"a": "A"})
