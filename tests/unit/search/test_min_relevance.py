"""Relevance of results: nonsense gets none, words stay, pages agree, stored scores are renewed or refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import Document, build_index, open_writer
from termwise.cli.main import run
from termwise.engine.feedback import Feedback
from termwise.engine.unrelated_queries import LEAST_RELEVANCE, LEAST_RELEVANCE_OF_PIECES, UnrelatedQueries
from termwise.errors import CorruptIndexError, ParameterError
from termwise.fusion import mix_indexes
from termwise.search import Relevance, Search, Searcher
from termwise.search.mixture import Mixture
from termwise.search.mixture_folder import MixtureManifest
from termwise.storage.manifest_json import sealed

TEXTS = {
    "d0": ("green sofa", 5.0),
    "d1": ("red sofa", 3.0),
    "d2": ("green tea", 1.0),
    "d3": ("coffee beans", 0.5),
    "d4": ("a green sofa and a tea table", 9.0),
}
DOCUMENTS = [Document(name, text, {"price": price}) for name, (text, price) in TEXTS.items()]
NONSENSE = ["asdkjhqwe", "zxqv wvqpoe", "pqwmx"]


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    return build_index(
        DOCUMENTS, tmp_path_factory.mktemp("shop") / "mixture", model="instant", store_text=True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_index(DOCUMENTS, tmp_path / "mixture", model="instant")
    return tmp_path / "mixture"


def unrelated(searcher: Searcher) -> UnrelatedQueries | None:
    assert isinstance(searcher.backend, Mixture)
    return searcher.backend.unrelated


@pytest.mark.parametrize("query", NONSENSE)
def test_nonsense_gets_none(mixture: Searcher, query: str) -> None:
    found = mixture.search(Search(query))
    assert (found.ranking.doc_ids, found.count(), found.length()) == ((), 0, 0)
    assert found.left_out_by_relevance == 5
    assert found.least_relevance == LEAST_RELEVANCE_OF_PIECES
    assert found.reasons()[-1] == (
        "documents that are near in meaning are left out, because only pieces are known of the words"
    )
    every = mixture.search(Search(query, min_relevance=0))
    assert (len(every.ranking), every.count(), every.length(), every.reasons()) == (5, 5, 5, [])
    assert all(each is not None and each < LEAST_RELEVANCE for each in every.relevance())


def test_a_related_meaning_stays(mixture: Searcher) -> None:
    found = mixture.search(Search("couch"))
    assert set(found.ranking.doc_ids) >= {"d0", "d1"}
    assert set(found.matching()) == {"meaning"}
    assert found.least_relevance == LEAST_RELEVANCE
    assert all(each is not None and each >= LEAST_RELEVANCE for each in found.relevance())
    assert len(found.ranking) + found.left_out_by_relevance == 5


def test_words_in_pieces_have_no_results_by_meaning(mixture: Searcher) -> None:
    """The table has *espresso* in three pieces, and its best document a relevance above the level of words."""
    (best, *_) = mixture.search(Search("espresso", min_relevance=0)).relevance()
    assert best is not None
    assert best >= LEAST_RELEVANCE
    assert mixture.search(Search("espresso")).ranking.doc_ids == ()
    least = {
        "espresso": LEAST_RELEVANCE_OF_PIECES,
        "The espresso?": LEAST_RELEVANCE_OF_PIECES,  # a stop word and a question mark
        "espresso couch": LEAST_RELEVANCE,
        "espresso, Couch!": LEAST_RELEVANCE,
        "espressocouch": LEAST_RELEVANCE_OF_PIECES,
        "espresso-couch": LEAST_RELEVANCE,
        "tv": LEAST_RELEVANCE,  # short words count
        "teacup": LEAST_RELEVANCE,  # a compound of words that the table has
        "teacupz": LEAST_RELEVANCE_OF_PIECES,
        "espresso sofa": 0.0,  # documents match by words
    }
    assert {query: mixture.search(Search(query)).least_relevance for query in least} == least
    assert mixture.search(Search("espresso", min_relevance=0.5)).least_relevance == 0.5
    assert mixture.search(Search("espresso", min_relevance=0.9)).ranking.doc_ids[0] == "d3"
    assert mixture.search(Search("espresso", candidates=["d3"])).least_relevance == 0.0


def test_words_stay_whatever_their_relevance(mixture: Searcher) -> None:
    """Without the option nothing is left out; with it, what matches by meaning only."""
    found = mixture.search(Search("sofa asdkjhqwe"))
    assert len(found.ranking) == 5
    strict = mixture.search(Search("sofa asdkjhqwe", min_relevance=1))
    assert sorted(strict.ranking.doc_ids) == ["d0", "d1", "d4"]
    assert strict.count() == strict.length() == 3
    for least in (0.2, 0.5, 0.8):
        some = mixture.search(Search("green furniture", min_relevance=least))
        whole = mixture.search(Search("green furniture"))
        kept = [
            name
            for name, match, relevance in zip(
                whole.ranking.doc_ids, whole.matching(), whole.relevance(), strict=True
            )
            if match == "words" or (relevance or 0) >= least
        ]
        assert list(some.ranking.doc_ids) == kept
        assert (some.count(), some.length()) == (whole.count(), len(kept))
        scores = dict(zip(whole.ranking.doc_ids, whole.ranking.scores.tolist(), strict=True))
        assert [scores[name] for name in kept] == some.ranking.scores.tolist()


@pytest.mark.parametrize("options", [{}, {"sort": "price"}, {"collapse": "price"}, {"feedback": False}])
@pytest.mark.parametrize("least", [None, 0.6, 1])
def test_pages_agree(mixture: Searcher, options: dict[str, Any], least: float | None) -> None:
    for query in ("tea", "espresso", "furniture", "asdkjhqwe"):
        whole = mixture.search(Search(query, k=100, min_relevance=least, **options))
        pages = [
            name
            for offset in range(6)
            for name in mixture.search(
                Search(query, k=1, offset=offset, min_relevance=least, **options)
            ).ranking.doc_ids
        ]
        assert pages == list(whole.ranking.doc_ids)
        assert whole.length() == len(pages)


def test_boosts_pins_and_facets(mixture: Searcher) -> None:
    boosted = Relevance.of({"boosts": [{"attribute": "price", "weight": 2, "saturation": 5}]})
    assert mixture.search(Search("asdkjhqwe", relevance=boosted)).ranking.doc_ids == ()
    pinned = Relevance.of({"rules": [{"query": "asdkjhqwe", "pin": ["d1"]}]})
    found = mixture.search(Search("asdkjhqwe", relevance=pinned))
    assert (found.ranking.doc_ids, found.count(), found.length()) == (("d1",), 1, 1)
    counted = mixture.search(Search("asdkjhqwe", ranges={"price": {"all": (None, None)}}))
    assert counted.facets()["price"][0].documents == 0


def test_a_share_of_words_that_no_document_has(mixture: Searcher) -> None:
    """No document matches by words, so that those of another meaning are left out, and the others are counted."""
    found = mixture.search(Search("red zebra", match="all"))
    assert found.count() == len(found.ranking)
    assert found.matched == ("meaning" if len(found.ranking) else "all")
    assert all((each or 0) >= LEAST_RELEVANCE for each in found.relevance())


def test_relevance_is_that_of_the_query_without_feedback(mixture: Searcher, tmp_path: Path) -> None:
    indexes = [part.index for part in mixture.parts]
    made = mix_indexes(indexes, [0.4, 0.6], tmp_path / "mixed", feedback=Feedback())
    assert unrelated(made) == unrelated(mixture)
    with_feedback = made.search(Search("green furniture", min_relevance=0))
    without = made.search(Search("green furniture", min_relevance=0, feedback=False))
    assert dict(zip(with_feedback.ranking.doc_ids, with_feedback.relevance(), strict=True)) == dict(
        zip(without.ranking.doc_ids, without.relevance(), strict=True)
    )


def test_explanations_and_hits_have_it(mixture: Searcher) -> None:
    found = mixture.search(Search("espresso", min_relevance=0))
    assert [each.relevance for each in found.explain()] == found.relevance()
    assert [each.relevance for each in found.hits()] == found.relevance()
    (left_out,) = mixture.search(Search("asdkjhqwe")).explain(["d1"], competitors=1)
    assert left_out.rank is None
    assert f"not among the 0 results of this query · relevance {left_out.relevance:.2f}" in left_out.to_text()


def test_where_it_is_not_known(mixture: Searcher) -> None:
    words = Searcher(mixture.parts[0].backend)
    vectors = Searcher(mixture.parts[1].backend)
    both = Searcher.mix({"bm25": words, "table": vectors}, [0.4, 0.6])
    for searcher in (words, vectors, both):
        assert searcher.search(Search("tea")).relevance()[0] is None
        with pytest.raises(ParameterError, match="the relevance of results is not known") as caught:
            searcher.search(Search("tea", min_relevance=0.5))
        assert ("min_relevance", 0.5) in caught.value.facts
    assert len(both.rank("asdkjhqwe")) == 5  # no default without it
    assert mixture.search(Search(sort="price")).relevance() == [None] * 5
    assert mixture.search(Search("tea", candidates=["d0"])).relevance() == [None]


@pytest.mark.parametrize("least", [-0.1, 1.01, float("nan"), "0.5", True])
def test_bad_values(least: object) -> None:
    with pytest.raises(ParameterError, match="a number from 0 to 1"):
        Search("tea", min_relevance=least)  # type: ignore[arg-type]


def test_not_with_candidates() -> None:
    with pytest.raises(ParameterError, match="candidates cannot be combined with min_relevance"):
        Search("tea", candidates=["d0"], min_relevance=0.5)


def test_changes_renew_it(folder: Path) -> None:
    built = unrelated(termwise.open(folder))
    assert built is not None
    assert built.documents == 5
    more = [Document(f"m{number}", f"garden tools number {number}") for number in range(20)]
    with open_writer(folder) as writer:
        writer.add(more)
    grown = unrelated(termwise.open(folder))
    fresh = unrelated(build_index([*DOCUMENTS, *more], folder.with_name("fresh"), model="instant"))
    assert grown == fresh
    assert grown != built
    with open_writer(folder) as writer:
        writer.delete(["m1"])  # 1 of 25 is no tenth
    assert unrelated(termwise.open(folder)) == grown
    with open_writer(folder) as writer:
        writer.delete([document.doc_id for document in more])
        writer.merge()
    assert unrelated(termwise.open(folder)) == built


def test_an_earlier_version_gets_it_with_a_change(folder: Path) -> None:
    built = MixtureManifest.read(folder)
    replace(built, unrelated=None).write(folder)
    with open_writer(folder) as writer:
        writer.add([Document("d5", "a chair")])
    renewed = MixtureManifest.read(folder).unrelated
    assert renewed is not None
    assert renewed.documents == 6


@pytest.mark.parametrize(
    "damage",
    [
        {"quantiles": [0.1] * 20},
        {"quantiles": [*[0.1] * 20, 0.05]},
        {"quantiles": [*[0.1] * 20, "0.2"]},
        {"quantiles": [*[0.1] * 20, 1e10]},
        {"quantiles": 0.1},
        {"documents": -1},
        {"documents": 2.5},
        {"seed": 0},
    ],
)
def test_damaged_scores_are_refused(folder: Path, damage: dict[str, Any]) -> None:
    path = folder / "mixture.json"
    body = json.loads(path.read_bytes())
    body["unrelated"] |= damage
    path.write_bytes(sealed(body))
    with pytest.raises(CorruptIndexError, match="the description of the mixture is damaged"):
        termwise.open(folder)


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", str(folder), "asdkjhqwe"]) == 0
    assert "because only pieces are known of the words" in capsys.readouterr().err
    assert run(["search", str(folder), "asdkjhqwe", "--min-relevance", "0", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["matches"] for line in lines[:5]] == ["meaning"] * 5
    assert all(0 <= line["relevance"] <= 1 for line in lines[:5])
    assert run(["search", str(folder / "bm25"), "tea", "--min-relevance", "0.5"]) == 2
