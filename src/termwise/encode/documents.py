"""What the rest of the house may expect of something that encodes documents."""

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
"""Called with the share of the work that is done, from 0 to 1, never decreasing."""


def unheard(share: float) -> None:
    """Tell nobody how far the work is."""


def part_of(advance: Advance, first: int, last: int, total: int) -> Advance:
    """Return what hears of the share of a part: items `first` to `last` of `total`.

    Examples
    --------
    >>> part_of(print, 2, 4, 8)(0.5)
    0.375
    """
    return lambda share: advance((first + share * (last - first)) / total)


@runtime_checkable
class DocumentEncoder(Protocol):
    """Turns texts into rows of term weights, by a network or from what one made before."""

    @property
    def vocabulary(self) -> Vocabulary:
        """All terms, numbered as the rows number them."""
        ...

    @property
    def analyzer(self) -> Analyzer:
        """What cuts queries into terms of the vocabulary."""
        ...

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """What an absent term contributes, shape (V,); None where that is 0 for all, or with `minimum_floor`."""
        ...

    @property
    def minimum_floor(self) -> bool:
        """Whether rows hold log-probabilities, each of every term that takes part.

        Then whoever builds the index takes the smallest of each term as its floor, and subtracts it.
        """
        ...

    @property
    def idf_power(self) -> float:
        """Power of the idf that whoever builds the index multiplies the weights by; 0 for none.

        See `termwise.models.rarity`. Always 0 with floors.
        """
        ...

    @property
    def exact(self) -> bool:
        """Whether every weighted term occurs in the text of its document."""
        ...

    @property
    def block(self) -> int:
        """How many documents `encoded_blocks` encodes at a time, so that their rows fit the memory."""
        ...

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest: equal ones mean the same network, precision and settings."""
        ...

    @property
    def description(self) -> dict[str, Any]:
        """JSON-like facts about network, precision, processor and settings, for the manifest of an index."""
        ...

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = unheard) -> TermWeights:
        """Return one row for each text, in their order; an empty one for a text without a piece."""
        ...


def check_encoder(value: object) -> None:
    """Refuse what cannot encode documents."""
    if not isinstance(value, DocumentEncoder):
        raise ParameterError(
            "this is not an encoder of documents",
            facts=[("given", type(value).__name__), ("expected", "a termwise.encode.DocumentEncoder")],
            fixes=["termwise.encode.open_document_encoder(model)"],
        )


def facts_of(encoder: DocumentEncoder) -> dict[str, Any]:
    """Return what the manifest of an index says of an encoder: its description, and its power of the idf, if any."""
    return {**encoder.description, **({"idf_power": encoder.idf_power} if encoder.idf_power else {})}


def fingerprint_of(settings: Mapping[str, Any]) -> str:
    """Return ``sha256:`` and the digest of JSON-like settings."""
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
