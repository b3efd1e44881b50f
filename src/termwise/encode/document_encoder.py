"""The contract of document encoders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.text import Analyzer, Vocabulary
from termwise.weights import TermWeights

Advance = Callable[[float], None]
"""Called with the fraction of the work that is done, from 0 to 1, never decreasing."""


def no_advance(share: float) -> None:
    """Ignore progress."""


def part_of(advance: Advance, first: int, last: int, total: int) -> Advance:
    """Return an `Advance` for one part of the work: items `first` to `last` of `total`.

    Examples
    --------
    >>> part_of(print, 2, 4, 8)(0.5)
    0.375
    """
    return lambda share: advance((first + share * (last - first)) / total)


@runtime_checkable
class RowEncoder(Protocol):
    """Turns texts into rows that `encoded_blocks` caches in a work folder."""

    @property
    def vocabulary(self) -> Vocabulary:
        """All terms, numbered as the rows number them."""
        ...

    @property
    def block(self) -> int:
        """How many documents `encoded_blocks` encodes at a time, so that their rows fit in memory."""
        ...

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest: equal ones mean equal rows."""
        ...

    @property
    def description(self) -> dict[str, Any]:
        """JSON-like facts about the encoder and its settings, for manifests and errors."""
        ...

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        """Return one row for each text, in order; an empty one for a text without a term."""
        ...


@runtime_checkable
class DocumentEncoder(RowEncoder, Protocol):
    """Turns texts into rows of term weights, with a network or from rows computed before."""

    @property
    def analyzer(self) -> Analyzer:
        """Cuts queries into terms of the vocabulary."""
        ...

    @property
    def query_weights(self) -> npt.NDArray[np.float32] | None:
        """Weight of each term that a query holds, shape (V,), however often it does; None where they are counted."""
        ...

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """What an absent term contributes, shape (V,); None if that is 0 for all, or with `gives_log_likelihoods`."""
        ...

    @property
    def gives_log_likelihoods(self) -> bool:
        """Whether each row holds the log-likelihood of every term that takes part.

        Building an index then subtracts a floor from those of each term, just below the smallest of them.
        """
        ...

    @property
    def idf_power(self) -> float:
        """Power of the idf that weights are multiplied by when an index is built; 0 for none.

        See `termwise.models.idf_power`. Always 0 with floors.
        """
        ...

    @property
    def only_text_terms(self) -> bool:
        """Whether every weighted term occurs in the text of its document."""
        ...


def check_encoder(value: object, protocol: type = DocumentEncoder) -> None:
    """Refuse anything that cannot encode documents."""
    if not isinstance(value, protocol):
        raise ParameterError(
            "this is not an encoder of documents",
            facts=[("given", type(value).__name__), ("expected", "a termwise.encode.DocumentEncoder")],
            fixes=["termwise.encode.open_document_encoder(model)"],
        )


def network_record(encoder: DocumentEncoder) -> dict[str, Any]:
    """Return what the manifest of an index records of an encoder: its description, and its power of the idf, if any."""
    return {**encoder.description, **({"idf_power": encoder.idf_power} if encoder.idf_power else {})}


def fingerprint_of(settings: Mapping[str, Any]) -> str:
    """Return ``sha256:`` and the digest of JSON-like settings."""
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
