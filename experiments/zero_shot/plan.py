"""The declarative file of the zero-shot experiment, read and checked; and the choices made on the dev splits."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from plan_parts import part

from termwise.encode import EncoderFolder
from termwise.encode.encoder_folder import FLOORS
from termwise.encode.onnx_session import OnnxSession
from termwise.errors import CheckFailedError, MissingFileError, ParameterError, UnknownNameError

BASELINE = "bm25"
ALPHA = "alpha"
"""What the share of the first system of a mixture is called among the choices."""
AS_SHIPPED = "as-shipped"
"""Stands, among the values of a setting, for what the encoder does where nothing is said."""
NETWORKS = ("tilde", "tildev2", "splade-doc")

Precision = Literal["float32", "int8"]


@dataclass(frozen=True, kw_only=True)
class System:
    """One way to rank: an index, a dense encoder, or two other systems mixed.

    Attributes
    ----------
    name : str
        What tables call it.
    model : str
        Name of a model of termwise; empty for the others.
    analyzer : str
        For a model without a network.
    settings : mapping of str to str
        Parameters of the model.
    like : str
        Another system of the same model: what is chosen for it holds for this one too, but for what `settings` says.
    dense : bool
        Whether it is the dense encoder.
    length : int
        Pieces that the dense encoder reads.
    interpolate, fuse : tuple of str
        The two systems that are mixed by score, over the candidates of the first, or by rank.
    note : str
        What a reader of the tables has to know of it.
    """

    name: str
    model: str = ""
    analyzer: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    like: str = ""
    dense: bool = False
    length: int = 256
    interpolate: tuple[str, ...] = ()
    fuse: tuple[str, ...] = ()
    note: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The systems it is made of."""
        return self.interpolate or self.fuse

    @property
    def expanded(self) -> bool:
        """Whether a TILDE encoder expands its documents."""
        return self.model == "tildev2" and self.settings.get("expansion_encoder") != "none"

    @property
    def networks(self) -> tuple[str, ...]:
        """The models whose encoders read its documents."""
        return ((self.model,) if self.model in NETWORKS else ()) + (("tilde",) if self.expanded else ())


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A collection: the split that is reported, the split that choices are made on, and whether it counts."""

    name: str
    test: str
    dev: str | None = None
    mean: bool = True


@dataclass(frozen=True, kw_only=True)
class SettingChoice:
    """A setting of a system that is chosen among values; see the declarative file."""

    system: str
    setting: str
    values: tuple[str, ...]
    by: str = "alone"
    tolerance: float = 0.0
    collections: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Two systems that are held against each other query by query."""

    system: str
    against: str


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """What a base encoder had read before training here began, and the collections that may be part of it."""

    base: str
    said: str
    collections: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Target:
    """What was to be reached: a ratio of macro means, and the ratio that no collection may be below."""

    system: str
    macro: float
    each: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The declarative file."""

    measures: tuple[str, ...]
    depth: int
    collections: dict[str, Entry]
    without: tuple[str, ...]
    systems: dict[str, System]
    measure: str
    alpha: tuple[float, ...]
    settings: tuple[SettingChoice, ...]
    contrasts: tuple[Pairing, ...]
    exposures: tuple[Exposure, ...]
    targets: tuple[Target, ...]
    source: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read the file.

        Raises
        ------
        ParameterError
            If a collection makes choices on the split it reports, or a part of the file makes no sense.
        UnknownNameError
            If something names a system that is not there.
        """
        if not path.is_file():
            raise MissingFileError("there is no such plan", facts=[("file", path)])
        body = tomllib.loads(path.read_text(encoding="utf-8"))
        choose = body["choose"]
        plan = cls(
            measures=tuple(body["measures"]),
            depth=body["depth"],
            collections={name: part(Entry, entry, name=name) for name, entry in body["collections"].items()},
            without=tuple(body.get("macro_without", ())),
            systems={name: _system(name, entry) for name, entry in body["systems"].items()},
            measure=choose["measure"],
            alpha=tuple(choose["alpha"]),
            settings=tuple(part(SettingChoice, entry) for entry in choose.get("settings", ())),
            contrasts=tuple(part(Pairing, entry) for entry in body.get("contrasts", ())),
            exposures=tuple(part(Exposure, entry) for entry in body.get("exposures", ())),
            targets=tuple(part(Target, entry) for entry in body.get("targets", ())),
            source=body,
        )
        plan._check(path)
        return plan

    def _check(self, path: Path) -> None:
        same = [entry.name for entry in self.collections.values() if entry.dev == entry.test]
        if same:
            raise ParameterError(
                "choices may not be made on the split that is reported",
                facts=[("file", path), ("collections", ", ".join(same))],
            )
        for choice in self.settings:
            if choice.by not in ("alone", "mixed"):
                raise UnknownNameError.of("way to choose a setting", choice.by, ("alone", "mixed"))
            for name in choice.collections:
                if name not in self.collections or self.collections[name].dev is None:
                    raise ParameterError(
                        "a setting is chosen on a collection without a dev split",
                        facts=[("file", path), ("setting", choice.setting), ("collection", name)],
                    )
        for name in [*self.without, *(name for one in self.exposures for name in one.collections)]:
            if name not in self.collections:
                raise UnknownNameError.of("collection", name, self.collections)
        named = [part for system in self.systems.values() for part in system.parts]
        named += [choice.system for choice in self.settings] + [target.system for target in self.targets]
        named += [name for contrast in self.contrasts for name in (contrast.system, contrast.against)]
        for name in [BASELINE, *named]:
            if name not in self.systems:
                raise UnknownNameError.of("system", name, self.systems)
        for system in self.systems.values():
            if system.like and getattr(self.systems.get(system.like), "model", None) != system.model:
                raise ParameterError(
                    "a system is like another one of the same model",
                    facts=[("file", path), ("system", system.name), ("like", system.like)],
                )
            if system.interpolate and system.interpolate[0] != BASELINE:
                raise ParameterError(
                    "mixtures re-rank the candidates of the baseline, which is their first part",
                    facts=[("file", path), ("system", system.name)],
                )
        if self.measure not in self.measures:
            raise ParameterError("choices are made by a measure that is not measured", facts=[("file", path)])

    @property
    def dev(self) -> tuple[str, ...]:
        """The collections with a dev split."""
        return tuple(name for name, entry in self.collections.items() if entry.dev is not None)

    @property
    def digest(self) -> str:
        """``sha256:`` and a digest of all that choices depend on: systems, dev splits, what is chosen and how."""
        body = {
            "depth": self.depth,
            "dev": {name: self.collections[name].dev for name in self.dev},
            "systems": {
                name: {key: value for key, value in entry.items() if key != "note"}
                for name, entry in self.source["systems"].items()
            },
            "choose": self.source["choose"],
        }
        text = json.dumps(body, sort_keys=True, ensure_ascii=False)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    def with_parts(self, names: Sequence[str]) -> list[str]:
        """Return systems together with those they are made of and the baseline, in the order of the file."""
        wanted = {BASELINE}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in self.systems:
                raise UnknownNameError.of("system", name, self.systems)
            wanted.add(name)
            waiting += self.systems[name].parts
        return [name for name in self.systems if name in wanted]

    def networks(self, names: Sequence[str]) -> list[str]:
        """Return the models whose encoders systems use."""
        used = {network for name in self.with_parts(names) for network in self.systems[name].networks}
        return [name for name in NETWORKS if name in used]

    def chosen_on(self, system: str, setting: str) -> tuple[str, ...] | None:
        """Return the collections that something is chosen on; None where it is not chosen."""
        if setting == ALPHA:
            return self.dev if self.systems[system].interpolate else None
        for choice in self.settings:
            if (choice.system, choice.setting) == (system, setting):
                return choice.collections or self.dev
        return None


