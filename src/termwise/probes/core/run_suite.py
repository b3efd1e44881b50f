"""Runs of several probes with several scorers on the same samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from termwise.errors import DataError, DuplicateIdError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.probes.core.effect_rule import (
    ByQuery,
    ByRank,
    Constant,
    EffectRule,
    effect_rule_for,
    parse_delta,
)
from termwise.probes.core.probe import Probe, check_probe
from termwise.probes.core.reference_rankings import ReferenceRankings
from termwise.probes.core.result import ProbeResult
from termwise.probes.core.sample import Samples, ScorePairs
from termwise.probes.core.score_gaps import Scores, pooled_gaps
from termwise.scorers.protocol import PartialScorer, TextScorer
from termwise.validation import check_count


@dataclass(frozen=True, eq=False)
class ProbeSamples:
    """A probe with its samples, made once for all scorers.

    Attributes
    ----------
    probe : Probe
    samples : Samples
    omitted : int
        Upper bound of the number of samples that were not drawn.
    section : str
        Section of the tables.
    """

    probe: Probe
    samples: Samples
    omitted: int = 0
    section: str = "Probes"

    @classmethod
    def of(
        cls, probe: Probe, *, seed: int, limit: int | None = None, section: str = "Probes"
    ) -> ProbeSamples:
        """Make the samples of a probe, see `Probe.draw`; `section` is the section of the tables.

        Raises
        ------
        ParameterError, DuplicateIdError
            If the probe or its samples are invalid; the error names the probe.
        """
        check_probe(probe)
        if limit is not None:
            check_count("limit", limit)
        try:
            return cls(probe, *probe.draw(seed, limit), section)
        except (ParameterError, DuplicateIdError) as error:
            facts = [("probe", probe.name), *error.facts]
            raise type(error)(error.message, facts=facts, fixes=error.fixes) from error


@dataclass(frozen=True, eq=False)
class ScorerResults:
    """Results of all probes with one scorer, and its effect rule.

    `gaps` are the score gaps of all queries, in increasing order; None without rankings. `results` has no skipped
    probes, and `skipped` the reason for each.
    """

    scorer: TextScorer
    rule: EffectRule
    gaps: Scores | None
    results: Mapping[str, ProbeResult]
    skipped: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class SuiteRun:
    """Probes in the order of the suite, scorers with their results, and JSON-like facts such as the seed."""

    probes: tuple[ProbeSamples, ...]
    scorers: tuple[ScorerResults, ...]
    facts: dict[str, Any] = field(default_factory=dict)


def run_suite(
    scorers: Sequence[TextScorer],
    probes: Iterable[ProbeSamples],
    score_pairs: ScorePairs,
    *,
    delta: str | float = "median",
    reference: ReferenceRankings | None = None,
    facts: Mapping[str, Any] | None = None,
) -> SuiteRun:
    """Run probes with several scorers.

    Parameters
    ----------
    scorers : sequence of TextScorer
        With distinct names.
    probes : iterable of ProbeSamples
        Probes with their samples, with distinct names.
    score_pairs : callable
        `termwise.scorers.score_pairs.score_pairs`, or a partial of it with a cache.
    delta : str or float, optional
        See `termwise.probes.core.effect_rule.effect_rule_for`.
    reference : ReferenceRankings, optional
        Rankings for the thresholds.
    facts : mapping, optional
        JSON-like metadata of the run.

    Raises
    ------
    DuplicateIdError
        If two scorers, or two probes, have one name.
    DataError
        If there is no scorer or no probe.
    ParameterError
        If `delta` is invalid.
    TermwiseError
        If a scorer fails.
    """
    delta = parse_delta(delta)
    probes = tuple(probes)
    _check_names("scorer", [scorer.name for scorer in scorers], "name them: FIRST=bm25 SECOND=bm25,k1=1.2")
    _check_names(
        "probe",
        [one.probe.name for one in probes],
        "give each judged collection, and each probe of a file, a distinct name",
    )
    results = tuple(_run_scorer(scorer, probes, score_pairs, delta, reference) for scorer in scorers)
    return SuiteRun(probes, results, dict(facts or {}))


def _check_names(noun: str, names: Sequence[str], fix: str | Fix) -> None:
    if not names:
        raise DataError(f"there is no {noun}", facts=[(f"{noun}s", 0)])
    for name in names:
        if names.count(name) > 1:
            raise DuplicateIdError(f"two {noun}s have one name", facts=[(noun, name)], fixes=[fix])


def score_probes(
    scorer: TextScorer,
    probes: Sequence[tuple[Probe, Samples]],
    rule: EffectRule,
    score_pairs: ScorePairs,
) -> dict[str, ProbeResult]:
    """Score the texts of all samples, each distinct pair once; return the results by the name of the probe."""
    pairs = (pair for _, samples in probes for sample in samples for pair in sample.pairs)
    scores = score_pairs(scorer, pairs, "score")
    return {probe.name: ProbeResult.of(scorer, probe, rule, samples, scores) for probe, samples in probes}


def _run_scorer(
    scorer: TextScorer,
    probes: Sequence[ProbeSamples],
    score_pairs: ScorePairs,
    delta: str | float,
    reference: ReferenceRankings | None,
) -> ScorerResults:
    ranks_only = isinstance(scorer, PartialScorer)
    rankings = None
    if reference is not None and not ranks_only:
        rankings = reference.score(scorer, score_pairs)
    rule = Constant(0.0) if ranks_only else effect_rule_for(delta, rankings)
    runnable: list[tuple[Probe, Samples]] = []
    skipped = {}
    for one in probes:
        samples = _known_samples(scorer, one.samples)
        reason = None
        if one.samples and not samples:
            reason = "the run does not rank both texts of any pair"
        elif reference is not None and isinstance(rule, ByQuery | ByRank):
            reason = reference.mismatch(one.probe.name, samples)
        if reason is None:
            runnable.append((one.probe, samples))
        else:
            skipped[one.probe.name] = reason
    return ScorerResults(
        scorer=scorer,
        rule=rule,
        gaps=None if rankings is None else pooled_gaps(rankings),
        results=score_probes(scorer, runnable, rule, score_pairs),
        skipped=skipped,
    )


def _known_samples(scorer: TextScorer, samples: Samples) -> Samples:
    """Return the samples with a score for each of the two texts."""
    if not isinstance(scorer, PartialScorer):
        return samples
    return Samples.of(sample for sample in samples if all(scorer.knows(*pair) for pair in sample.pairs))
