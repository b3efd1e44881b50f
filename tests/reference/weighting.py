"""Term weights of the classic models in plain loops; the models name the sources of the formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence


def lucene_length(length: int) -> int:
    """Return a document length after Lucene's one-byte coding.

    Lengths below 40 are unchanged. Otherwise the four highest bits of ``length - 24`` remain, the others become 0
    (``SmallFloat.intToByte4`` followed by ``byte4ToInt`` in Lucene 7 and later).

    Examples
    --------
    >>> [lucene_length(length) for length in (39, 41, 100, 1000)]
    [39, 40, 96, 984]
    """
    if length < 40:
        return length
    excess = length - 24
    unit = 1
    while excess // unit >= 16:
        unit *= 2
    return 24 + excess // unit * unit


def row_lengths(indptr: Sequence[int], counts: Sequence[float]) -> list[int]:
    """Return the sum of the counts of each row."""
    return [
        sum(int(count) for count in counts[indptr[row] : indptr[row + 1]]) for row in range(len(indptr) - 1)
    ]


def lucene_idf(document_frequencies: Sequence[int], n_documents: int) -> list[float]:
    """Return ``ln(1 + (N - df + 0.5) / (df + 0.5))`` for each term; 0 if df is 0."""
    return [
        math.log1p((n_documents - df + 0.5) / (df + 0.5)) if df > 0 else 0.0 for df in document_frequencies
    ]


def robertson_idf(document_frequencies: Sequence[int], n_documents: int) -> list[float]:
    """Return ``ln((N - df + 0.5) / (df + 0.5))`` for each term, negative if df > N/2; 0 if df is 0."""
    return [math.log((n_documents - df + 0.5) / (df + 0.5)) if df > 0 else 0.0 for df in document_frequencies]


def atire_idf(document_frequencies: Sequence[int], n_documents: int) -> list[float]:
    """Return ``ln(N / df)`` for each term; 0 if df is 0."""
    return [math.log(n_documents / df) if df > 0 else 0.0 for df in document_frequencies]


def bm25_weights(
    indptr: Sequence[int],
    terms: Sequence[int],
    counts: Sequence[float],
    idf: Sequence[float],
    average_length: float,
    k1: float,
    b: float,
    factor: float,
    lucene_lengths: bool,
) -> list[float]:
    """Return ``factor * idf * tf / (tf + k1 * (1 - b + b * dl / average_length))`` for each posting."""
    weights = []
    for row, length in enumerate(row_lengths(indptr, counts)):
        kept = lucene_length(length) if lucene_lengths else length
        for position in range(indptr[row], indptr[row + 1]):
            tf = float(counts[position])
            norm = k1 * (1.0 - b + b * kept / average_length)
            weights.append(factor * float(idf[terms[position]]) * tf / (tf + norm))
    return weights


def jelinek_mercer_weights(
    indptr: Sequence[int],
    terms: Sequence[int],
    counts: Sequence[float],
    probabilities: Sequence[float],
    lambda_: float,
) -> list[float]:
    """Return ``ln(1 + ((1 - lambda) * tf / dl) / (lambda * P(t|C)))`` for each posting."""
    weights = []
    for row, length in enumerate(row_lengths(indptr, counts)):
        for position in range(indptr[row], indptr[row + 1]):
            seen = (1.0 - lambda_) * float(counts[position]) / length
            weights.append(math.log1p(seen / (lambda_ * float(probabilities[terms[position]]))))
    return weights


def dirichlet_weights(
    indptr: Sequence[int],
    terms: Sequence[int],
    counts: Sequence[float],
    probabilities: Sequence[float],
    mu: float,
    longest: int,
) -> tuple[list[int], list[int], list[float]]:
    """Return rows of ``ln(1 + tf / (mu * P(t|C)))`` that end with the background term.

    Its number is ``len(probabilities)``, its weight ``ln((mu + longest) / (mu + dl))``.
    """
    grown_indptr, grown_terms, weights = [0], [], []
    for row, length in enumerate(row_lengths(indptr, counts)):
        for position in range(indptr[row], indptr[row + 1]):
            term = int(terms[position])
            grown_terms.append(term)
            weights.append(math.log1p(float(counts[position]) / (mu * float(probabilities[term]))))
        grown_terms.append(len(probabilities))
        weights.append(math.log1p((longest - length) / (mu + length)))
        grown_indptr.append(len(grown_terms))
    return grown_indptr, grown_terms, weights
