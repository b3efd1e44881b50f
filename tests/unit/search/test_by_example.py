"""Query by example: rankings and explanations."""

from __future__ import annotations

import pytest

from termwise import Document, Query, Run, Searcher, build_index
from termwise.errors import ParameterError, UnknownIdError
from termwise.fusion import mix_indexes
from termwise.index import Index
from termwise.search import Search, results
from termwise.search.opening import open_searcher

DOCUMENTS = [
    Document("p1", "flutter of thin wings in supersonic flow"),
    Document("p2", "panel flutter in supersonic flow"),
    Document("p3", "heat transfer in a boundary layer"),
    Document("twin", "flutter of thin wings  in\nsupersonic flow"),
    Document("p4", "thin plates"),
]


TEXT = Search(like_text=DOCUMENTS[0].text)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    return build_index(DOCUMENTS, tmp_path_factory.mktemp("i") / "i.tw", store_text=True)


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    """The same without texts."""
    return build_index(DOCUMENTS, tmp_path_factory.mktemp("i") / "i.tw")


def test_the_example_is_left_out_of_its_results(searcher):
    whole = searcher.rank(DOCUMENTS[0].text, k=10)
    found = searcher.search(Search(like="p1", k=10)).ranking
    assert whole.doc_ids[0] == "p1"
    assert found.doc_ids == tuple(doc_id for doc_id in whole.doc_ids if doc_id != "p1")
    assert "twin" in found.doc_ids  # another document, whatever it says


@pytest.mark.parametrize("k", [1, 2, 3])
def test_leaving_out_the_example_keeps_k_results(searcher, k):
    assert searcher.search(Search(like="p1", k=k)).ranking == searcher.search(
        Search(like="p1", k=10)
    ).ranking.top(k)
    assert len(searcher.search(Search(like="p1", k=k)).ranking) == k


def test_documents_with_the_text_of_the_example_are_left_out(searcher, silent):
    search = Search(like_text=DOCUMENTS[0].text + "\n", k=1)
    found = searcher.search(search)
    assert (found.ranking.doc_ids, set(found.same_text)) == (("p2",), {"p1", "twin"})
    found = silent.search(search)
    assert (found.ranking.doc_ids, found.same_text) == (("p1",), ())


def test_seeds_of_many_queries(searcher):
    queries = [Query("p1", DOCUMENTS[0].text), Query("q", "thin plates")]
    by_id = searcher.rank_many(queries, k=2, exclude="id")
    assert by_id["p1"] == Run([searcher.rank(queries[0], k=2, exclude=["p1"])])["p1"]
    assert "p4" in by_id["q"].doc_ids
    listed = searcher.rank_many(queries, k=5, exclude={"q": {"p4", "nowhere"}})
    assert "p4" not in listed["q"].doc_ids
    assert "p1" in listed["p1"].doc_ids


def test_candidates_are_left_out_too(searcher):
    found = searcher.rank("thin", k=2, candidates=["p4", "p1", "p3"], exclude="p4")
    assert found.doc_ids == ("p1", "p3")


def test_the_example_has_no_rank(searcher):
    (explanation,) = searcher.search(Search(like="p1")).explain(["p1"], competitors=2)
    assert (explanation.rank, explanation.competitors) == (None, ())


def test_invalid_examples(searcher, silent):
    with pytest.raises(UnknownIdError):
        searcher.search(Search(like="nowhere"))
    with pytest.raises(ParameterError, match="keeps no texts"):
        silent.search(Search(like="p1"))


def test_the_rank_in_an_explanation(searcher):
    (explanation,) = searcher.search(Search(like="p1")).explain(["p2"], competitors=3)
    assert (explanation.example, explanation.query) == ("p1", DOCUMENTS[0].text)
    assert explanation.rank == 2
    assert "p1" not in {one.doc_id for one in explanation.competitors}
    assert (
        explanation.score
        == dict(
            zip(
                searcher.search(Search(like="p1")).ranking.doc_ids,
                searcher.search(Search(like="p1")).ranking.scores,
                strict=True,
            )
        )["p2"]
    )
    for competitors in (0, 1, 3):
        (text,) = searcher.search(TEXT).explain(["p2"], competitors=competitors)
        assert (text.rank, text.example) == (1, "text")
    (twin,) = searcher.search(TEXT).explain(["twin"], competitors=1)
    assert twin.rank is not None


def test_many_duplicates_are_left_out(tmp_path):
    documents = [Document(f"t{n}", "thin wings") for n in range(40)] + [Document("a", "thin plates")]
    searcher = build_index(documents, tmp_path / "i.tw", store_text=True)
    found = searcher.search(Search(like_text="thin  wings", k=3))
    assert (found.ranking.doc_ids, len(found.same_text)) == (("a",), 40)


CONDITIONS = (
    {"must": "panel"},
    {"must": ["flow"], "must_not": "panel"},
    {"must": "thin wings"},
    {"must": ["thin", "supersonic flow"]},
    {"must_not": ["heat", "flow"], "filter": "year > 2000"},
)


