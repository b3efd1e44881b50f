"""The declarative file of the Model 1 experiment, read and checked."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from plan_parts import part

from termwise.errors import MissingExtraError, MissingFileError, ParameterError, UnknownNameError
from termwise.text import Analyzer, make_analyzer

BASELINE = "bm25"
"""The system that finds the candidates of all others."""

NEURAL = "neural"
"""What a neural table is called among the tables."""

MODELS = ("bm25", "model1", "neural-model1")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A collection and its splits; a split that begins with ``ir_datasets:`` is a dataset of its own.

    Attributes
    ----------
    name : str
        What tables call it; without ir_datasets also the name of its folder.
    test : str
        The split that is reported.
    train : str
        The split of its own training pairs.
    dev : str
        The split that choices are made on. Without one, `dev_queries` queries are drawn out of the train split, and
        their pairs are no training pairs.
    dev_queries : int
        How many queries of the dev split choices are made on; 0 for all.
    chosen_on : str
        Another collection, whose choices are taken; then neither train nor dev is needed.
    mean : bool
        Whether it counts in the macro mean.
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
    """Where a translation table comes from.

    Attributes
    ----------
    name : str
        What the choices call it.
    ships : str
        Name of a table that ships with the package. It fits the fields of its own analyzer only.
    general : bool
        Whether it is trained on general pairs.
    own : int
        How many times the collection's own training pairs count; 0 for not at all.
    collections : tuple of str
        For which it is tried; empty for all.
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
        What tables call it.
    model : {"bm25", "model1", "neural-model1"}
        What scores. A translation scores candidates by gathering from the table, unless `index_of` is given.
    settings : mapping of str to str
        Parameters of BM25, or those of a translation that are not chosen.
    field : str
        How documents are cut.
    index_of : str
        Of a translation that is compiled into an index: the system whose table, settings and weights it takes.
    keep : int
        Weights that such an index keeps of a document; 0 for all.
    alone : bool
        Whether an index searches the collection. All other systems score the candidates of the baseline, and are
        fused with it.
    tuned : bool
        Of a neural table: whether p and lambda are chosen too. Without it they are those that it was made for.
    published : str
        The figure of the paper.
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
        """Whether something is chosen for it on the dev queries."""
        return self.name != BASELINE and not self.index_of


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Two systems that are held against each other; with a `ratio`, the quotient of macro means to be reached."""

    system: str
    against: str
    ratio: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The declarative file; `analyzers` are the names of those that cut each field, as they are installed."""

    name: str
    title: str
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
            If it is not there, or none of the analyzers of a field is installed.
        ParameterError, UnknownNameError
            If a part of it makes no sense, or names something that is not there.
        """
        if not path.is_file():
            raise MissingFileError("there is no such plan", facts=[("file", path)])
        body = tomllib.loads(path.read_text(encoding="utf-8"))
        choose = body["choose"]
        systems = {name: part(System, entry, name=name) for name, entry in body["systems"].items()}
        plan = cls(
            name=body["name"],
            title=body["title"],
            measures=tuple(body["measures"]),
            depth=body["depth"],
            collections={name: part(Entry, entry, name=name) for name, entry in body["collections"].items()},
            analyzers={name: installed(names) for name, names in body["fields"].items()},
            tables={name: part(Variant, entry, name=name) for name, entry in body["tables"].items()},
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
        for name in sorted(named | {BASELINE}):
            if name not in self.systems:
                raise UnknownNameError.of("system", name, self.systems)
        mentioned = [entry.chosen_on for entry in self.collections.values() if entry.chosen_on]
        for name in [*mentioned, *(name for table in self.tables.values() for name in table.collections)]:
            if name not in self.collections:
                raise UnknownNameError.of("collection", name, self.collections)
        for entry in self.collections.values():
            if entry.test in (entry.dev, entry.train):
                raise ParameterError(
                    "nothing may be trained or chosen on the split that is reported",
                    facts=[("file", path), ("collection", entry.name), ("split", entry.test)],
                )
            if not (entry.chosen_on or (entry.train and (entry.dev or entry.dev_queries))):
                raise ParameterError(
                    "a collection needs a train split, and a dev split or a number of queries to hold out",
                    facts=[("file", path), ("collection", entry.name)],
                )
        for system in self.systems.values():
            if system.model not in MODELS:
                raise UnknownNameError.of("model", system.model, MODELS)
            if system.field not in self.analyzers:
                raise UnknownNameError.of("field", system.field, self.analyzers)
        if self.measure not in self.measures:
            raise ParameterError("choices are made by a measure that is not measured", facts=[("file", path)])

    @property
    def digest(self) -> str:
        """``sha256:`` and a digest of what choices depend on beside data and tables."""
        body = {
            "depth": self.depth,
            "analyzers": {name: self.analyzer(name).spec.fingerprint for name in self.analyzers},
            "systems": {
                name: {
                    key: value for key, value in self.source["systems"][name].items() if key != "published"
                }
                for name, system in self.systems.items()
                if name == BASELINE or system.chosen
            },
            "choose": self.source["choose"],
        }
        text = json.dumps(body, sort_keys=True, ensure_ascii=False)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def analyzer(self, field: str) -> Analyzer:
        """Make the analyzer of a field."""
        return make_analyzer(self.analyzers[field])

    def choosing(self, collection: str) -> str:
        """Return the collection whose choices, and whose table, a collection takes."""
        return self.collections[collection].chosen_on or collection

    def entries(self, given: str | None) -> list[Entry]:
        """Return the collections of a list with commas, or all."""
        names = given.split(",") if given else list(self.collections)
        for name in names:
            if name not in self.collections:
                raise UnknownNameError.of("collection", name, self.collections)
        return [self.collections[name] for name in names]


def installed(names: Sequence[str]) -> str:
    """Return the first of these analyzers whose packages are installed.

    Raises
    ------
    MissingExtraError
        That of the last, if none is.
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
    """Give an index the model, field and settings of the system that it is made of."""
    if not system.index_of:
        return system
    if system.index_of not in systems:
        raise UnknownNameError.of("system", system.index_of, systems)
    other = systems[system.index_of]
    if other.model == "bm25" or other.index_of:
        raise ParameterError(
            "an index is made of a system that translates candidates",
            facts=[("system", system.name), ("of", other.name)],
        )
    return System(**{**vars(system), "model": other.model, "field": other.field, "settings": other.settings})
