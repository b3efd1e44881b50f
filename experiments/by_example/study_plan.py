"""Plan of the study: collections, systems, tables, targets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import record
from plan_parts import named_parts, part, read_toml

from termwise.errors import MalformedRecordError, ParameterError, UnknownNameError

LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""Letters of the rows of a table."""

NO_VARIANT: tuple[Mapping[str, Any], ...] = ({},)


@dataclass(frozen=True)
class Data:
    """A collection with its reported queries and the queries of choices.

    Attributes
    ----------
    name : str
        Name in tables.
    split : str
        Split of the reported judgments.
    choose : str
        Split of choices. Without one, the queries of `split` are divided into `folds`, and choices for a fold are made
        on the others.
    folds : int
        Number of folds.
    paper : str
        Separator after the paper in query identifiers; queries of one paper are in one fold.
    folder : str
        Folder of the collection, by default its name.
    candidates : {"first", "judged"}
        Ranked documents: all by a first stage, re-ranked by networks; or the judged documents of each query.
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
                "a collection needs either a split for choices or a number of folds",
                facts=[("collection", self.name), ("choose", self.choose), ("folds", self.folds)],
            )


@dataclass(frozen=True)
class System:
    """A ranker.

    Attributes
    ----------
    name, title : str
        Names in the plan and in tables.
    model : str
        Model of its index.
    analyzer : str
        Analyzer of a count model.
    encoder : str
        Encoder of a network model: a name of ``--network`` or a folder of ``--models``. For a collection, a network
        ``NAME@COLLECTION`` replaces NAME.
    settings : mapping of str to str
        Settings of the model, or of the cross-encoder (`termwise.rankers.open_scorer`).
    variants : tuple of mapping
        Variants to choose from: further settings of the model and, under ``weigh``, the weights of query terms
        (`termwise.engine.query_settings`).
    cross_encoder : str
        Name of a cross-encoder, in place of a model.
    depth : int
        Documents of the first stage that the cross-encoder scores; the others follow in their order.
    mix : tuple of str
        Two systems whose scores are interpolated, in place of a model.
    by : str
        Measure of choices, by default the first of the plan.
    published : mapping of str to str
        Values of the paper by collection, as shown in tables.
    """

    name: str
    title: str
    model: str = ""
    analyzer: str = ""
    encoder: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[Mapping[str, Any], ...] = NO_VARIANT
    cross_encoder: str = ""
    depth: int = 100
    mix: tuple[str, ...] = ()
    by: str = ""
    published: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the networks that the system needs."""
        named = (self.encoder, self.settings.get("expansion_encoder", ""), self.cross_encoder)
        return tuple(name for name in named if name and name != "none")


@dataclass(frozen=True)
class Table:
    """A table of systems, whose rows have letters."""

    name: str
    title: str
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """Target: a ratio of the mean to that of another system; `set_later` if results of it were known before."""

    collection: str
    systems: tuple[str, ...]
    over: str
    measures: tuple[str, ...]
    ratio: float
    set_later: bool = False


@dataclass(frozen=True)
class Plan:
    """The plan of a study.

    Attributes
    ----------
    name, title, source : str
        Name and title of the results; the paper.
    measures : tuple of str
        Measures; the first is that of choices.
    graded : tuple of str
        Further measures for judgments with grades above 1.
    depth : int
        Number of candidates of a first stage.
    first : str
        First stage of all networks, and baseline of differences.
    shares : int
        Number of shares of BM25 to try, from 0 to 1.
    level : float
        Significance level of the tests.
    collections, systems, tables, targets
    note : str
        Text at the top of the page.
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
    note: str = ""

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read the file.

        Raises
        ------
        ParameterError, UnknownNameError
            If a part is not valid, or names an unknown system.
        """
        given = _loaded(path)
        systems = named_parts(System, given.pop("systems"))
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
        record.check_names("system of the plan", plan.named(), systems)
        plan.check(path)
        return plan

    def check(self, path: Path) -> None:
        """Check that the parts are consistent.

        Raises
        ------
        ParameterError, UnknownNameError
            With the first inconsistency.
        """
        names = [data.name for data in self.collections]
        for holds, what, seen in (
            (
                _plain(self.name),
                "the name of a plan, used for its files, has only letters, digits, - and _",
                self.name,
            ),
            (
                all(_plain(name.replace(" ", "_")) for name in names),
                "collections have names of letters, digits, -, _ and blanks",
                names,
            ),
            (len(set(names)) == len(names), "two collections have the same name", names),
            (_whole(self.depth), "depth is a number of documents, 1 or more", self.depth),
            (_whole(self.shares, 2), "shares is a number of shares of BM25, 2 or more", self.shares),
            (
                isinstance(self.level, float) and 0 < self.level < 1,
                "level is a number from 0 to 1",
                self.level,
            ),
            (
                isinstance(self.measures, tuple) and self.measures,
                "measures is a list",
                self.measures,
            ),
            (isinstance(self.graded, tuple), "graded is a list", self.graded),
            (
                self.first not in (*self._mixes, ""),
                "the first stage is not a mixture",
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
                    f"a table has at most {len(LETTERS)} rows",
                    facts=[("plan", path), ("table", table.name)],
                )
        for target in self.targets:
            if target.collection not in names:
                raise UnknownNameError.of("collection of the plan", target.collection, names)
            record.check_names("measure of the plan", target.measures, (*self.measures, *self.graded))
            if target.over != self.first:
                raise ParameterError(
                    "a target is a ratio to the first stage",
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
                "a mix has two systems, neither of them a mixture",
                facts=[("plan", path), ("system", system.name), ("mix", ", ".join(system.mix))],
            )

    def named(self) -> Iterator[str]:
        """Yield the names of systems in other parts."""
        yield self.first
        for system in self.systems.values():
            yield from system.mix
        for table in self.tables:
            yield from table.rows
        for target in self.targets:
            yield from (*target.systems, target.over)


def _loaded(path: Path) -> dict[str, Any]:
    """Read a plan file, and check that it has systems, collections and tables."""
    given = read_toml(path)
    for name, kind in (("systems", dict), ("collections", list), ("tables", list)):
        if not isinstance(given.get(name), kind) or not given[name]:
            raise MalformedRecordError(f"the plan has no {name}", facts=[("file", path)])
    for name, entry in given["systems"].items():
        if not isinstance(entry, dict):
            raise MalformedRecordError("a system is not a table", facts=[("file", path), ("system", name)])
    return given


def _plain(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[\w-]+", name) is not None


def _whole(value: object, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
