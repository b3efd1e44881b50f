"""LlamaIndex: a retriever over an index, and a vector store that keeps an index; needs the extra ``llama-index``."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from termwise.engine.allowed_documents import FilterLike
from termwise.errors import MissingExtraError, ParameterError
from termwise.filters.expressions import (
    And,
    Equals,
    Exists,
    Filter,
    Greater,
    GreaterOrEqual,
    In,
    Less,
    LessOrEqual,
    Not,
    Or,
)
from termwise.integrations.documents import (
    DocumentIndex,
    Found,
    open_documents,
    search_documents,
)
from termwise.integrations.metadata import attributes_of, read_filter
from termwise.models import Model
from termwise.records import Document
from termwise.search.searcher import Searcher
from termwise.validation import check_count

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError as error:
    raise MissingExtraError.of(
        error.name or "llama-index-core", "llama-index", "the adapter to LlamaIndex"
    ) from None

__all__ = ["TermwiseRetriever", "TermwiseVectorStore"]

_CONTENT = ("_node_content", "_node_type")
"""Names of the node itself in the metadata that LlamaIndex gives it for a store."""

_MODES = ("default", "sparse", "text_search", "hybrid", "semantic_hybrid")
"""Modes of a query that the ranking of the index answers."""

_COMPARISONS: dict[FilterOperator, Callable[[str, Any], Filter]] = {
    FilterOperator.EQ: Equals,
    FilterOperator.CONTAINS: Equals,
    FilterOperator.GT: Greater,
    FilterOperator.GTE: GreaterOrEqual,
    FilterOperator.LT: Less,
    FilterOperator.LTE: LessOrEqual,
    FilterOperator.NE: lambda field, value: Not(Equals(field, value)),
    FilterOperator.IN: lambda field, values: In(field, _listed(values)),
    FilterOperator.ANY: lambda field, values: In(field, _listed(values)),
    FilterOperator.NIN: lambda field, values: Not(In(field, _listed(values))),
    FilterOperator.ALL: lambda field, values: And(*(Equals(field, value) for value in _listed(values))),
}


class TermwiseRetriever(BaseRetriever):
    """Retriever over the folder of an index, also of one that a `TermwiseVectorStore` keeps.

    A node of a store comes back as it was added. For another index, a node has the attributes of the document as
    metadata. A search sees the newest changes of the index.

    Parameters
    ----------
    path : str or Path
        Folder of an index or a mixture that stores texts.
    similarity_top_k : int, optional
        Number of nodes, 1 or more.
    filters : MetadataFilters, str, mapping or Filter, optional
        Condition on the metadata, in the form of LlamaIndex or of `termwise.filters`.
    explain : bool, optional
        Add ``contributions`` to the metadata of nodes, hidden from language models: objects with ``term``, ``origin``,
        ``part`` and ``score``, which add up to the score.

    Raises
    ------
    ParameterError
        If an argument is wrong, or the index stores no texts.
    TermwiseError
        If it cannot be opened.

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [termwise.Document("a", "green tea", {"price": 12}), termwise.Document("b", "black tea")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = termwise.build_index(documents, folder, store_text=True)
    ...     found = TermwiseRetriever(folder, similarity_top_k=1).retrieve("green tea")
    >>> found[0].node.get_content(), found[0].node.metadata
    ('green tea', {'price': 12})
    """

    def __init__(
        self,
        path: str | Path,
        *,
        similarity_top_k: int = 4,
        filters: MetadataFilters | FilterLike | None = None,
        explain: bool = False,
    ) -> None:
        super().__init__()
        check_count("similarity_top_k", similarity_top_k)
        self._searcher = open_documents(path)
        self._k = similarity_top_k
        self._filter = _read_filters(filters)
        self._explain = explain

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self._searcher = self._searcher.refresh()
        found = search_documents(
            self._searcher, query_bundle.query_str, k=self._k, filter=self._filter, explain=self._explain
        )
        return [NodeWithScore(node=_explained(_node(each), each), score=_score(each)) for each in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class TermwiseVectorStore(BasePydanticVectorStore):
    """Vector store of LlamaIndex that keeps an index of termwise in a folder.

    The model of the index weighs the nodes when they are added; their embeddings are not used, and none are needed for
    a query. A `VectorStoreIndex` embeds nodes all the same: give it a ``MockEmbedding``, or add nodes with `add` and
    search with `TermwiseRetriever`. The text of a node is its content with the metadata for embeddings
    (``MetadataMode.EMBED``).

    Parameters
    ----------
    path : str or Path, optional
        Folder of the index, which is made if it is missing; by default a temporary one, removed with the store.
    model : str, Path or Model, optional
        Model of a new index: ``"instant"`` by default, for English; ``"bm25"`` with an `analyzer` for other languages.
    analyzer : str, optional
        Analyzer of a new index, for models without their own.

    Raises
    ------
    ParameterError
        If the folder holds an index that was not written by a store, or that has another model.
    TermwiseError
        If the folder cannot be used.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.core.vector_stores import VectorStoreQuery
    >>> store = TermwiseVectorStore()
    >>> store.add([TextNode(id_="a", text="green tea"), TextNode(id_="b", text="black tea")])
    ['a', 'b']
    >>> store.query(VectorStoreQuery(query_str="green", similarity_top_k=1)).ids
    ['a']
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    _documents: DocumentIndex = PrivateAttr()

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        model: str | Path | Model | None = None,
        analyzer: str | None = None,
    ) -> None:
        super().__init__(stores_text=True, is_embedding_query=False)
        self._documents = DocumentIndex(path, model=model, analyzer=analyzer)
        self._documents.check_model()

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class."""
        return "TermwiseVectorStore"

    @property
    def client(self) -> Searcher | None:
        """Searcher of the index; None before the first nodes are added."""
        return self._documents.searcher()

    @property
    def path(self) -> Path:
        """Folder of the index."""
        return self._documents.path

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes, or replace those with the same identifiers; return the identifiers.

        Raises
        ------
        ParameterError
            If a value of the metadata has a type that JSON cannot hold.
        """
        _refuse(kwargs)
        documents = []
        for node in nodes:
            metadata = node_to_metadata_dict(node)
            record = {name: metadata.pop(name) for name in _CONTENT}
            text = node.get_content(metadata_mode=MetadataMode.EMBED)
            documents.append(
                Document(node.node_id, text, attributes_of(record, metadata, doc_id=node.node_id))
            )
        self._documents.add(documents)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a source document."""
        _refuse(delete_kwargs)
        self._documents.delete(filter=Equals("ref_doc_id", ref_doc_id))

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete the nodes with some identifiers that a filter matches; without both, all nodes."""
        _refuse(delete_kwargs)
        if node_ids is not None or filters is not None:
            node_ids = [each.doc_id for each in self._selected(node_ids, filters)]
        self._documents.delete(node_ids)

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return the nodes with some identifiers that a filter matches; without both, all nodes."""
        return [_node(each) for each in self._selected(node_ids, filters)]

    def clear(self) -> None:
        """Delete all nodes."""
        self._documents.delete()

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the best nodes for the text of a query, with their scores.

        `VectorStoreQuery.node_ids` and `doc_ids` limit the results; an empty list of `node_ids` does not, because a
        `VectorStoreIndex` passes one. Embeddings and weights of a hybrid query are not used: the model of the index has
        its own.

        Raises
        ------
        ParameterError
            If the query has no text, its number of results or a filter is wrong, or its mode needs embeddings.
        """
        _refuse(kwargs)
        if query.query_str is None:
            raise ParameterError(
                "the store searches for the text of a query",
                facts=[("query_str", None)],
                fixes=["VectorStoreQuery(query_str=...)"],
            )
        mode = VectorStoreQueryMode(query.mode).value
        if mode not in _MODES:
            raise ParameterError(
                "this mode of a query needs embeddings, which the store does not have",
                facts=[("mode", mode), ("expected", ", ".join(_MODES))],
            )
        filters = [] if query.filters is None else [_read_filters(query.filters)]
        filters += [] if query.doc_ids is None else [_any_of("ref_doc_id", query.doc_ids)]
        given = [each for each in filters if each is not None]
        found = self._documents.search(
            query.query_str,
            k=query.similarity_top_k,
            filter=And(*given) if given else None,
            only=query.node_ids or None,
        )
        return VectorStoreQueryResult(
            nodes=[_node(each) for each in found],
            similarities=[_score(each) for each in found],
            ids=[each.doc_id for each in found],
        )

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """See `add`."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """See `delete`."""
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """See `delete_nodes`."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """See `get_nodes`."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aclear(self) -> None:
        """See `clear`."""
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """See `query`."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def _selected(self, node_ids: Sequence[str] | None, filters: MetadataFilters | None) -> list[Found]:
        if filters is None and node_ids is not None:
            return self._documents.get(node_ids)
        wanted = None if node_ids is None else set(node_ids)
        found = self._documents.matching(_read_filters(filters))
        return [each for each in found if wanted is None or each.doc_id in wanted]


def _read_filters(filters: MetadataFilters | FilterLike | None) -> Filter | None:
    """Return a filter of LlamaIndex or of termwise; a missing field is not equal to a value, and in no list."""
    if not isinstance(filters, MetadataFilters):
        return read_filter(filters)
    parts = [
        _read_filters(each) if isinstance(each, MetadataFilters) else _condition(each)
        for each in filters.filters
    ]
    given = [each for each in parts if each is not None]
    if not given:
        return None
    if filters.condition == FilterCondition.NOT:
        return Not(Or(*given))
    return Or(*given) if filters.condition == FilterCondition.OR else And(*given)


def _condition(condition: MetadataFilter) -> Filter:
    field, operator, value = condition.key, condition.operator, condition.value
    if operator == FilterOperator.IS_EMPTY:
        return Or(Not(Exists(field)), Equals(field, ""))
    compared = _COMPARISONS.get(operator)
    if compared is None or value is None:
        raise ParameterError(
            "a filter of this kind is not supported",
            facts=[
                ("field", field),
                ("operator", operator.value),
                ("value", value),
                ("expected", f"{', '.join(each.value for each in _COMPARISONS)} and a value, or is_empty"),
            ],
        )
    return compared(field, value)


def _listed(values: object) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, list) else (values,)


def _any_of(field: str, values: Sequence[str]) -> Filter:
    return In(field, tuple(values)) if values else And(Exists(field), Not(Exists(field)))


def _refuse(arguments: dict[str, object]) -> None:
    """Raise `ParameterError` for arguments that the interface allows and the store does not have."""
    if arguments:
        raise ParameterError("unknown arguments", facts=[("given", ", ".join(arguments))])


def _score(found: Found) -> float:
    """Return the score, the smallest positive number instead of 0, which LlamaIndex replaces by 1 for some nodes."""
    return found.score or math.ulp(0.0)


def _node(found: Found) -> BaseNode:
    if found.metadata.keys() >= set(_CONTENT):
        return metadata_dict_to_node(found.metadata)
    return TextNode(id_=found.doc_id, text=found.text, metadata=found.metadata)


def _explained(node: BaseNode, found: Found) -> BaseNode:
    """Return the node, with the sum of its score in the metadata if it was asked for."""
    if found.contributions is not None:
        node.metadata["contributions"] = found.contributions
        node.excluded_embed_metadata_keys.append("contributions")
        node.excluded_llm_metadata_keys.append("contributions")
    return node
