"""Example samples of a cell: those with the largest score differences, with texts and term scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from termwise.probes.core.result import ProbeResult, json_score
from termwise.probes.core.sample import Sample, Samples
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
