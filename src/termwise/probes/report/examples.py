"""The samples that say most of what a scorer does: with their texts, and with terms where scores are sums of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from termwise.probes.core.result import ProbeResult
from termwise.probes.core.sample import Sample
from termwise.scorers.protocol import AdditiveScorer, TextScorer

LONGEST = 1200
"""Characters of a text that are shown."""


def telling_samples(
    scorer: TextScorer, samples: Sequence[Sample], result: ProbeResult, count: int
) -> list[dict[str, Any]]:
    """Return the samples with the largest differences either way.

    Parameters
    ----------
    scorer : TextScorer
        What gave the scores.
    samples : sequence of Sample
        Those of the probe.
    result : ProbeResult
        Of this scorer.
    count : int
        Samples of each direction, at the most. Of one query there is one at the most.

    Returns
    -------
    list of dict
        JSON-like; those that the scorer prefers first.
    """
    by_name = {sample.sample_id: sample for sample in samples}
    differences = result.differences
    order = np.argsort(-differences, kind="stable")
    found = []
    for effect, places in ((1, order), (-1, order[::-1])):
        seen: set[str] = set()
        for place in places.tolist():
            if len(seen) == count or differences[place] * effect <= 0:
                break
            sample = by_name[result.sample_ids[place]]
            if sample.query_id in seen:
                continue
            seen.add(sample.query_id)
            found.append(_shown(scorer, sample, result, place))
    return found


def _shown(scorer: TextScorer, sample: Sample, result: ProbeResult, place: int) -> dict[str, Any]:
    sides = sample.pairs
    shown: dict[str, Any] = {
        **said(sample),
        "scores": [told_score(result.first[place]), told_score(result.second[place])],
        "effect": int(result.effects[place]),
    }
    if isinstance(scorer, AdditiveScorer):
        terms = [scorer.contributions(*pair) for pair in sides]
        if all(np.isfinite(value) for side in terms for _, value in side):
            shown["terms"] = [_terms(side) for side in terms]
    return shown


def said(sample: Sample) -> dict[str, Any]:
    """Return what a sample says, JSON-like; long texts are cut."""
    return {
        "sample": sample.sample_id,
        "query": sample.query,
        "second_query": sample.second_query,
        "first": sample.first[:LONGEST],
        "second": sample.second[:LONGEST],
    }


def told_score(score: float) -> float | str:
    """Return a score as JSON has it: an infinite one as a word."""
    return float(score) if np.isfinite(score) else str(float(score))


def _terms(contributions: Iterable[tuple[str, float]]) -> list[list[Any]]:
    """Return terms in their own order: numbers of terms depend on which texts were met first."""
    return [[term, round(value, 4)] for term, value in sorted(contributions)]
