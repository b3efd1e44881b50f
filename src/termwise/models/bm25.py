"""BM25 in three variants.

Let tf be the number of occurrences of the term in the document, dl the number of tokens of the document, avgdl the mean
of dl, df the number of documents that contain the term, and N the number of documents. The weight of a term is

    idf * factor * tf / (tf + k1 * (1 - b + b * dl / avgdl))

============  =====================================  ==========  =============================================
variant       idf                                    factor      source
============  =====================================  ==========  =============================================
``lucene``    ``ln(1 + (N - df + 0.5)/(df + 0.5))``  ``1``       ``BM25Similarity`` of Lucene 8 and later; the
                                                                 accurate Lucene form of Kamphuis et al.
``robertson`` ``ln((N - df + 0.5)/(df + 0.5))``      ``k1 + 1``  Robertson et al. (1994), "Okapi at TREC-3";
                                                                 Robertson & Zaragoza (2009), 3.1 and 3.4
``atire``     ``ln(N/df)``                           ``k1 + 1``  Trotman, Jia & Crane (2012), "Towards an
                                                                 efficient and effective search engine"
============  =====================================  ==========  =============================================

Robertson & Zaragoza (2009), "The probabilistic relevance framework: BM25 and beyond", Foundations and Trends in
Information Retrieval 3(4). Kamphuis, de Vries, Boytsov & Lin (2020), "Which BM25 do you mean?", ECIR, compare the
variants and print Robertson's without the factor. The factor is the same for all terms and documents, so it matters
only if BM25 is combined with another score.

The query weight of a term is its number of occurrences in the query, as in Lucene; the k3 of the TREC-3 formula is not
used.

Departures from Lucene: N and avgdl include documents without tokens, and intermediate results are not rounded to 32
bits. ``lengths="lucene"`` applies Lucene's one-byte document lengths; avgdl is exact in both cases, as in Lucene
(``sumTotalTermFreq / docCount``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import WeightError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.models.base import CountModel
from termwise.models.checks import UNIT, Range, check_counts
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.collection.statistics import CollectionStatistics


@dataclass(frozen=True, kw_only=True)
class BM25(CountModel):
    """BM25 with its parameters; the module documents the formula.

    Parameters
    ----------
    k1 : float, optional
        Saturation of repeated occurrences, from 0 to 1e6. At 0 only the presence of a term counts.
    b : float, optional
        Strength of the length normalisation, from 0 (none) to 1 (full).
    variant : {"lucene", "robertson", "atire"}, optional
        Form of the idf and constant factor.
    lengths : {"exact", "lucene"}, optional
        Exact document lengths, or lengths as Lucene stores them in one byte: exact below 40, above that 24 plus the
        four highest bits of ``dl - 24`` (``SmallFloat.intToByte4`` and ``byte4ToInt``).
    negative_idf : {"floor", "refuse"}, optional
        Treatment of the negative Robertson idf of terms in more than half of the documents: set it to 0, or refuse the
        collection.

    Raises
    ------
    ParameterError
        If a number is out of range.
    UnknownNameError
        If a choice does not exist.

    Examples
    --------
    >>> from termwise.collection.statistics import CollectionStatistics
    >>> counts = TermWeights([0, 2, 3], [0, 1, 1], [1.0, 1.0, 2.0], vocabulary="toy")
    >>> statistics = CollectionStatistics.from_counts([counts])
    >>> BM25(k1=1.0, b=0.0).weigh(counts, statistics).weights
    array([0.3465736 , 0.09116078, 0.12154771], dtype=float32)

    The first weight is ``ln(1 + 1.5/1.5) * 1/(1 + 1)``.
    """

    k1: float = 0.9
    b: float = 0.4
    variant: Literal["lucene", "robertson", "atire"] = "lucene"
    lengths: Literal["exact", "lucene"] = "exact"
    negative_idf: Literal["floor", "refuse"] = "floor"

    name: ClassVar[str] = "bm25"
    ranges: ClassVar[Mapping[str, Range]] = {
        "k1": (lambda value: 0 <= value <= 1e6, "a number from 0 to 1e6"),
        "b": UNIT,
    }

    @property
    def keeps_terms(self) -> bool:
        """Whether the idf is above 0 for all terms."""
        return self.variant == "lucene"

    def idf(self, statistics: CollectionStatistics) -> npt.NDArray[np.float64]:
        """Return the inverse document frequency of each term in the chosen variant.

        Returns
        -------
        ndarray of shape (V,), float64
            0 for terms without a document. Negative values occur only in the Robertson form, before `weigh` sets them
            to 0 or refuses them.
        """
        from termwise.kernels.weighting import atire_idf, lucene_idf, robertson_idf

        functions = {"lucene": lucene_idf, "robertson": robertson_idf, "atire": atire_idf}
        frequencies = np.asarray(statistics.document_frequencies, dtype=np.int64)
        idf: npt.NDArray[np.float64] = functions[self.variant](frequencies, statistics.n_documents)
        return idf

    def weigh(self, counts: TermWeights, statistics: CollectionStatistics) -> TermWeights:
        """Turn rows of counts into rows of BM25 weights for the same terms; see `CountModel.weigh`.

        Raises
        ------
        WeightError
            Also if an idf is negative and ``negative_idf="refuse"``.
        """
        from termwise.kernels.weighting import bm25_weights

        check_counts(counts, statistics)
        idf = self.idf(statistics)
        if self.negative_idf == "refuse":
            self._refuse_negative(idf, statistics)
        weights = bm25_weights(
            counts.indptr,
            counts.terms,
            counts.weights,
            np.maximum(idf, 0.0),
            float(statistics.avgdl) or math.inf,  # all documents of the build were empty
            self.k1,
            self.b,
            1.0 if self.variant == "lucene" else self.k1 + 1.0,
            self.lengths == "lucene",
        )
        return TermWeights(counts.indptr, counts.terms, weights, counts.vocabulary)

    def _refuse_negative(self, idf: npt.NDArray[np.float64], statistics: CollectionStatistics) -> None:
        negative = np.flatnonzero(idf < 0)
        if len(negative) == 0:
            return
        first = int(negative[0])
        raise WeightError(
            f"{len(negative)} of {len(idf)} terms have a negative idf",
            facts=[
                ("variant", self.variant),
                ("first term", first),
                ("documents", f"{statistics.document_frequencies[first]} of {statistics.n_documents}"),
                ("idf", float(idf[first])),
            ],
            fixes=[
                Fix.use("use {}, whose idf is never negative", variant="lucene"),
                Fix.use(negative_idf="floor"),
            ],
        )
