"""Power of the inverse document frequency that network weights are multiplied by.

A network weighs the terms of a document without the other documents of the collection. A term that every document
contains may therefore have a large weight, although it does not distinguish any documents. The power p of the idf
corrects this:

    w'(t, d) = w(t, d) · idf(t)^p          idf(t) = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5))

N is the number of documents, and df(t) the number of rows that contain t, including expansions. The idf is that of
Lucene's BM25. p = 0 leaves the weights as published; p = 1 gives the idf the influence it has in BM25. Queries do not
change: the idf is part of the document weights.

No published form of TILDEv2 or SPLADE-doc has this factor. Other inference-free models weigh query terms by the idf of
the training collection [1]_; here it is the idf of the searched collection.

.. [1] Z. Geng, D. Ru and Y. Yang, *Towards Competitive Search Relevance For Inference-Free Learned Sparse Retrievers*,
   arXiv 2411.04403, 2024.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from termwise.models.checks import Range

LARGEST_POWER = 4.0

POWER: Range = (lambda value: 0 <= value <= LARGEST_POWER, f"a number from 0 to {LARGEST_POWER:g}")


def idf_factors(
    document_frequencies: npt.NDArray[np.int64], n_documents: int, power: float
) -> npt.NDArray[np.float64]:
    """Return the factor of each term.

    Parameters
    ----------
    document_frequencies : ndarray of shape (V,), int64
        Number of rows that hold each term.
    n_documents : int
        Number of rows, empty ones included.
    power : float
        0 or more.

    Returns
    -------
    ndarray of shape (V,), float64
        Above 0 for terms that a row holds.

    Examples
    --------
    >>> idf_factors(np.array([1, 3]), 3, 1.0).round(4)
    array([0.9808, 0.1335])
    >>> idf_factors(np.array([1, 3]), 3, 0.5).round(4)
    array([0.9904, 0.3654])
    """
    from termwise.kernels.weighting import lucene_idf

    factors: npt.NDArray[np.float64] = lucene_idf(document_frequencies, n_documents) ** power
    return factors
