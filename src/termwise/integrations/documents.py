"""Documents of a framework in an index that they are added to and deleted from, and searches for them."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from weakref import finalize

from termwise.engine.allowed_documents import FilterLike
from termwise.errors import IndexLockedError, NotAnIndexError, ParameterError
from termwise.fixes import Fix
from termwise.index.container import storage_errors
from termwise.index.folder import LOCK, reading_errors
from termwise.index.manifest import BUILD
from termwise.indexing import build_index, open_writer, renew_index
from termwise.indexing.added_rows import LoadedNetworks
from termwise.indexing.live_writer import LiveWriter
from termwise.indexing.model_choice import chosen_model, model_of
from termwise.indexing.recipes import RECIPES
from termwise.integrations.metadata import RECORD, SCHEMA, filter_of_values, read_filter, record_of
from termwise.models import CountModel, Model, make_model
from termwise.records import Document, Ranking
from termwise.search.opening import open_searcher
from termwise.search.request import Search
from termwise.search.searcher import Searcher
from termwise.storage.atomic_file import locked_folder
from termwise.storage.model_folder import MIXTURE_BUILD
from termwise.validation import check_documents, check_flag, check_names, check_path

DEFAULT_MODEL = "instant"
"""BM25 mixed with vectors of words from the included table: it finds documents that share no word with a query, and
needs no network and no download."""

WAIT = 30.0
"""Seconds to wait for another process that changes the index."""

RENEWAL = 2
"""Factor by which the number of documents has changed when the statistics of the index are computed again."""


class Found(NamedTuple):
    """Document with its text, its metadata, and in the results of a search its score.

    Attributes
    ----------
    doc_id : str
    text : str
    metadata : dict of str to object
        The record of `metadata.attributes_of`, or the attributes of an index that was built otherwise.
    score : float
    contributions : list of dict, optional
        Sum of the score, see `search_documents`; None unless it was asked for.
    """

    doc_id: str
    text: str
    metadata: dict[str, Any]
    score: float
    contributions: list[dict[str, Any]] | None


def open_documents(path: str | Path) -> Searcher:
    """Open an index or a mixture whose documents are shown, and therefore stored.

    Raises
    ------
    ParameterError
        If it stores no texts.
    TermwiseError
        If it cannot be opened.
    """
    searcher = open_searcher(path)
    if not searcher.index.stores_text:
        raise ParameterError(
            "the index does not store the texts of its documents",
            facts=[("index", searcher.path)],
            fixes=[Fix.build(store_text=True)],
        )
    return searcher


def search_documents(
    searcher: Searcher,
    query: str,
    *,
    k: int,
    filter: FilterLike | None = None,
    explain: bool = False,
    candidates: Sequence[str] | None = None,
) -> list[Found]:
    """Return the best documents for a query.

    Parameters
    ----------
    searcher : Searcher
        Of an index of a `DocumentIndex`, or of any index that stores texts.
    query : str
    k : int
        Number of results, 1 or more.
    filter : str, mapping or Filter, optional
        See `metadata.read_filter`.
    explain : bool, optional
        Return the sum of each score: objects with ``term``, ``origin``, ``part`` and ``score``, largest score first, as
        in `termwise.explain`. The last one has the term ``""`` and the constant of the sum.
    candidates : sequence of str, optional
        Rank these documents only.
    """
    check_flag("explain", explain)
    if candidates is not None and not candidates:
        return []
    # Stores of these frameworks return the nearest documents, however far they are.
    search = Search(query, k=k, filter=_filter_for(searcher, filter), candidates=candidates, min_relevance=0)
    results = searcher.search(search)
    ranking = results.ranking
    found = _found(searcher, ranking)
    if not explain:
        return found
    sums = [
        [
            *(
                {"term": each.term, "origin": each.origin, "part": each.part, "score": each.score}
                for each in sorted(explanation.contributions, key=lambda each: -each.score)
            ),
            {"term": "", "origin": "constant", "part": "", "score": explanation.constant},
        ]
        for explanation in results.explain(ranking.doc_ids)
    ]
    return [each._replace(contributions=terms) for each, terms in zip(found, sums, strict=True)]


def _filter_for(searcher: Searcher, filter: FilterLike | None) -> FilterLike | None:
    checked = read_filter(filter)
    return filter_of_values(checked) if checked is not None and RECORD in searcher.schema else checked


def _found(searcher: Searcher, ranking: Ranking) -> list[Found]:
    found = []
    for hit in searcher.hits(ranking):
        metadata: dict[str, Any] = record_of(hit.attributes) if RECORD in hit.attributes else hit.attributes
        found.append(Found(hit.doc_id, hit.text or "", metadata, hit.score, None))
    return found


def _described(model: Model | None) -> tuple[object, dict[str, object]]:
    parameters = {} if model is None else vars(model)
    return type(model), {name: value for name, value in parameters.items() if os.sep not in str(value)}


class DocumentIndex:
    """Index of documents with metadata, which changes while it is searched.

    The folder is written when the first documents are added. Each change is committed, and seen by the next call of any
    process. The statistics of the model, such as the mean document length of BM25, are computed again when the number
    of documents has doubled or halved, so that an index that grows from a few documents ranks as one that is built at
    once, for a constant factor of its time.

    Parameters
    ----------
    path : str or Path, optional
        Folder of the index; by default a temporary one, which is removed with this object.
    model : str, Path or Model, optional
        Model of a new index, see `termwise.build_index`; by default `DEFAULT_MODEL`. An index that is in the folder
        keeps its model until `recreate`, see `check_model`.
    analyzer : str, optional
        Analyzer of a new index, for models without their own.

    Raises
    ------
    ParameterError
        If the folder holds an index that was not written by this class.
    TermwiseError
        If the folder holds something else, or cannot be read.

    Examples
    --------
    >>> from termwise.integrations.metadata import attributes_of
    >>> index = DocumentIndex(model="bm25")
    >>> index.add([Document("a", "green tea", attributes_of({"price": 4}))])
    >>> [(each.doc_id, each.metadata) for each in index.search("tea", k=10, filter="price < 5")]
    [('a', {'price': 4})]
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        model: str | Path | Model | None = None,
        analyzer: str | None = None,
    ) -> None:
        if path is None:
            path = tempfile.mkdtemp(prefix="termwise-")
            finalize(self, shutil.rmtree, path, ignore_errors=True)
        check_path("path", path)
        self.path = Path(path)
        self._model = model
        self._analyzer = analyzer
        self._networks: LoadedNetworks = {}
        self._changing = Lock()
        self._opened: Searcher | None = None
        self._recreate = False
        """Whether the index, which had all documents deleted, is replaced when documents are added."""
        self.searcher()

    def searcher(self) -> Searcher | None:
        """Return a searcher for the newest generation; None before the first documents are added."""
        if self._opened is not None:
            self._opened = self._opened.refresh()
        elif names := _names(self.path):
            try:
                opened = open_documents(self.path)
            except NotAnIndexError:
                if any(name in (LOCK, MIXTURE_BUILD) or name.startswith(BUILD) for name in names):
                    return None  # a build that has not finished
                raise
            if dict(opened.schema) != dict(SCHEMA):
                raise ParameterError(
                    "this index has other attributes than the metadata of a store",
                    facts=[("index", self.path), ("attributes", ", ".join(opened.schema) or "none")],
                    fixes=["search it with a retriever", "choose a new folder for the store"],
                )
            self._opened = opened
        return self._opened

    def check_model(self) -> None:
        """Raise `ParameterError` if the index in the folder has another model than the one of this object, if any.

        Paths of encoders are not compared.
        """
        searcher, given = self.searcher(), self._model
        if searcher is None or given is None:
            return
        if recipe := RECIPES.get(str(given)):
            models = [make_model(part.model, part.settings) for part in recipe.parts]
        else:
            models = [chosen_model(given)]
        found = [model_of(part.index) for part in searcher.parts]
        if list(map(_described, found)) != list(map(_described, models)):
            raise ParameterError(
                "the index in the folder has another model",
                facts=[
                    ("index", self.path),
                    ("model there", ", ".join(map(str, found))),
                    ("model given", ", ".join(map(str, models))),
                ],
                fixes=[Fix.omit("model"), "choose a new folder for the store"],
            )

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents; one with the identifier of an earlier document replaces it.

        Raises
        ------
        ParameterError
            If one is no `Document`.
        IndexLockedError
            If another process changes the index for longer than `WAIT`.
        """
        check_documents(documents)
        distinct = list({document.doc_id: document for document in documents}.values())
        if not distinct:
            return
        with self._changing:
            if (self._recreate or self.searcher() is None) and self._build(distinct):
                return
            with self._writer() as writer:
                writer.add(distinct)
            self._renew()

    def _writer(self) -> LiveWriter:
        """Open the index for a change, again if another process has replaced it meanwhile."""
        begin = time.monotonic()
        while True:
            try:
                return open_writer(self.path, wait=WAIT, networks=self._networks)
            except IndexLockedError:
                if time.monotonic() - begin >= WAIT:
                    raise

    def _build(self, documents: list[Document]) -> bool:
        """Build the index unless another object or process has; after `recreate`, also in place of an empty one."""
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with locked_folder(self.path):
            searcher = self.searcher()
            if searcher is not None and (searcher.documents or not self._recreate):
                self._recreate = False
                return False
            self._opened = build_index(
                documents,
                self.path,
                model=DEFAULT_MODEL if self._model is None else self._model,
                analyzer=self._analyzer,
                attributes=SCHEMA,
                store_text=True,
                overwrite=searcher is not None,
            )
        self._recreate = False
        return True

    def delete(self, doc_ids: Sequence[str] | None = None, *, filter: FilterLike | None = None) -> int:
        """Delete documents by their identifiers or by a filter, by default all; return how many there were.

        Unknown identifiers are ignored.
        """
        if doc_ids is not None:
            check_names("doc_ids", doc_ids)
        checked = read_filter(filter)
        with self._changing:
            searcher = self.searcher()
            if searcher is None:
                return 0
            with self._writer() as writer:
                if checked is not None:
                    deleted = writer.delete(doc_ids or (), filter=_filter_for(searcher, checked))
                else:
                    deleted = writer.delete(_all_ids(searcher) if doc_ids is None else doc_ids)
            self._renew()
        return deleted

    def recreate(self) -> None:
        """Delete all documents; the next ones build a new index in the folder, with the model of this object.

        It must be of the kind of the earlier one: a mixture, or a single index.
        """
        self.delete()
        self._recreate = True

    def _renew(self) -> None:
        """Compute the statistics again if the number of documents has changed by the factor `RENEWAL`."""
        searcher = self.searcher()
        if not searcher or not searcher.documents:
            return
        indexes = [part.backend.index for part in searcher.parts]
        built = [
            index.manifest.encoder.statistics.get("documents")
            for index in indexes
            if isinstance(model_of(index), CountModel)
        ]
        if any(count and not count / RENEWAL < searcher.documents < count * RENEWAL for count in built):
            with suppress(IndexLockedError):  # the process that changes it does the same
                renew_index(self.path)

    def get(self, doc_ids: Sequence[str]) -> list[Found]:
        """Return those of some documents that there are, in the order of the identifiers."""
        check_names("doc_ids", doc_ids)
        searcher = self.searcher()
        if searcher is None:
            return []
        distinct = list(dict.fromkeys(doc_ids))
        known = [
            doc_id
            for doc_id, ordinal in zip(distinct, searcher.index.find_many(distinct), strict=True)
            if ordinal >= 0
        ]
        return _found(searcher, Ranking(known, [0.0] * len(known)))

    def matching(self, filter: FilterLike | None = None) -> list[Found]:
        """Return all documents that a filter matches, by default all, in the order in which they were added."""
        searcher, checked = self.searcher(), read_filter(filter)
        if searcher is None or not searcher.documents:
            return []
        ranking = searcher.rank(None, k=searcher.documents, filter=_filter_for(searcher, checked))
        return _found(searcher, ranking)

    def count(self, filter: FilterLike | None = None) -> int:
        """Return the number of documents that a filter matches, by default of all."""
        searcher, checked = self.searcher(), read_filter(filter)
        if searcher is None:
            return 0
        if checked is None:
            return searcher.documents
        return searcher.search(Search(filter=_filter_for(searcher, checked))).count()

    def search(
        self,
        query: str,
        *,
        k: int,
        filter: FilterLike | None = None,
        explain: bool = False,
        only: Sequence[str] | None = None,
    ) -> list[Found]:
        """Return the best documents for a query, `only` those with some identifiers; see `search_documents`."""
        searcher = self.searcher()
        if searcher is None:
            Search(query, k=k, filter=read_filter(filter))  # checked also without documents
            return []
        candidates = None if only is None else [each.doc_id for each in self.get(only)]
        return search_documents(searcher, query, k=k, filter=filter, explain=explain, candidates=candidates)


def _names(folder: Path) -> list[str]:
    """Return the names in a folder; none if it is missing. Other errors of the system are a `StorageError`."""
    with reading_errors(folder), suppress(FileNotFoundError, NotADirectoryError):
        return [entry.name for entry in folder.iterdir()]
    return []


def _all_ids(searcher: Searcher) -> Sequence[str]:
    return searcher.rank(None, k=max(1, searcher.documents)).doc_ids
