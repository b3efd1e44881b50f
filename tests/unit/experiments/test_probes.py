"""Experiments with probes: comparison with the paper, and the page of a report."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[3] / "experiments" / "probes"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    yield
    for name in ("by_grades", "finding", "bm25_published", "reranked", "seeds", "yardsticks"):
        sys.modules.pop(name, None)


def report():
    def cell(probe, score, p=0.001):
        return {
            "probe": probe, "scorer": "bm25", "score": score, "low": None if score is None else score - 0.2,
            "high": None if score is None else score + 0.2, "positive": 1, "neutral": 0,
            "negative": 0, "samples": 1, "queries": 1, "identical": 0, "cut": None, "by_query": score,
            "standardised_difference": None, "detectable": None, "area": None,
            "consistent": None, "p_published": p, "p_bonferroni": p,
            "p_clustered": p, "p_holm": p, "p_benjamini_hochberg": p,
        }  # fmt: skip

    def probe(name, symmetric=False, samples=1):
        return {
            "name": name, "title": name.partition("@")[0].title(), "section": "Toy", "symmetric": symmetric,
            "samples": samples, "expectation": "", "lengths": None,
        }  # fmt: skip

    return {
        "facts": {"seed": 0, "suites": ["all"], "judged": {"toy": "3 judgments"}},
        "scorers": [{"name": "bm25", "effect_rule": {"kind": "constant", "delta": 0.5}}],
        "probes": [probe("typos@toy"), probe("apart@toy", symmetric=True), probe("none@toy", samples=0)],
        "cells": [cell("typos@toy", -0.5), cell("apart@toy", 0.25, None), cell("none@toy", None, None)],
        "spread": [],
    }


def plan(*rows):
    return {"group": [{"title": "First", "row": [{"probe": name, "says": says} for name, says in rows]}]}


def test_the_page_and_the_heat_map():
    pytest.importorskip("matplotlib")
    import behaviour

    made = report()
    made["probes"][0]["expectation"] = "neither"
    first = behaviour.headline(
        made,
        plan(("typos@toy", "Misspelt"), ("apart@toy", "Told apart"), ("missing@toy", "Gone")),
    )
    text = behaviour.page(made, first)
    assert "- judged: toy: 3 judgments" in text
    assert "- δ of bm25: 0.5" in text
    assert "| Typos | toy | −0.50 | 1 |" in text
    assert "| First | Misspelt | 0 | −0.50 (−0.70 to −0.30) | 1 | 1 |" in text
    assert "|  | Told apart |  | 0.25 (0.05 to 0.45) | 1 | 1 |" in text
    assert "Gone" not in text
    figure = behaviour.heat_map(first, ["bm25"])
    written = {text.get_text() for text in figure.axes[0].texts}
    assert {"−0.50", "0.25", "Misspelt", "First", "bm25"} <= written
    everything = [
        ("Toy", [behaviour.Line("None", "", row) for row in rows][2:]) for _, rows in behaviour.sections(made)
    ]
    assert not behaviour.heat_map(everything, ["bm25"]).axes[0].texts[1:], "a probe without pairs has no row"


@pytest.mark.parametrize(
    ("expectation", "score", "colour"),
    [
        ("first", 0.5, "good"),
        ("first", -0.5, "bad"),
        ("second", -0.5, "good"),
        ("neither", 0.5, "bad"),
        ("", 0.5, "good"),
    ],
)
def test_colours_show_expected_scores(expectation, score, colour):
    import behaviour

    made = report()
    made["cells"][0]["score"] = score
    made["probes"][0]["expectation"] = expectation
    ((_, (line,)),) = behaviour.headline(made, plan(("typos@toy", "Misspelt")))
    found = behaviour._shade(line, line.row.cells[0])[0]
    full = behaviour.COLOURS[colour]
    assert sorted(range(3), key=lambda one: found[one]) == sorted(range(3), key=lambda one: full[one])


def test_reports_are_joined_by_their_samples():
    import behaviour

    few, many = report(), report()
    many["probes"] = [{**many["probes"][0], "samples": 9}]
    many["cells"] = [{**many["cells"][0], "score": 0.75}]
    found = behaviour.joined([few, many])
    assert [probe["samples"] for probe in found["probes"]] == [9, 1, 0]
    assert {cell["probe"]: cell["score"] for cell in found["cells"]} == {
        "typos@toy": 0.75, "apart@toy": 0.25, "none@toy": None,
    }  # fmt: skip
    many["scorers"] = [{"name": "other", "effect_rule": {}}]
    with pytest.raises(SystemExit, match="same rankers"):
        behaviour.joined([few, many])


def test_scores_that_are_not_significant_are_marked():
    pytest.importorskip("matplotlib")
    import behaviour

    made = report()
    made["cells"][0]["p_holm"] = 0.2
    first = behaviour.headline(made, plan(("typos@toy", "Misspelt"), ("apart@toy", "Told apart")))
    assert r"| −0.50\* (−0.70 to −0.30) |" in behaviour.page(made, first)
    texts = {text.get_text(): text.get_style() for text in behaviour.heat_map(first, ["bm25"]).axes[0].texts}
    assert (texts["−0.50"], texts["0.25"]) == ("italic", "normal")


def test_candidates_are_ranked_by_stored_scores(tmp_path, monkeypatch):
    """The second ranker reverses two candidates; only scores of the report are used."""
    import reranker_quality

    from termwise.probes import ProbeSettings, open_inputs, probe_rankers

    (tmp_path / "docs.jsonl").write_text(
        '{"_id": "long", "text": "tea tea and tea, again tea"}\n{"_id": "short", "text": "tea"}\n'
        '{"_id": "x", "text": "y"}\n'
    )
    (tmp_path / "queries.tsv").write_text("q\ttea\n")
    (tmp_path / "qrels.txt").write_text("q 0 long 0\nq 0 short 3\n")
    (tmp_path / "first.run").write_text("q Q0 long 1 2.0 t\nq Q0 short 2 1.0 t\nq Q0 gone 3 0.5 t\n")
    judged = ",".join(str(tmp_path / name) for name in ("docs.jsonl", "queries.tsv", "qrels.txt"))
    rankers = ["many=bm25,k1=4,b=0", "few=bm25,k1=0.1,b=1"]
    probe_rankers(
        rankers,
        suites=["probe:fold-case@toy"],
        inputs=open_inputs(judged=[f"toy={judged}"], language="rules"),
        settings=ProbeSettings(candidates=tmp_path / "first.run"),
        out=tmp_path / "report",
    )
    given = [
        "--judged",
        judged,
        "--candidates",
        str(tmp_path / "first.run"),
        "--out",
        str(tmp_path / "results"),
    ]
    monkeypatch.setattr(sys, "argv", ["reranked.py", str(tmp_path / "report"), *given])
    reranker_quality.main()
    kept = json.loads((tmp_path / "results" / "probes_reranked.json").read_text())
    assert kept["means"]["many"]["nDCG@10"] == pytest.approx(1 / math.log2(3), abs=1e-5)
    assert kept["means"]["few"]["nDCG@10"] == 1.0
    assert "| few | 1.000 |" in (tmp_path / "results" / "probes_reranked.md").read_text()
    store = {"name": "other", "fingerprint": "sha256:none"}
    with pytest.raises(SystemExit, match="are not in the report"), reranker_quality.ScoreCache() as empty:
        reranker_quality.reranked(store, {"q": {"long": "tea"}}, {"q": "tea"}, empty)


def test_the_effect_of_a_change_by_grade(tmp_path, monkeypatch):
    """A ranker that prefers short texts prefers every removal of a sentence, whatever the grade."""
    import grade_effects

    from termwise.probes import ProbeSettings, open_inputs, probe_rankers

    texts = {
        "long": "Tea is hot. It is from China. Many drink it.",
        "other": "Tea grows on hills. Hills are green.",
    }
    records = [{"_id": name, "text": text} for name, text in texts.items()]
    (tmp_path / "docs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    (tmp_path / "queries.tsv").write_text("a\ttea\nb\thills\nc\tchina\n")
    (tmp_path / "qrels.txt").write_text("a 0 long 3\na 0 other 0\nb 0 long 0\nb 0 other 2\nc 0 long 2\n")
    judged = ",".join(str(tmp_path / name) for name in ("docs.jsonl", "queries.tsv", "qrels.txt"))
    suites = [f"probe:remove-last-sentence{half}" for half in ("-higher", "-lower", "")]
    probe_rankers(
        [Short()],
        suites=suites,
        inputs=open_inputs(judged=[f"toy={judged}"], language="rules"),
        settings=ProbeSettings(delta=0.5),
        out=tmp_path / "report",
    )
    given = [str(tmp_path / "report"), "--out", str(tmp_path / "results")]
    monkeypatch.setattr(sys, "argv", ["grade_effects.py", *given])
    grade_effects.main()
    kept = json.loads((tmp_path / "results" / "probes_by_grades.json").read_text())
    assert kept["probes"]["words or sentences taken away"] == [
        "remove-last-sentence-higher@toy",
        "remove-last-sentence-lower@toy",
    ]
    found = {row["kind"]: row for row in kept["rows"]}["words or sentences taken away"]
    assert {name: found[name] for name in ("queries", "higher", "lower", "difference")} == {
        "queries": 2,
        "higher": 1.0,
        "lower": 1.0,
        "difference": 0.0,
    }
    assert {row["queries"] for row in kept["rows"] if row["kind"] != found["kind"]} == {0}
    page = (tmp_path / "results" / "probes_by_grades.md").read_text()
    assert "| words or sentences taken away | short | +1.00 | +1.00 | .00 .00 to .00 |" in page
    assert "- words or sentences taken away, 5 pairs: remove-last-sentence\n" in page


class Short:
    name = "short"

    def score(self, query, texts):
        return [-float(len(text)) for text in texts]


def test_the_effect_of_a_change_is_a_mean_over_queries():
    import grade_effects

    found = grade_effects.contrast(
        {
            "a": {"higher": [-1, -1], "lower": [0]},
            "b": {"higher": [0], "lower": [1, 0]},
            "c": {"higher": [1], "lower": []},
        }
    )
    assert (found["queries"], found["higher"], found["lower"], found["difference"]) == (2, -0.5, 0.25, -0.75)
    assert -1 <= found["low"] <= found["high"] <= -0.5
    assert grade_effects.contrast({})["difference"] is None


def test_rankers_of_one_kind_are_compared():
    import yardsticks

    plan_of = {
        "rankers": {"bm25": "bm25", "dense": "sbert"},
        "rows": {
            "typos@toy": {"bm25": -0.2, "sbert": 0.1},
            "apart@toy": {"bm25": 0.6, "sbert": 0.9},
            "none@toy": {"bm25": 0.5, "sbert": 0.5},
            "unasked@toy": {"bm25": 0.5, "sbert": 0.5},
        },
    }
    made = report()
    made["probes"][0]["title"] = "Typos | Toy"
    made["facts"] |= {"language": "rules", "candidates": "BM25"}
    rows = yardsticks.compared(made, plan_of)
    assert list(rows) == ["typos@toy", "apart@toy"], "what was not asked, or has no sample, has no row"
    assert rows["typos@toy"]["bm25"] == {
        "score": -0.5, "interval": [-0.7, -0.3], "pairs": 1, "published": -0.2,
    }  # fmt: skip
    assert yardsticks.agreement(rows, "bm25") == {"same": 2, "leaning": 2, "rho": None, "rows": 2}
    text = yardsticks.page(rows, plan_of, made)
    assert r"| Typos \| Toy | toy | −0.50 / −0.20 | 1 |" in text
    assert "| bm25 | bm25 | 2 of 2 | – | 2 |" in text


def test_deviations_between_seeds_are_beside_the_published_ones():
    import seeds

    made = report()
    made["facts"] |= {"language": "rules", "candidates": "BM25"}
    sections = {
        "Textual manipulation": {"deviation": 0.0423, "probes": 8},
        "Shipped pairs": {"deviation": 0.1, "probes": 2},
    }
    made["spread"] = [{"model": "epic", "seeds": 5, "sections": sections, "sign_flips": []}]
    lines = seeds.page(made).splitlines()
    assert "| epic | Textual manipulation | 17.1 | 4.2 | 8 |" in lines
    assert "| epic | Shipped pairs | – | 10.0 | 2 |" in lines


def test_yardsticks_name_existing_probes():
    import yardsticks  # noqa: F401

    rows = tomllib.loads((HERE / "yardsticks.toml").read_text(encoding="utf-8"))["rows"]
    published = tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))["rows"]
    joined = {name.replace("-joined", ""): row for name, row in published.items()}
    assert set(rows) - set(joined) == {"append-queries@dl19"}, (
        "which BM25 alone was not asked, for want of a T5"
    )
    for name in set(rows) & set(joined):
        assert rows[name]["bm25"] == joined[name]["score"], name


def test_the_headline_names_existing_probes():
    plan_of = tomllib.loads((HERE / "headline.toml").read_text(encoding="utf-8"))
    rows = [row for group in plan_of["group"] for row in group["row"]]
    assert len({row["probe"] for row in rows}) == len(rows)
    assert {key for row in rows for key in row} == {"probe", "says"}


def test_published_rows_name_existing_probes():
    import bm25_published

    from termwise.probes.core.judged_texts import JudgedTexts
    from termwise.probes.core.probe_inputs import ProbeInputs
    from termwise.probes.language import open_language
    from termwise.probes.manipulations.manipulation_probes import FAMILY as MANIPULATIONS
    from termwise.probes.sources.matching.matched_probes import FAMILY as MATCHED

    judged = JudgedTexts("dl19", {"q": "cats"}, {"d": "a cat"}, {"q": {"d": 1}}, 0)
    material = ProbeInputs(open_language("rules"), frozenset(), (judged,))
    names = {probe.name for family in (MATCHED, MANIPULATIONS) for probe in family.make(material)}
    published = tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))
    ours = {name for name in published["rows"] if name.endswith("@dl19")}
    assert ours <= names
    assert {name.partition("@")[2] for name in published["rows"]} - {"dl19"} == set(bm25_published.FOLDERS)
    assert all(-1 <= row["score"] <= 1 for row in published["rows"].values())


def test_targets_have_verdicts():
    import bm25_published

    row = {"title": "Fluency | X", "probe": "fluency@jfleg", "score": 0.05, "paper": 0.03}
    assert bm25_published._reached(row, 0.1).endswith("difference +0.020: yes.")
    assert bm25_published._reached({**row, "score": -0.02}, 0.1).endswith("NO.")
    assert bm25_published._reached({**row, "score": 0.2}, 0.1).endswith("NO.")
    assert bm25_published._reached({**row, "probe": "tf-by-length@dl19", "score": 1.0}, 0.1).endswith("yes.")


def test_the_published_pipeline_is_an_analyzer():
    import bm25_published

    from termwise.probes.sources.matching.measurements import PublishedTerms
    from termwise.text import Analyzer

    analyzer = bm25_published.PublishedAnalyzer(PublishedTerms(frozenset({"the"})))
    assert isinstance(analyzer, Analyzer)
    assert analyzer.tokens("The running cats") == ["run", "cat"]
    assert analyzer.analyze("The running cats").tokens == ("run", "cat")


def test_later_rankers_are_added_to_published_scores(tmp_path):
    import behaviour

    earlier, later = ({**report(), "facts": {"made": f"2026-0{month}-01"}} for month in (1, 2))
    for one in (earlier, later):
        one["cells"][2]["samples"] = 0
    path = tmp_path / "scores.csv"
    path.write_text(behaviour.csv_text(earlier))
    path.with_suffix(".md").write_text(behaviour.page(earlier, []))
    known = behaviour.published_report(path)
    assert behaviour.csv_text(known) == path.read_text()
    assert behaviour.page(known, []) == path.with_suffix(".md").read_text()

    later["scorers"].append({"name": "new", "effect_rule": {"kind": "constant", "delta": 0.25}})
    later["cells"] += [{**cell, "scorer": "new"} for cell in later["cells"]]
    later["cells"][3].update(score=0.5, p_clustered=0.02, p_holm=0.02)
    found = behaviour.with_later_rankers(known, later)
    assert [one["name"] for one in found["scorers"]] == ["bm25", "new"]
    assert found["cells"][:3] == known["cells"], "published numbers are kept"
    # the section has six cells: Holm multiplies the second smallest p-value by five, and Bonferroni each by six
    assert [cell["p_holm"] for cell in found["cells"][3:]] == [pytest.approx(5 * 0.02), None, None]
    assert found["cells"][3]["p_bonferroni"] == pytest.approx(6 * 0.001)
    text = behaviour.page(found, [])
    assert "- added 2026-02-01: new\n- δ of bm25: 0.5\n- δ of new: 0.25\n" in text
    assert r"| Typos | toy | −0.50 | +0.50\* | 1 |" in text
    later["cells"][0]["neutral"] = 2
    with pytest.raises(SystemExit, match="typos@toy: the scores of bm25 are not the published ones"):
        behaviour.with_later_rankers(known, later)