def _system(name: str, entry: Mapping[str, Any]) -> System:
    system = part(System, entry, name=name)
    kinds = [bool(system.model), system.dense, bool(system.interpolate), bool(system.fuse)]
    if sum(kinds) != 1 or any(len(part) not in (0, 2) for part in (system.interpolate, system.fuse)):
        raise ParameterError(
            "a system is a model, the dense encoder, or two systems mixed", facts=[("system", name)]
        )
    return system


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """One choice.

    Attributes
    ----------
    system, setting : str
        What was chosen; `ALPHA` is the share of the first system of a mixture.
    value : str or float
        The choice.
    by : str
        Whose mean decided.
    tried : list of dict
        Every value that was tried, with the macro mean and the mean of each collection.
    """

    system: str
    setting: str
    value: Any
    by: str
    tried: list[dict[str, Any]]

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections it was chosen on."""
        return tuple(self.tried[0]["collections"])


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What was chosen on the dev splits, and for which networks and plan.

    Attributes
    ----------
    made : tuple of Chosen
        The choices, one after the other.
    encoders : mapping of str to mapping of str to str
        The networks they were made for, see `identities`.
    plan : str
        `Plan.digest`.
    """

    made: tuple[Chosen, ...] = ()
    encoders: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    plan: str = ""

    @classmethod
    def read(cls, path: Path) -> Choices:
        """Read the file that `choose` wrote.

        Raises
        ------
        MissingFileError
            If it is not there.
        CheckFailedError
            If it has another layout.
        """
        if not path.is_file():
            raise MissingFileError(
                "the choices on the dev splits are not there", facts=[("file", path)], fixes=[_AGAIN]
            )
        body = json.loads(path.read_text(encoding="utf-8"))
        try:
            return cls(**{**body, "made": tuple(Chosen(**entry) for entry in body["made"])})
        except (TypeError, KeyError) as error:
            raise CheckFailedError(
                "the choices are in another layout", facts=[("file", path), ("reason", error)], fixes=[_AGAIN]
            ) from error

    def write(self, path: Path) -> None:
        """Write the file."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def with_one(self, chosen: Chosen) -> Choices:
        """Return the same with one more choice, in place of an earlier one of the same thing."""
        others = [one for one in self.made if (one.system, one.setting) != (chosen.system, chosen.setting)]
        return replace(self, made=(*others, chosen))

    def beside(self, earlier: Choices) -> Choices:
        """Return these together with earlier ones for other systems, if those are of the same plan and networks."""
        shared = self.encoders.keys() & earlier.encoders.keys()
        if earlier.plan != self.plan or any(self.encoders[name] != earlier.encoders[name] for name in shared):
            return self
        made = {(one.system, one.setting): one for one in (*earlier.made, *self.made)}
        return replace(self, made=tuple(made.values()), encoders={**earlier.encoders, **self.encoders})

    @property
    def alpha(self) -> dict[str, float]:
        """The share of the first system of each mixture."""
        return {one.system: float(one.value) for one in self.made if one.setting == ALPHA}

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """The chosen parameters of each system."""
        found: dict[str, dict[str, str]] = {}
        for one in self.made:
            if one.setting != ALPHA:
                found.setdefault(one.system, {})[one.setting] = str(one.value)
        return found

    def of(self, system: System) -> dict[str, str]:
        """Return the parameters that were chosen for a system, or for the one it is like."""
        theirs = self.settings.get(system.like, {})
        inherited = {name: value for name, value in theirs.items() if name not in system.settings}
        return {**inherited, **self.settings.get(system.name, {})}

    def check(
        self,
        plan: Plan,
        encoders: Mapping[str, Mapping[str, str]],
        names: Sequence[str],
        *,
        partly: bool = False,
    ) -> None:
        """Refuse choices that were made for another plan, for other networks, or on other collections.

        Parameters
        ----------
        plan : Plan
            What is run.
        encoders : mapping
            The networks it is run with, see `identities`.
        names : sequence of str
            The systems that are run.
        partly : bool
            Whether choices on some of the collections will do, for a trial.

        Raises
        ------
        CheckFailedError
            If the plan, an encoder or its precision is another one than the choices were made for or is unknown to
            them, or a choice was made on other collections than the plan declares.
        """
        wanted = set(plan.with_parts(names))
        made = [one for one in self.made if one.system in wanted]
        if not made:
            return
        if self.plan != plan.digest:
            raise CheckFailedError(
                "the choices were made with another plan",
                facts=[("plan", plan.digest), ("chosen with", self.plan)],
                fixes=[_AGAIN],
            )
        used = plan.networks([one.system for one in made])
        others = [name for name in used if self.encoders.get(name) != encoders.get(name)]
        if others:
            raise CheckFailedError(
                "the choices were made for other encoders",
                facts=[
                    (name, f"{_shown(encoders.get(name))}, chosen for {_shown(self.encoders.get(name))}")
                    for name in others
                ],
                fixes=[_AGAIN, "name the encoders and the precision they were made for"],
            )
        if partly:
            return
        for one in made:
            declared = plan.chosen_on(one.system, one.setting) or ()
            if set(one.collections) != set(declared):
                raise CheckFailedError(
                    "a choice was made on other collections than the plan declares",
                    facts=[
                        ("choice", f"{one.setting} of {one.system}"),
                        ("made on", ", ".join(one.collections)),
                        ("declared", ", ".join(declared)),
                    ],
                    fixes=["choose again without --collections: zero_shot.py choose ..."],
                )


_AGAIN = "choose again, on the dev splits: zero_shot.py choose ..."


def _shown(identity: Mapping[str, str] | None) -> str:
    return "none" if identity is None else f"{identity['precision']} {identity['id'][:19]}…"


def identities(encoders: Mapping[str, str], precision: Precision | None) -> dict[str, dict[str, str]]:
    """Return what tells one network from another.

    Returns
    -------
    dict of str to dict of str to str
        For each model the ``precision`` that is computed in and an ``id``: a digest of the network of this precision,
        its tokenizer and its floors. Window and number of expansion terms are not part of it: they are chosen.
    """
    return {name: _identity(folder, precision) for name, folder in encoders.items()}


def _identity(name_or_path: str, precision: Precision | None) -> dict[str, str]:
    folder = EncoderFolder.open(name_or_path)
    session = OnnxSession(folder, precision=precision)
    files: Iterable[str] = [session.file, *([FLOORS] if FLOORS in folder.manifest.files else [])]
    return {"id": folder.fingerprint(files), "precision": session.precision}
