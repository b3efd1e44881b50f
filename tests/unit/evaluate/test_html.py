import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.unit.evaluate.compared_runs import compare_runs

from termwise.errors import ParameterError
from termwise.evaluate import (
    Criterion,
    comparison_html,
    evaluate,
    evaluation_html,
)
from termwise.records import Qrel, Ranking, Run

VOID = {"meta", "input", "br", "hr", "img", "link"}
HOSTILE = "<script>alert('x')</script>\"'&{{ 7 * 7 }}"


class Page(HTMLParser):
    """Checks that tags nest, and collects what a test asks about."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.text, self.attributes = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def runs_and_qrels(n, names=("base", HOSTILE, "third")):
    rng = np.random.default_rng(0)
    ids = [f"q{i}" for i in range(n - 1)] + [HOSTILE]
    runs = [
        Run(
            [
                Ranking([f"n{j}" for j in range(rank - 1)] + ["yes"], np.zeros(rank), query_id=query_id)
                for query_id, rank in zip(ids, rng.integers(1, 9, n).tolist(), strict=True)
            ],
            name,
        )
        for name in names
    ]
    return runs, [Qrel(query_id, "yes", 1) for query_id in ids]


def pages(n=12):
    runs, qrels = runs_and_qrels(n)
    texts = {"q0": f"text {HOSTILE}"}
    measures = ["RR@10", "P@1", "NumRet"]
    result = compare_runs(runs, qrels, measures, resamples=200)
    pairs = compare_runs(runs, qrels, measures, pairs="all", resamples=200)
    one = compare_runs([runs[0], Run(list(runs[0]), "copy")], qrels, ["RR"], resamples=200)
    return {
        "comparison": comparison_html(result, texts=texts),
        "t": comparison_html(result, criterion=Criterion(test="t", correction="none"), title=HOSTILE),
        "pairs": comparison_html(pairs),
        "identical": comparison_html(one),
        "evaluation": evaluation_html(result.evaluations, texts=texts),
        "single": evaluation_html([evaluate(runs[1], qrels, measures)]),
    }


@pytest.fixture(scope="module")
def built():
    return {**pages(), "long": pages(500)["comparison"], "one query": pages(1)["comparison"]}


NAMES = ["comparison", "t", "pairs", "identical", "evaluation", "single", "long", "one query"]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_well_formed_and_labelled(built, name):
    page = Page(built[name])
    assert built[name].startswith("<!doctype html>")
    assert len(page.ids) == len(set(page.ids))
    assert ("html", "lang", "en") in page.attributes
    assert page.tags.count("h1") == 1
    labels = [value for _, key, value in page.attributes if key == "aria-labelledby"]
    assert set(labels) <= set(page.ids)
    drawings = page.tags.count("svg")
    described = [a for a in page.attributes if a[0] == "svg" and a[1] in ("aria-label", "aria-hidden")]
    hidden_feet = len(re.findall(r'<tfoot aria-hidden="true">', built[name]))
    assert len(described) + hidden_feet == drawings


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_loaded_from_outside(built, name):
    text = built[name]
    page = Page(text)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\bfetch\(|XMLHttpRequest", text, re.IGNORECASE)
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not [a for a in page.attributes if a[1] in ("src", "href", "srcset", "action")]
    assert "default-src 'none'" in text


@pytest.mark.parametrize("name", NAMES)
def test_values_are_escaped(built, name):
    page = Page(built[name])
    assert page.tags.count("script") == 1
    assert "<script>alert" not in built[name]
    assert "{{" not in built[name].replace("{{ 7 * 7 }}", "")
    assert not [a for a in page.attributes if a[1].startswith("on")]
    if name != "identical":
        assert HOSTILE in "".join(page.text)


def test_names_and_texts_cannot_break_the_page():
    hostile = "a\x1b[2J\x00b\ud800 \u202ec"
    runs, qrels = runs_and_qrels(3, names=("base", hostile))
    page = comparison_html(compare_runs(runs, qrels, ["RR"], resamples=100), texts={"q0": hostile})
    page.encode()
    assert not set("\x00\x1b") & set(page)
    assert page.count("<bdi>a\ufffd[2J\ufffdb\ufffd") >= 4  # a change of direction ends with the name


@pytest.mark.parametrize("name", NAMES)
def test_scrolling_boxes_are_reachable_with_the_keyboard(built, name):
    boxes = re.findall(r'<div class="(?:scroll|tall)"[^>]*>', built[name])
    assert len(boxes) >= 2
    assert all(re.search(r'tabindex="0" role="region" aria-label="[^"]+"', box) for box in boxes)


def test_print_is_light_and_whole(built):
    style = built["comparison"].partition("</style>")[0]
    assert "@media screen and (prefers-color-scheme: dark)" in style
    printed = style.partition("@media print")[2]
    assert re.search(r"\.scroll, \.tall \{[^}]*max-height: none; overflow: visible", printed)


def test_the_same_results_give_the_same_page():
    assert pages() == pages()


def test_the_page_shows_the_numbers_of_the_comparison(built):
    runs, qrels = runs_and_qrels(12)
    result = compare_runs(runs, qrels, ["RR@10", "P@1", "NumRet"], resamples=200)
    text = "".join(Page(built["comparison"]).text)
    for contrast in result.of("RR@10"):
        assert f"{contrast.difference:+.4f}".replace("-", "−") in text
        assert f"{contrast.wins} better" in text
    for evaluation in result.evaluations:
        assert f"{evaluation.means['RR@10']:.4f}" in text
    assert "95% percentile bootstrap over queries, 200 resamples, seed 0" in text
    assert "text " + HOSTILE in text


def test_bars_have_tooltips_and_long_plots_are_areas(built):
    assert re.search(r'<rect class="bar (better|worse)"[^>]*><title>q\d+', built["comparison"])
    assert re.search(r'<path class="bar better" d="M46 ', built["long"])
    assert len(built["long"]) < 1_000_000


def test_identical_runs_have_no_plot(built):
    assert "<figure>" not in built["identical"]
    assert "not significant" in built["identical"]


def test_one_query_is_undefined_not_zero(built):
    assert "interval –" in built["one query"]


def test_coordinates_are_finite(built):
    for text in built.values():
        for value in re.findall(r' (?:x|y|x1|x2|y1|y2|cx|width|height|d)="([^"]*)"', text):
            assert "nan" not in value
            assert "inf" not in value


def test_no_evaluation_is_refused():
    with pytest.raises(ParameterError):
        evaluation_html([])
