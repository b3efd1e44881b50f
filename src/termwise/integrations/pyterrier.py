"""PyTerrier: an index as an artifact, with transformers that index, retrieve, re-rank, explain and load texts.

No transformer needs Terrier, so no Java virtual machine is started. Frames have PyTerrier's columns: ``qid`` and
``query`` or ``query_toks`` for queries, and also ``docno``, ``score`` and ``rank`` (from 0) for results.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from termwise.attributes import Schema
from termwise.collection.fields import identifier
from termwise.collection.record_collection import RecordCollection, source_named
from termwise.display.safe_text import shown
from termwise.errors import DuplicateIdError, MalformedRecordError, MissingExtraError, ParameterError
from termwise.explain import Explanation
from termwise.fixes import Fix
from termwise.index.manifest import NAME as MANIFEST
from termwise.indexing import BuildOptions, build_index
from termwise.models import Model, VectorModel
from termwise.records import Ranking
from termwise.search import Search, Searcher
from termwise.search.mixture_folder import NAME as MIXTURE
from termwise.search.opening import open_searcher
from termwise.search.searcher import check_search_of_run
from termwise.storage.safe_read import path_exists
from termwise.text import Analyzer
from termwise.validation import check, check_count, check_threads, is_finite_number

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise MissingExtraError.of("pyterrier", "pyterrier", "the adapter to PyTerrier") from error

QUERY_MODES = (["query_toks"], ["query"])
"""Columns of a query beside ``qid``; weights of terms come before the text."""

LARGEST = float(np.finfo(np.float32).max)
"""Largest weight."""


def _schematic(label: str) -> dict[str, str]:
    """Return the description of a transformer in pictures; without an address, PyTerrier would ask its web site."""
    return {"label": label, "help_url": ""}


class TermwiseIndex(pt.Artifact, pt.Indexer):
    """Folder of an index or a mixture as a PyTerrier artifact.

    The folder may not exist yet: `indexer`, `toks_indexer` and `index` build it. PyTerrier's `Artifact.load`,
    `build_package`, `to_hf` and `from_hf` work as for its own artifacts.

    Parameters
    ----------
    path : str or Path
        Folder of the index.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = TermwiseIndex(f"{folder}/docs.tw")
    ...     _ = index.indexer(model="bm25").index([{"docno": "d1", "text": "merge two sorted lists"}])
    ...     results = index.retriever().search("merging lists")
    >>> results[["qid", "docno", "rank"]].to_dict("records")
    [{'qid': '1', 'docno': 'd1', 'rank': 0}]
    """

    schematic: ClassVar[dict[str, str]] = _schematic("Termwise Index")

    ARTIFACT_TYPE = "sparse_index"
    ARTIFACT_FORMAT = "termwise"
    ARTIFACT_PACKAGE_HINT = "termwise"

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.folder = str(path)

    def __repr__(self) -> str:
        return f"TermwiseIndex({self.folder!r})"

    def built(self) -> bool:
        """Return whether the folder holds an index or a mixture."""
        return any(path_exists(Path(self.folder, name)) for name in (MANIFEST, MIXTURE))

    @cached_property
    def searcher(self) -> Searcher:
        """The open index; see `termwise.open` for errors."""
        return open_searcher(self.folder)

    def __len__(self) -> int:
        """Return the number of documents."""
        return self.searcher.documents

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the open index, which another process opens again."""
        return {name: value for name, value in self.__dict__.items() if name != "searcher"}

    def index(self, iter: Iterable[Mapping[str, Any]]) -> TermwiseIndex:  # type: ignore[override]
        """Index documents with BM25, or weights that another model computed if the first one has ``toks``."""
        records = _peeked(iter)
        builds = self.toks_indexer() if "toks" in records.first else self.indexer()
        return builds.index(records)

    def index_inputs(self) -> list[list[str]]:
        """Return the columns of documents: ``docno``, and ``text`` or ``toks``."""
        return [["docno", "text"], ["docno", "toks"]]

    def indexer(
        self,
        *,
        model: str | Path | Model = "bm25",
        analyzer: str | Analyzer | None = None,
        fields: Sequence[str] | Mapping[str, int] | None = None,
        attributes: Sequence[str] | Schema | None = None,
        store_text: bool = False,
        overwrite: bool = False,
        options: BuildOptions = BuildOptions(),  # noqa: B008
    ) -> TermwiseIndexer:
        """Return an indexer of texts.

        Parameters
        ----------
        model, analyzer, attributes, store_text, overwrite, options : optional
            See `termwise.build_index`. A model with a network, or a mixture such as ``"best"``, encodes the documents.
        fields : sequence of str or mapping of str to int, optional
            Fields of the text, by default ``title`` and ``text``.
        """

        def build(records: Iterable[Mapping[str, Any]]) -> None:
            chosen = (
                dict(fields) if isinstance(fields, Mapping) else None if fields is None else tuple(fields)
            )
            kept = attributes if attributes is None or isinstance(attributes, Schema) else tuple(attributes)
            documents = RecordCollection(
                "iterator",
                lambda: records,
                source="documents",
                fields=chosen,
                attributes=kept,
                id_fields=("docno",),
                once=True,
            )
            build_index(
                documents,
                self.folder,
                model=model,
                analyzer=analyzer,
                fields=chosen,
                store_text=store_text,
                overwrite=overwrite,
                options=options,
            )

        return TermwiseIndexer(self, build, [["docno", *(fields or ("text",))]])

    def toks_indexer(
        self,
        *,
        model: VectorModel = VectorModel(),  # noqa: B008
        analyzer: str | Analyzer | None = None,
        overwrite: bool = False,
        options: BuildOptions = BuildOptions(),  # noqa: B008
    ) -> TermwiseIndexer:
        """Return an indexer of term weights that another model computed, in the column ``toks``.

        Parameters
        ----------
        model : VectorModel, optional
            Weighting of queries.
        analyzer : str or Analyzer, optional
            Analyzer of queries that are texts; by default ``whitespace``. Queries with ``query_toks`` need none.
        overwrite, options : optional
            See `termwise.build_index`.
        """

        def build(records: Iterable[Mapping[str, Any]]) -> None:
            with tempfile.TemporaryDirectory(prefix="termwise-") as folder:
                file = Path(folder) / "toks.jsonl"
                with file.open("w", encoding="utf-8") as lines:
                    for number, record in enumerate(records):
                        line = {"id": _docno(number, record), "vector": _weights(number, record)}
                        lines.write(json.dumps(line) + "\n")
                with source_named("documents", "record"):
                    build_index(
                        file,
                        self.folder,
                        model=model,
                        analyzer=analyzer,
                        overwrite=overwrite,
                        options=options,
                    )

        return TermwiseIndexer(self, build, [["docno", "toks"]])

    def retriever(
        self,
        *,
        k: int = 1000,
        conditions: Search = Search(),  # noqa: B008
        threads: int = 1,
    ) -> TermwiseRetriever:
        """Return a transformer that retrieves documents for queries, and re-ranks documents that it is given.

        Parameters
        ----------
        k : int, optional
            Largest number of results for a query. Re-ranking keeps all documents.
        conditions : Search, optional
            Conditions of all queries, such as ``filter`` and ``must``, and their weighting.
        threads : int, optional
            Threads to use; results do not depend on it.
        """
        return TermwiseRetriever(self, k=k, conditions=conditions, threads=threads)

    def explainer(self) -> Explainer:
        """Return a transformer that adds the column ``explanation`` to results."""
        return Explainer(self)

    def text_loader(self) -> TextLoader:
        """Return a transformer that adds the stored texts to results, as the column ``text``."""
        return TextLoader(self)

    def explain(self, query: str, docno: str, *, competitors: int | None = None) -> Explanation:
        """Explain the score of a document as a sum over terms; see `Searcher.explain`."""
        return self.searcher.explain(query, docno, competitors=competitors)


