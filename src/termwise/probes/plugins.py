"""Families of probes from other packages: entry points of the group ``termwise.probes``.

Each entry point names a `termwise.probes.core.probe_inputs.Family`. In the ``pyproject.toml`` of such a package::

    [project.entry-points."termwise.probes"]
    recipes = "my_package.probes:FAMILY"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import EntryPoint, entry_points

from termwise.errors import DataError, ParameterError, TermwiseError
from termwise.probes.core.probe import Probe, check_probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample, Samples

GROUP = "termwise.probes"


def plugin_families(known: Iterable[str] = ()) -> list[Family]:
    """Load the families of all installed packages, ordered by the names of their entry points.

    `DataError` names the entry point and the package if an entry point cannot be loaded, is not a family, or has the
    name of a `known` family. Later failures, in making probes or samples, raise the same error.
    """
    owners = dict.fromkeys(known, "termwise")
    families = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        family = _load(point)
        if family.name in owners:
            raise _plugin_error(point, f"the family {family.name!r} exists already, in {owners[family.name]}")
        owners[family.name] = _package(point)
        make = partial(_make_probes, point, family.make)
        families.append(replace(family, make=make))
    return families


def _load(point: EntryPoint) -> Family:
    try:
        family = point.load()
    except (Exception, SystemExit) as error:
        raise _plugin_error(point, f"{type(error).__name__}: {error}") from error
    if not isinstance(family, Family):
        raise _plugin_error(point, f"it is a {type(family).__name__}, not a Family")
    return family


def _make_probes(
    point: EntryPoint, make: Callable[[ProbeInputs], Sequence[Probe]], inputs: ProbeInputs
) -> Sequence[Probe]:
    with _failures_of(point, "making its probes failed"):
        probes = list(make(inputs))
    for probe in probes:
        if not isinstance(probe, Probe):
            raise _plugin_error(point, f"it made a {type(probe).__name__}, not a Probe")
    return [_PluginProbe(point, probe) for probe in probes]


class _PluginProbe(Probe):
    """A probe of a plug-in; errors in making its samples name the plug-in."""

    def __init__(self, point: EntryPoint, probe: Probe) -> None:
        with _failures_of(point, "reading the name of a probe failed"):
            try:
                check_probe(probe)
            except ParameterError as error:
                raise _plugin_error(point, f"{error.message}: {dict(error.facts)['given']}") from error
            self.name, self.title, self.definition = probe.name, probe.title, probe.definition
            self.strategy, self.symmetric, self.needs = probe.strategy, probe.symmetric, probe.needs
            self.extra, self.expectation = probe.extra, probe.expectation or ""
        self._point = point
        self._probe = probe

    def samples(self, seed: int) -> Iterator[Sample]:
        with _failures_of(self._point, f"making the samples of {self.name} failed"):
            yield from self._probe.samples(seed)

    def draw(self, seed: int, limit: int | None) -> tuple[Samples, int]:
        with _failures_of(self._point, f"making the samples of {self.name} failed"):
            return self._probe.draw(seed, limit)


@contextmanager
def _failures_of(point: EntryPoint, action: str) -> Iterator[None]:
    """Raise failures as errors of the plug-in, also `SystemExit`; errors of termwise pass unchanged."""
    try:
        yield
    except TermwiseError:
        raise
    except (Exception, SystemExit) as error:
        raise _plugin_error(point, f"{action}: {type(error).__name__}: {error}") from error


def _plugin_error(point: EntryPoint, reason: str) -> DataError:
    return DataError(
        "a package has probes that cannot be used",
        facts=[
            ("plug-in", f"{point.name} = {point.value}"),
            ("package", _package(point)),
            ("reason", reason),
        ],
        fixes=["update the package, or uninstall it"],
    )


def _package(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"
