"""Statistics of a collection for texts that are not part of it."""

from __future__ import annotations

import numpy as np

from termwise.collection.statistics import CollectionStatistics


class OpenStatistics(CollectionStatistics):
    """Statistics of a collection for weighing any text as if it were one of its documents.

    Nothing is added to the counts, so that the weights of a text depend on it and on the collection alone. A term that
    the collection lacks counts as one that a single document has once; N, avgdl and the number of tokens stay as they
    are, and so the shares P(t|C) add up to a little more than 1. The longest document is as long as the collection, so
    that no text is longer.

    Parameters
    ----------
    statistics : CollectionStatistics
        Of the collection.
    n_terms : int
        Terms counted for, at least as many as the collection has; the others follow those.
    untouched : int, optional
        The first so many terms stay as they are, also at 0: a model that brings terms of its own knows what to make of
        those that the collection lacks.

    Examples
    --------
    >>> opened = OpenStatistics(CollectionStatistics(3, 7, [2, 1], [5, 2], longest=5), 3)
    >>> opened.document_frequencies, opened.n_documents, opened.probabilities.round(3)
    (array([2, 1, 1]), 3, array([0.714, 0.286, 0.143]))
    """

    def __init__(self, statistics: CollectionStatistics, n_terms: int, *, untouched: int = 0) -> None:
        added = n_terms - statistics.n_terms
        least = (np.arange(n_terms) >= untouched).astype(np.int64)
        super().__init__(
            statistics.n_documents,
            statistics.n_tokens,
            np.maximum(np.pad(statistics.document_frequencies, (0, added)), least),
            np.maximum(np.pad(statistics.collection_frequencies, (0, added)), least),
            max(1, statistics.n_tokens),
        )

    @property
    def closed(self) -> bool:
        """False."""
        return False

    def _check(self) -> None:
        """Nothing: what is built on was checked."""
