"""Idf factors of terms among training passages.

An index may multiply the weights of a network by a power of the idf of its collection (`termwise.models.idf_power`).
Training then applies the same factor, with the idf among the passages of the source of the query, so that the network
does not learn the document frequencies of its training collections.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.models.idf_power import idf_factors
from termwise.progress import Progress, no_progress
from termwise.train.data.inputs import Ids, Pieces

MOST_PASSAGES = 100_000
"""Largest number of counted passages per source; for larger sources, a sample is counted."""

_PROGRESS_INTERVAL = 1000


def term_factors(rows: Sequence[Ids], *, power: float, terms: int) -> npt.NDArray[np.float32]:
    """Return the idf factor of each term among passages.

    Parameters
    ----------
    rows : sequence of int64 ndarray
        The pieces of each passage, truncated; one passage or more.
    power : float
        Exponent of the idf.
    terms : int
        Size V of the vocabulary.

    Returns
    -------
    ndarray of shape (V,), float32
        Above 0. A term in no passage, such as an expansion term, gets the factor of a term in one passage.

    Examples
    --------
    >>> term_factors([np.array([0, 0, 1]), np.array([1])], power=1.0, terms=3).round(4)
    array([0.6931, 0.1823, 0.6931], dtype=float32)
    """
    df = np.zeros(terms, dtype=np.int64)
    for row in rows:
        df[row] += 1  # repeated terms of a row count once
    return idf_factors(np.maximum(df, 1), len(rows), power).astype(np.float32)


def source_term_factors(
    sources: Sequence[PairSource],
    pieces: Pieces,
    *,
    power: float,
    length: int,
    seed: int,
    progress: Progress = no_progress,
) -> list[npt.NDArray[np.float32]]:
    """Return the `term_factors` of the passages of each source: float32 arrays of shape (V,).

    Parameters
    ----------
    sources : sequence of PairSource
    pieces : Pieces
        The tokenizer.
    power : float
        Exponent of the idf.
    length : int
        Pieces of a passage that are read, the two special ones included. Expansion terms are not counted.
    seed : int
        Random seed of the sample of a source with more than `MOST_PASSAGES` passages.
    progress : callable, optional
        Called with a stage, the amount done, and the total.
    """
    counts = [min(len(source.passages), MOST_PASSAGES) for source in sources]
    done, total = 0, sum(counts)
    factors = []
    for number, (source, count) in enumerate(zip(sources, counts, strict=True)):
        chosen = range(len(source.passages))
        if count < len(source.passages):
            drawn = np.random.default_rng((seed, number)).choice(len(source.passages), count, replace=False)
            chosen = np.sort(drawn).tolist()
        rows = []
        for passage in chosen:
            rows.append(pieces(source.passages[passage])[: length - 2])
            done += 1
            if done % _PROGRESS_INTERVAL == 0 or done == total:
                progress("count terms of passages", done, total)
        factors.append(term_factors(rows, power=power, terms=len(pieces.analyzer.vocabulary)))
    return factors
