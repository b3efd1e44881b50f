"""Vectors of documents from the query table: by hand, against a plain loop, in windows, and in indexes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.encode import tiny

import termwise
from termwise import BuildOptions, Document
from termwise.encode import EncoderFolder, open_document_encoder
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.network_inputs import cut_windows
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.table_documents import TableDocumentEncoder
from termwise.errors import ModelFormatError, ParameterError, UnknownNameError, VocabularyMismatchError
from termwise.index import Index, verify
from termwise.indexing.model_choice import model_of
from termwise.models import Lookup, make_model
from termwise.scorers.model_scorers import index_scorer
from termwise.text import WordPieceAnalyzer
from termwise.vectors import DocumentVectors

# Without a row are `how`, `definition`, `the`, which the cleaning removes, and unknown words.
ROWS = {
    tiny.MERGE: (2.0, 0.0, 0.0),
    tiny.SORT: (-2.0, 0.0, 0.0),  # the opposite of `merge`
    tiny.LIST: (3.0, 4.0, 0.0),
    tiny.CAT: (0.0, 0.25, -0.1),
    tiny.DOG: (0.0, 0.0, 100.0),
}
TEXTS = ["merge list list", "", "dog cat the cat", "sort", "how the zebra", "merge sort", "list dog merge"]
LATER = ["cat cat cat list", "the dog and the dog", "sort list"]
QUERIES = ["merge", "list cat", "dog sort", "cat", "zebra"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a lookup encoder, which no test changes."""
    table = np.zeros((len(tiny.PIECES), 3), dtype=np.float32)
    for term, row in ROWS.items():
        table[term] = row
    query = table.copy()
    query[tiny.THE] = 1  # which the cleaning removes
    table[tiny.SEP] = (0.001, 0, 0)  # the network gives a direction to all texts
    return tiny.lookup_folder(tmp_path_factory.mktemp("encoders") / "lookup", table=table, query=query)


@pytest.fixture(scope="module")
def table(folder: Path) -> Any:
    """Return a function that makes a model with vectors from the table."""
    return lambda **chosen: Lookup(encoder=str(folder), documents="table", **chosen)


@pytest.fixture
def without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **options: Any) -> None:
        raise AssertionError("a session was made")

    monkeypatch.setattr(OnnxSession, "__init__", refuse)


def opened(model: Lookup) -> TableDocumentEncoder:
    encoder = open_document_encoder(model)
    assert isinstance(encoder, TableDocumentEncoder)
    return encoder


def documents(texts: Sequence[str], first: int = 0) -> list[Document]:
    return [Document(f"d{first + number}", text) for number, text in enumerate(texts)]


def same(first: DocumentVectors, second: DocumentVectors) -> bool:
    names = ("indptr", "rows", "scales")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


def ranked(searcher: Any, query: str) -> dict[str, float]:
    return {hit.doc_id: hit.score for hit in searcher.rank(query, k=100)}


def test_by_hand(table: Any) -> None:
    encoder = opened(table())
    assert isinstance(encoder, DocumentEncoder)
    vectors = encoder.encode_documents(TEXTS)
    assert vectors.indptr.tolist() == [0, 1, 1, 2, 3, 3, 3, 4]
    twice = 1 + math.log(2)
    sums = [(2 + 3 * twice, 4 * twice, 0), (0, 0.25 * twice, 100 - 0.1 * twice), (-2, 0, 0), (5, 4, 100)]
    for row, total in zip(vectors.matrix(), sums, strict=True):
        np.testing.assert_allclose(row, np.array(total) / np.linalg.norm(total), atol=1.5 / 127)
    assert vectors.rows[2].tolist() == [-127, 0, 0]
    rows = encoder.term_vectors.matrix()  # these are rounded, too
    exact = np.array([rows[tiny.MERGE] + twice * rows[tiny.LIST]])
    in_8_bits = DocumentVectors.of([0, 1], exact / np.linalg.norm(exact))
    np.testing.assert_allclose(vectors.matrix()[:1], in_8_bits.matrix(), atol=1e-4)  # weights have 10 bits


def test_texts_without_a_vector(table: Any) -> None:
    encoder = opened(table())
    empty = ["", " \t\n\xa0\u2028", "zebra !?", "the the", "how definition", "[MASK] [CLS]", "\x00\x1f", "##"]
    for texts in ([], empty[:1], empty, ["merge sort", "sort sort merge merge"]):
        vectors = encoder.encode_documents(texts)
        assert vectors.rows.shape == (0, 3)
        assert vectors.indptr.tolist() == [0] * (len(texts) + 1)
    for odd in ("merge", [3], None):
        with pytest.raises(ParameterError, match="text"):
            encoder.encode_documents(odd)  # type: ignore[arg-type]


