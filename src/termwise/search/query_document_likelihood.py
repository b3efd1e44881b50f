"""Interpolation of query likelihood and document likelihood: the QDL scores of TILDE.

Let ln P(t|d) and ln P(t|q) be the outputs of a network for a document and a query, and n the number of kept tokens of
the document:

    QL(q|d) = sum over the tokens t of q of ln P(t|d)
    DL(d|q) = 1/n * sum over the tokens t of d of ln P(t|q)
    score   = alpha * QL(q|d) + (1 - alpha) * DL(d|q)

Both sums include repetitions. These are equations 4 to 6 of Zhuang & Zuccon, *TILDE: Term Independent Likelihood moDEl
for Passage Re-ranking*, SIGIR 2021. QL is a sum and DL a mean, so the same alpha gives less weight to DL for a longer
query.

QL comes from a TILDE index and needs no network. DL needs ln P(t|q) for the whole vocabulary: one pass of the network
over the query, or a row stored at index time if the query is a document of the collection. The terms of the documents
come from an index of the model ``ml``, whose rows are tf/n: DL is the product of such a row with the query vector.

The formulas do not cover two cases. The DL of a document without a kept token, which has no mean, is the smallest
possible one, the smallest ln P(t|q) of the kept terms. For a query without a kept token all scores are 0, and the
network is not run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import ClassVar, Protocol

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
from termwise.fast_dataclass import dataclass
from termwise.fixes import Call, Fix, Name
from termwise.index import Index
from termwise.index.segment import concatenated_ranges
from termwise.records import Query, Ranking
from termwise.search.candidates import CandidateRanker, rank_candidates
from termwise.search.request import checked_k, query_text
from termwise.search.searcher import Searcher
from termwise.search.timed_run import TimedRanking
from termwise.text import Analyzer, CleanedAnalyzer
from termwise.text.vocabulary import TermLookup
from termwise.validation import is_finite_number

DOCUMENT_MODEL = "ml"
"""Model of the index with the terms of the documents."""

BATCH = 1 << 16
"""Identifiers compared at a time."""


class QueryLikelihoods(Protocol):
    """Source of ln P(t|q) for queries."""

    @property
    def vocabulary(self) -> TermLookup:
        """Numbering of the terms."""

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return ln P(t|q) of every term for each of n texts.

        Returns
        -------
        ndarray of shape (n, V), float32
            Natural logarithms, finite and at most 0.
        """


@dataclass(frozen=True, eq=False)
class StoredQueryVectors:
    """Stored ln P(t|q) for queries that are documents of a collection: query by example without a network.

    The network encodes the documents in advance with the marker of queries:
    ``build_index(model=Tilde(side="query"))``. In the compact form a term that is absent from a row has its floor,
    which is an approximation.

    Parameters
    ----------
    index : Index
        TILDE index with ``side=query``.

    Raises
    ------
    ParameterError
        If the index is of another kind.
    """

    index: Index

    def __post_init__(self) -> None:
        model = self.index.manifest.encoder.model
        side = model.parameters.get("side")
        if model.name != "tilde" or side != "query" or not len(self.index.floors):
            raise ParameterError(
                "the index does not hold documents encoded as queries",
                facts=[
                    ("index", self.index.path),
                    ("model", model.name or "unknown"),
                    ("side", side or "document"),
                ],
                fixes=[Fix.call("build_index", model="tilde", side="query")],
            )

    @property
    def vocabulary(self) -> TermLookup:
        """Numbering of the terms."""
        return self.index.vocabulary

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return ln P(t|q) of every term for queries that are documents.

        Parameters
        ----------
        texts : sequence of str of length n
            Their identifiers (`Document.doc_id`) instead of texts.

        Returns
        -------
        ndarray of shape (n, V), float32
            At most 0; values that quantisation raised above 0 are 0.

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
                    fixes=[
                        Fix.python(
                            "rank(query, example=doc_id)", "pass the identifier of the query document: {}"
                        )
                    ],
                )
            terms, impacts = self.index.row(ordinal)
            row[terms] += impacts.astype(np.float64) * self.index.manifest.quantiser.scale
        return np.minimum(dense, 0).astype(np.float32)


