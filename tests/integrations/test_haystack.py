"""Haystack's own tests of document stores, and what they leave open."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import pytest

pytest.importorskip("haystack", reason="pip install 'termwise[haystack]'")

from haystack import Pipeline
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ByteStream, Document, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from haystack.errors import FilterError
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    DocumentStoreBaseExtendedTests,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldUniqueValuesTest,
)
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    CountUniqueMetadataByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    GetMetadataFieldMinMaxAsyncTest,
    GetMetadataFieldsInfoAsyncTest,
    GetMetadataFieldUniqueValuesAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
)

import termwise
from termwise.errors import ParameterError
from termwise.integrations.haystack import TermwiseDocumentStore, TermwiseRetriever

pytestmark = pytest.mark.anyio


class TestDocumentStore(DocumentStoreBaseExtendedTests):
    @pytest.fixture
    def document_store(self) -> TermwiseDocumentStore:
        return TermwiseDocumentStore(model="bm25")

    def test_write_documents(self, document_store: TermwiseDocumentStore) -> None:
        """Without a policy, a document with a known identifier is refused."""
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        assert document_store.filter_documents() == [document]


class TestDocumentStoreOnRequest(
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldUniqueValuesTest,
):
    """The tests for methods that a store may have."""

    @pytest.fixture
    def document_store(self) -> TermwiseDocumentStore:
        return TermwiseDocumentStore(model="bm25")


class TestAsyncDocumentStore(
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    CountUniqueMetadataByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    GetMetadataFieldMinMaxAsyncTest,
    GetMetadataFieldsInfoAsyncTest,
    GetMetadataFieldUniqueValuesAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
):
    @pytest.fixture
    def document_store(self) -> TermwiseDocumentStore:
        return TermwiseDocumentStore(model="bm25")

    async def test_write_documents_async(self, document_store: TermwiseDocumentStore) -> None:
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


TEXTS = {"a": "green tea from Japan", "b": "black tea with bergamot", "c": "a pot of cast iron"}


@pytest.fixture
def store() -> TermwiseDocumentStore:
    """Return a store with three documents."""
    store = TermwiseDocumentStore(model="bm25")
    documents = [
        Document(id=name, content=text, meta={"length": len(text), "tags": [name, "x"], "day": "2024-01-31"})
        for name, text in TEXTS.items()
    ]
    assert store.write_documents(documents) == 3
    return store


def found(store: TermwiseDocumentStore, field: str, operator: str, value: Any) -> list[str]:
    return [
        each.id for each in store.filter_documents({"field": field, "operator": operator, "value": value})
    ]


def test_documents_come_back_unchanged() -> None:
    store = TermwiseDocumentStore()
    documents = [
        Document(content=None, meta={"nested": {"list": [1, None, "a"]}}),
        Document(content="", embedding=[0.1, 0.2], sparse_embedding=SparseEmbedding([1, 5], [0.5, 0.25])),
        Document(content="text", blob=ByteStream(b"\x00\xff", mime_type="image/png"), score=0.5),
    ]
    store.write_documents(documents)
    assert store.filter_documents() == documents


def test_filters_see_elements_of_lists_identifiers_and_dates(store) -> None:
    assert found(store, "meta.tags", "==", "b") == ["b"]
    assert found(store, "meta.tags", "in", ["a", "c"]) == ["a", "c"]
    assert found(store, "id", "!=", "b") == ["a", "c"]
    assert found(store, "length", "==", len(TEXTS["a"])) == ["a"]
    assert found(store, "meta.unknown", "==", None) == ["a", "b", "c"]
    assert found(store, "meta.unknown", "in", [None, 3]) == ["a", "b", "c"]
    assert found(store, "meta.unknown", "in", []) == found(store, "meta.unknown", "==", 3) == []
    assert found(store, "meta.day", "<=", datetime(2024, 1, 31)) == ["a", "b", "c"]
    assert found(store, "meta.day", ">", "2024-01-31") == []
    assert found(store, "meta.day", "in", [f"2024-01-{day:02}" for day in range(1, 32)] * 60) == [
        "a",
        "b",
        "c",
    ]


def test_combinations_without_conditions_match_as_in_haystack(store) -> None:
    for operator, number in (("AND", 3), ("OR", 0), ("NOT", 0)):
        assert len(store.filter_documents({"operator": operator, "conditions": []})) == number


@pytest.mark.parametrize(
    "filters",
    [
        {"field": "meta.a", "operator": "like", "value": 3},
        {"field": "content", "operator": "==", "value": "x"},
        {"field": "embedding", "operator": "==", "value": 3},
        {"field": 3, "operator": "==", "value": 3},
        {"field": "meta.a", "operator": "==", "value": ["a"]},
        {"field": "meta.a", "operator": ">", "value": True},
        {"field": "meta.a", "operator": "==", "value": float("nan")},
        {"operator": "XOR", "conditions": []},
        {"operator": "AND", "conditions": {}},
        {"operator": "AND", "conditions": ["meta.a == 3"]},
        "meta.a == 3",
    ],
)
def test_malformed_filters_are_refused(store, filters) -> None:
    with pytest.raises(FilterError):
        store.filter_documents(filters)


def test_a_failed_write_writes_nothing(store) -> None:
    new = Document(content="new")
    for documents in ([new, Document(id="a", content="x")], [new, new]):
        with pytest.raises(DuplicateDocumentError):
            store.write_documents(documents, DuplicatePolicy.FAIL)
    with pytest.raises(ParameterError, match="cannot be stored"):
        store.write_documents([new, Document(id="z", content="x", meta={"a": object()})])
    assert store.count_documents() == 3
    assert store.write_documents([new, new, Document(id="a", content="x")], DuplicatePolicy.SKIP) == 1
    assert store.count_documents() == 4


def test_a_retriever_finds_documents(store) -> None:
    retriever = TermwiseRetriever(store, top_k=2)
    documents = retriever.run("green tea")["documents"]
    ranking = termwise.open(store.path).rank("green tea", k=2)
    assert [(each.id, each.score) for each in documents] == [(each.doc_id, each.score) for each in ranking]
    assert documents[0].content == TEXTS["a"]
    assert len(retriever.run("tea", top_k=1)["documents"]) == 1
    short = {"field": "meta.length", "operator": "<", "value": 21}
    assert [each.id for each in retriever.run("tea", filters=short)["documents"]] == ["a"]
    (scaled, _) = retriever.run("green tea", scale_score=True)["documents"]
    assert scaled.score == pytest.approx(1 / (1 + math.exp(-documents[0].score)))
    with pytest.raises(ParameterError, match="1 or more"):
        retriever.run("tea", top_k=0)
    with pytest.raises(ParameterError, match="top_k"):
        TermwiseRetriever(store, top_k=0)
    assert TermwiseRetriever(TermwiseDocumentStore()).run("x") == {"documents": []}


def test_filters_of_a_run_replace_those_of_the_component_or_join_them(store) -> None:
    tagged = {"field": "meta.tags", "operator": "==", "value": "a"}
    short = {"field": "meta.length", "operator": ">", "value": 0}
    for policy, expected in ((FilterPolicy.REPLACE, {"a", "b"}), (FilterPolicy.MERGE, {"a"})):
        retriever = TermwiseRetriever(store, filters=tagged, filter_policy=policy)
        assert {each.id for each in retriever.run("tea", filters=short)["documents"]} == expected


def test_a_retriever_explains_scores(store) -> None:
    (first, *_) = TermwiseRetriever(store, explain=True).run("green tea")["documents"]
    assert sum(part["score"] for part in first.meta["contributions"]) == pytest.approx(first.score)
    assert first.meta["tags"] == ["a", "x"]


async def test_a_retriever_runs_as_coroutine(store) -> None:
    retriever = TermwiseRetriever(store)
    assert await retriever.run_async("tea") == retriever.run("tea")


def test_a_pipeline_is_written_and_read(tmp_path) -> None:
    store = TermwiseDocumentStore(str(tmp_path / "store"))
    store.write_documents([Document(id="a", content="green tea")])
    pipeline = Pipeline()
    pipeline.add_component("retriever", TermwiseRetriever(store, top_k=3, filter_policy=FilterPolicy.MERGE))
    allowed = ["termwise.integrations.haystack"]
    read = Pipeline.loads(pipeline.dumps(), allowed_modules=allowed)
    component = read.get_component("retriever")
    assert (component.top_k, component.filter_policy) == (3, FilterPolicy.MERGE)
    result = read.run({"retriever": {"query": "tea"}})
    assert [each.id for each in result["retriever"]["documents"]] == ["a"]


def test_a_writer_component_writes_into_the_store(tmp_path) -> None:
    store = TermwiseDocumentStore(model="bm25")
    assert DocumentWriter(store).run([Document(content="tea")]) == {"documents_written": 1}
    assert store.to_dict()["init_parameters"] == {"path": None, "model": "bm25", "analyzer": None}
    assert TermwiseDocumentStore.from_dict(store.to_dict()).count_documents() == 0
