"""The oracle of two run files: figures, tables and JSON lines."""

from __future__ import annotations

import builtins
import json

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")

from tests.unit.fusion.test_oracle import ONE, OTHER, QRELS, RULES  # noqa: E402

from termwise.collection import write_run  # noqa: E402
from termwise.errors import MissingExtraError, ParameterError, UnknownNameError  # noqa: E402
from termwise.fusion import objective_of, oracle  # noqa: E402


@pytest.fixture
def found():
    return [oracle([ONE, OTHER], QRELS, measure=measure, **RULES) for measure in ("RR", "nDCG@10")]


@pytest.mark.parametrize(("method", "count"), [("sweep", 101), ("grid", 11)])
def test_the_curve_has_the_mean_of_each_share(method, count):
    found = oracle([ONE, OTHER], QRELS, measure="RR", method=method, **RULES)
    objective = objective_of([ONE, OTHER], QRELS, "RR", **RULES)
    assert len(found.places) == count
    assert found.means.tolist() == [objective.value((alpha, 1 - alpha)) for alpha in found.places]
    assert found.means[-1] == found.mean(found.first)
    assert found.means[0] == found.mean(found.second)
    assert found.means.max() <= found.mean(found.best)


def test_a_figure_shows_the_result(found):
    from share_figure import ShareCurve, shares_figure

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


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_equal_results_are_equal_files(found, form):
    from share_figure import ShareCurve, figure_bytes, shares_figure

    curves = [ShareCurve.of(one) for one in found]
    written = [figure_bytes(shares_figure(curves, first="one", second="other"), form) for _ in range(2)]
    assert written[0] == written[1]
    assert written[0].startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[form])


def test_a_figure_without_curves_or_in_an_unknown_format_is_refused(found):
    from share_figure import ShareCurve, figure_bytes, shares_figure

    with pytest.raises(ParameterError, match="one curve or more"):
        shares_figure([], first="one", second="other")
    with pytest.raises(UnknownNameError, match="kind of figure"):
        figure_bytes(shares_figure([ShareCurve.of(found[0])], first="one", second="other"), "gif")


def test_names_are_escaped_in_figures(found):
    from xml.etree import ElementTree

    from share_figure import ShareCurve, figure_bytes, shares_figure

    figure = shares_figure([ShareCurve.of(one) for one in found], first="a\nb\x1b[31m", second="日本")
    written = figure_bytes(figure, "svg")
    ElementTree.fromstring(written)
    assert b"\x1b" not in written
    assert "日本" in written.decode()


def test_settings_of_the_machine_do_not_change_a_figure(found):
    from share_figure import ShareCurve, figure_bytes, shares_figure

    curves = [ShareCurve.of(one) for one in found]
    expected = figure_bytes(shares_figure(curves, first="one", second="other"), "svg")
    with matplotlib.rc_context({"figure.facecolor": "red", "axes.titlesize": 40, "svg.fonttype": "path"}):
        assert figure_bytes(shares_figure(curves, first="one", second="other"), "svg") == expected
        assert matplotlib.rcParams["axes.titlesize"] == 40


def test_without_matplotlib_the_extra_is_named(found, monkeypatch):
    from share_figure import ShareCurve, shares_figure

    real = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"termwise\[dev\]"):
        shares_figure([ShareCurve.of(found[0])], first="one", second="other")


def test_two_run_files_are_analysed(tmp_path, capsys):
    from fusion_oracle import main

    for run in (ONE, OTHER):
        write_run(run, tmp_path / f"{run.name}.trec")
    qrels = tmp_path / "judgments.txt"
    qrels.write_text("".join(f"{qrel.query_id} 0 {qrel.doc_id} {qrel.relevance}\n" for qrel in QRELS))
    words = [str(tmp_path / f"{run.name}.trec") for run in (ONE, OTHER)]
    words += ["--qrels", str(qrels), "--missing", "drop", "--scaling", "raw", "--measure", "RR"]
    main([*words, "--json", "--figure", str(tmp_path / "shares.svg")])
    (line,) = capsys.readouterr().out.splitlines()
    result = json.loads(line)
    expected = oracle([ONE, OTHER], QRELS, measure="RR", **RULES)
    assert {key: result[key] for key in expected.summary()} == expected.summary()
    assert result["curve"][0] == [0.0, expected.mean(expected.second)]
    assert [row["query"] for row in result["each"]] == ["q", "r"]
    assert (tmp_path / "shares.svg").read_text().startswith("<?xml")
    main([*words, "--measure", "nDCG@10"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["RR", "0.6667", "0.5000", "0.6667", "0.6667"]
    assert "3 judged queries" in lines[8]
    with pytest.raises(UnknownNameError, match="kind of figure"):
        main([*words, "--figure", str(tmp_path / "shares.html")])
