"""The losses, by hand and against slow float64 loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from termwise.train.objectives import (  # noqa: E402
    QueryTerms,
    biqdl,
    contrastive_loss,
    distillation_loss,
    flops_loss,
    likelihood_loss,
    likelihood_scores,
    margin_loss,
    match_scores,
    vocabulary_scores,
)


def ids(*values: int):
    return torch.tensor(values, dtype=torch.int64)


def test_likelihood_loss_by_hand():
    # sigmoid(0) = 1/2, sigmoid(ln 3) = 3/4; the third term is cleaned away.
    logits = torch.tensor([[0.0, math.log(3), 5.0]])
    kept = torch.tensor([True, True, False])
    loss = likelihood_loss(logits, ids(0), ids(0), kept)
    assert loss.item() == pytest.approx((math.log(2) + math.log(4)) / 2, rel=1e-6)


def test_likelihood_loss_is_a_sum_over_the_batch():
    logits = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    kept = torch.tensor([True, True])
    assert likelihood_loss(logits, ids(1), ids(0), kept).item() == pytest.approx(3 * math.log(2))


def test_stop_logits_get_no_gradient_and_the_others_p_minus_y():
    logits = torch.tensor([[0.0, math.log(3), 5.0, -4.0]], requires_grad=True)
    kept = torch.tensor([True, True, False, False])
    likelihood_loss(logits, ids(0), ids(0), kept).backward()
    assert logits.grad[0, 2:].tolist() == [0.0, 0.0]
    assert logits.grad[0, :2].tolist() == pytest.approx([(0.5 - 1) / 2, 0.75 / 2])


def test_biqdl_is_the_masked_cross_entropy_over_twice_the_kept_terms():
    random = torch.Generator().manual_seed(3)
    for_passages, for_queries = (torch.randn(4, 9, generator=random, dtype=torch.float64) for _ in range(2))
    in_query, in_passage = (torch.rand(4, 9, generator=random) < 0.3 for _ in range(2))
    kept = torch.tensor([True] * 7 + [False] * 2)
    expected = 0.0
    for logits, wanted in ((for_passages, in_query), (for_queries, in_passage)):
        p = 1 / (1 + torch.exp(-logits))
        terms = torch.where(wanted, -torch.log(p), -torch.log(1 - p))
        expected += terms[:, kept].sum().item()
    losses = [
        likelihood_loss(logits, *torch.nonzero(wanted & kept, as_tuple=True), kept)
        for logits, wanted in ((for_passages, in_query), (for_queries, in_passage))
    ]
    assert biqdl(*losses).item() == pytest.approx(expected / (2 * 7), rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_saturated_logits_stay_finite(dtype):
    logits = torch.tensor([[200.0, -200.0]], dtype=dtype, requires_grad=True)
    loss = likelihood_loss(logits, ids(0), ids(1), torch.tensor([True, True]))
    assert loss.dtype == torch.float32
    assert loss.item() == 200.0
    loss.backward()
    assert logits.grad.tolist() == [[0.5, -0.5]]


def test_a_pair_without_kept_terms_has_no_targets():
    logits = torch.zeros(1, 2)
    assert likelihood_loss(logits, ids(), ids(), torch.tensor([True, True])).item() == pytest.approx(
        math.log(2)
    )


def slow_scores(weights, terms, queries):
    """Return scores by the definition, in float64, and the gradient of the weights."""
    scores = np.zeros((len(queries), len(weights)))
    gradient = np.zeros((len(queries), *weights.shape))
    for q, query in enumerate(queries):
        for d, row in enumerate(terms):
            for term in query:
                places = [j for j, other in enumerate(row) if other == term]
                if places:
                    best = max(places, key=lambda j: weights[d, j])
                    scores[q, d] += weights[d, best]
                    gradient[q, d, best] += 1
    return scores, gradient


@st.composite
def matches(draw):
    passages, length, queries = draw(st.integers(1, 4)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    distinct = draw(st.permutations(range(1, passages * length + 1)))
    weights = np.array(distinct, dtype=np.float64).reshape(passages, length) / 8
    term = st.integers(0, 6)
    terms = draw(
        st.lists(st.lists(term, min_size=length, max_size=length), min_size=passages, max_size=passages)
    )
    asked = draw(st.lists(st.lists(term, max_size=5), min_size=queries, max_size=queries))
    return weights, terms, asked


@settings(max_examples=40)
@given(matches())
def test_match_scores_and_their_gradient_equal_the_definition(case):
    weights, terms, queries = case
    expected, gradient = slow_scores(weights, terms, queries)
    given_weights = torch.tensor(weights, dtype=torch.float32, requires_grad=True)
    rows = ids(*(q for q, query in enumerate(queries) for _ in query))
    asked = ids(*(term for query in queries for term in query))
    scores = match_scores(given_weights, torch.tensor(terms), QueryTerms(rows, asked, len(queries)), 7)
    assert scores.tolist() == expected.tolist()
    factors = torch.arange(1.0, scores.numel() + 1).reshape(scores.shape)
    (scores * factors).sum().backward()
    wanted = (gradient * factors.numpy()[:, :, None]).sum(axis=0)
    assert given_weights.grad.tolist() == wanted.tolist()


def test_vocabulary_scores_equal_match_scores_of_all_terms():
    weights = torch.rand(3, 9, generator=torch.Generator().manual_seed(1)).requires_grad_()
    rows, asked = ids(0, 0, 0, 2), ids(4, 4, 8, 1)
    scores = vocabulary_scores(weights, QueryTerms(rows, asked, 3))
    same = match_scores(weights, torch.arange(9).expand(3, 9), QueryTerms(rows, asked, 3), 9)
    assert scores.tolist() == same.tolist()
    factors = torch.arange(1.0, 10.0).reshape(3, 3)
    (gradient,) = torch.autograd.grad((scores * factors).sum(), weights)
    (expected,) = torch.autograd.grad((same * factors).sum(), weights)
    assert gradient.tolist() == expected.tolist()


def test_a_repeated_query_term_counts_twice_and_a_repeated_passage_term_once():
    weights = torch.tensor([[2.0, 3.0, 1.0]])
    scores = match_scores(weights, torch.tensor([[4, 4, 5]]), QueryTerms(ids(0, 0, 1), ids(4, 4, 5), 2), 6)
    assert scores.tolist() == [[6.0], [1.0]]


def test_occurrences_are_weighted():
    weights = torch.tensor([[2.0, 3.0, 1.0]])
    query_terms = QueryTerms(ids(0, 0, 1), ids(4, 4, 5), 2, torch.tensor([0.5, 0.25, 4.0]))
    scores = match_scores(weights, torch.tensor([[4, 4, 5]]), query_terms, 6)
    assert scores.tolist() == [[3.0 * 0.75], [1.0 * 4.0]]
    whole = torch.tensor([[0.0, 0.0, 0.0, 0.0, 3.0, 1.0]])
    assert vocabulary_scores(whole, query_terms).tolist() == scores.tolist()


def test_queries_without_terms_score_zero_and_have_gradients():
    weights = torch.tensor([[2.0, 3.0], [1.0, 1.0]], requires_grad=True)
    scores = match_scores(weights, torch.tensor([[1, 2], [1, 3]]), QueryTerms(ids(), ids(), 2), 4)
    assert scores.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    loss = contrastive_loss(scores, ids(0, 1))
    assert loss.item() == pytest.approx(math.log(2))
    loss.backward()
    assert weights.grad.abs().max().item() == 0.0


def test_term_numbers_beyond_sixteen_bits():
    terms = torch.tensor([[40_000, 32_768, 7]])
    scores = match_scores(
        torch.tensor([[1.0, 2.0, 4.0]]), terms, QueryTerms(ids(0, 0), ids(40_000, 32_768), 1), 50_000
    )
    assert scores.tolist() == [[3.0]]


def test_sums_keep_their_digits_under_autocast():
    # 300 terms of 1 + 2^-9: in bfloat16 each would be 1, and their sum 300.
    weights = torch.full((1, 300), 1 + 2**-9)
    terms = torch.arange(300)[None]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = match_scores(
            weights, terms, QueryTerms(torch.zeros(300, dtype=torch.int64), terms[0], 1), 300
        )
    assert scores.item() == pytest.approx(300 * (1 + 2**-9), rel=1e-6)


def test_contrastive_loss_by_hand():
    # Two passages; the right one has 3 : 1 and 1 : 1.
    scores = torch.tensor([[math.log(3), 0.0], [2.0, 2.0]])
    assert contrastive_loss(scores, ids(0, 1)).item() == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)


def test_passages_at_minus_infinity_are_excluded():
    scores = torch.tensor([[0.0, -math.inf, 0.0]], requires_grad=True)
    loss = contrastive_loss(scores, ids(0))
    assert loss.item() == pytest.approx(math.log(2))
    loss.backward()
    assert scores.grad[0, 1].item() == 0.0


def test_distillation_loss_by_hand():
    teacher = torch.tensor([[math.log(3), 0.0]])
    assert distillation_loss(teacher, teacher).item() == pytest.approx(0.0, abs=1e-7)
    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    assert distillation_loss(torch.zeros(1, 2), teacher).item() == pytest.approx(expected)
    twice = distillation_loss(torch.zeros(2, 2), teacher.expand(2, 2))
    assert twice.item() == pytest.approx(expected)  # a mean over queries


def test_flops_loss_by_hand():
    weights = torch.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    assert flops_loss(weights).item() == pytest.approx(2.0**2 + 1.0**2)


def test_passages_within_the_budget_are_not_penalised():
    weights = torch.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0], [1.0, 1.0, 4.0]], requires_grad=True)
    assert flops_loss(weights, budget=0).item() == pytest.approx((5 / 3) ** 2 + (1 / 3) ** 2 + 2.0**2)
    loss = flops_loss(weights, budget=1)  # the second passage has one weight
    assert loss.item() == pytest.approx((2 / 3) ** 2 + (1 / 3) ** 2 + 2.0**2)
    loss.backward()
    # d/dw = 2 * mean / 3 for passages over the budget
    expected = [[4 / 9, 2 / 9, 4 / 3], [0.0, 0.0, 0.0], [4 / 9, 2 / 9, 4 / 3]]
    torch.testing.assert_close(weights.grad, torch.tensor(expected))
    assert flops_loss(weights, budget=3).item() == 0.0


def test_margin_loss_by_hand():
    scores = torch.tensor([[3.0, 1.0, 9.0], [0.0, 2.0, 1.0]], requires_grad=True)
    teacher = torch.tensor([[2.0, 1.0, 0.0], [4.0, 1.0, 3.0]])
    excluded = torch.tensor([[False, False, True], [False, False, False]])
    # Margins of student and teacher: 2, 1 for the first query; 2, -3 and 1, -2 for the second.
    loss = margin_loss(scores, teacher, ids(0, 1), excluded)
    margins = [(2, 1), (2, -3), (1, -2)]
    assert loss.item() == pytest.approx(sum((one - other) ** 2 for one, other in margins) / 3)
    loss.backward()
    assert scores.grad[0, 2].item() == 0.0
    assert scores.grad[0].tolist() == pytest.approx([2 / 3, -2 / 3, 0.0])
    assert margin_loss(teacher, teacher + 5, ids(0, 1), excluded).item() == 0.0
    nothing = torch.tensor([[False, True, True], [True, False, True]])
    assert margin_loss(scores, teacher, ids(0, 1), nothing).item() == 0.0


def test_likelihood_scores_by_hand():
    logits = torch.tensor([[0.0, 2.0, -1.0], [1.0, 0.0, 3.0]])
    rows, terms = torch.tensor([0, 0, 0, 1]), torch.tensor([1, 1, 2, 0])
    scores = likelihood_scores(logits, QueryTerms(rows, terms, 3))

    def ln(z: float) -> float:
        return -math.log1p(math.exp(-z))

    expected = [[2 * ln(2) + ln(-1), 2 * ln(0) + ln(3)], [ln(0), ln(1)], [0.0, 0.0]]
    assert scores.tolist() == [pytest.approx(row, rel=1e-6) for row in expected]
