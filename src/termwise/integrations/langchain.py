"""LangChain: a retriever over an index, and a vector store that keeps an index; needs the extra ``langchain``."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from termwise.engine.allowed_documents import FilterLike
from termwise.errors import MissingExtraError, ParameterError
from termwise.integrations.documents import (
    DocumentIndex,
    Found,
    open_documents,
    search_documents,
)
from termwise.integrations.metadata import attributes_of
from termwise.models import Model
from termwise.records import Document as IndexedDocument
from termwise.search.searcher import Searcher
from termwise.validation import check, check_names

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import PrivateAttr
except ImportError as error:
    raise MissingExtraError.of(
        error.name or "langchain-core", "langchain", "the adapter to LangChain"
    ) from None

__all__ = ["TermwiseRetriever", "TermwiseVectorStore"]


class TermwiseRetriever(BaseRetriever):
    """Retriever over the folder of an index, also of one that a `TermwiseVectorStore` keeps.

    The metadata of a document are its attributes, ``doc_id`` and ``score``. A search sees the newest changes of the
    index.

    Parameters
    ----------
    path : str or Path
        Folder of an index or a mixture that stores texts.
    k : int, optional
        Number of documents, 1 or more.
    filter : str, mapping or Filter, optional
        Condition on attributes, such as ``'lang = "de" and price < 20'``, see `termwise.filters`; or values by field,
        such as ``{"lang": "de"}``.
    explain : bool, optional
        Add ``contributions`` to the metadata: objects with ``term``, ``origin``, ``part`` and ``score``, which add up
        to the score.

    Raises
    ------
    ParameterError
        If the index stores no texts.
    TermwiseError
        If it cannot be opened.

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [termwise.Document("a", "green tea", {"price": 12}), termwise.Document("b", "black tea")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = termwise.build_index(documents, folder, store_text=True)
    ...     found = TermwiseRetriever(path=folder).invoke("green tea", k=1)
    >>> found[0].page_content, found[0].metadata["price"], found[0].metadata["doc_id"]
    ('green tea', 12, 'a')
    """

    path: str | Path
    k: int = 4
    filter: Any = None
    explain: bool = False
    _searcher: Searcher = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Open the index."""
        self._searcher = open_documents(self.path)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: FilterLike | None = None,
        explain: bool | None = None,
    ) -> list[Document]:
        self._searcher = self._searcher.refresh()
        found = search_documents(
            self._searcher,
            query,
            k=self.k if k is None else k,
            filter=self.filter if filter is None else filter,
            explain=self.explain if explain is None else explain,
        )
        return [_with_score(each) for each in found]


