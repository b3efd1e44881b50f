"""Explanation of a score in a mixture, joined from the explanations in its parts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from termwise.explain.attribution import Span
from termwise.explain.candidate_means import NO_TEXT
from termwise.explain.explanation import Contribution, Explanation, MixturePart


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
