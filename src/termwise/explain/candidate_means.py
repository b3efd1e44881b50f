"""Mean weight of each query term over the candidates; centred explanations subtract it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from termwise.engine.dense_retrieval import best_window
from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import best_chunks
from termwise.explain.explanation import Contribution, Explanation
from termwise.index import Index

NO_TEXT = "no text"
"""Origin of the contribution for a document that has no vector; see `termwise.explain.explanation.Origin`."""


def mean_weights(index: Index, query: QueryVector, ordinals: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return the mean of the weight of each query term, and of the document bias, over documents.

    A document without the term has the weight 0.

    Parameters
    ----------
    index : Index
    query : QueryVector
        Query prepared for the index.
    ordinals : ndarray of shape (n,), int64
        Positions of the documents; 1 or more.

    Returns
    -------
    dict of str to float
        Mean of `Contribution.weight` by term.
    """
    ordinals, _, _ = best_chunks(index, query, ordinals)
    totals = np.zeros(len(query.terms))
    if index.term_vectors is not None:
        for ordinal in ordinals.tolist():
            if (best := best_window(index, query, ordinal)) is not None:
                totals += best.products * best.scale
        totals *= query.unit / query.query_scale
    else:
        for ordinal in ordinals.tolist():
            terms, impacts = index.row(ordinal)
            _, places, found = np.intersect1d(query.terms, terms, assume_unique=True, return_indices=True)
            totals[places] += impacts[found]
        totals *= index.manifest.quantiser.scale
    means = dict(zip(map(index.vocabulary.token, query.terms.tolist()), totals / len(ordinals), strict=True))
    if query.background:
        bias = sum(index.bias(ordinal) for ordinal in ordinals.tolist()) / len(ordinals)
        shift = 1 if query.exact else 2**index.manifest.quantiser.bias_bits
        means[index.vocabulary.token(index.manifest.terms)] = bias * index.manifest.quantiser.scale / shift
    return {term: float(mean) for term, mean in means.items()}


def centred_explanation(explanation: Explanation, means: Mapping[str, Mapping[str, float]]) -> Explanation:
    """Subtract from each contribution of a mixture its mean over the candidates.

    The mean of a part is the sum of the means of its terms, so the contributions add up to the score without a
    constant.

    Parameters
    ----------
    explanation : Explanation
        Of a mixture.
    means : mapping of str to mapping of str to float
        By part and term, see `mean_weights`.
    """
    moved: list[Contribution] = []
    for part in explanation.parts:
        of_part = means.get(part.name, {})
        own = [each for each in explanation.contributions if each.part == part.name]
        if of_part.get(NO_TEXT) and all(each.origin != "empty" for each in own):
            own.append(Contribution(NO_TEXT, "empty", 1.0, 0.0, 0.0, part=part.name, scale=part.scale))
        shifted = []
        for each in own:
            mean = of_part.get(each.term, 0.0)
            score = each.query_weight * (each.weight - mean) * each.scale
            shifted.append(replace(each, mean=mean, score=score))
        moved += sorted(shifted, key=lambda each: -each.score)
    return replace(explanation, constant=0.0, contributions=tuple(moved), centred=True)
