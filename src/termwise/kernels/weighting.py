"""Term weights of the classic models from term counts.

`tests/reference` defines each function as a plain loop in float64. The functions do the same arithmetic in the
same order, also in float64, and round once to float32: the relative difference is at most 1e-7. The models name the
sources of the formulas. Only functions with a logarithm for each posting are kernels.

Rows are those of a `TermWeights` with counts: ``indptr`` of shape (n + 1,), int64; ``terms`` of shape
(nnz,), int32, strictly increasing in a row; ``counts`` of shape (nnz,), float32, whole numbers of at least 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from termwise.kernels.jit import Array, compiled, compiled_for


def lucene_length(length: Array) -> Array:
    """Return document lengths after Lucene's one-byte coding; agrees with `reference.lucene_length`.

    Parameters
    ----------
    length : ndarray, int64
        Tokens of each document, 0 or more.

    Returns
    -------
    ndarray, int64
        The length itself below 40; above, 24 plus the four highest bits of ``length - 24``.
    """
    excess = np.maximum(length - 24, 0)
    shift = np.maximum(np.frexp(np.asarray(excess, dtype=np.float64))[1] - 4, 0)
    return np.where(length < 40, length, 24 + ((excess >> shift) << shift))


def row_lengths(indptr: Array, counts: Array) -> Array:
    """Return the sum of the counts of each row, int64; agrees with `reference.row_lengths`."""
    sums = np.concatenate([[0], np.cumsum(counts.astype(np.int64))])
    lengths: Array = sums[indptr[1:]] - sums[indptr[:-1]]
    return lengths


def lucene_idf(document_frequencies: Array, n_documents: int) -> Array:
    """Return the idf of Lucene's BM25 for each term; agrees with `reference.lucene_idf`.

    Parameters
    ----------
    document_frequencies : ndarray of shape (V,), int64
        Number of documents that contain each term.
    n_documents : int
        Number of documents of the collection.

    Returns
    -------
    ndarray of shape (V,), float64
        ``ln(1 + (N - df + 0.5) / (df + 0.5))``; 0 if df is 0.
    """
    return _by_frequency(document_frequencies, lambda df: lucene_idf_of(df, n_documents))


def lucene_idf_of(document_frequency: int, n_documents: int) -> float:
    """Return the idf of Lucene's BM25 for one term, which a document has; see `lucene_idf`.

    Examples
    --------
    >>> round(lucene_idf_of(2, 4), 4)
    0.6931
    """
    return math.log1p((n_documents - document_frequency + 0.5) / (document_frequency + 0.5))


def robertson_idf(document_frequencies: Array, n_documents: int) -> Array:
    """Return the idf of Robertson and Spärck Jones for each term; agrees with `reference.robertson_idf`.

    It is ``ln((N - df + 0.5) / (df + 0.5))``, negative for terms in more than half of the documents; 0 if df is 0. For
    shapes and types see `lucene_idf`.
    """
    return _by_frequency(document_frequencies, lambda df: math.log((n_documents - df + 0.5) / (df + 0.5)))


def atire_idf(document_frequencies: Array, n_documents: int) -> Array:
    """Return the idf of the ATIRE system, ``ln(N / df)`` or 0 if df is 0, for each term; see `lucene_idf`.

    Agrees with `reference.atire_idf`.
    """
    return _by_frequency(document_frequencies, lambda df: math.log(n_documents / df))


def _by_frequency(document_frequencies: Array, idf: Callable[[int], float]) -> Array:
    """Return the idf of each term; the logarithms of numpy depend on the processor in their last bit."""
    distinct, places = np.unique(document_frequencies, return_inverse=True)
    return np.array([idf(df) if df > 0 else 0.0 for df in distinct.tolist()], dtype=np.float64)[places]


def bm25_weights(
    indptr: Array,
    terms: Array,
    counts: Array,
    idf: Array,
    average_length: float,
    k1: float,
    b: float,
    factor: float,
    lucene_lengths: bool,
) -> Array:
    """Weigh counts by BM25; agrees with `reference.bm25_weights`.

    Parameters
    ----------
    indptr, terms, counts : ndarray
        Rows of counts, see the top of this module.
    idf : ndarray of shape (V,), float64
        Inverse document frequency of each term.
    average_length : float64
        Mean number of tokens per document of the collection; above 0 unless all rows are empty. Infinity if lengths do
        not count.
    k1, b : float64
        Saturation of term frequency and strength of the length normalisation.
    factor : float64
        Constant factor of all weights.
    lucene_lengths : bool
        Whether document lengths pass through `lucene_length`.

    Returns
    -------
    ndarray of shape (nnz,), float32
        ``factor * idf * tf / (tf + k1 * (1 - b + b * dl / average_length))``.
    """
    lengths = row_lengths(indptr, counts)
    kept = lucene_length(lengths) if lucene_lengths else lengths
    norms = k1 * (1.0 - b + b * kept / (average_length or math.inf))
    tf = counts.astype(np.float64)
    weights = factor * idf[terms] * tf
    weights /= tf + np.repeat(norms, np.diff(indptr))
    return weights.astype(np.float32)


@compiled
def _length(counts: Array, first: int, last: int) -> int:
    """Return the sum of the counts of a row."""
    length = np.int64(0)
    for position in range(first, last):
        length += np.int64(counts[position])
    return int(length)


@compiled_for("int64[:], int32[:], float32[:], float64[:], float64")
def jelinek_mercer_weights(
    indptr: Array, terms: Array, counts: Array, probabilities: Array, lambda_: float
) -> Array:
    """Weigh counts by query likelihood with linear smoothing; agrees with `reference.jelinek_mercer_weights`.

    Parameters
    ----------
    indptr, terms, counts : ndarray
        Rows of counts, see the top of this module.
    probabilities : ndarray of shape (V,), float64
        P(t|C), above 0 for the terms of the rows.
    lambda_ : float64
        Share of the collection in the mixture, strictly between 0 and 1.

    Returns
    -------
    ndarray of shape (nnz,), float32
        ``ln(1 + ((1 - lambda) * tf / dl) / (lambda * P(t|C)))``.
    """
    weights = np.empty(len(terms), dtype=np.float32)
    for row in range(len(indptr) - 1):
        length = _length(counts, indptr[row], indptr[row + 1])
        for position in range(indptr[row], indptr[row + 1]):
            seen = (1.0 - lambda_) * np.float64(counts[position]) / length
            weights[position] = np.float32(math.log1p(seen / (lambda_ * probabilities[terms[position]])))
    return weights


@compiled_for("int64[:], int32[:], float32[:], float64[:], float64, int64")
def dirichlet_weights(
    indptr: Array, terms: Array, counts: Array, probabilities: Array, mu: float, longest: int
) -> tuple[Array, Array, Array]:
    """Weigh counts by query likelihood with a Dirichlet prior; agrees with `reference.dirichlet_weights`.

    Parameters
    ----------
    indptr, terms, counts : ndarray
        Rows of counts, see the top of this module.
    probabilities : ndarray of shape (V,), float64
        P(t|C), above 0 for the terms of the rows.
    mu : float64
        Weight of the prior in tokens, above 0.
    longest : int64
        Number of tokens of the longest document of the collection.

    Returns
    -------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries; each row has one more entry.
    terms : ndarray of shape (nnz + n,), int32
        Each row ends with the background term, whose number is V.
    weights : ndarray of shape (nnz + n,), float32
        ``ln(1 + tf / (mu * P(t|C)))``; for the background term ``ln((mu + longest) / (mu + dl))``, 0 for the longest
        document.
    """
    n_rows = len(indptr) - 1
    grown_indptr = np.zeros(len(indptr), dtype=np.int64)
    grown_terms = np.empty(len(terms) + n_rows, dtype=np.int32)
    weights = np.empty(len(grown_terms), dtype=np.float32)
    place = np.int64(0)
    for row in range(n_rows):
        length = _length(counts, indptr[row], indptr[row + 1])
        for position in range(indptr[row], indptr[row + 1]):
            term = terms[position]
            grown_terms[place] = term
            weights[place] = np.float32(math.log1p(np.float64(counts[position]) / (mu * probabilities[term])))
            place += 1
        grown_terms[place] = len(probabilities)
        weights[place] = np.float32(math.log1p((longest - length) / (mu + length)))
        place += 1
        grown_indptr[row + 1] = place
    return grown_indptr, grown_terms, weights
