"""Query likelihood with Dirichlet smoothing.

The collection model acts as mu tokens added to each document (Zhai & Lafferty 2004, "A study of smoothing
methods for language models applied to information retrieval", ACM TOIS 22(2), section 3):

    P(t|d) = (tf + mu * P(t|C)) / (dl + mu),        P(t|C) = cf / C

with tf the occurrences of the term in the document, dl its tokens, cf the occurrences in the collection and C
all tokens. Its logarithm has a part for the term, a part for the match and a part for the document:

    ln P(t|d) = ln P(t|C) + ln(1 + tf / (mu * P(t|C))) + ln(mu / (mu + dl))

The first is the floor, the second, never negative, the weight. The third is added once for every token of the
query that is known, whatever it is: it is the document bias, kept as the weight of the reserved background
term, whose query weight is the number of these tokens. To be at least 0 it is shifted by that of the longest
document:

    w(background, d) = ln((mu + longest) / (mu + dl)),        floor(background) = ln(mu / (mu + longest))

So the score, summed over the query, is ln P(q|d) itself.

Departures from Lucene's ``LMDirichletSimilarity``: there the third part is added only where a term matches,
and a sum of second and third part below 0 is raised to 0; the collection model is ``(cf + 1) / (C + 1)``. Our
score is the formula of the paper. A term of the vocabulary that never occurs in the collection has no ln
P(t|C), which would be the same for all documents: its floor is 0, and the third part still counts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from termwise.errors import WeightError
from termwise.models.base import QueryWeighting
from termwise.models.checks import check_counts, check_number
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics


@dataclass(frozen=True, kw_only=True)
class QueryLikelihoodDirichlet:
    """Query likelihood with a Dirichlet prior; the formula stands at the top of the module.

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

    Term 2 is the background term; ``ln((5 + 3) / (5 + 2))`` in the first row and 0 in the second, the
    longest.
    """

    mu: float = 2000.0

    name: ClassVar[str] = "dirichlet"

    def __post_init__(self) -> None:
        mu = check_number(
            self.name, "mu", self.mu, holds=lambda v: 1e-6 <= v <= 1e12, expected="a number from 1e-6 to 1e12"
        )
        object.__setattr__(self, "mu", mu)

    @property
    def background(self) -> bool:
        """True: rows carry the document bias as their last term, numbered V."""
        return True

    @property
    def query_weighting(self) -> QueryWeighting:
        """``"counts"``: every occurrence of a token in the query is a factor of the likelihood."""
        return "counts"

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name."""
        return {"mu": self.mu}

    def floors(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64]:
        """Return ``ln P(t|C)`` for each term, and last that of the background term.

        Returns
        -------
        ndarray of shape (V + 1,), float64
            At most 0; exactly 0 for terms that never occur in the collection.
        """
        probabilities = statistics.probabilities
        floors = np.zeros(len(probabilities) + 1, dtype=np.float64)
        seen = np.flatnonzero(probabilities > 0)
        floors[seen] = np.log(probabilities[seen])
        floors[-1] = -np.log1p(statistics.longest / self.mu)
        return floors

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of weights, each with the background term at its end.

        Parameters
        ----------
        counts : TermWeights of n rows
            How often each term occurs in each document, over the vocabulary with the background term
            reserved.
        statistics : CollectionStatistics
            Of the whole collection.

        Returns
        -------
        TermWeights of n rows
            One entry more per row, empty rows included; weights finite and never negative.

        Raises
        ------
        WeightError
            If the counts are not counts, or the statistics are of another collection.
        VocabularyMismatchError
            If the rows hold terms that the statistics do not know.
        """
        from termwise.kernels.weighting import dirichlet_weights, row_lengths

        check_counts(counts, statistics)
        lengths = row_lengths(counts.indptr, counts.weights)
        if len(lengths) and lengths.max() > statistics.longest:
            raise WeightError(
                "the statistics are not of the collection that the rows come from",
                facts=[
                    ("row", int(lengths.argmax())),
                    ("its tokens", int(lengths.max())),
                    ("longest document", statistics.longest),
                ],
                fixes=["gather the statistics from the same documents with the same analyzer"],
            )
        indptr, terms, weights = dirichlet_weights(
            counts.indptr, counts.terms, counts.weights, statistics.probabilities, self.mu, statistics.longest
        )
        return TermWeights(indptr, terms, weights, counts.vocabulary)
