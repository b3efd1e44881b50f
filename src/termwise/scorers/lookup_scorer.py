"""Scores of texts by the model ``lookup``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from termwise.encode import DocumentEncoder
from termwise.engine.query_vector import QueryVector, dense_query
from termwise.errors import ParameterError
from termwise.models import CountQueryEncoder, Lookup
from termwise.scorers.protocol import BasePairScorer, TermScore
from termwise.scorers.row_scorer import RowCache, distinct
from termwise.storage.file_record import json_fingerprint
from termwise.validation import check_pairs
from termwise.vectors import DocumentVectors

Windows = tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]
"""Vectors of the windows of a text, and the scale of each."""


class LookupScorer(BasePairScorer):
    """Scores texts by their best window, exactly as an index of the form ``vectors`` does.

    The form ``terms`` of the model has the same scores here: it approximates them in an index only.

    Parameters
    ----------
    model : Lookup
    encoder : DocumentEncoder
        The network of the model; see `termwise.encode.open_document_encoder`.
    name : str, optional
        By default the name of the encoder.

    Raises
    ------
    ParameterError
        If the encoder has no query table.
    """

    def __init__(self, model: Lookup, encoder: DocumentEncoder, *, name: str | None = None) -> None:
        table = encoder.term_vectors
        self.name = str(encoder.description.get("name", model.name)) if name is None else name
        if table is None:
            raise ParameterError(
                "this encoder has no query table",
                facts=[("encoder", self.name)],
                fixes=["an encoder of kind lookup"],
            )
        self._table = table
        self._encoder = encoder
        self._queries = CountQueryEncoder(
            encoder.analyzer, encoder.vocabulary, weighting=model.query_weighting
        )
        self._cache: RowCache[Windows] = RowCache(self._encode)

    @cached_property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal scores."""
        table = sha256(self._table.rows.tobytes() + self._table.shifts.tobytes()).hexdigest()
        return json_fingerprint(
            {
                "encoder": self._encoder.fingerprint,
                "table": [table, self._table.scale],
                "queries": self._queries.weighting,
            }
        )

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        distinct_queries, places = distinct(queries)
        prepared = [self._prepared(query) for query in distinct_queries]
        scores = [
            _window_scores(prepared[place], windows).max() * prepared[place].unit if len(windows[0]) else 0.0
            for place, windows in zip(places.tolist(), self._cache.rows(texts), strict=True)
        ]
        return np.array(scores, dtype=np.float64)

    def contributions(self, query: str, text: str) -> list[TermScore]:
        """Return the contribution of each query term in the best window; see `AdditiveScorer`."""
        check_pairs([query], [text])
        terms, _ = self._queries.encode_query(query).row(0)
        values = dict.fromkeys(terms.tolist(), 0.0)  # a term may have no row in the table
        prepared = self._prepared(query)
        rows, scales = self._cache.rows([text])[0]
        if len(rows):
            best = int(np.argmax(_window_scores(prepared, (rows, scales))))
            for place, term in enumerate(prepared.terms.tolist()):
                one = slice(place, place + 1)
                vector = self._table.combine(prepared.terms[one], prepared.weights[one])
                exact = int(vector @ rows[best].astype(np.int64))
                values[term] = exact * float(scales[best]) * prepared.unit
        token = self._encoder.vocabulary.token
        return [TermScore(token(term), value) for term, value in values.items()]

    def _prepared(self, query: str) -> QueryVector:
        terms, weights = self._queries.encode_query(query).row(0)
        return dense_query(self._table, terms, weights.astype(np.float64))

    def _encode(self, texts: Sequence[str]) -> Iterator[Windows]:
        rows = self._encoder.encode_documents(texts)
        assert isinstance(rows, DocumentVectors)  # as all encoders with a query table
        for first, last in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
            yield rows.rows[first:last].copy(), rows.scales[first:last].copy()


def _window_scores(query: QueryVector, windows: Windows) -> npt.NDArray[np.float64]:
    """Return the score of each window in units of the query: an exact dot product, times the scale of the window."""
    assert query.vector is not None, "a query for vectors has one"
    rows, scales = windows
    exact = rows.astype(np.int64) @ query.vector
    scores: npt.NDArray[np.float64] = exact.astype(np.float64) * scales
    return scores