class TermwiseIndexer(pt.Indexer):
    """Indexer of `TermwiseIndex`, which makes it.

    Parameters
    ----------
    target : TermwiseIndex
        The index that is built.
    build : callable
        Builds it from documents.
    inputs : list of list of str
        Columns of the documents.
    """

    schematic: ClassVar[dict[str, str]] = _schematic("Termwise Indexer")

    def __init__(
        self,
        target: TermwiseIndex,
        build: Callable[[Iterable[Mapping[str, Any]]], None],
        inputs: list[list[str]],
    ) -> None:
        self._target = target
        self._build = build
        self._inputs = inputs

    def index_inputs(self) -> list[list[str]]:
        """Return the columns of the documents."""
        return self._inputs

    def index(self, iter: Iterable[Mapping[str, Any]]) -> TermwiseIndex:  # type: ignore[override]
        """Index documents.

        Parameters
        ----------
        iter : iterable of dict
            With ``docno`` and the columns of the indexer.

        Raises
        ------
        MalformedRecordError, WeightError
            If a document is not valid; the error names its number from 0 and the column.
        TermwiseError
            See `termwise.build_index`; an existing index is not changed then.
        """
        self._build(iter)
        self._target.__dict__.pop("searcher", None)  # of an index that was replaced
        return self._target


