from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pytest

import termwise
from termwise import BuildOptions, Document, build_index
from termwise.errors import (
    DuplicateIdError,
    EmptyCollectionError,
    MalformedRecordError,
    ParameterError,
    UnknownNameError,
)
from termwise.indexing import chosen_model
from termwise.indexing.count_rows import BATCH
from termwise.models import BM25
from termwise.text import make_analyzer

SMALL = [
    Document("a", "merge two sorted lists into one sorted list"),
    Document("b", "shuffle a list of cards"),
    Document("c", "read a file line by line"),
    Document("d", ""),
]


@pytest.fixture
def searcher(tmp_path):
    return build_index(SMALL, tmp_path / "index", store_text=True)


def test_bm25_by_hand(tmp_path):
    # Two documents of 2 and 4 tokens, avgdl 3; "merge" occurs once, in the first; N 2, df 1.
    documents = [Document("x", "merge lists"), Document("y", "read files by line")]
    searcher = build_index(
        documents,
        tmp_path / "i",
        analyzer="whitespace",
        model=chosen_model("bm25", {"k1": "1.2", "b": "0.75"}),
        options=BuildOptions(quantiser="float32"),
    )
    idf = np.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 1 / (1 + 1.2 * (1 - 0.75 + 0.75 * 2 / 3))
    ranking = searcher.rank("merge")
    assert ranking.doc_ids == ("x",)
    assert ranking.scores[0] == pytest.approx(expected, rel=1e-6)


def test_quantised_scores_stay_near_the_exact_ones(tmp_path):
    exact = build_index(SMALL, tmp_path / "f", options=BuildOptions(quantiser="float32")).rank(
        "sorted list of lines"
    )
    quick = build_index(SMALL, tmp_path / "q").rank("sorted list of lines")
    assert quick.doc_ids == exact.doc_ids
    scale = quick.scores[0] / 255
    assert quick.scores == pytest.approx(exact.scores, abs=4 * scale)


def test_empty_documents_are_indexed_and_are_not_results(searcher):
    assert len(searcher.index) == 4
    assert searcher.index.ordinal("d") == 3
    assert "d" not in searcher.rank("sorted list line", k=10).doc_ids


def test_iterables_of_any_kind_are_read_once(tmp_path):
    searcher = build_index((document for document in SMALL), tmp_path / "i")
    assert len(searcher.index) == 4


RECORDS = [
    {"id": 7, "title": "Sencha", "text": "green tea", "price": 12.5, "stock": np.int64(3)},
    {"id": "b", "title": "Assam", "text": math.nan, "price": math.nan, "stock": None},
]


@pytest.mark.parametrize("model", ["bm25", "instant"])
@pytest.mark.parametrize("given", [list, iter, lambda records: dict(enumerate(records)).values()])
def test_records_are_documents_with_the_fields_of_files(tmp_path, given, model):
    searcher = build_index(given(RECORDS), tmp_path / "i", model=model, attributes="all", store_text=True)
    assert [hit.text for hit in searcher.hits(searcher.rank())] == ["Sencha\ngreen tea", "Assam"]
    assert searcher.attributes(["7", "b"]) == [{"price": 12.5, "stock": 3}, {}]
    assert dict(searcher.schema) == {"price": "float", "stock": "integer"}


def test_fields_and_weights_of_records(tmp_path):
    searcher = build_index(RECORDS, tmp_path / "i", fields={"title": 3, "text": 1}, attributes=["price"])
    assert searcher.index.manifest.field_weights == {"title": 3, "text": 1}
    assert dict(searcher.schema) == {"price": "float"}


def test_records_join_an_index(tmp_path):
    build_index(RECORDS[:1], tmp_path / "i", fields=("title",), attributes="all", store_text=True)
    with termwise.open_writer(tmp_path / "i") as writer:
        assert writer.add({"_id": "c", "title": "Uji", "hidden": "x", "price": 2} for _ in "ab").new == 1
    searcher = termwise.open(tmp_path / "i")
    (hit,) = searcher.hits(searcher.rank("uji"))
    assert (hit.doc_id, hit.text, hit.attributes) == ("c", "Uji", {"price": 2.0, "hidden": "x"})


