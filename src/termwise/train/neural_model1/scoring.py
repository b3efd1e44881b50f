"""From translation probabilities to scores.

With tf the occurrences of a document piece d in D, and |D| all pieces of D,

    m(q, D)   = sum over d of T'(q|d) * tf(d, D) / |D|,      T'(q|d) = p where q is d, else (1 - p) * T(q|d)
    score     = sum over the pieces q of the query, repetitions counted, of ln m(q, D)

divided by the pieces of the query where scores are means. The sum over d is one of logarithms (log-sum-exp), in
float32, over the different pieces of a document with their shares tf / |D|.

Nothing is padded: a query is seen beside the pieces of its documents, and beside nothing else, so a score cannot depend
on what else is in a batch.

When documents are ranked, m counts as at least 1e-8, as it does where a table scores. In training it does not: below
that floor there would be no gradient.
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
    """Score some documents for one query.

    Parameters
    ----------
    pair : Pair
    queries : float tensor of shape (n, p)
        Prepared vectors of the pieces of the query.
    documents : float tensor of shape (m, p)
        Prepared vectors of the pieces of the documents, one document after the other.
    times : float tensor of shape (n,)
        How much each piece of the query counts.
    shares : float tensor of shape (m,)
        tf / |D| of each piece in its document.
    sizes : sequence of int
        How many of the m pieces are of each document; one at least.
    same : bool tensor of shape (m, n), optional
        Whether two pieces are one term. Where it is not given there is no p.
    p_self : float, optional
        p, above 0 and below 1.

    Returns
    -------
    float32 tensor of shape (len(sizes),)
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
    """Score every document for every query, with m counted as at least 1e-8.

    Every pair of pieces is seen by the network once, whatever the number of texts it is in.

    Returns
    -------
    ndarray of shape (queries, documents)
        Sums over the pieces of a query; 0 for a query without any.
    """
    asked, query_terms = np.unique(queries.terms, return_inverse=True)
    held, document_terms = np.unique(documents.terms, return_inverse=True)
    wanted = Bags(queries.starts, query_terms.astype(np.int32), queries.counts)
    compact = Bags(documents.starts, document_terms.astype(np.int32), documents.counts)
    shares = compact.matrix(compact.shares().astype(np.float64), len(held)).tocsc()
    means = np.zeros((len(documents), len(asked)))
    columns = vectors_of(network, asked, query=True)
    for begin in range(0, len(held), _ROWS):
        part = held[begin : begin + _ROWS]
        block = network.pair.table(columns, vectors_of(network, part, query=False)).cpu().numpy()
        block = np.where(part[:, None] == asked, p_self, (1 - p_self) * block.astype(np.float64))
        means += shares[:, begin : begin + _ROWS] @ block
    logs = np.log(np.maximum(means, LEAST_MEAN))
    scores: npt.NDArray[np.float64] = wanted.matrix(queries.counts.astype(np.float64), len(asked)) @ logs.T
    return scores


def vectors_of(network: TranslationNetwork, terms: npt.NDArray[np.integer[Any]], *, query: bool) -> Tensor:
    """Return the prepared vectors of terms, on the device of the network."""
    numbers = torch.from_numpy(terms.astype(np.int64)).to(network.query_rows.weight.device)
    return network.queries(numbers) if query else network.documents(numbers)
