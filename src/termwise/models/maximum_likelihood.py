"""Maximum likelihood: the unsmoothed language model of a document.

Let tf be the number of occurrences of the term in the document, and dl the number of tokens of the document. The weight
of a term is

    P(t|d) = tf / dl

The weights of a row that is not empty add up to 1, so the product of the row with a vector over the terms is the mean
of that vector over the tokens of the document, including repetitions. A document likelihood is such a mean
(`termwise.search.QueryDocumentLikelihood`):

    1/dl * sum over the tokens t of d of ln P(t|q)  =  sum over the terms t of d of P(t|d) * ln P(t|q)

`termwise.search.translation_scorer` uses the same weights together with the collection frequency cf of each term, which
the index stores as an additional file.

The model ranks poorly on its own: it prefers short documents and has no idf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from termwise.fast_dataclass import dataclass
from termwise.models.attachments import FREQUENCIES
from termwise.models.base import CountModel
from termwise.models.checks import check_counts
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics
    from termwise.text import Vocabulary


@dataclass(frozen=True, kw_only=True)
class MaximumLikelihood(CountModel):
    """Term frequency divided by document length; the module documents the formula. There are no parameters.

    Examples
    --------
    >>> from termwise.collection.statistics import CollectionStatistics
    >>> counts = TermWeights([0, 2, 2, 3], [0, 1, 1], [1.0, 3.0, 5.0], vocabulary="toy")
    >>> statistics = CollectionStatistics.from_counts([counts])
    >>> MaximumLikelihood().weigh(counts, statistics).weights
    array([0.25, 0.75, 1.  ], dtype=float32)
    """

    name: ClassVar[str] = "ml"

    def attachments(self, vocabulary: Vocabulary, statistics: CollectionStatistics) -> dict[str, bytes]:
        """Return the file of collection frequencies."""
        return {FREQUENCIES: statistics.collection_frequencies.astype("<i8").tobytes()}

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of P(t|d) for the same terms; see `CountModel.weigh`.

        The statistics serve only to check the counts.
        """
        from termwise.kernels.weighting import row_lengths

        check_counts(counts, statistics)
        lengths = row_lengths(counts.indptr, counts.weights)
        shares = counts.weights / np.repeat(lengths, np.diff(counts.indptr))
        return TermWeights(counts.indptr, counts.terms, shares, counts.vocabulary)