@pytest.mark.parametrize(
    ("records", "error", "message"),
    [
        (RECORDS[0], ParameterError, "a collection consists of documents"),
        ([RECORDS[0], "green"], ParameterError, "each record is a mapping of fields to values"),
        ([RECORDS[0], SMALL[0]], ParameterError, "each record is a mapping of fields to values"),
        ([SMALL[0], RECORDS[0]], ParameterError, "a collection consists of documents"),
        ([{"id": "a", "plot": 3}], MalformedRecordError, "plot"),
        ([{"id": math.nan, "text": "tea"}], MalformedRecordError, "an identifier is not valid"),
        (7, ParameterError, "documents cannot have this value"),
    ],
)
def test_other_records_are_refused(tmp_path, records, error, message):
    with pytest.raises(error, match=message):
        build_index(records, tmp_path / "i")
    assert not (tmp_path / "i").exists()


def test_empty_collections_are_refused(tmp_path):
    with pytest.raises(EmptyCollectionError):
        build_index(iter(()), tmp_path / "i")
    assert not (tmp_path / "i").exists()


def test_collection_without_a_single_word(tmp_path):
    searcher = build_index([Document("a", ""), Document("b", " ... ")], tmp_path / "i")
    assert len(searcher.rank("anything")) == 0


def test_duplicate_ids_name_both_positions(tmp_path):
    with pytest.raises(DuplicateIdError, match=r"number 1 and number 3"):
        build_index([SMALL[0], SMALL[1], SMALL[0]], tmp_path / "i")
    assert not (tmp_path / "i").exists()


def test_odd_identifiers_survive(tmp_path):
    ids = ["with space", "naïve", "日本語", "a\tb", "🙂"]
    searcher = build_index([Document(i, f"word{n} shared") for n, i in enumerate(ids)], tmp_path / "i")
    assert searcher.rank("shared").doc_ids == tuple(ids)
    assert searcher.explain("shared", "日本語").score > 0


def test_a_large_document(tmp_path):
    large = " ".join(f"word{i % 5000}" for i in range(120_000))
    assert len(large) > 1_000_000
    searcher = build_index(
        [Document("large", large), Document("small", "word1")], tmp_path / "i", store_text=True
    )
    assert set(searcher.rank("word1").doc_ids) == {"small", "large"}
    assert searcher.explain("word7", "large").text == large


def test_unknown_names_suggest_near_ones(tmp_path):
    with pytest.raises(UnknownNameError, match="bm25"):
        build_index(SMALL, tmp_path / "i", model="bm52")
    with pytest.raises(UnknownNameError, match="k1"):
        build_index(SMALL, tmp_path / "i", model=chosen_model("bm25", {"k2": "1"}))
    with pytest.raises(UnknownNameError, match="english"):
        build_index(SMALL, tmp_path / "i", analyzer="englsh")
    with pytest.raises(ParameterError):
        build_index(SMALL, tmp_path / "i", model=chosen_model("bm25", {"b": "1.5"}))
    with pytest.raises(ParameterError):
        build_index(SMALL, tmp_path / "i", model=chosen_model(BM25(), {"b": "0.5"}))
    assert not (tmp_path / "i").exists()


def test_impossible_memory_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="memory cannot have this value"):
        build_index(SMALL, tmp_path / "i", options=BuildOptions(memory=10**400))
    assert list(tmp_path.iterdir()) == []


def test_bad_lines_name_file_and_line_and_leave_nothing(tmp_path):
    file = tmp_path / "c.jsonl"
    file.write_text('{"_id": "a", "text": "fine"}\n{"_id": "b", "text": \n')
    with pytest.raises(MalformedRecordError) as caught:
        build_index(file, tmp_path / "i")
    assert dict(caught.value.facts)["line"] == 2
    file.write_bytes(b'{"_id": "a", "text": "fine"}\n{"_id": "b", "text": "\xff\xfe"}\n')
    with pytest.raises(MalformedRecordError):
        build_index(file, tmp_path / "i")
    assert not (tmp_path / "i").exists()


