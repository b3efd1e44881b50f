from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termwise
from termwise import BuildOptions, Document, Query, Ranking, Run, build_index
from termwise.errors import (
    DuplicateIdError,
    InferenceRequiredError,
    ParameterError,
    UnknownIdError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.index import Index, IndexWriter
from termwise.index.encoder_description import encoder_description
from termwise.search import QueryDocumentLikelihood, StoredQueryVectors
from termwise.text import make_analyzer
from termwise.weights import TermWeights

PIECES = ["[UNK]", "the", "of", "merge", "sort", "list", "card", "##s", "file"]
KEPT = [3, 4, 5, 6, 8]
TEXTS = {
    "a": "the merge of lists, sort sort",
    "b": "sort the cards of the card file",
    "c": "of the",
    "d": "",
    "e": "list",
}
DOC_IDS = tuple(TEXTS)
# ln P(t|d) in steps of 1/64, which 32-bit weights hold exactly.
DENSE = -np.array(
    [[(37 * i + 11 * t * t) % 97 / 64 + 1 / 64 for t in range(len(PIECES))] for i in range(len(TEXTS))]
)


class Network:
    """Stands in for a network: ln P(t|q) depends on the text alone."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.asked = []

    def encode_queries(self, texts):
        self.asked.extend(texts)
        return -np.array(
            [[(len(text) * 29 + 13 * t) % 89 / 64 + 1 / 64 for t in range(len(PIECES))] for text in texts],
            dtype=np.float32,
        )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("likelihoods")
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    return folder


@pytest.fixture(scope="module")
def analyzer(place):
    return make_analyzer(f"wordpiece-clean:{place / 'vocab.txt'}")


def write_tilde(folder, analyzer, dense, **parameters):
    """Write an index of TILDE in the exact form."""
    kept = np.array(KEPT)
    floors = np.zeros(len(PIECES))
    floors[kept] = dense[:, kept].min(axis=0)
    rows = [{int(t): float(row[t] - floors[t]) for t in kept} for row in dense]
    spec = analyzer.spec
    with IndexWriter(folder, quantiser="float32") as writer:
        writer.add(DOC_IDS, TermWeights.from_rows(rows, analyzer.vocabulary.id))
        writer.commit(
            analyzer.vocabulary,
            encoder=encoder_description(
                model="tilde", parameters=parameters, analyzer=spec, weighting="counts", exact=False
            ),
            floors=floors,
            attachments=spec.files,
        )
    return termwise.open(folder)


@pytest.fixture(scope="module")
def searcher(place, analyzer):
    return write_tilde(place / "tilde.tw", analyzer, DENSE)


@pytest.fixture(scope="module")
def documents(place, analyzer):
    given = [Document(doc_id, text) for doc_id, text in TEXTS.items()]
    built = build_index(
        given, place / "ml.tw", model="ml", analyzer=analyzer, options=BuildOptions(quantiser="float32")
    )
    return built.index


@pytest.fixture
def network(analyzer):
    return Network(analyzer.vocabulary)


def oracle(analyzer, query, doc_id, alpha, network):
    """Score one document in the plainest way."""
    number = analyzer.vocabulary.number
    dense = DENSE[DOC_IDS.index(doc_id)].tolist()
    asked = network.encode_queries([query])[0].tolist()
    likelihood = 0.0
    for token in analyzer.tokens(query):
        likelihood += dense[number(token)]
    tokens = analyzer.tokens(TEXTS[doc_id])
    total = 0.0
    for token in tokens:
        total += asked[number(token)]
    mean = total / len(tokens) if tokens else min(asked[t] for t in KEPT)
    return alpha * likelihood + (1 - alpha) * mean


@pytest.mark.parametrize("alpha", [0, 0.1, 0.5, 0.75, 1])
@pytest.mark.parametrize("query", ["merge lists", "sort sort the cards", "file"])
def test_scores_are_those_of_plain_loops(searcher, documents, analyzer, network, query, alpha):
    scorer = QueryDocumentLikelihood(searcher, alpha=alpha, documents=documents, query_encoder=network)
    ranking = scorer.rank(query, candidates=DOC_IDS)
    expected = {doc_id: oracle(analyzer, query, doc_id, alpha, network) for doc_id in DOC_IDS}
    found = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
    assert found == pytest.approx(expected, rel=1e-7)
    assert list(ranking.doc_ids) == sorted(DOC_IDS, key=lambda doc_id: -expected[doc_id])


def test_alpha_1_is_the_query_likelihood_without_a_network(searcher, documents, network):
    for scorer in (
        QueryDocumentLikelihood(searcher, alpha=1),
        QueryDocumentLikelihood(searcher, alpha=1.0, documents=documents, query_encoder=network),
    ):
        for query in ("sort lists", "merge the file file", ""):
            assert scorer.rank(query, candidates=DOC_IDS) == searcher.rank(query, candidates=DOC_IDS)
    assert network.asked == []


def test_alpha_0_is_the_document_likelihood_by_hand(searcher, documents, network):
    scorer = QueryDocumentLikelihood(searcher, alpha=0, documents=documents, query_encoder=network)
    asked = network.encode_queries(["cards"])[0].tolist()
    ranking = scorer.rank("cards", candidates=["e", "a", "b"])
    found = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
    assert found["e"] == asked[5]
    assert found["a"] == pytest.approx((asked[3] + asked[5] + 2 * asked[4]) / 4, rel=1e-7)
    assert found["b"] == pytest.approx((asked[4] + 2 * asked[6] + asked[8]) / 4, rel=1e-7)


def test_repetitions_count_in_query_and_document(searcher, documents, network):
    once = QueryDocumentLikelihood(searcher, alpha=1).rank("sort", candidates=["a"]).scores[0]
    twice = QueryDocumentLikelihood(searcher, alpha=1).rank("sort sort", candidates=["a"]).scores[0]
    assert twice == 2 * once


def test_documents_without_a_token_get_the_smallest_value(searcher, documents, network):
    scorer = QueryDocumentLikelihood(searcher, alpha=0, documents=documents, query_encoder=network)
    ranking = scorer.rank("merge", candidates=["c", "d", "a", "b", "e"])
    assert ranking.doc_ids[-2:] == ("c", "d")
    lowest = network.encode_queries(["merge"])[0][KEPT].min()
    assert ranking.scores[-2:].tolist() == [lowest, lowest]
    assert np.isfinite(ranking.scores).all()


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
@pytest.mark.parametrize("query", ["", "the of the", "unspeakable"])
def test_a_query_without_a_token_keeps_the_order_without_a_network(
    searcher, documents, network, query, alpha
):
    scorer = QueryDocumentLikelihood(searcher, alpha=alpha, documents=documents, query_encoder=network)
    ranking = scorer.rank(query, candidates=["d", "b", "e", "a"])
    assert ranking.doc_ids == ("d", "b", "e", "a")
    assert ranking.scores.tolist() == [0.0] * 4
    assert network.asked == []


def test_a_smaller_k_gives_a_prefix(searcher, documents, network):
    scorer = QueryDocumentLikelihood(searcher, documents=documents, query_encoder=network)
    whole = scorer.rank("merge cards", candidates=DOC_IDS, k=5)
    assert scorer.rank("merge cards", candidates=DOC_IDS, k=2) == whole.top(2)
    assert len(scorer.rank("merge", candidates=[])) == 0


def test_runs_are_re_ranked_with_one_pass_a_query(searcher, documents, network):
    scorer = QueryDocumentLikelihood(searcher, documents=documents, query_encoder=network)
    run = Run([Ranking(["a", "b"], [2, 1], "q1"), Ranking(["e"], [1], "q2"), Ranking(["a"], [1], "q9")])
    queries = [Query("q2", "merge"), Query("q1", "list card"), Query("q3", "file")]
    seen = []
    timed = scorer.timed_run(queries, candidates=run, name="mine", progress=lambda *step: seen.append(step))
    assert list(timed.run.rankings) == ["q2", "q1"]
    assert timed.run["q1"] == scorer.rank(queries[1], candidates=["a", "b"])
    assert timed.run.name == "mine"
    assert timed.encoding.shape == timed.scoring.shape == (2,)
    assert network.asked == ["merge", "list card", "list card"]
    assert seen == [("re-rank", 1, 2), ("re-rank", 2, 2)]


def test_a_network_is_required_below_1(searcher, documents):
    with pytest.raises(InferenceRequiredError, match="query_encoder") as caught:
        QueryDocumentLikelihood(searcher, alpha=0.99, documents=documents)
    assert any("alpha=1" in fix for fix in caught.value.fixes_worded())
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("alpha", [-0.1, 1.1, math.nan, "1", None, True])
def test_alpha_out_of_range(searcher, alpha):
    with pytest.raises(ParameterError, match="weight of the query likelihood"):
        QueryDocumentLikelihood(searcher, alpha=alpha)


def test_documents_of_the_wrong_kind(searcher, documents, network, analyzer, tmp_path):
    with pytest.raises(ParameterError, match=r"terms of the documents|term frequencies"):
        QueryDocumentLikelihood(searcher, query_encoder=network)
    with pytest.raises(ParameterError, match="float32"):
        QueryDocumentLikelihood(searcher, query_encoder=network, documents=searcher.index)
    given = [Document(doc_id, text) for doc_id, text in TEXTS.items()]
    small = build_index(given, tmp_path / "small", model="ml", analyzer=analyzer).index
    with pytest.raises(ParameterError, match="expected float32"):
        QueryDocumentLikelihood(searcher, query_encoder=network, documents=small)
    other = build_index(
        given,
        tmp_path / "o",
        model="ml",
        analyzer="wordpiece-clean",
        options=BuildOptions(quantiser="float32"),
    ).index
    with pytest.raises(VocabularyMismatchError, match="different vocabularies"):
        QueryDocumentLikelihood(searcher, query_encoder=network, documents=other)


def test_a_searcher_that_does_not_score_by_the_query_likelihood(
    place, searcher, documents, network, analyzer, tmp_path
):
    given = [Document(doc_id, text) for doc_id, text in TEXTS.items()]
    bm25 = build_index(given, tmp_path / "bm25", model="bm25", analyzer=analyzer)
    asked = write_tilde(tmp_path / "asked", analyzer, DENSE, side="query")
    for other, said in ((bm25, ("model", "bm25")), (asked, ("side", "query"))):
        for alpha in (0.5, 1):
            with pytest.raises(ParameterError, match="needs a TILDE index") as caught:
                QueryDocumentLikelihood(other, alpha=alpha, documents=documents, query_encoder=network)
            assert said in caught.value.facts
    # Where it scores nothing, it only has to hold the documents.
    rankings = [
        QueryDocumentLikelihood(one, alpha=0, documents=documents, query_encoder=network).rank(
            "merge lists", candidates=DOC_IDS
        )
        for one in (bm25, searcher)
    ]
    assert rankings[0] == rankings[1]


def test_indexes_of_other_documents(searcher, network, analyzer, tmp_path):
    def shares(name, doc_ids):
        given = [Document(doc_id, TEXTS.get(doc_id, "merge")) for doc_id in doc_ids]
        return build_index(
            given, tmp_path / name, model="ml", analyzer=analyzer, options=BuildOptions(quantiser="float32")
        ).index

    for name, doc_ids, missing in (
        ("fewer", DOC_IDS[:-1], "e"),
        ("more", (*DOC_IDS, "f"), None),
        ("others", (*DOC_IDS[:-1], "f"), "e"),
    ):
        other = shares(name, doc_ids)
        for alpha in (0, 0.5):
            with pytest.raises(ParameterError, match="do not hold the same documents") as caught:
                QueryDocumentLikelihood(searcher, alpha=alpha, documents=other, query_encoder=network)
            facts = dict(caught.value.facts)
            assert facts["document likelihood"].endswith(f"{len(doc_ids)} documents")
            assert facts.get("only in the first") == missing
    turned = shares("turned", DOC_IDS[::-1])  # the order of a collection does not matter
    scorer = QueryDocumentLikelihood(searcher, alpha=0.5, documents=turned, query_encoder=network)
    assert len(scorer.rank("merge lists", candidates=DOC_IDS)) == len(DOC_IDS)


def test_a_query_of_300_tokens(tmp_path, analyzer):
    # Likelihoods with many digits, which 32-bit weights round: the index says what they are, and the sum is exact.
    random = np.random.default_rng(5)
    dense = np.log(random.uniform(1e-9, 1, size=(len(TEXTS), len(PIECES))))
    searcher = write_tilde(tmp_path / "tilde", analyzer, dense)
    index = searcher.index
    words = [PIECES[t] for t in random.choice(KEPT, size=300, p=[0.01, 0.02, 0.07, 0.3, 0.6])]
    query = " ".join(words)
    numbers = [analyzer.vocabulary.number(token) for token in analyzer.tokens(query)]
    assert len(numbers) == 300
    found = QueryDocumentLikelihood(searcher, alpha=1).rank(query, candidates=DOC_IDS)
    for doc_id, score in zip(found.doc_ids, found.scores.tolist(), strict=True):
        terms, weights = index.row(DOC_IDS.index(doc_id))
        stored = dict(zip(terms.tolist(), weights.tolist(), strict=True))
        addends = [stored.get(t, 0.0) + float(index.floors[t]) for t in numbers]
        assert score == pytest.approx(math.fsum(addends), rel=1e-12)
        assert score == pytest.approx(math.fsum(dense[DOC_IDS.index(doc_id)][numbers]), rel=1e-6)
        # What a running sum in fewer digits would give is another number.
        for kind in (np.float16, np.float32):
            running = np.cumsum(np.array(addends, dtype=kind), dtype=kind)[-1]
            assert float(running) != pytest.approx(math.fsum(addends), rel=1e-9)


@pytest.mark.parametrize(
    "answer",
    [np.full((1, 9), x) for x in (np.nan, -np.inf, 0.5)] + [np.full(9, -1.0), np.full((1, 8), -1.0)],
)
def test_invalid_log_likelihoods_are_refused(searcher, documents, network, answer):
    network.encode_queries = lambda texts: answer
    scorer = QueryDocumentLikelihood(searcher, documents=documents, query_encoder=network)
    with pytest.raises(WeightError, match="logarithm of a probability"):
        scorer.rank("merge", candidates=DOC_IDS)


def test_unknown_candidates(searcher, documents, network):
    scorer = QueryDocumentLikelihood(searcher, documents=documents, query_encoder=network)
    with pytest.raises(UnknownIdError, match="zzz"):
        scorer.rank("merge", candidates=["a", "zzz"])
    with pytest.raises(DuplicateIdError):
        scorer.rank("merge", candidates=["a", "a"])
    with pytest.raises(ParameterError):
        scorer.rank("merge", candidates=["a"], k=0)


def test_stored_vectors_replace_the_network(place, searcher, documents, analyzer):
    stored = StoredQueryVectors(write_tilde(place / "queries.tw", analyzer, DENSE[::-1], side="query").index)
    for doc_id, row in zip(DOC_IDS, DENSE[::-1], strict=True):
        given = stored.encode_queries([doc_id])[0]
        assert given.dtype == np.float32
        assert given[KEPT].tolist() == row[KEPT].tolist()
    scorer = QueryDocumentLikelihood(searcher, alpha=0, documents=documents, query_encoder=stored)
    ranking = scorer.rank(TEXTS["e"], candidates=["b", "e"], example="e")
    assert ranking.scores[ranking.doc_ids.index("e")] == DENSE[0][5]
    run = Run([Ranking(["b", "e"], [2, 1], "q")])
    timed = replace(scorer, examples={"q": "e"}).timed_run([Query("q", TEXTS["e"])], candidates=run)
    assert timed.run["q"].doc_ids == ranking.doc_ids
    with pytest.raises(UnknownIdError, match="example=doc_id"):
        scorer.rank(TEXTS["e"], candidates=["b"])


def test_stored_vectors_of_another_kind(searcher, documents):
    for index in (searcher.index, documents):
        with pytest.raises(ParameterError, match=r"side=.query"):
            StoredQueryVectors(index)


def test_an_absent_term_has_its_floor(tmp_path, analyzer):
    floors = np.array([0, 0, 0, -2.0, -3.0, -4.0, -5.0, 0, -6.0])
    vocabulary = analyzer.vocabulary
    with IndexWriter(tmp_path / "i") as writer:
        writer.add(["a"], TermWeights.from_rows([{4: 3.0, 5: 1.0}], vocabulary.id))
        description = encoder_description(
            model="tilde",
            parameters={"side": "query"},
            analyzer=analyzer.spec,
            weighting="counts",
            exact=False,
        )
        writer.commit(vocabulary, encoder=description, floors=floors, attachments=analyzer.spec.files)
    given = StoredQueryVectors(Index.open(tmp_path / "i")).encode_queries(["a"])[0]
    assert given.tolist() == [0, 0, 0, -2, 0, -3, -5, 0, -6]


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(st.sampled_from(["merge", "sort", "list", "the"]), max_size=12), min_size=1, max_size=6
    ),
    st.lists(st.floats(-30, 0), min_size=9, max_size=9),
)
def test_means_over_any_documents(tmp_path_factory, analyzer, texts, values):
    folder = tmp_path_factory.mktemp("means")
    given = [Document(str(i), " ".join(words)) for i, words in enumerate(texts)]
    built = build_index(
        given, folder / "i", model="ml", analyzer=analyzer, options=BuildOptions(quantiser="float32")
    )
    from termwise.search.query_document_likelihood import row_means

    order = np.array([*range(len(texts)), 0])
    found = row_means(built.index, order, np.array(values))
    for i, mean in zip(order, found, strict=True):
        numbers = [analyzer.vocabulary.number(t) for t in analyzer.tokens(given[i].text)]
        if numbers:
            assert mean == pytest.approx(sum(values[n] for n in numbers) / len(numbers), rel=1e-6, abs=1e-9)
        else:
            assert math.isnan(mean)
