"""Networks that weigh terms, over texts that no index holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.encode import DocumentEncoder
from termwise.errors import ParameterError
from termwise.models import CountQueryEncoder, NetworkModel
from termwise.models.idf_power import idf_factors
from termwise.scorers.row_cache import Row, RowCache, joined
from termwise.scorers.row_scorer import WeightedRows


@dataclass(frozen=True, eq=False)
class RowFrequencies:
    """How many rows of a collection hold each term.

    Attributes
    ----------
    documents : ndarray of shape (V,), int64
        For each term of the encoder.
    n_documents : int
        Rows there are.
    """

    documents: npt.NDArray[np.int64]
    n_documents: int

    @cached_property
    def digest(self) -> str:
        """Digest of the numbers."""
        found = sha256(np.ascontiguousarray(self.documents, dtype="<i8").tobytes())
        found.update(f"{self.n_documents}".encode("ascii"))
        return found.hexdigest()


class EncoderWeigher:
    """Weighs texts by a network; a `termwise.scorers.TextWeigher`.

    Rows of texts are remembered, so that a text is read once however many queries it is scored for.

    Parameters
    ----------
    model : NetworkModel
        `Tilde`, `TildeV2` or `SpladeDoc`.
    encoder : DocumentEncoder
        Runs its network; see `termwise.encode.open_document_encoder`.
    frequencies : RowFrequencies, optional
        Of the collection that texts are weighed as part of, where the encoder multiplies its weights by a power of the
        idf. A term of no row counts as one of a single row.
    name : str, optional
        By default that of the encoder.

    Raises
    ------
    ParameterError
        If the idf is needed and `frequencies` are missing.
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
        self._factors = self._read_factors()
        weights = encoder.query_weights
        self._queries = CountQueryEncoder(
            encoder.analyzer,
            encoder.vocabulary,
            weighting=model.query_weighting if weights is None else "idf",
            term_weights=weights,
        )
        self._memory = RowCache(self._encode)

    def _read_factors(self) -> npt.NDArray[np.float64] | None:
        if not self._encoder.idf_power:
            return None
        if self._frequencies is None or len(self._frequencies.documents) != len(self._encoder.vocabulary):
            raise ParameterError(
                "this encoder multiplies its weights by the idf of a collection",
                facts=[
                    ("encoder", self.name),
                    ("idf_power", self._encoder.idf_power),
                    ("terms", len(self._encoder.vocabulary)),
                    (
                        "frequencies",
                        "none" if self._frequencies is None else f"{len(self._frequencies.documents)} terms",
                    ),
                ],
                fixes=["RowFrequencies(index.document_frequencies(), len(index))", "idf_power=0"],
            )
        return idf_factors(
            np.maximum(self._frequencies.documents, 1), self._frequencies.n_documents, self._encoder.idf_power
        )

    @cached_property
    def fingerprint(self) -> str:
        """Equal ones give equal rows."""
        said: dict[str, Any] = {
            "encoder": self._encoder.fingerprint,
            "idf_power": self._encoder.idf_power,
            "frequencies": None if self._frequencies is None else self._frequencies.digest,
            "queries": self._queries.weighting,
        }
        return f"sha256:{sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()}"

    def weigh(self, queries: Sequence[str], texts: Sequence[str]) -> WeightedRows:
        """See `TextWeigher`."""
        held = self._memory.rows(texts)
        asked = [self._queries.encode_query(query).row(0) for query in queries]
        vocabulary = self._encoder.vocabulary
        return WeightedRows(
            joined(asked, vocabulary.id), joined(held, vocabulary.id), self._encoder.floors, vocabulary.token
        )

    def _encode(self, texts: Sequence[str]) -> Iterator[Row]:
        for terms, weights in self._encoder.encode_documents(texts):
            if self._factors is None:
                yield terms.copy(), weights.copy()
            else:
                yield terms.copy(), (weights * self._factors[terms]).astype(np.float32)
