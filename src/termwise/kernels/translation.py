"""Term weights and scores from the translation table of IBM Model 1."""

from __future__ import annotations

import math

import numpy as np

from termwise.kernels.jit import Array, compiled, compiled_for, variants
from termwise.kernels.sorting import copy_of, descending, nth_largest

LEAST_MEAN = 1e-8
"""Lower bound of mean translation probabilities without smoothing."""

OK = 0
CORRUPT = 1


def transpose(starts: Array, numbers: Array, values: Array) -> tuple[Array, Array, Array]:
    """Convert a square table from rows to columns; agrees with `reference.transpose`.

    Parameters
    ----------
    starts : ndarray of shape (n + 1,), int64
        Row boundaries.
    numbers : ndarray of shape (nnz,), int32
        Column of each entry, 0 to n - 1, distinct in a row.
    values : ndarray of shape (nnz,)
        Entries.

    Returns
    -------
    starts, numbers, values
        The same by column; row numbers are strictly increasing in a column.
    """
    from scipy.sparse import csr_array

    n = len(starts) - 1
    table = csr_array((values, numbers, starts), shape=(n, n)).tocsc()
    return table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data


@compiled
def model1_weight(mean: float, probability: float, lambda_: float) -> float:
    """Return the weight of a term in a document; agrees with `reference.model1_weight`."""
    if lambda_ == 0.0:
        return math.log(max(1.0, mean / LEAST_MEAN))
    return math.log1p((1.0 - lambda_) * mean / (lambda_ * probability))


@compiled_for("int64[:], int32[:], float32[:], float64[:], float64[:], float64, float64")
def collection_weights(
    starts: Array,
    targets: Array,
    chances: Array,
    shares: Array,
    probabilities: Array,
    p_self: float,
    lambda_: float,
) -> Array:
    """Return the weight of each term in the collection as one document; agrees with `reference.collection_weights`.

    Parameters
    ----------
    starts, targets, chances, probabilities, p_self, lambda_
        See `model1_weights`.
    shares : ndarray of shape (V,), float64
        Share of each term in the tokens of the collection.

    Returns
    -------
    ndarray of shape (V,), float64
    """
    means = p_self * shares
    for source in range(len(shares)):
        translated = (1.0 - p_self) * shares[source]
        if translated > 0:
            for entry in range(starts[source], starts[source + 1]):
                means[targets[entry]] += translated * chances[entry]
    for term in range(len(means)):
        means[term] = model1_weight(means[term], probabilities[term], lambda_)
    return means


@compiled_for(
    "int64[:], int32[:], float32[:], int64[:], int32[:], float32[:], int32[:], float64[:], float64, float64, float64, "
    "int64, float64[:]"
)
def model1_weights(
    indptr: Array,
    terms: Array,
    counts: Array,
    starts: Array,
    targets: Array,
    chances: Array,
    target_numbers: Array,
    probabilities: Array,
    p_self: float,
    lambda_: float,
    prune: float,
    keep: int,
    in_collection: Array,
) -> tuple[Array, Array, Array]:
    """Compute the weights of all translations of the terms of documents; agrees with `reference.model1_weights`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries in the next two arrays.
    terms : ndarray of shape (nnz,), int32
        Terms of each document, below V.
    counts : ndarray of shape (nnz,), float32
        Number of occurrences, 1 or more.
    starts : ndarray of shape (V + 1,), int64
        Boundaries of the sources in the next two arrays.
    targets : ndarray of shape (entries,), int32
        Targets of each source, below W.
    chances : ndarray of shape (entries,), float32
        T(t|u), above 0.
    target_numbers : ndarray of shape (V,), int32
        Target number of each term, or -1 if it is not a target.
    probabilities : ndarray of shape (W,), float64
        P(t|C) of each target, above 0.
    p_self : float64
        Probability of self-translation, from 0 to 1, added to the diagonal of (1 - p_self) T.
    lambda_ : float64
        Share of the collection in the mixture, from 0 to below 1.
    prune : float64
        Smaller weights are left out.
    keep : int64
        Number of weights per row, 0 for all: those with the largest sqrt(m P(t|C)) max(0, weight - in_collection);
        among equals, smaller term numbers come first.
    in_collection : ndarray of shape (W,), float64
        See `collection_weights`; not read if `keep` is 0.

    Returns
    -------
    indptr : ndarray of shape (n + 1,), int64
    terms : ndarray, int32
        Targets, strictly increasing in a row.
    weights : ndarray, float32
        Above 0.
    """
    n_targets = len(probabilities)
    means = np.zeros(n_targets, dtype=np.float64)
    found = np.empty(n_targets, dtype=np.int32)
    row_weights = np.empty(n_targets, dtype=np.float32)
    gains = np.zeros(n_targets, dtype=np.float64)
    out_indptr = np.zeros(len(indptr), dtype=np.int64)
    out_terms = np.empty(4 * n_targets, dtype=np.int32)
    out = np.empty(4 * n_targets, dtype=np.float32)
    size = np.int64(0)
    for row in range(len(indptr) - 1):
        length = 0.0
        for position in range(indptr[row], indptr[row + 1]):
            length += counts[position]
        n_found = 0
        for position in range(indptr[row], indptr[row + 1]):
            source = terms[position]
            share = counts[position] / length
            translated = (1.0 - p_self) * share
            if translated > 0:
                for entry in range(starts[source], starts[source + 1]):
                    target = targets[entry]
                    if means[target] == 0.0:
                        found[n_found] = target
                        n_found += 1
                    means[target] += translated * chances[entry]
            itself = target_numbers[source]
            if p_self > 0 and itself >= 0:
                if means[itself] == 0.0:
                    found[n_found] = itself
                    n_found += 1
                means[itself] += p_self * share
        if 8 * n_found > n_targets:
            n_found = 0
            for term in range(n_targets):
                if means[term] > 0.0:
                    found[n_found] = term
                    n_found += 1
        else:
            ordered = found[descending(found, 0, n_found)]
            for i in range(n_found):
                found[i] = ordered[n_found - 1 - i]
        kept = 0
        for i in range(n_found):
            term = found[i]
            weight = np.float32(model1_weight(means[term], probabilities[term], lambda_))
            if weight > 0 and weight >= prune:
                found[kept] = term
                row_weights[kept] = weight
                if keep > 0:
                    gains[kept] = math.sqrt(means[term] * probabilities[term]) * max(
                        0.0, weight - in_collection[term]
                    )
                kept += 1
            means[term] = 0.0
        least = 0.0
        equals = kept
        n_kept = kept
        if 0 < keep < kept:
            n_kept = keep
            least = nth_largest(gains[:kept], keep)
            equals = keep
            for i in range(kept):
                if gains[i] > least:
                    equals -= 1
        if size + n_kept > len(out):
            grown = 2 * len(out) + n_kept
            out_terms = copy_of(out_terms, size, grown)
            out = copy_of(out, size, grown)
        for i in range(kept):
            if gains[i] == least:
                equals -= 1
            if gains[i] > least or (gains[i] == least and equals >= 0):
                out_terms[size] = found[i]
                out[size] = row_weights[i]
                size += 1
        out_indptr[row + 1] = size
    return out_indptr, copy_of(out_terms, size, size), copy_of(out, size, size)


