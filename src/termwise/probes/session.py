"""What probes and rankers are made from, and how they are put to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from termwise._version import __version__
from termwise.collection import open_collection, read_lines
from termwise.errors import MissingExtraError, UsageError
from termwise.probes.behaviour.gender import DATA_SETS as GENDER
from termwise.probes.behaviour.negation import DATA_SETS as NEGATION
from termwise.probes.core.judged_texts import JudgedTexts, name_of
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.reference_rankings import DEPTH, QUERIES, ReferenceRankings
from termwise.probes.core.run_suite import ProbeSamples, run_suite
from termwise.probes.core.suites import Chosen, Suite, select_probes, suite_named
from termwise.probes.core.thresholds import parse_delta
from termwise.probes.data_sources import JudgedSource, check_folders, judged_source
from termwise.probes.language.open_language import open_language
from termwise.probes.rankers import Mixture, mixed, open_scorers
from termwise.probes.registry import families
from termwise.probes.report import report_of, write_report
from termwise.probes.report.assertions import NO_PAIR, Assertion, check_assertions
from termwise.probes.report.folder import SCORES, prepare_place
from termwise.probes.sources.python_collection import python_judged
from termwise.probes.sources.transfer.data_sets import DATA_SETS as TRANSFER
from termwise.probes.sources.yaml_probes import read_probes
from termwise.progress import Progress, no_progress
from termwise.rankers import ScorerContext
from termwise.records import Run
from termwise.scorers import Background, ScoreCache
from termwise.scorers.protocol import TextScorer
from termwise.text import stop_list

PYTHON = "python:stdlib"
"""The collection that is always there."""


class Wanted(NamedTuple):
    """A probe that is asked, and samples of it at the most."""

    chosen: Chosen
    most: int | None

    @property
    def name(self) -> str:
        """Of the probe."""
        return self.chosen.probe.name


@dataclass(frozen=True, eq=False)
class ProbeSession:
    """What probes and rankers are made from.

    Attributes
    ----------
    material : ProbeInputs
        Of the probes.
    background : Background
        Whose statistics models have.
    collection : str
        What that is.
    facts : dict
        JSON-like; what a report says of it.
    """

    material: ProbeInputs
    background: Background
    collection: str
    facts: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        *,
        judged: Sequence[str] = (),
        collection: str | None = None,
        data: Mapping[str, Path] | None = None,
        stop_words: Path | None = None,
        language: str | None = None,
        progress: Progress = no_progress,
    ) -> ProbeSession:
        """Read what is named; without a judged collection, the one that is always there.

        Parameters
        ----------
        judged : sequence of str, optional
            Judged collections: folders in BEIR layout, ``DIR:SPLIT``, or ``NAME=COLLECTION,QUERIES,QRELS``.
        collection : str, optional
            What term statistics are counted on; the first judged one if not given.
        data : mapping of str to Path, optional
            Data sets of pairs, by the name of their kind.
        stop_words : Path, optional
            A file, one a line; 179 English ones if not given.
        language : {"spacy", "rules"}, optional
            What finds sentences and names; spaCy, if not given, where it is installed.
        progress : callable, optional
            Called with a stage, what is done, and its total, where the collection is read.

        Raises
        ------
        UsageError
            If a name says nothing that can be read.
        TermwiseError
            If a file cannot be read.
        """
        sources = [judged_source(text) for text in judged]
        named = zip([one.name for one in sources], judged, strict=True)
        _check_apart("judged collections", named, "give each a name of its own: NAME=DIR")
        folders = dict(data or {})
        check_folders(folders)
        read = [_read(one) for one in sources]
        counted = collection or (sources[0].collection if sources else PYTHON)
        opened = open_collection(counted)
        words = stop_list("nltk-english") if stop_words is None else _words(stop_words)
        found = open_language(language)
        material = ProbeInputs(found, words, tuple(read or [python_judged()]), folders)
        facts = {
            "termwise": __version__,
            "judged": {
                one.name: f"{len(one):,} judgments of {len(one.grades):,} queries" for one in material.judged
            },
            "statistics": name_of(counted),
            "language": found.name,
            "stop words": len(words),
            "data": sorted(material.folders),
        }
        background = Background(opened.documents, length=opened.length, name=counted, progress=progress)
        return cls(material, background, counted, facts)

    def probes(self, suites: Sequence[str]) -> list[Wanted]:
        """Return the probes of suites, by name, by pattern, or from YAML files.

        Raises
        ------
        UnknownNameError
            If there is no probe of one of them.
        UsageError
            If two files have probes of one name.
        """
        files = list(dict.fromkeys(name for name in suites if name.endswith((".yaml", ".yml"))))
        named = [suite_named(name) for name in suites if name not in files]
        own = [(file, one) for file in files for one in _own(Path(file))]
        _check_apart("probes", ((one.probe.name, file) for file, one in own), "rename one of them")
        return [
            *(Wanted(one, _most(named, one)) for one in select_probes(families(), self.material, named)),
            *(Wanted(one, None) for _, one in own),
        ]

    def unasked(self, wanted: Iterable[Wanted]) -> list[str]:
        """Return the data sets of pairs that are there, and that none of these probes asks about."""
        texts = {one.name.partition("@")[2] for one in wanted}
        pairs = {*TRANSFER, *NEGATION, *GENDER}
        return [name for name in sorted(self.material.folders) if name in pairs and name not in texts]

    def scorers(
        self,
        named: Sequence[str | TextScorer],
        *,
        threads: int,
        device: str | None = None,
    ) -> dict[str, TextScorer | Mixture]:
        """Open rankers, by name; see `termwise.probes.rankers.open_scorers`."""
        return open_scorers(named, self.material.judged, ScorerContext(self.background, threads, device))

    def reference(
        self,
        candidates: Run | None = None,
        *,
        depth: int = DEPTH,
        most: int | None = QUERIES,
        seed: int = 0,
        progress: Progress = no_progress,
    ) -> ReferenceRankings:
        """Return the rankings that thresholds are taken from: of a run, or of BM25 over the collection.

        Of a run all queries count; of BM25 no more than `most`, drawn by the seed.
        """
        first = self.material.judged[0]
        documents = open_collection(self.collection).documents
        if candidates is not None:
            return ReferenceRankings.of_run(
                candidates, first.queries, documents(), depth=depth, judged=first.name
            )
        return ReferenceRankings.by_bm25(
            first.queries, documents, depth=depth, most=most, seed=seed, name=name_of(self.collection),
            judged=first.name, progress=progress,
        )  # fmt: skip

    def report(
        self,
        opened: Mapping[str, TextScorer | Mixture],
        wanted: Sequence[Wanted],
        *,
        out: Path | None = None,
        delta: str | float = "median",
        candidates: Run | None = None,
        depth: int = DEPTH,
        limit: int | None = None,
        seed: int = 0,
        facts: Mapping[str, Any] | None = None,
        demands: Sequence[Assertion] = (),
        progress: Progress = no_progress,
    ) -> dict[str, Any]:
        """Put probes to rankers, and say what came out.

        A probe that needs a package which is not installed is left out, if it is not the only one: the facts of the
        report have it under ``"not made"``, by what would bring it.

        Parameters
        ----------
        opened, wanted
            Of `scorers` and `probes`.
        out : Path, optional
            Folder of the report, where scores are kept too. Without it nothing is written, and no sample is shown.
        delta : str or float, optional
            What counts as a tie; see `termwise.probes.core.thresholds.effect_rule_for`.
        candidates : Run, optional
            Rankings that thresholds are taken from; see `reference`.
        depth : int, optional
            Candidates of each query.
        limit : int, optional
            Samples of a probe, at the most; if not given, what its suite says.
        seed : int, optional
            Of whatever is drawn.
        facts : mapping, optional
            JSON-like; what the report says besides.
        demands : sequence of Assertion, optional
            What must not be. Before anything is scored it is seen that each can fail; whether one does is for
            `termwise.probes.report.failed_assertions` to say.
        progress : callable, optional
            Called with a stage, what is done, and its total.

        Returns
        -------
        dict
            See `termwise.probes.report.report_of`.

        Raises
        ------
        MissingExtraError
            If the only probe needs a package that is not installed.
        UsageError
            If nothing can fail a demand.
        TermwiseError
            If a ranker fails, or the folder is not one of a report.
        """
        rule = parse_delta(delta)
        names = [one.name for one in wanted]
        check_assertions(demands, probes=names, scorers=list(opened))
        if out is not None:
            prepare_place(out)
        questions, idle, lacking = _made(wanted, limit, seed, progress)
        check_assertions(demands, probes=names, scorers=list(opened), idle=idle)
        reference = None
        if isinstance(rule, str) or any(isinstance(one, Mixture) for one in opened.values()):
            most = None if rule in ("by-query", "by-rank") else QUERIES
            reference = self.reference(candidates, depth=depth, most=most, seed=seed, progress=progress)
        with ScoreCache(None if out is None else out / SCORES) as store:
            scorers = mixed(opened, reference, store=store, progress=progress)
            run = run_suite(
                scorers,
                questions,
                delta=rule,
                reference=reference,
                store=store,
                facts={
                    **self.facts,
                    "seed": seed,
                    "limit": "that of the suite" if limit is None else limit,
                    "delta": delta,
                    "candidates": None
                    if reference is None
                    else f"{reference.name}, {len(reference.candidates):,} queries",
                    "not made": lacking,
                    **(facts or {}),
                },
                progress=progress,
            )
            report = report_of(run, telling=0 if out is None else 2, progress=progress)
        if out is not None:
            write_report(out, report, run)
        return report


def _made(
    wanted: Sequence[Wanted], limit: int | None, seed: int, progress: Progress
) -> tuple[list[ProbeSamples], dict[str, str], dict[str, list[str]]]:
    """Return probes with their samples, why others have none, and those that need a package, by what would bring it."""
    questions = []
    idle: dict[str, str] = {}
    lacking: dict[str, list[str]] = {}
    for done, one in enumerate(wanted, start=1):
        probe, section = one.chosen
        most = one.most if limit is None else limit
        try:
            question = ProbeSamples.of(probe, seed=seed, most=most, section=section)
            questions.append(question)
            if not question.samples:
                idle[probe.name] = NO_PAIR
        except MissingExtraError as error:
            if len(wanted) == 1:
                raise
            lacking.setdefault(error.fixes[0], []).append(probe.name)
            idle[probe.name] = f"{error.message}: {error.fixes[0]}"
        progress(f"make samples: {probe.name}", done, len(wanted))
    return questions, idle, lacking


def _check_apart(what: str, named: Iterable[tuple[str, str]], fix: str) -> None:
    """Refuse two that have one name; each comes with where it is named."""
    given: dict[str, str] = {}
    for name, source in named:
        if name in given:
            raise UsageError(
                f"two {what} have one name",
                facts=[("name", name), ("first", given[name]), ("second", source)],
                fixes=[fix],
            )
        given[name] = source


def _read(source: JudgedSource) -> JudgedTexts:
    return JudgedTexts.read(source.collection, source.queries, source.qrels, name=source.name)


def _words(path: Path) -> frozenset[str]:
    return frozenset(line.strip().lower() for _, line in read_lines(path) if line.strip())


def _most(suites: Sequence[Suite], one: Chosen) -> int | None:
    """Return the largest number of samples that a suite wants of a probe."""
    limits = [suite.most for suite in suites if suite.most is not None]
    return max(limits) if len(limits) == len(suites) else None


def _own(path: Path) -> Iterable[Chosen]:
    return [Chosen(probe, path.stem) for probe in read_probes(path)]
