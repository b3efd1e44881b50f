"""An index of documents with metadata that changes while it is searched."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import termwise
from termwise.encode import shipped_encoders
from termwise.errors import IndexLockedError, MissingFileError, NotAnIndexError, ParameterError
from termwise.integrations import documents
from termwise.integrations.documents import DocumentIndex, open_documents, search_documents
from termwise.integrations.metadata import attributes_of
from termwise.models import BM25

TEXTS = {
    "fox": "The quick brown fox jumps over the lazy dog.",
    "tea": "Green tea from Japan, loose leaves, a hundred grams of it in a tin.",
    "sea": "The sea rises and falls twice a day.",
    "bees": "Workers collect nectar.",
}


def document(doc_id: str, **metadata: object) -> termwise.Document:
    return termwise.Document(doc_id, TEXTS[doc_id], attributes_of(metadata))


def filled(path: Path | None = None, model: str = "bm25") -> DocumentIndex:
    index = DocumentIndex(path, model=model)
    index.add([document(doc_id, length=len(text)) for doc_id, text in TEXTS.items()])
    return index


def ids(found: list[documents.Found]) -> list[str]:
    return [each.doc_id for each in found]


def test_an_empty_index_has_no_documents_and_no_folder(tmp_path):
    index = DocumentIndex(tmp_path / "new")
    index.add([])
    assert index.searcher() is None
    assert index.count() == index.count("length > 3") == index.delete() == index.delete(["x"]) == 0
    assert index.get(["x"]) == index.matching() == index.search("fox", k=3) == []
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_all_documents_can_be_deleted_and_others_added(model):
    index = filled(model=model)
    assert index.delete() == 4
    assert index.count() == 0
    assert index.matching() == index.search("fox", k=3) == []
    index.add([document("fox")])
    assert ids(index.search("fox", k=3)) == ["fox"]


@pytest.mark.parametrize("made", ["bm25", "instant"])
def test_the_model_of_an_existing_index(tmp_path, made):
    filled(tmp_path / "store", model=made)
    for given in (None, made):
        DocumentIndex(tmp_path / "store", model=given).check_model()
    others = ["jm", "best", BM25(k1=1.5), "instant" if made == "bm25" else "bm25"]
    for given in others:
        with pytest.raises(ParameterError, match="has another model"):
            DocumentIndex(tmp_path / "store", model=given).check_model()
    DocumentIndex(tmp_path / "new", model="jm").check_model()


def test_a_recreated_index_has_the_model_of_the_new_object(tmp_path):
    filled(tmp_path / "store")
    index = DocumentIndex(tmp_path / "store", model="jm")
    index.recreate()
    assert index.count() == 0
    index.add([document("fox"), document("sea")])
    searcher = index.searcher()
    assert searcher is not None
    assert searcher.index.manifest.encoder.model.name == "jm"
    index.add([document("tea")])
    assert ids(index.matching()) == ["fox", "sea", "tea"]


def test_a_recreated_index_keeps_what_another_object_added_meanwhile(tmp_path):
    index = filled(tmp_path / "store")
    index.recreate()
    DocumentIndex(tmp_path / "store").add([document("fox")])
    index.add([document("sea")])
    assert ids(index.matching()) == ["fox", "sea"]


def test_the_order_is_that_of_the_additions():
    index = filled()
    index.add([document("fox", length=1)])
    assert ids(index.matching()) == ["tea", "sea", "bees", "fox"]
    assert ids(index.matching("length > 1")) == ["tea", "sea", "bees"]
    assert index.count("length = 1") == 1
    assert ids(index.get(["fox", "unknown", "tea", "fox"])) == ["fox", "tea"]


def test_changed_metadata_of_the_same_text_are_seen():
    index = filled()
    index.add([document("tea", shop="x")])
    (tea,) = index.get(["tea"])
    assert tea.metadata == {"shop": "x"}
    assert tea.text == TEXTS["tea"]


def test_the_last_of_two_documents_with_one_identifier_counts():
    index = DocumentIndex(model="bm25")
    index.add([document("tea", number=1), document("tea", number=2)])
    assert [each.metadata for each in index.matching()] == [{"number": 2}]


def test_an_index_that_grows_scores_as_one_that_is_built_at_once():
    grown = DocumentIndex(model="bm25")
    for doc_id, text in TEXTS.items():
        grown.add([document(doc_id, length=len(text))])
    scores = {each.doc_id: each.score for each in grown.search("the tea and the sea and the fox", k=4)}
    expected = {each.doc_id: each.score for each in filled().search("the tea and the sea and the fox", k=4)}
    assert scores == pytest.approx(expected, rel=1e-5)
    assert len(scores) == 3


def test_an_index_that_shrinks_computes_its_statistics_again():
    index = filled()
    index.delete(["tea", "bees"])
    searcher = index.searcher()
    assert searcher is not None
    assert searcher.index.manifest.encoder.statistics["documents"] == 2


@pytest.mark.parametrize("model", ["tildev2", "lookup", "best"])
def test_a_network_has_no_statistics_to_compute_again(model):
    if {"best": "lookup"}.get(model, model) not in shipped_encoders():
        pytest.skip(f"the encoder {model} does not ship with this package")
    index = DocumentIndex(model=model)
    index.add([document("fox")])
    index.add([document("sea"), document("tea")])
    assert ids(index.search("sea", k=1)) == ["sea"]
    assert index.delete(["fox", "tea"]) == 2
    assert index.count() == 1


def test_statistics_that_another_process_computes_are_left_to_it(monkeypatch):
    def locked(path):
        raise IndexLockedError("another process writes the index")

    monkeypatch.setattr(documents, "renew_index", locked)
    index = DocumentIndex(model="bm25")
    index.add([document("tea")])
    index.add([document("fox"), document("sea")])
    assert index.count() == 3


def test_two_objects_see_the_changes_of_each_other(tmp_path):
    first, second = DocumentIndex(tmp_path / "store", model="bm25"), DocumentIndex(tmp_path / "store")
    first.add([document("tea")])
    second.add([document("fox")])
    assert first.count() == second.count() == 2
    second.delete(["tea"])
    assert ids(first.matching()) == ["fox"]


def test_threads_change_and_search_at_the_same_time():
    index = DocumentIndex(model="bm25")

    def change(number: int) -> int:
        name = f"d{number}"
        index.add([termwise.Document(name, f"text number {number}", attributes_of({"number": number}))])
        assert ids(index.search("text", k=100, filter=f"number = {number}")) == [name]
        return index.delete([name]) if number % 2 else 0

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(change, range(12))) == 6
    assert {each.metadata["number"] for each in index.matching()} == set(range(0, 12, 2))


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_objects_that_add_the_first_documents_at_the_same_time_take_turns(tmp_path, model):
    path = tmp_path / "store"
    together = Barrier(3)

    def add(doc_id: str) -> int:
        index = DocumentIndex(path, model=model)
        together.wait()
        index.add([document(doc_id)])
        return index.count()

    with ThreadPoolExecutor(3) as pool:
        assert max(pool.map(add, ["fox", "tea", "sea"])) == 3
    assert sorted(ids(DocumentIndex(path).matching())) == ["fox", "sea", "tea"]


@pytest.mark.parametrize("name", [".lock", ".termwise-build-x", "mixture.building"])
def test_a_build_that_has_not_finished_has_no_documents(tmp_path, name):
    (tmp_path / name).touch()
    index = DocumentIndex(tmp_path, model="instant" if name == "mixture.building" else "bm25")
    assert index.count() == 0
    index.add([document("fox")])
    assert index.count() == 1


def test_documents_are_deleted_by_a_filter():
    index = filled()
    assert index.delete(filter="length > 40") == 2
    assert ids(index.matching()) == ["sea", "bees"]
    assert index.delete(["sea"], filter="length < 3") == 1
    with pytest.raises(ParameterError, match="cannot be read"):
        index.delete(filter="x ><")


def test_a_sum_explains_each_score():
    index = filled(model="instant")
    found = index.search("where is the sea", k=4, explain=True)
    assert len(found) == 4
    for each in found:
        assert each.contributions is not None
        assert sum(part["score"] for part in each.contributions) == pytest.approx(each.score, abs=1e-6)
        assert each.contributions[-1]["origin"] == "constant"
    first = found[0].contributions
    assert first is not None
    assert found[0].doc_id == "sea"
    assert first[0]["term"] == "sea"
    assert index.search("sea", k=1)[0].contributions is None


def test_results_can_be_limited_to_some_documents():
    index = filled()
    assert ids(index.search("sea fox", k=4, only=["tea", "fox", "unknown"])) == ["fox", "tea"]
    assert index.search("sea fox", k=4, only=[]) == []
    assert ids(index.search("sea fox", k=4, only=["sea", "fox"], filter="length > 40")) == ["fox"]


def test_an_index_that_was_built_otherwise_is_searched_with_its_attributes(tmp_path):
    termwise.build_index([termwise.Document("a", "tea", {"price": 3})], tmp_path / "i", store_text=True)
    searcher = open_documents(tmp_path / "i")
    (found,) = search_documents(searcher, "tea", k=2, filter={"price": 3})
    assert (found.text, found.metadata) == ("tea", {"price": 3})
    with pytest.raises(termwise.TermwiseError, match="unknown attribute"):
        search_documents(searcher, "tea", k=2, filter="prize = 3")
    with pytest.raises(ParameterError, match="other attributes"):
        DocumentIndex(tmp_path / "i")
    termwise.build_index([termwise.Document("a", "tea")], tmp_path / "j")
    for opened in (DocumentIndex, open_documents):
        with pytest.raises(ParameterError, match="does not store the texts"):
            opened(tmp_path / "j")


def test_other_folders_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(NotAnIndexError):
        DocumentIndex(tmp_path)
    with pytest.raises(MissingFileError):
        open_documents(tmp_path / "missing")


def test_a_folder_that_was_removed_is_an_error(tmp_path):
    index = filled(tmp_path / "store")
    shutil.rmtree(tmp_path / "store")
    for use in (
        index.count,
        index.matching,
        lambda: index.search("fox", k=1),
        lambda: index.add([document("fox")]),
    ):
        with pytest.raises(MissingFileError):
            use()


def test_a_temporary_folder_is_removed_with_its_index():
    index = filled()
    path = index.path
    assert path.exists()
    del index
    assert not path.exists()


@pytest.mark.parametrize("empty", [True, False])
def test_wrong_arguments_are_refused_with_and_without_documents(empty):
    index = DocumentIndex(model="bm25") if empty else filled()
    with pytest.raises(ParameterError, match="1 or more"):
        index.search("fox", k=0)
    with pytest.raises(ParameterError, match="cannot be read"):
        index.search("fox", k=1, filter="x ><")
    with pytest.raises(ParameterError, match="cannot be read"):
        index.matching("x ><")
    with pytest.raises(ParameterError, match="cannot be read"):
        index.count("x ><")
    with pytest.raises(ParameterError, match="a query is a string"):
        index.search(3, k=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="doc_ids"):
        index.get("fox")
    with pytest.raises(ParameterError, match="doc_ids"):
        index.delete([3])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="documents"):
        index.add("fox")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="lone surrogate"):
        index.add([termwise.Document("x", "\ud800", attributes_of({}))])


def test_empty_texts_are_kept_and_never_results_of_words():
    index = DocumentIndex(model="bm25")
    index.add(
        [termwise.Document("", "", attributes_of({"a": 1})), termwise.Document("b", " ", attributes_of({}))]
    )
    index.add([document("fox")])
    assert [each.text for each in index.matching()] == ["", " ", TEXTS["fox"]]
    assert ids(index.search("fox", k=5)) == ["fox"]
    assert ids(index.search("", k=5)) == []
