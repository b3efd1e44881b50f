"""Runs of probes: one probe with one scorer, and suites of probes with several rankers and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

from termwise._version import __version__
from termwise.collection import open_collection, read_run
from termwise.display.safe_text import shown
from termwise.errors import MissingExtraError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.probes.bm25_rankings import QUERIES, bm25_rankings
from termwise.probes.core.effect_rule import EffectRule, parse_delta
from termwise.probes.core.judged_texts import collection_name
from termwise.probes.core.probe import Probe, check_probe
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.reference_rankings import DEPTH, ReferenceRankings
from termwise.probes.core.result import ProbeResult
from termwise.probes.core.run_suite import ProbeSamples, run_suite, score_probes
from termwise.probes.core.sample import Sample, Samples
from termwise.probes.core.suites import ProbeSelection
from termwise.probes.inputs import names_and_paths, open_inputs
from termwise.probes.rankers_by_name import MixtureSpecification, Ranker, build_mixtures, open_rankers
from termwise.probes.registry import PAIR_DATA_SETS, probes_of
from termwise.probes.report.assertions import NO_PAIR, Assertion, check_assertions
from termwise.probes.report.contents import Report, report_of
from termwise.probes.report.folder import SCORES, prepare_folder, write_report
from termwise.progress import Progress, no_progress
from termwise.rankers import ScorerContext
from termwise.records import Document, Run
from termwise.scorers import Background, ScoreCache, WordFrequencies
from termwise.scorers.protocol import TextScorer
from termwise.scorers.score_pairs import score_pairs
from termwise.validation import check, check_count, check_path, check_threads, is_integer


def run_probe(
    scorer: TextScorer,
    probe: Probe,
    rule: EffectRule,
    *,
    seed: int = 0,
    samples: Iterable[Sample] | None = None,
    cache: ScoreCache | None = None,
    progress: Progress = no_progress,
) -> ProbeResult:
    """Score the two texts of every sample of a probe.

    Parameters
    ----------
    scorer : TextScorer
        Object with a name and a method ``score``.
    probe : Probe
    rule : EffectRule
        Rule that maps scores to effects, such as ``Constant(median_gap(...))``.
    seed : int, optional
        Seed of the samples.
    samples : iterable of Sample, optional
        Samples of the probe, if they exist already. The result of a sample is independent of the other samples.
    cache : ScoreCache, optional
        Known scores, to which new ones are added.
    progress : callable, optional
        Called with a stage, the number of scored pairs and the number of pairs.

    Returns
    -------
    ProbeResult
        Samples in the order of their identifiers.

    Raises
    ------
    ParameterError
        If an argument or a sample is invalid.
    DuplicateIdError
        If two samples have the same identifier.
    WeightError
        If a score is NaN.
    DataError
        If the number of scores differs from the number of texts.
    """
    is_scorer = isinstance(scorer, TextScorer) and not isinstance(scorer, type)
    check("scorer", scorer, is_scorer, "an object with a name and a method score")
    check("seed", seed, is_integer(seed), "a whole number")
    check("probe", probe, isinstance(probe, Probe), "a termwise.probes.Probe")
    check_probe(probe)
    if not isinstance(rule, EffectRule) or isinstance(rule, type):
        raise ParameterError(
            "an effect rule is required: a probe has no default threshold",
            facts=[("given", shown(rule))],
            fixes=[Fix.python("Constant(median_gap(rankings))", "use the median gap of the scorer, {}")],
        )
    given = Samples.of(probe.samples(seed) if samples is None else samples)
    score = partial(score_pairs, cache=cache, progress=progress)
    return score_probes(scorer, [(probe, given)], rule, score)[probe.name]


@dataclass(frozen=True)
class ProbeSettings:
    """Settings of a run of suites.

    Attributes
    ----------
    delta : str or float
        Threshold below which scores tie: ``"median"``, ``"by-query"``, ``"by-rank"``, or a number; see
        `termwise.probes.core.effect_rule.effect_rule_for`.
    candidates : path, optional
        Run with the reference rankings for the threshold; BM25 over the collection by default.
    idf : path, optional
        File of document frequencies, if the collection of the inputs is a part of a larger collection; see
        `termwise.scorers.WordFrequencies`.
    depth : int
        Number of candidates of each query.
    limit : int, optional
        Maximum number of samples of each probe; by default 100 for the suite ``quick``, and all for others.
    seed : int
        Seed of all random choices.
    threads : int
        Threads of networks.
    device : str, optional
        Device of sentence-transformers networks.

    Raises
    ------
    ParameterError
        If a value is invalid.
    """

    delta: str | float = "median"
    candidates: str | Path | None = None
    idf: str | Path | None = None
    depth: int = DEPTH
    limit: int | None = None
    seed: int = 0
    threads: int = 1
    device: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", parse_delta(self.delta))
        for name in ("candidates", "idf"):
            if (path := getattr(self, name)) is not None:
                check_path(name, path)
        check_count("depth", self.depth, least=2)
        if self.limit is not None:
            check_count("limit", self.limit)
        in_range = is_integer(self.seed) and abs(int(self.seed)) < 2**63
        check("seed", self.seed, in_range, "a whole number below 2 to the power of 63")
        object.__setattr__(self, "seed", int(self.seed))
        check_threads(self.threads)
        check("device", self.device, isinstance(self.device, str | None), "a string")


class ProbePlan(NamedTuple):
    """Run of probes before anything is scored.

    It has the opened rankers, the given data sets of pairs that none of the selected probes uses, and the probes that
    are not made because a package is missing, by the command that installs it.
    """

    rankers: Mapping[str, Ranker]
    unused_data: list[str]
    not_made: dict[str, list[str]]


def probe_rankers(
    scorers: Sequence[str | TextScorer],
    *,
    suites: Sequence[str | Path] = ("quick",),
    inputs: ProbeInputs | None = None,
    settings: ProbeSettings | None = None,
    out: str | Path | None = None,
    assertions: Sequence[Assertion] = (),
    before_scoring: Callable[[ProbePlan], None] | None = None,
    progress: Progress = no_progress,
) -> Report:
    """Run probes with rankers and return the report.

    A probe that needs a missing package is skipped, unless it is the only one; the facts of the report list it under
    ``"not made"``.

    Parameters
    ----------
    scorers : sequence of str or TextScorer
        Rankers: objects, or names: a model with settings such as ``"bm25,b=0.5"``, ``"NAME=tildev2"``, a folder, an
        address, a run file, ``"best"``, or ``"bm25+tildev2,alpha=0.4"``, a mixture of two rankers named before it.
    suites : sequence of str or Path, optional
        Names of suites, ``"probe:PATTERN"`` with ``*`` for any characters, and YAML files.
    inputs : ProbeInputs, optional
        Judged collections, data sets, language and stop words; by default those of
        `termwise.probes.inputs.open_inputs`.
    settings : ProbeSettings, optional
        Threshold, limit and seed of the samples, threads of networks.
    out : path, optional
        Folder for the page, tables, samples and scores. The same call continues an interrupted run from there. Without
        it, nothing is written and the report has no texts of samples.
    assertions : sequence of Assertion, optional
        Checked for matching probes and rankers before anything is scored;
        `termwise.probes.report.failed_assertions` evaluates them.
    before_scoring : callable, optional
        Called with the `ProbePlan` before anything is scored.
    progress : callable, optional
        Called with a stage, the amount done and its total.

    Returns
    -------
    Report
        See `termwise.probes.report.report_of` for its values.

    Raises
    ------
    TermwiseError
        If an argument is invalid, a file cannot be read, or a ranker fails.

    Examples
    --------
    >>> report = probe_rankers(
    ...     ["bm25", "jm"],
    ...     suites=["probe:length-doubled@written"],
    ...     inputs=open_inputs(language="rules"),
    ...     settings=ProbeSettings(delta=0.1),
    ... )
    >>> [(cell["scorer"], cell["positive"] > cell["negative"]) for cell in report["cells"]]
    [('bm25', True), ('jm', False)]
    """
    is_list = isinstance(scorers, Sequence) and not isinstance(scorers, str | bytes) and len(scorers) > 0
    check("scorers", scorers, is_list, "a list of rankers, even for one: ['bm25']")
    names = names_and_paths("suites", suites)
    check("suites", suites, len(names) > 0, "one suite or more: ['quick']")
    if out is not None:
        check_path("out", out)
    folder = None if out is None else Path(out)
    settings = settings or ProbeSettings()
    candidates = None if settings.candidates is None else read_run(Path(settings.candidates))
    inputs = inputs or open_inputs()
    collection = open_collection(inputs.collection)
    words = None if settings.idf is None else WordFrequencies.read(Path(settings.idf))
    background = Background(
        collection.documents, length=collection.length, name=inputs.collection, words=words, progress=progress
    )
    selected = probes_of(names, inputs)
    context = ScorerContext(background, settings.threads, settings.device)
    rankers = open_rankers(scorers, inputs.judged, context)
    selected_names = [one.probe.name for one in selected]
    check_assertions(assertions, probes=selected_names, scorers=list(rankers))
    if folder is not None:
        prepare_folder(folder, is_score_file=ScoreCache.is_at)
    probes, without_samples, not_made = _make_samples(selected, settings, progress)
    if before_scoring is not None:
        before_scoring(ProbePlan(rankers, _unused_data(inputs, selected_names), not_made))
    check_assertions(
        assertions, probes=selected_names, scorers=list(rankers), without_samples=without_samples
    )
    reference = None
    if isinstance(settings.delta, str) or any(
        isinstance(one, MixtureSpecification) for one in rankers.values()
    ):
        reference = _reference(inputs, collection.documents, settings, candidates, progress)
    facts = {
        "termwise": __version__,
        "judged": {
            one.name: f"{len(one):,} judgments of {len(one.grades):,} queries" for one in inputs.judged
        },
        "statistics": collection_name(inputs.collection)
        if settings.idf is None
        else f"{collection_name(inputs.collection)}, with {Path(settings.idf).name}",
        "language": inputs.language.name,
        "stop words": len(inputs.stop_words),
        "data": sorted(inputs.folders),
        "seed": settings.seed,
        "limit": "that of the suite" if settings.limit is None else settings.limit,
        "delta": settings.delta,
        "candidates": None
        if reference is None
        else f"{reference.name}, {len(reference.candidates):,} queries",
        "not made": not_made,
        "suites": names,
        "made": date.today().isoformat(),
    }
    with ScoreCache(None if folder is None else folder / SCORES) as cache:
        score = partial(score_pairs, cache=cache, progress=progress)
        opened = build_mixtures(rankers.values(), reference, score)
        run = run_suite(opened, probes, score, delta=settings.delta, reference=reference, facts=facts)
        report = report_of(run, examples=0 if folder is None else 2, progress=progress)
    if folder is not None:
        write_report(folder, report, run, is_score_file=ScoreCache.is_at)
    return report


def _unused_data(inputs: ProbeInputs, probes: Iterable[str]) -> list[str]:
    used = {name.partition("@")[2] for name in probes}
    return [name for name in sorted(inputs.folders) if name in PAIR_DATA_SETS and name not in used]


def _reference(
    inputs: ProbeInputs,
    documents: Callable[[], Iterator[Document]],
    settings: ProbeSettings,
    candidates: Run | None,
    progress: Progress,
) -> ReferenceRankings:
    """Return the rankings for thresholds: those of a run, or those of BM25 for some or all queries."""
    judged = inputs.judged[0]
    if candidates is not None:
        return ReferenceRankings.of_run(
            candidates, judged.queries, documents(), depth=settings.depth, judged=judged.name
        )
    return bm25_rankings(
        judged.queries,
        documents,
        depth=settings.depth,
        limit=None if settings.delta in ("by-query", "by-rank") else QUERIES,
        seed=settings.seed,
        name=collection_name(inputs.collection),
        judged=judged.name,
        progress=progress,
    )


def _make_samples(
    selected: Sequence[ProbeSelection], settings: ProbeSettings, progress: Progress
) -> tuple[list[ProbeSamples], dict[str, str], dict[str, list[str]]]:
    """Make the samples of the selected probes.

    Also return the reason for each probe without samples, and the probes that need a missing package, grouped by the
    command that installs it.
    """
    made = []
    without_samples: dict[str, str] = {}
    not_made: dict[str, list[str]] = {}
    for done, (probe, section, default_limit) in enumerate(selected, start=1):
        limit = default_limit if settings.limit is None else settings.limit
        try:
            made.append(ProbeSamples.of(probe, seed=settings.seed, limit=limit, section=section))
            if not made[-1].samples:
                without_samples[probe.name] = NO_PAIR
        except MissingExtraError as error:
            if len(selected) == 1:
                raise
            fix = error.fixes_worded()[0]
            not_made.setdefault(fix, []).append(probe.name)
            without_samples[probe.name] = f"{error.message}: {fix}"
        progress(f"make samples: {probe.name}", done, len(selected))
    return made, without_samples, not_made
