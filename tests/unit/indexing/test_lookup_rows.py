"""Indexes of the model lookup: vectors, and the term weights compiled from them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.encode import tiny

from termwise import BuildOptions, Document, build_index
from termwise.encode import open_document_encoder
from termwise.encode.block_file import block_files
from termwise.encode.lookup import LookupDocumentEncoder
from termwise.encode.shipped_rows import open_shipped_encoder, write_rows
from termwise.errors import ParameterError
from termwise.fusion import mix_indexes
from termwise.index.reader import Index
from termwise.indexing import build_graph, encode_collection, lookup_rows
from termwise.indexing.lookup_rows import CompiledTerms
from termwise.models import Lookup
from termwise.progress import no_progress
from termwise.scorers import index_scorer
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

DOCUMENTS = [
    Document("a", "merge sort list"),
    Document("b", ""),
    Document("c", "cat dog cat"),
    Document("d", "list"),
    Document("e", "merge cat " * 9),
]


@pytest.fixture
def folder(tmp_path):
    return tiny.lookup_folder(tmp_path / "lookup")


def test_an_index_of_vectors(folder, tmp_path):
    model = Lookup(encoder=str(folder))
    build_index(DOCUMENTS, tmp_path / "index", model=model)
    index = Index.open(tmp_path / "index")
    encoder = open_document_encoder(model)
    table, seen = encoder.term_vectors, index.term_vectors
    np.testing.assert_array_equal(seen.rows, table.rows)
    np.testing.assert_array_equal(seen.shifts, table.shifts)
    assert (seen.scale, seen.vocabulary) == (table.scale, table.vocabulary)
    expected = encoder.encode_documents([document.text for document in DOCUMENTS])
    vectors = index.document_vectors(np.arange(5))
    assert vectors.indptr.tolist() == [0, 1, 1, 2, 3, 6]
    np.testing.assert_array_equal(vectors.rows, expected.rows)
    np.testing.assert_array_equal(vectors.scales, expected.scales)
    description = index.manifest.encoder.json
    assert description["model"]["parameters"] == model.parameters()
    assert (description["model"]["name"], description["query"]) == ("lookup", {"weighting": "log-counts"})
    assert description["network"]["kind"] == "lookup"


def test_vectors_have_8_bits(folder, tmp_path):
    with pytest.raises(ParameterError, match="vectors are stored in 8 bits"):
        build_index(
            DOCUMENTS,
            tmp_path / "i",
            model=Lookup(encoder=str(folder)),
            options=BuildOptions(quantiser="float32"),
        )
    assert not (tmp_path / "i").exists()
    terms = Lookup(encoder=str(folder), form="terms")
    searcher = build_index(DOCUMENTS, tmp_path / "t", model=terms, options=BuildOptions(quantiser="float32"))
    assert searcher.index.manifest.quantiser.kind == "float32"


def test_both_forms_use_finished_blocks(folder, tmp_path, monkeypatch):
    model = Lookup(encoder=str(folder))
    share = encode_collection(DOCUMENTS, tmp_path / "work", model=model)
    assert (share.documents, share.left) == (5, 0)
    texts = []
    encode = LookupDocumentEncoder.encode_documents

    def watched(self, given, **options):
        texts.extend(given)
        return encode(self, given, **options)

    monkeypatch.setattr(LookupDocumentEncoder, "encode_documents", watched)
    for form in ("vectors", "terms"):
        built = Lookup(encoder=str(folder), form=form)
        build_index(DOCUMENTS, tmp_path / form, model=built, options=BuildOptions(encoding=tmp_path / "work"))
    assert texts == []
    block_files(tmp_path / "work")[0].write_bytes(b"damaged")
    build_index(DOCUMENTS, tmp_path / "again", model=model, options=BuildOptions(encoding=tmp_path / "work"))
    assert texts == [document.text for document in DOCUMENTS]
    first, again = ((tmp_path / name / "manifest.json").read_bytes() for name in ("vectors", "again"))
    assert first == again


def test_shipped_vectors_are_indexed_without_the_network(folder, tmp_path):
    model = Lookup(encoder=str(folder))
    texts = [document.text for document in DOCUMENTS]
    made = open_document_encoder(model)
    write_rows(tmp_path / "rows.npz", texts, made, made.encode_documents(texts))
    (folder / "model.onnx").rename(folder / "gone.onnx")
    for form in ("vectors", "terms"):
        built = Lookup(encoder=str(folder), form=form)
        encoder = open_shipped_encoder(built, texts, tmp_path / "rows.npz")
        searcher = build_index(DOCUMENTS, tmp_path / form, model=built, options=BuildOptions(encoder=encoder))
        assert searcher.rank("sort sort lists", k=2).doc_ids[0] == "a"


def by_hand(
    vectors: DocumentVectors, table: TermVectors, frequencies: list[int], keep: int
) -> list[dict[int, float]]:
    """Return the weights above the mean with the largest keys, in plain loops."""
    products = vectors.matrix().astype(np.float64) @ table.matrix().astype(np.float64).T
    bounds = zip(vectors.indptr[:-1].tolist(), vectors.indptr[1:].tolist(), strict=True)
    largest = [products[first:last].max(axis=0) if last > first else None for first, last in bounds]
    means = np.mean([row for row in largest if row is not None], axis=0)
    rows = []
    for row in largest:
        weights = (
            {}
            if row is None
            else {
                term: float(row[term] - means[term])
                for term in np.flatnonzero(table.known).tolist()
                if row[term] > means[term]
            }
        )
        best = sorted(weights, key=lambda term: -weights[term] * (1 + frequencies[term]) ** 0.25)[:keep]
        rows.append({term: weights[term] for term in best})
    return rows


def test_compiled_terms_by_hand(folder, tmp_path):
    model = Lookup(encoder=str(folder), form="terms", keep=2)
    build_index(DOCUMENTS, tmp_path / "index", model=model, options=BuildOptions(quantiser="float32"))
    index = Index.open(tmp_path / "index")
    encoder = open_document_encoder(model)
    vectors = encoder.encode_documents([document.text for document in DOCUMENTS])
    assert index.term_vectors is None
    frequencies = [0] * len(tiny.PIECES)
    for term, number in ((tiny.MERGE, 2), (tiny.SORT, 1), (tiny.LIST, 2), (tiny.CAT, 2), (tiny.DOG, 1)):
        frequencies[term] = number
    for number, expected in enumerate(by_hand(vectors, encoder.term_vectors, frequencies, 2)):
        terms, weights = index.weights(np.array([number])).row(0)
        assert terms.tolist() == sorted(expected)
        assert weights.tolist() == pytest.approx([expected[term] for term in sorted(expected)], rel=1e-5)
    assert len(index.weights(np.array([1])).row(0)[0]) == 0  # no text
    assert index.manifest.encoder.json["model"]["parameters"]["keep"] == 2


class Written:
    """Stands in for an index writer."""

    def __init__(self):
        self.rows = []
        self.progress = no_progress

    def add_weights(self, rows):
        self.rows.append(rows)


class Counter:
    """Stands in for a counter of terms: text n has all terms of a frequency above n."""

    def __init__(self, frequencies):
        self.frequencies = frequencies

    def encode_documents(self, texts):
        rows = [{t: 1 for t, df in enumerate(self.frequencies) if int(text) < df} for text in texts]
        return TermWeights.from_rows(rows, "any")


@pytest.mark.parametrize("windows", [1, 3, 256])
@pytest.mark.parametrize("dimensions", [5, 1100])
def test_weights_do_not_depend_on_blocks(tmp_path, monkeypatch, windows, dimensions):
    monkeypatch.setattr(lookup_rows, "WINDOWS", windows)
    random = np.random.default_rng(7)
    counts = random.integers(0, 7, size=40)
    vectors = DocumentVectors.of(
        np.concatenate([[0], np.cumsum(counts)]), random.normal(size=(counts.sum(), dimensions))
    )
    matrix = random.normal(size=(30, dimensions)) * random.integers(0, 3, size=(30, 1))
    table = TermVectors.of(matrix, Vocabulary([f"t{number}" for number in range(30)]).id)
    frequencies = random.integers(0, 40, size=30)
    compiled = CompiledTerms(tmp_path, table, Counter(frequencies), keep=4)
    bounds = vectors.indptr
    for first, last in ((0, 11), (11, 40)):
        start, stop = bounds[first], bounds[last]
        compiled.add(
            DocumentVectors(
                bounds[first : last + 1] - start, vectors.rows[start:stop], vectors.scales[start:stop]
            ),
            [str(number) for number in range(first, last)],
        )
    written = Written()
    compiled.write(written)
    compiled.close()
    rows = TermWeights.concatenate(written.rows)
    assert len(rows) == 40
    for (terms, weights), expected in zip(rows, by_hand(vectors, table, frequencies, 4), strict=True):
        assert terms.tolist() == sorted(expected)
        assert weights.tolist() == pytest.approx([expected[term] for term in sorted(expected)], rel=1e-4)
    assert not list(tmp_path.iterdir())


def test_searching_scores_as_the_scorer_of_texts(folder, tmp_path):
    model = Lookup(encoder=str(folder), length=5, overlap=0)
    searcher = build_index(DOCUMENTS, tmp_path / "index", model=model, store_text=True)
    scorer = index_scorer(searcher.index)
    for query in ("dog sorting a list of lists", "merge cat", "the dog dog dog"):
        ranking = searcher.rank(query, k=10)
        assert set(ranking.doc_ids) == {"a", "c", "d", "e"}  # b has no text
        expected = scorer.score(
            query, [{d.doc_id: d.text for d in DOCUMENTS}[name] for name in ranking.doc_ids]
        )
        assert ranking.scores.tolist() == expected.tolist()
        explained = searcher.explain(query, ranking.doc_ids[0])
        assert explained.score == expected[0]
    assert searcher.rank("cat nothing").doc_ids == ()


def test_compiled_terms_are_searched_like_any_weights(folder, tmp_path):
    model = Lookup(encoder=str(folder), form="terms")
    searcher = build_index(
        DOCUMENTS, tmp_path / "index", model=model, options=BuildOptions(quantiser="float32")
    )
    weights = dict(zip(*map(list, searcher.index.weights(np.array([2])).row(0)), strict=True))
    ranking = searcher.rank("dog dog list cat")  # cat has no vector
    assert dict(zip(ranking.doc_ids, ranking.scores, strict=True))["c"] == pytest.approx(
        (1 + np.log(2)) * weights[tiny.DOG] + weights.get(tiny.LIST, 0)
    )
    assert "b" not in ranking.doc_ids
    build_index(DOCUMENTS, tmp_path / "bm25")
    mix_indexes([tmp_path / "bm25", tmp_path / "index"], [0.5, 0.5], tmp_path / "mixture")
    with pytest.raises(ParameterError, match="needs an index with vectors") as caught:
        build_graph(tmp_path / "index")
    assert ("form", "terms: the index stores term weights, which need no graph") in caught.value.facts
    with pytest.raises(ParameterError, match="no part of the mixture finds candidates by them") as caught:
        build_graph(tmp_path / "mixture")
    assert ("parts", "bm25, index (form terms)") in caught.value.facts