@compiled_for(
    *variants(
        "uint32[:], {terms}[:], float32[:], int64[:], int32[:], float64[:, :], int32[:], out(float64[:, :]), "
        "out(float64[:, :])",
        terms=("uint16", "uint32"),
    )
)
def gather_translations(
    indptr: Array,
    terms: Array,
    shares: Array,
    rows: Array,
    slots: Array,
    columns: Array,
    word_positions: Array,
    translated: Array,
    untranslated: Array,
) -> int:
    """Sum the translation probabilities of documents for the words of a query.

    Agrees with `reference.gather_translations`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), uint32
        Row boundaries in the next two arrays.
    terms : ndarray of shape (nnz,), uint16 or uint32
        Terms of each document.
    shares : ndarray of shape (nnz,), float32
        P(u|D), share of each term in the document.
    rows : ndarray of shape (m,), int64
        Documents to score, in range.
    slots : ndarray of shape (V,), int32
        Row of each term in the next two arrays; 0, which is empty, for terms without a translation to a query word.
    columns : ndarray of shape (slots, q), float64
        T(t|u) for each word t of the query.
    word_positions : ndarray of shape (slots,), int32
        Position of the term in the words of the query, or -1.
    translated : ndarray of shape (m, q), float64
        Output, initially 0: the sum over u of T(t|u) P(u|D).
    untranslated : ndarray of shape (m, q), float64
        Output, initially 0: P(t|D).

    Returns
    -------
    int
        `OK` or `CORRUPT`.
    """
    size = len(slots)
    words = columns.shape[1]
    for i in range(len(rows)):
        first = np.int64(indptr[rows[i]])
        last = np.int64(indptr[rows[i] + 1])
        if first > last or last > len(terms):
            return CORRUPT
        for position in range(first, last):
            term = np.int64(terms[position])
            if term >= size:
                return CORRUPT
            slot = slots[term]
            if slot > 0:
                share = np.float64(shares[position])
                for word in range(words):
                    translated[i, word] += share * columns[slot, word]
                if word_positions[slot] >= 0:
                    untranslated[i, word_positions[slot]] = share
    return OK


@compiled_for("float64[:, :], float64[:, :], float64[:], float64[:], float64, float64")
def model1_scores(
    translated: Array, untranslated: Array, times: Array, probabilities: Array, p_self: float, lambda_: float
) -> Array:
    """Score documents from the sums of `gather_translations`; agrees with `reference.model1_scores`.

    Parameters
    ----------
    translated, untranslated : ndarray of shape (m, q), float64
        See `gather_translations`.
    times : ndarray of shape (q,), float64
        Number of occurrences of each word in the query.
    probabilities : ndarray of shape (q,), float64
        P(t|C), above 0.
    p_self, lambda_ : float64
        See `model1_weights`.

    Returns
    -------
    ndarray of shape (m,), float64
    """
    scores = np.zeros(len(translated), dtype=np.float64)
    for i in range(len(scores)):
        for word in range(len(times)):
            mean = (1.0 - p_self) * translated[i, word] + p_self * untranslated[i, word]
            scores[i] += times[word] * model1_weight(mean, probabilities[word], lambda_)
    if lambda_ == 0.0:
        scores += math.log(LEAST_MEAN) * np.sum(times)
    return scores
