"""Term weights as sparse matrices, with the interface of the vectorizers of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from termwise.encode import DocumentEncoder, open_document_encoder
from termwise.errors import EmptyCollectionError, MissingExtraError, ParameterError, VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.indexing.count_rows import TokenCounter
from termwise.indexing.lookup_rows import TermCompiler
from termwise.indexing.model_choice import NO_SETTINGS, chosen_model
from termwise.models import CountModel, CountQueryEncoder, Lookup, Model, NetworkModel
from termwise.models.idf_power import idf_factors
from termwise.records import Document
from termwise.scorers import CountWeigher, TokenStatistics
from termwise.text import Analyzer, Vocabulary, analyzer_from_spec, make_analyzer
from termwise.validation import check_threads, wrong
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

try:
    from scipy.sparse import csr_array
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise MissingExtraError.of("scikit-learn", "sklearn", "the vectorizer") from error

DEFAULT_ANALYZER = "english"


class TermWeightVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Converts texts to a sparse matrix of the term weights of a model.

    `fit` counts the statistics of a collection. `transform` weighs any texts with these statistics, so a text has the
    same weights whatever the other texts are. `transform_queries` returns rows of queries; the product of both matrices
    has the scores of an index before quantisation:

        scores = queries @ documents.T + queries @ floors_[:, None]

    Parameters
    ----------
    model : str, Path or Model, optional
        A model, its name, or the folder of an encoder or a translation table; see `termwise.build_index`. Not TILDE in
        its exact form, whose weights depend on all documents. `Lookup` needs the form ``terms``.
    settings : mapping of str to str, optional
        Parameters of a model that is given by its name or folder.
    analyzer : str or Analyzer, optional
        Analyzer of a model of term counts; by default ``english``. A network has its own.
    threads : int, optional
        Threads of a network.

    Attributes
    ----------
    model_ : Model
        The model with its parameters.
    vocabulary_ : dict of str to int
        Column of each term. The last one can be ``[background]``, a document bias that every query multiplies.
    floors_ : ndarray of shape (n_features,), float64
        Contribution of an absent term to a score; the same for all documents.

    Examples
    --------
    >>> vectorizer = TermWeightVectorizer("bm25")
    >>> weights = vectorizer.fit_transform(["merge two sorted lists", "shuffle a list"])
    >>> weights.shape, vectorizer.get_feature_names_out().tolist()
    ((2, 5), ['list', 'merg', 'shuffl', 'sort', 'two'])
    >>> scores = vectorizer.transform_queries(["merging lists"]) @ weights.T
    >>> scores.toarray().round(3)
    array([[0.433, 0.102]], dtype=float32)
    """

    def __init__(
        self,
        model: str | Path | Model = "bm25",
        *,
        settings: Mapping[str, str] | None = None,
        analyzer: str | Analyzer | None = None,
        threads: int = 1,
    ) -> None:
        self.model = model
        self.settings = settings
        self.analyzer = analyzer
        self.threads = threads

    def fit(self, raw_documents: Iterable[str], y: object = None) -> TermWeightVectorizer:
        """Count the statistics of a collection.

        Parameters
        ----------
        raw_documents : iterable of str
        y : ignored

        Raises
        ------
        ParameterError
            If a document is not a string, or the model cannot weigh texts outside an index.
        EmptyCollectionError
            If there is no document.
        TermwiseError
            If the model cannot be opened, see `termwise.build_index`.
        """
        self._fit(_checked_texts(raw_documents))
        return self

    def fit_transform(self, raw_documents: Iterable[str], y: object = None) -> csr_array:
        """Count the statistics of a collection, and return the weights of its documents; see `fit` and `transform`."""
        texts = _checked_texts(raw_documents)
        encoded = self._fit(texts)
        return self._matrix(self._weigher.rows(texts) if encoded is None else encoded)

    def transform(self, raw_documents: Iterable[str]) -> csr_array:
        """Return the weights of documents, with the statistics of the collection that was fitted.

        Parameters
        ----------
        raw_documents : iterable of str

        Returns
        -------
        csr_array of shape (n_documents, n_features), float32
            Terms that the vocabulary lacks have no column; they count in the lengths of documents.
        """
        check_is_fitted(self)
        return self._matrix(self._weigher.rows(_checked_texts(raw_documents, least=0)))

    def transform_queries(self, queries: Iterable[str]) -> csr_array:
        """Return the weights of query terms.

        Parameters
        ----------
        queries : iterable of str

        Returns
        -------
        csr_array of shape (n_queries, n_features), float32
            The weights that a search gives to the terms of a query, such as their counts.
        """
        check_is_fitted(self)
        encode = self._weigher.query_encoder.encode_query
        rows = [encode(query) for query in _checked_texts(queries, least=0)]
        empty = TermWeights([0], [], [], self._weigher.vocabulary.id)
        return self._matrix(TermWeights.concatenate([empty, *rows]))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return the term of each column; `input_features` is ignored."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _fit(self, texts: Sequence[str]) -> TermWeights | None:
        """Fit, and return the rows of the documents if they were computed for that."""
        check_threads(self.threads)
        model = chosen_model(self.model, NO_SETTINGS if self.settings is None else self.settings)
        encoded = None
        weigher: _Weigher
        if isinstance(model, CountModel):
            weigher = _CountRows.fitted(model, _analyzer(model, self.analyzer), texts)
        elif isinstance(model, NetworkModel):
            if self.analyzer is not None:
                raise ParameterError(
                    "a network has its own analyzer",
                    facts=[("model", model.name), ("analyzer", self.analyzer)],
                    fixes=[Fix.omit("analyzer")],
                )
            weigher = _NetworkRows(model, self.threads)
            encoded = weigher.fit(texts)
        else:
            raise ParameterError(
                "this model cannot weigh texts", facts=[("model", model.name)], fixes=[Fix.use(model="bm25")]
            )
        vocabulary = weigher.vocabulary
        terms = range(len(vocabulary) + (vocabulary.background is not None))
        self.model_ = model
        self._weigher = weigher
        self.vocabulary_ = {vocabulary.token(term): term for term in terms}
        floors = weigher.floors
        self.floors_ = np.zeros(len(terms)) if floors is None else np.asarray(floors, dtype=np.float64)
        return encoded

    def _matrix(self, rows: TermWeights) -> csr_array:
        arrays = (rows.weights.copy(), rows.terms.copy(), rows.indptr.copy())
        return csr_array(arrays, shape=(len(rows), len(self.vocabulary_)))


