"""Plan of the zero-shot experiment, and the choices made on the dev splits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import record
from plan_parts import check_types, digest_of, fits, named_parts, part, read_toml, without

from termwise.encode import EncoderFolder
from termwise.encode.encoder_folder import FLOORS, QUERY_ROWS, QUERY_SHIFTS
from termwise.encode.onnx_session import OnnxSession
from termwise.errors import CheckFailedError, MissingFileError, ParameterError, UnknownNameError
from termwise.models import make_model

BASELINE = "bm25"
ALPHA = "alpha"
"""Name of the share of the first system of an interpolation among the choices."""
WEIGHTS = "weights"
"""Name of the weights of the parts of a mixture among the choices."""
FEEDBACK = "feedback"
"""Name of the setting for the number of documents and the weight of feedback."""
AS_SHIPPED = "as-shipped"
"""Value of a setting that stands for the default of the encoder."""
NETWORKS = ("tilde", "tildev2", "splade-doc", "lookup")

Precision = Literal["float32", "int8"]


@dataclass(frozen=True, kw_only=True)
class System:
    """One way to rank: an index, a dense encoder, or other systems mixed.

    Attributes
    ----------
    name : str
        Name in tables.
    model : str
        Model of termwise; empty for other systems.
    encoder : str
        Name of its network in ``--encoder``; by default that of the model.
    analyzer : str
        Analyzer of a count model.
    settings : mapping of str to str
        Parameters of the model.
    like : str
        Another system of the same model, whose choices are used for parameters that are not in `settings`.
    dense : bool
        Whether it is the dense encoder.
    length : int
        Pieces that the dense encoder reads.
    interpolate, fuse : tuple of str
        Two systems that are interpolated over the candidates of the first, or fused by rank.
    mix : tuple of str
        Indexes that are ranked together over the union of their candidates, see `termwise.search.Searcher`.
    only_scoring : tuple of str
        Indexes of `mix` that find no candidates.
    feedback : bool
        Whether the mixture has feedback, which is chosen after the weights.
    note : str
        Note for readers of the tables.
    """

    name: str
    model: str = ""
    encoder: str = ""
    analyzer: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    like: str = ""
    dense: bool = False
    length: int = 256
    interpolate: tuple[str, ...] = ()
    fuse: tuple[str, ...] = ()
    mix: tuple[str, ...] = ()
    only_scoring: tuple[str, ...] = ()
    feedback: bool = False
    note: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The systems that are interpolated, fused or mixed."""
        return self.interpolate or self.fuse or self.mix

    @property
    def expanded(self) -> bool:
        """Whether a TILDE encoder expands the documents."""
        return self.model == "tildev2" and self.settings.get("expansion_encoder") != "none"

    @property
    def network(self) -> str:
        """Name in ``--encoder`` of the network of the model; empty for a model without a network."""
        return (self.encoder or self.model) if self.model in NETWORKS else ""

    @property
    def networks(self) -> tuple[str, ...]:
        """Names in ``--encoder`` of the networks that run over the documents: of the model, and of an expansion."""
        return ((self.network,) if self.network else ()) + (("tilde",) if self.expanded else ())


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A collection: reported split, split of choices, and whether it counts in the macro mean."""

    name: str
    test: str
    dev: str | None = None
    mean: bool = True


@dataclass(frozen=True, kw_only=True)
class SettingChoice:
    """Choice of a setting of a system among values; the plan explains the fields."""

    system: str
    setting: str
    values: tuple[str, ...]
    by: str = "alone"
    tolerance: float = 0.0
    collections: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Paired comparison of two systems."""

    system: str
    against: str


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """Known training data of a base encoder, and the collections that may be part of it."""

    base: str
    said: str
    collections: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target: a ratio of macro means, and the least ratio of every collection.

    `set_later` marks a target that was written when results of the system, or of one that it extends, were known.
    """

    system: str
    macro: float
    each: float | None = None
    set_later: bool = False


@dataclass(frozen=True, kw_only=True)
class _Tables:
    """Tables of a plan in a TOML file."""

    measures: tuple[str, ...]
    depth: int
    collections: Mapping[str, Any]
    systems: Mapping[str, Any]
    choose: Mapping[str, Any]
    macro_without: tuple[str, ...] = ()
    contrasts: tuple[Mapping[str, Any], ...] = ()
    exposures: tuple[Mapping[str, Any], ...] = ()
    targets: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Choose:
    """The table ``choose`` of a plan."""

    measure: str
    alpha: tuple[float, ...]
    weights_step: float
    feedback: tuple[list[float], ...] = ()
    feedback_tolerance: float = 0.0
    settings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Plan of the experiment."""

    measures: tuple[str, ...]
    depth: int
    collections: dict[str, Entry]
    without: tuple[str, ...]
    systems: dict[str, System]
    measure: str
    alpha: tuple[float, ...]
    weights_step: float
    feedback: tuple[list[float], ...]
    feedback_tolerance: float
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
            If a collection makes choices on its reported split, a system is a part of itself, or a part of the file is
            not valid.
        UnknownNameError
            If a part names an unknown system or model.
        """
        body = read_toml(path)
        tables = part(_Tables, body)
        choose = part(_Choose, tables.choose)
        plan = cls(
            measures=tables.measures,
            depth=tables.depth,
            collections=named_parts(Entry, tables.collections),
            without=tables.macro_without,
            systems={name: _system(name, entry) for name, entry in tables.systems.items()},
            measure=choose.measure,
            alpha=choose.alpha,
            weights_step=choose.weights_step,
            feedback=choose.feedback,
            feedback_tolerance=choose.feedback_tolerance,
            settings=tuple(part(SettingChoice, entry) for entry in choose.settings),
            contrasts=tuple(part(Pairing, entry) for entry in tables.contrasts),
            exposures=tuple(part(Exposure, entry) for entry in tables.exposures),
            targets=tuple(part(Target, entry) for entry in tables.targets),
            source=body,
        )
        plan._check(path)
        return plan

    def _check(self, path: Path) -> None:
        most = max([2, *(len(system.mix) for system in self.systems.values())])
        shares = bool(self.alpha) and all(0 <= one <= 1 for one in self.alpha)
        for name, value, holds, expected in (
            ("depth", self.depth, self.depth >= 1, "1 or more"),
            ("alpha", self.alpha, shares, "shares from 0 to 1"),
            (
                "weights_step",
                self.weights_step,
                0 < self.weights_step <= 1 / most,
                f"above 0, at most 1/{most}",
            ),
            (
                "feedback",
                self.feedback,
                all(map(_is_feedback, self.feedback))
                and (bool(self.feedback) or not any(one.feedback for one in self.systems.values())),
                "pairs of a number of documents and a weight, at least one if a mixture has feedback",
            ),
        ):
            if not holds:
                raise ParameterError(
                    "a value of the plan is out of range",
                    facts=[("file", path), (name, value), ("expected", expected)],
                )
        same = [entry.name for entry in self.collections.values() if entry.dev == entry.test]
        if same:
            raise ParameterError(
                "choices may not be made on the reported split",
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
        mentioned = [*self.without, *(name for one in self.exposures for name in one.collections)]
        record.check_names("collection", mentioned, self.collections)
        named = [part for system in self.systems.values() for part in system.parts]
        named += [choice.system for choice in self.settings] + [target.system for target in self.targets]
        named += [name for contrast in self.contrasts for name in (contrast.system, contrast.against)]
        record.check_names("system", [BASELINE, *named], self.systems)
        for system in self.systems.values():
            if system.name in self._closure(system.parts):
                raise ParameterError(
                    "a system is a part of itself", facts=[("file", path), ("system", system.name)]
                )
            if system.like and getattr(self.systems.get(system.like), "model", None) != system.model:
                raise ParameterError(
                    "like names a system of another model",
                    facts=[("file", path), ("system", system.name), ("like", system.like)],
                )
            if system.interpolate and system.interpolate[0] != BASELINE:
                raise ParameterError(
                    "the first part of a mixture is not the baseline",
                    facts=[("file", path), ("system", system.name)],
                )
        if self.measure not in self.measures:
            raise ParameterError("the measure of choices is not one of the measures", facts=[("file", path)])

    @property
    def dev(self) -> tuple[str, ...]:
        """The collections with a dev split."""
        return tuple(name for name, entry in self.collections.items() if entry.dev is not None)

    def digest(self, system: str, setting: str) -> str:
        """Digest of what a choice depends on: its systems, the dev splits, and its rule."""
        choice = next((one for one in self.settings if (one.system, one.setting) == (system, setting)), None)
        names = {*self.with_parts([system]), *(name for name in [self.systems[system].like] if name)}
        if choice is not None and choice.by == "mixed":
            names.add(self.mixture_of(system))
        rules = {
            ALPHA: list(self.alpha),
            WEIGHTS: self.weights_step,
            FEEDBACK: {
                "values": [list(pair) for pair in self.feedback],
                "tolerance": self.feedback_tolerance,
            },
        }
        return digest_of(
            {
                "depth": self.depth,
                "dev": {name: self.collections[name].dev for name in self.dev},
                "systems": {name: without(self.source["systems"][name], "note") for name in sorted(names)},
                "measure": self.measure,
                "rule": rules[setting] if choice is None else asdict(choice),
            }
        )

    def mixture_of(self, system: str) -> str:
        """Return the name of the interpolation of a system with the baseline."""
        found = [name for name, one in self.systems.items() if one.interpolate == (BASELINE, system)]
        if not found:
            raise ParameterError("no mixture of the system with the baseline", facts=[("system", system)])
        return found[0]

    def with_parts(self, names: Sequence[str]) -> list[str]:
        """Return systems with their parts and the baseline, in the order of the plan."""
        wanted = {BASELINE, *self._closure(names)}
        return [name for name in self.systems if name in wanted]

    def _closure(self, names: Sequence[str]) -> set[str]:
        """Return systems with their parts, and the parts of these."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in self.systems:
                raise UnknownNameError.of("system", name, self.systems)
            if name not in found:
                found.add(name)
                waiting += self.systems[name].parts
        return found

    def networks(self, names: Sequence[str]) -> list[str]:
        """Return the networks of systems: those of models first, then others in the order of the plan."""
        used = {network for name in self.with_parts(names) for network in self.systems[name].networks}
        every = dict.fromkeys([*NETWORKS, *(system.network for system in self.systems.values())])
        return [name for name in every if name in used]

    def chosen_on(self, system: str, setting: str) -> tuple[str, ...] | None:
        """Return the collections of a choice; None if there is no such choice."""
        if setting in (ALPHA, WEIGHTS, FEEDBACK):
            one = self.systems[system]
            mixed = {ALPHA: bool(one.interpolate), WEIGHTS: bool(one.mix), FEEDBACK: one.feedback}
            return self.dev if mixed[setting] else None
        for choice in self.settings:
            if (choice.system, choice.setting) == (system, setting):
                return choice.collections or self.dev
        return None


