"""Plan of the Model 1 experiment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import record
from plan_parts import digest_of, named_parts, part, read_toml, without

from termwise.errors import MissingExtraError, ParameterError, UnknownNameError
from termwise.text import Analyzer, make_analyzer

BASELINE = "bm25"
"""The system that retrieves the candidates of all others."""

NEURAL = "neural"
"""Name of a neural table among the tables."""

MODELS = ("bm25", "model1", "neural-model1")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A collection and its splits; a split ``ir_datasets:ID`` is a separate dataset.

    Attributes
    ----------
    name : str
        Name in tables and, without ir_datasets, of its folder.
    test : str
        Reported split.
    train : str
        Split of the training pairs of the collection.
    dev : str
        Split of choices. Without one, `dev_queries` queries are drawn from the train split, and their pairs are not
        used for training.
    dev_queries : int
        Number of queries for choices; 0 for all.
    chosen_on : str
        Another collection whose choices are used; `train` and `dev` are not needed then.
    mean : bool
        Whether the collection counts in the macro mean.
    """

    name: str
    test: str
    train: str = ""
    dev: str = ""
    dev_queries: int = 0
    chosen_on: str = ""
    mean: bool = True


@dataclass(frozen=True, kw_only=True)
class Variant:
    """Source of a translation table.

    Attributes
    ----------
    name : str
        Name in the choices.
    ships : str
        Name of a shipped table, for fields with its analyzer only.
    general : bool
        Whether it is trained on general pairs.
    own : int
        Number of copies of the training pairs of the collection; 0 for none.
    collections : tuple of str
        Collections on which it is tried; empty for all.
    """

    name: str
    ships: str = ""
    general: bool = False
    own: int = 0
    collections: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class System:
    """One way to rank.

    Attributes
    ----------
    name : str
        Name in tables.
    model : {"bm25", "model1", "neural-model1"}
        Scoring model. A translation scores candidates with columns of its table, unless `index_of` is given.
    settings : mapping of str to str
        Parameters of BM25, or the fixed parameters of a translation.
    field : str
        Field, which determines the analyzer.
    index_of : str
        For a translation compiled into an index: the system with its table, settings and weights.
    keep : int
        Weights per document of such an index; 0 for all.
    alone : bool
        Whether the index is a first stage. All other systems score the candidates of the baseline and are fused with
        it.
    tuned : bool
        For a neural table: whether p and lambda are chosen, too; by default they are those of its training.
    published : str
        Figure of the paper.
    """

    name: str
    model: Literal["bm25", "model1", "neural-model1"] = "model1"
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    field: str = ""
    index_of: str = ""
    keep: int = 256
    alone: bool = False
    tuned: bool = False
    published: str = ""

    @property
    def chosen(self) -> bool:
        """Whether the system has choices on the dev queries."""
        return self.name != BASELINE and not self.index_of


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Comparison of two systems.

    Attributes
    ----------
    system, against : str
        The systems.
    ratio : float, optional
        Target for the ratio of their macro means.
    set_later : bool
        Whether the target was written when results of the system were known.
    """

    system: str
    against: str
    ratio: float | None = None
    set_later: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Plan of the experiment.

    `analyzers` contains the first installed analyzer of each field, by name; `note` stands at the top of the page.
    """

    name: str
    title: str
    note: str
    measures: tuple[str, ...]
    depth: int
    collections: dict[str, Entry]
    analyzers: dict[str, str]
    tables: dict[str, Variant]
    training: dict[str, str]
    systems: dict[str, System]
    contrasts: tuple[Contrast, ...]
    measure: str
    self_translations: tuple[float, ...]
    lambdas: tuple[float, ...]
    seed: int
    source: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read the file.

        Raises
        ------
        MissingFileError, MissingExtraError
            If the file does not exist, or no analyzer of a field is installed.
        ParameterError, UnknownNameError
            If a part is not valid, or names an unknown part.
        """
        body = read_toml(path)
        choose = body["choose"]
        systems = named_parts(System, body["systems"])
        plan = cls(
            name=body["name"],
            title=body["title"],
            note=body.get("note", ""),
            measures=tuple(body["measures"]),
            depth=body["depth"],
            collections=named_parts(Entry, body["collections"]),
            analyzers={name: installed(names) for name, names in body["fields"].items()},
            tables=named_parts(Variant, body["tables"]),
            training={name: str(value) for name, value in body.get("training", {}).items()},
            systems={name: _complete(system, systems) for name, system in systems.items()},
            contrasts=tuple(part(Contrast, entry) for entry in body["contrasts"]),
            measure=choose["measure"],
            self_translations=tuple(choose["self_translation"]),
            lambdas=tuple(choose["lambda"]),
            seed=choose["seed"],
            source=body,
        )
        plan._check(path)
        return plan

    def _check(self, path: Path) -> None:
        named = {system for one in self.contrasts for system in (one.system, one.against)}
        record.check_names("system", sorted(named | {BASELINE}), self.systems)
        mentioned = [entry.chosen_on for entry in self.collections.values() if entry.chosen_on]
        mentioned += [name for table in self.tables.values() for name in table.collections]
        record.check_names("collection", mentioned, self.collections)
        for entry in self.collections.values():
            if entry.test in (entry.dev, entry.train):
                raise ParameterError(
                    "the reported split is also one of training or choices",
                    facts=[("file", path), ("collection", entry.name), ("split", entry.test)],
                )
            if not (entry.chosen_on or (entry.train and (entry.dev or entry.dev_queries))):
                raise ParameterError(
                    "a collection needs a train split, and a dev split or a number of held-out queries",
                    facts=[("file", path), ("collection", entry.name)],
                )
        for system in self.systems.values():
            if system.model not in MODELS:
                raise UnknownNameError.of("model", system.model, MODELS)
            if system.field not in self.analyzers:
                raise UnknownNameError.of("field", system.field, self.analyzers)
        if self.measure not in self.measures:
            raise ParameterError("the measure of choices is not one of the measures", facts=[("file", path)])

    @property
    def digest(self) -> str:
        """Digest of the parts that choices depend on, beside data and tables."""
        body = {
            "depth": self.depth,
            "analyzers": {name: self.analyzer(name).spec.fingerprint for name in self.analyzers},
            "systems": {
                name: without(self.source["systems"][name], "published")
                for name, system in self.systems.items()
                if name == BASELINE or system.chosen
            },
            "choose": self.source["choose"],
        }
        return digest_of(body)

    def analyzer(self, field: str) -> Analyzer:
        """Make the analyzer of a field."""
        return make_analyzer(self.analyzers[field])

    def chosen_on(self, collection: str) -> str:
        """Return the collection that provides the choices and the table of a collection."""
        return self.collections[collection].chosen_on or collection

    def entries(self, given: str | None) -> list[Entry]:
        """Return the collections of a list with commas, or all."""
        return [self.collections[name] for name in record.selected("collection", given, self.collections)]


def installed(names: Sequence[str]) -> str:
    """Return the first of these analyzers whose packages are installed.

    Raises
    ------
    MissingExtraError
        If none is; that of the last analyzer.
    """
    for name in names[:-1]:
        try:
            make_analyzer(name)
        except MissingExtraError:
            continue
        return name
    make_analyzer(names[-1])
    return names[-1]


def _complete(system: System, systems: Mapping[str, System]) -> System:
    """Complete a compiled index with the model, field and settings of its system."""
    if not system.index_of:
        return system
    if system.index_of not in systems:
        raise UnknownNameError.of("system", system.index_of, systems)
    other = systems[system.index_of]
    if other.model == "bm25" or other.index_of:
        raise ParameterError(
            "a compiled index needs a system with a translation",
            facts=[("system", system.name), ("of", other.name)],
        )
    return System(**{**vars(system), "model": other.model, "field": other.field, "settings": other.settings})
