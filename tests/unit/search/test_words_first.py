"""Documents that match by words before those that match by meaning only, and sorted results of a mixture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import termwise
from termwise.engine.boosts import Boost
from termwise.errors import ParameterError
from termwise.search import Relevance, Search, Searcher
from termwise.search.mixture import GAP, SHORT_QUERY, MixtureMatches

SHOP = {
    "sofa1": ("sofa of leather", 900),
    "sofa2": ("leather sofa with a footstool, for three people and a cat", 500),
    "couch": ("couch", 300),
    "chair": ("armchair of leather", 200),
    "stool": ("stool", 20),
    "lamp": ("lamp for a sofa", 40),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    records = [{"id": name, "text": text, "price": price} for name, (text, price) in SHOP.items()]
    return termwise.build_index(records, tmp_path_factory.mktemp("shop") / "m", model="instant")


def kinds(searcher: Searcher, search: Search) -> list[str | None]:
    return list(searcher.search(search).matching())


def test_short_queries_have_documents_with_all_words_first(
    shop: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of documents with all words are above those of documents that match by meaning only."""
    found = shop.search(Search("leather sofa", k=6))
    assert found.matching() == ["words"] * 2 + ["meaning"] * 4
    assert (np.diff(found.ranking.scores) <= 0).all()
    assert found.ranking.scores[2] < found.ranking.scores[1]
    monkeypatch.setattr(MixtureMatches, "words_first", property(lambda self: False))
    mixed = shop.search(Search("leather sofa", k=6))
    assert sorted(mixed.ranking.doc_ids) == sorted(found.ranking.doc_ids)
    by_score = [each for each in mixed.ranking.doc_ids if each not in ("sofa1", "sofa2")]
    assert list(found.ranking.doc_ids[2:]) == by_score


def test_long_queries_are_in_the_order_of_scores(shop: Searcher) -> None:
    text = "a sofa of leather for people"
    assert len(text.split()) > SHORT_QUERY
    matches = shop.search(Search(text))._all_matches
    assert isinstance(matches, MixtureMatches)
    assert (matches.level, matches.words_first) == ("all", False)
    assert shop.search(Search(text, match="all"))._all_matches.words_first  # type: ignore[union-attr]


def test_a_stated_number_of_words_counts_before_meaning(shop: Searcher) -> None:
    assert kinds(shop, Search("sofa lamp", match="any", k=6)) == ["words"] * 3 + ["meaning"] * 3
    assert kinds(shop, Search("sofa lamp", match="all", k=6)) == ["words"] + ["meaning"] * 5


def test_of_several_numbers_of_words_the_first_with_a_document_counts(shop: Searcher, tmp_path: Path) -> None:
    words = termwise.build_index(
        [{"id": name, "text": text} for name, (text, _) in SHOP.items()], tmp_path / "words"
    )
    for searcher in (shop, words):
        for text, level, count in (
            ("leather sofa", "all", 2),
            ("sofa stool", "any", 4),
            ("piano stool", "any", 1),
        ):
            found = searcher.search(Search(text, match="all, any", only_words=searcher is shop))
            assert (found.matched, found.count(), len(found.ranking)) == (level, count, count)
    assert words.search(Search("piano", match="all, any")).count() == 0
    with pytest.raises(ParameterError, match="all, any"):
        Search("sofa", match="all, some")


def test_the_lead_is_a_row_of_the_explanation(shop: Searcher) -> None:
    """Documents with all words are `GAP` above the others, or more, also with boosts, which come on top."""
    for relevance in (None, Relevance([Boost("price", 0.5, saturation=100)])):
        found = shop.search(Search("leather sofa", relevance=relevance, k=6))
        assert found.matching() == ["words"] * 2 + ["meaning"] * 4
        explanations = found.explain()
        for explained, score in zip(explanations, found.ranking.scores.tolist(), strict=True):
            assert explained.score == score
            total = explained.constant + sum(each.score for each in explained.contributions)
            assert total == pytest.approx(score, abs=1e-9)
        of_words = [[each for each in one.contributions if each.term == "words"] for one in explanations]
        assert [len(each) for each in of_words] == [1, 1, 0, 0, 0, 0]
        leads = {rows[0].score for rows in of_words[:2]}
        assert len(leads) == 1
    plain = shop.search(Search("leather sofa", k=6)).ranking.scores
    assert plain[1] - plain[2] == pytest.approx(GAP)


def test_only_words_if_any(shop: Searcher) -> None:
    """Results by meaning are left out if a document matches by words; otherwise they are the results."""
    found = shop.search(Search("sofa", only_words="if-any"))
    assert sorted(found.ranking.doc_ids) == ["lamp", "sofa1", "sofa2"]
    assert (found.count(), found.matched, found.left_out_by_relevance) == (3, "all", 0)
    by_meaning = shop.search(Search("settee", only_words="if-any", min_relevance=0))
    assert by_meaning.matched == "meaning"
    assert by_meaning.ranking == shop.search(Search("settee", min_relevance=0)).ranking
    assert len(shop.search(Search("settee", only_words=True)).ranking) == 0
    of_file = Relevance.of({"search": {"only_words": "if-any"}})
    assert shop.search(Search("sofa", relevance=of_file)).ranking == found.ranking
    with pytest.raises(ParameterError, match="if-any"):
        Search("sofa", only_words="sometimes")


def test_sorted_results_are_the_matches(shop: Searcher) -> None:
    found = shop.search(Search("sofa", sort="price", k=10))
    assert found.ranking.doc_ids == ("lamp", "sofa2", "sofa1")
    assert found.count() == found.length() == 3
    page = shop.search(Search("sofa", sort="price,_id", after=(40, "lamp")))
    assert page.ranking.doc_ids == ("sofa2", "sofa1")
    by_meaning = shop.search(Search("settee", sort="price", min_relevance=0, k=10))
    assert by_meaning.matched == "meaning"
    prices = [SHOP[each][1] for each in by_meaning.ranking.doc_ids]
    assert prices == sorted(prices)
    with pytest.raises(ParameterError, match="only_words"):
        shop.search(Search("sofa", sort="_score", after=(1.0,)))
