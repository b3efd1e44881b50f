"""Query likelihood with Jelinek-Mercer smoothing.

The document model is mixed with the collection model in fixed shares (Zhai & Lafferty 2004, "A study of
smoothing methods for language models applied to information retrieval", ACM TOIS 22(2), section 3; there too
lambda is the share of the collection):

    P(t|d) = (1 - lambda) * tf / dl + lambda * P(t|C),        P(t|C) = cf / C

with tf the occurrences of the term in the document, dl its tokens, cf the occurrences in the collection and C
all tokens. Taken apart into what holds for an absent term and the rest,

    ln P(t|d) = ln(lambda * P(t|C)) + ln(1 + ((1 - lambda) * tf / dl) / (lambda * P(t|C)))

the first part is the floor and the second, never negative, is the weight. So the score, summed over the
tokens of the query, is ln P(q|d) itself.

The weight is the score of Lucene's ``LMJelinekMercerSimilarity``. Departure: Lucene's default collection
model is ``(cf + 1) / (C + 1)``; ours is that of the paper. A document without tokens scores as if tf / dl
were 0. A term of the vocabulary that never occurs in the collection has no probability: its floor is 0, so
that it is left out of the product, as a token outside the vocabulary is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from termwise.models.base import QueryWeighting
from termwise.models.checks import check_counts, check_number
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics


@dataclass(frozen=True, kw_only=True)
class QueryLikelihoodJM:
    """Query likelihood, smoothed linearly; the formula stands at the top of the module.

    Parameters
    ----------
    lambda_ : float, optional
        Share of the collection in the mixture, strictly between 0 and 1 (``--set lambda=0.1``). 0.1 suits
        short queries and 0.7 long ones, as found by Zhai & Lafferty and repeated in Lucene's documentation.
        Near 0 a document must match every token of the query, near 1 any.

    Raises
    ------
    ParameterError
        If it is out of range.

    Examples
    --------
    >>> from termwise.collection.statistics import CollectionStatistics
    >>> counts = TermWeights([0, 2, 3], [0, 1, 1], [1.0, 1.0, 2.0], vocabulary="toy")
    >>> statistics = CollectionStatistics.from_counts([counts])
    >>> model = QueryLikelihoodJM(lambda_=0.5)
    >>> model.weigh(counts, statistics).weights
    array([1.0986123 , 0.51082563, 0.84729785], dtype=float32)
    >>> model.floors(statistics).round(4)
    array([-2.0794, -0.9808])

    The first weight is ``ln(1 + (0.5 * 1/2) / (0.5 * 1/4))``, the first floor ``ln(0.5 * 1/4)``.
    """

    lambda_: float = 0.1

    name: ClassVar[str] = "jm"

    def __post_init__(self) -> None:
        value = check_number(
            self.name,
            "lambda",
            self.lambda_,
            holds=lambda v: 1e-9 <= v < 1,
            expected="a number from 1e-9 and below 1",
        )
        object.__setattr__(self, "lambda_", value)

    @property
    def background(self) -> bool:
        """False: nothing is added whatever the query."""
        return False

    @property
    def query_weighting(self) -> QueryWeighting:
        """``"counts"``: every occurrence of a token in the query is a factor of the likelihood."""
        return "counts"

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name."""
        return {"lambda": self.lambda_}

    def floors(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64]:
        """Return ``ln(lambda * P(t|C))`` for each term.

        Returns
        -------
        ndarray of shape (V,), float64
            Below 0; exactly 0 for terms that never occur in the collection.
        """
        probabilities = statistics.probabilities
        floors = np.zeros(len(probabilities), dtype=np.float64)
        seen = probabilities > 0
        floors[seen] = np.log(self.lambda_ * probabilities[seen])
        return floors

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of ``ln P(t|d) - floor(t)``.

        Parameters
        ----------
        counts : TermWeights of n rows
            How often each term occurs in each document.
        statistics : CollectionStatistics
            Of the whole collection.

        Returns
        -------
        TermWeights of n rows
            The same terms; weights finite and never negative.

        Raises
        ------
        WeightError
            If the counts are not counts, or the statistics are of another collection.
        VocabularyMismatchError
            If the rows hold terms that the statistics do not know.
        """
        from termwise.kernels.weighting import jelinek_mercer_weights

        check_counts(counts, statistics)
        weights = jelinek_mercer_weights(
            counts.indptr, counts.terms, counts.weights, statistics.probabilities, self.lambda_
        )
        return TermWeights(counts.indptr, counts.terms, weights, counts.vocabulary)
