"""Records of the explanation of a BERT-Model1 score: a sum over query tokens, each a sum over document tokens.

The contribution of a query token q is ln m(q), divided by the number of query tokens if scores are means. m(q) is the
mean of T(q|d) over the document tokens d. Therefore the share of d in the contribution of q is T(q|d) / (sum over all
d' of T(q|d')), and

    score = sum over q of (sum over d of share(q, d)) * contribution(q)

exactly. Contributions are at most 0; the better the text matches q, the larger is m(q), and the closer to 0 the
contribution.
"""

from __future__ import annotations

from termwise.fast_dataclass import dataclass

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
