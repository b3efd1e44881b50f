"""Term weights of document encoders for texts outside an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from termwise.encode import DocumentEncoder
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.models import CountQueryEncoder, NetworkModel
from termwise.models.idf_power import idf_factors
from termwise.scorers.row_scorer import Row, RowCache, WeightedRows, stack_rows
from termwise.storage.file_record import json_fingerprint
from termwise.weights import TermWeights


@dataclass(frozen=True, eq=False)
class RowFrequencies:
    """Number of rows of a collection that contain each term.

    Attributes
    ----------
    documents : ndarray of shape (V,), int64
        One entry for each term of the encoder.
    n_documents : int
        Number of rows.
    """

    documents: npt.NDArray[np.int64]
    n_documents: int

    @cached_property
    def digest(self) -> str:
        """Digest of the numbers."""
        digest = sha256(np.ascontiguousarray(self.documents, dtype="<i8").tobytes())
        digest.update(f"{self.n_documents}".encode("ascii"))
        return digest.hexdigest()


class EncoderWeigher:
    """Weighs texts by a document encoder; a `termwise.scorers.TextWeigher`.

    Parameters
    ----------
    model : NetworkModel
        `Tilde`, `TildeV2` or `SpladeDoc`.
    encoder : DocumentEncoder
        The network of the model; see `termwise.encode.open_document_encoder`.
    frequencies : RowFrequencies, optional
        Document frequencies of the background collection, for an encoder that multiplies its weights by a power of the
        idf. A term that no row contains counts as a term of one row.
    name : str, optional
        By default the name of the encoder.

    Raises
    ------
    ParameterError
        If the encoder needs `frequencies`, and they are missing or of another length.
    """

    def __init__(
        self,
        model: NetworkModel,
        encoder: DocumentEncoder,
        frequencies: RowFrequencies | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self._encoder = encoder
        self.name = str(encoder.description.get("name", model.name)) if name is None else name
        self._frequencies = frequencies if encoder.idf_power else None
        self._idf_factors = self._make_idf_factors()
        weights = encoder.query_weights
        self._query_encoder = CountQueryEncoder(
            encoder.analyzer,
            encoder.vocabulary,
            weighting=model.query_weighting if weights is None else "idf",
            term_weights=weights,
        )
        self._cache = RowCache(self._encode)

    def _make_idf_factors(self) -> npt.NDArray[np.float64] | None:
        power, terms = self._encoder.idf_power, len(self._encoder.vocabulary)
        if not power:
            return None
        documents = None if self._frequencies is None else self._frequencies.documents
        if self._frequencies is None or documents is None or len(documents) != terms:
            raise ParameterError(
                "this encoder multiplies its weights by the idf of a collection",
                facts=[
                    ("encoder", self.name),
                    ("idf_power", power),
                    ("terms", terms),
                    ("frequencies", "none" if documents is None else f"{len(documents)} terms"),
                ],
                fixes=[
                    Fix.python("RowFrequencies(index.document_frequencies(), len(index))"),
                    Fix.use(idf_power=0),
                ],
            )
        return idf_factors(np.maximum(documents, 1), self._frequencies.n_documents, power)

    @cached_property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal rows."""
        return json_fingerprint(
            {
                "encoder": self._encoder.fingerprint,
                "idf_power": self._encoder.idf_power,
                "frequencies": None if self._frequencies is None else self._frequencies.digest,
                "queries": self._query_encoder.weighting,
            }
        )

    def weigh(self, queries: Sequence[str], texts: Sequence[str]) -> WeightedRows:
        """See `TextWeigher`."""
        text_rows = self._cache.rows(texts)
        query_rows = [self._query_encoder.encode_query(query).row(0) for query in queries]
        vocabulary = self._encoder.vocabulary
        return WeightedRows(
            stack_rows(query_rows, vocabulary.id),
            stack_rows(text_rows, vocabulary.id),
            self._encoder.floors,
            vocabulary.token,
        )

    def _encode(self, texts: Sequence[str]) -> Iterator[Row]:
        rows = self._encoder.encode_documents(texts)
        if not isinstance(rows, TermWeights):
            raise ParameterError(
                "this encoder computes vectors, not term weights",
                facts=[("encoder", self.name)],
                fixes=[Fix.python("LookupScorer(model, encoder)")],
            )
        for terms, weights in rows:
            if self._idf_factors is None:
                yield terms.copy(), weights.copy()
            else:
                yield terms.copy(), (weights * self._idf_factors[terms]).astype(np.float32)
