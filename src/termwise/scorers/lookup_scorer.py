"""Scores of texts by the model ``lookup``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from termwise.encode import DocumentEncoder
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
        vectors = [self._table.combine(*self._counts(query)) for query in distinct_queries]
        scores = [
            _window_scores(vectors[place], windows).max(initial=-np.inf) if len(windows[0]) else 0.0
            for place, windows in zip(places.tolist(), self._cache.rows(texts), strict=True)
        ]
        return np.array(scores, dtype=np.float64) * self._table.scale

    def contributions(self, query: str, text: str) -> list[TermScore]:
        """Return the contribution of each query term in the best window; see `AdditiveScorer`."""
        check_pairs([query], [text])
        terms, counts = self._counts(query)
        rows, scales = self._cache.rows([text])[0]
        values = np.zeros(len(terms), dtype=np.float64)
        if len(rows):
            best = int(np.argmax(_window_scores(self._table.combine(terms, counts), (rows, scales))))
            vectors = [self._table.combine(terms[i : i + 1], counts[i : i + 1]) for i in range(len(terms))]
            exact = np.array([int(vector @ rows[best].astype(np.int64)) for vector in vectors])
            values = exact * np.float64(scales[best]) * self._table.scale
        token = self._encoder.vocabulary.token
        return [
            TermScore(token(term), value) for term, value in zip(terms.tolist(), values.tolist(), strict=True)
        ]

    def _counts(self, query: str) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        terms, counts = self._queries.encode_query(query).row(0)
        return terms, counts.astype(np.int64)

    def _encode(self, texts: Sequence[str]) -> Iterator[Windows]:
        rows = self._encoder.encode_documents(texts)
        assert isinstance(rows, DocumentVectors)  # as all encoders with a query table
        for first, last in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
            yield rows.rows[first:last].copy(), rows.scales[first:last].copy()


def _window_scores(query: npt.NDArray[np.int64], windows: Windows) -> npt.NDArray[np.float64]:
    """Return the score of each window in units of the query table: an exact dot product, times the scale."""
    rows, scales = windows
    exact = rows.astype(np.int64) @ query
    scores: npt.NDArray[np.float64] = exact.astype(np.float64) * scales
    return scores
