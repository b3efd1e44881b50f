"""Networks that weigh terms, over texts that no index holds."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.encode import DocumentEncoder
from termwise.errors import ParameterError
from termwise.models import CountQueryEncoder, NetworkModel
from termwise.models.rarity import idf_factors
from termwise.scorers.rows import Weighed
from termwise.weights import TermWeights

REMEMBERED = 20_000
"""Rows of texts that are kept, at the most."""


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


class EncodedWeigher:
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
        self._rows: OrderedDict[str, _Row] = OrderedDict()
        self._lock = Lock()

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

    def weigh(self, queries: Sequence[str], texts: Sequence[str]) -> Weighed:
        """See `TextWeigher`."""
        with self._lock:
            self._remember([text for text in texts if text not in self._rows])
            held = [self._rows[text] for text in texts]
            self._forget()
        asked = [self._queries.encode_query(query).row(0) for query in queries]
        vocabulary = self._encoder.vocabulary
        return Weighed(
            joined(asked, vocabulary.id), joined(held, vocabulary.id), self._encoder.floors, vocabulary.token
        )

    def _remember(self, texts: Sequence[str]) -> None:
        if not texts:
            return
        rows = self._encoder.encode_documents(texts)
        for text, (terms, weights) in zip(texts, rows, strict=True):
            changed = (
                weights if self._factors is None else (weights * self._factors[terms]).astype(np.float32)
            )
            self._rows[text] = (terms.copy(), changed.copy())

    def _forget(self) -> None:
        while len(self._rows) > REMEMBERED:
            self._rows.popitem(last=False)


_Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]


def joined(rows: Sequence[_Row], vocabulary: str) -> TermWeights:
    """Return rows one after the other.

    Parameters
    ----------
    rows : sequence of (ndarray of int32, ndarray of float32)
        Terms and weights of each row.
    vocabulary : str
        Identifier of the vocabulary.
    """
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(terms) for terms, _ in rows], out=indptr[1:])
    if not len(rows) or not indptr[-1]:
        return TermWeights(indptr, np.empty(0, np.int32), np.empty(0, np.float32), vocabulary)
    return TermWeights(
        indptr,
        np.concatenate([terms for terms, _ in rows]),
        np.concatenate([weights for _, weights in rows]),
        vocabulary,
    )
