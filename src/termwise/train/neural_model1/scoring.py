"""Scores of documents from translation probabilities.

With tf(d, D) the occurrences of the document piece d in D, and |D| the number of pieces of D,

    m(q, D)   = sum over d of T'(q|d) * tf(d, D) / |D|,      T'(q|d) = p if q is d, else (1 - p) * T(q|d)
    score     = sum over the pieces q of the query, repetitions counted, of ln m(q, D)

divided by the number of query pieces if scores are means. The sum over d is computed as a log-sum-exp in float32, over
the distinct pieces of a document with their shares tf / |D|.

There is no padding, so a score does not depend on the rest of the batch.

In ranking, m is at least 1e-8, as in the scores of a table. In training there is no such floor, because the gradient
below it would be 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from termwise.kernels.translation import LEAST_MEAN
from termwise.train.neural_model1.bags import Bags
from termwise.train.neural_model1.network import Pair, TranslationNetwork

_ROWS = 512


def scores_of(
    pair: Pair,
    queries: Tensor,
    documents: Tensor,
    *,
    times: Tensor,
    shares: Tensor,
    sizes: Sequence[int],
    same: Tensor | None = None,
    p_self: float = 0.0,
) -> Tensor:
    """Score documents for one query: float32 tensor, one score for each document.

    Parameters
    ----------
    queries, documents : float tensors of shape (n, p) and (m, p)
        Prepared vectors of the pieces of the query, and of the documents, document by document.
    times : float tensor of shape (n,)
        Weight of each query piece.
    shares : float tensor of shape (m,)
        tf / |D| of each piece in its document.
    sizes : sequence of int
        Number of pieces of each document, 1 or more; they sum to m.
    same : bool tensor of shape (m, n), optional
        Whether two pieces are the same term. Without it, p is not applied.
    p_self : float, optional
        p, above 0 and below 1.
    """
    logs = pair.log_probabilities(queries, documents)
    if same is not None:
        logs = torch.where(same, math.log(p_self), logs + math.log1p(-p_self))
    logs = logs + shares.log()[:, None]
    return torch.stack([part.logsumexp(0) for part in logs.split(list(sizes))]) @ times


@torch.no_grad()
def rank_all(
    network: TranslationNetwork, queries: Bags, documents: Bags, *, p_self: float
) -> npt.NDArray[np.float64]:
    """Score every document for every query, with m at least 1e-8: shape (queries, documents), 0 for an empty query.

    The network computes each distinct pair of pieces once.
    """
    query_terms, query_columns = np.unique(queries.terms, return_inverse=True)
    document_terms, document_columns = np.unique(documents.terms, return_inverse=True)
    compact_queries = Bags(queries.starts, query_columns.astype(np.int32), queries.counts)
    compact = Bags(documents.starts, document_columns.astype(np.int32), documents.counts)
    shares = compact.matrix(compact.shares().astype(np.float64), len(document_terms)).tocsc()
    means = np.zeros((len(documents), len(query_terms)))
    query_vectors = vectors_of(network, query_terms, query=True)
    for begin in range(0, len(document_terms), _ROWS):
        part = document_terms[begin : begin + _ROWS]
        block = network.pair.table(query_vectors, vectors_of(network, part, query=False)).cpu().numpy()
        block = np.where(part[:, None] == query_terms, p_self, (1 - p_self) * block.astype(np.float64))
        means += shares[:, begin : begin + _ROWS] @ block
    logs = np.log(np.maximum(means, LEAST_MEAN))
    counts = compact_queries.matrix(queries.counts.astype(np.float64), len(query_terms))
    scores: npt.NDArray[np.float64] = counts @ logs.T
    return scores


def vectors_of(network: TranslationNetwork, terms: npt.NDArray[np.integer[Any]], *, query: bool) -> Tensor:
    """Return the prepared vectors of terms, on the device of the network."""
    numbers = torch.from_numpy(terms.astype(np.int64)).to(network.query_rows.weight.device)
    return network.queries(numbers) if query else network.documents(numbers)
