"""Maximum likelihood: how often a document says a term, as a share of all it says.

With tf the occurrences of the term in the document and dl the tokens of the document, the weight of a term is

    P(t|d) = tf / dl

which is the language model of the document without smoothing. The weights of a row that is not empty add up to 1, so
that the product of the row with any vector over the terms is the mean of that vector over the tokens of the document,
repetitions counted. That is what a document likelihood needs (`termwise.search.QueryDocumentLikelihood`):

    1/dl * sum over the tokens t of d of ln P(t|q)  =  sum over the terms t of d of P(t|d) * ln P(t|q)

A translation of what documents say needs the same shares (`termwise.search.translation_scorer`), and how often each
term
occurs in the collection, cf, which shares do not tell: an index keeps it beside its rows.

As a ranking function of its own it is weak: it prefers short documents, and knows no rare words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from termwise.models.attachments import FREQUENCIES
from termwise.models.base import QueryWeighting
from termwise.models.checks import check_counts
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics
    from termwise.text import Vocabulary


@dataclass(frozen=True, kw_only=True)
class MaximumLikelihood:
    """The share of a document's tokens that are a term; the formula stands at the top of the module.

    It has no parameters.

    Examples
    --------
    >>> from termwise.collection.statistics import CollectionStatistics
    >>> counts = TermWeights([0, 2, 2, 3], [0, 1, 1], [1.0, 3.0, 5.0], vocabulary="toy")
    >>> statistics = CollectionStatistics.from_counts([counts])
    >>> MaximumLikelihood().weigh(counts, statistics).weights
    array([0.25, 0.75, 1.  ], dtype=float32)
    """

    name: ClassVar[str] = "ml"

    @property
    def background(self) -> bool:
        """False: nothing is added whatever the query."""
        return False

    @property
    def query_weighting(self) -> QueryWeighting:
        """``"counts"``: every occurrence of a token in the query adds its weight."""
        return "counts"

    def parameters(self) -> dict[str, object]:
        """Return an empty mapping."""
        return {}

    def floors(self, statistics: CollectionStatistics) -> None:
        """Return None: an absent term contributes 0, its share of the document."""

    def files(self, vocabulary: Vocabulary, statistics: CollectionStatistics) -> dict[str, bytes]:
        """Return how often each term occurs in the collection, for the index to keep."""
        return {FREQUENCIES: statistics.collection_frequencies.astype("<i8").tobytes()}

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of shares.

        Parameters
        ----------
        counts : TermWeights of n rows
            How often each term occurs in each document.
        statistics : CollectionStatistics
            Of the whole collection; the counts are checked against it, and it changes nothing.

        Returns
        -------
        TermWeights of n rows
            The same terms; weights above 0 and at most 1.

        Raises
        ------
        WeightError
            If the counts are not counts, or the statistics are of another collection.
        VocabularyMismatchError
            If the rows hold terms that the statistics do not know.
        """
        from termwise.kernels.weighting import row_lengths

        check_counts(counts, statistics)
        lengths = row_lengths(counts.indptr, counts.weights)
        shares = counts.weights / np.repeat(lengths, np.diff(counts.indptr))
        return TermWeights(counts.indptr, counts.terms, shares, counts.vocabulary)
