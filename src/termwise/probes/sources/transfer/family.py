"""The probes of all data sets of pairs that the user has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.sources.transfer import (
    gyafc,
    jfleg,
    mspc,
    nq,
    onestop,
    scitldr,
    summaries,
    truthfulqa,
    turkcorpus,
    wnc,
    xquad,
)

DATA_SETS: Mapping[str, Callable[[Path, ProbeInputs], Sequence[Probe]]] = MappingProxyType(
    {
        "mspc": mspc.probes,
        "jfleg": jfleg.probes,
        "gyafc": gyafc.probes,
        "turkcorpus": turkcorpus.probes,
        "onestop": onestop.probes,
        "wnc": wnc.probes,
        "xsum": summaries.probes_of(summaries.XSUM),
        "cnn": summaries.probes_of(summaries.CNN),
        "dailymail": summaries.probes_of(summaries.DAILY_MAIL),
        "scitldr": scitldr.probes,
        "nq": nq.probes,
        "xquad": xquad.probes,
        "truthfulqa": truthfulqa.probes,
    }
)
"""What makes the probes of a data set, by the name of its folder in `ProbeInputs.folders`; in the order of tables."""


def transfer_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes of every data set whose folder is known.

    Raises
    ------
    MissingFileError
        If a folder lacks the files of its data set.
    """
    return [
        probe
        for name, make in DATA_SETS.items()
        if name in material.folders
        for probe in make(Path(material.folders[name]), material)
    ]


FAMILY = Family(
    "transfer",
    "of two texts that say the same, is the one that is more fluent, simple, true, … preferred?",
    transfer_probes,
    tuple(DATA_SETS),
)
