"""The numbers of a report, as one JSON-like object: tables, pages and comparisons are made of it alone.

Each cell is a probe put to a scorer. Beside the score stand how sure it is (`termwise.probes.core.statistics`), and
p-values
corrected for how many cells a section has: ``bonferroni`` of the published test, ``holm`` and ``benjamini_hochberg`` of
the one that knows which samples share a query. Symmetric probes have no test: their order means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from termwise.evaluate.correction import benjamini_hochberg, bonferroni, holm
from termwise.probes.core.expectations import expectation_of
from termwise.probes.core.result import ProbeResult
from termwise.probes.core.run_suite import ProbeSamples, ScorerResults, SuiteRun
from termwise.probes.core.sample import Sample
from termwise.probes.core.statistics import estimate, published_t, standardised_mean
from termwise.probes.core.threshold_sweep import sweep
from termwise.probes.report.comparisons import comparisons
from termwise.probes.report.examples import telling_samples
from termwise.progress import Progress, no_progress

FORMAT = "termwise-probes"
VERSION = 1

RESAMPLES = 2000
"""Of the bootstrap, for each cell."""

_STEPS = 5
"""Every so many percentiles of a sweep are kept."""


def report_of(
    run: SuiteRun, *, telling: int = 2, resamples: int = RESAMPLES, progress: Progress = no_progress
) -> dict[str, Any]:
    """Return what a report says.

    Parameters
    ----------
    run : SuiteRun
    telling : int, optional
        Samples of each cell that are shown with their texts, of those it prefers and of those it does not; 0 for none,
        nor of those on which two scorers disagree.
    resamples : int, optional
        Of the bootstrap, for each cell.
    progress : callable, optional
        Called with a stage, cells that are done, and their number.

    Returns
    -------
    dict
        JSON-like: ``format``, ``version``, ``facts``, ``scorers``, ``probes``, ``cells``, ``comparisons``, ``spread``.
        A cell, a probe put to a scorer, has both names and

        ``score``, ``positive``, ``neutral``, ``negative``, ``samples``
            the mean effect, None without a sample, and what it is made of;
        ``low``, ``high``
            its interval of 95 %, by bootstrap over queries; None with a single query, or where nothing varies;
        ``queries``, ``by_query``, ``consistent``
            clusters, the mean of their mean effects, and the share of them in which all samples have the effect +1;
        ``identical``, ``cut``
            samples with equal sides; samples of which the scorer does not read a part, None where it does not tell;
        ``p_clustered``, ``p_holm``, ``p_benjamini_hochberg``
            a t-test over queries as clusters, and its corrections over the section; None for symmetric probes;
        ``p_published``, ``p_bonferroni``
            the paired t-test over all samples; likewise;
        ``standardised_difference``, ``detectable``
            the mean difference of scores over its deviation; the score that so many samples would show to differ from
            0 four times in five;
        ``content``
            hash of the samples: equal ones say that two scorers, or two reports, have seen the same texts;
        ``area``, ``sweep``
            the mean of the scores at all percentiles of the gaps, and those at every fifth; None where δ is a number;
        ``telling``
            the samples that say most.
    """
    sections = {question.probe.name: question.section for question in run.questions}
    cells = []
    total = sum(len(one.results) for one in run.examined)
    for one in run.examined:
        for question in run.questions:
            result = one.results.get(question.probe.name)
            if result is None:
                continue
            cells.append(_cell(one, question, result, telling, resamples))
            progress("read the scores", len(cells), total)
    _correct(cells, sections)
    return {
        "format": FORMAT,
        "version": VERSION,
        "facts": run.facts,
        "scorers": [_scorer(one) for one in run.examined],
        "probes": [_probe(question) for question in run.questions],
        "cells": cells,
        "comparisons": list(comparisons(run, resamples=resamples, telling=bool(telling))),
        "spread": spread(run),
    }


def spread(run: SuiteRun) -> list[dict[str, Any]]:
    """Return how far scores lie apart between scorers that are seeds of one model: named ``MODEL@SEED``.

    The deviation of each probe is that of a sample, with n - 1; deviations of a section are the square root of the mean
    variance (MacAvaney et al., TACL 2022, table 4).
    """
    models: dict[str, list[ScorerResults]] = {}
    for one in run.examined:
        model, at, _ = one.scorer.name.partition("@")
        if at:
            models.setdefault(model, []).append(one)
    found = []
    for model, seeds in models.items():
        if len(seeds) < 2:
            continue
        variances: dict[str, list[float]] = {}
        flips = []
        for question in run.questions:
            scores = [
                one.results[question.probe.name].score for one in seeds if question.probe.name in one.results
            ]
            known = [score for score in scores if score is not None]
            if len(known) < 2:
                continue
            variances.setdefault(question.section, []).append(float(np.var(known, ddof=1)))
            if min(known) < 0 < max(known):
                flips.append(question.probe.name)
        found.append(
            {
                "model": model,
                "seeds": len(seeds),
                "sections": {
                    section: {"deviation": float(np.sqrt(np.mean(values))), "probes": len(values)}
                    for section, values in variances.items()
                },
                "sign_flips": flips,
            }
        )
    return found


def _scorer(one: ScorerResults) -> dict[str, Any]:
    return {
        "name": one.scorer.name,
        "fingerprint": one.fingerprint,
        "reading": one.reading.described(),
        "gaps": None if one.gaps is None else len(one.gaps),
        "skipped": dict(one.skipped),
    }


def _probe(question: ProbeSamples) -> dict[str, Any]:
    probe = question.probe
    return {
        "name": probe.name,
        "title": probe.title,
        "definition": probe.definition,
        "section": question.section,
        "strategy": probe.strategy,
        "symmetric": probe.symmetric,
        "needs": probe.needs,
        "wanted": expectation_of(probe),
        "samples": len(question.samples),
        "lengths": _lengths(question.samples),
        "left_out": question.left_out,
        "content": question.content,
    }


def _lengths(samples: Sequence[Sample]) -> dict[str, float | int] | None:
    """Return how long both texts are in words, cut at blanks, and how often the first is the longer or shorter one."""
    if not samples:
        return None
    words = np.array([[len(one.first.split()), len(one.second.split())] for one in samples])
    first, second = words.mean(axis=0)
    return {
        "first": float(first),
        "second": float(second),
        "longer": int((words[:, 0] > words[:, 1]).sum()),
        "shorter": int((words[:, 0] < words[:, 1]).sum()),
    }


def _cell(
    one: ScorerResults, question: ProbeSamples, result: ProbeResult, telling: int, resamples: int
) -> dict[str, Any]:
    found = estimate(result, resamples=resamples)
    published = published_t(result)
    symmetric = question.probe.symmetric
    swept = None if one.gaps is None else sweep(result, one.gaps)
    return {
        "probe": question.probe.name,
        "scorer": one.scorer.name,
        "score": found.value,
        "low": found.low,
        "high": found.high,
        **result.counts._asdict(),
        "samples": len(result),
        "queries": found.queries,
        "identical": result.identical,
        "cut": None if result.cut is None else int(result.cut.sum()),
        "content": result.content,
        "by_query": _mean(result.query_scores.values()),
        "consistent": _mean(score == 1 for score in result.query_scores.values()),
        "p_clustered": None if symmetric else found.p,
        "p_published": published[1],
        "standardised_difference": standardised_mean(result.differences),
        "detectable": _detectable(found.value, found.t),
        "area": None if swept is None else swept.area,
        "sweep": None if swept is None else [round(float(score), 4) for score in swept.scores[::_STEPS]],
        "telling": telling_samples(one.scorer, question.samples, result, telling) if telling else [],
    }


def _correct(cells: Sequence[dict[str, Any]], sections: dict[str, str]) -> None:
    """Add corrected p-values, over the cells of a section."""
    for section in dict.fromkeys(sections.values()):
        tested = [cell for cell in cells if sections[cell["probe"]] == section]
        published = [cell["p_published"] for cell in tested]
        clustered = [cell["p_clustered"] for cell in tested]
        for cell, *corrected in zip(
            tested, bonferroni(published), holm(clustered), benjamini_hochberg(clustered), strict=True
        ):
            cell["p_bonferroni"], cell["p_holm"], cell["p_benjamini_hochberg"] = corrected


def _mean(values: Iterable[float]) -> float | None:
    given = list(values)
    return float(np.mean(given)) if given else None


def _detectable(score: float | None, t: float | None) -> float | None:
    """Return the score that so many samples would show to differ from 0, four times of five at the level .05."""
    if not score or not t:
        return None
    return float(2.8 * abs(score / t))
