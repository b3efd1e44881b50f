"""Records of the explanation of a BERT-Model1 score: a sum over query tokens, each a sum over document tokens.

The contribution of a query token q is ln m(q), divided by the number of query tokens if scores are means. m(q) is the
mean of T(q|d) over the document tokens d. Therefore the share of d in the contribution of q is T(q|d) / (sum over all
d' of T(q|d')), and

    score = sum over q of (sum over d of share(q, d)) * contribution(q)

exactly. Contributions are at most 0; the better the text matches q, the larger is m(q), and the closer to 0 the
contribution.
"""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class TextShare:
    """Share of a document token in the contribution of a query token.

    Attributes
    ----------
    piece : str
        The token.
    span : (int, int)
        Position in the text, in characters.
    probability : float
        T(q|d), 0 to 1.
    share : float
        Share in the mean; the shares of a query token add up to 1.
    score : float
        `share` times the contribution of the query token.
    """

    piece: str
    span: Span
    probability: float
    share: float
    score: float


@dataclass(frozen=True)
class QueryShare:
    """Contribution of a query token.

    Attributes
    ----------
    piece : str
        The token.
    span : (int, int)
        Position in the query, in characters.
    mean : float
        m(q), at least 1e-8.
    score : float
        The contribution, at most 0.
    sources : tuple of TextShare
        One for each document token, in order; empty for an empty text.
    """

    piece: str
    span: Span
    mean: float
    score: float
    sources: tuple[TextShare, ...]


@dataclass(frozen=True)
class PairExplanation:
    """A score as a sum over query tokens.

    Attributes
    ----------
    query, text : str
    score : float
        The sum of the scores of `contributions`.
    contributions : tuple of QueryShare
        One for each query token that is read, in order.
    query_unread, text_unread : int
        Numbers of truncated tokens.
    """

    query: str
    text: str
    score: float
    contributions: tuple[QueryShare, ...]
    query_unread: int
    text_unread: int
