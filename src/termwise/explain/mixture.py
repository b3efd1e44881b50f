"""Explanation of a score in a mixture: joined from those in its parts, and centred on the candidates of the query."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from termwise.engine.dense_retrieval import best_window
from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import best_chunks
from termwise.explain.attribution import Span
from termwise.explain.explanation import Contribution, Explanation, MixturePart
from termwise.explain.feedback import feedback_name, feedback_score
from termwise.index import Index

NO_TEXT = "no text"
"""Term of the contribution of a document that has no vector; its origin is ``empty``."""


def with_lead(explanation: Explanation, lead: float) -> Explanation:
    """Add what a mixture adds to the score of a document that matches by words, so that it is before other ones."""
    contribution = Contribution(
        term="words",
        origin="boost",
        query_weight=lead,
        weight=1.0,
        score=lead,
        value="matches",
        shape="before matches by meaning only",
    )
    contributions = (*explanation.contributions, contribution)
    return replace(explanation, score=explanation.score + lead, contributions=contributions)


def mixed_explanation(
    of_parts: Sequence[tuple[str, float, float, float]],
    explanations: Sequence[Explanation],
    scores: Sequence[float],
    score: float,
    *,
    index: str,
) -> Explanation:
    """Join the explanations of a document in each part.

    Parameters
    ----------
    of_parts : sequence of (str, float, float, float)
        Name and weight of each part, and mean and deviation of its scores over the candidates.
    explanations : sequence of Explanation
        Of the document in each part.
    scores : sequence of float
        Scores of the document in each part.
    score : float
        Score in the mixture.
    index : str
        Name of the mixture.
    """
    parts = tuple(
        MixturePart(name, weight, own, mean, deviation, explained.constant, explained.unknown)
        for (name, weight, mean, deviation), explained, own in zip(
            of_parts, explanations, scores, strict=True
        )
    )
    contributions = tuple(
        replace(contribution, score=contribution.score * part.scale, part=part.name, scale=part.scale)
        for part, explained in zip(parts, explanations, strict=True)
        for contribution in sorted(
            (*explained.contributions, *_empty(part, explained)),
            key=lambda each: -each.score * part.scale,
        )
    )
    known = [span for contribution in contributions for span in contribution.query_spans]
    unknown = {span for explained in explanations for span in explained.unknown}
    return Explanation(
        query=explanations[0].query,
        doc_id=explanations[0].doc_id,
        score=score,
        constant=sum(part.shift for part in parts),
        contributions=contributions,
        unknown=_outside(unknown, known),
        text=explanations[0].text,
        parts=parts,
        windows=tuple(
            replace(window, part=part.name)
            for part, explained in zip(parts, explanations, strict=True)
            for window in explained.windows
        ),
        index=index,
    )


def _empty(part: MixturePart, explained: Explanation) -> tuple[Contribution, ...]:
    """Return the score that a part gives a document without a vector, which has no contributions of terms."""
    given = part.score - explained.score
    return (Contribution(NO_TEXT, "empty", 1.0, given, given),) if given else ()


def _outside(spans: Iterable[Span], others: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans that overlap none of the others, in their order.

    Examples
    --------
    >>> _outside([(4, 6), (0, 2), (7, 9)], [(1, 3), (6, 7)])
    ((4, 6), (7, 9))
    """
    ordered = sorted(others)
    starts = [start for start, _ in ordered]
    ends = list(accumulate((end for _, end in ordered), max, initial=-1))
    return tuple(sorted((start, end) for start, end in spans if ends[bisect_left(starts, end)] <= start))


def mean_weights(index: Index, query: QueryVector, ordinals: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return the mean weight over documents of each query term, of the document bias and of feedback.

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
    feedback = 0.0
    if index.term_vectors is not None:
        for ordinal in ordinals.tolist():
            if (best := best_window(index, query, ordinal)) is not None:
                totals += best.products * best.scale
                if query.moved is not None:
                    feedback += feedback_score(query, best) / query.moved.weight
        totals *= query.term_unit / query.query_scale
    else:
        for ordinal in ordinals.tolist():
            terms, impacts = index.row(ordinal)
            _, places, found = np.intersect1d(query.terms, terms, assume_unique=True, return_indices=True)
            totals[places] += impacts[found]
        totals *= index.manifest.quantiser.scale
    means = dict(zip(map(index.vocabulary.token, query.terms.tolist()), totals / len(ordinals), strict=True))
    if query.moved is not None:
        means[feedback_name(index, query.moved)] = feedback / len(ordinals)
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
