"""Query likelihood and document likelihood mixed: the QDL scores of TILDE.

With ln P(t|d) what a network says of the terms of a document, ln P(t|q) what it says of those of a query, and n the
kept tokens of the document,

    QL(q|d) = sum over the tokens t of q of ln P(t|d)
    DL(d|q) = 1/n * sum over the tokens t of d of ln P(t|q)
    score   = alpha * QL(q|d) + (1 - alpha) * DL(d|q)

repetitions counted on both sides: equations 4 to 6 of Zhuang & Zuccon, *TILDE: Term Independent Likelihood moDEl for
Passage Re-ranking*, SIGIR 2021. QL is a sum and DL a mean, so that the same alpha means less document likelihood for a
long query.

QL comes from an index of TILDE and runs no network. DL needs ln P(t|q) of the whole vocabulary: one pass of the network
over the query, or a row that was stored when the collection was indexed, where the query is one of its documents. What
the documents say comes from an index of the model ``ml``, whose rows are tf/n: DL is the product of such a row with the
vector of the query.

What the formulae leave open: a document without a kept token has no mean. It gets the lowest value that any document
could have for the query, the smallest ln P(t|q) of the kept terms, so that it is never ahead by having nothing to say.
A query without a kept token says nothing of any document: all scores are 0, and no pass is run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest
from termwise.engine.query_encoder import analyzer_of
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import candidate_ordinals, score_documents
from termwise.errors import (
    InferenceRequiredError,
    ParameterError,
    UnknownIdError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.index import Index
from termwise.index.container import corrupt
from termwise.progress import Progress, no_progress
from termwise.records import Query, Ranking, Run
from termwise.search.candidates import ordered
from termwise.search.searcher import Searcher, TimedRun, checked_k, query_text, timed_run
from termwise.text import Analyzer, CleanedAnalyzer
from termwise.text.vocabulary import TermNumbering
from termwise.validation import is_finite_number

SHARES = "ml"
"""The model of the index that says what the documents hold."""

AT_ONCE = 1 << 16
"""Identifiers that are compared at a time."""


@runtime_checkable
class QueryLikelihoods(Protocol):
    """What a network says of the terms of a query."""

    @property
    def vocabulary(self) -> TermNumbering:
        """The numbering of the terms."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return ln P(t|q) of every term for each of n queries.

        Returns
        -------
        ndarray of shape (n, V), float32
            Natural logarithms, finite and at most 0.
        """
        ...


@dataclass(frozen=True, eq=False)
class StoredQueryVectors:
    """ln P(t|q) of documents of a collection, stored when it was indexed: query by example without a network.

    A query that is a document of the collection can be read by the network in advance, marked as a query. An index made
    with ``termwise index COLLECTION --model tilde --set side=query`` holds what it said. In the compact form a term
    that a row does not hold has its floor, which is an approximation.

    Parameters
    ----------
    index : Index
        An index of TILDE whose documents were read as queries.

    Raises
    ------
    ParameterError
        If the index is none of these.
    """

    index: Index

    def __post_init__(self) -> None:
        model = self.index.manifest.encoder.get("model", {})
        side = model.get("parameters", {}).get("side")
        if model.get("name") != "tilde" or side != "query" or not len(self.index.floors):
            raise ParameterError(
                "this index does not hold documents that were read as queries",
                facts=[
                    ("index", self.index.path),
                    ("model", model.get("name", "unknown")),
                    ("side", side or "document"),
                ],
                fixes=["termwise index COLLECTION --model tilde --set side=query --out DIR"],
            )

    @property
    def vocabulary(self) -> TermNumbering:
        """The numbering of the terms."""
        return self.index.vocabulary

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return ln P(t|q) of every term for queries that are documents.

        Parameters
        ----------
        texts : sequence of str of length n
            In place of their texts, the `Document.doc_id` of each.

        Returns
        -------
        ndarray of shape (n, V), float32
            At most 0; what quantisation put above is 0.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        dense = np.tile(self.index.floors, (len(texts), 1))
        for row, doc_id in zip(dense, texts, strict=True):
            ordinal = self.index.find(doc_id)
            if ordinal is None:
                raise UnknownIdError(
                    "no vector is stored for this query",
                    facts=[
                        ("doc_id", doc_id if len(doc_id) <= 80 else f"{doc_id[:77]}..."),
                        ("index", self.index.path),
                    ],
                    fixes=["name the document that the query is: rank(..., example=DOC_ID)"],
                )
            terms, impacts = self.index.row(ordinal)
            row[terms] += impacts.astype(np.float64) * self.index.manifest.quantiser.scale
        return np.minimum(dense, 0).astype(np.float32)


@dataclass(frozen=True, eq=False)
class QueryDocumentLikelihood:
    """Re-ranks by a mixture of query and document likelihood; the formulae stand at the top of the module.

    Stateless, like a `Searcher`: no call changes what a later call returns.

    Parameters
    ----------
    searcher : Searcher
        An index of TILDE, documents read as documents: ln P(t|d). What it scores is the query likelihood. At
        ``alpha=0`` it scores nothing, and any index of the same documents will do.
    alpha : float, optional
        Share of the query likelihood, from 0 to 1. At 1 neither a network nor `documents` are needed.
    documents : Index, optional
        The same documents with the model ``ml``, the analyzer ``wordpiece-clean`` over the vocabulary of the network,
        and 32-bit weights: what the documents say.
    query_encoder : QueryLikelihoods, optional
        What gives ln P(t|q): an encoder from `termwise.encode`, which runs one pass for each query, or
        `StoredQueryVectors`, which runs none.

    Raises
    ------
    ParameterError
        If `alpha` is no number from 0 to 1, `documents` are missing or of another kind, `searcher` does not score by
        TILDE's query likelihood, or the two indexes hold other documents.
    InferenceRequiredError
        If `alpha` is below 1 and there is no query encoder.
    VocabularyMismatchError
        If documents and query encoder number their terms differently.
    """

    searcher: Searcher
    _: KW_ONLY
    alpha: float = 0.5
    documents: Index | None = None
    query_encoder: QueryLikelihoods | None = None
    _side: _DocumentSide | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not is_finite_number(self.alpha) or not 0 <= self.alpha <= 1:
            raise ParameterError(
                "alpha is the share of the query likelihood",
                facts=[("alpha", self.alpha), ("expected", "a number from 0 to 1")],
            )
        side = None if self.alpha == 1 else _document_side(self.documents, self.query_encoder, self.alpha)
        if self.alpha > 0:
            _check_query_likelihood(self.searcher.index)
        if side is not None:
            _check_same_documents(self.searcher.index, side.documents)
        object.__setattr__(self, "_side", side)

    def rank(
        self, query: str | Query, *, candidates: Sequence[str], k: int = 10, example: str | None = None
    ) -> Ranking:
        """Score and order given documents.

        Parameters
        ----------
        query : str or Query
            The information need.
        candidates : sequence of str
            Documents of both indexes. All are scored, and ties keep the given order.
        k : int, optional
            Documents wanted, 1 or more.
        example : str, optional
            What the query encoder is asked for in place of the text of the query: the ``doc_id`` of the document that
            the query is, for `StoredQueryVectors`.

        Raises
        ------
        ParameterError
            If `k` is not a whole number of 1 or more.
        UnknownIdError, DuplicateIdError
            If a candidate is not in an index, or is given twice.
        WeightError
            If the query encoder gives something else than log-likelihoods.
        """
        return self._rank(query, candidates, checked_k(k), example)[0]

    def rank_many(
        self,
        queries: Iterable[Query],
        *,
        candidates: Run,
        k: int = 1000,
        examples: Mapping[str, str] | None = None,
        name: str = "qdl",
        progress: Progress = no_progress,
    ) -> TimedRun:
        """Re-rank the documents of a run.

        Parameters
        ----------
        queries : iterable of Query
            With distinct identifiers. Those the run does not hold are left out.
        candidates : Run
            The documents to be scored for each.
        k : int, optional
            Documents wanted for each.
        examples : mapping of str to str, optional
            The `example` of `rank` by ``query_id``; where a query has none, its text is taken.
        name : str, optional
            Name of the resulting run.
        progress : callable, optional
            Called with a stage name, queries done, and their total.

        Returns
        -------
        TimedRun
            The run; the seconds of encoding hold the tokens of the query and the pass of the network.
        """
        checked_k(k)
        wanted = [query for query in queries if query.query_id in candidates]
        asked = examples or {}
        return timed_run(
            wanted,
            lambda query: self._rank(query, candidates[query.query_id].doc_ids, k, asked.get(query.query_id)),
            name=name,
            progress=progress,
        )

    def _rank(
        self, query: str | Query, candidates: Sequence[str], k: int, example: str | None
    ) -> tuple[Ranking, float, float]:
        query_id = query.query_id if isinstance(query, Query) else ""
        text = query_text(query)
        index = self.searcher.index
        begin = time.perf_counter()
        row = self.searcher.encode(text)
        likelihoods = None
        if self._side is not None and row.nnz:
            likelihoods = self._side.likelihoods(text if example is None else example)
        middle = time.perf_counter()
        scores = np.zeros(len(candidates))
        ordinals = candidate_ordinals(index, candidates, query_id)
        if self.alpha > 0:
            scores += self.alpha * score_documents(index, query_vector(index, row), ordinals)[0]
        if self._side is not None and likelihoods is not None:
            scores += (1 - self.alpha) * self._side.scores(candidates, query_id, likelihoods)
        ranking = ordered(candidates, scores, query_id, k)
        return ranking, middle - begin, time.perf_counter() - middle


@dataclass(frozen=True, eq=False)
class _DocumentSide:
    """All that a document likelihood needs, checked; `kept` are the numbers of the terms a document can hold."""

    documents: Index
    encoder: QueryLikelihoods
    kept: npt.NDArray[np.intp]

    def likelihoods(self, asked: str) -> npt.NDArray[np.float64]:
        given = np.asarray(self.encoder.encode_queries([asked]))
        expected = (1, len(self.encoder.vocabulary))
        usable = np.isfinite(given) & (given <= 0)
        if given.shape != expected or not usable.all():
            raise WeightError(
                "a query encoder gives the logarithm of a probability for each term",
                facts=[
                    ("shape", f"{given.shape}, expected {expected}"),
                    ("values above 0 or not finite", int((~usable).sum())),
                ],
            )
        likelihoods: npt.NDArray[np.float64] = given[0].astype(np.float64)
        return likelihoods

    def scores(
        self, candidates: Sequence[str], query_id: str, likelihoods: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        ordinals = candidate_ordinals(self.documents, candidates, query_id)
        means = row_means(self.documents, ordinals, likelihoods)
        means[np.isnan(means)] = likelihoods[self.kept].min(initial=0.0)
        return means


def _document_side(documents: Index | None, encoder: QueryLikelihoods | None, alpha: float) -> _DocumentSide:
    if encoder is None:
        raise InferenceRequiredError(
            "a document likelihood needs what a network says of the query",
            facts=[("alpha", alpha), ("query encoder", "none")],
            fixes=["pass query_encoder=…, and one pass is run for each query", "pass alpha=1"],
        )
    build = f"termwise index COLLECTION --model {SHARES} --analyzer wordpiece-clean --float --out DIR"
    if documents is None:
        raise ParameterError(
            "a document likelihood needs an index of what the documents say",
            facts=[("alpha", alpha), ("documents", "none")],
            fixes=[f"pass documents=Index.open(DIR), made with {build}"],
        )
    manifest = documents.manifest
    name = manifest.encoder.get("model", {}).get("name")
    if name != SHARES or manifest.quantiser.kind != "float32":
        raise ParameterError(
            "this index does not say exactly what the documents hold",
            facts=[
                ("index", documents.path),
                ("model", f"{name}, expected {SHARES}"),
                ("weights", f"{manifest.quantiser.kind}, expected float32"),
            ],
            fixes=[build],
        )
    if encoder.vocabulary.id != manifest.vocabulary:
        raise VocabularyMismatchError(
            "the documents and the query encoder use different vocabularies",
            facts=[
                (
                    "documents",
                    f"{documents.path}  {manifest.terms:,} terms  {short_digest(manifest.vocabulary)}",
                ),
                (
                    "query encoder",
                    f"{len(encoder.vocabulary):,} terms  {short_digest(encoder.vocabulary.id)}",
                ),
                ("why", "the same number is another word in each; scores would mean nothing"),
            ],
            fixes=[build.replace("wordpiece-clean", "wordpiece-clean:PATH/tokenizer.json")],
        )
    return _DocumentSide(documents, encoder, _kept_terms(analyzer_of(documents)))


def _check_query_likelihood(index: Index) -> None:
    """Refuse an index whose scores are not ln P(q|d) of TILDE."""
    model = index.manifest.encoder.get("model", {})
    side = model.get("parameters", {}).get("side", "document")
    if model.get("name") != "tilde" or side != "document":
        raise ParameterError(
            "the query likelihood comes from an index of TILDE whose documents were read as documents",
            facts=[("index", index.path), ("model", model.get("name", "unknown")), ("side", side)],
            fixes=["termwise index COLLECTION --model tilde --out DIR"],
        )


def _check_same_documents(one: Index, other: Index) -> None:
    """Refuse indexes that do not hold the same documents; equal files of identifiers need not be read."""
    files = [[segment.ids.sha256 for segment in index.manifest.segments] for index in (one, other)]
    if files[0] == files[1]:
        return
    missing = None
    for first in range(0, len(one), AT_ONCE):
        doc_ids = one.doc_ids(np.arange(first, min(first + AT_ONCE, len(one))))
        lacking = np.flatnonzero(other.find_many(doc_ids) < 0)
        if len(lacking):
            missing = doc_ids[lacking[0]]
            break
    if missing is None and len(one) == len(other):
        return
    facts: list[tuple[str, object]] = [
        ("query likelihood", f"{one.path}  {len(one)} documents"),
        ("document likelihood", f"{other.path}  {len(other)} documents"),
    ]
    if missing is not None:
        facts.append(("only in the first", missing if len(missing) <= 80 else f"{missing[:77]}..."))
    raise ParameterError(
        "the two indexes do not hold the same documents",
        facts=facts,
        fixes=["index the same collection with both models"],
    )


def row_means(
    index: Index, ordinals: npt.NDArray[np.int64], values: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the mean of `values` over the terms of documents, weighted as the index weighs them.

    Parameters
    ----------
    index : Index
        What weighs the terms.
    ordinals : ndarray of shape (m,), int64
        Positions of documents in the input.
    values : ndarray of shape (terms,), float64
        A number for each term.

    Returns
    -------
    ndarray of shape (m,), float64
        Not a number for documents without terms.
    """
    means = np.full(len(ordinals), np.nan)
    owner = np.searchsorted(index.firsts, ordinals, side="right") - 1
    for number, segment in enumerate(index.segments):
        chosen = np.flatnonzero(owner == number)
        rows = ordinals[chosen] - index.firsts[number]
        firsts = segment.starts[rows].astype(np.int64)
        lengths = segment.starts[rows + 1].astype(np.int64) - firsts
        if (lengths < 0).any() or (firsts + lengths > len(segment.terms)).any():
            raise corrupt(
                segment.path, None, "rows inside their arrays", "a position outside; run termwise verify"
            )
        ends = np.cumsum(lengths)
        positions = np.repeat(firsts - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
        row = np.repeat(np.arange(len(rows)), lengths)
        weights = segment.impacts[positions].astype(np.float64)
        sums = np.bincount(row, weights * values[segment.terms[positions]], minlength=len(rows))
        totals = np.bincount(row, weights, minlength=len(rows))
        some = totals > 0
        means[chosen[some]] = sums[some] / totals[some]
    return means


def _kept_terms(analyzer: Analyzer) -> npt.NDArray[np.intp]:
    """Return the numbers of the terms that an analyzer with a closed vocabulary can give."""
    vocabulary = analyzer.vocabulary
    if vocabulary is None:
        raise ParameterError(
            "a document likelihood needs a closed vocabulary", facts=[("analyzer", analyzer.spec.name)]
        )
    if isinstance(analyzer, CleanedAnalyzer):
        return np.array([i for i, token in enumerate(vocabulary) if token in analyzer.kept], dtype=np.intp)
    return np.arange(len(vocabulary))
