"""Explanation of a BERT-Model1 score: a sum over query tokens, each a sum over document tokens.

The contribution of a query token q is ln m(q), divided by the number of query tokens if scores are means. m(q) is the
mean of T(q|d) over the document tokens d. Therefore the share of d in the contribution of q is T(q|d) / (sum over all
d' of T(q|d')), and

    score = sum over q of (sum over d of share(q, d)) * contribution(q)

exactly. Contributions are at most 0; the better the text matches q, the larger is m(q), and the closer to 0 the
contribution.
"""

from __future__ import annotations

import numpy as np
import torch

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.text import Analysis
from termwise.validation import check
from termwise.yardsticks.rerankers.bert_model1 import BertModel1, log_means, with_floor
from termwise.yardsticks.rerankers.scorer import RerankerScorer, on_device

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


@torch.inference_mode()
def explain_pair(scorer: RerankerScorer, query: str, text: str) -> PairExplanation:
    """Explain a score of BERT-Model1 as a sum over query tokens.

    Parameters
    ----------
    scorer : RerankerScorer
        Its network is a `BertModel1`.
    query, text : str

    Returns
    -------
    PairExplanation
        One contribution per query token, a sum over the tokens of the text. The contributions add up to the score.

    Raises
    ------
    ParameterError
        If the network is of another kind, or an argument is not a string.
    """
    network = scorer.network
    if not isinstance(network, BertModel1):
        raise ParameterError(
            "only scores of BERT-Model1 are sums over query tokens",
            facts=[("scorer", scorer.name), ("kind", network.kind)],
        )
    check("query", query, isinstance(query, str), "a string")
    check("text", text, isinstance(text, str), "a string")
    reading, pieces = network.reading, scorer.pieces
    pair = reading.of_query(pieces(query)), reading.of_document(pieces(text))
    logs, means = np.empty((0, len(pair[0]))), np.empty(0)
    if len(pair[0]):
        batch = on_device(network.inputs([pair], pieces), network)
        (windows,) = batch["texts"].value
        translations = network.log_translations(windows, network.window_vectors(batch, windows=scorer.batch))
        logs = translations.double().cpu().numpy()
        means = with_floor(log_means(translations)).cpu().numpy()
    shares = np.exp(logs - logs.max(axis=0, initial=-np.inf, keepdims=True))
    shares /= shares.sum(axis=0, keepdims=True)
    scores = means / len(means) if reading.score_norm == "mean" and len(means) else means
    query_analysis, text_analysis = map(pieces.analyzer.analyze, (query, text))
    contributions = []
    for position, (score, log_mean) in enumerate(zip(scores.tolist(), means.tolist(), strict=True)):
        sources = tuple(
            TextShare(
                text_analysis.tokens[row],
                _span(text_analysis, row),
                float(np.exp(logs[row, position])),
                share,
                share * score,
            )
            for row, share in enumerate(shares[:, position].tolist())
        )
        token, span = query_analysis.tokens[position], _span(query_analysis, position)
        contributions.append(QueryShare(token, span, float(np.exp(log_mean)), score, sources))
    unread = scorer.unread(query, [text])
    return PairExplanation(
        query, text, float(scores.sum()), tuple(contributions), unread.query, int(unread.texts[0])
    )


def _span(analysis: Analysis, place: int) -> Span:
    begin, end = analysis.spans[place].tolist()
    return begin, end