def by_loop(folder: EncoderFolder, texts: Sequence[str], size: int, overlap: int) -> DocumentVectors:
    """Return the vectors of texts: windows and terms one after the other, with sums of whole numbers."""
    rows, shifts = folder.term_vectors.rows.tolist(), folder.term_vectors.shifts.tolist()
    indptr, matrix = [0], list[list[float]]()
    for text in texts:
        terms = [folder.vocabulary.number(token) for token in folder.analyzer.tokens(text)]
        for start, stop in cut_windows(len(terms), size=size, overlap=overlap):
            total = [0, 0, 0]
            for term, count in sorted(Counter(terms[start:stop]).items()):
                weight = round(1024 * (1 + math.log(count))) << shifts[term]
                total = [value + weight * number for value, number in zip(total, rows[term], strict=True)]
            if any(total):
                unit = 2.0 ** (math.frexp(max(map(abs, total)))[1] - 22)
                norm = math.sqrt(sum(round(value / unit) ** 2 for value in total)) * unit
                matrix.append([value / norm for value in total])
        indptr.append(len(matrix))
    return DocumentVectors.of(indptr, np.array(matrix, dtype=np.float32).reshape(-1, 3))


WORDS = [*tiny.WORDS, "lists", "zebra", "[UNK]", "\n", "É!"]
some_texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), max_size=8)


@settings(max_examples=150)
@given(data=st.data(), texts=some_texts, block=st.integers(1, 5))
@example(data=None, texts=["merge sort", "how " * 9 + "cat", ""], block=2)
@pytest.mark.parametrize(("length", "overlap"), [(10, 1), (5, 0), (6, 3)])
def test_a_row_depends_on_its_text_alone(
    folder: Path, table: Any, length: int, overlap: int, data: Any, texts: list[str], block: int
) -> None:
    encoder = opened(table(length=length, overlap=overlap))
    together = encoder.encode_documents(texts)
    assert same(together, by_loop(encoder.folder, texts, length - 2, overlap))
    encoder.block = block  # type: ignore[misc]
    assert same(encoder.encode_documents(texts), together)
    order = texts[::-1] if data is None else data.draw(st.permutations(texts))
    alone = [encoder.encode_documents([text]) for text in order]
    parts = [encoder.encode_documents([]), *alone]
    assert same(encoder.encode_documents(order), DocumentVectors.concatenate(parts))


def test_shipped_rows_depend_on_their_texts_alone() -> None:
    encoder = opened(Lookup(documents="table", length=32))
    texts = [" ".join(f"sort {number} of a merged list".split() * (1 + number % 9)) for number in range(40)]
    together = encoder.encode_documents(texts)
    assert same(together, DocumentVectors.concatenate([encoder.encode_documents([text]) for text in texts]))
    np.testing.assert_allclose(np.linalg.norm(together.matrix(), axis=1), 1, atol=0.02)


@pytest.mark.parametrize("words", [1, 4, 8, 9, 15, 40])
@pytest.mark.parametrize(
    ("chosen", "size", "overlap"),
    [({}, 8, 1), ({"length": 6}, 4, 0), ({"length": 6, "overlap": 3}, 4, 3), ({"length": 16}, 14, 1)],
)
def test_windows_of_long_texts(table: Any, chosen: Any, size: int, overlap: int, words: int) -> None:
    encoder = opened(table(**chosen))
    pieces = [("merge", "list", "dog", "cat", "list")[number % 5] for number in range(words)]
    windows = cut_windows(words, size=size, overlap=overlap)
    vectors = encoder.encode_documents(["dog", " ".join(pieces)])
    assert vectors.indptr.tolist() == [0, 1, 1 + len(windows)]
    expected = encoder.encode_documents(["dog", *(" ".join(pieces[start:stop]) for start, stop in windows)])
    np.testing.assert_array_equal(vectors.rows, expected.rows)


