"""How rare terms are among the passages that a network is trained on.

Where an index multiplies the weights of a network by a power of the idf (`termwise.models.idf_power`), the network need
not learn which terms are rare; and what it would learn of that holds for the collections it was trained on alone. So
its weights are multiplied in training as well, each by what its term has among the passages of the source that the
query is from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from termwise.collection.pairs import PairSource
from termwise.models.idf_power import idf_factors
from termwise.progress import Progress, no_progress
from termwise.train.data.inputs import Ids, Pieces

MOST_PASSAGES = 100_000
"""Passages of a source that are counted; of more, so many are drawn."""

_TOLD = 1000


def factors_of(rows: Sequence[Ids], *, power: float, terms: int) -> npt.NDArray[np.float32]:
    """Return what the weights of each term are multiplied by, of the passages whose pieces these are.

    Parameters
    ----------
    rows : sequence of int64 ndarray
        The pieces of each passage, as far as they are read; 1 or more.
    power : float
        Of the idf.
    terms : int
        Size V of the vocabulary.

    Returns
    -------
    ndarray of shape (V,), float32
        Above 0. A term that no passage has, as when it only expands one, is taken for one that a single passage has.

    Examples
    --------
    >>> factors_of([np.array([0, 0, 1]), np.array([1])], power=1.0, terms=3).round(4)
    array([0.6931, 0.1823, 0.6931], dtype=float32)
    """
    frequencies = np.zeros(terms, dtype=np.int64)
    for row in rows:
        frequencies[row] += 1  # once, however often a term is in the row
    return idf_factors(np.maximum(frequencies, 1), len(rows), power).astype(np.float32)


def factors_of_sources(
    sources: Sequence[PairSource],
    pieces: Pieces,
    *,
    power: float,
    length: int,
    seed: int,
    progress: Progress = no_progress,
) -> list[npt.NDArray[np.float32]]:
    """Return `factors_of` the passages of each source.

    Parameters
    ----------
    sources : sequence of PairSource
    pieces : Pieces
        The tokenizer.
    power : float
        Of the idf.
    length : int
        Pieces that are read of a passage, the two special ones included. Terms that expand it are not counted.
    seed : int
        Of the passages that are drawn from a source with more than `MOST_PASSAGES`.
    progress : callable, optional
        Called with a stage, what is done, and the total.

    Returns
    -------
    list of ndarray of shape (V,), float32
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
            if done % _TOLD == 0 or done == total:
                progress("count terms of passages", done, total)
        factors.append(factors_of(rows, power=power, terms=len(pieces.analyzer.vocabulary)))
    return factors
