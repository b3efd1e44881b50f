"""Asking a ranker a probe: every distinct text is scored once for its query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError, ParameterError
from termwise.probes.core.effect_rule import EffectRule
from termwise.probes.core.probe import Probe, check_probe
from termwise.probes.core.result import ProbeResult
from termwise.probes.core.sample import Sample, check_samples, content_hash
from termwise.probes.core.score_pairs import Pair, ask
from termwise.progress import Progress, no_progress
from termwise.scorers import ScoreCache
from termwise.scorers.protocol import TextScorer, WindowedScorer
from termwise.validation import check, check_callable, is_integer


def run_probe(
    scorer: TextScorer,
    probe: Probe,
    reading: EffectRule,
    *,
    seed: int = 0,
    samples: Iterable[Sample] | None = None,
    store: ScoreCache | None = None,
    progress: Progress = no_progress,
) -> ProbeResult:
    """Score the two texts of every sample, and read the scores.

    Parameters
    ----------
    scorer : TextScorer
        Whatever scores texts for a query.
    probe : Probe
        What is asked.
    reading : EffectRule
        What counts as a tie, such as ``Constant(median_gap(...))``. It has no default.
    seed : int, optional
        Of the samples.
    samples : iterable of Sample, optional
        Those of the probe, or some of them, where they were made before. The result of a sample does not depend on
        which others there are, nor on their order.
    store : ScoreCache, optional
        Scores that are known, and where new ones are kept.
    progress : callable, optional
        Called with a stage name, pairs that are scored, and how many there are.

    Returns
    -------
    ProbeResult
        Samples in the order of their identifiers.

    Raises
    ------
    ParameterError
        If there is no scorer, probe or reading, or a sample is none.
    DuplicateIdError
        If two samples have one identifier.
    WeightError
        If the scorer gives NaN.
    DataError
        If it gives another number of scores than there are texts.
    """
    scores_texts = isinstance(scorer, TextScorer) and not isinstance(scorer, type)
    check("scorer", scorer, scores_texts, "an object with a name and a method score")
    check("seed", seed, is_integer(seed), "a whole number")
    check("probe", probe, isinstance(probe, Probe), "a termwise.probes.Probe")
    check_probe(probe)
    if not isinstance(reading, EffectRule) or isinstance(reading, type):
        raise ParameterError(
            "say what counts as a tie: a probe has no threshold of its own",
            facts=[("given", shown(reading))],
            fixes=["Constant(median_gap(lists)), the median gap of the scorer"],
        )
    check_callable("progress", progress)
    given = check_samples(probe.samples(seed) if samples is None else samples)
    scores = ask(scorer, pairs_of(given), store=store, progress=progress)
    return result_of(scorer, probe, reading, given, scores)


def pairs_of(samples: Iterable[Sample]) -> Iterator[Pair]:
    """Yield what is to be scored: both sides of each sample, as query and text."""
    for sample in samples:
        yield from sample.pairs


def result_of(
    scorer: TextScorer,
    probe: Probe,
    reading: EffectRule,
    samples: Sequence[Sample],
    scores: Mapping[Pair, float],
) -> ProbeResult:
    """Read scores that are known; see `run_probe`.

    Parameters
    ----------
    scorer, probe, reading
        See `run_probe`.
    samples : sequence of Sample
        In the order of their identifiers.
    scores : mapping of (str, str) to float
        Of both sides of every sample.
    """
    sides = [sample.pairs for sample in samples]
    first = np.array([scores[pair] for pair, _ in sides], dtype=np.float64)
    second = np.array([scores[pair] for _, pair in sides], dtype=np.float64)
    query_ids = tuple(sample.query_id for sample in samples)
    effects = reading.effects(query_ids, first, second)
    return ProbeResult(
        probe=probe.name,
        scorer=scorer.name,
        symmetric=probe.symmetric,
        reading=reading.described(),
        content=content_hash(samples),
        sample_ids=tuple(sample.sample_id for sample in samples),
        query_ids=query_ids,
        first=first,
        second=second,
        effects=np.abs(effects) if probe.symmetric else effects,
        identical=sum(sample.identical for sample in samples),
        cut=_cut(scorer, sides),
    )


def _cut(
    scorer: TextScorer, sides: Sequence[tuple[tuple[str, str], tuple[str, str]]]
) -> npt.NDArray[np.bool_] | None:
    """Say of which samples a part is not read; None where the scorer does not tell."""
    if not isinstance(scorer, WindowedScorer):
        return None
    if not sides:
        return np.empty(0, dtype=np.bool_)
    first, second = (_cut_of(scorer, pairs) for pairs in zip(*sides, strict=True))
    return first | second


def _cut_of(scorer: WindowedScorer, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.bool_]:
    """Ask of which texts a part is not read, and see that it is said of each."""
    given = scorer.cut([query for query, _ in pairs], [text for _, text in pairs])
    found = np.asarray(given)
    if found.dtype != np.bool_ or found.shape != (len(pairs),):
        raise DataError(
            "the scorer did not say of each text whether a part is not read",
            facts=[
                ("scorer", scorer.name),
                ("texts", len(pairs)),
                ("method cut gave", f"{type(given).__name__}, {shown(given)}"),
            ],
            fixes=["return an array of bool, one for each text", "leave the method cut out"],
        )
    return found
