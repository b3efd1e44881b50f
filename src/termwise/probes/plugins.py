"""Families of probes that other packages bring: entry points of the group ``termwise.probes``.

Each entry point names a `termwise.probes.core.probe_inputs.Family`. In the ``pyproject.toml`` of such a package::

    [project.entry-points."termwise.probes"]
    recipes = "my_package.probes:FAMILY"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from termwise.errors import DataError, ParameterError, TermwiseError
from termwise.probes.core.probe import Probe, check_probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample

GROUP = "termwise.probes"


def plugin_families(known: Iterable[str] = ()) -> list[Family]:
    """Load the families of all installed packages, ordered by the names of their entry points.

    Parameters
    ----------
    known : iterable of str, optional
        Names of families that there are already.

    Raises
    ------
    DataError
        If an entry point cannot be loaded, is no family, or brings a name that is taken. What goes wrong later, when a
        family makes its probes or a probe its samples, is reported in the same way. The facts name the entry point and
        its package.
    """
    owners = dict.fromkeys(known, "termwise")
    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        family = _loaded(point)
        if family.name in owners:
            raise _broken(point, f"a family {family.name!r} comes from {owners[family.name]} already")
        owners[family.name] = _package(point)
        found.append(Family(family.name, family.title, partial(_made, point, family.make), family.folders))
    return found


def _loaded(point: EntryPoint) -> Family:
    try:
        family = point.load()
    except (Exception, SystemExit) as error:  # one that exits would end the run without a word
        raise _broken(point, f"{type(error).__name__}: {error}") from error
    if not isinstance(family, Family):
        raise _broken(point, f"it is a {type(family).__name__}, not a Family")
    return family


def _made(
    point: EntryPoint, make: Callable[[ProbeInputs], Sequence[Probe]], material: ProbeInputs
) -> Sequence[Probe]:
    with _named(point, "making its probes failed"):
        probes = list(make(material))
    for probe in probes:
        if not isinstance(probe, Probe):
            raise _broken(point, f"it made a {type(probe).__name__}, not a Probe")
    return [_Borrowed(point, probe) for probe in probes]


class _Borrowed(Probe):
    """A probe of a plug-in; if its samples cannot be made, the error says whose it is."""

    def __init__(self, point: EntryPoint, probe: Probe) -> None:
        with _named(point, "reading the name of a probe failed"):
            try:
                check_probe(probe)
            except ParameterError as error:
                raise _broken(point, f"{error.message}: {dict(error.facts)['given']}") from error
            self.name, self.title, self.definition = probe.name, probe.title, probe.definition
            self.strategy, self.symmetric, self.needs = probe.strategy, probe.symmetric, probe.needs
            self.expectation = probe.expectation or ""
        self._point = point
        self._probe = probe

    def samples(self, seed: int) -> Iterator[Sample]:
        with self._named():
            yield from self._probe.samples(seed)

    def draw(self, seed: int, most: int, order: Callable[[str], Any]) -> tuple[list[Sample], int]:
        with self._named():
            return self._probe.draw(seed, most, order)

    def _named(self) -> AbstractContextManager[None]:
        return _named(self._point, f"making the samples of {self.name} failed")


@contextmanager
def _named(point: EntryPoint, what: str) -> Iterator[None]:
    """Report what goes wrong as a fault of the plug-in; errors of termwise say enough."""
    try:
        yield
    except TermwiseError:
        raise
    except (Exception, SystemExit) as error:
        raise _broken(point, f"{what}: {type(error).__name__}: {error}") from error


def _broken(point: EntryPoint, reason: str) -> DataError:
    return DataError(
        "a package brings probes that cannot be used",
        facts=[
            ("plug-in", f"{point.name} = {point.value}"),
            ("package", _package(point)),
            ("reason", reason),
        ],
        fixes=["update the package, or uninstall it"],
    )


def _package(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"