def test_same_bytes_for_any_number_of_threads(tmp_path, monkeypatch):
    monkeypatch.setattr("termwise.parallel.WORTH_PROCESSES", 1e-9)
    documents = [Document(f"d{i}", f"word{i % 97} other{i % 11} both") for i in range(3 * BATCH)]
    manifests = []
    for threads in (1, 2):
        build_index(
            documents, tmp_path / str(threads), store_text=True, options=BuildOptions(threads=threads)
        )
        manifests.append((tmp_path / str(threads) / "manifest.json").read_bytes())
    assert manifests[0] == manifests[1]


@pytest.mark.parametrize("model", ["bm25", "jm", "dirichlet"])
def test_an_index_contains_its_query_encoder(tmp_path, model):
    built = build_index(SMALL, tmp_path / "i", model=model, analyzer="stm2")
    opened = termwise.open(tmp_path / "i")
    assert opened.analyzer.spec == make_analyzer("stm2").spec
    assert opened.rank("sorted lists") == built.rank("sorted lists")


@pytest.mark.parametrize("quantiser", ["uint8", "float32"])
@pytest.mark.parametrize("model", ["jm", "dirichlet"])
def test_language_models_give_log_likelihoods(tmp_path, model, quantiser):
    documents = [Document("x", "a b b c"), Document("y", "a a d")]
    searcher = build_index(
        documents,
        tmp_path / "i",
        model=model,
        analyzer="whitespace",
        options=BuildOptions(quantiser=quantiser),
    )
    tf = {"x": {"a": 1, "b": 2, "c": 1}, "y": {"a": 2, "d": 1}}
    cf = {"a": 3, "b": 2, "c": 1, "d": 1}

    def likelihood(doc_id, token):
        dl, p = sum(tf[doc_id].values()), cf[token] / 7
        count = tf[doc_id].get(token, 0)
        return (0.9 * count / dl + 0.1 * p) if model == "jm" else (count + 2000 * p) / (dl + 2000)

    query = "a b b"
    ranking = searcher.rank(query)
    for hit in ranking:
        expected = sum(np.log(likelihood(hit.doc_id, token)) for token in query.split())
        assert hit.score == pytest.approx(expected, abs=1e-5 if quantiser == "float32" else 0.05)


def test_vectors_from_jsonl(tmp_path):
    file = tmp_path / "vectors.jsonl.gz"
    lines = [
        {"id": "a", "contents": "sorted lists", "vector": {"sorted": 2.5, "list": 1.0, "merge": 0.5}},
        {"id": "b", "contents": "a list", "vector": {"list": 2.0}},
        {"id": "c", "contents": "", "vector": {}},
    ]
    with gzip.open(file, "wt") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    searcher = build_index(
        file, tmp_path / "i", model="vectors", store_text=True, options=BuildOptions(quantiser="float32")
    )
    ranking = searcher.rank("list list merge")
    assert ranking.doc_ids == ("b", "a")
    assert ranking.scores.tolist() == [4.0, 2.5]
    origins = {c.term: c.origin for c in searcher.explain("sorted merge list", "a").contributions}
    assert origins == {"sorted": "exact", "merge": "expansion", "list": "expansion"}


def test_vectors_with_idf_queries(tmp_path):
    (tmp_path / "v.jsonl").write_text(
        '{"id": "a", "vector": {"x": 1, "y": 1}}\n{"id": "b", "vector": {"y": 2}}\n'
    )
    (tmp_path / "idf.json").write_text('{"x": 2.5, "y": 0.75}')
    model = chosen_model("vectors", {"query": "idf", "idf": str(tmp_path / "idf.json")})
    searcher = build_index(tmp_path / "v.jsonl", tmp_path / "i", model=model)
    (tmp_path / "idf.json").unlink()
    opened = termwise.open(tmp_path / "i")
    assert opened.rank("x y").scores.tolist() == [3.25, 1.5]
    assert opened.rank("x y") == searcher.rank("x y")
