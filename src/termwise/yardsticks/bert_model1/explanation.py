"""Explanation of a BERT-Model1 score: a sum over query tokens, each a sum over document tokens.

The contribution of a query token q is ln m(q), divided by the number of query tokens if scores are means. m(q) is the
mean of T(q|d) over the document tokens d. Therefore the share of d in the contribution of q is T(q|d) / (sum over all
d' of T(q|d')), and

    score = sum over q of (sum over d of share(q, d)) * contribution(q)

exactly. Contributions are at most 0; the better the text matches q, the larger is m(q), and the closer to 0 the
contribution.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.text import Analysis

Span = tuple[int, int]


@dataclass(frozen=True)
class TextShare:
    """Share of a document token in the contribution of a query token; the shares of a query token add up to 1.

    `span` is its position in the text, in characters; `probability` is T(q|d); `score` is `share` times the
    contribution of the query token.
    """

    piece: str
    span: Span
    probability: float
    share: float
    score: float


@dataclass(frozen=True)
class QueryShare:
    """Contribution of a query token: `score`, at most 0, from `mean`, m(q), at least 1e-8.

    `span` is its position in the query, in characters. `sources` has one share for each document token, in order.
    """

    piece: str
    span: Span
    mean: float
    score: float
    sources: tuple[TextShare, ...]


@dataclass(frozen=True)
class PairExplanation:
    """A score as a sum over the contributions of the query tokens that are read, in order.

    `query_unread` and `text_unread` are the numbers of truncated tokens.
    """

    query: str
    text: str
    score: float
    contributions: tuple[QueryShare, ...]
    query_unread: int
    text_unread: int

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-like data."""
        return asdict(self)


def explain_pair(
    query: str,
    text: str,
    query_analysis: Analysis,
    text_analysis: Analysis,
    *,
    log_translations: npt.NDArray[np.float64],
    log_means: npt.NDArray[np.float64],
    averaged: bool,
    query_unread: int,
    text_unread: int,
) -> PairExplanation:
    """Explain the score of a pair; truncated tokens are at the end of the analyses.

    `log_translations`, of shape (L, n), is ln T(q|d), and `log_means`, of shape (n,), ln m(q) with its floor.
    `averaged` is whether the score is the mean over the query tokens, or their sum.
    """
    shares = np.exp(log_translations - log_translations.max(axis=0, initial=-np.inf, keepdims=True))
    shares /= shares.sum(axis=0, keepdims=True)
    scores = log_means / len(log_means) if averaged and len(log_means) else log_means
    contributions = []
    for position, (score, log_mean) in enumerate(zip(scores.tolist(), log_means.tolist(), strict=True)):
        sources = tuple(
            TextShare(
                text_analysis.tokens[row],
                _span(text_analysis, row),
                float(np.exp(log_translations[row, position])),
                share,
                share * score,
            )
            for row, share in enumerate(shares[:, position].tolist())
        )
        token, span = query_analysis.tokens[position], _span(query_analysis, position)
        contributions.append(QueryShare(token, span, float(np.exp(log_mean)), score, sources))
    return PairExplanation(query, text, float(scores.sum()), tuple(contributions), query_unread, text_unread)


def _span(analysis: Analysis, place: int) -> Span:
    begin, end = analysis.spans[place].tolist()
    return begin, end
