"""Registry of the transfer data sets, and the family of their probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.sources.transfer.gyafc import GYAFC
from termwise.probes.sources.transfer.question_answers import TRUTHFULQA, natural_questions, xquad
from termwise.probes.sources.transfer.rewritten_sentences import JFLEG, MSPC, WNC, onestop, turkcorpus
from termwise.probes.sources.transfer.summaries import CNN, DAILY_MAIL, SCITLDR, XSUM

DataSets = Mapping[str, Callable[[Path, ProbeInputs], Sequence[Probe]]]
"""Makers of probes by data set name, in the order of tables: each is called with the folder of the data set."""

DATA_SETS: DataSets = {
    "mspc": MSPC,
    "jfleg": JFLEG,
    "gyafc": GYAFC,
    "turkcorpus": turkcorpus,
    "onestop": onestop,
    "wnc": WNC,
    "xsum": XSUM,
    "cnn": CNN,
    "dailymail": DAILY_MAIL,
    "scitldr": SCITLDR,
    "nq": natural_questions,
    "xquad": xquad,
    "truthfulqa": TRUTHFULQA,
}


def data_set_probes(data_sets: DataSets, inputs: ProbeInputs) -> list[Probe]:
    """Make the probes of the given data sets."""
    return [
        probe
        for name, make in data_sets.items()
        if name in inputs.folders
        for probe in make(Path(inputs.folders[name]), inputs)
    ]


FAMILY = Family(
    "transfer",
    "preference for the more fluent, simple, true, … of two texts with the same content",
    partial(data_set_probes, DATA_SETS),
    tuple(DATA_SETS),
)
