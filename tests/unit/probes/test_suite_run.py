"""Several probes put to several scorers: thresholds, samples, what is kept, and what a report says of it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math

import numpy as np
import pytest

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
from termwise.probes import Probe, Sample, suite_run
from termwise.probes.asking import ask
from termwise.probes.judged import JudgedTexts
from termwise.probes.language.opening import open_language
from termwise.probes.manipulations import ManipulationProbe
from termwise.probes.reading import ByQuery, ByRank, Constant
from termwise.probes.reference import ReferenceLists
from termwise.probes.report import (
    Demand,
    csv_text,
    differences,
    latex_text,
    markdown_text,
    read_report,
    report_of,
    unmet,
    write_report,
)
from termwise.probes.report.contents import spread
from termwise.probes.report.folder import prepare_place
from termwise.probes.report.page import marked, report_html
from termwise.probes.suite_run import Question, run_suite
from termwise.probes.thresholds import reading_of
from termwise.records import Document, Ranking, Run
from termwise.scorers import FunctionScorer, RunScorer, ScoreStore

REFERENCE = ReferenceLists(
    "toy", {"q": "cat", "r": "dog"}, {"q": ("cat cat cat", "cat", ""), "r": ("dog", "")}
)


class Counting:
    """Scores a text by how often it says the query; counts the pairs that it is asked."""

    def __init__(self, name="counting", weight=1.0):
        self.name, self.weight, self.fingerprint, self.asked = name, weight, f"{name} {weight}", []

    def score(self, query, texts):
        return self.score_pairs([query] * len(texts), texts)

    def score_pairs(self, queries, texts):
        pairs = list(zip(queries, texts, strict=True))
        self.asked += pairs
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


def questions(*probes, **options):
    return [Question.of(probe, seed=0, section="Toy", **options) for probe in probes]


@pytest.fixture
def run():
    scorers = [Counting(), Counting("turned", -1.0)]
    return run_suite(scorers, questions(MORE, LESS, EMPTY, APART), reference=REFERENCE, facts={"seed": 0})


def test_thresholds_are_the_median_gap_of_each_scorer(run):
    # counting: gaps 2, 1 of the first query and 1 of the second; turned: the same
    assert [one.reading for one in run.examined] == [Constant(1.0), Constant(1.0)]
    first = run.examined[0]
    assert first.gaps.tolist() == [1, 1, 2]
    # of the first sample the difference is 1, which is none
    assert first.results["more@toy"].effects.tolist() == [0, 1, 1, 0]
    assert run.examined[1].results["more@toy"].effects.tolist() == [0, -1, -1, 0]
    assert first.results["less@toy"].effects.tolist() == [-1, 0]
    assert first.results["apart@toy"].effects.tolist() == [1]
    assert first.results["empty@toy"].score is None
    assert first.results["more@toy"].cut.tolist() == [False, True, False, False]


def test_each_pair_is_asked_once_and_never_again(tmp_path):
    scorer = Counting()
    with ScoreStore(tmp_path / "scores") as store:
        run_suite([scorer], questions(MORE, LESS, APART), reference=REFERENCE, store=store)
        assert len(scorer.asked) == len(set(scorer.asked)) == len(store)
    again = Counting()
    with ScoreStore(tmp_path / "scores") as store:
        kept = run_suite([again], questions(MORE, LESS, APART), reference=REFERENCE, store=store)
    assert again.asked == []
    assert kept.examined[0].results["more@toy"].effects.tolist() == [0, 1, 1, 0]


def test_a_scorer_without_a_fingerprint_is_asked_again(tmp_path):
    scorer = Counting()
    scorer.fingerprint = None
    with ScoreStore(tmp_path / "scores") as store:
        run_suite([scorer], questions(MORE), delta=0.5, store=store)
        assert len(store) == 0


def test_results_do_not_depend_on_the_store_or_the_size_of_batches(run, monkeypatch):
    monkeypatch.setattr("termwise.probes.asking._FIRST_CHUNK", 1)
    monkeypatch.setattr("termwise.probes.asking._LONG", 0.0)
    small = run_suite([Counting()], questions(MORE, LESS, EMPTY, APART), reference=REFERENCE)
    for name, result in run.examined[0].results.items():
        other = small.examined[0].results[name]
        assert (result.first.tolist(), result.second.tolist()) == (
            other.first.tolist(),
            other.second.tolist(),
        )
        assert result.content == other.content


def test_other_rules():
    lists = {"q": np.array([3.0, 1.0, 0.0]), "r": np.array([1.0, 0.0])}
    assert reading_of(0.5, None) == Constant(0.5)
    assert reading_of("0.5", None) == Constant(0.5)
    assert isinstance(reading_of("by-query", lists), ByQuery)
    assert isinstance(reading_of("by-rank", lists), ByRank)
    for wrong in ("mean", "-1", "nan", "inf", -0.5, float("nan")):
        with pytest.raises(ParameterError):
            reading_of(wrong, lists)
    with pytest.raises(ParameterError, match="rankings"):
        reading_of("median", None)
    found = run_suite([Counting()], questions(MORE), delta="by-rank", reference=REFERENCE).examined[0]
    # one "cat" and two stand between the same documents; five stand above the best; "dog" thrice above "dog" once
    assert found.results["more@toy"].effects.tolist() == [1, 1, 1, 0]
    stranger = Fixed("other@toy", [Sample("1", "yak", "yak", "", "unknown")])
    skipped = run_suite([Counting()], questions(stranger), delta="by-query", reference=REFERENCE).examined[0]
    assert "other@toy" in skipped.skipped
    assert skipped.results == {}


def test_without_a_threshold_nothing_is_read():
    with pytest.raises(ParameterError, match="rankings"):
        run_suite([Counting()], questions(MORE))


def test_scorers_and_probes_have_names_of_their_own():
    with pytest.raises(DuplicateIdError, match="two scorers"):
        run_suite([Counting(), Counting()], questions(MORE), delta=0.1)
    with pytest.raises(DuplicateIdError, match="two probes"):
        run_suite([Counting()], questions(MORE, MORE), delta=0.1)
    with pytest.raises(DataError, match="no scorer"):
        run_suite([], questions(MORE), delta=0.1)
    with pytest.raises(DataError, match="no probe"):
        run_suite([Counting()], [], delta=0.1)


def test_fewer_samples_are_among_more_of_them():
    many = Fixed("many", [Sample(f"{place}", "cat", "cat", "dog") for place in range(60)])
    some, fewer = (Question.of(many, seed=3, most=most) for most in (20, 10))
    assert len(some.samples) == 20
    assert some.left_out == 40
    assert {one.sample_id for one in fewer.samples} < {one.sample_id for one in some.samples}
    assert {one.sample_id for one in Question.of(many, seed=4, most=20).samples} != {
        one.sample_id for one in some.samples
    }
    assert Question.of(many, seed=3, most=100).left_out == 0
    with pytest.raises(ParameterError):
        Question.of(many, seed=3, most=0)


def test_manipulations_that_are_not_wanted_are_not_made():
    language = open_language("rules")
    texts = {f"d{place}": f"cats number {place} sleep" if place % 3 else "dogs" for place in range(40)}
    judged = JudgedTexts("toy", {"q": "cats"}, texts, {"q": dict.fromkeys(texts, 1)}, 0)
    made = []

    class Shouted:
        name, title = "shouted", "Shouted"

        def apply(self, text, around):
            made.append(text)
            return text.upper() if text.startswith("cats") else None

    probe = ManipulationProbe(Shouted(), judged, language=language, stop_words=frozenset())
    some = Question.of(probe, seed=1, most=5)
    assert 5 <= len(made) < 40
    assert some.left_out == 40 - len(made)
    plain = Probe.drawn(probe, 1, 5, lambda sample_id: suite_run._draw(1, probe.name, sample_id))[0]
    assert some.samples == tuple(plain)
    assert len(Question.of(probe, seed=1, most=100).samples) == len(Question.of(probe, seed=1).samples) == 26


def test_a_run_is_asked_what_it_ranks():
    ranked = Run([Ranking(["a", "b"], [2.0, 1.0], "q")], "ranked")
    scorer = RunScorer(ranked, {"q": "cat"}, {"a": "cat cat", "b": "cat"})
    found = run_suite([scorer, Counting()], questions(MORE, LESS), reference=REFERENCE).examined
    assert found[0].results["more@toy"].sample_ids == ("1",)
    assert found[0].results["more@toy"].effects.tolist() == [1]
    assert "none of its samples" in found[0].skipped["less@toy"]
    assert found[1].results["more@toy"].content != found[0].results["more@toy"].content


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda queries, texts: [math.nan] * len(texts), WeightError, "no number"),
        (lambda queries, texts: [1.0] * (len(texts) + 1), DataError, "one score for each"),
        (lambda queries, texts: 1.0, DataError, "one score for each"),
    ],
)
def test_scorers_that_answer_wrongly(answer, error, message):
    with pytest.raises(error, match=message):
        run_suite([FunctionScorer(answer, name="odd")], questions(MORE), delta=0.1)


def test_pairs_that_are_asked_may_repeat_themselves():
    scorer = Counting()
    assert ask(scorer, [("cat", "cat"), ("cat", "cat"), ("cat", "dog")]) == {
        ("cat", "cat"): 1.0,
        ("cat", "dog"): 0.0,
    }
    assert len(scorer.asked) == 2
    assert ask(scorer, []) == {}


def test_lists_of_a_run_and_of_bm25():
    documents = [
        Document(str(place), text) for place, text in enumerate(["cat cat", "cat dog", "dog", "yak"])
    ]
    lists = ReferenceLists.by_bm25({"q": "cat", "r": "none such"}, lambda: iter(documents), depth=2)
    assert {query_id: set(texts) for query_id, texts in lists.candidates.items()} == {
        "q": {"cat cat", "cat dog"}
    }
    run_ = Run([Ranking(["3", "gone", "0", "1"], [4.0, 3.0, 2.0, 1.0], "q")], "mine")
    taken = ReferenceLists.of_run(run_, {"q": "cat"}, documents, depth=3)
    assert taken.candidates == {"q": ("yak", "cat cat")}
    with pytest.raises(DataError, match="two candidates"):
        ReferenceLists.of_run(run_, {"other": "cat"}, documents)


def test_what_a_report_says(run):
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
    assert [one["sample"] for one in more["telling"]] == ["2", "3"]
    contrast = {one["probe"]: one for one in report["comparisons"]}
    assert contrast["more@toy"]["difference"] == -1.0
    assert contrast["more@toy"]["baseline"] == "counting"
    assert "empty@toy" not in contrast
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_infinite_scores_can_be_reported():
    scorer = FunctionScorer(
        lambda queries, texts: [-math.inf if "cat" in text else 0.0 for text in texts], name="odd"
    )
    run = run_suite([scorer], questions(LESS), delta=0.1)
    cell = report_of(run)["cells"][0]
    assert cell["score"] == 0.5
    assert cell["p_published"] is None
    assert cell["telling"][0]["scores"] == [0.0, "-inf"]
    json.dumps(report_of(run), allow_nan=False)


def test_seeds_of_one_model_are_set_beside_each_other():
    scorers = [Counting("mine@1"), Counting("mine@2", -1.0), Counting("other")]
    (found,) = spread(run_suite(scorers, questions(MORE, LESS, EMPTY), delta=0.0))
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
    assert r"$-0.50^{*}$" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1


def test_the_page_holds_everything_and_loads_nothing(run):
    page = report_html(report_of(run))
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count('class="map"') == 1
    assert "told apart" in page
    assert page.count("<polyline") == 6
    assert report_html(report_of(run)) == page


def test_texts_are_escaped_on_the_page():
    odd = Fixed("odd", [Sample("<i>", "cat", "<b>cat</b> cat", "a </p><script>alert(1)</script>", "q")])
    page = report_html(report_of(run_suite([Counting("<b>")], questions(odd), delta=0.0)))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_words_of_two_texts_are_marked():
    assert marked("", "") == ((), ())
    first, second = marked("one two three", "one 2 three four")
    assert [part for kind, part in first if kind == "only"] == [" two"]
    assert [part for kind, part in second if kind == "only"] == [" 2", " four"]
    assert "".join(part for _, part in second) == "one 2 three four"


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
    prepare_place(tmp_path / "out")
    prepare_place(tmp_path / "new")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    for place in ("other", "other/mine.txt"):
        with pytest.raises(ForeignFolderError):
            prepare_place(tmp_path / place)
    with pytest.raises(StorageError):
        prepare_place(tmp_path / "other" / "mine.txt" / "under")


@pytest.mark.parametrize("text", ["", "{}", '{"format": "termwise-probes", "version": 9}', "[1]"])
def test_what_is_no_report_is_refused(text, tmp_path):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ModelFormatError):
        read_report(tmp_path)


def test_demands(run):
    report = report_of(run)
    found = unmet([Demand.read("more<-0.3")], report)
    assert [cell["scorer"] for _, cell in found] == ["turned"]
    assert unmet([Demand.read("counting:more<-0.3"), Demand.read("empty<=1")], report) == []
    assert len(unmet([Demand.read("*@toy>=−1")], report)) == 6
    with pytest.raises(UnknownNameError, match="mroe"):
        unmet([Demand.read("mroe<0")], report)
    for wrong in ("", "more", "more<", "<0.3", "more=0.3", "more<x", "more<0.3.4", "more<>1"):
        with pytest.raises(UsageError):
            Demand.read(wrong)


def test_what_has_changed(run):
    old = report_of(run)
    assert {one.state for one in differences(old, old)} == {"same"}
    new = report_of(
        run_suite([Counting(weight=-1.0), Counting("new")], questions(MORE, EMPTY), reference=REFERENCE)
    )
    states = {(one.probe, one.scorer): one.state for one in differences(old, new)}
    assert states["more@toy", "counting"] == "changed"
    assert states["empty@toy", "counting"] == "same"
    assert states["more@toy", "new"] == "added"
    assert states["less@toy", "turned"] == "gone"
    other = report_of(run_suite([Counting()], questions(MORE, most=2), reference=REFERENCE))
    assert {one.state for one in differences(old, other) if one.state != "gone"} == {"other samples"}