@dataclass(frozen=True, eq=False)
class QueryDocumentLikelihood(CandidateRanker):
    """Re-ranks by interpolated query and document likelihood; the module documents the formulas.

    Stateless, like a `Searcher`.

    Parameters
    ----------
    searcher : Searcher
        TILDE index, for the query likelihood. With ``alpha=0`` it contributes no score, and any index of the
        same documents is sufficient.
    alpha : float, optional
        Weight of the query likelihood, from 0 to 1. With 1, neither a network nor `documents` are needed.
    documents : Index, optional
        Index of the same documents with the model ``ml``, the analyzer ``wordpiece-clean`` over the vocabulary of the
        network, and 32-bit weights.
    query_encoder : QueryLikelihoods, optional
        Source of ln P(t|q): an encoder from `termwise.encode`, which runs one pass per query, or `StoredQueryVectors`,
        which runs none.
    examples : mapping of str to str, optional
        The `example` of `rank` by ``query_id``; other queries use their text.

    Raises
    ------
    ParameterError
        If `alpha` is not a number from 0 to 1, `documents` is missing or of another kind, `searcher` is not a TILDE
        index, or the two indexes hold different documents.
    InferenceRequiredError
        If `alpha` is below 1 and there is no query encoder.
    VocabularyMismatchError
        If documents and query encoder have different vocabularies.
    """

    run_name: ClassVar[str] = "qdl"

    searcher: Searcher
    _: KW_ONLY
    alpha: float = 0.5
    documents: Index | None = None
    query_encoder: QueryLikelihoods | None = None
    examples: Mapping[str, str] = field(default_factory=dict)
    _side: _DocumentSide | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not is_finite_number(self.alpha) or not 0 <= self.alpha <= 1:
            raise ParameterError(
                "alpha is the weight of the query likelihood",
                facts=[("alpha", self.alpha), ("expected", "a number from 0 to 1")],
            )
        self.searcher.index.check_not_cut("the query likelihood")
        side = None if self.alpha == 1 else _document_side(self.documents, self.query_encoder, self.alpha)
        if self.alpha > 0:
            _check_query_likelihood(self.searcher.index)
        if side is not None:
            _check_same_documents(self.searcher.index, side.documents)
        object.__setattr__(self, "_side", side)

    def rank(
        self, query: str | Query, *, candidates: Sequence[str], k: int = 10, example: str | None = None
    ) -> Ranking:
        """Score and order given documents; see `CandidateRanker.rank`.

        Parameters
        ----------
        query, candidates, k
            See `CandidateRanker.rank`; the candidates are documents of both indexes.
        example : str, optional
            Input of the query encoder instead of the text of the query: the identifier of the query document, for
            `StoredQueryVectors`.

        Raises
        ------
        WeightError
            If the query encoder returns values that are not log-likelihoods.
        """
        return self._rank(query, candidates, checked_k(k), example)[0]

    def _rank(
        self, query: str | Query, candidates: Sequence[str], k: int, example: str | None = None
    ) -> TimedRanking:
        query_id = query.query_id if isinstance(query, Query) else ""
        text = query_text(query)
        index = self.searcher.index
        begin = time.perf_counter()
        row = self.searcher.encode(text)
        likelihoods = None
        if self._side is not None and row.nnz:
            asked = self.examples.get(query_id, text) if example is None else example
            likelihoods = self._side.likelihoods(asked)
        middle = time.perf_counter()
        scores = np.zeros(len(candidates))
        ordinals = candidate_ordinals(index, candidates, query_id)
        if self.alpha > 0:
            scores += self.alpha * score_documents(index, query_vector(index, row), ordinals)[0]
        if self._side is not None and likelihoods is not None:
            scores += (1 - self.alpha) * self._side.scores(candidates, query_id, likelihoods)
        ranking = rank_candidates(candidates, scores, query_id, k)
        return ranking, middle - begin, time.perf_counter() - middle


