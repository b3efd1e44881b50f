"""Weighted sums of indexes: the same scores as fused runs, from one index."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise import BuildOptions, Document, Query, Searcher, build_index
from termwise.errors import (
    IndexExistsError,
    ParameterError,
    UnknownIdError,
    UnknownNameError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.fusion import fuse, fuse_indexes
from termwise.fusion import indexes as module
from termwise.index import Index, IndexWriter, verify
from termwise.index.encoder_description import EncoderDescription, encoder_description
from termwise.models import BM25, Model1, QueryLikelihoodDirichlet, QueryLikelihoodJM
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table
from termwise.weights import TermWeights

TEXTS = {
    "a": "heart valve and artery and heart",
    "b": "cardiac care",
    "c": "merge two sorted lists",
    "d": "",
    "e": "sorted care of the heart",
}
DOCUMENTS = [Document(*pair) for pair in TEXTS.items()]
QUERIES = [
    Query(f"q{n}", text) for n, text in enumerate(["heart", "cardiac care care", "sorted", "zebra", ""])
]
EXACT = {"analyzer": "whitespace", "options": BuildOptions(quantiser="float32")}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a table in which heart is asked for with cardiac, and with a word that no document says."""
    path = tmp_path_factory.mktemp("table") / "t"
    words = ["artery", "cardiac", "heart", "pulse"]
    write_table(
        TranslationTable(
            Vocabulary(words), [0, 1, 2, 4, 4], [2, 2, 1, 3], [0.25, 0.5, 0.5, 0.25], [1, 1, 1, 1],
            make_analyzer("whitespace").spec,
        ),
        path,
    )  # fmt: skip
    return path


@pytest.fixture
def build(tmp_path):
    def build(name, model="bm25", documents=DOCUMENTS, **options):
        return build_index(documents, tmp_path / f"{name}.tw", model=model, **{**EXACT, **options}).index

    return build


def scores(searcher, query):
    """Score every document, whether it is a result or not."""
    ranking = searcher.rank(query, k=100, candidates=sorted(TEXTS))
    return dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))


def fused_by_hand(parts, weights, query):
    each = [scores(Searcher.of_index(part), query) for part in parts]
    return {
        doc_id: pytest.approx(
            sum(w * s[doc_id] for w, s in zip(weights, each, strict=True)), rel=1e-6, abs=1e-6
        )
        for doc_id in TEXTS
    }


@pytest.mark.parametrize("order", [1, -1])
def test_scores_are_the_weighted_sums(build, tmp_path, table, order):
    """BM25, Dirichlet with floors and a bias, and translations without smoothing, which have floors."""
    parts = [
        build("bm25"),
        build("lm", QueryLikelihoodJM(lambda_=0.3), DOCUMENTS[::order]),
        build("m1", Model1(table=str(table), lambda_=0.0, keep=0), DOCUMENTS[::order]),
    ]
    fused = fuse_indexes(parts, [0.5, 2.0, 0.125], tmp_path / "fused.tw")
    assert fused.index.manifest.quantiser.kind == "float32"
    assert verify(fused.index.path) == []
    assert fused.index.doc_ids(np.arange(5)) == list(TEXTS)
    for query in QUERIES:
        assert scores(fused, query) == fused_by_hand(parts, [0.5, 2.0, 0.125], query)


def test_biases_add_up(build, tmp_path):
    parts = [
        build("plain"),
        build("one", QueryLikelihoodDirichlet(mu=5)),
        build("other", QueryLikelihoodDirichlet(mu=50), DOCUMENTS[::-1]),
    ]
    fused = fuse_indexes(parts, [1.0, 0.5, 3.0], tmp_path / "fused.tw")
    assert fused.index.manifest.background
    for query in QUERIES:
        assert scores(fused, query) == fused_by_hand(parts, [1.0, 0.5, 3.0], query)
    background = fused.explain("heart", "a").contributions
    assert "background" in {part.origin for part in background}


