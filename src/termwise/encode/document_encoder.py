"""Protocols of encoders, which turn texts into rows of term weights or into vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.fixes import Fix
from termwise.index.encoder_description import NetworkRecord
from termwise.storage.file_record import text_fingerprint
from termwise.text import Analyzer, Vocabulary
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

EncodedRows = TermWeights | DocumentVectors
"""Result of an encoder: term weights, or vectors for the windows of each document."""

Rows_co = TypeVar("Rows_co", bound=EncodedRows, covariant=True)

Advance = Callable[[float], None]
"""Progress callback, called with the fraction of the work done, from 0 to 1, never decreasing."""


def no_advance(share: float) -> None:
    """Ignore progress."""


def part_of(advance: Advance, first: int, last: int, total: int) -> Advance:
    """Return a progress callback for one part of the work: items `first` to `last` of `total`.

    Examples
    --------
    >>> part_of(print, 2, 4, 8)(0.5)
    0.375
    """
    return lambda share: advance((first + share * (last - first)) / total)


@runtime_checkable
class RowEncoder(Protocol[Rows_co]):
    """Encoder whose rows `encoded_blocks` caches in a work folder."""

    @property
    def vocabulary(self) -> Vocabulary:
        """All terms; a term's number in it is its number in the rows."""

    @property
    def block(self) -> int:
        """Largest number of documents that `encoded_blocks` encodes together; their rows must fit in memory."""

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest; encoders with equal fingerprints compute equal rows."""

    @property
    def description(self) -> dict[str, Any]:
        """JSON-like facts about the encoder and its settings, for manifests and errors."""

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> Rows_co:
        """Return one row for each text, in order; an empty row, or no vector, for a text without a term."""


@runtime_checkable
class DocumentEncoder(RowEncoder[EncodedRows], Protocol):
    """Encoder of documents for an index: a network, or rows that were computed before."""

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer of queries."""

    @property
    def query_weights(self) -> npt.NDArray[np.float32] | None:
        """Weight of each query term, shape (V,), for any count; None if the weight is the count."""

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """Contribution of an absent term, shape (V,); None if it is 0 for all, or with `gives_log_likelihoods`."""

    @property
    def gives_log_likelihoods(self) -> bool:
        """Whether each row has the log-likelihood of every term of the cleaned vocabulary.

        An index build subtracts from the log-likelihoods of each term a floor just below their minimum.
        """

    @property
    def idf_power(self) -> float:
        """Power of the idf that an index build multiplies weights by; 0 for none, and always 0 with floors.

        See `termwise.models.idf_power`.
        """

    @property
    def only_text_terms(self) -> bool:
        """Whether every weighted term occurs in the text of its document."""

    @property
    def term_vectors(self) -> TermVectors | None:
        """Query table of an encoder of `DocumentVectors`; None for an encoder of `TermWeights`."""


def check_encoder(value: object, protocol: type = DocumentEncoder) -> None:
    """Raise `ParameterError` unless `value` implements the protocol."""
    if not isinstance(value, protocol):
        raise ParameterError(
            "this is not an encoder of documents",
            facts=[("given", type(value).__name__), ("expected", "a termwise.encode.DocumentEncoder")],
            fixes=[Fix.python("termwise.encode.open_document_encoder(model)", "open one with {}")],
        )


def network_record(encoder: DocumentEncoder) -> dict[str, Any]:
    """Return the record of an encoder in the manifest of an index: its description, and its power of the idf if any."""
    return {**encoder.description, **({"idf_power": encoder.idf_power} if encoder.idf_power else {})}


def built_precision(built: NetworkRecord | None) -> NetworkPrecision | None:
    """Return the precision of the network of an index; None if it is not known."""
    return None if built is None or not built.precision else cast(NetworkPrecision, built.precision)


def check_network(
    built: NetworkRecord | None, encoder: DocumentEncoder, *, index: Path, fixes: Sequence[str | Fix]
) -> None:
    """Compare an encoder with the network that an index was built with.

    If the network or its settings differ, raise `VocabularyMismatchError`, which names both.
    """
    given = network_record(encoder)
    before = {} if built is None else built.json
    differing = [name for name, value in _identity(before).items() if _identity(given)[name] != value]
    if differing:
        raise VocabularyMismatchError(
            "the network is not the one that the index was built with",
            facts=[
                ("index", f"{index}  {_shown(before)}"),
                ("network", _shown(given)),
                ("differ in", ", ".join(differing)),
            ],
            fixes=fixes,
        )


def _shown(network: Mapping[str, Any]) -> str:
    if not network:
        return "built without a network"
    return f"{network.get('name')}, {short_digest(str(network.get('id')))}"


def _identity(network: Mapping[str, Any]) -> dict[str, Any]:
    """Return what weights depend on, from the record of a network."""
    expansion = network.get("expansion") or {}
    return {
        **{name: network.get(name) for name in ("kind", "id", "settings", "idf_power")},
        "expansion": expansion.get("id"),
        "settings of the expansion": expansion.get("settings"),
    }


def settings_fingerprint(settings: Mapping[str, Any]) -> str:
    """Return ``sha256:`` and the digest of JSON-like settings."""
    return text_fingerprint(json.dumps(settings, sort_keys=True, ensure_ascii=False))
