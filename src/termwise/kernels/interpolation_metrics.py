"""Measures of an interpolation of two scores, as functions of its weight.

The score of a document is ``alpha * first + (1 - alpha) * second``, a straight line in alpha. Two documents swap where
their lines cross, at most once. A measure depends only on the ranks of the relevant documents. It therefore changes
only at crossings of relevant documents with other documents: at most m * n crossings for m relevant documents among n,
which are sorted once. With a cutoff k, documents with k others above them at every alpha never reach the cutoff, and
are removed first.

`tests/reference` defines each function; ranks agree exactly, values within 1e-12.
"""

from __future__ import annotations

import math

import numpy as np

from termwise.kernels.jit import Array, compiled, compiled_for
from termwise.kernels.sorting import descending

NDCG, AP, RR, P, R, SUCCESS = range(6)
"""Values of the argument `kind`."""


@compiled
def value_of_ranks(ranks: Array, gains: Array, kind: int, cutoff: int, norm: float) -> float:
    """Return the value of a measure from the ranks of the relevant documents; agrees with `reference.value_of_ranks`.

    Parameters
    ----------
    ranks : ndarray of shape (m,), int64
        Ranks from 1, distinct.
    gains : ndarray of shape (m,), float64
        Gain of each document, above 0.
    kind : int
        Measure, see above.
    cutoff : int
        Documents at higher ranks are ignored.
    norm : float
        Divisor of the sum: the largest possible DCG for nDCG, the number of relevant documents for AP and R, the cutoff
        for P, 1 for RR and Success. If `norm` is 0, the value is 0.
    """
    if norm <= 0:
        return 0.0
    total = 0.0
    if kind == NDCG:
        for i in range(len(ranks)):
            if ranks[i] <= cutoff:
                total += gains[i] / math.log2(ranks[i] + 1)
    elif kind == AP:
        order = descending(ranks, 0, len(ranks))
        for i in range(len(order)):
            rank = ranks[order[len(order) - 1 - i]]
            if rank > cutoff:
                break
            total += (i + 1) / rank
    elif kind in (RR, SUCCESS):
        best = cutoff + 1
        for i in range(len(ranks)):
            best = min(best, ranks[i])
        if best <= cutoff:
            total = 1 / best if kind == RR else 1.0
    else:
        for i in range(len(ranks)):
            if ranks[i] <= cutoff:
                total += 1.0
    return total / norm


@compiled_for("int64[:], float64[:], int64[:], float64[:], float64[:], int64, int64")
def query_values(
    indptr: Array, scores: Array, places: Array, gains: Array, norms: Array, kind: int, cutoff: int
) -> Array:
    """Return the value of a measure for every query; agrees with `reference.query_values`.

    Parameters
    ----------
    indptr : ndarray of shape (q + 1,), int64
        Boundaries of the queries in the arrays of documents.
    scores, gains : ndarrays of shape (n,), float64
        Score and gain of each document; the gain is 0 unless it is relevant.
    places : ndarray of shape (n,), int64
        Order of documents with equal scores.
    norms, kind, cutoff
        See `value_of_ranks`; `norms` has shape (q,).

    Returns
    -------
    ndarray of shape (q,), float64
    """
    values = np.zeros(len(norms), dtype=np.float64)
    for query in range(len(norms)):
        first = indptr[query]
        last = indptr[query + 1]
        n_relevant = np.int64(0)
        ranks = np.empty(last - first, dtype=np.int64)
        relevant_gains = np.empty(last - first, dtype=np.float64)
        for own in range(first, last):
            if gains[own] <= 0:
                continue
            rank = 1
            for other in range(first, last):
                if scores[other] > scores[own] or (
                    scores[other] == scores[own] and places[other] < places[own]
                ):
                    rank += 1
                    if rank > cutoff:
                        break
            ranks[n_relevant] = rank
            relevant_gains[n_relevant] = gains[own]
            n_relevant += 1
        values[query] = value_of_ranks(
            ranks[:n_relevant], relevant_gains[:n_relevant], kind, cutoff, norms[query]
        )
    return values