@settings(max_examples=40)
@given(st.data())
def test_a_search_gives_the_ranking_of_fused_complete_runs(data):
    """Over any rows, in any order of the documents, for any number of weights that add up to 0 or more."""
    tokens, ids = ["t0", "t1", "t2", "t3"], [f"d{i}" for i in range(data.draw(st.integers(1, 6)))]
    weight = st.floats(0.125, 8, width=32) | st.integers(1, 3).map(float)
    row = st.dictionaries(st.integers(0, 3), weight, max_size=4)
    shares = data.draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=2, max_size=3))
    kind = data.draw(st.sampled_from(["uint8", "float32"]))
    if not any(shares):
        shares[0] = 1.0
    vocabulary, analyzer = Vocabulary(tokens), make_analyzer("whitespace")
    described = encoder_description(
        model="bm25", parameters={}, analyzer=analyzer.spec, weighting="counts", exact=True
    )
    query = Query("q", " ".join(data.draw(st.lists(st.sampled_from([*tokens, "else"]), max_size=5))))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", data.draw(st.sampled_from([1, 2, 100])))
        patch.setattr(module, "CHUNK", data.draw(st.sampled_from([1, 3, 100])))
        parts = []
        for number in range(len(shares)):
            order = data.draw(st.permutations(ids))
            rows = data.draw(st.lists(row, min_size=len(ids), max_size=len(ids)))
            with IndexWriter(f"{folder}/{number}", quantiser=kind) as writer:
                writer.add(order, TermWeights.from_rows(rows, vocabulary.id))
                writer.commit(vocabulary, encoder=described)
            parts.append(Index.open(f"{folder}/{number}"))
        if not any(part.manifest.postings for part, share in zip(parts, shares, strict=True) if share):
            return
        fused = fuse_indexes(parts, shares, f"{folder}/fused", quantiser="float32")
        runs = [
            Searcher.of_index(part).rank_many([query], k=100, name=str(n)) for n, part in enumerate(parts)
        ]
        expected = fuse(runs, shares, missing="zero", scaling="raw", documents="union")["q"]
        found = fused.rank(query, k=100)
        wanted = {d: s for d, s in zip(expected.doc_ids, expected.scores.tolist(), strict=True) if s > 0}
        assert dict(zip(found.doc_ids, found.scores.tolist(), strict=True)) == {
            doc_id: pytest.approx(score, rel=1e-6) for doc_id, score in wanted.items()
        }
        top = fused.rank(query, k=2)
        assert top.scores.tolist() == pytest.approx(list(wanted.values())[:2], rel=1e-6)


def test_one_byte_weights_cost_what_the_manifest_says(build, tmp_path):
    parts = [build("one", options=BuildOptions()), build("two", "jm", options=BuildOptions())]
    fused = fuse_indexes(parts, [0.5, 0.5], tmp_path / "fused.tw")
    assert fused.index.manifest.quantiser.kind == "uint8"
    error = fused.index.manifest.quantiser.max_error
    for query in ("heart", "sorted care"):
        expected = fused_by_hand(parts, [0.5, 0.5], query)
        for doc_id, score in scores(fused, query).items():
            assert score == pytest.approx(expected[doc_id].expected, abs=error * len(query.split()) + 1e-9)


def test_terms_that_one_part_adds(build, tmp_path, table):
    """The vocabulary of words is that of the collection, and of what a table translates to."""
    parts = [build("bm25"), build("m1", Model1(table=str(table), keep=0))]
    assert parts[0].manifest.vocabulary != parts[1].manifest.vocabulary
    for number, order in enumerate((parts, parts[::-1])):
        fused = fuse_indexes(order, [1.0, 2.0], tmp_path / f"fused{number}.tw")
        assert fused.index.manifest.terms == parts[1].manifest.terms
        for query in ("pulse", "cardiac heart pulse", "care"):
            assert scores(fused, query) == fused_by_hand(order, [1.0, 2.0], query)


