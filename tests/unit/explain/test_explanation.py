"""Explanations as data: where contributions come from, and where a document stands."""

from __future__ import annotations

import json

import pytest

from termwise import BuildOptions, Document, build_index
from termwise.errors import ParameterError
from termwise.explain import Competitor, Contribution
from termwise.indexing import chosen_model

DOCUMENTS = [
    Document("a", "Merge two sorted lists into one list."),
    Document("b", "Sort a list."),
    Document("c", "Shuffle a deck of cards."),
    Document("d", "A list of lists, and lists of those."),
]
VECTORS = [
    {"id": "v1", "contents": "merge lists", "vector": {"merge": 2.0, "lists": 1.0, "combine": 0.5}},
    {"id": "v2", "contents": "shuffle cards", "vector": {"shuffle": 2.0, "cards": 1.0, "lists": 0.25}},
]


def by_term(explanation):
    return {contribution.term: contribution for contribution in explanation.contributions}


@pytest.fixture(scope="module")
def bm25(tmp_path_factory):
    return build_index(DOCUMENTS, tmp_path_factory.mktemp("index") / "bm25", store_text=True)


def vectors(folder, *, store_text=True, quantiser="uint8"):
    source = folder / "vectors.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in VECTORS))
    return build_index(
        source,
        folder / "index",
        model="vectors",
        store_text=store_text,
        options=BuildOptions(quantiser=quantiser),
    )


def test_a_contribution_is_a_product_of_weights(bm25):
    explanation = bm25.explain("list of sorted lists", "a")
    for contribution in explanation.contributions:
        assert contribution.score == contribution.query_weight * contribution.weight
    assert by_term(explanation)["list"].query_weight == 2
    assert [c.score for c in explanation.contributions] == sorted(
        (c.score for c in explanation.contributions), reverse=True
    )


@pytest.mark.parametrize(
    ("text", "origins"),
    [
        ("hypersonic wings", {"##sonic": "piece", "super": "absent"}),
        ("a super sonic boom", {"super": "piece", "##sonic": "absent"}),
        ("Supersonic, hypersonic", {"super": "exact", "##sonic": "exact"}),
    ],
)
def test_a_piece_in_another_word_is_not_the_word(tmp_path, text, origins):
    documents = [Document("a", text), Document("b", "supersonic")]
    pieces = build_index(documents, tmp_path / "pieces", analyzer="wordpiece", store_text=True)
    shown = pieces.explain("supersonic", "a").contributions
    assert {contribution.term: contribution.origin for contribution in shown} == origins


def test_contributions_have_spans_in_query_and_text(bm25):
    explanation = bm25.explain("Lists, a list!", "d")
    assert by_term(explanation)["list"] == Contribution(
        "list",
        "exact",
        2.0,
        explanation.score / 2,
        explanation.score,
        query_spans=((0, 5), (9, 13)),
        spans=((2, 6), (10, 15), (21, 26)),
    )
    assert explanation.text == DOCUMENTS[3].text


def test_terms_a_model_added_are_expansions(tmp_path):
    explanation = vectors(tmp_path).explain("merge combine shuffle", "v1")
    found = by_term(explanation)
    assert found["merge"].origin == "exact"
    assert found["combine"].origin == "expansion"
    assert found["combine"].spans == ()
    assert found["shuffle"].origin == "absent"


def test_without_texts_the_origin_is_unknown(tmp_path):
    found = by_term(vectors(tmp_path, store_text=False).explain("merge combine shuffle", "v1"))
    assert [found[term].origin for term in ("merge", "combine", "shuffle")] == [
        "unknown",
        "unknown",
        "absent",
    ]


def test_an_index_of_real_weights_explains_them_as_they_are(tmp_path):
    explanation = vectors(tmp_path, quantiser="float32").explain("merge lists combine", "v1")
    assert {c.term: c.score for c in explanation.contributions} == {
        "merge": 2.0,
        "lists": 1.0,
        "combine": 0.5,
    }
    assert explanation.score == 3.5


