"""What ``termwise probe`` asks with: collections, data sets, probes, and the scorers that are asked."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from termwise import __version__
from termwise.collection import open_collection, read_run
from termwise.errors import MissingFileError, UnknownNameError, UsageError
from termwise.probes.judged import JudgedTexts, name_of
from termwise.probes.language.opening import open_language
from termwise.probes.material import Material
from termwise.probes.python_material import python_judged
from termwise.probes.reference import ReferenceLists
from termwise.probes.registry import families
from termwise.probes.suites import Chosen, Suite, chosen_probes, suite_named
from termwise.progress import Progress
from termwise.scorers import Background, MixedScorer, RunScorer, ScoreStore, Surroundings, open_any_scorer
from termwise.scorers.mixed import Scale
from termwise.scorers.specification import ScorerSpecification, read_specification
from termwise.scoring import TextScorer
from termwise.text import stop_list

PYTHON = "python:stdlib"

_NAMED = re.compile(r"(?P<name>[\w.-]+)=(?P<rest>.+)")


class Wanted(NamedTuple):
    """A probe that is asked, and samples of it at the most."""

    chosen: Chosen
    most: int | None


class _Source(NamedTuple):
    """Where a judged collection is."""

    name: str
    collection: str
    queries: str
    qrels: str


@dataclass(frozen=True, eq=False)
class Asking:
    """What probes and scorers are made from.

    Attributes
    ----------
    material : Material
        Of the probes.
    background : Background
        Whose statistics models have.
    collection : str
        What that is.
    facts : dict
        JSON-like; what a report says of it.
    """

    material: Material
    background: Background
    collection: str
    facts: dict[str, Any]

    @classmethod
    def of(
        cls,
        *,
        judged: Sequence[str],
        collection: str | None,
        data: Sequence[str],
        stop_words: Path | None,
        language: str | None,
        progress: Progress,
    ) -> Asking:
        """Read what the options name; without a judged collection, the one that is always there.

        Raises
        ------
        UsageError
            If an option says nothing that can be read.
        TermwiseError
            If a file cannot be read.
        """
        sources = [_source(text) for text in judged]
        read = [JudgedTexts.read(one.collection, one.queries, one.qrels, name=one.name) for one in sources]
        counted = collection or (sources[0].collection if sources else PYTHON)
        opened = open_collection(counted)
        words = stop_list("nltk-english") if stop_words is None else _words(stop_words)
        found = open_language(language)
        material = Material(found, words, tuple(read or [python_judged()]), _folders(data))
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
        """Return the probes of suites, by name, by pattern, or from files of the user.

        Raises
        ------
        UsageError
            If there is no probe in them.
        """
        files = [name for name in suites if name.endswith((".yaml", ".yml"))]
        named = [suite_named(name) for name in suites if name not in files]
        found = [Wanted(one, _most(named, one)) for one in chosen_probes(families(), self.material, named)]
        found += [Wanted(one, None) for name in files for one in _own(Path(name), self.material)]
        if not found:
            raise UsageError(
                "there is no such probe",
                facts=[("suites", ", ".join(suites))],
                fixes=["termwise probe --list --suite all"],
            )
        return found

    def reference(self, candidates: Path | None, depth: int, progress: Progress) -> ReferenceLists:
        """Return the rankings that thresholds are taken from: of a run, or of BM25 over the collection."""
        first = self.material.judged[0]
        documents = open_collection(self.collection).documents
        if candidates is not None:
            return ReferenceLists.of_run(read_run(candidates), first.queries, documents(), depth=depth)
        return ReferenceLists.by_bm25(
            first.queries, documents, depth=depth, name=name_of(self.collection), progress=progress
        )

    def scorers(
        self,
        texts: Sequence[str],
        reference: ReferenceLists | None,
        store: ScoreStore,
        threads: int,
        device: str | None,
        progress: Progress,
    ) -> list[TextScorer]:
        """Open the scorers, in the order in which they are named."""
        around = Surroundings(self.background, threads, device)
        opened: dict[str, TextScorer] = {}
        found: list[TextScorer] = []
        for text in texts:
            asked = read_specification(text)
            if Path(asked.target).is_file():
                scorer: TextScorer = self._run(asked)
            elif "+" in asked.target and ":" not in asked.target and not Path(asked.target).exists():
                scorer = _mixed(asked, opened, reference, store, progress)
            else:
                if asked.target.startswith("python:"):
                    _look_here()
                scorer = open_any_scorer(asked, around)
            opened.setdefault(scorer.name, scorer)
            found.append(scorer)
        return found

    def _run(self, asked: ScorerSpecification) -> RunScorer:
        asked.take(())
        queries: dict[str, str] = {}
        texts: dict[str, str] = {}
        for judged in self.material.judged:
            queries.update(judged.queries)
            texts.update(judged.texts)
        name = asked.name or Path(asked.target).name.split(".")[0]
        return RunScorer(read_run(Path(asked.target), name=name), queries, texts)


def _mixed(
    asked: ScorerSpecification,
    opened: dict[str, TextScorer],
    reference: ReferenceLists | None,
    store: ScoreStore,
    progress: Progress,
) -> MixedScorer:
    names = asked.target.split("+")
    settings = asked.take(("alpha",))
    missing = [name for name in names if name not in opened]
    if len(names) != 2 or missing or reference is None:
        raise UsageError(
            "two scorers are mixed that were named before",
            facts=[("given", asked.text), ("named before", ", ".join(opened) or "none")],
            fixes=["termwise probe bm25 tildev2 bm25+tildev2,alpha=0.3"],
        )
    try:
        alpha = float(settings.get("alpha", "0.5"))
    except ValueError:
        raise UsageError("alpha is a number from 0 to 1", facts=[("given", asked.text)]) from None
    first, second = (opened[name] for name in names)
    lists = [reference.scored(one, store=store, progress=progress) for one in (first, second)]
    return MixedScorer(
        first, second, alpha=alpha, scales=(Scale.of(lists[0]), Scale.of(lists[1])), name=asked.name
    )


def _look_here() -> None:
    """Let modules in the current folder be imported, after all others."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def _source(text: str) -> _Source:
    """Read the value of ``--judged``."""
    found = _NAMED.fullmatch(text)
    name, rest = (found["name"], found["rest"]) if found else (None, text)
    parts = rest.split(",")
    if len(parts) == 3:
        return _Source(name or name_of(parts[0]), *parts)
    place, _, split = rest.partition(":")
    folder = Path(place)
    if len(parts) > 1 or not folder.is_dir():
        raise UsageError(
            "a judged collection is a folder in BEIR layout, or three files",
            facts=[("given", text)],
            fixes=["--judged DIR", "--judged DIR:dev", "--judged NAME=COLLECTION,QUERIES,QRELS"],
        )
    splits = sorted({file.name.partition(".tsv")[0] for file in (folder / "qrels").glob("*.tsv*")})
    wanted = split or ("test" if "test" in splits else splits[0] if splits else "test")
    if wanted not in splits:
        raise MissingFileError(
            "the folder has no such judgments",
            facts=[
                ("folder", folder),
                ("wanted", f"qrels/{wanted}.tsv"),
                ("found", ", ".join(splits) or "none"),
            ],
            fixes=["--judged DIR:SPLIT", "--judged NAME=COLLECTION,QUERIES,QRELS"],
        )
    qrels = next(iter(sorted((folder / "qrels").glob(f"{wanted}.tsv*"))))
    return _Source(name or folder.resolve().name, place, place, str(qrels))