class _Weigher(Protocol):
    """Fitted model that weighs texts."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Terms of the columns."""

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """Contribution of absent terms."""

    @property
    def query_encoder(self) -> CountQueryEncoder:
        """Encoder of queries."""

    def rows(self, texts: Sequence[str]) -> TermWeights:
        """Return a row for each text."""


@dataclass(frozen=True, eq=False)
class _CountRows:
    """Rows of a count model with the statistics of a collection."""

    model: CountModel
    analyzer: Analyzer
    statistics: TokenStatistics
    vocabulary: Vocabulary
    floors: npt.NDArray[np.float64] | None

    @classmethod
    def fitted(cls, model: CountModel, analyzer: Analyzer, texts: Sequence[str]) -> _CountRows:
        counted = TokenStatistics.count((Document("", text) for text in texts), analyzer)
        if analyzer.vocabulary is None:
            counted = _sorted(counted)
        weigher = CountWeigher(model, analyzer, counted)
        floors = weigher.weigh([], []).floors
        return cls(model, analyzer, counted, weigher.weigh_texts([])[1], floors)

    @property
    def query_encoder(self) -> CountQueryEncoder:
        return CountQueryEncoder(self.analyzer, self.vocabulary, weighting=self.model.query_weighting)

    def rows(self, texts: Sequence[str]) -> TermWeights:
        weights, vocabulary = CountWeigher(self.model, self.analyzer, self.statistics).weigh_texts(texts)
        known = len(self.vocabulary)
        terms = weights.terms.copy()
        kept = terms < known
        if vocabulary.background is not None:
            biases = terms == vocabulary.background
            terms[biases] = known
            kept |= biases
        before = np.concatenate([[0], np.cumsum(kept)])
        return TermWeights(before[weights.indptr], terms[kept], weights.weights[kept], self.vocabulary.id)


