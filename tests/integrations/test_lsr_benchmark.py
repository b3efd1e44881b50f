"""Folders of embeddings of lsr-benchmark: what its own reader reads, and the way back into an index."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import termwise
from termwise.errors import DataError, MissingFileError, ParameterError
from termwise.integrations.lsr_benchmark import (
    doc_embeddings,
    query_embeddings,
    write_embeddings,
    write_vectors,
)

DOCUMENTS = [
    termwise.Document("d1", "merge two sorted lists"),
    termwise.Document("d2", "shuffle a list"),
    termwise.Document("d3", ""),
]

QUERIES = [termwise.Query("q1", "merging lists and lists"), termwise.Query("q2", "nothing known")]


@pytest.fixture(params=["bm25", "dirichlet"])
def searcher(request, tmp_path):
    return termwise.build_index(DOCUMENTS, tmp_path / "docs.tw", model=request.param)


def test_tokens_and_weights_are_those_of_the_index(searcher):
    found = list(doc_embeddings(searcher))
    assert [doc_id for doc_id, _, _ in found] == ["d1", "d2", "d3"]
    rows = searcher.index.weights(np.arange(3))
    for (_, tokens, weights), (terms, expected) in zip(found, rows, strict=True):
        assert tokens.tolist() == [searcher.index.vocabulary.token(term) for term in terms.tolist()]
        assert weights.tolist() == expected.tolist()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_lsr_benchmark_reads_our_folder(searcher, tmp_path):
    irds = pytest.importorskip("lsr_benchmark.irds", reason="pip install lsr-benchmark")
    write_embeddings(searcher, tmp_path / "bm25", queries=QUERIES)
    read = {part: irds.embeddings("none", str(tmp_path / "bm25"), part) for part in ("doc", "query")}
    assert [doc_id for doc_id, _, _ in read["doc"]] == ["d1", "d2", "d3"]
    weights = {
        part: [
            {int(token): value for token, value in zip(tokens, values, strict=True)}
            for _, tokens, values in rows
        ]
        for part, rows in read.items()
    }
    row = dict(zip(*(each.tolist() for each in searcher.index.weights(np.arange(1)).row(0)), strict=True))
    assert weights["doc"][0] == pytest.approx(row)
    scores = [sum(weights["query"][0].get(t, 0) * w for t, w in doc.items()) for doc in weights["doc"]]
    ranked = {
        s.doc_id: s.score for s in searcher.rank("merging lists and lists", candidates=["d1", "d2", "d3"])
    }
    constant = ranked["d1"] - scores[0]  # of the floors
    assert [ranked[doc_id] for doc_id in ("d1", "d2", "d3")] == pytest.approx(
        [s + constant for s in scores], rel=1e-5
    )
    assert weights["query"][1] == {}


def test_a_folder_is_indexed_again(searcher, tmp_path):
    write_embeddings(searcher, tmp_path / "weights", queries=QUERIES)
    write_vectors(tmp_path / "weights", tmp_path / "weights.npz")
    exact = termwise.BuildOptions(quantiser="float32")
    asked = query_embeddings(tmp_path / "weights")
    for file in (tmp_path / "weights.npz", tmp_path / "weights" / "doc" / "doc-embeddings.npz"):
        copy = termwise.build_index(
            file, tmp_path / "copy.tw", model="vectors", options=exact, overwrite=True
        )
        found = copy.search(termwise.Search(weights=asked["q1"])).ranking
        expected = searcher.rank("merging lists and lists")
        assert found.doc_ids[:2] == expected.doc_ids[:2] == ("d1", "d2")
        difference = found.scores[0] - found.scores[1]
        assert difference == pytest.approx(expected.scores[0] - expected.scores[1], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("indices", [np.array([30, 7, 30]), np.array(["thirty", "seven", "thirty"])])
def test_folders_of_other_models(indices, tmp_path):
    for part in ("doc", "query"):
        (tmp_path / part).mkdir()
        (tmp_path / part / f"{part}-ids.txt").write_text("a\nb")
        arrays = {"data": np.array([1.5, 0.5, 2.0]), "indices": indices, "indptr": np.array([0, 2, 3])}
        np.savez_compressed(tmp_path / part / f"{part}-embeddings.npz", **arrays)
    write_vectors(tmp_path, tmp_path / "made.npz")
    searcher = termwise.build_index(tmp_path / "made.npz", tmp_path / "made.tw", model="vectors")
    asked = query_embeddings(tmp_path)
    assert asked["b"] == {str(indices[2]): 2.0}
    assert searcher.search(termwise.Search(weights=asked["b"])).ranking.doc_ids == ("b", "a")


def test_bad_folders(tmp_path):
    with pytest.raises(MissingFileError):
        write_vectors(tmp_path, tmp_path / "a.npz")
    with pytest.raises(ParameterError, match=r"\.npz"):
        write_vectors(tmp_path, tmp_path / "a.jsonl")
    (tmp_path / "doc").mkdir()
    (tmp_path / "doc" / "doc-ids.txt").write_text("a\nb\n")
    archive = tmp_path / "doc" / "doc-embeddings.npz"
    for arrays in (
        {"data": np.ones(2)},
        {"data": np.ones(2), "indices": np.arange(2), "indptr": np.array([0, 2])},
        {"data": np.ones(3), "indices": np.arange(2), "indptr": np.array([0, 1, 2])},
        {"data": np.ones(2), "indices": np.arange(2), "indptr": np.array([0, 2, 1])},
        {"data": np.ones(2), "indices": np.arange(2), "indptr": np.array([0.0, 1.0, 2.0])},
        {"data": np.array(["x", "y"]), "indices": np.arange(2), "indptr": np.array([0, 1, 2])},
    ):
        np.savez(archive, **arrays)
        with pytest.raises(DataError):
            write_vectors(tmp_path, tmp_path / "a.npz")
    archive.write_bytes(b"not an archive")
    with pytest.raises(DataError):
        write_vectors(tmp_path, tmp_path / "a.npz")
    assert not (tmp_path / "a.npz").exists()


def test_identifiers_that_lines_cannot_hold(tmp_path):
    searcher = termwise.build_index([termwise.Document("d\n1", "a list")], tmp_path / "docs.tw")
    with pytest.raises(ParameterError, match="line of its own"):
        write_embeddings(searcher, tmp_path / "weights")


def test_vectors_mixtures_and_chunks_are_refused(tmp_path):
    mixture = termwise.build_index(DOCUMENTS, tmp_path / "m.tw", model="instant")
    chunks = termwise.build_index(DOCUMENTS, tmp_path / "c.tw", chunk=5)
    for searcher in (mixture, termwise.open(mixture.parts[1].index.path), chunks):
        with pytest.raises(ParameterError):
            doc_embeddings(searcher)
        with pytest.raises(ParameterError):
            write_embeddings(searcher, tmp_path / "weights")
    assert not (tmp_path / "weights").exists()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_data_set_of_lsr_benchmark_is_read_and_takes_our_weights(tmp_path):
    lsr_benchmark = pytest.importorskip("lsr_benchmark", reason="pip install lsr-benchmark")
    ir_datasets = pytest.importorskip("ir_datasets")
    folder = tmp_path / "data"
    folder.mkdir()
    with gzip.open(folder / "corpus.jsonl.gz", "wt") as corpus:
        for doc_id, text, *_ in DOCUMENTS:
            segment = {"start": 0, "end": len(text), "text": text}
            corpus.write(json.dumps({"doc_id": doc_id, "segments": [segment], "default_text": text}) + "\n")
    (folder / "queries.jsonl").write_text('{"qid": "q1", "query": "merging lists"}\n')
    (folder / "qrels.txt").write_text("q1 0 d1 1\n")
    lsr_benchmark.register_to_ir_datasets(str(folder))
    name = f"lsr-benchmark/{folder}"
    spec = f"ir_datasets:{name}"
    assert list(termwise.open_collection(spec).documents()) == DOCUMENTS
    queries = list(termwise.read_queries(spec))
    assert list(termwise.read_qrels(spec)) == [termwise.Qrel("q1", "d1", 1)]
    searcher = termwise.build_index(spec, tmp_path / "docs.tw")
    write_embeddings(searcher, tmp_path / "weights", queries=queries)
    found = ir_datasets.load(name).doc_embeddings(str(tmp_path / "weights"))
    for (doc_id, tokens, weights), (expected_id, terms, expected) in zip(
        found, doc_embeddings(searcher), strict=True
    ):
        named = [searcher.index.vocabulary.token(int(token)) for token in tokens]
        assert (doc_id, named, weights.tolist()) == (expected_id, terms.tolist(), expected.tolist())


def test_changed_indexes(tmp_path):
    termwise.build_index(DOCUMENTS, tmp_path / "docs.tw")
    with termwise.open_writer(tmp_path / "docs.tw") as writer:
        writer.delete(["d1"])
        writer.add([termwise.Document("d4", "shuffle entirely new words")])
    searcher = termwise.open(tmp_path / "docs.tw")
    found = {doc_id: tokens.tolist() for doc_id, tokens, _ in doc_embeddings(searcher)}
    assert list(found) == ["d2", "d3", "d4"]
    assert {"shuffl", "new", "word"} <= set(found["d4"])
    write_embeddings(searcher, tmp_path / "weights", queries=[termwise.Query("q1", "shuffling new words")])
    write_vectors(tmp_path / "weights", tmp_path / "weights.npz")
    copy = termwise.build_index(tmp_path / "weights.npz", tmp_path / "copy.tw", model="vectors")
    asked = termwise.Search(weights=query_embeddings(tmp_path / "weights")["q1"])
    assert copy.search(asked).ranking.doc_ids == searcher.rank("shuffling new words").doc_ids == ("d4", "d2")
