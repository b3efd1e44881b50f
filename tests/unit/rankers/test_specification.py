"""Specifications of scorers: parsing, fingerprints and errors."""

from __future__ import annotations

import pytest

from termwise import Document
from termwise.errors import ParameterError, UsageError
from termwise.rankers import ScorerContext, open_scorer
from termwise.rankers.specification import parse_specification
from termwise.scorers import Background

CONTEXT = ScorerContext(Background(lambda: [Document("a", "x")]))


def test_fingerprints_of_different_targets_differ(tmp_path, monkeypatch):
    """Two functions with equal versions do not share scores."""
    (tmp_path / "two_of_them.py").write_text("def one(q, t):\n    return [1.0] * len(t)\n\n\ntwo = one\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = [
        "python:two_of_them:one",
        "python:two_of_them:two",
        "http://localhost:1/a",
        "http://localhost:1/b",
    ]
    prints = [open_scorer(f"{name},fingerprint=1", CONTEXT).fingerprint for name in names]
    assert len(set(prints)) == 4
    assert open_scorer("python:two_of_them:one", CONTEXT).fingerprint is None


def test_fixes_are_written_as_settings_of_the_specification():
    for wrong, fix in (("k1=x", "bm25,k1=NUMBER"), ("k1=-1", "bm25,k1=NUMBER")):
        with pytest.raises(ParameterError) as caught:
            open_scorer(f"bm25,{wrong}", CONTEXT)
        assert fix in caught.value.fixes_worded()[0]
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
    assert caught.value.fixes_worded()[0] == f"mine={target}"


@pytest.mark.parametrize("text", ["runs/a&b=1", "./a&b=1", "http://x/?a&b=c", "python:m:f=1"])
def test_targets_may_contain_an_equals_sign(text):
    assert parse_specification(text)[1:] == (None, text, {})


def test_settings_are_read_by_type():
    spec = parse_specification("x,batch=12,timeout=0.5,unit=true,lower=false")
    assert (spec.integer("batch"), spec.number("timeout"), spec.flag("unit"), spec.flag("lower")) == (
        12,
        0.5,
        True,
        False,
    )
    assert (spec.integer("none"), spec.number("none"), spec.flag("none")) == (None, None, None)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "all", "²", "1" * 10])
def test_invalid_whole_numbers_are_refused(value):
    with pytest.raises(UsageError, match="batch must be a whole number"):
        parse_specification(f"x,batch={value}").integer("batch")


def test_invalid_numbers_and_flags_are_refused():
    with pytest.raises(UsageError, match="timeout must be a number"):
        parse_specification("x,timeout=soon").number("timeout")
    with pytest.raises(UsageError, match="unit must be true or false"):
        parse_specification("x,unit=yes").flag("unit")
