"""Comparison of runs that are evaluated first."""

from __future__ import annotations

from termwise.evaluate import Evaluator, compare


def compare_runs(runs, qrels, measures, *, missing="zero", exclude=None, ties="ranking", **options):
    evaluator = Evaluator(qrels, measures, missing=missing, exclude=exclude, ties=ties)
    return compare([evaluator.evaluate(run) for run in runs], **options)