def test_settings_and_kind(folder: Path, table: Any, tmp_path: Path) -> None:
    assert opened(table()).fingerprint == opened(table(form="terms", length=10)).fingerprint
    fingerprints = {opened(table(**chosen)).fingerprint for chosen in ({}, {"length": 9}, {"overlap": 2})}
    assert len(fingerprints | {open_document_encoder(Lookup(encoder=str(folder))).fingerprint}) == 4
    assert make_model("lookup", {"documents": "table"}) == Lookup(documents="table") != Lookup()
    for chosen, message in (({"length": 17}, "longer than"), ({"length": 6, "overlap": 4}, "not smaller")):
        with pytest.raises(ParameterError, match=message):
            opened(table(**chosen))
    with pytest.raises(UnknownNameError, match="documents"):
        Lookup(documents="tables")  # type: ignore[arg-type]
    other = tiny.make_folder(tmp_path / "splade", "splade-doc", tiny.square({}))
    with pytest.raises(ModelFormatError, match="not lookup"):
        open_document_encoder(Lookup(encoder=str(other), documents="table"))


def test_explanations_name_the_range_of_the_window(table: Any, tmp_path: Path) -> None:
    text = "Merge list, cat cat;  dog and the dog. List list list!"
    model = table(length=6, overlap=1)
    searcher = termwise.build_index([Document("a", text)], tmp_path / "i", model=model, store_text=True)
    encoder, stored = opened(model), searcher.index.document_vectors(np.array([0]))
    spans = encoder.folder.analyzer.spans(text).tolist()
    windows = cut_windows(len(spans), size=4, overlap=1)
    numbers = set()
    for query in ("merge", "cat", "dog", "list", "dog list"):
        (found,) = searcher.explain(query, "a").windows
        assert found.count == len(windows) == len(stored.rows)
        start, stop = windows[found.number - 1]
        assert (found.start, found.end) == (spans[start][0], spans[stop - 1][1])
        again = encoder.encode_documents([text[found.start : found.end]])
        np.testing.assert_array_equal(again.rows, stored.rows[found.number - 1 : found.number])
        numbers.add(found.number)
    assert len(numbers) > 1


def test_builds_run_no_network(folder: Path, table: Any, tmp_path: Path, without_network: None) -> None:
    with pytest.raises(AssertionError, match="a session was made"):
        termwise.build_index(documents(TEXTS), tmp_path / "n", model=Lookup(encoder=str(folder)))
    stages: list[Any] = []
    options = BuildOptions(progress=lambda *given: stages.append(given))
    searcher = termwise.build_index(documents(TEXTS), tmp_path / "i", model=table(), options=options)
    assert ("encode documents", len(TEXTS), len(TEXTS)) in stages
    assert [path.name for path in tmp_path.iterdir()] == ["i"]
    order = [TEXTS[int(doc_id[1:])] for doc_id in searcher.index.doc_ids(np.arange(len(TEXTS)))]
    stored = searcher.index.document_vectors(np.arange(len(TEXTS)))
    assert same(stored, opened(table()).encode_documents(order))
    assert set(ranked(searcher, "list cat")) == {"d0", "d2", "d3", "d6"}
    scores = index_scorer(searcher.index).score("list cat", TEXTS)
    for doc_id, score in ranked(searcher, "list cat").items():
        assert scores[int(doc_id[1:])] == pytest.approx(score)


@pytest.mark.parametrize("options", [{"precision": "int8"}, {"precision": "float32"}, {"providers": ["cpu"]}])
def test_options_of_a_network_are_refused(table: Any, tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="no network is run") as caught:
        open_document_encoder(table(), **options)
    assert dict(caught.value.facts)["given"] == next(iter(options))
    built = BuildOptions(**options)
    with pytest.raises(ParameterError, match="no network is run"):
        termwise.build_index(documents(TEXTS), tmp_path / "i", model=table(), options=built)
    assert list(tmp_path.iterdir()) == []


def test_the_form_of_terms(table: Any, tmp_path: Path, without_network: None) -> None:
    texts = ["merge list", "dog", "", "sort list list", "cat"]
    model, options = table(form="terms", keep=5), BuildOptions(quantiser="float32")
    searcher = termwise.build_index(documents(texts), tmp_path / "i", model=model, options=options)
    encoder = opened(model)
    products = encoder.encode_documents(texts).matrix() @ encoder.term_vectors.matrix().T
    excess = products - products.mean(axis=0)
    for query, term in (("merge", tiny.MERGE), ("list", tiny.LIST), ("dog", tiny.DOG), ("cat", tiny.CAT)):
        weights = dict(zip(("d0", "d1", "d3", "d4"), excess[:, term].tolist(), strict=True))
        expected = {doc_id: weight for doc_id, weight in weights.items() if weight > 0}
        assert ranked(searcher, query) == pytest.approx(expected, rel=1e-4)


