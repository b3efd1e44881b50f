"""Query likelihood with Dirichlet smoothing.

The collection model adds mu tokens to each document (Zhai & Lafferty 2004, "A study of smoothing methods for language
models applied to information retrieval", ACM TOIS 22(2), section 3):

    P(t|d) = (tf + mu * P(t|C)) / (dl + mu),        P(t|C) = cf / C

tf is the number of occurrences of the term in the document, dl the number of tokens of the document, cf the number of
occurrences of the term in the collection, and C the number of tokens of the collection. The logarithm has a part for
the term, one for the match and one for the document:

    ln P(t|d) = ln P(t|C) + ln(1 + tf / (mu * P(t|C))) + ln(mu / (mu + dl))

The first part is the floor; the second, never negative, is the weight. The third is the document bias: it is added once
for every known token of the query. It is stored as the weight of the reserved background term, whose query weight is
the number of known tokens. So that it is at least 0, the value of the longest document is subtracted:

    w(background, d) = ln((mu + longest) / (mu + dl)),        floor(background) = ln(mu / (mu + longest))

The score, summed over the query, is ln P(q|d).

Departures from Lucene's ``LMDirichletSimilarity``: Lucene adds the third part only if a term matches, raises a negative
sum of the second and third part to 0, and uses the collection model ``(cf + 1) / (C + 1)``. Here the score is the
formula of the paper. A vocabulary term that is absent from the collection has no ln P(t|C), which would be the same for
all documents. Its floor is 0, and it is one of the known tokens that multiply the third part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from termwise.errors import WeightError
from termwise.fast_dataclass import dataclass
from termwise.models.base import CountModel
from termwise.models.checks import Range, check_counts
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics


@dataclass(frozen=True, kw_only=True)
class QueryLikelihoodDirichlet(CountModel):
    """Query likelihood with a Dirichlet prior; the module documents the formula.

    Parameters
    ----------
    mu : float, optional
        Weight of the prior in tokens, from 1e-6 to 1e12. The default, 2000, is Lucene's.

    Raises
    ------
    ParameterError
        If it is out of range.

    Examples
    --------
    >>> from termwise.collection.statistics import CollectionStatistics
    >>> counts = TermWeights([0, 2, 3], [0, 1, 1], [1.0, 1.0, 3.0], vocabulary="toy")
    >>> statistics = CollectionStatistics.from_counts([counts])
    >>> model = QueryLikelihoodDirichlet(mu=5.0)
    >>> rows = model.weigh(counts, statistics)
    >>> rows.terms
    array([0, 1, 2, 1, 2], dtype=int32)
    >>> rows.weights
    array([0.6931472 , 0.22314355, 0.13353139, 0.5596158 , 0.        ], dtype=float32)

    Term 2 is the background term: ``ln((5 + 3) / (5 + 2))`` in the first row, and 0 in the second, the longest one.
    """

    mu: float = 2000.0

    name: ClassVar[str] = "dirichlet"
    has_background_term: ClassVar[bool] = True
    ranges: ClassVar[Mapping[str, Range]] = {
        "mu": (lambda value: 1e-6 <= value <= 1e12, "a number from 1e-6 to 1e12")
    }

    def floors(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64]:
        """Return ``ln P(t|C)`` for each term, followed by the floor of the background term.

        Returns
        -------
        ndarray of shape (V + 1,), float64
            At most 0; exactly 0 for terms that are absent from the collection.
        """
        probabilities = statistics.probabilities
        floors = np.zeros(len(probabilities) + 1, dtype=np.float64)
        present = np.flatnonzero(probabilities > 0)
        floors[present] = np.log(probabilities[present])
        floors[-1] = -np.log1p(statistics.longest / self.mu)
        return floors

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of weights, each with the background term at its end; see `CountModel.weigh`.

        Empty rows get the background term too.
        """
        from termwise.kernels.weighting import dirichlet_weights, row_lengths

        check_counts(counts, statistics)
        lengths = row_lengths(counts.indptr, counts.weights)
        if statistics.closed and len(lengths) and lengths.max() > statistics.longest:
            raise WeightError(
                "the rows and the statistics come from different collections",
                facts=[
                    ("row", int(lengths.argmax())),
                    ("tokens", int(lengths.max())),
                    ("longest document", statistics.longest),
                ],
                fixes=["compute the statistics from the same documents with the same analyzer"],
            )
        indptr, terms, weights = dirichlet_weights(
            counts.indptr, counts.terms, counts.weights, statistics.probabilities, self.mu, statistics.longest
        )
        return TermWeights(indptr, terms, np.maximum(weights, 0.0), counts.vocabulary)
