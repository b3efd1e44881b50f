"""Scores of rows, rankings and impacts, in plain loops."""

from __future__ import annotations

from collections.abc import Sequence


def score_rows(
    indptr: Sequence[int],
    terms: Sequence[int],
    impacts: Sequence[float],
    bias: Sequence[int],
    rows: Sequence[int],
    query_terms: Sequence[int],
    query_weights: Sequence[int],
    background_weight: int,
) -> tuple[list[float], list[bool]]:
    """Score rows of a forward view for one query; the parameter `slots` is not needed.

    Returns
    -------
    scores : list of length m
        Sum over shared terms of weight times impact, plus ``background_weight`` times the bias.
    matched : list of bool, length m
        Whether the row shares a term with the query; other rows are not results.
    """
    weight_of = dict(zip(query_terms, query_weights, strict=True))
    scores: list[float] = []
    matched: list[bool] = []
    for row in rows:
        score: float = 0
        shared = False
        for position in range(indptr[row], indptr[row + 1]):
            if terms[position] in weight_of:
                score += weight_of[terms[position]] * impacts[position]
                shared = True
        if len(bias):
            score += background_weight * bias[row]
        scores.append(score)
        matched.append(shared)
    return scores, matched


def top_k(scores: Sequence[float], matched: Sequence[bool], k: int) -> list[int]:
    """Return the positions of the `k` best matched scores: score descending, ties by position."""
    results = [position for position in range(len(scores)) if matched[position]]
    results.sort(key=lambda position: (-scores[position], position))
    return results[:k]


def quantise(weights: Sequence[float], scale: float) -> list[int]:
    """Turn positive weights into impacts 1 to 255: the nearest multiple of `scale`, never 0.

    Half-way cases are rounded to the even multiple, as in IEEE 754.
    """
    return [min(255, max(1, round(float(weight) / scale))) for weight in weights]
