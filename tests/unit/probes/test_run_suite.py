"""Suites with several scorers: thresholds, samples, score caches and reports."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import sqlite3
from functools import partial

import numpy as np
import pytest

from termwise.cli.probe_output import _shortfall_lines
from termwise.errors import (
    DataError,
    DuplicateIdError,
    ForeignFolderError,
    ModelFormatError,
    ParameterError,
    StorageError,
    UnknownNameError,
    UsageError,
    WeightError,
)
from termwise.probes import Probe, Sample, run_probe
from termwise.probes.bm25_rankings import bm25_rankings
from termwise.probes.core.effect_rule import ByQuery, ByRank, Constant, effect_rule_for
from termwise.probes.core.expectations import expectation_of
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.reference_rankings import ReferenceRankings
from termwise.probes.core.run_suite import ProbeSamples
from termwise.probes.core.run_suite import run_suite as run_suite_with
from termwise.probes.core.sample import Samples
from termwise.probes.core.statistics import compare, estimate, sweep
from termwise.probes.core.suites import select_probes, suite_named
from termwise.probes.language import open_language
from termwise.probes.manipulations.base import Manipulation, ManipulationProbe
from termwise.probes.report import (
    Assertion,
    csv_text,
    differences,
    failed_assertions,
    latex_text,
    markdown_text,
    page,
    read_report,
    report_of,
    write_report,
)
from termwise.probes.report.contents import spread
from termwise.probes.report.folder import file_name, prepare_folder
from termwise.probes.report.page import marked, report_html
from termwise.probes.report.tables import shortfalls
from termwise.records import Document, Ranking, Run
from termwise.scorers import FunctionScorer, RunScorer, ScoreCache
from termwise.scorers.score_pairs import score_pairs

REFERENCE = ReferenceRankings(
    "toy", {"q": "cat", "r": "dog"}, {"q": ("cat cat cat", "cat", ""), "r": ("dog", "")}
)

CELL = {
    "probe": "p", "scorer": "s", "content": "sha256:0", "samples": 1, "score": 0.5, "low": None, "high": None,
    "p_holm": None,
}  # fmt: skip
"""Required fields of a cell."""

SCORER = {
    "name": "s", "fingerprint": None, "effect_rule": {"kind": "by rank"}, "gaps": None, "skipped": {},
}  # fmt: skip
"""Required fields of a scorer."""

PROBE = {
    "name": "p", "title": "P", "section": "Toy", "symmetric": False, "samples": 1, "needs": "", "expectation": "",
}  # fmt: skip
"""Required fields of a probe."""


class Counting:
    """Scores a text by the occurrences of the query; counts the scored pairs."""

    def __init__(self, name="counting", weight=1.0):
        self.name, self.weight, self.fingerprint, self.scored = name, weight, f"{name} {weight}", []

    def score(self, query, texts):
        return self.score_pairs([query] * len(texts), texts)

    def score_pairs(self, queries, texts):
        pairs = list(zip(queries, texts, strict=True))
        self.scored += pairs
        return np.array([self.weight * text.split().count(query) for query, text in pairs])

    def cut(self, queries, texts):
        return np.array([len(text.split()) > 3 for text in texts])


class Fixed(Probe):
    strategy = "transfer"

    def __init__(self, name, samples, symmetric=False):
        self.name, self.title, self.symmetric, self._samples = name, name.title(), symmetric, samples

    def samples(self, seed):
        yield from self._samples


MORE = Fixed(
    "more@toy",
    [
        Sample("1", "cat", "cat cat", "cat", "q"),
        Sample("2", "cat", "cat cat cat cat cat", "cat", "q"),
        Sample("3", "dog", "dog dog dog", "dog", "r"),
        Sample("4", "dog", "cat", "cat", "r"),
    ],
)
LESS = Fixed("less@toy", [Sample("a", "cat", "", "cat cat cat", "q"), Sample("b", "dog", "dog", "dog", "r")])
EMPTY = Fixed("empty@toy", [])
APART = Fixed("apart@toy", [Sample("a", "cat", "cat cat cat", "cat", "q")], symmetric=True)


def run_suite(scorers, probes, *, cache=None, **options):
    return run_suite_with(scorers, probes, partial(score_pairs, cache=cache), **options)


def samples_of(*probes, **options):
    return [ProbeSamples.of(probe, seed=0, section="Toy", **options) for probe in probes]


@pytest.fixture
def run():
    scorers = [Counting(), Counting("turned", -1.0)]
    return run_suite(scorers, samples_of(MORE, LESS, EMPTY, APART), reference=REFERENCE, facts={"seed": 0})


def test_thresholds_are_the_median_gap_of_each_scorer(run):
    # counting: gaps 2, 1 of the first query and 1 of the second; turned: the same
    assert [one.rule for one in run.scorers] == [Constant(1.0), Constant(1.0)]
    first = run.scorers[0]
    assert first.gaps.tolist() == [1, 1, 2]
    # of the first sample the difference is 1, which is none
    assert first.results["more@toy"].effects.tolist() == [0, 1, 1, 0]
    assert run.scorers[1].results["more@toy"].effects.tolist() == [0, -1, -1, 0]
    assert first.results["less@toy"].effects.tolist() == [-1, 0]
    assert first.results["apart@toy"].effects.tolist() == [1]
    assert first.results["empty@toy"].score is None
    assert first.results["more@toy"].cut.tolist() == [False, True, False, False]


def test_each_pair_is_scored_once_across_runs(tmp_path):
    scorer = Counting()
    with ScoreCache(tmp_path / "scores") as store:
        run_suite([scorer], samples_of(MORE, LESS, APART), reference=REFERENCE, cache=store)
        assert len(scorer.scored) == len(set(scorer.scored)) == len(store)
    again = Counting()
    with ScoreCache(tmp_path / "scores") as store:
        kept = run_suite([again], samples_of(MORE, LESS, APART), reference=REFERENCE, cache=store)
    assert again.scored == []
    assert kept.scorers[0].results["more@toy"].effects.tolist() == [0, 1, 1, 0]


def test_scores_without_a_fingerprint_are_not_stored(tmp_path):
    scorer = Counting()
    scorer.fingerprint = None
    with ScoreCache(tmp_path / "scores") as store:
        run_suite([scorer], samples_of(MORE), delta=0.5, cache=store)
        assert len(store) == 0


def test_results_do_not_depend_on_the_cache_or_the_batch_size(run, monkeypatch):
    monkeypatch.setattr("termwise.scorers.score_pairs._FIRST_BATCH", 1)
    monkeypatch.setattr("termwise.scorers.score_pairs._BATCH_SECONDS", 0.0)
    small = run_suite([Counting()], samples_of(MORE, LESS, EMPTY, APART), reference=REFERENCE)
    for name, result in run.scorers[0].results.items():
        other = small.scorers[0].results[name]
        assert (result.first.tolist(), result.second.tolist()) == (
            other.first.tolist(),
            other.second.tolist(),
        )
        assert result.content == other.content


def test_rules_by_query_and_by_rank():
    lists = {"q": np.array([3.0, 1.0, 0.0]), "r": np.array([1.0, 0.0])}
    assert effect_rule_for(0.5, None) == Constant(0.5)
    assert effect_rule_for("0.5", None) == Constant(0.5)
    assert isinstance(effect_rule_for("by-query", lists), ByQuery)
    assert isinstance(effect_rule_for("by-rank", lists), ByRank)
    for wrong in ("mean", "-1", "nan", "inf", -0.5, float("nan")):
        with pytest.raises(ParameterError):
            effect_rule_for(wrong, lists)
    with pytest.raises(ParameterError, match="rankings"):
        effect_rule_for("median", None)
    found = run_suite([Counting()], samples_of(MORE), delta="by-rank", reference=REFERENCE).scorers[0]
    # one "cat" and two stand between the same documents; five stand above the best; "dog" thrice above "dog" once
    assert found.results["more@toy"].effects.tolist() == [1, 1, 1, 0]
    stranger = Fixed("other@toy", [Sample("1", "yak", "yak", "", "unknown")])
    skipped = run_suite([Counting()], samples_of(stranger), delta="by-query", reference=REFERENCE).scorers[0]
    assert "other@toy" in skipped.skipped
    assert skipped.results == {}


def test_rules_without_rankings_are_refused():
    with pytest.raises(ParameterError, match="rankings"):
        run_suite([Counting()], samples_of(MORE))


def test_scorers_and_probes_have_distinct_names():
    with pytest.raises(DuplicateIdError, match="two scorers"):
        run_suite([Counting(), Counting()], samples_of(MORE), delta=0.1)
    with pytest.raises(DuplicateIdError, match="two probes"):
        run_suite([Counting()], samples_of(MORE, MORE), delta=0.1)
    with pytest.raises(DataError, match="no scorer"):
        run_suite([], samples_of(MORE), delta=0.1)
    with pytest.raises(DataError, match="no probe"):
        run_suite([Counting()], [], delta=0.1)


def test_a_larger_limit_includes_the_samples_of_a_smaller_one():
    many = Fixed("many", [Sample(f"{place}", "cat", "cat", "dog") for place in range(60)])
    some, fewer = (ProbeSamples.of(many, seed=3, limit=limit) for limit in (20, 10))
    assert len(some.samples) == 20
    assert some.omitted == 40
    assert {one.sample_id for one in fewer.samples} < {one.sample_id for one in some.samples}
    assert {one.sample_id for one in ProbeSamples.of(many, seed=4, limit=20).samples} != {
        one.sample_id for one in some.samples
    }
    assert ProbeSamples.of(many, seed=3, limit=100).omitted == 0
    with pytest.raises(ParameterError):
        ProbeSamples.of(many, seed=3, limit=0)


def test_probes_over_the_same_texts_draw_the_same_texts():
    one, other = (
        Fixed(name, [Sample(f"{place}", "cat", f"{name} {place}", "dog") for place in range(60)])
        for name in ("one", "other")
    )
    taken = [
        [sample.sample_id for sample in ProbeSamples.of(probe, seed=3, limit=9).samples]
        for probe in (one, other)
    ]
    assert taken[0] == taken[1]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("name", ""), ("name", None), ("title", 5), ("strategy", b"x"), ("definition", None)],
)
def test_invalid_attributes_of_a_probe_are_refused(attribute, value):
    probe = Fixed("odd@toy", [Sample("1", "cat", "cat cat", "cat", "q")])
    setattr(probe, attribute, value)
    with pytest.raises(ParameterError, match=rf"Fixed.{attribute}"):
        samples_of(probe)
    with pytest.raises(ParameterError, match=rf"Fixed.{attribute}"):
        run_probe(Counting(), probe, Constant(0.0))


def test_manipulations_that_are_not_drawn_are_not_made():
    language = open_language("rules")
    texts = {f"d{place}": f"cats number {place} sleep" if place % 3 else "dogs" for place in range(40)}
    judged = JudgedTexts("toy", {"q": "cats"}, texts, {"q": dict.fromkeys(texts, 1)}, 0)
    made = []

    def shout(text, context):
        made.append(text)
        return text.upper() if text.startswith("cats") else None

    shouted = Manipulation("shouted", "Shouted", "the text in upper case", shout)
    probe = ManipulationProbe(shouted, judged, ProbeInputs(language, frozenset()))
    some = ProbeSamples.of(probe, seed=1, limit=5)
    assert 5 <= len(made) < 40
    assert some.omitted == 40 - len(made)
    assert some.samples == Probe.draw(probe, 1, 5)[0]
    assert (
        len(ProbeSamples.of(probe, seed=1, limit=100).samples)
        == len(ProbeSamples.of(probe, seed=1).samples)
        == 26
    )


def test_a_run_is_probed_with_the_texts_that_it_ranks():
    ranked = Run([Ranking(["a", "b"], [2.0, 1.0], "q")], "ranked")
    scorer = RunScorer(ranked, {"q": "cat"}, {"a": "cat cat", "b": "cat"})
    found = run_suite([scorer, Counting()], samples_of(MORE, LESS), reference=REFERENCE).scorers
    assert found[0].results["more@toy"].sample_ids == ("1",)
    assert found[0].results["more@toy"].effects.tolist() == [1]
    assert "both texts of any pair" in found[0].skipped["less@toy"]
    assert found[1].results["more@toy"].content != found[0].results["more@toy"].content


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda queries, texts: [math.nan] * len(texts), WeightError, "NaN"),
        (lambda queries, texts: [1.0] * (len(texts) + 1), DataError, "one score for each"),
        (lambda queries, texts: 1.0, DataError, "one score for each"),
        (lambda queries, texts: [[1.0]] * len(texts), DataError, "one score for each"),
        (lambda queries, texts: None, DataError, "not numbers"),
        (lambda queries, texts: ["7"] * len(texts), DataError, "not numbers"),
        (lambda queries, texts: [1j] * len(texts), DataError, "not numbers"),
        (lambda queries, texts: [10**400] * len(texts), DataError, "OverflowError"),
        (lambda queries, texts: (1.0 for _ in texts), DataError, "generator"),
        (lambda queries, texts: texts[len(texts)], DataError, "IndexError"),
    ],
)
def test_invalid_scores_are_refused(answer, error, message):
    with pytest.raises(error, match=message):
        run_suite([FunctionScorer(answer, name="odd")], samples_of(MORE), delta=0.1)


def test_the_error_of_a_failing_function_names_its_line():
    def divides(queries, texts):
        return [1 / 0]

    with pytest.raises(DataError) as caught:
        FunctionScorer(divides, name="odd").score("cat", ["dog"])
    assert "ZeroDivisionError: division by zero" in str(caught.value)
    assert "test_run_suite.py, line" in str(caught.value)
    assert "in divides" in str(caught.value)


@pytest.mark.parametrize("given", [[1, True, 2.5], np.array([1, 1, 2], dtype=np.int8), (np.float32(1), 1, 3)])
def test_numbers_of_all_kinds_are_scores(given):
    found = FunctionScorer(lambda queries, texts: given, name="odd").score("cat", ["dog"] * 3)
    assert found.dtype == np.float64
    assert found[:2].tolist() == [1.0, 1.0]


def test_duplicate_pairs_are_scored_once():
    scorer = Counting()
    assert score_pairs(scorer, [("cat", "cat"), ("cat", "cat"), ("cat", "dog")]) == {
        ("cat", "cat"): 1.0,
        ("cat", "dog"): 0.0,
    }
    assert len(scorer.scored) == 2
    assert score_pairs(scorer, []) == {}


def test_reference_rankings_of_a_run_and_of_bm25():
    documents = [
        Document(str(place), text) for place, text in enumerate(["cat cat", "cat dog", "dog", "yak"])
    ]
    lists = bm25_rankings({"q": "cat", "r": "none such"}, lambda: iter(documents), depth=2)
    assert {query_id: set(texts) for query_id, texts in lists.candidates.items()} == {
        "q": {"cat cat", "cat dog"}
    }
    run_ = Run([Ranking(["3", "gone", "0", "1"], [4.0, 3.0, 2.0, 1.0], "q")], "mine")
    taken = ReferenceRankings.of_run(run_, {"q": "cat"}, documents, depth=3)
    assert taken.candidates == {"q": ("yak", "cat cat")}
    with pytest.raises(DataError, match="two candidates"):
        ReferenceRankings.of_run(run_, {"other": "cat"}, documents)


def test_contents_of_a_report(run):
    report = report_of(run)
    cells = {(cell["probe"], cell["scorer"]): cell for cell in report["cells"]}
    more = cells["more@toy", "counting"]
    assert (more["score"], more["positive"], more["neutral"], more["negative"]) == (0.5, 2, 2, 0)
    assert (more["samples"], more["queries"], more["identical"], more["cut"]) == (4, 2, 1, 1)
    assert more["by_query"] == 0.5
    empty = cells["empty@toy", "counting"]
    assert [
        empty[name] for name in ("score", "low", "p_clustered", "p_published", "p_bonferroni", "by_query")
    ] == [None] * 6
    assert cells["apart@toy", "counting"]["p_published"] is None
    assert cells["apart@toy", "counting"]["p_clustered"] is None
    # two scorers and four probes: eight cells, of which all count in the correction
    assert more["p_bonferroni"] == pytest.approx(min(1.0, 8 * more["p_published"]))
    assert [one["sample"] for one in more["examples"]] == ["2", "3"]
    contrast = {one["probe"]: one for one in report["comparisons"]}
    assert contrast["more@toy"]["difference"] == -1.0
    assert contrast["more@toy"]["baseline"] == "counting"
    assert "empty@toy" not in contrast
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_samples_on_which_two_scorers_disagree(run):
    """The sample with the largest difference of effects, then of scores, in the direction of the scores."""
    contrast = {one["probe"]: one for one in report_of(run)["comparisons"]}
    assert list(contrast) == ["more@toy", "less@toy", "apart@toy"]
    assert (contrast["more@toy"]["sample"]["sample"], contrast["more@toy"]["sample"]["query"]) == ("2", "cat")
    assert contrast["more@toy"]["sample"]["scores"] == [[5.0, 1.0, 1], [-5.0, -1.0, -1]]
    assert contrast["less@toy"]["sample"]["scores"] == [[0.0, 3.0, -1], [0.0, -3.0, 1]]
    assert contrast["apart@toy"]["sample"] is None, "both tell the texts apart"
    assert all(one["sample"] is None for one in report_of(run, examples=0)["comparisons"])


def test_infinite_differences_disagree_too():
    odd = FunctionScorer(
        lambda queries, texts: [-math.inf if "cat" in text else 0.0 for text in texts], name="odd"
    )
    report = report_of(run_suite([Counting(), odd], samples_of(LESS), delta=0.1))
    (contrast,) = report["comparisons"]
    assert contrast["sample"]["scores"] == [[0.0, 3.0, -1], [0.0, "-inf", 1]]
    assert "-inf" in report_html(report)


def test_infinite_scores_can_be_reported():
    scorer = FunctionScorer(
        lambda queries, texts: [-math.inf if "cat" in text else 0.0 for text in texts], name="odd"
    )
    run = run_suite([scorer], samples_of(LESS), delta=0.1)
    cell = report_of(run)["cells"][0]
    assert cell["score"] == 0.5
    assert cell["p_published"] is None
    assert cell["examples"][0]["scores"] == [0.0, "-inf"]
    json.dumps(report_of(run), allow_nan=False)


def test_spread_of_the_seeds_of_one_model():
    scorers = [Counting("mine@1"), Counting("mine@2", -1.0), Counting("other")]
    (found,) = spread(run_suite(scorers, samples_of(MORE, LESS, EMPTY), delta=0.0))
    assert (found["model"], found["seeds"]) == ("mine", 2)
    # more: .75 and -.75; less: -.5 and .5; deviations with n - 1
    expected = math.sqrt((2 * 0.75**2 + 2 * 0.5**2) / 2)
    assert found["sections"]["Toy"] == {"deviation": pytest.approx(expected), "probes": 2}
    assert found["sign_flips"] == ["more@toy", "less@toy"]


def test_tables(run):
    report = report_of(run)
    text = markdown_text(report)
    assert "| More@Toy | toy | +0.50\\* | −0.50\\* | 4 |" in text
    assert "| Empty@Toy | toy | – | – | 0 |" in text
    assert "| Apart@Toy | toy | 1.00 | 1.00 | 1 |" in text
    rows = list(csv.DictReader(io.StringIO(csv_text(report))))
    assert len(rows) == 8
    assert {row["score"] for row in rows if row["probe"] == "empty@toy"} == {""}
    latex = latex_text(report)
    assert latex.startswith("% seed: 0\n% δ of counting: ")
    assert r"$-0.50^{*}$" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1


def test_csv_has_no_formulas():
    report = report_of(run_suite([Counting("=cmd|x")], samples_of(MORE), delta=0.0))
    assert ",'=cmd|x," in csv_text(report)


def test_latex_does_not_read_a_title_as_an_argument():
    odd = Fixed("odd@toy", [Sample("1", "cat", "cat cat", "cat", "q")])
    for title in ("[2ex] more", "*starred*"):
        odd.title = title
        text = latex_text(report_of(run_suite([Counting()], samples_of(odd), delta=0.0)))
        assert f"\n{{}}{title} & " in text


def test_a_report_has_the_lengths_of_texts():
    probe = Fixed(
        "long@toy",
        [Sample("1", "q", "a b c", "a"), Sample("2", "q", "a b", "b c"), Sample("3", "q", "a", "a b")],
    )
    report = report_of(run_suite([Counting()], samples_of(probe, EMPTY), delta=0.5))
    lengths = {one["name"]: one["lengths"] for one in report["probes"]}
    assert lengths == {
        "long@toy": {"first": 2.0, "second": 5 / 3, "longer": 1, "shorter": 1},
        "empty@toy": None,
    }
    shown = report_html(report)
    assert "Words: 2.0 in the first text and 1.7 in the second, on average" in shown
    assert "the first is longer in 1 pairs and shorter in 1." in shown.replace("\n", " ")
    row = next(csv.DictReader(csv_text(report).splitlines()))
    assert (row["words_first"], row["first_longer"], row["first_shorter"]) == ("2.0", "1", "1")


def test_the_page_explains_why_a_probe_has_no_pair():
    empty = Fixed("attack@toy", [])
    empty.needs = "texts that were judged not relevant"
    shown = report_html(report_of(run_suite([Counting()], samples_of(MORE, empty), delta=0.5)))
    assert "No pair of these texts fits: there are no texts that were judged not relevant." in shown


def report_with(expectation, name="more@toy", score=1.0, samples=4, symmetric=False):
    """Return a report of one ranker with one probe."""
    made = report_of(run_suite([Counting()], samples_of(Fixed(name, MORE._samples, symmetric)), delta=0.5))
    made["probes"][0] |= {"expectation": expectation, "samples": samples}
    made["cells"][0] |= {"score": score, "samples": samples}
    return made


@pytest.mark.parametrize(
    ("expectation", "score", "away"),
    [
        ("first", 1.0, None),
        ("first", 0.5, 0.5),
        ("first", 0.6, None),
        ("second", 1.0, 2.0),
        ("neither", -0.75, 0.75),
        ("", 1.0, None),
        ("first", None, None),
    ],
)
def test_shortfalls_are_scores_far_from_the_expected_one(expectation, score, away):
    ((scorer, found),) = shortfalls(report_with(expectation, score=score)).items()
    assert scorer == "counting"
    assert [one.distance for one in found] == ([] if away is None else [away])


@pytest.mark.parametrize(
    ("p", "symmetric", "mark"),
    [
        (0.01, False, ""),
        (0.2, False, ", not significant"),
        (None, False, ", not significant"),
        (None, True, ""),
    ],
)
def test_shortfalls_say_what_is_not_significant(p, symmetric, mark):
    probes = [Fixed(name, MORE._samples, symmetric) for name in ("a@toy", "b@toy")]
    made = report_of(run_suite([Counting()], samples_of(*probes), delta=0.5))
    for probe in made["probes"]:
        probe |= {"expectation": "neither", "samples": 4}
    for cell in made["cells"]:
        cell |= {"score": 1.0, "samples": 4, "p_holm": p}
    score = "1.00" if symmetric else "+1.00"
    parts = ", ".join(f"{name} {score} (expected: 0{mark})" for name in ("a@toy", "b@toy"))
    assert list(_shortfall_lines(made)) == [f"counting is furthest from the expected score on {parts}"]
    made["probes"] = made["probes"][:1]
    assert list(_shortfall_lines(made)) == []  # one probe has no others to compare with


def test_a_section_has_two_shortfalls_and_a_probe_one():
    names = ["a@toy", "a@more", "b@toy", "c@toy"]
    made = report_of(
        run_suite([Counting()], samples_of(*(Fixed(name, MORE._samples) for name in names)), delta=0.5)
    )
    for probe, cell, score in zip(made["probes"], made["cells"], (0.6, 0.9, 0.8, 0.7), strict=True):
        probe["expectation"] = "neither"
        cell["score"] = score
    assert [one.row.probe["name"] for one in shortfalls(made)["counting"]] == ["a@more", "b@toy"]


def test_the_page_shows_expected_scores():
    shown = report_html(report_with("second"))
    assert "Furthest from the expected score" in shown
    assert '<td class="number texts">−1</td>' in shown
    assert "rgba(194, 65, 12" in shown, "not as expected"
    assert "rgba(10, 98, 169" in report_html(report_with("first"))
    assert 'id="expected"' not in report_html(report_with("first"))
    assert "rgba(124, 58, 237" in report_html(report_with("", symmetric=True))


def test_expectations_by_name_and_by_probe():
    odd = Fixed("more@toy", [])
    odd.expectation = "third"
    with pytest.raises(ParameterError, match=r"Fixed\.expectation"):
        ProbeSamples.of(odd, seed=0)
    odd.expectation, odd.symmetric = "first", True
    with pytest.raises(ParameterError, match=r"Fixed\.expectation"):
        ProbeSamples.of(odd, seed=0)
    assert expectation_of(MORE) == ""
    assert expectation_of(Fixed("typos-higher@toy", [])) == "neither"
    assert expectation_of(Fixed("factuality@toy", [], symmetric=True)) == "", "neither text comes first"


def test_names_are_escaped_in_markdown(run):
    report = report_of(run)
    report["scorers"][0]["name"] = "<script>alert(1)</script> `a` [b](c) _d_ e_f"
    heading = next(line for line in markdown_text(report).splitlines() if line.startswith("| probe"))
    assert r"\<script\>alert(1)\</script\> \`a\` \[b\](c) \_d\_ e_f" in heading


def test_the_page_is_complete_and_has_no_external_resources(run):
    shown = report_html(report_of(run))
    assert "<script" not in shown
    assert "http" not in shown.replace("http-equiv", "")
    assert shown.count('class="map"') == 1
    assert "distinguished" in shown
    assert shown.count("<polyline") == 6
    assert shown.index('href="#c0"') < shown.index('id="c0"')
    assert "Samples on which they disagree most" in shown
    anchors = set(re.findall(r'id="([^"]+)"', shown))
    assert set(re.findall(r'href="#([^"]+)"', shown)) <= anchors
    assert report_html(report_of(run)) == shown


def test_layout_of_the_page(run):
    document = report_html(report_of(run))
    assert "prefers-color-scheme: dark" in document
    assert document.index('class="map"') < document.index("<h2>Rankers</h2>")
    assert document.count("<table") == len(re.findall(r'<div class="scroll">\s*<table', document))


def test_texts_are_escaped_on_the_page():
    odd = Fixed("odd", [Sample("<i>", "cat", "<b>cat</b> cat", "a </p><script>alert(1)</script>", "q")])
    shown = report_html(report_of(run_suite([Counting("<b>")], samples_of(odd), delta=0.0)))
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_words_of_one_text_only_are_marked():
    assert marked("", "") == ((), ())
    first, second = marked("one two three", "one 2 three four")
    assert [part for kind, part in first if kind == "only"] == ["two"]
    assert [part for kind, part in second if kind == "only"] == ["2", "four"]
    assert "".join(part for _, part in second) == "one 2 three four"
    wide, _ = marked("one  two", "one two")
    assert [part for kind, part in wide if kind == "only"] == ["  two"], "blanks are what differs"


@pytest.mark.parametrize(
    ("scores", "written"),
    [
        ((12.3456, 12.3), ("12.35", "12.30")),
        ((0.00123456, 0.5), ("0.0012", "0.5000")),
        ((12.34561, 12.34562), ("12.34561", "12.34562")),
        ((0.0, 0.0), ("0.00", "0.00")),
        ((123456.0, -1.0), ("123456", "-1")),
        ((1.0, "-inf"), ("1", "-inf")),
        ((1.0, 1.0 + 2**-52), ("1.0000000000000000", "1.0000000000000002")),
    ],
)
def test_different_scores_of_a_sample_are_written_differently(scores, written):
    assert page._score_pair(*scores) == written


def test_the_page_has_the_definition_of_a_probe():
    defined = Fixed("more@toy", MORE._samples)
    defined.definition = "First: the <b>one</b>. Second: the other."
    shown = report_html(report_of(run_suite([Counting()], samples_of(defined, EMPTY, APART), delta=0.5)))
    assert "First: the &lt;b&gt;one&lt;/b&gt;. Second: the other." in shown
    assert "No pair of these texts fits." in shown
    assert "distinguished</span>" in shown, "neither text of a symmetric probe is preferred"
    assert "the first is preferred" in shown
    assert "line of counting" not in shown, "there are no gaps, and no curves"
    assert "differ by at most δ" in shown


def test_seeds_have_a_section_and_a_link():
    scorers = [Counting("mine@1"), Counting("mine@2", -1.0)]
    shown = report_html(report_of(run_suite(scorers, samples_of(MORE), delta=0.5)))
    assert shown.index('href="#m0"') < shown.index('id="m0"')


def test_seeds_have_tables(tmp_path):
    scorers = [Counting("a_b@1"), Counting("a_b@2", -1.0)]
    run = run_suite(scorers, samples_of(MORE), delta=0.5)
    report = report_of(run)
    # .75 and -.75: the deviation is 1.0607
    assert "| Toy | 1.061 | 1 |" in markdown_text(report)
    assert "The sign of the score depends on the seed: more@toy." in markdown_text(report)
    assert r"\caption{a\_b: 2 seeds." in latex_text(report)
    assert r"Toy & $1.061$ & 1 \\" in latex_text(report)
    out = tmp_path / "out"
    write_report(out, report, run)
    (row,) = csv.DictReader(io.StringIO((out / "seeds.csv").read_text()))
    assert (row["model"], row["seeds"], row["section"], row["probes"]) == ("a_b", "2", "Toy", "1")
    assert float(row["deviation"]) == pytest.approx(1.5 / math.sqrt(2))
    other = run_suite(scorers[:1], samples_of(MORE), delta=0.5)
    write_report(out, report_of(other), other)
    assert not (out / "seeds.csv").exists(), "of an earlier report"


def test_consistent_is_the_share_of_queries_with_effects_of_1_only(run):
    cells = {(one["probe"], one["scorer"]): one for one in report_of(run)["cells"]}
    # of q and r, with effects 0 1 and 1 0: none; apart: the one that there is
    assert cells["more@toy", "counting"]["consistent"] == 0.0
    assert cells["apart@toy", "counting"]["consistent"] == 1.0
    assert cells["empty@toy", "counting"]["consistent"] is None


def test_the_area_is_the_mean_of_the_sweep(run):
    cell = next(one for one in report_of(run)["cells"] if one["probe"] == "more@toy")
    result = run.scorers[0].results["more@toy"]
    assert cell["area"] == sweep(result, run.scorers[0].gaps).area
    assert cell["area"] == pytest.approx(np.mean(cell["sweep"]), abs=0.05)


def test_equal_scorers_have_no_difference():
    shown = report_html(report_of(run_suite([Counting(), Counting("b")], samples_of(MORE), delta=0.5)))
    assert "Equal on 1 probe." in shown


def test_a_folder_is_written_and_read(run, tmp_path):
    report = report_of(run)
    write_report(tmp_path / "out", report, run)
    assert read_report(tmp_path / "out") == report
    names = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert {"report.html", "report.md", "report.csv", "report.tex", "report.json"} <= names
    lines = (
        gzip.decompress((tmp_path / "out" / "samples" / "more@toy.jsonl.gz").read_bytes())
        .decode()
        .splitlines()
    )
    assert json.loads(lines[0]) == {
        "sample": "1", "query_id": "q", "query": "cat", "first": "cat cat", "second": "cat", "facts": {},
    }  # fmt: skip
    results = gzip.decompress(
        (tmp_path / "out" / "results" / "more@toy+counting.jsonl.gz").read_bytes()
    ).decode()
    assert [json.loads(line).get("effect") for line in results.splitlines()] == [None, 0, 1, 1, 0]
    prepare_folder(tmp_path / "out")
    prepare_folder(tmp_path / "new")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    for place in ("other", "other/mine.txt"):
        with pytest.raises(ForeignFolderError):
            prepare_folder(tmp_path / place)
    with pytest.raises(StorageError):
        prepare_folder(tmp_path / "other" / "mine.txt" / "under")


@pytest.mark.parametrize("text", ["", "{}", '{"format": "termwise-probes", "version": 9}', "[1]"])
def test_files_that_are_no_report_are_refused(text, tmp_path):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ModelFormatError):
        read_report(tmp_path)


def test_assertions(run):
    report = report_of(run)
    found = failed_assertions([Assertion.read("more<-0.3")], report)
    assert [cell["scorer"] for _, cell in found] == ["turned"]
    assert failed_assertions([Assertion.read("counting:more<-0.3"), Assertion.read("*@toy<-1")], report) == []
    assert len(failed_assertions([Assertion.read("*@toy>=−1")], report)) == 6
    with pytest.raises(UnknownNameError, match="mroe"):
        failed_assertions([Assertion.read("mroe<0")], report)
    for wrong in ("", "more", "more<", "<0.3", "more=0.3", "more<x", "more<0.3.4", "more<>1"):
        with pytest.raises(UsageError):
            Assertion.read(wrong)


def test_changes_between_reports(run):
    old = report_of(run)
    assert {one.state for one in differences(old, old)} == {"same"}
    new = report_of(
        run_suite([Counting(weight=-1.0), Counting("new")], samples_of(MORE, EMPTY), reference=REFERENCE)
    )
    states = {(one.probe, one.scorer): one.state for one in differences(old, new)}
    assert states["more@toy", "counting"] == "changed"
    assert states["empty@toy", "counting"] == "same"
    assert states["more@toy", "new"] == "added"
    assert states["less@toy", "turned"] == "gone"
    other = report_of(run_suite([Counting()], samples_of(MORE, limit=2), reference=REFERENCE))
    assert {one.state for one in differences(old, other) if one.state != "gone"} == {"other samples"}


def test_an_assertion_that_can_never_fail_is_refused(run):
    report = report_of(run)
    with pytest.raises(UsageError, match="can never fail") as caught:
        failed_assertions([Assertion.read("empty<=1")], report)
    assert ("empty@toy", "there is no pair in these texts") in caught.value.facts
    report["cells"] = [cell for cell in report["cells"] if cell["probe"] != "less@toy"]
    report["scorers"][0]["skipped"] = {"less@toy": "it rests"}
    with pytest.raises(UsageError, match="can never fail") as caught:
        failed_assertions([Assertion.read("counting:less<1")], report)
    assert ("less@toy", "skipped for counting: it rests") in caught.value.facts
    with pytest.raises(UnknownNameError, match="unknown ranker in an assertion") as unknown:
        failed_assertions([Assertion.read("countign:more<1")], report)
    assert unknown.value.fixes == ("did you mean counting?",)
    with pytest.raises(UsageError, match="a probe, a sign and a number"):
        Assertion.read("more<\u0663")


class Summed(Counting):
    """Returns the terms of its scores in another order each time."""

    def __init__(self, order, factor=1.0):
        super().__init__("summed")
        self._order, self._factor = order, factor

    def contributions(self, query, text):
        return [(term, self._factor * text.count(term)) for term in self._order]


def test_a_report_does_not_depend_on_the_order_of_terms():
    one, other = (
        report_of(run_suite([Summed(order)], samples_of(MORE, LESS), delta=0.0)) for order in ("ctao", "otac")
    )
    assert one["cells"][0]["examples"][0]["terms"][0] == [["a", 5.0], ["c", 5.0], ["o", 0.0], ["t", 5.0]]
    assert one == other
    assert report_html(one) == report_html(other)
    infinite = report_of(run_suite([Summed("cat", math.inf)], samples_of(MORE), delta=0.0))
    assert "terms" not in infinite["cells"][0]["examples"][0]


@pytest.mark.parametrize("weight", [1e-300, 1e-200, 2.0**-40, 1e200, 1e307])
@pytest.mark.filterwarnings("error")
def test_results_do_not_depend_on_the_scale_of_scores(run, weight):
    scaled = run_suite([Counting(weight=weight)], samples_of(MORE, LESS), reference=REFERENCE)
    expected = {cell["probe"]: cell for cell in report_of(run)["cells"] if cell["scorer"] == "counting"}
    report = report_of(scaled)
    json.dumps(report, allow_nan=False)
    for cell in report["cells"]:
        for name in ("score", "standardised_difference", "p_published", "p_clustered"):
            value = expected[cell["probe"]][name]
            assert cell[name] == (None if value is None else pytest.approx(value)), name


@pytest.mark.filterwarnings("error")
def test_differences_beyond_the_range_of_floats():
    scorer = FunctionScorer(
        lambda queries, texts: [1.7e308 if "cat" in text else -1.7e308 for text in texts], name="wide"
    )
    report = report_of(run_suite([scorer], samples_of(LESS), reference=REFERENCE))
    json.dumps(report, allow_nan=False)
    assert report["cells"][0]["score"] == -0.5


def test_a_number_of_resamples_is_at_least_1(run):
    for result in (result for scorer in run.scorers for result in scorer.results.values()):
        with pytest.raises(ParameterError, match="resamples"):
            estimate(result, resamples=0)
        with pytest.raises(ParameterError, match="resamples"):
            compare(result, result, resamples=0)


@pytest.mark.parametrize("field", ["sample_id", "query", "first", "second", "query_id", "second_query"])
def test_unpaired_surrogates_in_samples_are_refused(field):
    given = {"sample_id": "1", "query": "q", "first": "a", "second": "b", field: "one \ud800 a"}
    with pytest.raises(ParameterError, match="surrogate") as caught:
        Sample(**given)
    assert ("field", field) in caught.value.facts


@pytest.mark.parametrize("given", [1, None, "a", ("1", "q", "a", "b")])
def test_invalid_samples_are_refused(given):
    with pytest.raises(ParameterError, match="yields samples"):
        Samples.of([given])


def test_samples_without_an_identifier_have_a_hash():
    one, other = Sample("", "q", "a", "b"), Sample("", "q", "a", "b", second_query="r")
    assert one == Sample("", "q", "a", "b")
    assert one.sample_id != other.sample_id
    assert len(Samples.of([one, other])) == 2


@pytest.mark.parametrize("facts", [{"set": {1}}, {"made by": object()}, ["a"], None])
def test_facts_of_a_sample_are_checked_when_it_is_made(facts):
    with pytest.raises(ParameterError, match="the facts of a sample"):
        Sample("1", "q", "a", "b", facts=facts)


def test_file_names_are_distinct_and_short():
    odd = ["a b", "a-b", "a+b", "a/b", "a" * 400, "a" * 401, "\u732b" * 100, "\ud800", "", "..", "mine"]
    names = [file_name(name) for name in odd]
    assert len(set(names)) == len(odd)
    assert names[1] == "a-b"
    assert names[-1] == "mine"
    assert not any("/" in name for name in names)
    assert max(len(f".{name}+{name}.jsonl.gz.01234567.tmp".encode()) for name in names) <= 255
    assert file_name(names[0].replace("~", "-")) != names[0]


def test_scorers_with_similar_names_have_separate_files(tmp_path):
    run_ = run_suite(
        [Counting(name) for name in ("a b", "a-b", "a+b", "x" * 300)], samples_of(MORE), delta=0.0
    )
    write_report(tmp_path, report_of(run_), run_)
    assert len(list((tmp_path / "results").iterdir())) == 4


def test_a_name_with_bytes_that_are_not_utf8_is_written(tmp_path):
    run_ = run_suite(
        [Counting("bad\udcff")], samples_of(MORE), delta=0.0, facts={"suites": ["bad\udcff.yaml"]}
    )
    report = report_of(run_)
    write_report(tmp_path, report, run_)
    assert read_report(tmp_path) == report


def test_an_interrupted_report_leaves_the_earlier_one(run, tmp_path):
    out = tmp_path / "out"
    report = report_of(run)
    write_report(out, report, run)
    before = contents(out)
    with pytest.raises(ValueError, match="JSON"):
        write_report(out, {**report, "facts": {"odd": math.nan}}, run)
    assert contents(out) == before

    (out / "report.md").unlink()
    (out / "report.md").mkdir()  # what is written late cannot be
    with pytest.raises(StorageError, match="cannot be written"):
        write_report(out, {**report, "facts": {"other": 1}}, run)
    assert contents(out) == {name: body for name, body in before.items() if name != "report.md"}
    (out / "report.md").rmdir()
    write_report(out, report, run)
    assert contents(out) == before


def contents(out):
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("report.json", b'{"jest": true}', "report.json is not a report of probes"),
        ("report.json", b"not json", "report.json cannot be read: Expecting value"),
        ("report.json", b"[]", "report.json cannot be read: it is not a JSON object"),
        ("scores.sqlite", b"text", "scores.sqlite is not a score cache"),
        ("scores.sqlite", b"SQLite format 3\0" + bytes(84), "scores.sqlite is not a score cache"),
        ("notes.txt", b"mine", "it has neither report.json nor scores.sqlite"),
    ],
)
def test_folders_with_other_files_are_refused(run, tmp_path, name, body, why):
    (tmp_path / name).write_bytes(body)
    (tmp_path / "report.html").write_text("mine")
    before = contents(tmp_path)
    for attempt in (lambda: prepare_folder(tmp_path), lambda: write_report(tmp_path, report_of(run), run)):
        with pytest.raises(ForeignFolderError) as caught:
            attempt()
        assert dict(caught.value.facts)["reason"].startswith(why)
    assert contents(tmp_path) == before


def test_an_interrupted_run_continues_in_its_folder(tmp_path):
    (tmp_path / "scores.sqlite").write_bytes(b"")
    prepare_folder(tmp_path, is_score_file=ScoreCache.is_at)
    with ScoreCache(tmp_path / "scores.sqlite") as store:
        store.add("a", ["q"], ["t"], [1.0])
    prepare_folder(tmp_path, is_score_file=ScoreCache.is_at)
    before = contents(tmp_path)
    with ScoreCache(tmp_path / "scores.sqlite") as store:
        assert len(store) == 1
    assert contents(tmp_path) == before
    (tmp_path / "samples").write_text("mine")
    with pytest.raises(StorageError, match="samples"):
        prepare_folder(tmp_path, is_score_file=ScoreCache.is_at)


def test_another_database_is_no_score_cache(tmp_path):
    path = tmp_path / "scores.sqlite"
    ScoreCache(path).close()
    with sqlite3.connect(path) as opened:
        opened.execute("ALTER TABLE scores RENAME COLUMN score TO mark")
    with pytest.raises(DataError, match="cannot read the file as a cache of scores") as caught:
        ScoreCache(path)
    assert ("columns", "scorer, pair, mark") in caught.value.facts
    with ScoreCache(tmp_path / "other.sqlite") as store:
        with sqlite3.connect(tmp_path / "other.sqlite") as opened:
            opened.execute("DROP TABLE scores")
        with pytest.raises(DataError, match="no such table"):
            store.find("a", ["q"], ["t"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"cells": None}, "cells is None"),
        ({"cells": [1]}, r"cells\[0\] is 1"),
        ({"cells": [{}]}, r"cells\[0\].probe is missing"),
        ({"cells": [{**CELL, "p_holm": "x"}]}, r"cells\[0\].p_holm is 'x', not a number from 0 to 1 or null"),
        ({"probes": [{"name": "p", "title": "P", "section": 5}]}, r"probes\[0\].section is 5"),
        (
            {"scorers": [SCORER | {"effect_rule": {"kind": "constant"}}]},
            r"scorers\[0\].effect_rule.delta is missing",
        ),
        ({"scorers": [SCORER | {"skipped": {"p": 5}}]}, r"scorers\[0\].skipped.p is 5, not a text"),
        ({"comparisons": [5]}, r"comparisons\[0\] is 5"),
        ({"spread": [{"model": "m", "seeds": 2, "sections": {"a": 1}, "sign_flips": []}]}, "sections.a is 1"),
        ({"spread": [{"model": "m", "seeds": 2, "sections": {}, "sign_flips": [1]}]}, "not a list of texts"),
        ({"facts": {"not made": {"fix": "typos"}}}, "facts.not made.fix is 'typos'"),
        ({"facts": {"not made": None}}, "facts.not made is None, not a dict"),
        ({"facts": {"not made": []}}, r"facts.not made is \[\], not a dict"),
        ({"cells": [{**CELL, "score": "x"}]}, r"cells\[0\].score is 'x'"),
        ({"cells": [{**CELL, "low": True}]}, r"cells\[0\].low is True"),
        ({"cells": [{**CELL, "content": 1}]}, r"cells\[0\].content is 1"),
        ({"cells": [{**CELL, "samples": "1"}]}, r"cells\[0\].samples is '1', not a whole number"),
        ({"probes": {}}, "probes is {}"),
        (
            {"probes": [{**PROBE, "expectation": "third"}]},
            r"probes\[0\].expectation is 'third', not one of 'first'",
        ),
        ({"probes": [{**PROBE, "expectation": []}]}, r"probes\[0\].expectation is \[\]"),
        ({"probes": [{**PROBE, "needs": 5}]}, r"probes\[0\].needs is 5, not a text"),
        ({"version": [1]}, "version"),
        ({"version": True}, "version"),
        ({"cells": [CELL, CELL]}, r"cells\[1\] is a duplicate of 'p', 's'"),
        ({"scorers": [SCORER, SCORER]}, r"scorers\[1\] is a duplicate of 's'"),
        ({"cells": [CELL]}, r"cells\[0\].probe is 'p', which is not among the probes"),
        ({"cells": [{**CELL, "score": 17}]}, r"cells\[0\].score is 17, not a number from −1 to 1"),
        ({"cells": [{**CELL, "p_holm": -0.5}]}, r"cells\[0\].p_holm is -0.5"),
        ({"format": ["termwise-probes"]}, "format"),
        ({"facts": {"odd": math.nan}}, "NaN"),
    ],
)
def test_a_report_with_invalid_fields_is_refused(run, tmp_path, change, why):
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**report_of(run), **change}))
    with pytest.raises(ModelFormatError, match=why):
        read_report(path)


def test_infinite_numbers_in_a_report_are_refused(run, tmp_path):
    text = json.dumps({**report_of(run), "odd": 0.125})
    (tmp_path / "report.json").write_text(text.replace("0.125", "1e999"))
    with pytest.raises(ModelFormatError, match="1e999"):
        read_report(tmp_path)


def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "report.json")
    with pytest.raises(ModelFormatError, match="a named pipe, not a regular file"):
        read_report(tmp_path)


def test_a_report_of_another_version_is_not_replaced(run, tmp_path):
    write_report(tmp_path, report_of(run), run)
    (tmp_path / "report.json").write_text(json.dumps({**report_of(run), "version": 1}))
    before = contents(tmp_path)
    with pytest.raises(ModelFormatError, match="another version"):
        write_report(tmp_path, report_of(run), run)
    assert contents(tmp_path) == before


def test_a_linked_folder_is_written_at_its_target(run, tmp_path):
    out, place = tmp_path / "out", tmp_path / "real.json"
    write_report(out, report_of(run), run)
    (out / "report.json").rename(place)
    (out / "report.json").symlink_to(place)
    write_report(out, report_of(run), run)
    assert (out / "report.json").is_symlink()
    assert read_report(out) == report_of(run)


def test_a_report_that_is_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "report.json").write_text("[" * 100_000)
    with pytest.raises(ModelFormatError, match="deeply"):
        read_report(tmp_path)


def test_rankings_are_those_of_the_queries_of_one_collection():
    ours = ReferenceRankings("toy", REFERENCE.queries, REFERENCE.candidates, judged="toy")
    same = Fixed("same@other", [Sample("1", "cat", "cat cat", "cat", "q")])
    said_otherwise = Fixed("clash@toy", [Sample("1", "cats, please", "cat cat", "cat", "q")])
    for rule in ("by-query", "by-rank"):
        found = run_suite(
            [Counting()], samples_of(MORE, same, said_otherwise), delta=rule, reference=ours
        ).scorers[0]
        assert set(found.results) == {"more@toy"}
        assert found.skipped == {
            "same@other": "the rankings are of queries of toy, its queries of other",
            "clash@toy": "1 of its queries have no ranking",
        }
        unnamed = run_suite([Counting()], samples_of(same, said_otherwise), delta=rule, reference=REFERENCE)
        assert set(unnamed.scorers[0].results) == {"same@other"}
    constant = run_suite([Counting()], samples_of(same, said_otherwise), delta="median", reference=ours)
    assert constant.scorers[0].skipped == {}


def test_a_query_with_one_candidate_has_no_ranking():
    lists = ReferenceRankings("toy", {"q": "cat", "r": "dog"}, {"q": ("cat cat", "cat"), "r": ("dog",)})
    found = run_suite([Counting()], samples_of(MORE), delta="by-query", reference=lists).scorers[0]
    assert found.skipped == {"more@toy": "1 of its queries have no ranking"}


def test_an_invalid_threshold_is_refused_before_scoring():
    scorer = Counting()
    for wrong, fix in (
        ("medain", "did you mean median?"),
        ("-1", "use `delta='median'`"),
        ("nan", "use `delta='median'`"),
    ):
        with pytest.raises(ParameterError, match="or the name of a rule") as caught:
            run_suite([scorer], samples_of(MORE), delta=wrong, reference=REFERENCE)
        assert caught.value.fixes_worded()[0] == fix
    ranked = RunScorer(Run([Ranking(["a"], [1.0], "q")], "ranked"), {"q": "cat"}, {"a": "cat"})
    with pytest.raises(ParameterError, match="or the name of a rule"):
        run_suite([ranked], samples_of(MORE), delta="words")
    assert scorer.scored == []


def test_queries_for_which_bm25_finds_nothing():
    with pytest.raises(DataError, match="BM25 finds two documents") as caught:
        bm25_rankings({"q": "zebra"}, lambda: iter([Document("1", "cat")]), name="pets")
    assert ("collection", "pets") in caught.value.facts
    assert any("collection=" in fix for fix in caught.value.fixes_worded())


def test_every_pattern_of_a_suite_matches_a_probe():
    made = [MORE, Fixed("shuffle-sentences@toy", [])]
    family = Family("toys", "Toys?", lambda inputs: made)
    inputs = ProbeInputs(open_language("rules"), frozenset())

    def names(*suites):
        return [one.probe.name for one in select_probes([family], inputs, list(map(suite_named, suites)))]

    assert names("probe:more", "all") == ["more@toy", "shuffle-sentences@toy"]
    assert names("probe:m*@toy") == ["more@toy"]
    for wrong, fix in (
        ("probe:shufle-sentences", "did you mean probe:shuffle-sentences?"),
        ("probe:more@tow", "did you mean probe:more@toy?"),
    ):
        with pytest.raises(UnknownNameError) as caught:
            names("probe:more", wrong)
        assert caught.value.facts == (("given", wrong),)
        assert caught.value.fixes_worded()[0] == fix