class TermwiseRetriever(pt.Transformer):
    """Retrieves documents, or re-ranks those of a frame with ``docno``.

    Queries are texts (``query``), or weights of terms that were computed elsewhere (``query_toks``), which come first.
    Ties are in the order of the index, or in that of the given documents.

    Parameters
    ----------
    index : TermwiseIndex
    k, conditions, threads
        See `TermwiseIndex.retriever`.
    """

    schematic: ClassVar[dict[str, str]] = _schematic("Termwise")

    def __init__(
        self,
        index: TermwiseIndex,
        *,
        k: int = 1000,
        conditions: Search = Search(),  # noqa: B008
        threads: int = 1,
    ) -> None:
        check("index", index, isinstance(index, TermwiseIndex), "a TermwiseIndex")
        check_count("k", k)
        check_search_of_run(conditions, conditions.k if isinstance(conditions, Search) else 0)
        check_threads(threads)
        self.index = index
        self.k = k
        self.conditions = conditions
        self.threads = threads
        self._cutoff: int | None = None

    def __repr__(self) -> str:
        given = "" if self.conditions == Search() else f", conditions={self.conditions!r}"
        cutoff = "" if self._cutoff is None else f", cutoff={self._cutoff}"
        return f"TermwiseRetriever({self.index!r}, k={self.k}{cutoff}{given})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the results of the queries, best first for each query.

        Raises
        ------
        pyterrier.validate.InputValidationError
            If the frame lacks columns.
        MalformedRecordError, ParameterError
            If an identifier, a query or weights are not valid; the error names row and column.
        DuplicateIdError
            If a query, or a document of a query, occurs twice.
        UnknownIdError
            If the index lacks a document to re-rank.
        """
        with pt.validate.any(inp, context=self) as modes:
            for columns in QUERY_MODES:
                modes.query_frame(columns, mode="retrieve")
            for columns in QUERY_MODES:
                modes.result_frame(columns, mode="rerank")
        if modes.mode == "rerank":
            return self._rerank(inp)
        return self._retrieve(inp)

    def fuse_rank_cutoff(self, k: int) -> TermwiseRetriever:
        """Return a retriever of at most `k` results, so that ``retriever % 10`` looks for ten documents only."""
        if self._cutoff is not None and self._cutoff <= k:
            return self
        fused = copy.copy(self)
        fused.k, fused._cutoff = min(k, self.k), k
        return fused

    def fuse_feature_union(self, other: pt.Transformer, is_left: bool) -> TermwiseFeatures | None:
        """Return one transformer for the features of several retrievers, without joins of frames; None for others."""
        mine, others = [self], [other] if isinstance(other, TermwiseRetriever) else None
        if isinstance(other, TermwiseFeatures):
            others = list(other.retrievers)
        if others is None or any(each._cutoff is not None for each in (*mine, *others)):
            return None
        return TermwiseFeatures([*mine, *others] if is_left else [*others, *mine])

    def _retrieve(self, inp: pd.DataFrame) -> pd.DataFrame:
        qids = _strings(inp, "qid")
        _refuse_repeated(qids)
        rankings = self._rankings(self._searches(inp, range(len(inp))))
        counts = [len(ranking) for ranking in rankings]
        results = inp.iloc[np.repeat(np.arange(len(inp)), counts)].reset_index(drop=True)
        results = results.drop(columns=[name for name in ("docno", "score", "rank") if name in results])
        results["docno"] = list(chain.from_iterable(ranking.doc_ids for ranking in rankings))
        results["score"] = np.concatenate([np.empty(0), *(ranking.scores for ranking in rankings)])
        results["rank"] = _ranks(counts)
        return results

    def _rerank(self, inp: pd.DataFrame) -> pd.DataFrame:
        places, scores, counts = self._reranked(inp, self._cutoff)
        results = inp.iloc[places].reset_index(drop=True)
        results["score"] = scores
        results["rank"] = _ranks(counts)
        return results

    def _reranked(
        self, inp: pd.DataFrame, cutoff: int | None
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], list[int]]:
        """Return the rows in the order of the results, their scores, and the number of results of each query."""
        groups: dict[str, dict[str, int]] = {}
        for row, (qid, docno) in enumerate(zip(_strings(inp, "qid"), _strings(inp, "docno"), strict=True)):
            rows = groups.setdefault(qid, {})
            if docno in rows:
                raise DuplicateIdError(
                    "a document occurs twice for one query",
                    facts=[("qid", qid), ("docno", docno), ("rows", f"{rows[docno]} and {row}")],
                )
            rows[docno] = row
        searches = self._searches(inp, [next(iter(rows.values())) for rows in groups.values()])
        rankings = self._rankings(
            replace(search, candidates=list(rows), k=min(len(rows), cutoff or len(rows)))
            for search, rows in zip(searches, groups.values(), strict=True)
        )
        pairs = zip(rankings, groups.values(), strict=True)
        places = [rows[doc_id] for ranking, rows in pairs for doc_id in ranking.doc_ids]
        scores = np.concatenate([np.empty(0), *(ranking.scores for ranking in rankings)])
        return np.array(places, dtype=np.int64), scores, [len(ranking) for ranking in rankings]

    def _searches(self, inp: pd.DataFrame, rows: Iterable[int]) -> list[Search]:
        """Return the searches for the queries of some rows."""
        weighted = "query_toks" in inp
        column = inp["query_toks" if weighted else "query"].tolist()
        searches = []
        for row in rows:
            value = column[row]
            if weighted:
                weights = _checked_weights(value, "frame", row, "query_toks")
                searches.append(replace(self.conditions, weights=weights, k=self.k))
            else:
                if not isinstance(value, str):
                    raise _wrong_value("frame", row, "query", "a string", value)
                searches.append(replace(self.conditions, query=value, k=self.k))
        return searches

    def _rankings(self, searches: Iterable[Search]) -> list[Ranking]:
        searcher = self.index.searcher
        with ThreadPoolExecutor(self.threads) as pool:
            mapped = map if self.threads == 1 else pool.map
            return list(mapped(lambda search: searcher.search(search).ranking, searches))


class TermwiseFeatures(pt.Transformer):
    """Scores of several retrievers as the column ``features``: ``first ** second`` of PyTerrier, computed at once.

    Parameters
    ----------
    retrievers : sequence of TermwiseRetriever
    """

    schematic: ClassVar[dict[str, str]] = _schematic("Termwise Features")

    def __init__(self, retrievers: Sequence[TermwiseRetriever]) -> None:
        self.retrievers = tuple(retrievers)

    def __repr__(self) -> str:
        return " ** ".join(map(repr, self.retrievers))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with one feature for each retriever; other columns and the order of the rows stay."""
        with pt.validate.any(inp, context=self) as modes:
            for columns in QUERY_MODES:
                modes.result_frame(columns)
        features = np.zeros((len(inp), len(self.retrievers)))
        for place, retriever in enumerate(self.retrievers):
            rows, scores, _ = retriever._reranked(inp, None)
            features[rows, place] = scores
        return inp.assign(features=pd.Series(list(features), index=inp.index, dtype=object))

    def fuse_feature_union(self, other: pt.Transformer, is_left: bool) -> TermwiseFeatures | None:
        """Return one transformer for these features and those of another retriever; None for others."""
        if isinstance(other, TermwiseFeatures):
            both = [self, other] if is_left else [other, self]
            return TermwiseFeatures([each for features in both for each in features.retrievers])
        if isinstance(other, TermwiseRetriever):
            return other.fuse_feature_union(self, not is_left)
        return None


