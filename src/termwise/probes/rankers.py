"""The rankers that are asked: those that `termwise.scorers` opens, runs, mixtures of two, and objects."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from termwise.collection import read_run
from termwise.display.safe_text import shown
from termwise.errors import (
    DataError,
    MissingFileError,
    ParameterError,
    UnknownNameError,
    UsageError,
)
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.reference_rankings import ReferenceRankings
from termwise.progress import Progress
from termwise.rankers import ScorerContext, open_scorer
from termwise.rankers.specification import ScorerSpecification, parse_specification
from termwise.scorers import MixedScorer, RunScorer, ScoreCache
from termwise.scorers.http import is_address
from termwise.scorers.mixture import Scale
from termwise.scorers.protocol import TextScorer


@dataclass(frozen=True)
class Mixture:
    """Two rankers to be interpolated, once their scores of real rankings are known.

    Attributes
    ----------
    name : str
    first, second : str
        Names of rankers.
    alpha : float
        Share of the first, from 0 to 1.
    """

    name: str
    first: str
    second: str
    alpha: float

    @classmethod
    def of(cls, asked: ScorerSpecification, opened: Mapping[str, TextScorer | Mixture]) -> Mixture:
        """Read ``FIRST+SECOND,alpha=0.5``.

        Raises
        ------
        UsageError
            If two rankers are not named that were opened before, one is a run, or the share is none.
        """
        names = asked.target.split("+")
        asked.check_settings(("alpha",))
        if len(names) != 2 or not set(names) <= set(opened):
            raise UsageError(
                "two scorers are mixed that were named before",
                facts=[("given", asked.text), ("named before", ", ".join(opened) or "none")],
                fixes=["termwise probe bm25 tildev2 bm25+tildev2,alpha=0.3"],
            )
        for name in names:
            if isinstance(opened[name], RunScorer):
                raise UsageError(
                    "a run cannot be mixed: it has no score for a text that it does not rank",
                    facts=[("given", asked.text), ("run", name)],
                    fixes=[
                        "name the ranker that made the run",
                        "mix the runs, and ask the mixture: termwise fuse",
                    ],
                )
        try:
            alpha = float(asked.settings.get("alpha", "0.5"))
        except ValueError:
            alpha = -1.0
        if not 0 <= alpha <= 1:
            raise UsageError("alpha is a number from 0 to 1", facts=[("given", asked.text)])
        return cls(asked.name or asked.target, names[0], names[1], alpha)


def open_scorers(
    given: Iterable[str | TextScorer], judged: Sequence[JudgedTexts], around: ScorerContext
) -> dict[str, TextScorer | Mixture]:
    """Open rankers by name, in the order in which they are named; objects stay what they are.

    Raises
    ------
    ParameterError
        If an object is no ranker.
    UsageError
        If two have one name.
    TermwiseError
        If one cannot be opened.
    """
    opened: dict[str, TextScorer | Mixture] = {}
    named: dict[str, str | TextScorer] = {}
    for one in given:
        scorer = _opened(one, opened, judged, around) if isinstance(one, str) else one
        if isinstance(scorer, type) or not isinstance(scorer, TextScorer | Mixture):
            raise ParameterError(
                "a ranker is an object with a name and a method score",
                facts=[("given", shown(scorer))],
                fixes=[
                    "of a function: termwise.scorers.FunctionScorer(function, name=...)",
                    "of an index: the name of its folder, or termwise.scorers.index_scorer",
                ],
            )
        if not isinstance(scorer.name, str) or not scorer.name:
            raise ParameterError(
                "the name of a ranker is no text",
                facts=[("ranker", shown(scorer)), ("name", shown(scorer.name))],
            )
        if scorer.name in opened:
            raise UsageError(
                "two scorers have one name",
                facts=[("name", scorer.name), ("given", shown(one))],
                fixes=[_apart(named[scorer.name], one)],
            )
        opened[scorer.name] = scorer
        named[scorer.name] = one
    return opened


def _apart(one: str | TextScorer, other: str | TextScorer) -> str:
    """Say how two rankers get names of their own."""
    if not isinstance(one, str) or not isinstance(other, str):
        return "give one of them another name"
    first, second = (
        text.partition("=")[2] if parse_specification(text).name else text for text in (one, other)
    )
    return f"name them: FIRST={first} SECOND={second}"


def _opened(
    text: str,
    before: Mapping[str, TextScorer | Mixture],
    judged: Sequence[JudgedTexts],
    around: ScorerContext,
) -> TextScorer | Mixture:
    asked = parse_specification(text)
    if _is_file(asked):
        return run_scorer(asked, judged)
    of_two_named = "+" in asked.target and set(asked.target.split("+")) <= set(before)
    looks_mixed = "+" in asked.target and ":" not in asked.target and not Path(asked.target).exists()
    if of_two_named or looks_mixed:
        return Mixture.of(asked, before)
    if Path(asked.target).suffix and ":" not in asked.target and not Path(asked.target).exists():
        raise MissingFileError(
            "there is no such run, and no such folder",
            facts=[("given", asked.target)],
            fixes=["check the path"],
        )
    if asked.target.startswith("python:"):
        _look_here()
    return open_scorer(asked, around)


def mixed(
    opened: Mapping[str, TextScorer | Mixture],
    reference: ReferenceRankings | None,
    *,
    store: ScoreCache,
    progress: Progress,
) -> list[TextScorer]:
    """Return the rankers with their mixtures, on the scales of the rankings; without any, there is no mixture."""
    made: dict[str, TextScorer] = {}
    for name, one in opened.items():
        if not isinstance(one, Mixture):
            made[name] = one
        elif reference is not None:
            parts = made[one.first], made[one.second]
            first, second = (
                Scale.of(reference.scored(part, store=store, progress=progress), name=part.name)
                for part in parts
            )
            made[name] = MixedScorer(*parts, alpha=one.alpha, scales=(first, second), name=name)
    return list(made.values())


def run_scorer(asked: ScorerSpecification, judged: Sequence[JudgedTexts]) -> RunScorer:
    """Open a run file; ``judged=NAME`` says of which collection its identifiers are.

    Raises
    ------
    UnknownNameError
        If there is no such collection.
    UsageError
        If an identifier of the run means something else in another collection.
    DataError
        If no judged collection has queries and documents of the run.
    """
    asked.check_settings(("judged",))
    wanted = asked.settings.get("judged")
    names = [one.name for one in judged]
    if wanted is not None and wanted not in names:
        raise UnknownNameError.of("judged collection", wanted, names)
    name = asked.name or Path(asked.target).name.split(".")[0]
    run = read_run(Path(asked.target), name=name)
    meant = [
        one
        for one in judged
        if wanted in (None, one.name) and not run.rankings.keys().isdisjoint(one.queries)
    ]
    ranked = {doc_id for ranking in run.rankings.values() for doc_id in ranking.doc_ids}
    queries = _of_one_meaning("query", asked, run.rankings, {one.name: one.queries for one in meant})
    texts = _of_one_meaning("document", asked, ranked, {one.name: one.texts for one in meant})
    if not queries or not texts:
        raise DataError(
            "the run is of another collection: it ranks no judged text of these",
            facts=[
                ("run", asked.target),
                ("judged collections", ", ".join(names)),
                ("queries of the run", _counted(run.rankings)),
                ("documents of the run", _counted(ranked)),
            ],
            fixes=["--judged COLLECTION, the one that the run was made for"],
        )
    return RunScorer(run, queries, texts)


def _counted(ids: Collection[str]) -> str:
    """Say how many there are, and what one looks like."""
    return f"{len(ids):,}, such as {shown(min(ids))}" if ids else "none"


def _of_one_meaning(
    what: str, asked: ScorerSpecification, ids: Iterable[str], said: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Return what identifiers say in whichever collection has them; in all that do, it has to be the same."""
    found: dict[str, str] = {}
    source: dict[str, str] = {}
    for one in ids:
        for collection, texts in said.items():
            text = texts.get(one)
            if text is None:
                continue
            if found.setdefault(one, text) != text:
                raise UsageError(
                    "a run is of one collection, and its identifiers could be of two",
                    facts=[
                        ("run", asked.target),
                        (what, one),
                        (source[one], shown(found[one])),
                        (collection, shown(text)),
                    ],
                    fixes=[f"{asked.target},judged={source[one]}", f"{asked.target},judged={collection}"],
                )
            source.setdefault(one, collection)
    return found


def _is_file(asked: ScorerSpecification) -> bool:
    if is_address(asked.target):
        return False
    try:
        return Path(asked.target).is_file()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            "a scorer is named as no file can be named",
            facts=[("given", shown(asked.target)), ("letters", f"{len(asked.target):,}"), ("reason", reason)],
            fixes=["name a model, a folder, an address, a function or a run file"],
        ) from None


def _look_here() -> None:
    """Let modules in the current folder be imported, after all others."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
