"""LangChain's own tests of retrievers and vector stores, and what they leave open."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_tests", reason="pip install 'termwise[dev]'")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

import termwise
from termwise.errors import ParameterError, TermwiseError, UnknownNameError
from termwise.integrations.langchain import TermwiseRetriever, TermwiseVectorStore

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of an index that stores texts and attributes."""
    path = tmp_path_factory.mktemp("langchain") / "tea.tw"
    teas = ["green tea from Japan", "black tea with bergamot", "a pot for tea", "tea without sugar"]
    documents = [
        termwise.Document(f"t{number}", text, {"number": number}) for number, text in enumerate(teas)
    ]
    termwise.build_index(documents, path, store_text=True)
    return str(path)


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _index(self, index: str) -> None:
        self.index = index

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return TermwiseRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"path": self.index}

    @property
    def retriever_query_example(self) -> str:
        return "tea"


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> TermwiseVectorStore:
        return TermwiseVectorStore()


def test_a_document_has_attributes_identifier_and_score(index: str) -> None:
    (found,) = TermwiseRetriever(path=index, k=1).invoke("bergamot")
    expected = termwise.open(index).rank("bergamot", k=1)[0].score
    assert found.id == "t1"
    assert found.metadata == {"number": 1, "doc_id": "t1", "score": expected}


def test_the_sum_of_a_score_is_metadata_on_request(index: str) -> None:
    retriever = TermwiseRetriever(path=index, k=1)
    (found,) = retriever.invoke("black tea", explain=True)
    parts = found.metadata["contributions"]
    assert [part["term"] for part in parts] == ["black", "tea", ""]
    assert sum(part["score"] for part in parts) == pytest.approx(found.metadata["score"])
    assert TermwiseRetriever(path=index, k=1, explain=True).invoke("black tea") == [found]
    assert "contributions" not in retriever.invoke("black tea")[0].metadata


def test_filters_of_a_retriever_and_of_a_call(index: str) -> None:
    retriever = TermwiseRetriever(path=index, filter="number >= 2")
    assert {each.id for each in retriever.invoke("tea")} == {"t2", "t3"}
    assert {each.id for each in retriever.invoke("tea", filter={"number": 0})} == {"t0"}
    with pytest.raises(UnknownNameError, match="nummer"):
        retriever.invoke("tea", filter="nummer = 3")
    with pytest.raises(ParameterError, match="1 or more"):
        retriever.invoke("tea", k=0)


def test_a_retriever_sees_the_changes_of_a_store(tmp_path: Path) -> None:
    store = TermwiseVectorStore(tmp_path / "store")
    store.add_texts(["green tea"], [{"price": 3}], ids=["a"])
    retriever = TermwiseRetriever(path=store.path)
    assert retriever.invoke("tea")[0].metadata["price"] == 3
    store.add_texts(["black tea"], [{"price": 4, "new": {"field": [1, None]}}], ids=["b"])
    (found,) = retriever.invoke("tea", filter="price > 3")
    assert (found.id, found.metadata["new"]) == ("b", {"field": [1, None]})


def test_metadata_come_back_unchanged() -> None:
    metadata = {
        "none": None,
        "list": [1, "a", {"b": 2.5}],
        "day": date(2024, 1, 31),
        "time": datetime(2024, 1, 31, 5),
    }
    document = Document("text", metadata=metadata, id="x")
    store = TermwiseVectorStore()
    store.add_documents([document])
    assert store.get_by_ids(["x"]) == [document]
    assert store.similarity_search("text", filter='day = "2024-01-31" and time > "2024-01-31T04:00:00"') == [
        document
    ]


def test_a_chain_retrieves_from_a_store() -> None:
    store = TermwiseVectorStore.from_documents(
        [Document("Lava is molten rock."), Document("Bees make honey.")], model="bm25"
    )
    chain = store.as_retriever(search_kwargs={"k": 1}) | (lambda found: found[0].page_content)
    assert chain.invoke("what is lava") == "Lava is molten rock."
    assert store.similarity_search("sugar") == []  # bm25 finds words only


def test_scores_are_those_of_the_index() -> None:
    store = TermwiseVectorStore()
    store.add_texts(["green tea", "black tea", "a pot"], ids=["a", "b", "c"])
    scored = store.similarity_search_with_score("green tea", k=3)
    ranking = termwise.open(store.path).rank("green tea", k=3)
    assert [(document.id, score) for document, score in scored] == [
        (one.doc_id, one.score) for one in ranking
    ]


def test_all_documents_are_deleted() -> None:
    store = TermwiseVectorStore(model="bm25")
    ids = store.add_texts(["green tea", "black tea"])
    assert store.delete() is True
    assert store.get_by_ids(ids) == []


def test_another_model_than_that_of_the_index_is_refused(tmp_path: Path) -> None:
    TermwiseVectorStore(tmp_path / "store", model="bm25").add_texts(["green tea"])
    with pytest.raises(ParameterError, match="has another model"):
        TermwiseVectorStore(tmp_path / "store", model="instant")
    for model in ("bm25", None):
        assert len(TermwiseVectorStore(tmp_path / "store", model=model).similarity_search("tea")) == 1


def test_wrong_arguments_of_a_store_are_refused() -> None:
    store = TermwiseVectorStore(model="bm25")
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("several texts", lambda: store.add_texts("one text")),
        ("one metadata", lambda: store.add_texts(["a", "b"], [{}])),
        ("one identifier", lambda: store.add_texts(["a", "b"], ids=["1"])),
        ("ids", lambda: store.add_texts(["a"], ids=[3])),  # type: ignore[list-item]
        ("two strings", lambda: store.add_texts([3])),  # type: ignore[list-item]
        ("cannot be stored", lambda: store.add_texts(["a"], [{"a": object()}])),
        ("cannot be stored", lambda: store.add_texts(["a"], [3])),  # type: ignore[list-item]
        ("unknown arguments", lambda: store.add_texts(["a"], batch=3)),
        ("unknown arguments", lambda: store.similarity_search("a", score_threshold=0.3)),
        ("unknown arguments", lambda: store.delete(["a"], drop=True)),
        ("own model", lambda: TermwiseVectorStore.from_texts(["a"], DeterministicFakeEmbedding(size=3))),
        ("1 or more", lambda: store.similarity_search("a", k=0)),
        ("a finite number", lambda: store.similarity_search("a", filter={"price": {"$gt": 3}})),
        ("unknown operator", lambda: store.similarity_search("a", filter={"field": "a", "like": "b"})),
    ]
    for expected, call in wrong:
        with pytest.raises(TermwiseError, match=expected):
            call()
    with pytest.raises(NotImplementedError, match="no fixed scale"):
        store.similarity_search_with_relevance_scores("a")
    assert store.similarity_search("a", filter="unknown = 3") == []