@compiled
def undominated(first: Array, second: Array, most: int) -> Array:
    """Return the documents that are among the first `most` at some alpha; agrees with `reference.undominated`.

    Parameters
    ----------
    first, second : ndarrays of shape (n,), float64
        Two scores of each document.
    most : int
        At least 1.

    Returns
    -------
    ndarray of shape (m,), int64
        Positions, increasing.
    """
    n = len(first)
    if n <= most:
        return np.arange(n)
    # In the order of first score, second score and position, a document precedes the documents that it dominates.
    by_second = descending(second, 0, n)
    order = by_second[descending(first[by_second], 0, n)]
    highest = np.empty(most, dtype=np.float64)  # second scores so far, descending
    n_highest = 0
    kept = np.zeros(n, dtype=np.bool_)
    for i in order:
        if n_highest == most and highest[most - 1] >= second[i]:
            continue
        kept[i] = True
        place = min(n_highest, most - 1)
        while place > 0 and highest[place - 1] < second[i]:
            highest[place] = highest[place - 1]
            place -= 1
        highest[place] = second[i]
        n_highest = min(n_highest + 1, most)
    return np.flatnonzero(kept)


@compiled
def _share(rank: int, number: int, gain: float, kind: int, cutoff: int) -> float:
    """Return the summand of a relevant document in a measure that is a sum."""
    if rank > cutoff:
        return 0.0
    if kind == NDCG:
        return gain / math.log2(rank + 1)
    return number / rank if kind == AP else 1.0


@compiled_for("float64[:], float64[:], float64[:], int64, int64, float64")
def query_steps(
    first: Array, second: Array, gains: Array, kind: int, cutoff: int, norm: float
) -> tuple[Array, Array]:
    """Return a measure of one query as a step function of alpha; agrees with `reference.query_steps`.

    Crossings are rounded to float64. Rounding may separate equal ones, so steps shorter than about 1e-15 are not real.

    Parameters
    ----------
    first, second, gains : ndarrays of shape (n,), float64
        Two finite scores of each document, and its gain: 0 unless it is relevant.
    kind, cutoff, norm
        See `value_of_ranks`.

    Returns
    -------
    alphas : ndarray of shape (s,), float64
        Starts of the steps, from 0 to at most 1, ascending.
    values : ndarray of shape (s,), float64
        Value from each start to the next. Neighbours differ by more than 1e-12.
    """
    kept = undominated(first, second, cutoff)
    x = first[kept]
    y = second[kept]
    gain = gains[kept]
    relevant = np.flatnonzero(gain > 0)
    n_relevant = len(relevant) if norm > 0 else 0
    ranks = np.ones(n_relevant, dtype=np.int64)
    numbers = np.ones(n_relevant, dtype=np.int64)  # ranks among the relevant documents
    places = np.empty(n_relevant * len(x), dtype=np.float64)
    falls = np.empty(n_relevant * len(x), dtype=np.bool_)
    who = np.empty(n_relevant * len(x), dtype=np.int32)
    past_relevant = np.empty(n_relevant * len(x), dtype=np.bool_)
    found = 0
    for i in range(n_relevant):
        own = relevant[i]
        for other in range(len(x)):
            dx = x[other] - x[own]
            dy = y[other] - y[own]
            above = dy > 0 or (dy == 0 and (dx > 0 or (dx == 0 and other < own)))
            if above:
                ranks[i] += 1
                numbers[i] += gain[other] > 0
            if (dy > 0 and dx < 0) or (dy < 0 and dx > 0):
                places[found] = dy / (dy - dx)
                falls[found] = not above
                who[found] = i
                past_relevant[found] = gain[other] > 0
                found += 1
    order = descending(-places, 0, found)
    gained = gain[relevant[:n_relevant]]
    total = 0.0
    for i in range(n_relevant):
        total += _share(ranks[i], numbers[i], gained[i], kind, cutoff)
    alphas = np.empty(found + 1, dtype=np.float64)
    values = np.empty(found + 1, dtype=np.float64)
    alphas[0] = 0.0
    values[0] = value_of_ranks(ranks, gained, kind, cutoff, norm)
    steps = 1
    i = 0
    while i < found:
        alpha = places[order[i]]
        seen = False
        while i < found and places[order[i]] == alpha:
            event = order[i]
            own = who[event]
            step = 1 if falls[event] else -1
            seen = seen or min(ranks[own], ranks[own] + step) <= cutoff
            total -= _share(ranks[own], numbers[own], gained[own], kind, cutoff)
            ranks[own] += step
            if past_relevant[event]:
                numbers[own] += step
            total += _share(ranks[own], numbers[own], gained[own], kind, cutoff)
            i += 1
        if seen:
            first_alone = kind in (RR, SUCCESS)
            value = value_of_ranks(ranks, gained, kind, cutoff, norm) if first_alone else total / norm
            if abs(value - values[steps - 1]) > 1e-12:
                alphas[steps] = alpha
                values[steps] = value
                steps += 1
    return alphas[:steps].copy(), values[:steps].copy()
