"""Example samples of a cell, and comparisons of each scorer with the first one, probe by probe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from termwise.evaluate.multiple_testing import holm
from termwise.probes.core.result import ProbeResult, json_score
from termwise.probes.core.run_suite import ProbeSamples, ScorerResults, SuiteRun
from termwise.probes.core.sample import Sample, Samples
from termwise.probes.core.score_gaps import Scores
from termwise.probes.core.statistics import Estimate, compare
from termwise.scorers.protocol import AdditiveScorer, TextScorer

LONGEST = 1200
"""Characters of a text that are shown."""


def example_samples(
    scorer: TextScorer, samples: Samples, result: ProbeResult, count: int
) -> list[dict[str, Any]]:
    """Return the samples with the largest differences, up to `count` in each direction and one per query.

    Samples whose first text is preferred come first.
    """
    by_id = {sample.sample_id: sample for sample in samples}
    differences = result.differences
    order = np.argsort(-differences, kind="stable")
    examples = []
    for sign, positions in ((1, order), (-1, order[::-1])):
        query_ids: set[str] = set()
        for position in positions.tolist():
            if len(query_ids) == count or differences[position] * sign <= 0:
                break
            sample = by_id[result.sample_ids[position]]
            if sample.query_id in query_ids:
                continue
            query_ids.add(sample.query_id)
            example = {
                **sample_texts(sample),
                "scores": [json_score(result.first[position]), json_score(result.second[position])],
                "effect": int(result.effects[position]),
            }
            if isinstance(scorer, AdditiveScorer):
                # sorted by term: the order of contributions depends on the texts seen before
                sides = [sorted(scorer.contributions(*pair)) for pair in sample.pairs]
                if all(np.isfinite(value) for side in sides for _, value in side):
                    example["terms"] = [[[term, round(value, 4)] for term, value in side] for side in sides]
            examples.append(example)
    return examples


def sample_texts(sample: Sample) -> dict[str, Any]:
    """Return the query and the texts of a sample, JSON-like; long texts are cut."""
    return {
        "sample": sample.sample_id,
        "query": sample.query,
        "second_query": sample.second_query,
        "first": sample.first[:LONGEST],
        "second": sample.second[:LONGEST],
    }


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