class Explainer(pt.Transformer):
    """Adds the column ``explanation``: a `termwise.Explanation` of the score of each result.

    Parameters
    ----------
    index : TermwiseIndex
    """

    schematic: ClassVar[dict[str, str]] = _schematic("Termwise Explainer")

    def __init__(self, index: TermwiseIndex) -> None:
        self.index = index

    def __repr__(self) -> str:
        return f"Explainer({self.index!r})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the results with their explanations; the queries are texts."""
        pt.validate.result_frame(inp, extra_columns=["query"], context=self)
        rows = zip(_strings(inp, "query", least=0), _strings(inp, "docno"), strict=True)
        found = [self.index.explain(query, docno) for query, docno in rows]
        return inp.assign(explanation=pd.Series(found, index=inp.index, dtype=object))


class TextLoader(pt.Transformer):
    """Adds the column ``text``: the stored text of each document.

    Parameters
    ----------
    index : TermwiseIndex
        Built with ``store_text=True``.
    """

    schematic: ClassVar[dict[str, str]] = _schematic("Termwise Texts")

    def __init__(self, index: TermwiseIndex) -> None:
        self.index = index

    def __repr__(self) -> str:
        return f"TextLoader({self.index!r})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the documents with their texts; raise `ParameterError` if the index stores none."""
        pt.validate.columns(inp, includes=["docno"], context=self)
        docnos = _strings(inp, "docno")
        texts: list[str | None] = []
        if docnos:
            index = self.index.searcher.index
            if not index.stores_text:
                raise ParameterError(
                    "the index stores no texts",
                    facts=[("index", index.path)],
                    fixes=[Fix.build(store_text=True)],
                )
            distinct = list(dict.fromkeys(docnos))
            hits = self.index.searcher.hits(Ranking(distinct, np.zeros(len(distinct))), show=())
            known = {hit.doc_id: hit.text for hit in hits}
            texts = [known[docno] for docno in docnos]
        return inp.assign(text=pd.Series(texts, index=inp.index, dtype=object))


