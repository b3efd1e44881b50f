"""TurkCorpus: sentences of Wikipedia, each made simpler by eight people (Xu et al., TACL 2016).

The first text is the simpler one, the second the original. Both are in lower case and cut into tokens; ``-lrb-`` and
``-rrb-`` become parentheses again. Sentences that were left as they were are kept, as published. Where the files with
capitals are there as well, they make a row of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from termwise.errors import MissingFileError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import by_source, parallel_lines, read_pairs
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import CommonChunk

PEOPLE = 8

_SPLITS = ("test", "tune")
_PLAIN = {
    "pairs": {split: [f"{split}.jsonl"] for split in _SPLITS},
    "original": {
        split: [
            f"{split}.8turkers.tok.norm",
            *(f"{split}.8turkers.tok.turk.{number}" for number in range(PEOPLE)),
        ]
        for split in _SPLITS
    },
}
_CASED = {"pairs": {split: [f"{split}.truecased.jsonl"] for split in _SPLITS}}


_DEFINITION = define_pair("a sentence of Wikipedia as somebody made it simpler", "the sentence as it was")


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row, and the one with capitals where its files are there."""
    rows = [("simplicity@turkcorpus", "Simplicity TurkCorpus", "line", chosen(folder, "TurkCorpus", _PLAIN))]
    try:
        cased = chosen(folder, "TurkCorpus with capitals", _CASED)
    except MissingFileError:
        pass
    else:
        rows.append(("simplicity-cased@turkcorpus", "Simplicity TurkCorpus (cased)", "row", cased))
    asking = CommonChunk(material.language)
    return [
        TransferProbe(
            name,
            title,
            partial(_read, form, files, line),
            asking,
            definition=_DEFINITION,
            keep_identical=True,
        )
        for name, title, line, (form, files) in rows
    ]


def _read(form: str, files: Mapping[str, list[Path]], line: str) -> Iterator[Pair]:
    for split, paths in files.items():
        if form == "pairs":
            yield from read_pairs(paths[0], group=by_source("split", line))
        else:
            yield from _original(split, paths)


def _original(split: str, paths: list[Path]) -> Iterator[Pair]:
    for line, texts in parallel_lines(paths):
        original, *simpler = (text.replace("-lrb-", "(").replace("-rrb-", ")") for text in texts)
        for person, text in enumerate(simpler):
            yield Pair(
                f"wikiturk-{split}-{line}-{person}",
                text,
                original,
                group=f"{split}-{line}",
                facts={"source": {"split": split, "line": line, "turker": person}},
            )
