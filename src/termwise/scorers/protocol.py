"""The `TextScorer` protocol and its optional refinements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.validation import check, check_pairs, check_texts

Pair = tuple[str, str]
"""A query and a text."""


@runtime_checkable
class TextScorer(Protocol):
    """Object that scores texts for a query.

    Probes and re-rankers take any such object. If it has the methods of `PairScorer`, `WindowedScorer` or
    `AdditiveScorer`, or the attribute ``fingerprint`` (`fingerprint_of`), they use these too.
    """

    @property
    def name(self) -> str:
        """Name of the scorer in tables."""

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query.

        Parameters
        ----------
        query : str
        texts : sequence of str of length n
            They need not belong to a collection.

        Returns
        -------
        ndarray of shape (n,), float64
            Larger is better. The score of a text does not depend on the other texts.
        """


def fingerprint_of(scorer: TextScorer) -> str | None:
    """Return the fingerprint of a scorer; None if it has none. Scores without a fingerprint must not be cached.

    Two scorers with equal fingerprints give equal scores.
    """
    fingerprint: str | None = getattr(scorer, "fingerprint", None)
    return fingerprint


@runtime_checkable
class PairScorer(TextScorer, Protocol):
    """Scorer that takes pairs of several queries at once, so that it can batch their texts."""

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same position.

        Parameters
        ----------
        queries, texts : sequence of str of length n
            Both may contain duplicates.

        Returns
        -------
        ndarray of shape (n,), float64
            The same as `score` for each pair, up to rounding.
        """


class BasePairScorer(ABC):
    """Base class of pair scorers: checks the arguments, and implements `score` by pairs."""

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same position; see `PairScorer`.

        Raises
        ------
        ParameterError
            If the lengths differ, or a query or text is not a string.
        """
        check_pairs(queries, texts)
        return self._score_pairs(queries, texts)

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query; see `TextScorer`.

        Raises
        ------
        ParameterError
            If the query or a text is not a string.
        """
        check("query", query, isinstance(query, str), "a text")
        check_texts(texts)
        return self._score_pairs([query] * len(texts), texts)

    @abstractmethod
    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score pairs whose types and lengths have been checked."""


@runtime_checkable
class WindowedScorer(TextScorer, Protocol):
    """Scorer that reads a limited length of a text."""

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts are truncated.

        Parameters
        ----------
        queries, texts : sequence of str of length n

        Returns
        -------
        ndarray of shape (n,), bool
        """


@runtime_checkable
class PartialScorer(TextScorer, Protocol):
    """Scorer with scores for some pairs only, such as a run; its scores are ranks."""

    def knows(self, query: str, text: str) -> bool:
        """Return whether there is a score for the pair."""


class TermScore(NamedTuple):
    """Contribution of one query term to the score of a text.

    Attributes
    ----------
    term : str
    value : float
        Query weight times the weight of the term in the text, plus the floor of an absent term.
    """

    term: str
    value: float


@runtime_checkable
class AdditiveScorer(TextScorer, Protocol):
    """Scorer whose score is a sum over query terms."""

    def contributions(self, query: str, text: str) -> list[TermScore]:
        """Return the contribution of each query term, in vocabulary order; the contributions add up to the score."""
