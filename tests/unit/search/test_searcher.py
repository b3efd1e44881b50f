from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termwise
from termwise import Document, Query, Ranking, Run, build_index
from termwise.errors import (
    DuplicateIdError,
    ParameterError,
    UnknownIdError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.search import Search, Searcher
from termwise.weights import TermWeights

WORDS = ["merge", "sort", "list", "file", "read", "line", "card", "shuffl"]
DOCUMENTS = [
    Document(f"d{i}", " ".join(WORDS[j % 8] for j in range(i, i + 1 + i % 5)) + f" only{i}")
    for i in range(30)
]


@pytest.fixture(scope="module", params=["bm25", "jm", "dirichlet"])
def searcher(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index") / request.param
    return build_index(DOCUMENTS, folder, model=request.param, store_text=True)


def test_k_beyond_the_collection_gives_all_matches(searcher):
    ranking = searcher.rank("merge", k=10_000)
    assert set(ranking.doc_ids) == {d.doc_id for d in DOCUMENTS if "merge" in d.text}


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_k_must_be_a_number_of_documents(searcher, k):
    with pytest.raises(ParameterError):
        searcher.rank("merge", k=k)


@pytest.mark.parametrize("query", ["", "   ", "the of and", "zzzz qqqq", "…"])
def test_queries_without_known_words_find_nothing(searcher, query):
    assert len(searcher.rank(query)) == 0
    ranking = searcher.rank(query, candidates=["d3", "d1", "d2"])
    assert ranking.doc_ids == ("d3", "d1", "d2")  # ties keep the order of the candidates


def test_smaller_k_is_a_prefix(searcher):
    everything = searcher.rank("merge sorted list", k=100)
    for k in range(1, 20):
        assert searcher.rank("merge sorted list", k=k) == everything.top(k)


def test_reranking_agrees_with_retrieval(searcher):
    found = searcher.rank("merge sorted list", k=100)
    again = searcher.rank("merge sorted list", k=100, candidates=sorted(found.doc_ids, key=input_order))
    assert again == found


def input_order(doc_id):
    return int(doc_id[1:])


def test_candidates_must_be_known_and_distinct(searcher):
    with pytest.raises(UnknownIdError, match="nope"):
        searcher.rank("merge", candidates=["d1", "nope"])
    with pytest.raises(DuplicateIdError, match="d1"):
        searcher.rank("merge", candidates=["d1", "d2", "d1"])
    assert len(searcher.rank("merge", candidates=[])) == 0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_do_not_depend_on_threads(searcher, threads):
    queries = [Query(f"q{i}", f"{WORDS[i % 8]} {WORDS[(3 * i) % 8]}") for i in range(40)]
    timed = searcher.timed_run(queries, k=7, threads=threads)
    assert [ranking.query_id for ranking in timed.run] == [query.query_id for query in queries]
    assert timed.encoding.shape == timed.scoring.shape == (40,)
    for query in queries:
        assert timed.run[query.query_id] == searcher.rank(query, k=7)


@pytest.mark.parametrize("threads", [0, 1025, 2.0])
def test_invalid_numbers_of_threads(searcher, threads):
    with pytest.raises(ParameterError, match="from 1 to 1024"):
        searcher.rank_many([], threads=threads)


def test_strings_are_queries_with_their_place_as_identifier(searcher):
    given = ["merge lists", Query("q", "shuffle"), "zebra"]
    run = searcher.rank_many(iter(given), k=2)
    assert [ranking.query_id for ranking in run] == ["1", "q", "3"]
    assert run["1"].doc_ids == searcher.rank("merge lists", k=2).doc_ids
    only = searcher.rank_many(given, candidates=Run([run["q"]], "r"))
    assert [ranking.query_id for ranking in only] == ["q"]
    with pytest.raises(DuplicateIdError):
        searcher.rank_many(["merge", Query("1", "lists")])
    for one in ("merge", given[1], {"q": "merge"}):
        with pytest.raises(ParameterError, match="queries cannot have this value"):
            searcher.rank_many(one)


def test_reranking_skips_queries_absent_from_the_run(searcher):
    candidates = Run([Ranking(["d1", "d2"], [2, 1], query_id="q1")])
    timed = searcher.timed_run([Query("q1", "merge"), Query("q2", "merge")], candidates=candidates)
    assert list(timed.run.rankings) == ["q1"]
    assert set(timed.run["q1"].doc_ids) == {"d1", "d2"}


@settings(max_examples=50, deadline=None)
@given(words=st.lists(st.sampled_from([*WORDS, "unknown", "only3"]), max_size=8), document=st.integers(0, 29))
def test_contributions_add_up_exactly(searcher, words, document):
    query = " ".join(words)
    explanation = searcher.explain(query, f"d{document}", competitors=2)
    parts = [contribution.score for contribution in explanation.contributions]
    assert sum(parts) + explanation.constant == explanation.score
    assert sum(reversed(parts)) + explanation.constant == explanation.score
    ranking = searcher.rank(query, k=100)
    if explanation.rank is None:
        assert f"d{document}" not in ranking.doc_ids
    else:
        assert ranking[explanation.rank - 1] == ("", f"d{document}", explanation.score)
        around = [(c.rank, c.doc_id, c.score) for c in explanation.competitors]
        assert around == [
            (rank, ranking.doc_ids[rank - 1], ranking.scores[rank - 1])
            for rank in range(explanation.rank - 2, explanation.rank + 3)
            if 1 <= rank <= len(ranking) and rank != explanation.rank
        ]
    json.dumps(explanation.to_dict(), allow_nan=False)


def test_explanations_point_at_the_words(searcher):
    explanation = searcher.explain("Merging, lists and mysteries", "d0")
    text = DOCUMENTS[0].text
    by_term = {c.term: c for c in explanation.contributions}
    assert [text[a:b] for a, b in by_term["merg"].spans] == ["merge"]
    assert [explanation.query[a:b] for a, b in by_term["merg"].query_spans] == ["Merging"]
    assert by_term["list"].origin == "absent"
    assert [explanation.query[a:b] for a, b in explanation.unknown] == ["mysteries"]


def test_unknown_documents_are_refused(searcher):
    with pytest.raises(UnknownIdError, match="nope"):
        searcher.explain("merge", "nope")


def test_rows_of_weights_as_queries(searcher):
    row = searcher.encode("merge list list")
    assert searcher.rank(row) == searcher.rank("merge list list")
    with pytest.raises(VocabularyMismatchError):
        searcher.rank(TermWeights([0, 1], [0], [1.0], "other"))
    with pytest.raises(WeightError):
        searcher.rank(TermWeights([0, 1], [0], [-1.0], searcher.index.vocabulary.id))
    with pytest.raises(ParameterError):
        searcher.rank(TermWeights([0, 1], [0], [2.0**36], searcher.index.vocabulary.id))


def test_repeated_words_count_twice(searcher):
    once = searcher.explain("merge", "d0")
    twice = searcher.explain("merge merge", "d0")
    assert math.isclose(twice.score, 2 * once.score)


def test_searching_changes_nothing(searcher):
    before = searcher.rank("merge list", k=5)
    searcher.rank("card", k=30)
    searcher.explain("sort", "d4", competitors=3)
    searcher.rank("merge", candidates=["d1", "d9"])
    assert searcher.rank("merge list", k=5) == before


def test_fractional_query_weights_are_rounded_to_a_recorded_scale(searcher):
    number = searcher.index.vocabulary.number("merg")
    row = TermWeights([0, 1], [number], [0.7], searcher.index.vocabulary.id)
    exact = searcher.rank(TermWeights([0, 1], [number], [1.0], searcher.index.vocabulary.id), k=3)
    scaled = searcher.rank(row, k=3)
    assert scaled.doc_ids[: len(exact)] or exact
    if not len(searcher.index.floors):
        assert scaled.scores == pytest.approx(exact.scores * 0.7, rel=1e-3)


def test_an_index_without_texts_explains_without_text(tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i")
    explanation = searcher.explain("merge", "d0")
    assert explanation.text is None
    assert [c.origin for c in explanation.contributions] == ["exact"]
    assert not searcher.index.stores_text


def test_open_refuses_other_folders(tmp_path):
    with pytest.raises(Exception, match="no such index"):
        termwise.open(tmp_path / "nothing")


def test_scores_are_float64(searcher):
    assert searcher.rank("merge").scores.dtype == np.float64


def test_texts_and_identifiers_are_strings(searcher):
    for call in (
        lambda: searcher.search(Search(like=5)),
        lambda: searcher.encode(None),
        lambda: searcher.rank_many([Query("q", None)]),
        lambda: searcher.rank_many([Query(1, "merge")]),
    ):
        with pytest.raises(ParameterError):
            call()


def test_a_pickled_searcher_opens_its_folder_again(tmp_path):
    documents = [Document("a", "merge two sorted lists"), Document("b", "sort a list of words")]
    built = {
        model: termwise.build_index(documents, tmp_path / model, model=model) for model in ("bm25", "jm")
    }
    mixture = Searcher.mix(built, [0.3, 0.7], depth=50, only_scoring=["jm"])
    for searcher in (built["bm25"], mixture):
        copy = pickle.loads(pickle.dumps(searcher))
        assert copy.rank("sorting lists").doc_ids == searcher.rank("sorting lists").doc_ids
        assert copy.rank("sorting lists").scores.tolist() == searcher.rank("sorting lists").scores.tolist()
    assert (copy.backend.depth, [part.retrieves for part in copy.backend.parts]) == (50, [True, False])
    own = Searcher.of_index(built["bm25"].backend.index, built["jm"].backend.encoder)
    with pytest.raises(ParameterError, match="cannot be pickled"):
        pickle.dumps(own)
    with termwise.open_writer(tmp_path / "bm25") as writer:
        writer.add([Document("c", "merge")])
    assert pickle.loads(pickle.dumps(built["bm25"])).documents == 3


def test_a_pickled_run_is_the_same():
    run = Run([Ranking(["b", "a"], [2.0, 1.5], query_id="q1")], name="bm25")
    copy = pickle.loads(pickle.dumps(run))
    assert (copy.name, copy["q1"].doc_ids, copy["q1"].scores.tolist()) == ("bm25", ("b", "a"), [2.0, 1.5])
