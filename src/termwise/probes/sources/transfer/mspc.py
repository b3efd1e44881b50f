"""The Microsoft Research paraphrase corpus: pairs of sentences from the news (Dolan & Brockett, 2005).

Only pairs that people call paraphrases are taken. Which of the two comes first means nothing, so that the probe is
symmetric. Equal texts are left out, as published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from termwise.collection import read_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import CommonChunk

_FORMS = {
    "pairs": {"all": ["pairs.jsonl"]},
    "original": {split: [f"msr_paraphrase_{split}.txt"] for split in ("train", "test")},
}
_COLUMNS = "Quality, #1 ID, #2 ID, #1 String, #2 String"


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row."""
    form, files = chosen(folder, "the Microsoft Research paraphrase corpus", _FORMS)
    return [
        TransferProbe(
            "paraphrase@mspc",
            "Paraphrase MSPC",
            partial(_read, form, files),
            CommonChunk(material.language),
            definition="Two sentences of the news that people call paraphrases; neither comes first.",
            symmetric=True,
        )
    ]


def _read(form: str, files: Mapping[str, list[Path]]) -> Iterator[Pair]:
    for split, (path,) in files.items():
        if form == "pairs":
            yield from read_pairs(path, keep=lambda record: bool(record.get("paraphrase", True)))
        else:
            yield from _original(split, path)


def _original(split: str, path: Path) -> Iterator[Pair]:
    for number, line in read_lines(path):
        if number == 1:
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 5 or columns[0] not in ("0", "1"):
            raise MalformedRecordError.at(path, number, expected=f"5 columns: {_COLUMNS}", seen=line)
        quality, one, other, first, second = columns
        if quality == "1":
            source = {"split": split, "id_a": one, "id_b": other}
            yield Pair(f"mspc-{split}-{number - 2}", first, second, facts={"source": source})
