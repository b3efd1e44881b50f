"""The declarative file of the zero-shot experiment, read and checked; and the choices made on the dev splits."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from termwise.encode import EncoderFolder
from termwise.errors import CheckFailedError, MissingFileError, ParameterError, UnknownNameError

BASELINE = "bm25"


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
    dense : bool
        Whether it is the dense encoder.
    length : int
        Pieces that the dense encoder reads.
    interpolate, fuse : tuple of str
        The two systems that are mixed by score, over the candidates of the first, or by rank.
    """

    name: str
    model: str = ""
    analyzer: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    dense: bool = False
    length: int = 256
    interpolate: tuple[str, ...] = ()
    fuse: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The systems it is made of."""
        return self.interpolate or self.fuse


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
    systems: dict[str, System]
    measure: str
    alpha: tuple[float, ...]
    settings: tuple[SettingChoice, ...]
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
            collections={name: Entry(name=name, **entry) for name, entry in body["collections"].items()},
            systems={name: _system(name, entry) for name, entry in body["systems"].items()},
            measure=choose["measure"],
            alpha=tuple(choose["alpha"]),
            settings=tuple(_setting(choice) for choice in choose.get("settings", ())),
            targets=tuple(Target(**target) for target in body.get("targets", ())),
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
            for name in choice.collections:
                if name not in self.collections or self.collections[name].dev is None:
                    raise ParameterError(
                        "a setting is chosen on a collection without a dev split",
                        facts=[("file", path), ("setting", choice.setting), ("collection", name)],
                    )
        named = [part for system in self.systems.values() for part in system.parts]
        named += [choice.system for choice in self.settings] + [target.system for target in self.targets]
        for name in [BASELINE, *named]:
            if name not in self.systems:
                raise UnknownNameError.of("system", name, self.systems)
        for system in self.systems.values():
            if system.interpolate and system.interpolate[0] != BASELINE:
                raise ParameterError(
                    "mixtures re-rank the candidates of the baseline, which is their first part",
                    facts=[("file", path), ("system", system.name)],
                )
        if self.measure not in self.measures:
            raise ParameterError("choices are made by a measure that is not measured", facts=[("file", path)])

    def largest_keep(self, system: str, keep: int) -> int:
        """Return the largest `keep` that is ever asked of a system: with it documents are encoded once for all."""
        wanted = [
            int(value)
            for choice in self.settings
            if choice.system == system and choice.setting == "keep"
            for value in choice.values
        ]
        return max([keep, *wanted])

    def with_parts(self, names: Sequence[str]) -> list[str]:
        """Return systems together with those they are made of and the baseline, in the order of the file."""
        wanted = {BASELINE, *names}
        for name in names:
            if name not in self.systems:
                raise UnknownNameError.of("system", name, self.systems)
            wanted.update(self.systems[name].parts)
        return [name for name in self.systems if name in wanted]


def _setting(entry: Mapping[str, Any]) -> SettingChoice:
    lists = {key: tuple(entry[key]) for key in ("values", "collections") if key in entry}
    return SettingChoice(**{**entry, **lists})


def _system(name: str, entry: Mapping[str, Any]) -> System:
    pairs = {key: tuple(entry[key]) for key in ("interpolate", "fuse") if key in entry}
    system = System(name=name, **{**entry, **pairs})
    kinds = [bool(system.model), system.dense, bool(system.interpolate), bool(system.fuse)]
    if sum(kinds) != 1 or any(len(part) not in (0, 2) for part in (system.interpolate, system.fuse)):
        raise ParameterError(
            "a system is a model, the dense encoder, or two systems mixed", facts=[("system", name)]
        )
    return system


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What was chosen on the dev splits.

    Attributes
    ----------
    alpha : mapping of str to float
        Share of the first system for each mixture.
    settings : mapping of str to mapping of str to str
        Chosen parameters of each system.
    encoders : mapping of str to str
        `EncoderFolder.id` of the networks it was chosen for.
    trace : list of dict
        Every value that was tried, with the macro mean and the mean of each collection.
    """

    alpha: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    encoders: Mapping[str, str] = field(default_factory=dict)
    trace: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Choices:
        """Read the file that `choose` wrote."""
        if not path.is_file():
            raise MissingFileError(
                "the choices on the dev splits are not there",
                facts=[("file", path)],
                fixes=["python experiments/zero_shot/zero_shot.py choose ..."],
            )
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """Write the file."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def check(self, encoders: Mapping[str, str]) -> None:
        """Refuse choices that were made for other networks.

        Raises
        ------
        CheckFailedError
            If an encoder is another one than the choices were made for.
        """
        ids = encoder_ids(encoders)
        others = [name for name in ids if self.encoders.get(name, ids[name]) != ids[name]]
        if others:
            raise CheckFailedError(
                "the choices were made for other encoders",
                facts=[
                    (name, f"{ids[name][:19]}…, chosen for {self.encoders[name][:19]}…") for name in others
                ],
                fixes=["choose again, on the dev splits: zero_shot.py choose ..."],
            )


def encoder_ids(encoders: Mapping[str, str]) -> dict[str, str]:
    """Return the `EncoderFolder.id` of each encoder."""
    return {name: EncoderFolder.open(folder).id for name, folder in encoders.items()}
