"""Public calls: one probe with one scorer, and suites of probes with several rankers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from termwise.collection import read_run
from termwise.display.safe_text import shown
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.probes.core.effect_rule import EffectRule, parse_delta
from termwise.probes.core.probe import Probe, check_probe
from termwise.probes.core.reference_rankings import DEPTH
from termwise.probes.core.result import ProbeResult
from termwise.probes.core.sample import Sample, check_samples
from termwise.probes.session import ProbeSession
from termwise.progress import Progress, no_progress
from termwise.scorers import ScoreCache
from termwise.scorers.protocol import TextScorer
from termwise.scorers.score_pairs import score_pairs
from termwise.validation import check, check_count, check_names, check_path, check_threads, is_integer


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
    samples = check_samples(probe.samples(seed) if samples is None else samples)
    pairs = (pair for sample in samples for pair in sample.pairs)
    scores = score_pairs(scorer, pairs, cache=cache, progress=progress)
    return ProbeResult.of(scorer, probe, rule, samples, scores)


def probe_rankers(
    scorers: Sequence[str | TextScorer],
    *,
    suites: Sequence[str | Path] = ("quick",),
    judged: Sequence[str | Path] = (),
    collection: str | Path | None = None,
    data: Mapping[str, str | Path] | None = None,
    delta: str | float = "median",
    candidates: str | Path | None = None,
    depth: int = DEPTH,
    limit: int | None = None,
    seed: int = 0,
    stop_words: str | Path | None = None,
    language: str | None = None,
    threads: int = 1,
    device: str | None = None,
    out: str | Path | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Run probes with rankers and return the report.

    Parameters
    ----------
    scorers : sequence of str or TextScorer
        Rankers: objects, or names: a model with settings such as ``"bm25,b=0.5"``, ``"NAME=tildev2"``, a folder, an
        address, a run file, ``"best"``, or ``"bm25+tildev2,alpha=0.4"``, a mixture of two rankers named before it.
    suites : sequence of str or Path, optional
        Names of suites, ``"probe:PATTERN"`` with ``*`` for any characters, and YAML files.
    judged : sequence of str or Path, optional
        Judged collections: ``"[NAME=]FOLDER[:SPLIT]"`` with a folder in BEIR layout, or
        ``"NAME=COLLECTION,QUERIES,QRELS"``. By default the questions about Python's documentation.
    collection : str or Path, optional
        Collection of the term statistics; the first judged collection by default.
    data : mapping of str to path, optional
        Data sets of pairs, by the name of their format.
    delta : str or float, optional
        Threshold below which scores tie: ``"median"``, ``"by-query"``, ``"by-rank"``, or a number; see
        `termwise.probes.core.effect_rule.effect_rule_for`.
    candidates : path, optional
        Run with the reference rankings for the threshold; BM25 over the collection by default.
    depth : int, optional
        Number of candidates of each query.
    limit : int, optional
        Maximum number of samples of each probe; by default 100 for the suite ``quick``, and all for others.
    seed : int, optional
        Seed of all random choices.
    stop_words : path, optional
        File of stop words, one per line; 179 English ones by default.
    language : {"spacy", "rules"}, optional
        Parser of sentences, noun chunks and names; by default spaCy if it is installed.
    threads : int, optional
        Threads of networks.
    device : str, optional
        Device of sentence-transformers networks.
    out : path, optional
        Folder for the page, tables, samples and scores. The same call continues an interrupted run from there.
    progress : callable, optional
        Called with a stage, the amount done and its total.

    Returns
    -------
    dict
        The report; see `termwise.probes.report.report_of` for its values.

    Raises
    ------
    TermwiseError
        If an argument is invalid, a file cannot be read, or a ranker fails.

    Examples
    --------
    >>> report = probe_rankers(["bm25", "jm"], suites=["probe:length-doubled@written"], delta=0.1, language="rules")
    >>> [(cell["scorer"], cell["positive"] > cell["negative"]) for cell in report["cells"]]
    [('bm25', True), ('jm', False)]
    """
    delta = parse_delta(delta)
    is_list = isinstance(scorers, Sequence) and not isinstance(scorers, str | bytes) and len(scorers) > 0
    check("scorers", scorers, is_list, "a list of rankers, even for one: ['bm25']")
    suite_names, collections = _names("suites", suites), _names("judged", judged)
    check("suites", suites, len(suite_names) > 0, "one suite or more: ['quick']")
    is_mapping = data is None or (isinstance(data, Mapping) and all(isinstance(name, str) for name in data))
    check("data", data, is_mapping, "a mapping from names to paths")
    for name, folder in (data or {}).items():
        check_path(name, folder)
    paths = {"collection": collection, "candidates": candidates, "stop_words": stop_words, "out": out}
    for name, path in paths.items():
        if path is not None:
            check_path(name, path)
    for name, text in (("language", language), ("device", device)):
        check(name, text, isinstance(text, str | None), "a string")
    check_count("depth", depth, least=2)
    if limit is not None:
        check_count("limit", limit)
    in_range = is_integer(seed) and abs(int(seed)) < 2**63
    check("seed", seed, in_range, "a whole number below 2 to the power of 63")
    check_threads(threads)
    run = None if candidates is None else read_run(Path(candidates))
    session = ProbeSession.open(
        judged=collections,
        collection=None if collection is None else str(collection),
        data={name: Path(path) for name, path in (data or {}).items()},
        stop_words=None if stop_words is None else Path(stop_words),
        language=language,
        progress=progress,
    )
    probes = session.probes(suite_names)
    rankers = session.rankers(scorers, threads=threads, device=device)
    return session.report(
        rankers,
        probes,
        out=None if out is None else Path(out),
        delta=delta,
        candidates=run,
        depth=depth,
        limit=limit,
        seed=int(seed),
        facts={"suites": suite_names},
        progress=progress,
    )


def _names(parameter: str, values: Sequence[str | Path]) -> list[str]:
    """Return names and paths as strings; `ParameterError` for anything else, and for a single string."""
    is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    check(parameter, values, is_list, "a list of names and paths, even for one: ['quick']")
    names = [str(value) if isinstance(value, Path) else value for value in values]
    check_names(parameter, names)
    return names
