"""Losses and scores of a batch, as functions of tensors.

All losses take logits and use the stable forms of log sigmoid and cross-entropy. Logarithms are natural. In shapes, b
is the number of pairs, Q that of queries, D that of passages, and V the size of the vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from termwise.fast_dataclass import dataclass


@dataclass(frozen=True)
class QueryTerms:
    """Occurrences of terms in the queries of a batch, int64 of shape (n,): number of the query, and term.

    `queries` is Q. `weights`, of shape (n,), are 1 by default.
    """

    rows: Tensor
    terms: Tensor
    queries: int
    weights: Tensor | None = None

    def counts(self) -> tuple[Tensor, Tensor]:
        """Return the m distinct terms, and the sum of the weights of each in each query: float32 of shape (Q, m)."""
        distinct, position = torch.unique(self.terms, return_inverse=True)
        counts = torch.zeros((self.queries, len(distinct)), device=self.terms.device)
        each = torch.ones_like(position, dtype=counts.dtype) if self.weights is None else self.weights
        counts.index_put_((self.rows, position), each, accumulate=True)
        return distinct, counts


def likelihood_loss(logits: Tensor, rows: Tensor, terms: Tensor, kept: Tensor) -> Tensor:
    """Compute the cross-entropy of the terms of the other text of each pair, equation 7 of the TILDE paper.

    With M kept terms, y[i, t] = 1 if the other text of pair i contains the term t, and P = sigmoid(z):

        - sum over i of 1/M * sum over kept t of  y ln P + (1 - y) ln(1 - P)

    It is a sum over the batch, as in the published code. The logits z, of shape (b, V), are those of passages (query
    likelihood) or queries (document likelihood). The targets y are given by the positions of the ones, `rows` and
    `terms` of shape (n,), kept terms only, because a row of V values has about five ones. Terms outside of `kept`, bool
    of shape (V,), get no gradient.
    """
    # -[y ln s(z) + (1 - y) ln s(-z)] = softplus(z) - y z
    absent = functional.softplus(logits.float())[:, kept].sum()
    present = logits[rows, terms].float().sum()
    return (absent - present) / kept.sum()


def biqdl(query_likelihood: Tensor, document_likelihood: Tensor) -> Tensor:
    """Return the mean of the two likelihood losses, equation 8 of the TILDE paper."""
    return (query_likelihood + document_likelihood) / 2


def match_scores(weights: Tensor, terms: Tensor, query_terms: QueryTerms, n_terms: int) -> Tensor:
    """Score every query of a batch against every passage by matching terms, of shape (Q, D).

        S[q, d] = sum over occurrences i in q of  weight of i * max over positions j of d with the term of i of  w[d, j]

    The maximum is 0 for a term that the passage lacks. Instead of comparing all positions with all occurrences, each
    passage scatters its weights, by maximum, into the distinct terms of the queries. The weights w are 0 or more, and 0
    at positions that match no term (padding, special pieces). Weights and terms have the shape (D, l).
    """
    distinct, counts = query_terms.counts()
    return _sums(largest_weights(weights.float(), terms, distinct, n_terms), counts)


def largest_weights(weights: Tensor, terms: Tensor, distinct: Tensor, n_terms: int) -> Tensor:
    """Return the largest weight of each distinct term in each passage, of shape (D, m); 0 for an absent one."""
    slot = torch.full((n_terms,), len(distinct), dtype=torch.int64, device=terms.device)
    slot[distinct] = torch.arange(len(distinct), device=terms.device)
    pooled = weights.new_zeros((len(weights), len(distinct) + 1))
    return pooled.scatter_reduce(1, slot[terms], weights, "amax", include_self=True)[:, :-1]


def likelihood_scores(logits: Tensor, query_terms: QueryTerms) -> Tensor:
    """Score every query of a batch by its likelihood given every passage, of shape (Q, D).

        S[q, d] = sum over occurrences i in q of  ln sigmoid(logits[d, i])

    This is TILDE's query likelihood of all pairs, from the logits of the passages, of shape (D, V).
    """
    distinct, counts = query_terms.counts()
    return _sums(functional.logsigmoid(logits[:, distinct].float()), counts)


def vocabulary_scores(weights: Tensor, query_terms: QueryTerms) -> Tensor:
    """Score every query of a batch against every passage by weights over the vocabulary, of shape (Q, D).

        S[q, d] = sum over occurrences i in q of  weight of i * weights[d, i]

    The weights of the passages have the shape (D, V).
    """
    distinct, counts = query_terms.counts()
    return _sums(weights[:, distinct].float(), counts)


def _sums(values: Tensor, counts: Tensor) -> Tensor:
    """Sum the values of the terms of every query for every passage, in float32: sums of many terms keep 24 bits."""
    with torch.autocast(values.device.type, enabled=False):
        return counts @ values.T


def contrastive_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Compute the mean cross-entropy of the relevant passage, `targets` by query, among all passages of the batch."""
    return functional.cross_entropy(scores.float(), targets)


def distillation_loss(scores: Tensor, teacher: Tensor) -> Tensor:
    """Compute the Kullback-Leibler divergence from the softmax over passages of the teacher to that of the student.

    Both scores, of shape (Q, D), are logits; those of the teacher are already multiplied by its scale.
    """
    expected = functional.log_softmax(teacher.float(), dim=1)
    found = functional.log_softmax(scores.float(), dim=1)
    return functional.kl_div(found, expected, reduction="batchmean", log_target=True)


def margin_loss(scores: Tensor, teacher: Tensor, targets: Tensor, excluded: Tensor) -> Tensor:
    """Compute the mean squared difference of the margins of student and teacher (Hofstätter et al., arXiv 2010.02666).

    A margin is the score of the relevant passage, a column for each query, less that of another passage of the same
    query that is not excluded. The scores, of shape (Q, D), of the teacher are already multiplied by its scale.
    """
    differences = scores.float() - teacher.float()
    squares = (differences.gather(1, targets[:, None]) - differences).square()
    compared = (~excluded).scatter(1, targets[:, None], False)
    return (squares * compared).sum() / compared.sum().clamp(min=1)


def flops_loss(weights: Tensor, *, budget: int = 0) -> Tensor:
    """Compute the FLOPS regulariser of Paria et al. (2020): the sum of squared mean weights of each term.

        sum over terms t of  (1/b * sum over passages i of M[i] * w[i, t])^2
        M[i] = 1 if passage i has more than `budget` weights above 0, otherwise 0

    The mask M follows Shen et al. (arXiv 2504.14839, 2025): passages that already have few weights are not penalised.
    Without a budget this is the published regulariser, because passages without weights add nothing. The weights w, of
    shape (b, V), are 0 or more.
    """
    weights = weights.float()
    penalised = (weights > 0).sum(dim=1, keepdim=True) > budget
    return (weights * penalised).mean(dim=0).square().sum()