def fulfils(document, filter=None, must=(), must_not=()):
    words = f" {' '.join(document.text.split())} "
    has = [f" {each} " in words for each in ([must] if isinstance(must, str) else must)]
    lacks = [f" {each} " not in words for each in ([must_not] if isinstance(must_not, str) else must_not)]
    return all(has) and all(lacks) and (filter is None or document.attributes["year"] > 2000)


@pytest.mark.parametrize("kind", ["index", "mixture"])
@pytest.mark.parametrize("conditions", CONDITIONS)
def test_conditions_on_the_results_of_an_example(tmp_path, kind, conditions):
    documents = [Document(doc_id, text, {"year": 1999 + n}) for n, (doc_id, text, *_) in enumerate(DOCUMENTS)]
    searcher = build_index(documents, tmp_path / "bm25", store_text=True)
    if kind == "mixture":
        build_index(documents, tmp_path / "jm", model="jm", store_text=True)
        mix_indexes([tmp_path / "bm25", tmp_path / "jm"], [0.4, 0.6], tmp_path / "mixture")
        searcher = open_searcher(tmp_path / "mixture")
    shares = set(searcher.search(Search(like="p1")).ranking.doc_ids)
    allowed = {each.doc_id for each in documents if each.doc_id in shares and fulfils(each, **conditions)}
    ranking = searcher.search(Search(like="p1", **conditions)).ranking
    assert set(ranking.doc_ids) == allowed
    for example in ({"like": "p1"}, {"like_text": DOCUMENTS[0].text}):
        left = allowed - ({"p1", "twin"} if "like_text" in example else set())
        found = searcher.search(Search(**example, k=5, facets=["year"], **conditions))
        assert set(found.ranking.doc_ids) == left
        explained = found.explain(competitors=1)
        assert [each.score for each in explained] == pytest.approx(found.ranking.scores.tolist())
        assert [(each.rank, each.results) for each in explained] == [
            (rank, len(left)) for rank in range(1, len(left) + 1)
        ]
        assert all(words.excluded != words.in_text for each in explained for words in each.conditions)
        assert sum(each.documents for each in found.facets()["year"]) == found.count() == len(left)


def test_duplicates_are_not_competitors(searcher):
    (explanation,) = searcher.search(TEXT).explain(["p2"], competitors=9)
    assert not {"p1", "twin"} & {one.doc_id for one in explanation.competitors}
    assert explanation.results == len(searcher.search(TEXT).ranking)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda searcher: Search("thin", weighting={"max_terms": 3}),
        lambda searcher: searcher.search(Search(like=3)).ranking,
        lambda searcher: Search(like_text=3),
        lambda searcher: Search("thin", like="p1"),
        lambda searcher: Search(like="p1", fuzzy=True),
        lambda searcher: Search(like_text="thin", exclude="p1"),
        lambda searcher: searcher.search(Search("thin")).explain("p2"),
        lambda searcher: searcher.explain("thin", "p2", competitors=1.5),
        lambda searcher: searcher.explain("thin", "p2", competitors=-1),
        lambda searcher: searcher.rank_many([Query("q", "thin")], exclude=[("q", "p1")]),
    ],
)
def test_arguments_of_another_type(searcher, wrong):
    with pytest.raises(ParameterError):
        wrong(searcher)


def test_explaining_several_equals_explaining_each(searcher):
    doc_ids = searcher.search(Search(like="p1")).ranking.doc_ids
    together = searcher.search(Search(DOCUMENTS[0].text, exclude="p1")).explain(doc_ids, competitors=1)
    assert together == [
        searcher.explain(DOCUMENTS[0].text, doc_id, competitors=1, exclude=["p1"]) for doc_id in doc_ids
    ]


def test_an_example_without_results(tmp_path):
    searcher = build_index(
        [Document("a", "alone"), Document("b", ""), Document("c", "other")],
        tmp_path / "i.tw",
        store_text=True,
    )
    assert len(searcher.search(Search(like="a")).ranking) == 0
    assert len(searcher.search(Search(like="b")).ranking) == 0
    assert searcher.search(Search(like="b")).same_text == ()


def test_a_very_long_document_is_a_query(tmp_path):
    words = " ".join(f"w{i % 20_000}" for i in range(50_000))
    documents = [Document("long", words), Document("short", "w7 w8 w9"), Document("none", "else")]
    searcher: Searcher = build_index(documents, tmp_path / "i.tw", store_text=True)
    assert searcher.search(Search(like="long")).ranking.doc_ids == ("short",)


def test_counts_read_the_texts_of_the_best_matches_only(tmp_path, monkeypatch):
    read = []

    def document_texts(index, documents):
        read.append(len(documents))
        return texts(index, documents)

    words = [Document(f"p{number}", f"flutter of panel {number}") for number in range(50)]
    twins = [Document(f"twin{number}", "flutter  of wings") for number in range(7)]
    searcher = build_index([*words, *twins], tmp_path / "i.tw", store_text=True)
    monkeypatch.setattr(results, "MOST_COMPARED", 5)
    texts = Index.document_texts
    monkeypatch.setattr(Index, "document_texts", document_texts)
    assert searcher.search(Search(like_text="flutter of wings")).count() == 50
    assert max(read) == 5
    assert searcher.search(Search(like_text="flutter of panel 3", must="flutter")).count() == 56
