"""The losses, each as a function of tensors.

All of them work on logits and use the stable forms of log sigmoid and cross-entropy. Natural logarithms.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def likelihood_loss(logits: Tensor, rows: Tensor, terms: Tensor, kept: Tensor) -> Tensor:
    """Compute how unlikely the terms of the other side are, and how likely the terms it does not have.

    With M kept terms, y[i, t] = 1 where the other side of pair i has the term t, and P = sigmoid(z):

        - sum over i of 1/M * sum over kept t of  y ln P + (1 - y) ln(1 - P)

    that is, equation 7 of the TILDE paper; a sum over the batch, as in the published code. The targets come as
    the positions of the ones, since a row of V zeros and ones has about five ones.

    Parameters
    ----------
    logits : float tensor of shape (b, V)
        z, for passages (query likelihood) or queries (document likelihood).
    rows, terms : int64 tensors of shape (n,)
        Pairs (i, t) with y = 1, each once, kept terms only.
    kept : bool tensor of shape (V,)
        The terms that count. The logits of the others get no gradient.

    Returns
    -------
    float tensor of shape ()
    """
    # -[y ln s(z) + (1 - y) ln s(-z)] = softplus(z) - y z
    absent = functional.softplus(logits.float())[:, kept].sum()
    present = logits[rows, terms].float().sum()
    return (absent - present) / kept.sum()


def biqdl(query_likelihood: Tensor, document_likelihood: Tensor) -> Tensor:
    """Return the mean of the two likelihood losses, equation 8 of the TILDE paper."""
    return (query_likelihood + document_likelihood) / 2


def match_scores(
    weights: Tensor,
    terms: Tensor,
    query_rows: Tensor,
    query_terms: Tensor,
    n_queries: int,
    n_terms: int,
    *,
    query_weights: Tensor | None = None,
) -> Tensor:
    """Score every query of a batch against every passage by its matching terms.

        S[q, d] = sum over occurrences i of q of  max over positions j of d with term i of  weights[d, j]

    each times the weight of the occurrence, if there are any; and 0 for a term that the passage does not have. Instead
    of comparing all positions with all (a tensor of Q x l_q x D x l_d), each passage scatters its weights, by maximum,
    into the distinct terms of the queries.

    Parameters
    ----------
    weights : float tensor of shape (D, l)
        0 or more; 0 where nothing may match (padding, special pieces).
    terms : int64 tensor of shape (D, l)
        The term at each position.
    query_rows, query_terms : int64 tensors of shape (n,)
        The occurrences: number of the query and term.
    n_queries, n_terms : int
        Q, and the size of the vocabulary.
    query_weights : float tensor of shape (n,), optional
        What each occurrence counts; 1 unless given.

    Returns
    -------
    float tensor of shape (Q, D)
    """
    weights = weights.float()
    distinct, counts = _counts(query_rows, query_terms, n_queries, query_weights)
    slot = torch.full((n_terms,), len(distinct), dtype=torch.int64, device=terms.device)
    slot[distinct] = torch.arange(len(distinct), device=terms.device)
    pooled = weights.new_zeros((len(weights), len(distinct) + 1))
    pooled = pooled.scatter_reduce(1, slot[terms], weights, "amax", include_self=True)
    return _sums(pooled[:, :-1], counts)


def likelihood_scores(logits: Tensor, query_rows: Tensor, query_terms: Tensor, n_queries: int) -> Tensor:
    """Score every query of a batch by its likelihood given every passage.

        S[q, d] = sum over occurrences i of q of  ln sigmoid(logits[d, i])

    which is TILDE's query likelihood for all pairs, from the logits that the passages have anyway.

    Parameters
    ----------
    logits : float tensor of shape (D, V)
    query_rows, query_terms : int64 tensors of shape (n,)
        The occurrences: number of the query and term.
    n_queries : int
        Q.

    Returns
    -------
    float tensor of shape (Q, D)
    """
    distinct, counts = _counts(query_rows, query_terms, n_queries)
    return _sums(functional.logsigmoid(logits[:, distinct].float()), counts)


def vocabulary_scores(
    weights: Tensor,
    query_rows: Tensor,
    query_terms: Tensor,
    n_queries: int,
    *,
    query_weights: Tensor | None = None,
) -> Tensor:
    """Score every query of a batch against every passage that has a weight for each term of the vocabulary.

        S[q, d] = sum over occurrences i of q of  weights[d, i]

    each times the weight of the occurrence, if there are any.

    Parameters
    ----------
    weights : float tensor of shape (D, V)
    query_rows, query_terms : int64 tensors of shape (n,)
        The occurrences: number of the query and term.
    n_queries : int
        Q.
    query_weights : float tensor of shape (n,), optional
        What each occurrence counts; 1 unless given.

    Returns
    -------
    float tensor of shape (Q, D)
    """
    distinct, counts = _counts(query_rows, query_terms, n_queries, query_weights)
    return _sums(weights[:, distinct].float(), counts)


def _counts(
    query_rows: Tensor, query_terms: Tensor, n_queries: int, query_weights: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the m distinct terms of the queries, and what each counts in each query: of shape (Q, m), float32."""
    distinct, position = torch.unique(query_terms, return_inverse=True)
    counts = torch.zeros((n_queries, len(distinct)), device=query_terms.device)
    each = torch.ones_like(position, dtype=counts.dtype) if query_weights is None else query_weights
    counts.index_put_((query_rows, position), each, accumulate=True)
    return distinct, counts


def _sums(values: Tensor, counts: Tensor) -> Tensor:
    """Add up the values of the terms of every query, for every passage: sums of many terms keep their 24 bits."""
    with torch.autocast(values.device.type, enabled=False):
        return counts @ values.T


def contrastive_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Compute the mean cross-entropy of the right passage among all passages of the batch.

    Parameters
    ----------
    scores : float tensor of shape (Q, D)
    targets : int64 tensor of shape (Q,)
        Column of the relevant passage of each query: i x group for the i-th query.
    """
    return functional.cross_entropy(scores.float(), targets)


def distillation_loss(scores: Tensor, teacher: Tensor) -> Tensor:
    """Compute the Kullback-Leibler divergence of the softmax over passages from the teacher's.

    Parameters
    ----------
    scores, teacher : float tensors of shape (Q, D)
        Both in the units of a logit; the teacher's temperature is applied already.
    """
    wanted = functional.log_softmax(teacher.float(), dim=1)
    found = functional.log_softmax(scores.float(), dim=1)
    return functional.kl_div(found, wanted, reduction="batchmean", log_target=True)


def flops_loss(weights: Tensor) -> Tensor:
    """Compute the expected number of multiplications of a posting list, Paria et al. (2020): sum of squared means.

    Parameters
    ----------
    weights : float tensor of shape (b, V)
        0 or more.
    """
    return weights.float().mean(dim=0).square().sum()
