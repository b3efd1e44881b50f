"""All families of probes, built-in and of plug-ins, and the selection of probes from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from termwise.errors import UsageError
from termwise.probes.axioms.axiom_probes import FAMILY as AXIOMS
from termwise.probes.behaviour import (
    fact_swaps,
    gender,
    injection,
    length,
    negation,
    noise,
    position,
    queries,
    stuffing,
)
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.suites import ProbeSelection, select_probes, suite_named
from termwise.probes.manipulations.manipulation_probes import FAMILY as MANIPULATIONS
from termwise.probes.manipulations.manipulation_probes import FAMILY_BY_GRADES as MANIPULATIONS_BY_GRADES
from termwise.probes.plugins import plugin_families
from termwise.probes.sources.matching.matched_probes import FAMILY as MATCHED
from termwise.probes.sources.matching.matched_probes import FAMILY_SUM_TF as MATCHED_SUM_TF
from termwise.probes.sources.transfer.data_sets import FAMILY as TRANSFER
from termwise.probes.sources.written_pairs import FAMILY as WRITTEN
from termwise.probes.sources.yaml_probes import read_probes

BEHAVIOUR: tuple[Family, ...] = tuple(
    module.FAMILY
    for module in (negation, stuffing, injection, position, length, noise, queries, fact_swaps, gender)
)

BUILT_IN = (
    *(MATCHED, MATCHED_SUM_TF, MANIPULATIONS, MANIPULATIONS_BY_GRADES, TRANSFER, WRITTEN, AXIOMS),
    *BEHAVIOUR,
)
"""Built-in families in the order of tables."""

PAIR_DATA_SETS = frozenset(
    name for family in (TRANSFER, negation.FAMILY, gender.FAMILY) for name in family.folders
)
"""Names of data sets that make probes of their own."""


def families() -> Iterator[Family]:
    """Yield every family, those of plug-ins last; `TermwiseError` if a plug-in cannot be loaded."""
    yield from BUILT_IN
    yield from plugin_families(known=tuple(family.name for family in BUILT_IN))


def probes_of(suites: Sequence[str], inputs: ProbeInputs) -> list[ProbeSelection]:
    """Return the probes of suites, of patterns ``probe:NAME`` and of YAML files.

    Raises
    ------
    UsageError
        If probes of two files have one name.
    TermwiseError
        If there is no such suite, probe or file.
    """
    files = list(dict.fromkeys(name for name in suites if name.endswith((".yaml", ".yml"))))
    named = [suite_named(name) for name in suites if name not in files]
    own = [
        (file, ProbeSelection(probe, Path(file).stem)) for file in files for probe in read_probes(Path(file))
    ]
    check_distinct("probes", ((one.probe.name, file) for file, one in own), "rename one of them")
    return [*select_probes(families(), inputs, named), *(one for _, one in own)]


def check_distinct(noun: str, named: Iterable[tuple[str, str]], fix: str) -> None:
    """Raise `UsageError` if two names are equal; each name comes with its origin."""
    origins: dict[str, str] = {}
    for name, origin in named:
        if name in origins:
            raise UsageError(
                f"two {noun} have one name",
                facts=[("name", name), ("first", origins[name]), ("second", origin)],
                fixes=[fix],
            )
        origins[name] = origin