def data_names() -> list[str]:
    """Return the names of ``--data`` that a family reads."""
    return sorted({name for family in families() for name in family.folders})


def _folders(data: Iterable[str]) -> dict[str, Path]:
    """Read the values of ``--data``."""
    known = data_names()
    folders = {}
    for text in data:
        found = _NAMED.fullmatch(text)
        if found is None:
            raise UsageError(
                "a data set has a name and a path", facts=[("given", text)], fixes=["--data jfleg=DIR"]
            )
        if found["name"] not in known:
            raise UnknownNameError.of("data set", found["name"], known)
        path = Path(found["rest"])
        if not path.exists():
            raise MissingFileError("there is no such file or folder", facts=[("data", text)])
        folders[found["name"]] = path
    return folders


def _words(path: Path) -> frozenset[str]:
    from termwise.collection import read_lines

    return frozenset(line.strip().lower() for _, line in read_lines(path) if line.strip())


def _most(suites: Sequence[Suite], one: Chosen) -> int | None:
    """Return the largest number of samples that a suite wants of a probe."""
    limits = [suite.most for suite in suites if suite.most is not None]
    return max(limits) if len(limits) == len(suites) else None


def _own(path: Path, material: Material) -> Iterable[Chosen]:
    from termwise.probes.user import read_probes

    return [Chosen(probe, path.stem) for probe in read_probes(path)]
