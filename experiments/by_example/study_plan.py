"""The declarative file of the study: collections, systems, tables, targets."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from plan_parts import part

from termwise.errors import MalformedRecordError, MissingFileError, ParameterError, UnknownNameError

LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""Those of the rows of a table."""

NO_VARIANT: tuple[Mapping[str, Any], ...] = ({},)


@dataclass(frozen=True)
class Data:
    """A collection with the queries that are reported, and how what is tuned is kept from them.

    Attributes
    ----------
    name : str
        What tables call it.
    split : str
        The judgments that are reported.
    choose : str
        The split that choices are made on. Empty where there is none: then the queries of `split` are dealt out to
        `folds`, and each fold gets what the others choose.
    folds : int
        How many.
    paper : str
        Queries whose identifiers are the same up to here are of one paper, and in one fold.
    folder : str
        Where it lies, if not under its name.
    candidates : {"first", "judged"}
        What is ranked: all documents by a first stage, re-ranked by networks; or for each query those that are judged,
        as in SciDocs.
    """

    name: str
    split: str
    choose: str = ""
    folds: int = 0
    paper: str = ""
    folder: str = ""
    candidates: Literal["first", "judged"] = "first"

    def __post_init__(self) -> None:
        if bool(self.choose) == bool(self.folds) or not isinstance(self.folds, int) or self.folds in (1, -1):
            raise ParameterError(
                "choices are made on a split of their own, or in folds",
                facts=[("collection", self.name), ("choose", self.choose), ("folds", self.folds)],
            )


