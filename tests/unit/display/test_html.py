"""Results in notebooks: tables without styles, and pages in frames of their own."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from tests.unit.evaluate.compared_runs import compare_runs

import termwise
from termwise.display.html import notebook_frame, notebook_table
from termwise.evaluate import evaluate
from termwise.evaluate.html import comparison_html, evaluation_html
from termwise.explain import Explanation
from termwise.probes import ProbeResult, ProbeSettings, open_inputs, probe_rankers
from termwise.probes.report.page import report_html
from termwise.records import Qrel, Ranking, Run

HOSTILE = "</td><script>alert(1)</script>\"' onload=x &amp; \ud800\x1b[31m"


class Page(HTMLParser):
    """Tags, attributes and text of a document."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.given: dict[str, str | None] = {}
        self.text: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.given.update(attrs)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _framed(html: str) -> str:
    """Return the page in a frame, which must be the only element."""
    page = Page(html)
    assert page.tags == ["iframe"]
    assert page.given["sandbox"] == "allow-scripts"
    assert page.given["title"]
    return page.given["srcdoc"] or ""


def test_a_ranking_is_a_plain_table() -> None:
    page = Page(Ranking(["b", HOSTILE], [2.0, 1.5], query_id="q1")._repr_html_())
    assert set(page.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert not page.given  # no styles, no scripts
    shown = HOSTILE.replace("\ud800", "�").replace("\x1b", "�")
    assert page.text[:4] == ["Ranking for q1", "rank", "document", "score"]
    assert page.text[4:] == ["1", "b", "2.0000", "2", shown, "1.5000"]


def test_a_long_or_sorted_ranking_says_so() -> None:
    html = Ranking([str(n) for n in range(2000)], np.zeros(2000))._repr_html_()
    assert html.count("<tr>") == 51
    assert "Ranking, the first 50 of 2,000" in html
    assert "sorted by -price" in Ranking(["a"], [1.0], sorted_by="-price")._repr_html_()
    assert Ranking([], [])._repr_html_().count("<tr>") == 1


def test_a_hits_ranking_of_a_search_is_shown(tmp_path) -> None:
    searcher = termwise.build_index([termwise.Document("<i>", "tea")], tmp_path / "i.tw", model="bm25")
    assert "<td>&lt;i&gt;</td>" in searcher.rank("tea")._repr_html_()


def test_a_comparison_and_an_evaluation_are_their_pages() -> None:
    runs = [
        Run([Ranking(["a", "b"], [2.0, 1.0], query_id=q) for q in ("q1", "q2")], name)
        for name in ("one", HOSTILE)
    ]
    qrels = [Qrel("q1", "b", 1), Qrel("q2", "a", 1)]
    comparison = compare_runs(runs, qrels, ["RR@10"], resamples=100)
    assert _framed(comparison._repr_html_()) == comparison_html(comparison)
    evaluation = evaluate(runs[0], qrels, ["RR@10"])
    assert _framed(evaluation._repr_html_()) == evaluation_html([evaluation])


def test_an_explanation_is_its_page() -> None:
    explanation = Explanation(HOSTILE, "d1", 0.0, 0.0, (), (), HOSTILE)
    assert _framed(explanation._repr_html_()) == explanation.to_html()


def test_a_report_of_probes_is_its_page_and_still_a_dict() -> None:
    report = probe_rankers(
        ["bm25"],
        suites=["probe:length-doubled@written"],
        inputs=open_inputs(language="rules"),
        settings=ProbeSettings(delta=0.1),
    )
    assert isinstance(report, dict)
    assert report == dict(report)
    assert _framed(report._repr_html_()) == report_html(report)


def test_the_result_of_a_probe_is_a_row() -> None:
    scores, effects = np.array([1.0, 2.0]), np.array([1, -1], dtype=np.int8)
    result = ProbeResult("<p>", "bm25", False, {}, "", ("a", "b"), ("q", "q"), scores, scores, effects, 0)
    page = Page(result._repr_html_())
    assert page.text[:7] == ["probe", "ranker", "score", "positive", "neutral", "negative", "samples"]
    assert page.text[7:] == ["<p>", "bm25", "+0.000", "1", "0", "1", "2"]


@pytest.mark.parametrize("text", ['"><script>', "&quot;", "'"])
def test_nothing_leaves_a_frame_or_a_cell(text: str) -> None:
    page = Page(notebook_frame(text, text))
    assert page.tags == ["iframe"]
    assert page.given["srcdoc"] == page.given["title"] == text
    assert "".join(Page(notebook_table(text, [text], [[text]])).text) == 3 * text
