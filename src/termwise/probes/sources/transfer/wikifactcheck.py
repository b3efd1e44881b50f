"""WikiFactCheck: claims from Wikipedia, and what people made of them in a few words so that they are refuted.

A. Sathe et al., LREC 2020, in the selection of the CANNOT data set. The first text is the claim. The original files are
``wikifactcheck_english_0.tsv`` to ``_4.tsv``, with columns ``sentence`` and ``negated``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import any_of
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs, read_table
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import CommonChunk

_PATTERNS = ("wikifactcheck_claim_vs_refuted.jsonl", "wikifactcheck_english_*.tsv")


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row."""
    paths = any_of(folder, "the claims of WikiFactCheck", _PATTERNS)
    return [
        TransferProbe(
            "negation-claim@wikifactcheck",
            "Negation WikiFactCheck: claim against refuted claim",
            partial(_read, paths),
            CommonChunk(material.language),
            definition=define_pair("a claim that is supported", "the claim changed so that it is refuted"),
        )
    ]


def _read(paths: Sequence[Path]) -> Iterator[Pair]:
    for path in paths:
        yield from _original(path) if ".tsv" in path.suffixes else read_pairs(path)


def _original(path: Path) -> Iterator[Pair]:
    part = path.name.partition(".")[0].rpartition("_")[2]
    rows = read_table(path, ("sentence", "negated"), delimiter="\t", quoted=False)
    for place, (line, row) in enumerate(rows):
        yield Pair(
            f"wfc-{part}-{place}",
            row["sentence"],
            row["negated"],
            facts={"source": {"part": part, "line": line}},
        )