def artifact_metadata(path: str, names: Sequence[str]) -> dict[str, str] | None:
    """Return type and format of a folder that is an index or a mixture, so that `pyterrier.Artifact.load` opens it."""
    if MIXTURE not in names and not (
        MANIFEST in names and any(name.startswith("segment-") for name in names)
    ):
        return None
    return {
        "type": TermwiseIndex.ARTIFACT_TYPE,
        "format": TermwiseIndex.ARTIFACT_FORMAT,
        "package_hint": TermwiseIndex.ARTIFACT_PACKAGE_HINT,
    }


class _Peeked:
    """Iterator whose first record is known."""

    def __init__(self, first: Mapping[str, Any], records: Iterator[Mapping[str, Any]]) -> None:
        self.first = first
        self._records = records

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._records


def _peeked(records: Iterable[Mapping[str, Any]]) -> _Peeked:
    remaining = iter(records)
    first = next(remaining, None)
    return _Peeked({}, remaining) if first is None else _Peeked(first, chain([first], remaining))


def _ranks(counts: Sequence[int]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.empty(0, np.int64), *(np.arange(count) for count in counts)])


def _wrong_value(source: str, row: int, column: str, expected: str, seen: object) -> MalformedRecordError:
    unit = "row" if source == "frame" else "document"
    return MalformedRecordError(
        "a value is not in the expected form",
        facts=[(unit, row), ("column", column), ("expected", expected), ("seen", shown(seen))],
    )


def _strings(inp: pd.DataFrame, column: str, *, least: int = 1) -> list[str]:
    """Return a column of strings with at least `least` characters."""
    values: list[str] = inp[column].tolist()
    for row, value in enumerate(values):
        if not isinstance(value, str) or len(value) < least:
            expected = "a string" if least == 0 else "a string that is not empty"
            raise _wrong_value("frame", row, column, expected, value)
    return values


def _refuse_repeated(qids: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for row, qid in enumerate(qids):
        if first.setdefault(qid, row) != row:
            raise DuplicateIdError(
                "two queries have the same qid", facts=[("qid", qid), ("rows", f"{first[qid]} and {row}")]
            )


def _docno(number: int, record: Mapping[str, Any]) -> str:
    found = identifier(record.get("docno"))
    if found is None:
        raise _wrong_value("documents", number, "docno", "a string that is not empty", record.get("docno"))
    return found


def _weights(number: int, record: Mapping[str, Any]) -> dict[str, float]:
    return _checked_weights(record.get("toks"), "documents", number, "toks")


def _checked_weights(value: object, source: str, row: int, column: str) -> dict[str, float]:
    """Return weights by term; refuse other values, and weights that are negative or not finite."""
    expected = "a dictionary of terms and weights from 0 to 3.4e+38"
    if not isinstance(value, Mapping):
        raise _wrong_value(source, row, column, expected, value)
    for term, weight in value.items():
        fits = isinstance(term, str) and is_finite_number(weight) and 0 <= weight <= LARGEST
        if not fits:
            raise _wrong_value(source, row, column, expected, {term: weight})
    return {term: float(weight) for term, weight in value.items()}
