"""A searcher over an index with vectors: rankings, candidates, settings, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.searches import searching
from tests.unit.search.vector_index import write_vector_index

import termwise
from termwise.engine.query_settings import QuerySettings
from termwise.engine.query_vector import query_vector
from termwise.errors import ParameterError, WeightError
from termwise.fusion.indexes import fuse_indexes
from termwise.index import IndexWriter
from termwise.indexing import build_index
from termwise.records import Document, Query, Run
from termwise.search import Search
from termwise.search.mixture import MixtureMatches
from termwise.search.searcher import Searcher
from termwise.text.vocabulary import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

TEXTS = {
    "lists": "merge sorted lists",
    "cards": "shuffle cards",
    "both": "merge lists of cards",
    "empty": "",
    "again": "merge sorted lists",
}
VOCABULARY = Vocabulary(["cards", "merge", "of", "lists", "sorted", "shuffle"])
#          cards    merge   of      lists   sorted  shuffle
TERMS = TermVectors([[-2, 4], [3, 0], [0, 0], [5, 1], [2, 0], [0, 7]], [0, 0, 0, 0, 1, 0], 0.5, VOCABULARY.id)
# "both" has two windows
VECTORS = DocumentVectors(
    [0, 1, 2, 4, 4, 5], [[4, -1], [0, 5], [3, 0], [-1, 4], [4, -1]], [0.25, 0.5, 0.25, 0.25, 0.25]
)


@pytest.fixture
def searcher(tmp_path: Path) -> Searcher:
    texts = list(TEXTS.values())
    return termwise.open(
        write_vector_index(tmp_path / "dense.tw", list(TEXTS), VECTORS, TERMS, VOCABULARY, texts=texts)
    )


def test_scores_by_hand(searcher: Searcher) -> None:
    ranking = searcher.rank("merge sorted lists", k=10)
    # Q = [3 + 4 + 5, 1] in units of 0.5
    # lists: (48 - 1) * 0.25 = 11.75; cards: 5 * 0.5 = 2.5; both: max(36, -12 + 4) * 0.25 = 9
    assert ranking.doc_ids == ("lists", "again", "both", "cards")
    assert ranking.scores.tolist() == [5.875, 5.875, 4.5, 1.25]
    # Q = [-4, 22]: 110 * 0.5, and 92 * 0.25
    twice = searcher.rank("shuffle cards shuffle cards", k=2)
    assert (twice.doc_ids, twice.scores.tolist()) == (("cards", "both"), [27.5, 11.5])


def test_every_prefix_of_the_ranking(searcher: Searcher) -> None:
    whole = searcher.rank("cards of lists", k=10)
    for k in range(1, 6):
        assert searcher.rank("cards of lists", k=k).doc_ids == whole.doc_ids[:k]


@pytest.mark.parametrize("query", ["", "unheard", "of", "of of unheard"])
def test_a_query_without_a_known_term_has_no_results(searcher: Searcher, query: str) -> None:
    assert len(searcher.rank(query)) == 0
    candidates = searcher.rank(query, candidates=["cards", "empty"])
    assert (candidates.doc_ids, candidates.scores.tolist()) == (("cards", "empty"), [0.0, 0.0])


def test_candidates_are_all_scored_and_an_empty_one_is_last(searcher: Searcher) -> None:
    candidates = ["empty", "again", "both", "lists"]
    ranking = searcher.rank("cards", candidates=candidates)
    assert ranking.doc_ids == ("both", "again", "lists", "empty")
    assert ranking.scores.tolist() == [2.25, -1.5, -1.5, -1.5]
    for k in range(1, 5):
        assert searcher.rank("cards", candidates=candidates, k=k) == ranking.top(k)
    alone = searcher.rank("cards", candidates=["empty"])
    assert (alone.doc_ids, alone.scores.tolist()) == (("empty",), [0.0])


def test_an_empty_document_has_the_smallest_score_of_a_part_of_a_mixture(
    searcher: Searcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MixtureMatches, "words_first", False)  # scores without a lead
    # The part "jm" finds the empty document too, because its index has other texts.
    documents = [Document(doc_id, text or "cards") for doc_id, text in TEXTS.items()]
    jm = build_index(documents, tmp_path / "jm.tw", model="jm", analyzer="whitespace")
    mixture = Searcher.mix({"jm": jm, "dense": searcher}, [1e-9, 1.0])
    ranking = mixture.rank("cards")
    # The scores of the part "dense" are -1.5, 5, 2.25, (none) and -1.5.
    assert set(ranking.doc_ids[:2]) == {"cards", "both"}
    assert set(ranking.doc_ids[2:]) == {"lists", "empty", "again"}
    scores = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
    values = np.array([-1.5, 5.0, 2.25, -1.5, -1.5])
    assert scores["empty"] == pytest.approx((-1.5 - values.mean()) / values.std(), abs=1e-8)
    again = mixture.rank("cards", candidates=list(TEXTS))
    assert dict(zip(again.doc_ids, again.scores.tolist(), strict=True)) == scores
    (_, runs) = mixture.part_runs([Query("q", "cards")])
    assert runs["q"].scores.tolist() == sorted(values, reverse=True)
    found = mixture.explain("cards", "empty")
    assert found.score == scores["empty"]
    assert [part.score for part in found.parts][1] == -1.5
    total = found.constant + sum(part.score for part in found.contributions)
    assert total == pytest.approx(found.score, abs=1e-12)


def test_many_queries_exclusion_and_threads(searcher: Searcher) -> None:
    queries = [Query("lists", "merge sorted lists"), Query("q", "shuffle")]
    one = searcher.rank_many(queries, k=3, exclude="id")
    assert one["lists"].doc_ids == ("again", "both", "cards")
    many = searcher.rank_many(queries, k=3, exclude="id", threads=3)
    assert [many[q.query_id].doc_ids for q in queries] == [one[q.query_id].doc_ids for q in queries]
    run = Run([searcher.rank(query, k=2) for query in queries], name="candidates")
    again = searcher.rank_many(queries, candidates=run)
    assert again["q"].scores.tolist() == run["q"].scores.tolist()


def test_query_by_example(searcher: Searcher) -> None:
    assert searcher.search(Search(like="lists", k=2)).ranking.doc_ids == ("again", "both")
    assert len(searcher.search(Search(like="empty")).ranking) == 0


def test_settings_that_need_no_document_frequencies(searcher: Searcher) -> None:
    once = searching(searcher, weighting=QuerySettings(counts="once"))
    assert once.rank("cards cards", k=1).scores.tolist() == searcher.rank("cards", k=1).scores.tolist()
    saturated = searching(searcher, weighting=QuerySettings(counts="saturated", k3=1.0))
    # 2 * 2 / (1 + 2), rounded to 12 bits
    assert saturated.rank("cards cards", k=1).scores[0] == pytest.approx(4 / 3 * 5.0, rel=1e-3)


@pytest.mark.parametrize("setting", [{"idf_power": 1.0}, {"min_df": 2}, {"max_terms": 3, "min_df": 1}])
def test_settings_that_need_document_frequencies_are_refused(
    searcher: Searcher, setting: dict[str, Any]
) -> None:
    with pytest.raises(ParameterError, match="no document frequencies") as caught:
        searching(searcher, weighting=QuerySettings(**setting))
    assert set(setting) <= {name for name, _ in caught.value.facts}


def test_weights_that_are_too_large_are_refused(searcher: Searcher) -> None:
    for weight in (1e15, 1e30):
        row = TermWeights.from_rows([{0: weight}], VOCABULARY.id)
        with pytest.raises(ParameterError, match="too large"):
            query_vector(searcher.index, row)
    with pytest.raises(WeightError, match="negative"):
        query_vector(searcher.index, TermWeights.from_rows([{0: -1.0}], VOCABULARY.id))


def test_fusing_it_with_another_index_is_refused(searcher: Searcher, tmp_path: Path) -> None:
    documents = [Document(doc_id, text) for doc_id, text in TEXTS.items()]
    other = build_index(documents, tmp_path / "bm25.tw", analyzer="whitespace").index
    with pytest.raises(ParameterError, match="ranks by vectors"):
        fuse_indexes([searcher.index, other], [1.0, 1.0], tmp_path / "fused.tw")


def test_an_explanation_by_hand(searcher: Searcher) -> None:
    found = searcher.explain("merge cards of unheard cards shuffle", "both", competitors=1)
    # Q = [3 - 4, 8 + 7]; windows: -3 * 0.25 and 61 * 0.25, so the second one is the best
    assert found.score == 0.5 * 61 * 0.25
    assert [
        (part.term, part.origin, part.query_weight, part.weight, part.score) for part in found.contributions
    ] == [
        ("cards", "exact", 2.0, 18 * 0.25 * 0.5, 4.5),
        ("shuffle", "vector", 1.0, 28 * 0.25 * 0.5, 3.5),
        ("merge", "exact", 1.0, -3 * 0.25 * 0.5, -0.375),
    ]
    assert sum(part.score for part in found.contributions) == found.score
    assert found.constant == 0
    query = found.query
    assert [query[start:end] for start, end in found.unknown] == ["of", "unheard"]
    assert (found.rank, found.results) == (2, 4)
    assert [other.doc_id for other in found.competitors] == ["cards", "lists"]


def test_explaining_a_document_without_text(searcher: Searcher) -> None:
    found = searcher.explain("merge cards", "empty", competitors=1)
    assert (found.score, found.rank) == (0.0, None)
    assert [part.origin for part in found.contributions] == ["absent", "absent"]


def test_contributions_add_up(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    table = TermVectors.of(
        generator.standard_normal((6, 32)) * [[1], [9], [0], [0.1], [3], [2]], VOCABULARY.id
    )
    vectors = DocumentVectors.of(np.arange(0, 41, 2), generator.standard_normal((40, 32)))
    doc_ids = [f"d{i}" for i in range(20)]
    random = termwise.open(write_vector_index(tmp_path / "random.tw", doc_ids, vectors, table, VOCABULARY))
    ranking = random.rank("merge lists of sorted cards cards", k=20)
    for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True):
        found = random.explain("merge lists of sorted cards cards", doc_id)
        assert found.score == score
        assert sum(part.score for part in found.contributions) == score
        assert {part.origin for part in found.contributions} == {"unknown"}


@pytest.mark.parametrize("quantiser", ["uint8", "float32"])
def test_weights_and_a_background_beside_vectors_change_nothing(
    searcher: Searcher, tmp_path: Path, quantiser: Literal["uint8", "float32"]
) -> None:
    vocabulary = Vocabulary(list(VOCABULARY), background=True)
    table = TermVectors(TERMS.rows, TERMS.shifts, TERMS.scale, vocabulary.id)
    with IndexWriter(tmp_path / "beside.tw", quantiser=quantiser) as writer:
        rows = TermWeights.from_rows([{0: 9.0, 6: 1.0}, {}, {6: 2.0}, {1: 1.5}, {}], vocabulary.id)
        writer.add(list(TEXTS), rows)
        writer.add_vectors(VECTORS)
        description = searcher.index.manifest.encoder.json
        writer.commit(vocabulary, encoder=description, term_vectors=table, floors=[-1.0] * 7)
    beside = termwise.open(tmp_path / "beside.tw")
    for query in ("merge sorted lists", "of", "cards"):
        one, other = searcher.rank(query), beside.rank(query)
        assert (one.doc_ids, one.scores.tolist()) == (other.doc_ids, other.scores.tolist())
    found = beside.explain("merge sorted lists", "lists")
    assert (found.score, found.constant, len(found.contributions)) == (5.875, 0.0, 3)
