"""Scoring of texts with generated queries, and the cache of queries."""

from __future__ import annotations

import sqlite3

import pytest

from termwise.errors import DataError, ParameterError
from termwise.scorers import FunctionScorer, ScoreCache
from termwise.scorers.protocol import PairScorer
from termwise.yardsticks import CachedExpander, ExpandedScorer


class RecordingExpander:
    """Generates queries from the first word of a text, and records the texts."""

    def __init__(self, times=1, fingerprint="expander"):
        self.fingerprint = fingerprint
        self.times = times
        self.texts = []

    def expand(self, texts):
        self.texts += texts
        return [
            tuple(f"what is {text.split()[0]}" for _ in range(self.times)) if text else () for text in texts
        ]


def lengths(queries, texts):
    return [len(text.split()) for text in texts]


def counted(fingerprint="words"):
    return FunctionScorer(lengths, name="words", fingerprint=fingerprint)


def test_queries_are_appended_to_the_text():
    seen = []

    def scored(queries, texts):
        seen.extend(zip(queries, texts, strict=True))
        return [0.0] * len(texts)

    scorer = ExpandedScorer(FunctionScorer(scored, name="see"), RecordingExpander(2))
    scorer.score_pairs(["q", "r", "q"], ["cats sleep", "", "cats sleep"])
    expanded = "cats sleep what is cats what is cats"
    assert seen == [("q", expanded), ("r", ""), ("q", expanded)]
    assert isinstance(scorer, PairScorer)
    assert scorer.name == "doc2query+see"


def test_each_text_is_expanded_once():
    expander = RecordingExpander()
    scorer = ExpandedScorer(counted(), CachedExpander(expander))
    assert scorer.score_pairs(["q", "r", "q"], ["a", "b c", "a"]).tolist() == [4, 5, 4]
    assert scorer.score("s", ["b c", "d"]).tolist() == [5, 4]
    assert expander.texts == ["a", "b c", "d"]
    assert scorer.score("s", []).shape == (0,)


def test_queries_are_cached_by_expander_and_text(tmp_path):
    path = tmp_path / "queries.sqlite"
    first = CachedExpander(RecordingExpander(), path)
    texts = ["é one", "\ud800", ""]
    found = first.expand(texts)
    assert found == [("what is é",), ("what is \ud800",), ()]
    first.close()
    second = RecordingExpander()
    kept = CachedExpander(second, path)
    assert kept.expand(texts[::-1]) == found[::-1]
    assert kept.expand(["é one"]) == [("what is é",)]
    assert not second.texts
    other = RecordingExpander(2, "other")
    assert CachedExpander(other, path).expand(["é one"]) == [("what is é",) * 2]
    assert other.texts == ["é one"]


def test_interrupted_work_continues(tmp_path):
    class Fails(RecordingExpander):
        def expand(self, texts):
            if len(self.texts) >= 128:
                raise KeyboardInterrupt
            return super().expand(texts)

    texts = [f"word{number}" for number in range(200)]
    path = tmp_path / "queries.sqlite"
    with pytest.raises(KeyboardInterrupt):
        CachedExpander(Fails(), path).expand(texts)
    resumed = RecordingExpander()
    assert CachedExpander(resumed, path).expand(texts)[150] == ("what is word150",)
    assert resumed.texts == texts[128:]


def test_files_of_another_type_are_refused(tmp_path):
    ScoreCache(tmp_path / "scores").close()
    with pytest.raises(DataError, match="cannot read the file as a cache of generated queries"):
        CachedExpander(RecordingExpander(), tmp_path / "scores")
    path = tmp_path / "queries"
    CachedExpander(RecordingExpander(), path).expand(["a"])
    with sqlite3.connect(path) as changed:
        changed.execute("UPDATE expansions SET queries = '{'")
    changed.close()
    with pytest.raises(DataError, match="generated queries is damaged"):
        CachedExpander(RecordingExpander(), path).expand(["a"])


def test_the_fingerprint_depends_on_scorer_and_expander():
    one = ExpandedScorer(counted(), RecordingExpander())
    others = [
        ExpandedScorer(counted("2"), RecordingExpander()),
        ExpandedScorer(counted(), RecordingExpander(1, "2")),
    ]
    assert len({one.fingerprint, *(other.fingerprint for other in others), counted().fingerprint}) == 4
    assert (
        one.fingerprint
        == ExpandedScorer(counted(), CachedExpander(RecordingExpander()), name="x").fingerprint
    )
    assert ExpandedScorer(counted(None), RecordingExpander()).fingerprint is None
    with pytest.raises(ParameterError):
        one.score("q", "one text")
