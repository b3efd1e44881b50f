"""The score of a translation model over two texts as a sum: by pieces of the query, and in these by pieces of the text.

What a piece q of the query adds is ln m(q), divided by the number of its pieces where scores are means. The mean m(q)
is made of the T(q|d) of the pieces d of the text. So d has the share T(q|d) / (sum over all d' of T(q|d')) of what q
adds, and

    score = sum over q of (sum over d of share(q, d)) * contribution(q)

without a rest. Contributions are at most 0: what a text says of q best makes m(q) large, and its contribution small.
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
    """What a piece of the text has in the contribution of a piece of the query.

    Attributes
    ----------
    piece : str
    span : (int, int)
        Where the text says it, in characters.
    probability : float
        T(q|d), 0 to 1.
    share : float
        Its part of the mean; the shares of a piece of the query add up to 1.
    score : float
        `share` times what the piece of the query adds.
    """

    piece: str
    span: Span
    probability: float
    share: float
    score: float


@dataclass(frozen=True)
class QueryShare:
    """What a piece of the query adds to a score.

    Attributes
    ----------
    piece : str
    span : (int, int)
        Where the query says it, in characters.
    mean : float
        m(q), 1e-8 or more.
    score : float
        What it adds, at most 0.
    sources : tuple of TextShare
        One for each piece of the text, in the order of the text; none where the text has no piece.
    """

    piece: str
    span: Span
    mean: float
    score: float
    sources: tuple[TextShare, ...]


@dataclass(frozen=True)
class PairExplanation:
    """A score as a sum over the pieces of its query.

    Attributes
    ----------
    query, text : str
    score : float
        The sum of the scores of `contributions`.
    contributions : tuple of QueryShare
        One for each piece of the query that is read, in the order of the query.
    query_unread, text_unread : int
        Pieces that are cut off before the network reads.
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


def explained(
    query: str,
    text: str,
    asked: Analysis,
    said: Analysis,
    *,
    logs: npt.NDArray[np.float64],
    means: npt.NDArray[np.float64],
    mean: bool,
    query_unread: int,
    text_unread: int,
) -> PairExplanation:
    """Explain a score.

    Parameters
    ----------
    query, text : str
    asked, said : Analysis
        Their pieces, those that are not read at the end.
    logs : ndarray of shape (L, n)
        ln T(q|d).
    means : ndarray of shape (n,)
        ln m(q), with its floor.
    mean : bool
        Whether the score is the mean over the pieces of the query, or their sum.
    query_unread, text_unread : int
    """
    largest = logs.max(axis=0, initial=-np.inf, keepdims=True)
    shares = np.exp(logs - largest)
    shares /= shares.sum(axis=0, keepdims=True)
    scores = means / len(means) if mean and len(means) else means
    contributions = []
    for place, (score, log_mean) in enumerate(zip(scores.tolist(), means.tolist(), strict=True)):
        sources = tuple(
            TextShare(
                said.tokens[row], _span(said, row), float(np.exp(logs[row, place])), share, share * score
            )
            for row, share in enumerate(shares[:, place].tolist())
        )
        contributions.append(
            QueryShare(asked.tokens[place], _span(asked, place), float(np.exp(log_mean)), score, sources)
        )
    return PairExplanation(query, text, float(scores.sum()), tuple(contributions), query_unread, text_unread)


def _span(analysis: Analysis, place: int) -> Span:
    begin, end = analysis.spans[place].tolist()
    return begin, end
