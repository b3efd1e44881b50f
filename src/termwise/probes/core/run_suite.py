"""Several probes put to several scorers: the same samples for all, scores kept, results that can be compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, DuplicateIdError, ParameterError
from termwise.probes.core.effect_rule import ByQuery, ByRank, Constant, EffectRule
from termwise.probes.core.probe import Probe, check_probe
from termwise.probes.core.reference_rankings import ReferenceRankings
from termwise.probes.core.result import ProbeResult
from termwise.probes.core.run_probe import pairs_of, result_of
from termwise.probes.core.sample import Sample, check_samples, content_hash
from termwise.probes.core.score_gaps import pooled_gaps
from termwise.probes.core.score_pairs import ask
from termwise.probes.core.thresholds import effect_rule_for, parse_delta
from termwise.progress import Progress, no_progress
from termwise.scorers import RunScorer, ScoreCache
from termwise.scorers.fingerprint import fingerprint_of
from termwise.scorers.protocol import TextScorer
from termwise.validation import check_count

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProbeSamples:
    """A probe with its samples, made once for all scorers.

    Attributes
    ----------
    probe : Probe
    samples : tuple of Sample
        Ordered by identifier.
    content : str
        Their hash.
    left_out : int
        Samples that there are besides, at the most, where only some were wanted.
    section : str
        Where tables put it.
    """

    probe: Probe
    samples: tuple[Sample, ...]
    content: str
    left_out: int = 0
    section: str = "Probes"

    @classmethod
    def of(cls, probe: Probe, *, seed: int, most: int | None = None, section: str = "Probes") -> ProbeSamples:
        """Make the samples of a probe.

        Parameters
        ----------
        probe : Probe
        seed : int
            Of what is drawn.
        most : int, optional
            Samples, at the most: those whose identifiers come first in an order that is drawn by the seed, so that a
            larger number has those of a smaller one, and all probes of a judged text take the same texts.
        section : str, optional
            Where tables put it.

        Raises
        ------
        ParameterError, DuplicateIdError
            If it does not say what it is, makes what are no samples, or two of one identifier; naming the probe.
        """
        check_probe(probe)
        if most is not None:
            check_count("most", most)
        try:
            given, left_out = (
                (check_samples(probe.samples(seed)), 0)
                if most is None
                else probe.draw(seed, most, partial(_draw, seed))
            )
        except (ParameterError, DuplicateIdError) as error:
            facts = [("probe", probe.name), *error.facts]
            raise type(error)(error.message, facts=facts, fixes=error.fixes) from error
        return cls(probe, tuple(given), content_hash(given), left_out, section)


@dataclass(frozen=True, eq=False)
class ScorerResults:
    """What was found of one scorer.

    Attributes
    ----------
    scorer : TextScorer
    fingerprint : str or None
        Of the scorer, where it has one.
    reading : EffectRule
        What counted as a tie.
    gaps : ndarray of float64, or None
        Those of the best candidates of all queries, in increasing order; None without rankings.
    results : mapping of str to ProbeResult
        By the name of the probe. A probe that cannot be read in this way, or that the scorer knows nothing of, has
        none.
    skipped : mapping of str to str
        Why, by probe.
    """

    scorer: TextScorer
    fingerprint: str | None
    reading: EffectRule
    gaps: Scores | None
    results: Mapping[str, ProbeResult]
    skipped: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class SuiteRun:
    """Probes, scorers, and what came out.

    Attributes
    ----------
    questions : tuple of ProbeSamples
        In the order of the suite.
    examined : tuple of ScorerResults
        In the order of the scorers.
    facts : dict
        JSON-like: seed, language, collections, versions.
    """

    questions: tuple[ProbeSamples, ...]
    examined: tuple[ScorerResults, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    def results(self) -> Iterator[ProbeResult]:
        """Yield every result, by scorer and probe."""
        for one in self.examined:
            yield from one.results.values()


def run_suite(
    scorers: Sequence[TextScorer],
    questions: Iterable[ProbeSamples],
    *,
    delta: str | float = "median",
    reference: ReferenceRankings | None = None,
    store: ScoreCache | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> SuiteRun:
    """Put probes to scorers.

    Parameters
    ----------
    scorers : sequence of TextScorer
        With distinct names.
    questions : iterable of ProbeSamples
        Probes with their samples.
    delta : str or float, optional
        See `termwise.probes.core.thresholds.effect_rule_for`.
    reference : ReferenceRankings, optional
        Rankings that thresholds are taken from.
    store : ScoreCache, optional
        Scores that are known, and where new ones are kept. Without it they are kept in memory, so that a text that
        several probes have is scored once all the same.
    facts : mapping, optional
        JSON-like; what the result is to say of its making.
    progress : callable, optional
        Called with a stage, what is done, and its total.

    Raises
    ------
    DuplicateIdError
        If two scorers, or two probes, have one name.
    DataError
        If there is no scorer or no probe.
    ParameterError
        If `delta` is no rule and no number.
    TermwiseError
        If a scorer fails.
    """
    parse_delta(delta)
    asked = list(questions)
    for what, names in (
        ("scorer", [one.name for one in scorers]),
        ("probe", [question.probe.name for question in asked]),
    ):
        if not names:
            raise DataError(f"there is no {what}", facts=[(f"{what}s", 0)])
        _check_distinct(what, names)
    if store is None:
        with ScoreCache() as kept:
            return run_suite(
                scorers, asked, delta=delta, reference=reference, store=kept, facts=facts, progress=progress
            )
    examined = tuple(_examine(scorer, asked, delta, reference, store, progress) for scorer in scorers)
    return SuiteRun(tuple(asked), examined, dict(facts or {}))


def _examine(
    scorer: TextScorer,
    questions: Sequence[ProbeSamples],
    delta: str | float,
    reference: ReferenceRankings | None,
    store: ScoreCache,
    progress: Progress,
) -> ScorerResults:
    ranked_only = isinstance(scorer, RunScorer)
    lists = None
    if reference is not None and not ranked_only:
        lists = reference.scored(scorer, store=store, progress=progress)
    reading = Constant(0.0) if ranked_only else effect_rule_for(delta, lists)
    known: list[tuple[ProbeSamples, Sequence[Sample]]] = []
    skipped = {}
    for question in questions:
        name = question.probe.name
        samples = known_samples(scorer, question.samples)
        why = None
        if reference is not None and isinstance(reading, ByQuery | ByRank):
            why = reference.foreign(name, samples)
        if question.samples and not samples:
            why = "the run ranks both texts of none of its samples"
        if why:
            skipped[name] = why
        else:
            known.append((question, samples))
    pairs = chain.from_iterable(pairs_of(samples) for _, samples in known)
    scores = ask(scorer, pairs, store=store, progress=progress)
    results = {
        question.probe.name: result_of(scorer, question.probe, reading, samples, scores)
        for question, samples in known
    }
    fingerprint = fingerprint_of(scorer)
    gaps = None if lists is None else pooled_gaps(lists)
    return ScorerResults(scorer, fingerprint, reading, gaps, results, skipped)


def known_samples(scorer: TextScorer, samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples that a scorer can be asked: of a run, those whose texts it ranks."""
    if not isinstance(scorer, RunScorer):
        return samples
    return [sample for sample in samples if all(scorer.knows(*pair) for pair in sample.pairs)]


def _draw(seed: int, sample_id: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{sample_id}".encode()).digest()


_APART = {
    "scorer": ["name them: FIRST=bm25 SECOND=bm25,k1=1.2"],
    "probe": ["give each judged collection, and each probe of a file, a name of its own"],
}


def _check_distinct(what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DuplicateIdError(
                f"two {what}s have one name",
                facts=[(what, name)],
                fixes=_APART[what],
            )
