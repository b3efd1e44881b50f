"""The Wikipedia neutrality corpus: sentences before and after an edit for a neutral point of view.

R. Pryzant et al., AAAI 2020. The first text is the neutral one. Equal texts are left out, as published. The original
file is ``biased.full``: tab-separated, the revision first, the biased text fourth and the neutral one fifth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from termwise.collection import read_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import digest_of, read_pairs
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import CommonChunk

_FORMS = {
    "original": {"all": ["biased.full"]},
    "pairs": {split: [f"{split}.jsonl"] for split in ("train", "test")},
}


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row."""
    form, files = chosen(folder, "the Wikipedia neutrality corpus", _FORMS)
    return [
        TransferProbe(
            "neutrality@wnc",
            "Neutrality WNC",
            partial(_read, form, files),
            CommonChunk(material.language),
            definition=define_pair(
                "a sentence of Wikipedia after an edit for a neutral point of view", "the sentence before it"
            ),
        )
    ]


def _read(form: str, files: Mapping[str, list[Path]]) -> Iterator[Pair]:
    for (path,) in files.values():
        yield from read_pairs(path) if form == "pairs" else _original(path)


def _original(path: Path) -> Iterator[Pair]:
    seen: set[str] = set()
    for number, line in read_lines(path):
        columns = line.split("\t")
        if len(columns) < 5:
            raise MalformedRecordError.at(path, number, expected="5 columns or more", seen=line)
        revision, biased, neutral = columns[0].strip(), columns[3].strip(), columns[4].strip()
        pair_id = f"wnc-{revision}-{digest_of(biased, neutral)}"
        if pair_id not in seen:
            seen.add(pair_id)
            yield Pair(
                pair_id,
                neutral,
                biased,
                group=f"revision {revision}",
                facts={"source": {"revision": revision}},
            )
