"""Asking a ranker a probe: every distinct text is scored once for its query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, ParameterError, WeightError
from termwise.legible import shown
from termwise.probes.probe import Probe
from termwise.probes.reading import Reading
from termwise.probes.result import ProbeResult
from termwise.probes.sample import Sample, checked, content_hash
from termwise.progress import Progress, no_progress
from termwise.scoring import TextScorer


def run_probe(
    scorer: TextScorer,
    probe: Probe,
    reading: Reading,
    *,
    seed: int = 0,
    samples: Iterable[Sample] | None = None,
    progress: Progress = no_progress,
) -> ProbeResult:
    """Score the two texts of every sample, and read the scores.

    Parameters
    ----------
    scorer : TextScorer
        Whatever scores texts for a query.
    probe : Probe
        What is asked.
    reading : Reading
        What counts as a tie, such as ``Constant(median_gap(...))``. It has no default.
    seed : int, optional
        Of the samples.
    samples : iterable of Sample, optional
        Those of the probe, or some of them, where they were made before. The result of a sample does not depend on
        which others there are, nor on their order.
    progress : callable, optional
        Called with a stage name, samples that are scored, and how many there are.

    Returns
    -------
    ProbeResult
        Samples in the order of their identifiers.

    Raises
    ------
    ParameterError
        If there is no reading.
    DuplicateIdError
        If two samples have one identifier.
    WeightError
        If the scorer gives NaN.
    DataError
        If it gives another number of scores than there are texts.
    """
    if not isinstance(reading, Reading):
        raise ParameterError(
            "say what counts as a tie: a probe has no threshold of its own",
            facts=[("given", shown(reading))],
            fixes=["Constant(median_gap(lists)), the median gap of the scorer"],
        )
    given = checked(probe.samples(seed) if samples is None else samples)
    scores = scored(scorer, given, progress=progress)
    first = np.array([scores[sample.query, sample.first] for sample in given], dtype=np.float64)
    second = np.array([scores[sample.query, sample.second] for sample in given], dtype=np.float64)
    query_ids = tuple(sample.query_id for sample in given)
    effects = reading.effects(query_ids, first, second)
    return ProbeResult(
        probe=probe.name,
        scorer=scorer.name,
        symmetric=probe.symmetric,
        reading=reading.described(),
        content=content_hash(given),
        sample_ids=tuple(sample.sample_id for sample in given),
        query_ids=query_ids,
        first=first,
        second=second,
        effects=np.abs(effects) if probe.symmetric else effects,
        identical=sum(sample.first == sample.second for sample in given),
    )


def scored(
    scorer: TextScorer, samples: Sequence[Sample], *, progress: Progress = no_progress
) -> dict[tuple[str, str], float]:
    """Return the score of each distinct query and text.

    Raises
    ------
    WeightError, DataError
        See `run_probe`.
    """
    texts: dict[str, dict[str, None]] = {}
    for sample in samples:
        texts.setdefault(sample.query, {}).update({sample.first: None, sample.second: None})
    found: dict[tuple[str, str], float] = {}
    for done, (query, wanted) in enumerate(texts.items(), start=1):
        asked = list(wanted)
        for text, score in zip(asked, _scores(scorer, query, asked).tolist(), strict=True):
            found[query, text] = score
        progress(f"score: {scorer.name}", done, len(texts))
    return found


def _scores(scorer: TextScorer, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    given: Any = scorer.score(query, texts)
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape != (len(texts),):
        raise DataError(
            "the scorer did not give one score for each text",
            facts=[
                ("scorer", scorer.name),
                ("query", shown(query)),
                ("texts", len(texts)),
                ("scores", f"shape {scores.shape}"),
            ],
        )
    wrong = np.flatnonzero(np.isnan(scores))
    if len(wrong):
        raise WeightError(
            "the scorer gave a score that is no number",
            facts=[
                ("scorer", scorer.name),
                ("query", shown(query)),
                ("text", shown(texts[int(wrong[0])])),
                ("score", "NaN"),
            ],
        )
    return scores