class _NetworkRows:
    """Rows of a network, with the document frequencies or the means of a collection if the model needs them."""

    def __init__(self, model: NetworkModel, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._factors: npt.NDArray[np.float64] | None = None
        self._compiler: TermCompiler | None = None
        encoder = self._encoder
        self.vocabulary = encoder.vocabulary
        self.floors = encoder.floors
        if encoder.gives_log_likelihoods:
            raise ParameterError(
                "the weights of the exact form of TILDE depend on all documents of an index",
                facts=[("model", model.name)],
                fixes=[Fix.use(form="compact")],
            )
        if encoder.term_vectors is not None and not (isinstance(model, Lookup) and model.keep is not None):
            raise ParameterError(
                "this model has vectors of documents, not term weights",
                facts=[("model", model.name)],
                fixes=[Fix.use(settings={"form": "terms"})],
            )

    @cached_property
    def _encoder(self) -> DocumentEncoder:
        return open_document_encoder(self._model, threads=self._threads)

    @property
    def query_encoder(self) -> CountQueryEncoder:
        encoder = self._encoder
        weights = encoder.query_weights
        weighting = self._model.query_weighting if weights is None else "idf"
        return CountQueryEncoder(
            encoder.analyzer, encoder.vocabulary, weighting=weighting, term_weights=weights
        )

    def fit(self, texts: Sequence[str]) -> TermWeights | None:
        """Compute statistics if the model needs any, and return the rows of the documents then."""
        encoder = self._encoder
        if isinstance(self._model, Lookup) and self._model.keep is not None:
            assert encoder.term_vectors is not None, "an encoder of kind lookup has a table"
            self._compiler = TermCompiler(encoder.term_vectors, keep=self._model.keep)
            counter = TokenCounter(encoder.analyzer)
            vectors = [self._vectors(block) for block in self._blocks(texts)]
            for block, each in zip(self._blocks(texts), vectors, strict=True):
                self._compiler.count(each, counter.encode_documents(block))
            return self._joined(self._compiler.compile(each) for each in vectors)
        if not encoder.idf_power:
            return None
        rows = self._joined(self._weights(block) for block in self._blocks(texts))
        frequencies = np.bincount(rows.terms[rows.weights > 0], minlength=len(self.vocabulary))
        self._factors = idf_factors(np.maximum(frequencies, 1), len(texts), encoder.idf_power)
        return self._weighted(rows)

    def rows(self, texts: Sequence[str]) -> TermWeights:
        compiler = self._compiler
        if compiler is not None:
            return self._joined(compiler.compile(self._vectors(block)) for block in self._blocks(texts))
        return self._weighted(self._joined(self._weights(block) for block in self._blocks(texts)))

    def _blocks(self, texts: Sequence[str]) -> Iterable[Sequence[str]]:
        size = self._encoder.block
        return (texts[first : first + size] for first in range(0, len(texts), size))

    def _weights(self, texts: Sequence[str]) -> TermWeights:
        rows = self._encoder.encode_documents(texts)
        assert isinstance(rows, TermWeights), "an encoder without a table returns weights"
        return rows

    def _vectors(self, texts: Sequence[str]) -> DocumentVectors:
        rows = self._encoder.encode_documents(texts)
        assert isinstance(rows, DocumentVectors), "an encoder with a table returns vectors"
        return rows

    def _weighted(self, rows: TermWeights) -> TermWeights:
        if self._factors is None:
            return rows
        weights = rows.weights.astype(np.float64) * self._factors[rows.terms]
        return TermWeights(rows.indptr, rows.terms, weights, rows.vocabulary)

    def _joined(self, parts: Iterable[TermWeights]) -> TermWeights:
        return TermWeights.concatenate([TermWeights([0], [], [], self.vocabulary.id), *parts])

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the open network, which is opened again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_encoder"}


def _sorted(counted: TokenStatistics) -> TokenStatistics:
    """Return statistics with the tokens in the order of an index."""
    order = np.array(sorted(range(len(counted.tokens)), key=counted.tokens.__getitem__), dtype=np.int64)
    counts = counted.counts
    ordered = replace(
        counts,
        document_frequencies=counts.document_frequencies[order],
        collection_frequencies=counts.collection_frequencies[order],
    )
    return TokenStatistics(tuple(counted.tokens[term] for term in order), ordered, counted.analyzer)


def _analyzer(model: CountModel, analyzer: str | Analyzer | None) -> Analyzer:
    """Return the given analyzer, that of the model, or the default one; refuse one that the model cannot use."""
    if model.analyzer is None:
        return analyzer if isinstance(analyzer, Analyzer) else make_analyzer(analyzer or DEFAULT_ANALYZER)
    required = analyzer_from_spec(model.analyzer)
    given = make_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
    if given is not None and given.spec.fingerprint != required.spec.fingerprint:
        raise VocabularyMismatchError(
            "the model requires another analyzer",
            facts=[("model", f"{model.name}  {required.spec.name}"), ("analyzer", given.spec.name)],
            fixes=[Fix.omit("analyzer")],
        )
    return required


def _checked_texts(texts: object, *, least: int = 1) -> list[str]:
    """Return texts as a list; refuse one string, other values, and fewer than `least`."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise wrong("raw_documents", texts, "an iterable of strings, also for one text: [text]")
    listed = list(texts)
    for row, text in enumerate(listed):
        if not isinstance(text, str):
            raise ParameterError(
                "a document is not a string",
                facts=[("row", row), ("expected", "a string"), ("seen", repr(text)[:80])],
            )
    if len(listed) < least:
        raise EmptyCollectionError("there is no document to fit", facts=[("documents", len(listed))])
    return [str(text) for text in listed]
