"""Scorers against the first of them, probe by probe, and the samples on which two of them disagree most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from termwise.evaluate.correction import holm
from termwise.probes.core.result import ProbeResult, Scores
from termwise.probes.core.run_suite import ProbeSamples, ScorerResults, SuiteRun
from termwise.probes.core.statistics import Estimate, compared
from termwise.probes.report.examples import said, told_score

SHOWN = 8
"""Probes of a comparison that a sample is shown of: those with the largest differences."""


def comparisons(run: SuiteRun, *, resamples: int, telling: bool) -> Iterator[dict[str, Any]]:
    """Yield what differs between each scorer and the first, where both saw the same samples.

    Parameters
    ----------
    run : SuiteRun
    resamples : int
        Of the bootstrap, for each probe.
    telling : bool
        Whether samples are shown.

    Yields
    ------
    dict
        JSON-like: names of ``probe``, ``scorer`` and ``baseline``; ``difference`` of the scores, the other scorer minus
        the first, with ``low``, ``high`` and ``p``; ``p_holm`` over the probes of the two; ``sample``, or None.
    """
    questions = {question.probe.name: question for question in run.questions}
    for other in run.examined[1:]:
        first = run.examined[0]
        found = [
            (name, compared(result, first.results[name], resamples=resamples))
            for name, result in other.results.items()
            if len(result) and _same_samples(first.results.get(name), result)
        ]
        corrected = holm([contrast.p for _, contrast in found])
        shown = set(_largest(found)) if telling else set()
        for (name, contrast), p in zip(found, corrected, strict=True):
            yield {
                "probe": name,
                "scorer": other.scorer.name,
                "baseline": first.scorer.name,
                "difference": contrast.value,
                "low": contrast.low,
                "high": contrast.high,
                "p": contrast.p,
                "p_holm": p,
                "sample": _disagreement(questions[name], first, other, contrast) if name in shown else None,
            }


def _same_samples(one: ProbeResult | None, other: ProbeResult) -> bool:
    return one is not None and one.content == other.content


def _largest(found: list[tuple[str, Estimate]]) -> Iterator[str]:
    """Yield the probes that differ most, if they differ."""
    for name, contrast in sorted(found, key=lambda pair: -abs(pair[1].value or 0.0))[:SHOWN]:
        if contrast.value:
            yield name


def _disagreement(
    question: ProbeSamples, first: ScorerResults, other: ScorerResults, contrast: Estimate
) -> dict[str, Any]:
    """Return the sample that parts two scorers most, in the direction in which the probe parts them.

    It is one of those whose effects lie furthest apart; of these the one whose differences of scores do, in standard
    deviations of each scorer.
    """
    sign = 1.0 if (contrast.value or 0.0) > 0 else -1.0
    before, after = first.results[question.probe.name], other.results[question.probe.name]
    effects = sign * (after.effects.astype(np.float64) - before.effects)
    apart = sign * (_standardised(after) - _standardised(before))
    place = int(np.lexsort((-apart, -effects))[0])
    sample = next(one for one in question.samples if one.sample_id == after.sample_ids[place])
    return {
        **said(sample),
        "scores": [
            [told_score(one.first[place]), told_score(one.second[place]), int(one.effects[place])]
            for one in (before, after)
        ],
    }


def _standardised(result: ProbeResult) -> Scores:
    """Return differences in their standard deviations, without a sign where it means nothing.

    Infinite ones count as the largest number; where nothing varies all are 0.
    """
    most = np.finfo(np.float64).max
    differences: Scores = np.nan_to_num(result.differences, posinf=most, neginf=-most)
    if result.symmetric:
        differences = np.abs(differences)
    largest = np.abs(differences).max()
    scaled: Scores = differences / largest if largest else differences
    deviation = scaled.std()
    return scaled / deviation if deviation else np.zeros_like(scaled)
