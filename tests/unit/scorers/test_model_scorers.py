"""Models as scorers of any text, compared with the index and with direct computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import pair_scores as reference

from termwise import BuildOptions, Document, build_index
from termwise.collection import CollectionStatistics, OpenStatistics
from termwise.errors import EmptyCollectionError, ParameterError, UsageError, VocabularyMismatchError
from termwise.index import Index
from termwise.indexing import chosen_model
from termwise.kernels import pair_scores
from termwise.models import BM25, make_model
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers import Background, CountWeigher, RowScorer, TokenStatistics, index_scorer, model_scorer
from termwise.scorers.protocol import AdditiveScorer, PairScorer, fingerprint_of
from termwise.text import make_analyzer

DOCUMENTS = [
    Document("a", "merge two sorted lists into one sorted list"),
    Document("b", "shuffle a list of words"),
    Document("c", "open a file and read its lines"),
    Document("d", ""),
]
QUERIES = ["merge sorted lists", "list list words", "nothing of this", ""]
MODELS = ["bm25", "jm", "dirichlet"]


@pytest.fixture
def background():
    return Background(lambda: DOCUMENTS, length=len(DOCUMENTS))


@pytest.mark.parametrize("model", MODELS)
def test_documents_score_as_in_the_index(model, background, tmp_path):
    searcher = build_index(
        DOCUMENTS, tmp_path / "index", model=model, options=BuildOptions(quantiser="float32")
    )
    scorer = model_scorer(model, background)
    assert isinstance(scorer, PairScorer)
    assert fingerprint_of(scorer) == scorer.fingerprint
    assert isinstance(scorer, AdditiveScorer)
    for query in QUERIES:
        known = make_analyzer("english").tokens(query)
        ranking = searcher.rank(query, k=10, candidates=["a", "b", "c", "d"])
        expected = dict(zip(ranking.doc_ids, ranking.scores, strict=True))
        found = scorer.score(query, [document.text for document in DOCUMENTS])
        unknown = [token for token in known if token not in {"merg", "sort", "list", "word"}]
        # an index drops words that it lacks; here they count as its rarest, the same for every document but "dirichlet"
        if unknown:
            continue
        assert found == pytest.approx([expected[one.doc_id] for one in DOCUMENTS], rel=1e-5, abs=1e-6)


def test_bm25_of_a_text_outside_the_collection_by_hand(background):
    scorer = model_scorer("bm25", background, settings={"k1": "1.2", "b": "0.5"}, analyzer="whitespace")
    # 4 documents of 8, 5, 7 and 0 words; "sorted" in one, "zebra" in none: counted as in one
    avgdl, idf = 20 / 4, math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    norm = 1.2 * (1 - 0.5 + 0.5 * 3 / avgdl)
    expected = idf * 2 / (2 + norm) + idf * 1 / (1 + norm)
    assert scorer.score("sorted zebra", ["sorted sorted zebra"])[0] == pytest.approx(expected, rel=1e-6)
    terms = {one.term: one.value for one in scorer.contributions("sorted zebra", "sorted sorted zebra")}
    assert terms["zebra"] == pytest.approx(idf / (1 + norm), rel=1e-6)
    assert math.fsum(terms.values()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_scores_do_not_depend_on_what_was_scored_before(model, background):
    pairs_ = [(query, document.text) for query in QUERIES for document in DOCUMENTS]
    pairs_ += [
        ("zebra yak", "yak yak zebra"),
        ("yak", "no such"),
        ("zebra quagga", "a quagga, a zebra and a yak"),
    ]
    queries, texts = [list(side) for side in zip(*pairs_, strict=True)]
    together = model_scorer(model, background).score_pairs(queries, texts)
    backwards = model_scorer(model, background).score_pairs(queries[::-1], texts[::-1])[::-1]
    scorer = model_scorer(model, background)
    alone = np.concatenate([scorer.score(*(query, [text])) for query, text in reversed(pairs_)])[::-1]
    assert together.tolist() == backwards.tolist() == alone.tolist()


@pytest.mark.parametrize("model", MODELS)
def test_contributions_add_up_to_the_score(model, background):
    scorer = model_scorer(model, background)
    for query in QUERIES:
        for document in DOCUMENTS:
            total = math.fsum(one.value for one in scorer.contributions(query, document.text))
            assert total == pytest.approx(scorer.score(query, [document.text])[0], abs=1e-9)


def test_shuffled_words_change_nothing(background):
    scorer = model_scorer("bm25", background)
    first, second = scorer.score(
        "merge sorted lists", ["sorted lists are merged by it", "it merged by are lists sorted"]
    )
    assert first == second


@pytest.mark.parametrize("keep", ["0", "256"])
def test_a_translation_table_scores_as_in_an_index(keep, tmp_path):
    documents = [Document("a", "the vehicle was repaired"), Document("b", "a song on the radio")]
    searcher = build_index(
        documents,
        tmp_path / "index",
        model=chosen_model("model1", {"keep": keep}),
        options=BuildOptions(quantiser="float32"),
    )
    scorer = model_scorer("model1", Background(lambda: documents), settings={"keep": keep})
    for query in ("car repair", "music"):
        ranking = searcher.rank(query, candidates=["a", "b"])
        expected = dict(zip(ranking.doc_ids, ranking.scores, strict=True))
        found = scorer.score(query, [one.text for one in documents])
        assert found == pytest.approx([expected["a"], expected["b"]], rel=1e-4, abs=1e-5)


def test_a_translation_table_keeps_all_weights_by_default(background):
    first = model_scorer("model1", background)
    assert first.fingerprint == model_scorer("model1", background, settings={"keep": "0"}).fingerprint
    assert first.fingerprint != model_scorer("model1", background, settings={"keep": "256"}).fingerprint
    text = "the vehicle was repaired by a mechanic near the station"
    together = first.score_pairs(["car repair", "train"], [text, text])
    assert together.tolist() == [first.score("car repair", [text])[0], first.score("train", [text])[0]]


@pytest.mark.parametrize("model", ["tilde", "tildev2"])
def test_a_network_scores_as_in_an_index(model, tmp_path):
    documents = [Document("a", "merge sorted iterables into one"), Document("b", "wrap a paragraph of text")]
    searcher = build_index(
        documents, tmp_path / "index", model=model, options=BuildOptions(quantiser="float32")
    )
    scorer = index_scorer(Index.open(tmp_path / "index"))
    assert scorer.name == "index"
    for query in ("merge sorted lists", "text wrapping"):
        ranking = searcher.rank(query, candidates=["a", "b"])
        expected = dict(zip(ranking.doc_ids, ranking.scores, strict=True))
        found = scorer.score(query, [one.text for one in documents])
        assert found == pytest.approx([expected["a"], expected["b"]], rel=1e-4, abs=1e-4)


def test_the_idf_of_a_network_comes_from_the_background(background):
    first = model_scorer("tildev2", background)
    other = model_scorer("tildev2", Background(lambda: [Document("x", "merge merge")]))
    assert first.fingerprint != other.fingerprint
    assert first.score("merge", ["merge two"])[0] != other.score("merge", ["merge two"])[0]


def test_an_index_without_texts_needs_a_collection(tmp_path, background):
    build_index(DOCUMENTS, tmp_path / "bare")
    with pytest.raises(UsageError, match="stores no texts"):
        index_scorer(Index.open(tmp_path / "bare"))
    build_index(DOCUMENTS, tmp_path / "kept", store_text=True)
    bare = index_scorer(Index.open(tmp_path / "bare"), background=background)
    kept = index_scorer(Index.open(tmp_path / "kept"))
    assert bare.fingerprint == kept.fingerprint
    assert bare.score("merge lists", ["a list"])[0] == kept.score("merge lists", ["a list"])[0] > 0


def test_fingerprints_depend_on_what_changes_scores(background):
    found = {
        model_scorer("bm25", background).fingerprint,
        model_scorer("bm25", background, settings={"k1": "1.2"}).fingerprint,
        model_scorer("bm25", background, analyzer="whitespace").fingerprint,
        model_scorer("jm", background).fingerprint,
        model_scorer("bm25", Background(lambda: DOCUMENTS[:2])).fingerprint,
    }
    assert len(found) == 5
    assert model_scorer("bm25", background, name="other").fingerprint in found


def test_wrong_statistics_and_pairs_are_refused(background):
    counted = background.tokens(make_analyzer("whitespace"))
    with pytest.raises(VocabularyMismatchError, match="another analyzer"):
        CountWeigher(BM25(), make_analyzer("english"), counted)
    with pytest.raises(EmptyCollectionError):
        TokenStatistics.count([], make_analyzer("english"))
    scorer = RowScorer(CountWeigher(BM25(), make_analyzer("whitespace"), counted))
    with pytest.raises(ParameterError, match="as many queries as texts"):
        scorer.score_pairs(["a"], ["b", "c"])
    with pytest.raises(ParameterError):
        scorer.score("a", "one text")
    assert scorer.score("a", []).shape == (0,)


def test_a_specification_names_a_model_with_its_settings(background):
    scorer = open_scorer("tuned=bm25,k1=1.2,analyzer=stm1", ScorerContext(background))
    assert scorer.name == "tuned"
    expected = model_scorer("bm25", background, settings={"k1": "1.2"}, analyzer="stm1")
    assert scorer.fingerprint == expected.fingerprint
    with pytest.raises(UsageError):
        open_scorer("bm25,k1", ScorerContext(background))
    with pytest.raises(UsageError):
        open_scorer("bm24", ScorerContext(background))


def test_open_statistics_cover_every_term():
    opened = OpenStatistics(CollectionStatistics(3, 7, [2, 0], [7, 0], longest=5), 4)
    assert opened.document_frequencies.tolist() == [2, 1, 1, 1]
    assert opened.n_documents == 3
    assert opened.avgdl == pytest.approx(7 / 3)
    assert not opened.closed
    model = make_model("bm25", {})
    counts = pairs_of([{1: 50, 3: 2}])
    assert (model.weigh(counts, opened).weights > 0).all()


def pairs_of(rows):
    from termwise.weights import TermWeights

    return TermWeights.from_rows(rows, "toy")


ROW = st.dictionaries(st.integers(0, 8), st.floats(-4, 4, width=32), max_size=6)


@given(st.lists(ROW, min_size=1, max_size=4), st.lists(ROW, min_size=1, max_size=4))
def test_pairs_agree_with_the_reference(queries, texts):
    left, right = pairs_of(queries), pairs_of(texts)
    asked = np.repeat(np.arange(len(queries)), len(texts))
    held = np.tile(np.arange(len(texts)), len(queries))
    arguments = (
        left.indptr,
        left.terms,
        left.weights.astype(np.float64),
        right.indptr,
        right.terms,
        right.weights,
    )
    fast = pair_scores.pair_scores(*arguments, asked, held)
    slow = reference.pair_scores(*[one.tolist() for one in arguments], asked.tolist(), held.tolist())
    assert fast.tolist() == slow


NUMBERS = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30)


@given(NUMBERS, st.randoms())
def test_sums_are_rounded_once_whatever_the_order(values, random):
    def summed(weights):
        row = pairs_of([dict(enumerate(weights))])
        ones = np.ones(len(row.terms))
        first = np.zeros(1, dtype=np.int64)
        return pair_scores.pair_scores(
            row.indptr, row.terms, ones, row.indptr, row.terms, row.weights, first, first
        )[0]

    shuffled = list(values)
    random.shuffle(shuffled)
    assert summed(values) == summed(shuffled) == math.fsum(values)


def test_sums_near_the_midpoint_of_two_floats():
    for values in (
        [1.0, 2.0**-53, 2.0**-100],
        [1.0, 2.0**-53, -(2.0**-100)],
        [1.0, 2.0**-53],
        [2.0**-149] * 3,
    ):
        row = pairs_of([dict(enumerate(values))])
        first = np.zeros(1, dtype=np.int64)
        ones = np.ones(len(row.terms))
        found = pair_scores.pair_scores(
            row.indptr, row.terms, ones, row.indptr, row.terms, row.weights, first, first
        )[0]
        assert found == math.fsum(row.weights.astype(np.float64))
