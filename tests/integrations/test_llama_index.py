"""LlamaIndex: the vector store, alone and below a `VectorStoreIndex`, and the retriever."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="pip install 'termwise[llama-index]'")

from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import (
    IndexNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

import termwise
from termwise.errors import ParameterError, TermwiseError
from termwise.integrations.llama_index import TermwiseRetriever, TermwiseVectorStore

pytestmark = pytest.mark.anyio

METADATA: list[dict[str, object]] = [
    {"lang": "de", "year": 2019, "tags": ["a", "b"]},
    {"lang": "en", "year": 2020.5, "tags": ["b"]},
    {"lang": "", "year": -3},
    {"tags": []},
]


def node(number: int, text: str = "tea", source: str = "") -> TextNode:
    relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {}
    return TextNode(id_=f"n{number}", text=text, metadata=METADATA[number], relationships=relationships)


@pytest.fixture
def store() -> TermwiseVectorStore:
    """Return a store with four nodes of two source documents."""
    store = TermwiseVectorStore(model="bm25")
    texts = ["green tea", "black tea", "a pot for tea", "sugar"]
    nodes = [node(number, text, f"source{number % 2}") for number, text in enumerate(texts)]
    assert store.add(nodes) == ["n0", "n1", "n2", "n3"]
    return store


def filters(*conditions: tuple[str, str, object], condition: str = "and") -> MetadataFilters:
    return MetadataFilters(
        filters=[
            MetadataFilter(key=key, operator=FilterOperator(operator), value=value)  # type: ignore[arg-type]
            for key, operator, value in conditions
        ],
        condition=FilterCondition(condition),
    )


def found(store: TermwiseVectorStore, wanted: MetadataFilters) -> list[str]:
    return [each.node_id for each in store.get_nodes(filters=wanted)]


def test_nodes_come_back_as_they_were_added(store):
    nodes = store.get_nodes()
    assert [each.node_id for each in nodes] == ["n0", "n1", "n2", "n3"]
    assert nodes[0].metadata == METADATA[0]
    assert nodes[0].get_content() == "green tea"
    assert nodes[0].ref_doc_id == "source0"
    assert store.get_nodes(["n3", "unknown"])[0] == nodes[3]


def test_the_text_for_embeddings_is_indexed(store):
    one = TextNode(id_="x", text="coffee", metadata={"title": "Espresso", "path": "hidden"})
    one.excluded_embed_metadata_keys = ["path"]
    store.add([one])
    assert store.query(VectorStoreQuery(query_str="espresso", similarity_top_k=3)).ids == ["x"]
    assert store.query(VectorStoreQuery(query_str="hidden", similarity_top_k=3)).ids == []
    assert store.get_nodes(["x"])[0].get_content(metadata_mode=MetadataMode.NONE) == "coffee"


def test_a_query_returns_nodes_scores_and_identifiers(store):
    result = store.query(VectorStoreQuery(query_str="green tea", similarity_top_k=2))
    ranking = termwise.open(store.path).rank("green tea", k=2)
    assert tuple(result.ids) == ranking.doc_ids
    assert result.similarities == ranking.scores.tolist()
    assert [each.node_id for each in result.nodes] == result.ids


def test_a_query_is_limited_to_nodes_and_sources(store):
    def ids(**limits: object) -> list[str] | None:
        query = VectorStoreQuery(query_str="tea", similarity_top_k=9, **limits)  # type: ignore[arg-type]
        return sorted(store.query(query).ids or [])

    assert ids() == ["n0", "n1", "n2"]
    assert ids(node_ids=["n2", "n3", "unknown"]) == ["n2", "n3"]
    assert ids(node_ids=[]) == ids()  # as a VectorStoreIndex asks
    assert ids(node_ids=["unknown"]) == ids(doc_ids=[]) == []
    assert ids(doc_ids=["source1"]) == ["n1"]
    assert ids(doc_ids=["source0"], filters=filters(("lang", "==", "de"))) == ["n0"]
    assert ids(mode=VectorStoreQueryMode.SPARSE) == ["n0", "n1", "n2"]


def test_nodes_are_deleted_by_source_identifier_and_filter(store):
    store.delete("source1")
    assert [each.node_id for each in store.get_nodes()] == ["n0", "n2"]
    store.delete("unknown")
    store.delete_nodes(["n0", "n2"], filters(("lang", "==", "de")))
    assert [each.node_id for each in store.get_nodes()] == ["n2"]
    store.delete_nodes(["n2"])
    assert store.get_nodes() == []
    store.add([node(0)])
    store.clear()
    assert store.get_nodes() == []
    assert store.query(VectorStoreQuery(query_str="tea")).ids == []


@pytest.mark.parametrize(
    "condition",
    [
        ("lang", "==", "de"),
        ("lang", "!=", "de"),
        ("year", ">", 2019),
        ("year", ">=", 2019),
        ("year", "<", 2019),
        ("year", "<=", 2020.5),
        ("lang", "in", ["de", "en"]),
        ("lang", "nin", ["de", "en"]),
        ("year", "in", [2019, -3]),
        ("tags", "contains", "a"),
        ("tags", "any", ["a", "b"]),
        ("tags", "all", ["a", "b"]),
        ("lang", "is_empty", None),
        ("tags", "is_empty", None),
        ("unknown", "==", 3),
        ("unknown", "!=", 3),
    ],
)
def test_filters_match_as_those_of_the_simple_store(store, condition):
    wanted = filters(condition)
    matches = build_metadata_filter_fn(lambda name: METADATA[int(name[1:])], wanted)
    assert found(store, wanted) == [f"n{number}" for number in range(4) if matches(f"n{number}")]


def test_filters_are_combined(store):
    pair = (("lang", "==", "de"), ("year", "<", 0))
    assert found(store, filters(*pair)) == []
    assert found(store, filters(*pair, condition="or")) == ["n0", "n2"]
    assert found(store, filters(*pair, condition="not")) == ["n1", "n3"]
    nested = MetadataFilters(filters=[filters(*pair, condition="or"), filters(("tags", "any", ["a"]))])
    assert found(store, nested) == ["n0"]
    assert len(found(store, MetadataFilters(filters=[]))) == 4


def test_wrong_arguments_are_refused(store):
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("text of a query", lambda: store.query(VectorStoreQuery(query_embedding=[1.0]))),
        (
            "needs embeddings",
            lambda: store.query(VectorStoreQuery(query_str="a", mode=VectorStoreQueryMode.MMR)),
        ),
        ("1 or more", lambda: store.query(VectorStoreQuery(query_str="a", similarity_top_k=0))),
        ("not supported", lambda: store.get_nodes(filters=filters(("lang", "text_match", "d")))),
        ("not supported", lambda: store.get_nodes(filters=filters(("lang", "==", None)))),
        ("at least one value", lambda: store.get_nodes(filters=filters(("lang", "in", [])))),
        ("unknown arguments", lambda: store.add([], batch=3)),
        ("cannot be stored", lambda: store.add([TextNode(text="a", metadata={"": 1})])),
        ("similarity_top_k", lambda: TermwiseRetriever(store.path, similarity_top_k=0)),
    ]
    for expected, call in wrong:
        with pytest.raises(TermwiseError, match=expected):
            call()


def test_an_index_of_llama_index_uses_the_store(store):
    index = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(embed_dim=1))
    index.insert_nodes([TextNode(id_="x", text="coffee")])
    (first,) = index.as_retriever(similarity_top_k=1).retrieve("coffee")
    assert first.node.node_id == "x"
    limited = index.as_retriever(similarity_top_k=5, filters=filters(("lang", "==", "de")))
    assert [each.node.node_id for each in limited.retrieve("tea")] == ["n0"]
    index.delete_ref_doc("source0")
    assert [each.node.node_id for each in index.as_retriever(similarity_top_k=5).retrieve("tea")] == ["n1"]
    context = StorageContext.from_defaults(vector_store=TermwiseVectorStore(model="bm25"))
    other = VectorStoreIndex([node(0)], storage_context=context, embed_model=MockEmbedding(embed_dim=1))
    assert [each.node.node_id for each in other.as_retriever().retrieve("tea")] == ["n0"]


async def test_coroutines_do_the_same():
    store = TermwiseVectorStore(model="bm25")
    assert await store.async_add([node(0, "green tea", "source"), node(1, "tea"), node(2, "tea")]) == [
        "n0",
        "n1",
        "n2",
    ]
    query = VectorStoreQuery(query_str="green", similarity_top_k=5)
    assert (await store.aquery(query)).ids == ["n0"]
    (first,) = await TermwiseRetriever(store.path).aretrieve("green")
    assert first.node.node_id == "n0"
    await store.adelete("source")
    assert [each.node_id for each in await store.aget_nodes()] == ["n1", "n2"]
    await store.adelete_nodes(["n1"])
    assert [each.node_id for each in await store.aget_nodes(["n1", "n2"])] == ["n2"]
    await store.aclear()
    assert await store.aget_nodes() == []


def test_a_retriever_has_filters_of_both_forms(store):
    for given in ({"lang": "de"}, 'lang = "de"', filters(("lang", "==", "de"))):
        retriever = TermwiseRetriever(store.path, filters=given)  # type: ignore[arg-type]
        assert [each.node.node_id for each in retriever.retrieve("tea")] == ["n0"]


def test_a_retriever_explains_scores_and_hides_the_sum_from_language_models(store):
    (first,) = TermwiseRetriever(store.path, similarity_top_k=1, explain=True).retrieve("green tea")
    parts = first.node.metadata["contributions"]
    assert {part["term"] for part in parts} == {"green", "tea", ""}
    assert sum(part["score"] for part in parts) == pytest.approx(first.score)
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert "contributions" not in first.node.get_content(metadata_mode=mode)


def test_a_retriever_searches_any_index(tmp_path: Path):
    termwise.build_index([termwise.Document("a", "tea", {"price": 3})], tmp_path, store_text=True)
    (first,) = TermwiseRetriever(tmp_path).retrieve("tea")
    assert (first.node.node_id, first.node.get_content(), first.node.metadata) == ("a", "tea", {"price": 3})
    with pytest.raises(TermwiseError, match="unknown attribute"):
        TermwiseRetriever(tmp_path, filters="prize = 3").retrieve("tea")


def test_a_score_of_zero_is_not_replaced_by_one(tmp_path: Path):
    """LlamaIndex replaces a score of 0 by 1 for nodes that stand for an object."""
    store = TermwiseVectorStore(tmp_path / "store", model="bm25")
    store.add([IndexNode(id_="i", index_id="object", text="sugar"), node(1, "tea")])
    result = store.query(VectorStoreQuery(query_str="tea", similarity_top_k=5, node_ids=["i"]))
    assert result.similarities == [math.ulp(0.0)]
    assert isinstance((result.nodes or [])[0], IndexNode)


def test_a_store_reopens_its_folder(tmp_path: Path):
    TermwiseVectorStore(tmp_path / "store", model="bm25").add([node(0)])
    store = TermwiseVectorStore(tmp_path / "store")
    assert [each.node_id for each in store.get_nodes()] == ["n0"]
    assert store.client is not None
    assert store.class_name() == "TermwiseVectorStore"
    with pytest.raises(ParameterError, match="path"):
        TermwiseVectorStore(3)  # type: ignore[arg-type]