@dataclass(frozen=True)
class System:
    """A ranker.

    Attributes
    ----------
    name, title : str
        In the plan, and in tables.
    model : str
        Name of the model of its index.
    analyzer : str
        For models of counts.
    encoder : str
        For networks: the name of an encoder, a key of ``--encoder`` or a folder of ``--models``.
    settings : mapping of str to str
        Of the model.
    variants : tuple of mapping
        What is chosen among, the first where nothing can be chosen: further settings of the model and, under ``weigh``,
        how the terms of queries weigh (`termwise.engine.query_settings`).
    cross_encoder : str
        Name of a cross-encoder, instead of a model.
    length, depth : int
        Of the cross-encoder: pieces that it reads, and documents of the first stage that it scores; the others follow
        in their order.
    mix : tuple of str
        Two systems whose scores are interpolated, instead of a model.
    by : str
        The measure that choices are made by; the first of the plan unless given.
    published : str
        The row of the paper.
    """

    name: str
    title: str
    model: str = ""
    analyzer: str = ""
    encoder: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[Mapping[str, Any], ...] = NO_VARIANT
    cross_encoder: str = ""
    length: int = 512
    depth: int = 100
    mix: tuple[str, ...] = ()
    by: str = ""
    published: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Networks by name."""
        named = (self.encoder, self.settings.get("expansion_encoder", ""), self.cross_encoder)
        return tuple(name for name in named if name and name != "none")


@dataclass(frozen=True)
class Table:
    """Rows of systems, each with a letter.

    Attributes
    ----------
    name, title : str
    rows : tuple of str
        Systems, in their order.
    """

    name: str
    title: str
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """What was to be reached: so many times the mean of another system."""

    collection: str
    systems: tuple[str, ...]
    over: str
    measures: tuple[str, ...]
    ratio: float


@dataclass(frozen=True)
class Plan:
    """The study.

    Attributes
    ----------
    name, title, source : str
        Of the results; the paper.
    measures : tuple of str
        The first is what choices are made by.
    graded : tuple of str
        Further ones, where a judgment says more than relevant.
    depth : int
        Documents of a first stage.
    first : str
        The system whose documents networks re-rank, and the baseline of differences.
    shares : int
        Shares of BM25 that are tried, from 0 to 1.
    level : float
        Of the tests.
    collections, systems, tables, targets
        Their parts.
    """

    name: str
    title: str
    source: str
    measures: tuple[str, ...]
    graded: tuple[str, ...]
    depth: int
    first: str
    shares: int
    level: float
    collections: tuple[Data, ...]
    systems: Mapping[str, System]
    tables: tuple[Table, ...]
    targets: tuple[Target, ...]

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read the file.

        Raises
        ------
        ParameterError, UnknownNameError
            If a part is not understood, or names a system that is not there.
        """
        given = _loaded(path)
        systems = {name: part(System, entry, name=name) for name, entry in given.pop("systems").items()}
        plan: Plan = part(
            cls,
            given
            | {
                "collections": [part(Data, entry) for entry in given["collections"]],
                "tables": [part(Table, entry) for entry in given["tables"]],
                "targets": [part(Target, entry) for entry in given.get("targets", [])],
            },
            systems=systems,
        )
        for name in plan.named():
            if name not in systems:
                raise UnknownNameError.of("system of the plan", name, systems)
        plan.check(path)
        return plan

    def check(self, path: Path) -> None:
        """See that the parts go together.

        Raises
        ------
        ParameterError, UnknownNameError
            If they do not; the first that is found is named.
        """
        names = [data.name for data in self.collections]
        for holds, what, seen in (
            (
                _plain(self.name),
                "the name of a plan is that of its files: letters, digits, - and _",
                self.name,
            ),
            (all(_plain(name.replace(" ", "_")) for name in names), "collections have plain names", names),
            (len(set(names)) == len(names), "two collections have one name", names),
            (_whole(self.depth), "depth is a number of documents, 1 or more", self.depth),
            (_whole(self.shares, 2), "shares is how many shares of BM25 are tried, 2 or more", self.shares),
            (
                isinstance(self.level, float) and 0 < self.level < 1,
                "level is a number from 0 to 1",
                self.level,
            ),
            (
                isinstance(self.measures, tuple) and self.measures,
                "measures are named in a list",
                self.measures,
            ),
            (isinstance(self.graded, tuple), "graded measures are named in a list", self.graded),
            (
                self.first not in (*self._mixes, ""),
                "the first stage is one system, and no mixture",
                self.first,
            ),
        ):
            if not holds:
                raise ParameterError(what, facts=[("plan", path), ("given", seen)])
        for data in self.collections:
            if data.candidates not in ("first", "judged"):
                raise UnknownNameError.of("kind of candidates", data.candidates, ("first", "judged"))
        for system in self.systems.values():
            self._check_system(system, path)
        for table in self.tables:
            if len(table.rows) > len(LETTERS):
                raise ParameterError(
                    "a table has as many rows as there are letters",
                    facts=[("plan", path), ("table", table.name)],
                )
        for target in self.targets:
            if target.collection not in names:
                raise UnknownNameError.of("collection of the plan", target.collection, names)
            for measure in target.measures:
                if measure not in (*self.measures, *self.graded):
                    raise UnknownNameError.of("measure of the plan", measure, (*self.measures, *self.graded))
            if target.over != self.first:
                raise ParameterError(
                    "a target is held against the first stage",
                    facts=[("plan", path), ("over", target.over), ("first", self.first)],
                )

    @property
    def _mixes(self) -> list[str]:
        return [name for name, system in self.systems.items() if system.mix]

    def _check_system(self, system: System, path: Path) -> None:
        made = [bool(system.model or system.encoder), bool(system.cross_encoder), bool(system.mix)]
        variants = isinstance(system.variants, tuple) and len(system.variants) > 0
        if sum(made) != 1 or not variants or not all(isinstance(one, dict) for one in system.variants):
            raise ParameterError(
                "a system has a model, an encoder, a cross-encoder or a mix, and a list of variants",
                facts=[("plan", path), ("system", system.name)],
            )
        if system.by not in ("", *self.measures, *self.graded):
            raise UnknownNameError.of("measure of the plan", system.by, (*self.measures, *self.graded))
        if system.mix and (len(system.mix) != 2 or set(system.mix) & set(self._mixes)):
            raise ParameterError(
                "two systems are mixed, neither of them a mixture",
                facts=[("plan", path), ("system", system.name), ("mix", ", ".join(system.mix))],
            )

    def named(self) -> Iterator[str]:
        """Yield the systems that other parts name."""
        yield self.first
        for system in self.systems.values():
            yield from system.mix
        for table in self.tables:
            yield from table.rows
        for target in self.targets:
            yield from (*target.systems, target.over)


def _loaded(path: Path) -> dict[str, Any]:
    """Read a file of TOML with all that a plan needs."""
    if not path.is_file():
        raise MissingFileError("there is no such plan", facts=[("file", path)])
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # not TOML, or not UTF-8
        raise MalformedRecordError(
            "the plan cannot be read", facts=[("file", path), ("reason", error)]
        ) from error
    for name, kind in (("systems", dict), ("collections", list), ("tables", list)):
        if not isinstance(given.get(name), kind) or not given[name]:
            raise MalformedRecordError(f"the plan has no {name}", facts=[("file", path)])
    for name, entry in given["systems"].items():
        if not isinstance(entry, dict):
            raise MalformedRecordError("a system is a table", facts=[("file", path), ("system", name)])
    return given


def _plain(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[\w-]+", name) is not None


def _whole(value: object, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