def test_a_bias_needs_all_terms(build, tmp_path, table):
    parts = [build("m1", Model1(table=str(table), keep=0)), build("lm", "dirichlet")]
    with pytest.raises(VocabularyMismatchError, match="must have all terms"):
        fuse_indexes(parts, [1.0, 1.0], tmp_path / "fused.tw")


def test_texts_come_from_the_first_that_has_them(build, tmp_path):
    parts = [build("bm25"), build("jm", "jm", DOCUMENTS[::-1], store_text=True)]
    fused = fuse_indexes(parts, [1.0, 1.0], tmp_path / "fused.tw")
    assert [fused.index.text(i) for i in range(5)] == list(TEXTS.values())
    assert fuse_indexes([parts[0], build("x", "ml")], [1, 1], tmp_path / "none.tw").index.text(0) is None


def test_a_part_that_does_not_count_adds_nothing(build, tmp_path, table):
    parts = [build("bm25"), build("m1", Model1(table=str(table), keep=0), store_text=True)]
    fused = fuse_indexes(parts, [2.0, 0.0], tmp_path / "fused.tw")
    assert fused.index.manifest.terms == parts[0].manifest.terms
    assert [part["weight"] for part in fused.index.manifest.encoder.json["parts"]] == [2.0]
    assert fused.rank("cardiac").doc_ids == ("b",)
    assert fused.index.stores_text


def test_the_manifest_lists_the_parts(build, tmp_path):
    one, two, three = build("one"), build("two", "jm"), build("three", "ml")
    inner = fuse_indexes([one, two], [0.5, 0.25], tmp_path / "inner.tw")
    fused = fuse_indexes([inner.index, three], [2.0, 3.0], tmp_path / "fused.tw").index.manifest
    assert fused.encoder.json["model"] == {"name": "fusion", "parameters": {}, "exact": True}
    assert fused.encoder.json["query"] == {"weighting": "counts"}
    assert fused.encoder.json["analyzer"] == one.manifest.encoder.json["analyzer"]
    assert fused.encoder.json["parts"] == [
        {"weight": 1.0, "model": one.manifest.encoder.json["model"]},
        {"weight": 0.5, "model": two.manifest.encoder.json["model"]},
        {"weight": 3.0, "model": three.manifest.encoder.json["model"]},
    ]


# --- what cannot be added up ----------------------------------------------------------------------------------------


def test_negative_weights_where_no_sum_is_below_0(build, tmp_path):
    parts = [build("one"), build("two", BM25(k1=0.1))]
    fused = fuse_indexes(parts, [1.0, -0.5], tmp_path / "fused.tw")
    for query in QUERIES:
        assert scores(fused, query) == fused_by_hand(parts, [1.0, -0.5], query)


def test_sums_below_0_are_refused(build, tmp_path):
    parts = [build("one"), build("two", BM25(k1=0.1))]
    with pytest.raises(WeightError, match="negative") as caught:
        fuse_indexes(parts, [1.0, -4.0], tmp_path / "fused.tw")
    facts = dict(caught.value.facts)
    assert facts["document"] == "a"
    assert facts["term"].strip("'") in TEXTS["a"]
    assert facts["sum"] < 0
    assert not (tmp_path / "fused.tw").exists()


