"""Scorers of runs and mixtures, and specifications of scorers."""

from __future__ import annotations

import numpy as np
import pytest

from termwise import Document
from termwise.errors import DataError, DuplicateIdError, ParameterError, UnknownIdError, UsageError
from termwise.rankers import ScorerContext, open_scorer
from termwise.rankers.specification import parse_specification
from termwise.records import Ranking, Run
from termwise.scorers import Background, FunctionScorer, MixedScorer, RunScorer, Scale

AROUND = ScorerContext(Background(lambda: [Document("a", "x")]))


def shared_words(queries, texts):
    return [len(set(query.split()) & set(text.split())) for query, text in zip(queries, texts, strict=True)]


def test_fingerprints_of_different_targets_differ(tmp_path, monkeypatch):
    """Two functions with equal versions do not share scores."""
    (tmp_path / "two_of_them.py").write_text("def one(q, t):\n    return [1.0] * len(t)\n\n\ntwo = one\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    around = ScorerContext(Background(list))
    names = [
        "python:two_of_them:one",
        "python:two_of_them:two",
        "http://localhost:1/a",
        "http://localhost:1/b",
    ]
    prints = [open_scorer(f"{name},fingerprint=1", around).fingerprint for name in names]
    assert len(set(prints)) == 4
    assert open_scorer("python:two_of_them:one", around).fingerprint is None


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


def test_a_mixture_of_two_scorers():
    one = FunctionScorer(shared_words, name="one", fingerprint="1")
    other = FunctionScorer(
        lambda queries, texts: [len(text) for text in texts], name="other", fingerprint="2"
    )
    scales = (Scale(1.0, 2.0), Scale(10.0, 5.0))
    mixed = MixedScorer(one, other, alpha=0.25, scales=scales)
    found = mixed.score("a b", ["a b", "a"])
    # .25 (2 - 1) / 2 + .75 (3 - 10) / 5, .25 (1 - 1) / 2 + .75 (1 - 10) / 5
    assert found == pytest.approx([0.125 - 1.05, -1.35])
    assert mixed.name == "one+other"
    assert MixedScorer(one, other, alpha=1.0, scales=scales).score("a", ["a"]).tolist() == [0.0]
    assert mixed.fingerprint != MixedScorer(one, other, alpha=0.5, scales=scales).fingerprint
    unknown = FunctionScorer(shared_words, name="unknown")
    assert MixedScorer(one, unknown, alpha=0.5, scales=scales).fingerprint is None
    for alpha in (-0.1, 1.1, float("nan"), "x"):
        with pytest.raises(ParameterError, match="interpolation weight"):
            MixedScorer(one, other, alpha=alpha, scales=scales)
    for odd in ([1.0, 1.0], [-1e308, 1e308], [0.0, 1e200], [0.0, np.inf], [np.nan, 1.0], []):
        with pytest.raises(DataError, match="scale") as caught:
            Scale.of({"q": np.array(odd)}, name="one")
        assert ("scorer", "one") in caught.value.facts
    for mean, deviation in ((0.0, 0.0), (0.0, -1.0), (np.nan, 1.0), (0.0, np.inf), ("x", 1.0)):
        with pytest.raises(ParameterError, match="deviation"):
            Scale(mean, deviation)


def test_fixes_are_written_as_settings_of_the_specification():
    for wrong, fix in (("k1=x", "bm25,k1=NUMBER"), ("k1=-1", "bm25,k1=NUMBER")):
        with pytest.raises(ParameterError) as caught:
            open_scorer(f"bm25,{wrong}", AROUND)
        assert fix in caught.value.fixes[0]
        assert "--set" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "=", "name=", "bm25,k1", "bm25,=1", "bm25,k1=1,k1=2", ",a=b"])
def test_invalid_specifications_are_refused(text):
    with pytest.raises(UsageError):
        parse_specification(text)


@pytest.mark.parametrize("text", ["a&b=bm25", "<b>=bm25", "=bm25", "a%=jm,mu=5", "é!=runs/x", "a\nb=bm25"])
def test_names_with_other_characters_are_refused(text):
    with pytest.raises(UsageError, match="cannot have this name") as caught:
        parse_specification(text)
    target = text.partition(",")[0].partition("=")[2]
    assert caught.value.fixes[0] == f"mine={target}"


@pytest.mark.parametrize("text", ["runs/a&b=1", "./a&b=1", "http://x/?a&b=c", "python:m:f=1"])
def test_targets_may_contain_an_equals_sign(text):
    assert parse_specification(text)[1:] == (None, text, {})