def _is_feedback(pair: Sequence[float]) -> bool:
    return len(pair) == 2 and pair[0] >= 1 and pair[0] == int(pair[0]) and 0 < pair[1] <= 1


def _system(name: str, entry: Mapping[str, Any]) -> System:
    system = part(System, entry, name=name)
    kinds = [bool(system.model), system.dense, *map(bool, (system.interpolate, system.fuse, system.mix))]
    pairs = (system.interpolate, system.fuse)
    if sum(kinds) != 1 or any(len(pair) not in (0, 2) for pair in pairs) or len(system.mix) == 1:
        raise ParameterError(
            "a system is a model, the dense encoder, or other systems mixed", facts=[("system", name)]
        )
    if not set(system.only_scoring) < set(system.mix or ("",)) or (system.feedback and not system.mix):
        raise ParameterError(
            "only_scoring names some of the parts of a mixture, and only a mixture has feedback",
            facts=[("system", name)],
        )
    if system.model:
        make_model(system.model, system.settings)
    return system


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """One choice.

    Attributes
    ----------
    system, setting : str
        System and setting: a parameter, `ALPHA`, `WEIGHTS` or `FEEDBACK`.
    value : str, float or list of float
        Chosen value: a share for `ALPHA`, a list for `WEIGHTS` and `FEEDBACK`.
    by : str
        System whose mean was maximised.
    tried : list of dict
        Every value, with the macro mean and the mean of each collection.
    plan : str
        `Plan.digest` of the choice.
    """

    system: str
    setting: str
    value: Any
    by: str
    tried: list[dict[str, Any]]
    plan: str

    def check(self) -> None:
        """Raise `TypeError` if the value or those that were tried have another type."""
        for one in ({"value": self.value, "macro": 0.0, "collections": {}}, *self.tried):
            kinds = {"value": _VALUES.get(self.setting, str), "macro": float, "collections": dict[str, float]}
            if one.keys() != kinds.keys() or not all(fits(one[name], kind) for name, kind in kinds.items()):
                raise TypeError(f"{self.setting} of {self.system}: {one!r:.80}")
        if not self.tried:
            raise TypeError(f"{self.setting} of {self.system}: nothing was tried")

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections of the choice."""
        return tuple(self.tried[0]["collections"])


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Choices on the dev splits, with their networks.

    Attributes
    ----------
    made : tuple of Chosen
        Choices in their order.
    encoders : mapping of str to mapping of str to str
        Networks of the choices, see `identities`.
    """

    made: tuple[Chosen, ...] = ()
    encoders: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Choices:
        """Read the file that ``choose`` wrote.

        Raises
        ------
        MissingFileError
            If it does not exist.
        CheckFailedError
            If its layout is not valid.
        """
        if not path.is_file():
            raise MissingFileError(
                "the file of choices does not exist", facts=[("file", path)], fixes=[_AGAIN]
            )
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            choices = cls(**{**body, "made": tuple(Chosen(**entry) for entry in body["made"])})
            for one in (choices, *choices.made):
                check_types(one)
            for one in choices.made:
                one.check()
            return choices
        except (TypeError, KeyError, ValueError, RecursionError) as error:
            raise CheckFailedError(
                "the layout of the file of choices is not valid",
                facts=[("file", path), ("reason", error)],
                fixes=[_AGAIN],
            ) from error

    def write(self, path: Path) -> None:
        """Write the file."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def with_one(self, chosen: Chosen) -> Choices:
        """Return the choices with one more, which replaces an earlier one of the same setting."""
        others = [one for one in self.made if (one.system, one.setting) != (chosen.system, chosen.setting)]
        return replace(self, made=(*others, chosen))

    def beside(self, earlier: Choices) -> Choices:
        """Return these and earlier choices for other systems, if both have the same networks."""
        shared = self.encoders.keys() & earlier.encoders.keys()
        if any(self.encoders[name] != earlier.encoders[name] for name in shared):
            return self
        made = {(one.system, one.setting): one for one in (*earlier.made, *self.made)}
        return replace(self, made=tuple(made.values()), encoders={**earlier.encoders, **self.encoders})

    @property
    def alpha(self) -> dict[str, float]:
        """The share of the first system of each interpolation."""
        return {one.system: float(one.value) for one in self.made if one.setting == ALPHA}

    @property
    def weights(self) -> dict[str, list[float]]:
        """The weights of the parts of each mixture."""
        return {one.system: list(map(float, one.value)) for one in self.made if one.setting == WEIGHTS}

    @property
    def feedback(self) -> dict[str, tuple[int, float]]:
        """The number of documents and the weight of the feedback of each mixture."""
        return {
            one.system: (int(one.value[0]), float(one.value[1]))
            for one in self.made
            if one.setting == FEEDBACK
        }

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """The chosen parameters of each system."""
        found: dict[str, dict[str, str]] = {}
        for one in self.made:
            if one.setting not in (ALPHA, WEIGHTS, FEEDBACK):
                found.setdefault(one.system, {})[one.setting] = str(one.value)
        return found

    def of(self, system: System) -> dict[str, str]:
        """Return the chosen parameters of a system, including those of the system that it is `like`."""
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
        """Check that the choices were made for this plan and these networks, and on the right collections.

        Parameters
        ----------
        plan : Plan
        encoders : mapping
            Networks of this run, see `identities`.
        names : sequence of str
            Systems of this run.
        partly : bool
            Whether choices on some of the collections are sufficient, for a trial.

        Raises
        ------
        CheckFailedError
            If the plan, an encoder or its precision differs from that of the choices, or a choice was made on other
            collections than those of the plan.
        """
        wanted = set(plan.with_parts(names))
        made = [one for one in self.made if one.system in wanted]
        if not made:
            return
        outdated = [one for one in made if one.plan != plan.digest(one.system, one.setting)]
        if outdated:
            raise CheckFailedError(
                "choices were made with another plan",
                facts=[("choices", ", ".join(f"{one.setting} of {one.system}" for one in outdated))],
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
                fixes=[_AGAIN, "name the encoders and the precision of the choices"],
            )
        if partly:
            return
        for one in made:
            declared = plan.chosen_on(one.system, one.setting) or ()
            if set(one.collections) != set(declared):
                raise CheckFailedError(
                    "a choice was made on other collections than those of the plan",
                    facts=[
                        ("choice", f"{one.setting} of {one.system}"),
                        ("made on", ", ".join(one.collections)),
                        ("declared", ", ".join(declared)),
                    ],
                    fixes=["choose again without --collections: zero_shot.py choose ..."],
                )


_VALUES: dict[str, Any] = {ALPHA: float, WEIGHTS: list[float], FEEDBACK: list[float]}
_AGAIN = "choose again, on the dev splits: zero_shot.py choose ..."


def _shown(identity: Mapping[str, str] | None) -> str:
    if identity is None:
        return "none"
    return f"{identity.get('precision')} {identity.get('id', 'unknown')[:19]}…"


def identities(encoders: Mapping[str, str], precision: Precision | None) -> dict[str, dict[str, str]]:
    """Return the identity of each network.

    Returns
    -------
    dict of str to dict of str to str
        For each model the ``precision`` and an ``id``: a digest of the network of this precision, its tokenizer, its
        floors and its query table. Window and number of expansion terms are not part of it, because they are chosen.
    """
    return {name: _identity(folder, precision) for name, folder in encoders.items()}


def _identity(name_or_path: str, precision: Precision | None) -> dict[str, str]:
    folder = EncoderFolder.open(name_or_path)
    session = OnnxSession(folder, precision=precision)
    used = (FLOORS, QUERY_ROWS, QUERY_SHIFTS)
    files: Iterable[str] = [session.file, *(name for name in used if name in folder.manifest.files)]
    return {"id": folder.fingerprint(files), "precision": session.precision}