def test_other_documents(build, tmp_path):
    other = [*DOCUMENTS[:2], Document("x", "more"), Document("y", "more"), *DOCUMENTS[3:]]
    one, two, fewer = build("one"), build("two", documents=other), build("three", documents=DOCUMENTS[1:])
    for parts, lacking, missing in (
        ([one, two], "c", "1 documents"),
        ([one, fewer], "a", "1 documents"),
        ([fewer, one], "a", "1 documents"),
        ([build("less", documents=DOCUMENTS[:2]), one], "c", "3 documents"),
    ):
        with pytest.raises(UnknownIdError, match="different documents") as caught:
            fuse_indexes(parts, [1.0, 0.0], tmp_path / "fused.tw")
        facts = dict(caught.value.facts)
        assert facts["doc_id"] == lacking
        assert facts["missing"].startswith(missing)
        assert {facts["index"].split("  ")[0], facts["other"].split("  ")[0]} == {str(p.path) for p in parts}
    assert not (tmp_path / "fused.tw").exists()


def test_other_analyzers(build, tmp_path):
    with pytest.raises(VocabularyMismatchError, match="different analyzers") as caught:
        fuse_indexes([build("one"), build("two", analyzer="english")], [1, 1], tmp_path / "fused.tw")
    facts = dict(caught.value.facts)
    assert [facts[name].split("  ")[1] for name in ("index", "other")] == ["whitespace", "english"]
    mixing, *rebuilding = caught.value.fixes_worded()
    folders = [facts[name].split("  ")[0] for name in ("index", "other")]
    assert mixing == f"add their scores at search time instead: `mix_indexes({folders}, weights=[1, 1])`"
    assert rebuilding == [
        "rebuild the first: `build_index(model='bm25', analyzer='english')`",
        "rebuild the other: `build_index(model='bm25', analyzer='whitespace')`",
    ]


def test_an_index_of_a_network_cannot_be_rebuilt_with_another_analyzer(build):
    index = build("one")
    assert module._rebuilding("first", index, make_analyzer("english").spec)
    network = EncoderDescription.of({**index.manifest.encoder.json, "network": {"name": "encoder"}})
    index = Index(index.path, replace(index.manifest, encoder=network))
    assert module._rebuilding("first", index, make_analyzer("english").spec) == []


def test_an_index_without_an_analyzer(build, tmp_path):
    with IndexWriter(tmp_path / "rows.tw") as writer:
        writer.add(["a"], TermWeights([0, 1], [0], [1.0], Vocabulary(["x"]).id))
        writer.commit(Vocabulary(["x"]), encoder={})
    with pytest.raises(UnknownNameError, match="no description of its query analyzer"):
        fuse_indexes([build("one"), tmp_path / "rows.tw"], [1, 1], tmp_path / "fused.tw")


def vectors(folder, name, weighting, weights=None, tokens=("x", "y")):
    vocabulary, spec = Vocabulary(tokens), make_analyzer("whitespace").spec
    with IndexWriter(folder / name, quantiser="float32") as writer:
        writer.add(["a"], TermWeights.from_rows([dict.fromkeys(range(len(tokens)), 1.0)], vocabulary.id))
        writer.commit(
            vocabulary,
            encoder=encoder_description(
                model="vectors", parameters={}, analyzer=spec, weighting=weighting, exact=False
            ),
            query_weights=weights,
        )
    return Index.open(folder / name)


def test_queries_that_are_weighed_in_different_ways(tmp_path):
    parts = [vectors(tmp_path, "counts", "counts"), vectors(tmp_path, "once", "occurrences")]
    with pytest.raises(ParameterError, match="different query weightings"):
        fuse_indexes(parts, [1, 1], tmp_path / "fused.tw")


def test_query_weights_of_shared_terms_must_be_equal(tmp_path):
    one = vectors(tmp_path, "one", "idf", [0.5, 2.0])
    two = vectors(tmp_path, "two", "idf", [3.0, 2.0], tokens=("z", "y"))
    fused = fuse_indexes([one, two], [1, 1], tmp_path / "fused.tw")
    assert fused.index.query_weights.tolist() == [0.5, 2.0, 3.0]
    assert fused.rank("x y z").scores.tolist() == [0.5 + 2 * 2.0 + 3.0]
    with pytest.raises(ParameterError, match="different query weights for a term") as caught:
        fuse_indexes([one, vectors(tmp_path, "three", "idf", [0.5, 1.0])], [1, 1], tmp_path / "no.tw")
    assert ("term", "'y'") in caught.value.facts


