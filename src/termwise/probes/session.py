"""Session of one call: opens probes and rankers by name, runs them, and makes the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from termwise._version import __version__
from termwise.collection import open_collection, read_lines
from termwise.collection.python_docs import PYTHON
from termwise.errors import MissingExtraError, UsageError
from termwise.probes.behaviour.gender import DATA_SETS as GENDER
from termwise.probes.behaviour.negation import DATA_SETS as NEGATION
from termwise.probes.bm25_rankings import QUERIES, bm25_rankings
from termwise.probes.core.effect_rule import parse_delta
from termwise.probes.core.judged_texts import JudgedTexts, collection_name, python_judged
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.reference_rankings import DEPTH, ReferenceRankings
from termwise.probes.core.run_suite import ProbeSamples, run_suite
from termwise.probes.core.suites import ProbeSelection, select_probes, suite_named
from termwise.probes.data_set_names import check_folders, judged_source
from termwise.probes.language import open_language
from termwise.probes.registry import families
from termwise.probes.report import report_of
from termwise.probes.report.assertions import NO_PAIR, Assertion, check_assertions
from termwise.probes.report.folder import SCORES, prepare_folder, write_report
from termwise.probes.session_rankers import MixtureSpecification, Ranker, build_mixtures, open_rankers
from termwise.probes.sources.transfer.data_sets import DATA_SETS as TRANSFER
from termwise.probes.sources.yaml_probes import read_probes
from termwise.progress import Progress, no_progress
from termwise.rankers import ScorerContext
from termwise.records import Run
from termwise.scorers import Background, ScoreCache
from termwise.scorers.protocol import TextScorer
from termwise.scorers.score_pairs import score_pairs
from termwise.text import stop_list


@dataclass(frozen=True, eq=False)
class ProbeSession:
    """Input data of probes and rankers.

    Attributes
    ----------
    inputs : ProbeInputs
    background : Background
        Term statistics of the models.
    collection : str
        Name of the collection of the statistics.
    facts : dict
        JSON-like metadata for the report.
    """

    inputs: ProbeInputs
    background: Background
    collection: str
    facts: Mapping[str, Any]

    @classmethod
    def open(
        cls,
        *,
        judged: Sequence[str] = (),
        collection: str | None = None,
        data: Mapping[str, Path] | None = None,
        stop_words: Path | None = None,
        language: str | None = None,
        progress: Progress = no_progress,
    ) -> ProbeSession:
        """Open the collections and data sets; parameters as in `termwise.probes.probe_rankers`."""
        sources = [judged_source(text) for text in judged]
        named = zip([source.name for source in sources], judged, strict=True)
        _check_distinct("judged collections", named, "give each a distinct name: NAME=DIR")
        folders = dict(data or {})
        check_folders(folders)
        collections = [
            JudgedTexts.read(source.collection, source.queries, source.qrels, name=source.name)
            for source in sources
        ]
        collection = collection or (sources[0].collection if sources else PYTHON)
        opened = open_collection(collection)
        words = stop_list("nltk-english") if stop_words is None else _read_words(stop_words)
        parser = open_language(language)
        inputs = ProbeInputs(parser, words, tuple(collections or [python_judged()]), folders)
        facts = {
            "termwise": __version__,
            "judged": {
                one.name: f"{len(one):,} judgments of {len(one.grades):,} queries" for one in inputs.judged
            },
            "statistics": collection_name(collection),
            "language": parser.name,
            "stop words": len(words),
            "data": sorted(folders),
        }
        background = Background(opened.documents, length=opened.length, name=collection, progress=progress)
        return cls(inputs, background, collection, facts)

    def probes(self, suites: Sequence[str]) -> list[ProbeSelection]:
        """Return the probes of suites, patterns and YAML files; two files cannot have probes of one name."""
        files = list(dict.fromkeys(name for name in suites if name.endswith((".yaml", ".yml"))))
        named = [suite_named(name) for name in suites if name not in files]
        own = [
            (file, ProbeSelection(probe, Path(file).stem))
            for file in files
            for probe in read_probes(Path(file))
        ]
        _check_distinct("probes", ((one.probe.name, file) for file, one in own), "rename one of them")
        return [*select_probes(families(), self.inputs, named), *(one for _, one in own)]

    def unused_data(self, selected: Iterable[ProbeSelection]) -> list[str]:
        """Return the given data sets of pairs that none of the selected probes uses."""
        used = {one.probe.name.partition("@")[2] for one in selected}
        pairs = {*TRANSFER, *NEGATION, *GENDER}
        return [name for name in sorted(self.inputs.folders) if name in pairs and name not in used]

    def rankers(
        self, rankers: Sequence[str | TextScorer], *, threads: int, device: str | None = None
    ) -> dict[str, Ranker]:
        """Open rankers by name; see `termwise.probes.session_rankers.open_rankers`."""
        return open_rankers(rankers, self.inputs.judged, ScorerContext(self.background, threads, device))

    def reference(
        self,
        candidates: Run | None = None,
        *,
        depth: int = DEPTH,
        limit: int | None = QUERIES,
        seed: int = 0,
        progress: Progress = no_progress,
    ) -> ReferenceRankings:
        """Return the reference rankings for thresholds: those of a run, or of BM25 for up to `limit` queries."""
        judged = self.inputs.judged[0]
        documents = open_collection(self.collection).documents
        if candidates is not None:
            return ReferenceRankings.of_run(
                candidates, judged.queries, documents(), depth=depth, judged=judged.name
            )
        return bm25_rankings(
            judged.queries, documents, depth=depth, limit=limit, seed=seed, judged=judged.name,
            name=collection_name(self.collection), progress=progress,
        )  # fmt: skip

    def report(
        self,
        rankers: Mapping[str, Ranker],
        selected: Sequence[ProbeSelection],
        *,
        out: Path | None = None,
        delta: str | float = "median",
        candidates: Run | None = None,
        depth: int = DEPTH,
        limit: int | None = None,
        seed: int = 0,
        facts: Mapping[str, Any] | None = None,
        assertions: Sequence[Assertion] = (),
        on_missing_package: Callable[[Mapping[str, Sequence[str]]], None] | None = None,
        progress: Progress = no_progress,
    ) -> dict[str, Any]:
        """Run probes with rankers and return the report, see `termwise.probes.report.report_of`.

        A probe that needs a missing package is skipped, unless it is the only one; the facts of the report list it
        under ``"not made"``.

        Parameters
        ----------
        rankers, selected
            Values of `rankers` and `probes`.
        out : Path, optional
            Folder of the report and of the score cache. Without it, nothing is written and the report has no samples.
        delta, candidates, depth, limit, seed, progress
            See `termwise.probes.probe_rankers`; `candidates` is a run here.
        facts : mapping, optional
            JSON-like; additional metadata.
        assertions : sequence of Assertion, optional
            Checked for matching probes and rankers before anything is scored; they are evaluated by
            `termwise.probes.report.failed_assertions`.
        on_missing_package : callable, optional
            Called before anything is scored with the probes that need a missing package, as under ``"not made"``.
        """
        rule = parse_delta(delta)
        names = [one.probe.name for one in selected]
        check_assertions(assertions, probes=names, scorers=list(rankers))
        if out is not None:
            prepare_folder(out, is_score_file=ScoreCache.is_at)
        probes, without_samples, not_made = _make_samples(selected, limit, seed, progress)
        if on_missing_package is not None and not_made:
            on_missing_package(not_made)
        check_assertions(assertions, probes=names, scorers=list(rankers), without_samples=without_samples)
        reference = None
        if isinstance(rule, str) or any(isinstance(one, MixtureSpecification) for one in rankers.values()):
            queries = None if rule in ("by-query", "by-rank") else QUERIES
            reference = self.reference(candidates, depth=depth, limit=queries, seed=seed, progress=progress)
        facts = {
            **self.facts,
            "seed": seed,
            "limit": "that of the suite" if limit is None else limit,
            "delta": delta,
            "candidates": None
            if reference is None
            else f"{reference.name}, {len(reference.candidates):,} queries",
            "not made": not_made,
            **(facts or {}),
        }
        with ScoreCache(None if out is None else out / SCORES) as cache:
            score = partial(score_pairs, cache=cache, progress=progress)
            scorers = build_mixtures(rankers.values(), reference, score)
            run = run_suite(scorers, probes, score, delta=rule, reference=reference, facts=facts)
            report = report_of(run, examples=0 if out is None else 2, progress=progress)
        if out is not None:
            write_report(out, report, run, is_score_file=ScoreCache.is_at)
        return report


def _make_samples(
    selected: Sequence[ProbeSelection], limit: int | None, seed: int, progress: Progress
) -> tuple[list[ProbeSamples], dict[str, str], dict[str, list[str]]]:
    """Make the samples of the selected probes.

    Also return the reason for each probe without samples, and the probes that need a missing package, grouped by the
    command that installs it.
    """
    made = []
    without_samples: dict[str, str] = {}
    not_made: dict[str, list[str]] = {}
    for done, (probe, section, default_limit) in enumerate(selected, start=1):
        try:
            one = ProbeSamples.of(
                probe, seed=seed, limit=default_limit if limit is None else limit, section=section
            )
            made.append(one)
            if not one.samples:
                without_samples[probe.name] = NO_PAIR
        except MissingExtraError as error:
            if len(selected) == 1:
                raise
            not_made.setdefault(error.fixes[0], []).append(probe.name)
            without_samples[probe.name] = f"{error.message}: {error.fixes[0]}"
        progress(f"make samples: {probe.name}", done, len(selected))
    return made, without_samples, not_made


def _check_distinct(noun: str, named: Iterable[tuple[str, str]], fix: str) -> None:
    """Raise `UsageError` if two names are equal; each name comes with its origin."""
    origins: dict[str, str] = {}
    for name, origin in named:
        if name in origins:
            raise UsageError(
                f"two {noun} have one name",
                facts=[("name", name), ("first", origins[name]), ("second", origin)],
                fixes=[fix],
            )
        origins[name] = origin


def _read_words(path: Path) -> frozenset[str]:
    return frozenset(line.strip().lower() for _, line in read_lines(path) if line.strip())