@dataclass(frozen=True, eq=False)
class _DocumentSide:
    """Checked inputs of the document likelihood; `kept` are the terms that documents can hold."""

    documents: Index
    encoder: QueryLikelihoods
    kept: npt.NDArray[np.intp]

    def likelihoods(self, text: str) -> npt.NDArray[np.float64]:
        encoded = np.asarray(self.encoder.encode_queries([text]))
        expected = (1, len(self.encoder.vocabulary))
        usable = np.isfinite(encoded) & (encoded <= 0)
        if encoded.shape != expected or not usable.all():
            raise WeightError(
                "a query encoder must return the logarithm of a probability for each term",
                facts=[
                    ("shape", f"{encoded.shape}, expected {expected}"),
                    ("values above 0 or not finite", int((~usable).sum())),
                ],
            )
        likelihoods: npt.NDArray[np.float64] = encoded[0].astype(np.float64)
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
            "a document likelihood needs ln P(t|q), which a network computes",
            facts=[("alpha", alpha), ("query encoder", "none")],
            fixes=["pass query_encoder, which runs one pass per query", Fix.use(alpha=1)],
        )
    if documents is None:
        raise ParameterError(
            "a document likelihood needs an index of the terms of the documents",
            facts=[("alpha", alpha), ("documents", "none")],
            fixes=[
                Fix(
                    "pass the index as {}, built with {}",
                    (Name("documents"), *_build("wordpiece-clean").parts),
                )
            ],
        )
    manifest = documents.manifest
    name = manifest.encoder.model.name or None
    if name != DOCUMENT_MODEL or manifest.quantiser.kind != "float32":
        raise ParameterError(
            "this index does not hold exact term frequencies",
            facts=[
                ("index", documents.path),
                ("model", f"{name}, expected {DOCUMENT_MODEL}"),
                ("weights", f"{manifest.quantiser.kind}, expected float32"),
            ],
            fixes=[_build("wordpiece-clean")],
        )
    if encoder.vocabulary.id != manifest.vocabulary:
        raise VocabularyMismatchError(
            "the documents and the query encoder have different vocabularies",
            facts=[
                (
                    "documents",
                    f"{documents.path}  {manifest.terms:,} terms  {short_digest(manifest.vocabulary)}",
                ),
                (
                    "query encoder",
                    f"{len(encoder.vocabulary):,} terms  {short_digest(encoder.vocabulary.id)}",
                ),
                ("reason", "equal numbers stand for different words, so scores would be meaningless"),
            ],
            fixes=[_build("wordpiece-clean:PATH/tokenizer.json")],
        )
    return _DocumentSide(documents, encoder, _kept_terms(analyzer_of(documents)))


def _build(analyzer: str) -> Fix:
    return Fix.call(
        "build_index",
        model=DOCUMENT_MODEL,
        analyzer=analyzer,
        options=Call.of("BuildOptions", quantiser="float32"),
    )


def _check_query_likelihood(index: Index) -> None:
    """Refuse an index other than TILDE with documents encoded as documents."""
    model = index.manifest.encoder.model
    side = model.parameters.get("side", "document")
    if model.name != "tilde" or side != "document":
        raise ParameterError(
            "the query likelihood needs a TILDE index with documents encoded as documents",
            facts=[("index", index.path), ("model", model.name or "unknown"), ("side", side)],
            fixes=[Fix.call("build_index", model="tilde")],
        )


def _check_same_documents(queries: Index, documents: Index) -> None:
    """Refuse indexes of different documents; identifier files with equal checksums are not read."""
    files = [[segment.ids.sha256 for segment in index.manifest.segments] for index in (queries, documents)]
    if files[0] == files[1]:
        return
    missing = None
    for first in range(0, len(queries), BATCH):
        doc_ids = queries.doc_ids(np.arange(first, min(first + BATCH, len(queries))))
        lacking = np.flatnonzero(documents.find_many(doc_ids) < 0)
        if len(lacking):
            missing = doc_ids[lacking[0]]
            break
    if missing is None and len(queries) == len(documents):
        return
    facts: list[tuple[str, object]] = [
        ("query likelihood", f"{queries.path}  {len(queries)} documents"),
        ("document likelihood", f"{documents.path}  {len(documents)} documents"),
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
    """Return the weighted mean of `values` over the terms of each document.

    Parameters
    ----------
    index : Index
        Source of the weights.
    ordinals : ndarray of shape (m,), int64
        Input positions of documents.
    values : ndarray of shape (terms,), float64
        Value of each term.

    Returns
    -------
    ndarray of shape (m,), float64
        NaN for documents without terms.
    """
    means = np.full(len(ordinals), np.nan)
    for segment, places, rows in index.segments.by_segment(ordinals):
        firsts, lengths = segment.row_bounds(rows)
        positions = concatenated_ranges(firsts, lengths)
        row = np.repeat(np.arange(len(rows)), lengths)
        weights = segment.impacts[positions].astype(np.float64)
        sums = np.bincount(row, weights * values[segment.posting_terms[positions]], minlength=len(rows))
        totals = np.bincount(row, weights, minlength=len(rows))
        present = totals > 0
        means[places[present]] = sums[present] / totals[present]
    return means


def _kept_terms(analyzer: Analyzer) -> npt.NDArray[np.intp]:
    """Return the numbers of the terms that an analyzer with a closed vocabulary can produce."""
    vocabulary = analyzer.vocabulary
    if vocabulary is None:
        raise ParameterError(
            "a document likelihood needs a closed vocabulary", facts=[("analyzer", analyzer.spec.name)]
        )
    if isinstance(analyzer, CleanedAnalyzer):
        return np.array(
            [i for i, token in enumerate(vocabulary) if token not in analyzer.removed], dtype=np.intp
        )
    return np.arange(len(vocabulary))
