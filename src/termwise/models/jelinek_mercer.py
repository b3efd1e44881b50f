"""Query likelihood with Jelinek-Mercer smoothing.

A linear interpolation of document model and collection model (Zhai & Lafferty 2004, "A study of smoothing methods for
language models applied to information retrieval", ACM TOIS 22(2), section 3; lambda is the weight of the collection
there too):

    P(t|d) = (1 - lambda) * tf / dl + lambda * P(t|C),        P(t|C) = cf / C

tf is the number of occurrences of the term in the document, dl the number of tokens of the document, cf the number of
occurrences of the term in the collection, and C the number of tokens of the collection. The logarithm has one part for
absent terms and one for matches:

    ln P(t|d) = ln(lambda * P(t|C)) + ln(1 + ((1 - lambda) * tf / dl) / (lambda * P(t|C)))

The first part is the floor; the second, never negative, is the weight. The score, summed over the tokens of the query,
is ln P(q|d).

The weight is the score of Lucene's ``LMJelinekMercerSimilarity``. Departure: Lucene's default collection model is
``(cf + 1) / (C + 1)``; here it is that of the paper. In a document without tokens, tf / dl is 0. A vocabulary
term that is absent from the collection has the floor 0, so that the product leaves it out like an unknown token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass
from termwise.models.base import CountModel
from termwise.models.checks import Range, check_counts
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics


@dataclass(frozen=True, kw_only=True)
class QueryLikelihoodJM(CountModel):
    """Query likelihood with linear smoothing; the module documents the formula.

    Parameters
    ----------
    lambda_ : float, optional
        Weight of the collection model, strictly between 0 and 1. Zhai & Lafferty and the documentation of Lucene
        recommend 0.1 for short and 0.7 for long queries. Near 0 a document must match every token of the query, near 1
        any token.

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
    ranges: ClassVar[Mapping[str, Range]] = {
        "lambda_": (lambda value: 1e-9 <= value < 1, "a number from 1e-9 to below 1")
    }

    def floors(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64]:
        """Return ``ln(lambda * P(t|C))`` for each term.

        Returns
        -------
        ndarray of shape (V,), float64
            Below 0; exactly 0 for terms that are absent from the collection.
        """
        probabilities = statistics.probabilities
        floors = np.zeros(len(probabilities), dtype=np.float64)
        present = probabilities > 0
        floors[present] = np.log(self.lambda_ * probabilities[present])
        return floors

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of ``ln P(t|d) - floor(t)`` for the same terms; see `CountModel.weigh`."""
        from termwise.kernels.weighting import jelinek_mercer_weights

        check_counts(counts, statistics)
        weights = jelinek_mercer_weights(
            counts.indptr, counts.terms, counts.weights, statistics.probabilities, self.lambda_
        )
        return TermWeights(counts.indptr, counts.terms, weights, counts.vocabulary)
