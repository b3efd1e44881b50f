"""The experiments of the probes: what is compared with the paper, and the page of a report."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[3] / "experiments" / "probes"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    yield
    for name in ("finding", "bm25_published"):
        sys.modules.pop(name, None)


def report():
    def cell(probe, score, p=0.001):
        return {
            "probe": probe, "scorer": "bm25", "score": score, "low": None, "high": None, "positive": 1, "neutral": 0,
            "negative": 0, "samples": 1, "queries": 1, "identical": 0, "cut": None, "by_query": score,
            "standardised_difference": None, "detectable": None, "p_published": p, "p_bonferroni": p,
            "p_clustered": p, "p_holm": p, "p_benjamini_hochberg": p,
        }  # fmt: skip

    def probe(name, symmetric=False, samples=1):
        return {
            "name": name, "title": name.partition("@")[0].title(), "section": "Toy", "symmetric": symmetric,
            "samples": samples,
        }  # fmt: skip

    return {
        "facts": {"seed": 0, "suites": ["all"], "judged": {"toy": "3 judgments"}},
        "scorers": [{"name": "bm25", "reading": {"kind": "constant", "delta": 0.5}}],
        "probes": [probe("typos@toy"), probe("apart@toy", symmetric=True), probe("none@toy", samples=0)],
        "cells": [cell("typos@toy", -0.5), cell("apart@toy", 0.25, None), cell("none@toy", None, None)],
    }


def test_the_page_and_the_heat_map():
    pytest.importorskip("matplotlib")
    import finding

    text = finding.page(report())
    assert "- judged: toy, 3 judgments" in text
    assert "- δ of bm25: 0.5" in text
    assert "| Typos | toy | −0.50 | 1 |" in text
    figure = finding.heat_map(report())
    written = {text.get_text() for text in figure.axes[0].texts}
    assert {"−0.50", "0.25", "Typos", "Toy", "bm25"} <= written
    assert "None" not in written, "a probe without pairs has no row"
    assert len(figure.axes[0].patches) == 2


def test_published_rows_are_probes_that_there_are():
    import bm25_published

    from termwise.probes.judged import JudgedTexts
    from termwise.probes.language.opening import open_language
    from termwise.probes.manipulations.family import FAMILY as MANIPULATIONS
    from termwise.probes.matching.family import FAMILY as MATCHED
    from termwise.probes.material import Material

    judged = JudgedTexts("dl19", {"q": "cats"}, {"d": "a cat"}, {"q": {"d": 1}}, 0)
    material = Material(open_language("rules"), frozenset(), (judged,))
    names = {probe.name for family in (MATCHED, MANIPULATIONS) for probe in family.make(material)}
    published = tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))
    ours = {name for name in published["rows"] if name.endswith("@dl19")}
    assert ours <= names
    assert {name.partition("@")[2] for name in published["rows"]} - {"dl19"} == set(bm25_published.FOLDERS)
    assert all(-1 <= row["score"] <= 1 for row in published["rows"].values())


def test_what_was_to_be_reached_is_said():
    import bm25_published

    row = {"title": "Fluency | X", "probe": "fluency@jfleg", "score": 0.05, "paper": 0.03}
    assert bm25_published._reached(row, 0.1).endswith("off by +0.020: yes.")
    assert bm25_published._reached({**row, "score": -0.02}, 0.1).endswith("NO.")
    assert bm25_published._reached({**row, "score": 0.2}, 0.1).endswith("NO.")
    assert bm25_published._reached({**row, "probe": "tf-by-length@dl19", "score": 1.0}, 0.1).endswith("yes.")


def test_the_published_pipeline_is_an_analyzer():
    import bm25_published

    from termwise.probes.matching.terms import PublishedTerms
    from termwise.text import Analyzer

    analyzer = bm25_published.PublishedAnalyzer(PublishedTerms(frozenset({"the"})))
    assert isinstance(analyzer, Analyzer)
    assert analyzer.tokens("The running cats") == ["run", "cat"]
    assert analyzer.analyze("The running cats").tokens == ("run", "cat")
