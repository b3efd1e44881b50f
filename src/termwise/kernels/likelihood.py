"""Log-likelihoods from the logits of a network."""

from __future__ import annotations

import math

import numpy as np

from termwise.kernels.jit import Array, compiled_for


@compiled_for("float32[:, :]")
def log_sigmoid(logits: Array) -> Array:
    """Return the logarithm of the sigmoid of each logit; agrees with `reference.log_sigmoid`.

    Parameters
    ----------
    logits : ndarray of shape (n, m), float32
        Finite.

    Returns
    -------
    ndarray of shape (n, m), float32
        ``min(z, 0) - ln(1 + exp(-|z|))``, computed in float64: natural logarithms, at most 0, finite for every
        finite logit.
    """
    values = np.empty(logits.shape, dtype=np.float32)
    for i in range(logits.shape[0]):
        for j in range(logits.shape[1]):
            z = np.float64(logits[i, j])
            values[i, j] = np.float32(min(z, 0.0) - math.log1p(math.exp(-abs(z))))
    return values


@compiled_for("int32[:], float32[:], float32[:]")
def pruning_keys(terms: Array, weights: Array, floors: Array) -> Array:
    """Return the sort keys for pruning, ``sqrt(P(t|d)) w(t, d)``; agrees with `reference.pruning_keys`.

    Parameters
    ----------
    terms : ndarray of shape (nnz,), int32
    weights : ndarray of shape (nnz,), float32
        ``w(t, d) = ln P(t|d) - floor``, above 0.
    floors : ndarray of shape (V,), float32
        Floor of each term, at most 0.

    Returns
    -------
    ndarray of shape (nnz,), float32
        Computed in float64; increases with the weight of a term.
    """
    keys = np.empty(len(terms), dtype=np.float32)
    for i in range(len(terms)):
        weight = np.float64(weights[i])
        keys[i] = np.float32(math.exp(0.5 * (weight + np.float64(floors[terms[i]]))) * weight)
    return keys


@compiled_for("float32[:, :], int64[:], float32[:]")
def excess_rows(logits: Array, terms: Array, floors: Array) -> tuple[Array, Array, Array]:
    """Return the excess of log-likelihoods over their floors; agrees with `reference.excess_rows`.

    Parameters
    ----------
    logits : ndarray of shape (n, V), float32
        Finite.
    terms : ndarray of shape (m,), int64
        Terms to return, strictly increasing.
    floors : ndarray of shape (m,), float32
        Floor of each of these terms.

    Returns
    -------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries.
    terms : ndarray of shape (nnz,), int32
        Strictly increasing in a row.
    weights : ndarray of shape (nnz,), float32
        ``ln sigmoid(z) - floor``, computed in float64; only those above 0.
    """
    boundaries = np.zeros(logits.shape[0] + 1, dtype=np.int64)
    found_terms = np.empty(logits.shape[0] * len(terms), dtype=np.int32)
    found = np.empty(logits.shape[0] * len(terms), dtype=np.float32)
    size = np.int64(0)
    for row in range(logits.shape[0]):
        for i in range(len(terms)):
            z = np.float64(logits[row, terms[i]])
            if min(z, 0.0) <= floors[i]:  # ln sigmoid(z) is below min(z, 0)
                continue
            weight = np.float32(min(z, 0.0) - math.log1p(math.exp(-abs(z))) - np.float64(floors[i]))
            if weight > 0:
                found_terms[size] = terms[i]
                found[size] = weight
                size += 1
        boundaries[row + 1] = size
    return boundaries, found_terms[:size].copy(), found[:size].copy()