def test_a_changed_index_ranks_as_one_built_anew(table: Any, tmp_path: Path, without_network: None) -> None:
    living, model = tmp_path / "living", table(length=5)
    termwise.build_index(documents(TEXTS), living, model=model, store_text=True)
    with termwise.open_writer(living) as writer:
        added = writer.add([*documents(LATER, 10), Document("d1", "list dog dog list"), documents(TEXTS)[0]])
        assert (added.new, added.replaced, added.unchanged) == (3, 1, 1)
        assert writer.delete(["d2", "d3", "unknown"]) == 2
    assert verify(living) == []
    texts = dict(enumerate(TEXTS)) | dict(enumerate(LATER, 10)) | {1: "list dog dog list"}
    left = [Document(f"d{number}", texts[number]) for number in (0, 4, 5, 6, 10, 11, 12, 1)]
    fresh = termwise.build_index(left, tmp_path / "fresh", model=model)
    expected = [ranked(fresh, query) for query in QUERIES]
    assert list(map(len, expected)) == [6, 6, 6, 6, 0]
    assert [ranked(termwise.open(living), query) for query in QUERIES] == expected
    with termwise.open_writer(living) as writer:
        assert len(writer.merge().segments) == 1
    assert [ranked(termwise.open(living), query) for query in QUERIES] == expected


def test_another_encoder_is_refused(folder: Path, table: Any, tmp_path: Path) -> None:
    models = {"table": table(), "shorter": table(length=9), "network": Lookup(encoder=str(folder))}
    for name, model in models.items():
        termwise.build_index(documents(TEXTS), tmp_path / name, model=model)
        for other in models.values():
            encoder = open_document_encoder(other)
            if other == model:
                with termwise.open_writer(tmp_path / name, encoder=encoder) as writer:
                    writer.add(documents(LATER, 10))
                continue
            with pytest.raises(VocabularyMismatchError, match="not the one") as caught:
                termwise.open_writer(tmp_path / name, encoder=encoder)
            assert dict(caught.value.facts)["differ in"] == "settings"
            options = BuildOptions(encoder=encoder)
            with pytest.raises(ParameterError, match="other settings"):
                termwise.build_index(documents(TEXTS), tmp_path / "new", model=model, options=options)
    with pytest.raises(ParameterError, match="no network is run"):
        termwise.open_writer(tmp_path / "table", precision="float32")


@pytest.mark.parametrize("chosen", [{}, {"length": 6, "overlap": 2}, {"form": "terms", "keep": 7}])
def test_the_manifest(table: Any, tmp_path: Path, chosen: dict[str, Any]) -> None:
    model = table(**chosen)
    termwise.build_index(documents(TEXTS), tmp_path / "i", model=model)
    index = Index.open(tmp_path / "i")
    described = index.manifest.encoder
    assert described.network is not None
    size = {name: chosen.get(name, default) for name, default in (("length", 10), ("overlap", 1))}
    assert described.network.settings == {"documents": "table", **size}
    assert described.network.json == opened(model).description
    assert described.model.parameters["documents"] == "table"
    assert model_of(index) == model


SHIPPED = WordPieceAnalyzer.shipped()
FRAGMENTS = [
    "[MASK]",
    "[UNK]",
    "[mask]",
    "[",
    "]",
    "##",
    "Isn't",
    "x" * 101,
    " ",
    "\n",
    "\x00",
    "\x1f",
    "\x7f",
]
FRAGMENTS += [*"\x85\xa0\u200b\ufeff\ud800é\u0301漢字한İﬁ😀", "e\u0301", "merge"]


@settings(max_examples=300)
@given(text=st.text(st.characters()) | st.lists(st.sampled_from(FRAGMENTS) | st.text()).map("".join))
def test_numbers_are_those_of_the_tokens(folder: Path, text: str) -> None:
    for analyzer in (SHIPPED, EncoderFolder.open(folder).analyzer):
        expected = [analyzer.vocabulary.number(token) for token in analyzer.tokens(text)]
        for _ in ("computed", "remembered"):
            numbers = analyzer.numbers(text)
            assert numbers.dtype == np.int32
            assert numbers.tolist() == expected
