"""Comparisons of each scorer with the first one, probe by probe, with the samples on which they disagree most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from termwise.evaluate.multiple_testing import holm
from termwise.probes.core.result import ProbeResult, json_score
from termwise.probes.core.run_suite import ProbeSamples, ScorerResults, SuiteRun
from termwise.probes.core.score_gaps import Scores
from termwise.probes.core.statistics import Estimate, compare
from termwise.probes.report.examples import sample_texts

WITH_SAMPLE = 8
"""Number of probes of a comparison, those with the largest differences, for which a sample is shown."""


def comparisons(run: SuiteRun, *, resamples: int, examples: bool) -> Iterator[dict[str, Any]]:
    """Yield the differences between each scorer and the first, for probes where both have the same samples.

    Yields
    ------
    dict
        JSON-like: names of ``probe``, ``scorer`` and ``baseline``; ``difference`` of the scores, scorer minus baseline,
        with ``low``, ``high`` and ``p``; ``p_holm``, corrected over the probes of the comparison; ``sample``, or None.
    """
    probes = {one.probe.name: one for one in run.probes}
    baseline = run.scorers[0]
    for other in run.scorers[1:]:
        estimates = {
            name: compare(result, baseline.results[name], resamples=resamples)
            for name, result in other.results.items()
            if len(result) and name in baseline.results and baseline.results[name].content == result.content
        }
        largest = sorted(estimates, key=lambda name: -abs(estimates[name].value or 0.0))[:WITH_SAMPLE]
        with_sample = {name for name in largest if examples and estimates[name].value}
        corrected = holm([estimate.p for estimate in estimates.values()])
        for (name, estimate), p_holm in zip(estimates.items(), corrected, strict=True):
            yield {
                "probe": name,
                "scorer": other.scorer.name,
                "baseline": baseline.scorer.name,
                "difference": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "p": estimate.p,
                "p_holm": p_holm,
                "sample": _disagreement(probes[name], baseline, other, estimate)
                if name in with_sample
                else None,
            }


def _disagreement(
    probe: ProbeSamples, baseline: ScorerResults, other: ScorerResults, estimate: Estimate
) -> dict[str, Any]:
    """Return the sample on which two scorers disagree most, in the direction of their scores.

    It has the largest difference of effects; ties are broken by the difference of standardised score differences.
    """
    sign = 1.0 if (estimate.value or 0.0) > 0 else -1.0
    before, after = baseline.results[probe.probe.name], other.results[probe.probe.name]
    effects = sign * (after.effects.astype(np.float64) - before.effects)
    differences = sign * (_standardised(after) - _standardised(before))
    position = int(np.lexsort((-differences, -effects))[0])
    sample = next(one for one in probe.samples if one.sample_id == after.sample_ids[position])
    return {
        **sample_texts(sample),
        "scores": [
            [json_score(one.first[position]), json_score(one.second[position]), int(one.effects[position])]
            for one in (before, after)
        ],
    }


def _standardised(result: ProbeResult) -> Scores:
    """Return score differences / standard deviation; absolute for symmetric probes, all 0 without variation.

    Infinite differences count as the largest float64.
    """
    largest_float = np.finfo(np.float64).max
    differences: Scores = np.nan_to_num(result.differences, posinf=largest_float, neginf=-largest_float)
    if result.symmetric:
        differences = np.abs(differences)
    largest = np.abs(differences).max()
    scaled: Scores = differences / largest if largest else differences
    deviation = scaled.std()
    return scaled / deviation if deviation else np.zeros_like(scaled)
