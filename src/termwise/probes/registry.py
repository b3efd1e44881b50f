"""All families of probes: the built-in ones, then those of plug-ins."""

from __future__ import annotations

from collections.abc import Iterator

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
from termwise.probes.core.probe_inputs import Family
from termwise.probes.manipulations.manipulation_probes import FAMILY as MANIPULATIONS
from termwise.probes.manipulations.manipulation_probes import FAMILY_BY_GRADES as MANIPULATIONS_BY_GRADES
from termwise.probes.plugins import plugin_families
from termwise.probes.sources.matching.matched_probes import FAMILY as MATCHED
from termwise.probes.sources.matching.matched_probes import FAMILY_SUM_TF as MATCHED_SUM_TF
from termwise.probes.sources.transfer.data_sets import FAMILY as TRANSFER
from termwise.probes.sources.written_pairs import FAMILY as WRITTEN

BEHAVIOUR: tuple[Family, ...] = tuple(
    module.FAMILY
    for module in (negation, stuffing, injection, position, length, noise, queries, fact_swaps, gender)
)

BUILT_IN = (
    MATCHED,
    MATCHED_SUM_TF,
    MANIPULATIONS,
    MANIPULATIONS_BY_GRADES,
    TRANSFER,
    WRITTEN,
    AXIOMS,
    *BEHAVIOUR,
)
"""Built-in families in the order of tables."""


def families() -> Iterator[Family]:
    """Yield every family, those of plug-ins last; `TermwiseError` if a plug-in cannot be loaded."""
    yield from BUILT_IN
    yield from plugin_families(known=tuple(family.name for family in BUILT_IN))