def test_wrong_arguments(build, tmp_path):
    one, two = build("one"), build("two", "jm")
    for indexes, weights, said in (
        ([one], [1], "nothing to fuse"),
        (str(one.path), [1], "indexes cannot have this value"),
        ([one, 3], [1, 1], "indexes cannot have this value"),
        ([one, two], [1], "weights are one per run"),
        ([one, two], [0, 0], "not all 0"),
        ([one, two], [1, float("nan")], "finite"),
        ([one, Path(one.path)], [1, 1], "given twice"),
    ):
        with pytest.raises(ParameterError, match=said):
            fuse_indexes(indexes, weights, tmp_path / "fused.tw")
    with pytest.raises(ParameterError, match="memory cannot have this value"):
        fuse_indexes([one, two], [1, 1], tmp_path / "fused.tw", memory=10**400)
    for path in (one.path, one.path / "inside", tmp_path):
        with pytest.raises(ParameterError, match="overlaps the folder of an old index"):
            fuse_indexes([one, two], [1, 1], path, overwrite=True)
    (tmp_path / "link.tw").symlink_to(one.path)
    with pytest.raises(ParameterError, match="given twice"):
        fuse_indexes([one, tmp_path / "link.tw"], [1, 1], tmp_path / "fused.tw")


def test_a_failed_fusion_keeps_the_old_index(build, tmp_path):
    one, two = build("one"), build("two", BM25(k1=0.1))
    before = fuse_indexes([one, two], [1, 1], tmp_path / "fused.tw").index.manifest
    with pytest.raises(IndexExistsError):
        fuse_indexes([one, two], [1, 2], tmp_path / "fused.tw")
    with pytest.raises(WeightError):
        fuse_indexes([one, two], [1, -9], tmp_path / "fused.tw", overwrite=True)
    assert Index.open(tmp_path / "fused.tw").manifest == before
    after = fuse_indexes([one, two], [1, 2], tmp_path / "fused.tw", overwrite=True).index.manifest
    assert after != before


def test_an_index_that_is_replaced_meanwhile_is_read_as_it_was_opened(build, tmp_path):
    one, two = build("one"), build("two", "jm")
    build("two", "jm", DOCUMENTS[:1], overwrite=True)
    fused = fuse_indexes([one, two], [1, 1], tmp_path / "fused.tw")
    for query in QUERIES:
        assert scores(fused, query) == fused_by_hand([one, two], [1, 1], query)


def test_documents_without_a_word(build, tmp_path):
    empty = [Document("a", ""), Document("b", "")]
    parts = [build("one", documents=empty), build("two", "jm", documents=empty)]
    fused = fuse_indexes(parts, [1, 1], tmp_path / "fused.tw")
    assert (len(fused.index), fused.index.manifest.postings) == (2, 0)
    assert fused.rank("heart").doc_ids == ()


def test_the_same_bytes_for_any_batches_and_threads(build, tmp_path, monkeypatch):
    parts = [build("one", options=BuildOptions()), build("two", "jm", options=BuildOptions())]
    first = fuse_indexes(parts, [1, 2], tmp_path / "first.tw").index.manifest
    monkeypatch.setattr(module, "BATCH", 2)
    monkeypatch.setattr(module, "CHUNK", 1)
    assert fuse_indexes(parts, [1, 2], tmp_path / "second.tw", threads=2).index.manifest == first


def test_progress_names_its_stages(build, tmp_path):
    seen = {}
    fuse_indexes(
        [build("one"), build("two", "jm")],
        [1, 1],
        tmp_path / "fused.tw",
        progress=lambda stage, done, total: seen.update({stage: (done, total)}),
    )
    assert seen["compare documents"] == seen["add rows"] == (5, 5)
