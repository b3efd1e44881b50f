"""Contents of a report as one JSON-like object, the source of tables, page and comparisons.

A cell holds the results of one probe and one scorer: the score with its statistics (`termwise.probes.core.statistics`),
and p-values corrected for the number of cells of a section: ``bonferroni`` of the published test, ``holm`` and
``benjamini_hochberg`` of the clustered test. Symmetric probes have no test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from termwise.evaluate.multiple_testing import benjamini_hochberg, bonferroni, holm
from termwise.probes.core.expectations import expectation_of
from termwise.probes.core.result import ProbeResult
from termwise.probes.core.run_suite import ProbeSamples, ScorerResults, SuiteRun
from termwise.probes.core.sample import Samples
from termwise.probes.core.statistics import estimate, published_t, standardised_mean, sweep
from termwise.probes.report.comparisons import comparisons, example_samples
from termwise.progress import Progress, no_progress
from termwise.scorers.protocol import fingerprint_of

FORMAT = "termwise-probes"
VERSION = 2

RESAMPLES = 2000
"""Resamples of the bootstrap for each cell."""

_SWEEP_STEP = 5
"""Step between the percentiles of a sweep that a report keeps."""


class Report(dict[str, Any]):
    """Report of probes: JSON-like, and a page in a notebook."""

    def _repr_html_(self) -> str:
        from termwise.display.html import notebook_frame
        from termwise.probes.report.page import report_html

        return notebook_frame(report_html(self), "Report of probes")


def report_of(
    run: SuiteRun, *, examples: int = 2, resamples: int = RESAMPLES, progress: Progress = no_progress
) -> Report:
    """Return the report of a run.

    Parameters
    ----------
    run : SuiteRun
    examples : int, optional
        Number of example samples of each cell and direction; 0 for no sample texts at all.
    resamples : int, optional
        Resamples of the bootstrap for each cell.
    progress : callable, optional
        Called with a stage, the number of finished cells and the number of cells.

    Returns
    -------
    Report
        JSON-like: ``format``, ``version``, ``facts``, ``scorers``, ``probes``, ``cells``, ``comparisons``, ``spread``.
        A cell has the names of probe and scorer, and

        ``score``, ``positive``, ``neutral``, ``negative``, ``samples``
            the mean effect, None without a sample, and the counts of effects;
        ``low``, ``high``
            its 95 % interval, by bootstrap over queries; None for a single query and without variation;
        ``queries``, ``by_query``, ``consistent``
            number of queries, the mean of their mean effects, and the share of queries whose effects are all +1;
        ``identical``, ``cut``
            samples with equal sides; samples longer than the window of the scorer, None if unknown;
        ``p_clustered``, ``p_holm``, ``p_benjamini_hochberg``
            t-test with queries as clusters, and its corrections over the section; None for symmetric probes;
        ``p_published``, ``p_bonferroni``
            paired t-test over all samples, and its correction; None for symmetric probes;
        ``standardised_difference``, ``detectable``
            mean difference of scores / standard deviation; the score that the test detects with a power of 80 %;
        ``content``
            hash of the samples; equal hashes mean equal samples;
        ``area``, ``sweep``
            mean of the scores at all percentiles of the gaps, and the scores at every fifth; None without gaps;
        ``examples``
            example samples.
    """
    section_of = {one.probe.name: one.section for one in run.probes}
    cells: list[dict[str, Any]] = []
    total = sum(len(scorer.results) for scorer in run.scorers)
    for scorer in run.scorers:
        for one in run.probes:
            if one.probe.name in scorer.results:
                cells.append(_cell(scorer, one, scorer.results[one.probe.name], examples, resamples))
                progress("compute statistics", len(cells), total)
    correct_p_values(cells, section_of)
    report = {
        "format": FORMAT,
        "version": VERSION,
        "facts": run.facts,
        "scorers": [_scorer(scorer) for scorer in run.scorers],
        "probes": [_probe(one) for one in run.probes],
        "cells": cells,
        "comparisons": list(comparisons(run, resamples=resamples, examples=bool(examples))),
        "spread": spread(run),
    }
    return Report(report)


def spread(run: SuiteRun) -> list[dict[str, Any]]:
    """Return the standard deviation of scores between scorers named ``MODEL@SEED``, by model and section.

    The deviation of a probe is computed with n - 1; the deviation of a section is the square root of the mean variance
    (MacAvaney et al., TACL 2022, table 4).
    """
    models: dict[str, list[ScorerResults]] = {}
    for scorer in run.scorers:
        model, at, _ = scorer.scorer.name.partition("@")
        if at:
            models.setdefault(model, []).append(scorer)
    return [_model_spread(model, seeds, run.probes) for model, seeds in models.items() if len(seeds) > 1]


def _model_spread(
    model: str, seeds: Sequence[ScorerResults], probes: Sequence[ProbeSamples]
) -> dict[str, Any]:
    variances: dict[str, list[float]] = {}
    flips = []
    for one in probes:
        name = one.probe.name
        results = [seed.results[name].score for seed in seeds if name in seed.results]
        scores = [score for score in results if score is not None]
        if len(scores) < 2:
            continue
        variances.setdefault(one.section, []).append(float(np.var(scores, ddof=1)))
        if min(scores) < 0 < max(scores):
            flips.append(name)
    return {
        "model": model,
        "seeds": len(seeds),
        "sections": {
            section: {"deviation": float(np.sqrt(np.mean(values))), "probes": len(values)}
            for section, values in variances.items()
        },
        "sign_flips": flips,
    }


def _scorer(scorer: ScorerResults) -> dict[str, Any]:
    return {
        "name": scorer.scorer.name,
        "fingerprint": fingerprint_of(scorer.scorer),
        "effect_rule": scorer.rule.described(),
        "gaps": None if scorer.gaps is None else len(scorer.gaps),
        "skipped": dict(scorer.skipped),
    }


def _probe(one: ProbeSamples) -> dict[str, Any]:
    probe = one.probe
    return {
        "name": probe.name,
        "title": probe.title,
        "definition": probe.definition,
        "section": one.section,
        "strategy": probe.strategy,
        "symmetric": probe.symmetric,
        "needs": probe.needs,
        "expectation": expectation_of(probe),
        "samples": len(one.samples),
        "lengths": _lengths(one.samples),
        "left_out": one.omitted,
        "content": one.samples.content,
    }


def _lengths(samples: Samples) -> dict[str, float | int] | None:
    """Return the mean lengths of both texts in words, and how often the first is longer or shorter."""
    if not samples:
        return None
    words = np.array([[len(sample.first.split()), len(sample.second.split())] for sample in samples])
    first, second = words.mean(axis=0)
    return {
        "first": float(first),
        "second": float(second),
        "longer": int((words[:, 0] > words[:, 1]).sum()),
        "shorter": int((words[:, 0] < words[:, 1]).sum()),
    }


def _cell(
    scorer: ScorerResults, one: ProbeSamples, result: ProbeResult, examples: int, resamples: int
) -> dict[str, Any]:
    score = estimate(result, resamples=resamples)
    _, p_published = published_t(result)
    symmetric = one.probe.symmetric
    curve = None if scorer.gaps is None else sweep(result, scorer.gaps)
    return {
        "probe": one.probe.name,
        "scorer": scorer.scorer.name,
        "score": score.value,
        "low": score.low,
        "high": score.high,
        **result.counts._asdict(),
        "samples": len(result),
        "queries": score.queries,
        "identical": result.identical,
        "cut": None if result.cut is None else int(result.cut.sum()),
        "content": result.content,
        "by_query": _mean(result.query_scores.values()),
        "consistent": _mean(query_score == 1 for query_score in result.query_scores.values()),
        "p_clustered": None if symmetric else score.p,
        "p_published": p_published,
        "standardised_difference": standardised_mean(result.differences),
        "detectable": _detectable(score.value, score.t),
        "area": None if curve is None else curve.area,
        "sweep": None if curve is None else [round(float(one), 4) for one in curve.scores[::_SWEEP_STEP]],
        "examples": example_samples(scorer.scorer, one.samples, result, examples) if examples else [],
    }


def correct_p_values(cells: Sequence[dict[str, Any]], section_of: Mapping[str, str]) -> None:
    """Add corrections of ``p_published`` and ``p_clustered`` to cells, over the cells of each section."""
    for section in dict.fromkeys(section_of.values()):
        tested = [cell for cell in cells if section_of[cell["probe"]] == section]
        published = [cell["p_published"] for cell in tested]
        clustered = [cell["p_clustered"] for cell in tested]
        for cell, *corrected in zip(
            tested, bonferroni(published), holm(clustered), benjamini_hochberg(clustered), strict=True
        ):
            cell["p_bonferroni"], cell["p_holm"], cell["p_benjamini_hochberg"] = corrected


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return float(np.mean(numbers)) if numbers else None


def _detectable(score: float | None, t: float | None) -> float | None:
    """Return the score that the test detects with a power of 80 % at the level .05: 2.8 standard errors."""
    if not score or not t:
        return None
    return float(2.8 * abs(score / t))
