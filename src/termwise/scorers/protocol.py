"""What probes and re-rankers see of a ranker: a query, some texts, one score each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.validation import check, check_texts


@runtime_checkable
class TextScorer(Protocol):
    """Anything that can score texts for a query.

    The protocol is deliberately small: a probe can be run on a callable, a network or an index behind it.
    """

    @property
    def name(self) -> str:
        """What the scorer is called in tables."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query.

        Parameters
        ----------
        query : str
            The information need.
        texts : sequence of str of length n
            The texts to score; they need not be part of any collection.

        Returns
        -------
        ndarray of shape (n,), float64
            Larger is better. The score of a text does not depend on the other texts.
        """
        ...


@runtime_checkable
class PairScorer(TextScorer, Protocol):
    """A scorer that takes many pairs at once, so that it can work on all of their texts together."""

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Parameters
        ----------
        queries, texts : sequence of str of length n
            Both may repeat themselves.

        Returns
        -------
        ndarray of shape (n,), float64
            What `score` gives for each pair, but for rounding.
        """
        ...


class BasePairScorer(ABC):
    """Base of those `PairScorer` to which a query with n texts is n pairs."""

    @abstractmethod
    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place; see `PairScorer`."""

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query; see `TextScorer`.

        Raises
        ------
        ParameterError
            If query or texts are no strings.
        TermwiseError
            As `score_pairs` does.
        """
        check("query", query, isinstance(query, str), "a text")
        check_texts(texts)
        return self.score_pairs([query] * len(texts), texts)


@runtime_checkable
class FingerprintedScorer(TextScorer, Protocol):
    """A scorer whose scores may be kept: whoever has the same fingerprint gives the same."""

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest over everything that scores depend on."""
        ...


@runtime_checkable
class WindowedScorer(TextScorer, Protocol):
    """A scorer that reads only so much of a text."""

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say of each pair whether a part of the text is not read.

        Parameters
        ----------
        queries, texts : sequence of str of length n

        Returns
        -------
        ndarray of shape (n,), bool
        """
        ...


class TermScore(NamedTuple):
    """What one term adds to the score of a text.

    Attributes
    ----------
    term : str
    value : float
        Query weight times the weight of the term in the text, and what an absent term adds.
    """

    term: str
    value: float


@runtime_checkable
class AdditiveScorer(TextScorer, Protocol):
    """A scorer whose scores are sums of terms."""

    def contributions(self, query: str, text: str) -> list[TermScore]:
        """Return what each term of the query adds, in the order of the vocabulary; they add up to the score."""
        ...
