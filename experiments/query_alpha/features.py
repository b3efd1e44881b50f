"""What is known of a query before anybody has judged it, and costs nothing beside the two rankings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

from termwise.kernels.weighting import lucene_idf
from termwise.records import Ranking
from termwise.search import Searcher

NEAR, FAR = 10, 100

NAMES = (
    "ln tokens",
    "ln terms",
    "repetition",
    "unseen terms",
    "idf: sum",
    "idf: mean",
    "idf: largest",
    "ln candidates",
    "first: lead",
    "first: top over the rest",
    "first: skew",
    "second: lead",
    "second: top over the rest",
    "second: skew",
    "first: score over idf",
    "first: its best by the second",
    "second: its best by the first",
    "in common, first 10",
    "in common, first 100",
    "rank correlation",
)
"""In the order of `features`: length of the query and rarity of its terms in the index of the first system; how far the
scores of either are apart (see `_dispersion`); how much of its idf the best document of the first has; how much the two
rankings agree."""


def features(
    text: str, searcher: Searcher, idf: npt.NDArray[np.float64], first: Ranking, second: Ranking
) -> npt.NDArray[np.float64]:
    """Describe a query.

    Parameters
    ----------
    text : str
        The query.
    searcher : Searcher
        Of the first system; its analyzer cuts the query.
    idf : ndarray of shape (V,), float64
        See `idf_of`.
    first, second : Ranking
        Of the same documents by either system.

    Returns
    -------
    ndarray of shape (len(NAMES),), float64
    """
    tokens = searcher.encoder.analyzer.tokens(text)
    number = searcher.index.vocabulary.number
    numbers = [number(token) for token in tokens]
    known = np.array(sorted({term for term in numbers if term is not None}), dtype=np.int64)
    mass = idf[known] if len(known) else np.zeros(1)
    distinct = len(set(tokens))
    return np.array(
        [
            math.log1p(len(tokens)),
            math.log1p(distinct),
            distinct / max(1, len(tokens)),
            sum(term is None for term in numbers) / max(1, len(tokens)),
            math.log1p(float(mass.sum())),
            float(mass.mean()),
            float(mass.max()),
            math.log1p(len(first)),
            *_dispersion(first.scores),
            *_dispersion(second.scores),
            float(first.scores[0]) / float(mass.sum()) if len(first) and mass.sum() > 0 else 0.0,
            _scaled_by(first, second),
            _scaled_by(second, first),
            _in_common(first.doc_ids, second.doc_ids, NEAR),
            _in_common(first.doc_ids, second.doc_ids, FAR),
            _correlation(first, second),
        ]
    )


def idf_of(searcher: Searcher) -> npt.NDArray[np.float64]:
    """Return the idf of each term of an index, as BM25 has it."""
    return lucene_idf(searcher.index.document_frequencies, len(searcher.index))


def _dispersion(scores: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Say in standard deviations how far the best is ahead of the tenth, the first ten of all; and the skew."""
    deviation = float(scores.std()) if len(scores) else 0.0
    if deviation == 0:
        return 0.0, 0.0, 0.0
    scaled = (scores - scores.mean()) / deviation
    tenth = scaled[min(NEAR, len(scaled)) - 1]
    return float(scaled[0] - tenth), float(scaled[:NEAR].mean()), float((scaled**3).mean())


def _scaled_by(one: Ranking, other: Ranking) -> float:
    """Return the z-score that the other ranking gives to the best document of this one."""
    deviation = float(other.scores.std()) if len(other) else 0.0
    if deviation == 0 or not len(one) or one.doc_ids[0] not in other.doc_ids:
        return 0.0
    return float((other.scores[other.doc_ids.index(one.doc_ids[0])] - other.scores.mean()) / deviation)


def _in_common(one: Sequence[str], other: Sequence[str], depth: int) -> float:
    shorter = min(depth, len(one), len(other))
    return len(set(one[:depth]) & set(other[:depth])) / shorter if shorter else 0.0


def _correlation(first: Ranking, second: Ranking) -> float:
    """Return Spearman's rank correlation of the two scores of each document."""
    theirs = dict(zip(second.doc_ids, second.scores.tolist(), strict=True))
    both = [
        (score, theirs[doc_id])
        for doc_id, score in zip(first.doc_ids, first.scores, strict=True)
        if doc_id in theirs
    ]
    if len(both) < 3:
        return 0.0
    columns = np.array(both).T
    if np.ptp(columns, axis=1).min() == 0:
        return 0.0
    return float(spearmanr(*columns).statistic)
