"""What ``termwise probe`` asks with: collections, data sets, probes, and the scorers that are asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from termwise import __version__
from termwise.cli.probe_scorers import Mixture, open_scorers
from termwise.collection import open_collection
from termwise.errors import DuplicateIdError, MissingFileError, UnknownNameError, UsageError
from termwise.probes.judged import JudgedTexts, name_of
from termwise.probes.language.opening import open_language
from termwise.probes.material import Material
from termwise.probes.python_material import python_judged
from termwise.probes.reference import ReferenceLists
from termwise.probes.registry import families
from termwise.probes.suites import Chosen, Suite, chosen_probes, suite_named
from termwise.progress import Progress
from termwise.records import Run
from termwise.scorers import Background, Surroundings
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
        named = zip([one.name for one in sources], judged, strict=True)
        _check_apart("judged collections", named, "give each a name of its own: --judged NAME=DIR")
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
            If there is no probe of one of them.
        DuplicateIdError
            If two files have probes of one name.
        """
        files = list(dict.fromkeys(name for name in suites if name.endswith((".yaml", ".yml"))))
        named = [suite_named(name) for name in suites if name not in files]
        own = [(file, one) for file in files for one in _own(Path(file))]
        _check_apart("probes", ((one.probe.name, file) for file, one in own), "rename one of them")
        return [
            *(Wanted(one, _most(named, one)) for one in chosen_probes(families(), self.material, named)),
            *(Wanted(one, None) for _, one in own),
        ]

    def reference(
        self, candidates: Run | None, depth: int, most: int | None, seed: int, progress: Progress
    ) -> ReferenceLists:
        """Return the rankings that thresholds are taken from: of a run, or of BM25 over the collection.

        Of a run all queries count; of BM25 no more than `most`, drawn by the seed.
        """
        first = self.material.judged[0]
        documents = open_collection(self.collection).documents
        if candidates is not None:
            return ReferenceLists.of_run(
                candidates, first.queries, documents(), depth=depth, judged=first.name
            )
        return ReferenceLists.by_bm25(
            first.queries, documents, depth=depth, most=most, seed=seed, name=name_of(self.collection),
            judged=first.name, progress=progress,
        )  # fmt: skip

    def scorers(
        self, texts: Sequence[str], threads: int, device: str | None
    ) -> dict[str, TextScorer | Mixture]:
        """Open the scorers by name; see `termwise.cli.probe_scorers.open_scorers`."""
        return open_scorers(texts, self.material.judged, Surroundings(self.background, threads, device))


def _check_apart(what: str, named: Iterable[tuple[str, str]], fix: str) -> None:
    """Refuse two that have one name; each comes with where it is named."""
    given: dict[str, str] = {}
    for name, source in named:
        if name in given:
            raise DuplicateIdError(
                f"two {what} have one name",
                facts=[("name", name), ("first", given[name]), ("second", source)],
                fixes=[fix],
            )
        given[name] = source


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


def _own(path: Path) -> Iterable[Chosen]:
    from termwise.probes.user import read_probes

    return [Chosen(probe, path.stem) for probe in read_probes(path)]
