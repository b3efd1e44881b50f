"""Figures and pages of shares: what is drawn is what was found, and equal results are equal files."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")

from tests.unit.fusion.test_oracle import ONE, OTHER, QRELS, RULES  # noqa: E402

from termwise import Qrel, Ranking, Run  # noqa: E402
from termwise.errors import MissingExtraError, ParameterError, UnknownNameError  # noqa: E402
from termwise.fusion import objective_of, oracle  # noqa: E402
from termwise.fusion.figure import FORMATS, ShareCurve, figure_bytes, shares_figure  # noqa: E402
from termwise.fusion.page import shares_html  # noqa: E402

EVIL = "<script>alert(1)</script> $x^2$ & so"


@pytest.fixture
def found():
    return [oracle([ONE, OTHER], QRELS, measure=measure, **RULES) for measure in ("RR", "nDCG@10")]


@pytest.mark.parametrize(("method", "count"), [("sweep", 101), ("grid", 11)])
def test_the_curve_is_what_each_share_is_worth(method, count):
    found = oracle([ONE, OTHER], QRELS, measure="RR", method=method, **RULES)
    objective = objective_of([ONE, OTHER], QRELS, "RR", **RULES)
    assert len(found.places) == count
    assert found.means.tolist() == [objective.value((alpha, 1 - alpha)) for alpha in found.places]
    assert found.means[-1] == found.mean(found.first)
    assert found.means[0] == found.mean(found.second)
    assert found.means.max() <= found.mean(found.best)


def test_a_figure_shows_what_was_found(found):
    curves = [ShareCurve.of(one) for one in found]
    figure = shares_figure(curves, first="one", second="other")
    upper, _, lower, _ = figure.axes
    line, level, marked = upper.lines
    assert np.array_equal(line.get_ydata(), found[0].means)
    assert set(level.get_ydata()) == {found[0].mean(found[0].best)}
    assert marked.get_xdata().tolist() == [found[0].alpha]
    assert marked.get_ydata().tolist() == [found[0].mean(found[0].fixed)]
    assert upper.get_title() == "RR"
    assert sum(patch.get_height() for patch in lower.patches) == 1  # the other query is indifferent
    assert lower.get_title() == "1 more: any share is as good"


@pytest.mark.parametrize("form", FORMATS)
def test_equal_results_are_equal_files(found, form):
    curves = [ShareCurve.of(one) for one in found]
    written = [figure_bytes(shares_figure(curves, first="one", second="other"), form) for _ in range(2)]
    assert written[0] == written[1]
    assert written[0].startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[form])


def test_a_page_holds_every_query_and_loads_nothing(found):
    page = shares_html(found, first="one", second="other")
    assert page == shares_html(found, first="one", second="other")
    assert page.count("<section") == 2
    for query_id in ("q", "r"):
        assert page.count(f"<tr><th>{query_id}</th>") == 2
    assert "any</td>" in page
    assert "default-src 'none'" in page


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_names_are_shown_and_never_obeyed():
    runs = [
        Run([Ranking(["a", "b"], [2.0, 1.0], query_id=EVIL)]),
        Run([Ranking(["b", "a"], [2.0, 1.0], query_id=EVIL)]),
    ]
    found = [oracle(runs, [Qrel(EVIL, "a", 1)], measure="RR", missing="drop")]
    tags = Tags()
    tags.feed(shares_html(found, first=EVIL, second=EVIL))
    assert "script" not in {tag for tag, _ in tags.found}
    loaded = [
        a for _, a in tags.found if "src" in a or (a.get("xlink:href") or a.get("href") or "#")[0] != "#"
    ]
    assert loaded == []


def test_nothing_to_show_and_no_such_form(found):
    with pytest.raises(ParameterError, match="one curve or more"):
        shares_figure([], first="one", second="other")
    with pytest.raises(ParameterError, match="one measure or more"):
        shares_html([], first="one", second="other")
    with pytest.raises(UnknownNameError, match="kind of figure"):
        figure_bytes(shares_figure([ShareCurve.of(found[0])], first="one", second="other"), "gif")


def test_a_name_is_made_fit_for_a_figure(found):
    from xml.etree import ElementTree

    figure = shares_figure([ShareCurve.of(one) for one in found], first="a\nb\x1b[31m", second="日本")
    written = figure_bytes(figure, "svg")
    ElementTree.fromstring(written)
    assert b"\x1b" not in written
    assert "日本" in written.decode()


def test_settings_of_the_machine_do_not_change_a_figure(found):
    curves = [ShareCurve.of(one) for one in found]
    expected = figure_bytes(shares_figure(curves, first="one", second="other"), "svg")
    with matplotlib.rc_context({"figure.facecolor": "red", "axes.titlesize": 40, "svg.fonttype": "path"}):
        assert figure_bytes(shares_figure(curves, first="one", second="other"), "svg") == expected
        assert matplotlib.rcParams["axes.titlesize"] == 40


def test_matplotlib_that_cannot_be_loaded():
    """Settings that matplotlib refuses, in a process of their own: it reads them when it is loaded."""
    code = (
        "from termwise.fusion.figure import check_matplotlib\n"
        "try:\n    check_matplotlib()\n"
        "except Exception as error:\n    print(error.slug, error)"
    )
    environment = os.environ | {"MPLBACKEND": "nonsense"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("usage matplotlib cannot be loaded")


def test_without_matplotlib_the_extra_is_named(found, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"termwise\[plot\]"):
        shares_figure([ShareCurve.of(found[0])], first="one", second="other")