class TermwiseVectorStore(VectorStore):
    """Vector store of LangChain that keeps an index of termwise in a folder.

    The model of the index weighs the documents when they are added. A query runs no network, so the store takes no
    embeddings; combine it with a store of embeddings by LangChain's ``EnsembleRetriever``. Scores order the documents
    of one query, and have no fixed scale.

    Parameters
    ----------
    path : str or Path, optional
        Folder of the index, which is made if it is missing; by default a temporary one, removed with the store.
    model : str, Path or Model, optional
        Model of a new index: ``"instant"`` by default, for English; ``"bm25"`` with an `analyzer` for other languages,
        and ``"best"`` for better results and slower additions. With ``"bm25"``, only documents with a word of the query
        are results.
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
    >>> store = TermwiseVectorStore()
    >>> store.add_texts(["green tea", "black tea"], [{"price": 12}, {"price": 4}], ids=["a", "b"])
    ['a', 'b']
    >>> store.similarity_search("tea", k=2, filter="price > 10")
    [Document(id='a', metadata={'price': 12}, page_content='green tea')]
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        model: str | Path | Model | None = None,
        analyzer: str | None = None,
    ) -> None:
        self._documents = DocumentIndex(path, model=model, analyzer=analyzer)
        self._documents.check_model()

    @property
    def path(self) -> Path:
        """Folder of the index."""
        return self._documents.path

    @property
    def embeddings(self) -> None:
        """None: a query is not embedded."""
        return None

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts, or replace those with the same identifiers.

        Parameters
        ----------
        texts : iterable of str
        metadatas : sequence of mapping of str to object, optional
            Metadata of each text: values that JSON can hold, and dates.
        ids : sequence of str or None, optional
            Identifier of each text; a random one by default, and for None.
        **kwargs
            None are taken; part of the interface.

        Returns
        -------
        list of str
            The identifiers.

        Raises
        ------
        ParameterError
            If the lengths differ, or a text, an identifier or a value of the metadata has the wrong type.
        """
        _refuse(kwargs)
        check("texts", texts, isinstance(texts, Iterable) and not isinstance(texts, str), "several texts")
        texts = list(texts)
        metadatas = [{} for _ in texts] if metadatas is None else list(metadatas)
        given = [None for _ in texts] if ids is None else list(ids)
        if not len(texts) == len(metadatas) == len(given):
            raise ParameterError(
                "each text needs one metadata and one identifier",
                facts=[("texts", len(texts)), ("metadatas", len(metadatas)), ("ids", len(given))],
            )
        names = [str(uuid.uuid4()) if each is None else each for each in given]
        check_names("ids", names)
        self._documents.add(
            IndexedDocument(doc_id, text, attributes_of(metadata, doc_id=doc_id))
            for doc_id, text, metadata in zip(names, texts, metadatas, strict=True)
        )
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents by their identifiers, or all; unknown ones are ignored."""
        _refuse(kwargs)
        self._documents.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return those of some documents that there are, in the order of the identifiers."""
        return [_document(each) for each in self._documents.get(ids)]

    def similarity_search(
        self, query: str, k: int = 4, filter: FilterLike | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the best documents for a query; see `similarity_search_with_score`."""
        return [document for document, _ in self.similarity_search_with_score(query, k, filter, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: FilterLike | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the best documents for a query with their scores; a larger score is better.

        Parameters
        ----------
        query : str
        k : int, optional
            Number of documents, 1 or more.
        filter : str, mapping or Filter, optional
            Condition on the metadata; see `TermwiseRetriever`. A field that no document has is missing in all.
        **kwargs
            None are taken; part of the interface.

        Raises
        ------
        ParameterError, UnknownNameError
            If `k` or the filter is wrong.
        """
        _refuse(kwargs)
        found = self._documents.search(query, k=k, filter=filter)
        return [(_document(each), each.score) for each in found]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        raise NotImplementedError(
            "scores of termwise have no fixed scale from 0 to 1; use search_type='similarity'"
        )

    @classmethod
    def from_documents(
        cls, documents: list[Document], embedding: Embeddings | None = None, **kwargs: Any
    ) -> TermwiseVectorStore:
        """Make a store and add documents; the other arguments are those of `from_texts`."""
        return super().from_documents(documents, embedding, **kwargs)  # type: ignore[arg-type]

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | None = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        path: str | Path | None = None,
        model: str | Path | Model | None = None,
        analyzer: str | None = None,
        **kwargs: Any,
    ) -> TermwiseVectorStore:
        """Make a store and add texts.

        Parameters
        ----------
        texts, metadatas, ids
            See `add_texts`.
        embedding : None
            Embeddings are refused, because the store would not use them.
        path, model, analyzer
            See `TermwiseVectorStore`.
        **kwargs
            None are taken; part of the interface.

        Raises
        ------
        ParameterError
            If embeddings are given; see `add_texts` for other reasons.
        """
        _refuse(kwargs)
        check(
            "embedding", embedding, embedding is None, "None; the store weighs documents with its own model"
        )
        store = cls(path, model=model, analyzer=analyzer)
        store.add_texts(texts, metadatas, ids=ids)
        return store


def _refuse(arguments: Mapping[str, object]) -> None:
    """Raise `ParameterError` for arguments that the interface allows and the store does not have."""
    if arguments:
        raise ParameterError("unknown arguments", facts=[("given", ", ".join(arguments))])


def _document(found: Found) -> Document:
    return Document(id=found.doc_id, page_content=found.text, metadata=found.metadata)


def _with_score(found: Found) -> Document:
    """Return a document whose metadata have identifier, score and, if it was asked for, its sum."""
    metadata = {**found.metadata, "doc_id": found.doc_id, "score": found.score}
    if found.contributions is not None:
        metadata["contributions"] = found.contributions
    return Document(id=found.doc_id, page_content=found.text, metadata=metadata)
