"""Centred explanations of mixtures: contributions less their means over the candidates."""

from __future__ import annotations

import pytest
from tests.unit.encode import tiny
from tests.unit.explain.terminal import rendered
from tests.unit.explain.test_explanation_html import written

from termwise import Document, build_index
from termwise.explain.explanation_terminal import explanation_renderable
from termwise.models import Lookup
from termwise.search import Search, Searcher

DOCUMENTS = [
    Document("a", "merge the list, merge sort"),
    Document("b", "dog and cat"),
    Document("c", "sort cat, sort dog; the list of a dog and of a cat and merge"),
    Document("d", "list"),
    Document("empty", ""),
]
QUERY = "merge dog zebra"


@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    place = tmp_path_factory.mktemp("centred")
    model = Lookup(encoder=str(tiny.lookup_folder(place / "encoder")), length=6, overlap=1)
    parts = {
        "jm": build_index(DOCUMENTS, place / "jm", model="jm", store_text=True),
        "dirichlet": build_index(DOCUMENTS, place / "dirichlet", model="dirichlet"),
        "lookup": build_index(DOCUMENTS, place / "lookup", model=model),
    }
    return Searcher.mix(parts, [0.3, -0.5, 0.7])


@pytest.mark.parametrize("doc_id", ["a", "b", "c", "d", "empty"])
def test_they_add_up_to_the_score_without_a_constant(mixture, doc_id):
    plain, centred = (mixture.explain(QUERY, doc_id, centred=option) for option in (False, True))
    assert (centred.centred, centred.constant, centred.score) == (True, 0.0, plain.score)
    assert sum(part.score for part in centred.contributions) == pytest.approx(plain.score, abs=1e-9)
    for part in centred.parts:
        total = sum(each.score for each in centred.contributions if each.part == part.name)
        assert total == pytest.approx((part.score - part.mean) * part.scale, abs=1e-9)


def test_the_mean_of_a_term_is_that_of_the_candidates(mixture):
    candidates = mixture.rank(QUERY, k=9).doc_ids
    assert len(candidates) > 2
    plain = mixture.search(Search(QUERY)).explain(candidates)
    for each in mixture.explain(QUERY, "a", centred=True).contributions:
        same = [
            other.weight
            for explanation in plain
            for other in explanation.contributions
            if (other.part, other.term) == (each.part, each.term)
        ]
        assert len(same) == len(candidates)
        assert each.mean == pytest.approx(sum(same) / len(same), abs=1e-12)


def test_contributions_of_a_term_are_centred_over_the_candidates(mixture):
    candidates = mixture.rank(QUERY, k=9).doc_ids
    totals = {}
    for explanation in mixture.search(Search(QUERY)).explain(candidates, centred=True):
        for each in explanation.contributions:
            totals[each.part, each.term] = totals.get((each.part, each.term), 0.0) + each.score
    assert totals == pytest.approx(dict.fromkeys(totals, 0.0), abs=1e-9)


def test_a_term_that_a_document_lacks_lowers_its_score(mixture):
    explanation = mixture.explain("merge dog", "b", centred=True, competitors=1)
    (merge,) = [each for each in explanation.contributions if (each.part, each.term) == ("jm", "merg")]
    assert merge.weight == 0
    assert merge.score < 0
    shown = rendered(explanation_renderable(explanation), width=110)
    assert "query × (doc - mean) × scale" in shown
    assert "mean of" not in shown
    (row,) = [line for line in shown.splitlines() if line.startswith("  merge (merg)  absent  ")][:1]
    assert "× (0.0000 - " in row
    assert "jm has no weight for: merge" in shown
    page = written(explanation)
    assert "Query × (document − mean) × scale" in page.text("thead")
    assert "the same for every document" not in page.text("table")
    assert "its mean over the candidates" in page.text("footer")


def test_a_candidate_without_a_text(tmp_path):
    # `blank` is found by its word in one part, and has no vector in the other
    texts = {"a": "merge", "b": "dog dog", "blank": "merge"}
    words = build_index([Document(*pair) for pair in texts.items()], tmp_path / "words", store_text=True)
    model = Lookup(encoder=str(tiny.lookup_folder(tmp_path / "encoder")))
    without = [Document(name, "" if name == "blank" else text) for name, text in texts.items()]
    lookup = build_index(without, tmp_path / "lookup", model=model)
    mixture = Searcher.mix({"bm25": words, "lookup": lookup}, [0.5, 0.5])
    assert "blank" in mixture.rank("merge dog").doc_ids
    for doc_id in texts:
        for option in (False, True):
            explanation = mixture.explain("merge dog", doc_id, centred=option)
            total = explanation.constant + sum(each.score for each in explanation.contributions)
            assert total == pytest.approx(explanation.score, abs=1e-9)


def test_query_by_example(mixture):
    (explanation,) = mixture.search(Search(like="a")).explain(["c"], centred=True)
    assert explanation.centred
    assert sum(each.score for each in explanation.contributions) == pytest.approx(explanation.score, abs=1e-9)


def test_a_query_without_candidates(mixture):
    explanation = mixture.explain("zebra", "a", centred=True)
    assert (explanation.score, explanation.constant) == (0.0, 0.0)
