"""Haystack: a document store that keeps an index, and its retriever; needs the extra ``haystack``."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from termwise.errors import MissingExtraError
from termwise.integrations.documents import DocumentIndex, Found
from termwise.integrations.metadata import attributes_of
from termwise.records import Document as IndexedDocument
from termwise.validation import check_count

try:
    from haystack import component, default_from_dict, default_to_dict
    from haystack.dataclasses import Document
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
except ImportError as error:
    raise MissingExtraError.of(error.name or "haystack-ai", "haystack", "the adapter to Haystack") from None

from termwise.integrations.haystack_filters import read_filter

__all__ = ["TermwiseDocumentStore", "TermwiseRetriever"]

_TYPES = {bool: "boolean", int: "int", float: "float"}
"""Names of types of values in Haystack; others are a ``keyword``."""


class TermwiseDocumentStore:
    """Document store of Haystack that keeps an index of termwise in a folder.

    Documents come back as they were written, with their embeddings, which are not searched. Without a content, a
    document has no text, and is found by filters only.

    Parameters
    ----------
    path : str, optional
        Folder of the index, which is made if it is missing; by default a temporary one, removed with the store.
    model : str, optional
        Model of a new index: ``"instant"`` by default, for English; ``"bm25"`` with an `analyzer` for other languages.
    analyzer : str, optional
        Analyzer of a new index, for models without their own.

    Raises
    ------
    ParameterError
        If the folder holds an index that was not written by a store.
    TermwiseError
        If the folder cannot be used.

    Examples
    --------
    >>> store = TermwiseDocumentStore()
    >>> store.write_documents([Document(id="a", content="green tea", meta={"price": 12})])
    1
    >>> found = store.filter_documents({"field": "meta.price", "operator": ">", "value": 10})
    >>> [document.content for document in found]
    ['green tea']
    """

    def __init__(
        self, path: str | None = None, model: str | None = None, analyzer: str | None = None
    ) -> None:
        self._settings = {"path": None if path is None else str(path), "model": model, "analyzer": analyzer}
        self._documents = DocumentIndex(path, model=model, analyzer=analyzer)

    @property
    def path(self) -> Path:
        """Folder of the index."""
        return self._documents.path

    def to_dict(self) -> dict[str, Any]:
        """Return the settings of the store; the documents stay in the folder."""
        return default_to_dict(self, **self._settings)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TermwiseDocumentStore:
        """Return a store with the settings of `to_dict`."""
        store: TermwiseDocumentStore = default_from_dict(cls, data)
        return store

    def count_documents(self) -> int:
        """Return the number of documents."""
        return self._documents.count()

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return the number of documents that a filter matches."""
        return self._documents.count(read_filter(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter matches, by default all, in the order in which they were written.

        A text in a comparison by order is a date in ISO 8601. A list in the metadata matches if one of its elements
        does.

        Raises
        ------
        FilterError
            If the filter is malformed, or compares with a value of a type that has no order.
        """
        return [_document(each) for each in self._documents.matching(read_filter(filters))]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents, all in one commit; return their number.

        Parameters
        ----------
        documents : list of Document
        policy : DuplicatePolicy, optional
            What happens to documents whose identifiers the store has: ``FAIL``, also by default, ``SKIP`` or
            ``OVERWRITE``.

        Raises
        ------
        ValueError
            If `documents` is no list of documents.
        DuplicateDocumentError
            If the policy is to fail, and an identifier occurs twice or is in the store; nothing is written.
        ParameterError
            If the metadata have a value that JSON cannot hold.
        """
        if not isinstance(documents, list) or not all(isinstance(each, Document) for each in documents):
            raise ValueError("write_documents needs a list of documents of Haystack")
        if policy == DuplicatePolicy.OVERWRITE:
            self._documents.add(map(_indexed, documents))
            return len(documents)
        known = {each.doc_id for each in self._documents.get([document.id for document in documents])}
        new: dict[str, Document] = {}
        for document in documents:
            if document.id not in known and document.id not in new:
                new[document.id] = document
            elif policy != DuplicatePolicy.SKIP:
                raise DuplicateDocumentError(f"a document with the id {document.id!r} is in the store")
        self._documents.add(map(_indexed, new.values()))
        return len(new)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents by their identifiers; unknown ones are ignored."""
        self._documents.delete(document_ids)

    def delete_all_documents(self, recreate_index: bool = False) -> None:
        """Delete all documents.

        Parameters
        ----------
        recreate_index : bool, optional
            Let the next documents build a new index in the folder, with the model and the analyzer of this store. The
            model must be of the kind of the earlier one: a mixture, such as ``instant``, or a single one.
        """
        if recreate_index:
            self._documents.recreate()
        else:
            self._documents.delete()

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that a filter matches, without conditions all; return their number."""
        return self._documents.delete(filter=read_filter(filters))

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Set metadata of the documents that a filter matches; return their number. They become the last documents."""
        found = self.filter_documents(filters)
        self._documents.add(_indexed(replace(each, meta={**each.meta, **meta})) for each in found)
        return len(found)

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the type of each field of the metadata: ``keyword``, ``int``, ``float`` or ``boolean``.

        A field with values of several types has the type of its last value; values of other types are a ``keyword``.
        """
        info = {}
        for each in self._documents.matching():
            for name, value in each.metadata["meta"].items():
                if value is not None:
                    info[name] = {"type": _TYPES.get(type(value), "keyword")}
        return info

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the smallest and the largest value of a field as ``min`` and ``max``: of numbers, or else of texts.

        Both are None for a field without such values. The name may begin with ``meta.``.
        """
        values = self._values(metadata_field, None)
        numbers = [
            value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        ordered: list[Any] = numbers or [value for value in values if isinstance(value, str)]
        return {"min": min(ordered, default=None), "max": max(ordered, default=None)}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return the different values of a field, in the order of their texts, and their number.

        Parameters
        ----------
        metadata_field : str
            Name of the field, which may begin with ``meta.``.
        search_term : str, optional
            Return only values whose text contains it; case is ignored.
        from_, size : int, optional
            Number of values to skip, and to return.
        filters : dict, optional
            Consider only the documents that a filter matches.
        """
        values = _distinct(self._values(metadata_field, filters))
        if search_term:
            values = [value for value in values if search_term.lower() in str(value).lower()]
        values.sort(key=lambda value: (str(value), type(value).__name__))
        return values[from_ : from_ + size], len(values)

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Return the number of different values of some fields in the documents that a filter matches."""
        return {
            field.removeprefix("meta."): len(_distinct(self._values(field, filters)))
            for field in metadata_fields
        }

    def _values(self, field: str, filters: dict[str, Any] | None) -> list[Any]:
        name = field.removeprefix("meta.")
        found = [each.metadata["meta"].get(name) for each in self._documents.matching(read_filter(filters))]
        return [value for value in found if value is not None]

    def retrieve(
        self,
        query: str,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        explain: bool = False,
    ) -> list[Document]:
        """Return the best documents for a query, with their scores; see `TermwiseRetriever`."""
        found = self._documents.search(query, k=top_k, filter=read_filter(filters), explain=explain)
        return [_with_score(each, scale_score) for each in found]

    async def count_documents_async(self) -> int:
        """See `count_documents`."""
        return await asyncio.to_thread(self.count_documents)

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """See `count_documents_by_filter`."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """See `filter_documents`."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """See `write_documents`."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """See `delete_documents`."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self, recreate_index: bool = False) -> None:
        """See `delete_all_documents`."""
        await asyncio.to_thread(self.delete_all_documents, recreate_index)

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """See `delete_by_filter`."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """See `update_by_filter`."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """See `get_metadata_fields_info`."""
        return await asyncio.to_thread(self.get_metadata_fields_info)

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """See `get_metadata_field_min_max`."""
        return await asyncio.to_thread(self.get_metadata_field_min_max, metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """See `get_metadata_field_unique_values`."""
        return await asyncio.to_thread(
            self.get_metadata_field_unique_values, metadata_field, search_term, from_, size, filters
        )

    async def count_unique_metadata_by_filter_async(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """See `count_unique_metadata_by_filter`."""
        return await asyncio.to_thread(self.count_unique_metadata_by_filter, filters, metadata_fields)


@component
class TermwiseRetriever:
    """Component of Haystack that searches a `TermwiseDocumentStore`.

    Parameters
    ----------
    document_store : TermwiseDocumentStore
    filters : dict, optional
        Condition on the documents, in Haystack's form.
    top_k : int, optional
        Number of documents, 1 or more.
    scale_score : bool, optional
        Map scores to the range from 0 to 1 by the logistic function. The order stays; the result is no probability.
    filter_policy : FilterPolicy, optional
        Whether filters of `run` replace `filters`, or are added to them.
    explain : bool, optional
        Add ``contributions`` to the metadata: objects with ``term``, ``origin``, ``part`` and ``score``, which add up
        to the score before it is scaled.

    Raises
    ------
    ParameterError
        If `top_k` is not 1 or more.

    Examples
    --------
    >>> store = TermwiseDocumentStore()
    >>> written = store.write_documents([Document(content="green tea"), Document(content="black tea")])
    >>> retriever = TermwiseRetriever(document_store=store, top_k=1)
    >>> [document.content for document in retriever.run(query="green tea")["documents"]]
    ['green tea']
    """

    def __init__(
        self,
        document_store: TermwiseDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
        explain: bool = False,
    ) -> None:
        check_count("top_k", top_k)
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.scale_score = scale_score
        self.filter_policy = filter_policy
        self.explain = explain

    def to_dict(self) -> dict[str, Any]:
        """Return the settings of the component and of its store."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            scale_score=self.scale_score,
            filter_policy=self.filter_policy.value,
            explain=self.explain,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TermwiseRetriever:
        """Return a component with the settings of `to_dict`."""
        given = dict(data["init_parameters"])
        if isinstance(given["document_store"], dict):
            given["document_store"] = TermwiseDocumentStore.from_dict(given["document_store"])
        if "filter_policy" in given:
            given["filter_policy"] = FilterPolicy.from_str(given["filter_policy"])
        retriever: TermwiseRetriever = default_from_dict(cls, {**data, "init_parameters": given})
        return retriever

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Return the best documents for a query as ``{"documents": [...]}``, those with the largest scores first.

        Parameters
        ----------
        query : str
        filters, top_k, scale_score : optional
            Other values than those of the component.

        Raises
        ------
        FilterError
            If the filter is malformed.
        ParameterError
            If `top_k` is not 1 or more.
        """
        found = self.document_store.retrieve(
            query,
            filters=apply_filter_policy(self.filter_policy, self.filters, filters),
            top_k=self.top_k if top_k is None else top_k,
            scale_score=self.scale_score if scale_score is None else scale_score,
            explain=self.explain,
        )
        return {"documents": found}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
    ) -> dict[str, list[Document]]:
        """See `run`."""
        found: dict[str, list[Document]] = await asyncio.to_thread(
            self.run, query, filters, top_k, scale_score
        )
        return found


def _indexed(document: Document) -> IndexedDocument:
    """Return a document of Haystack for the index: its record has all but text and identifier."""
    record = document.to_dict(flatten=False)
    del record["id"]
    if record["content"] is not None:
        record["content"] = ""
    seen = {"id": document.id, "meta": document.meta}
    return IndexedDocument(
        document.id, document.content or "", attributes_of(record, seen, doc_id=document.id)
    )


def _document(found: Found) -> Document:
    content = None if found.metadata["content"] is None else found.text
    return Document.from_dict({**found.metadata, "id": found.doc_id, "content": content})


def _with_score(found: Found, scaled: bool) -> Document:
    """Return a result with its score and, if it was asked for, the sum of the score."""
    document = _document(found)
    meta = (
        document.meta
        if found.contributions is None
        else {**document.meta, "contributions": found.contributions}
    )
    return replace(document, score=_logistic(found.score) if scaled else found.score, meta=meta)


def _distinct(values: list[Any]) -> list[Any]:
    """Return the different values; 1, 1.0, true and the text "1" differ."""
    return list({json.dumps(value, sort_keys=True, default=repr): value for value in values}.values())


def _logistic(score: float) -> float:
    return 0.5 + 0.5 * math.tanh(0.5 * score)