def test_a_word_of_the_text_may_weigh_nothing(tmp_path):
    documents = [Document(str(i), "common" + (" rare" if i == 0 else "")) for i in range(4)]
    searcher = build_index(
        documents, tmp_path / "i", model=chosen_model("bm25", {"variant": "robertson"}), store_text=True
    )
    common = by_term(searcher.explain("common rare", "0"))["common"]
    assert (common.origin, common.weight, common.spans) == ("absent", 0.0, ((0, 6),))


def test_a_document_bias_is_a_contribution_of_its_own(tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", model="dirichlet", store_text=True)
    explanation = searcher.explain("sorted lists", "b")
    background = by_term(explanation)["[background]"]
    assert background.origin == "background"
    assert background.query_weight == 2  # the number of known tokens of the query
    assert background.score == background.query_weight * background.weight
    assert explanation.constant < 0
    assert explanation.score == explanation.constant + sum(c.score for c in explanation.contributions)


def test_the_rank_of_a_document(bm25):
    ranking = bm25.rank("sorted list", k=10)
    assert len(ranking) == 3
    middle = bm25.explain("sorted list", ranking.doc_ids[1], competitors=5)
    assert (middle.rank, middle.results) == (2, 3)
    assert middle.competitors == tuple(
        Competitor(rank, ranking.doc_ids[rank - 1], ranking.scores[rank - 1]) for rank in (1, 3)
    )
    assert bm25.explain("sorted list", ranking.doc_ids[0], competitors=0).competitors == ()


def test_the_rank_is_computed_only_with_competitors(bm25):
    explanation = bm25.explain("sorted list", "a")
    assert (explanation.rank, explanation.results, explanation.competitors) == (None, None, ())


def test_a_document_without_a_match_has_no_rank(bm25):
    explanation = bm25.explain("sorted list", "c", competitors=1)
    assert explanation.score == 0
    assert (explanation.rank, explanation.results) == (None, 3)
    assert [competitor.rank for competitor in explanation.competitors] == [3]


@pytest.mark.parametrize("query", ["", "of the", "frobnicate"])
def test_queries_without_known_words_explain_nothing(bm25, query):
    explanation = bm25.explain(query, "a", competitors=3)
    assert explanation.contributions == ()
    assert (explanation.score, explanation.results) == (0, 0)
    assert [query[a:b] for a, b in explanation.unknown] == (["frobnicate"] if query == "frobnicate" else [])


def test_explanations_are_json(bm25):
    written = json.loads(
        json.dumps(bm25.explain("sorted list", "a", competitors=1).to_dict(), allow_nan=False)
    )
    assert written["doc_id"] == "a"
    assert written["contributions"][0]["query_spans"]
    assert set(written["competitors"][0]) == {"rank", "doc_id", "score"}


def test_it_is_short_in_a_session_and_whole_as_text(bm25):
    explanation = bm25.explain("list of sorted lists", "a", competitors=1)
    assert repr(explanation) == (
        f"Explanation('list of sorted lists', 'a', score={explanation.score:.6g}, 2 contributions)"
    )
    assert str(explanation).startswith("a: ")
    assert str(explanation).count("\n") == 0
    assert f"= {explanation.score:.2f}" in str(explanation).replace("≈", "=")
    text = explanation.to_text(width=70)
    assert text.startswith("a\nscore ")
    assert "\nranking\n" in text
    assert max(map(len, text.splitlines())) <= 70
    assert "\x1b" not in text
    assert len(repr(bm25.explain("list " * 100, "a"))) < 160
    with pytest.raises(ParameterError, match="width"):
        explanation.to_text(width=0)
    with pytest.raises(ParameterError, match="width"):
        explanation.to_text(width="80")


def test_long_texts_are_whole_if_they_are_asked_for(tmp_path):
    text = "merge lists. " + "filler words. " * 500 + "The end."
    searcher = build_index([Document("a", text)], tmp_path / "i", store_text=True)
    explanation = searcher.explain("merge", "a")
    assert "The end." not in explanation.to_text()
    assert explanation.to_text(full=True).rstrip().endswith("The end.")
