"""Weights of a network, and how rare their terms are in the collection.

A network weighs the terms of a document without knowing the other documents. Where every document is about the same
thing, its name is important in each and tells none from another. The power p of the inverse document frequency takes
this into account:

    w'(t, d) = w(t, d) · idf(t)^p          idf(t) = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5))

with N documents of which df(t) have t in their row, expansions counted, and the idf that Lucene's BM25 has. With p = 0
weights stay what the network made of them, as published; with p = 1 the idf counts as much as in BM25. Queries are the
same for every p: the idf is part of the weights, as it is in an index of BM25.

No published form of TILDEv2 or SPLADE-doc has it. Where no network reads queries, others weigh the terms of a query
by the idf of the collection they trained on [1]_; here it is that of the collection that is searched.

.. [1] Z. Geng, D. Ru and Y. Yang, *Towards Competitive Search Relevance For Inference-Free Learned Sparse Retrievers*,
   arXiv 2411.04403, 2024.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from termwise.models.checks import check_between

LARGEST_POWER = 4.0


def check_power(model: str, power: object) -> float:
    """Return a power as a float if it is a number from 0 to `LARGEST_POWER`.

    Raises
    ------
    ParameterError
        If it is not.
    """
    return check_between(model, "idf_power", power, least=0, most=LARGEST_POWER)


def idf_factors(
    document_frequencies: npt.NDArray[np.int64], n_documents: int, power: float
) -> npt.NDArray[np.float64]:
    """Return what the weights of each term are multiplied by.

    Parameters
    ----------
    document_frequencies : ndarray of shape (V,), int64
        Rows that hold each term.
    n_documents : int
        Rows there are, empty ones included.
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
