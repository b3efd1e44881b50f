"""OneStopEnglish: news for learners of English on three levels (Vajjala & Lucic, BEA 2018).

The first text is the easier one. One row compares whole articles, elementary with advanced, whose query is the name of
their topic; the other one their sentences. The original file of sentences is ``ADV-ELE.txt``: an advanced sentence, an
elementary one, a row of asterisks. Equal texts are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from termwise.collection import read_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen, found
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import CommonChunk

_DOCUMENTS, _SENTENCES, _ORIGINAL = "documents.jsonl", "sentences_adv-ele.jsonl", "ADV-ELE.txt"
_FORMS = {
    "documents": {"all": [_DOCUMENTS]},
    "sentences": {"all": [_SENTENCES]},
    "original": {"sentences": [_ORIGINAL]},
}


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the rows for what is there."""
    chosen(folder, "OneStopEnglish", _FORMS)
    asking = CommonChunk(material.language)
    made: list[Probe] = []
    if (path := found(folder, _DOCUMENTS)) is not None:
        read = partial(read_pairs, path)
        made.append(
            TransferProbe(
                "simplicity@onestop", "Simplicity OneStopEnglish", read, asking, definition=_of("an article")
            )
        )
    for name, reader in ((_SENTENCES, read_pairs), (_ORIGINAL, _aligned)):
        if (path := found(folder, name)) is not None:
            title = "Simplicity OneStopEnglish (sentences)"
            made.append(
                TransferProbe(
                    "simplicity-sentences@onestop",
                    title,
                    partial(reader, path),
                    asking,
                    definition=_of("a sentence"),
                )
            )
            break
    return made


def _of(what: str) -> str:
    return define_pair(f"{what} of the news in elementary English", "the same in advanced English")


def _aligned(path: Path) -> Iterator[Pair]:
    block: list[str] = []
    blocks = 0
    for number, line in read_lines(path):
        if not line.startswith("***"):
            block.append(line.strip())
            continue
        if len(block) != 2:
            raise MalformedRecordError.at(
                path, number, expected="two sentences before a row of asterisks", seen=f"{len(block)}"
            )
        advanced, elementary = block
        source = {"file": "ADV-ELE", "block": blocks}
        yield Pair(f"onestop-ADV-ELE-{blocks}", elementary, advanced, facts={"source": source})
        block, blocks = [], blocks + 1
