"""SciTLDR: abstracts of papers with a summary of one sentence by their authors (Cachola et al., 2020).

The first text is the summary, the second the abstract, the query the title, if the three share a lemma. The original
files have lists of sentences as ``source`` and ``target``, with ``paper_id`` and ``title``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import Record, read_pairs, string_of
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import SharedLemma

_FORMS = {"any": {split: [f"{split}.jsonl"] for split in ("train", "dev", "test")}}


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row."""
    _, files = chosen(folder, "SciTLDR", _FORMS)
    return [
        TransferProbe(
            "succinctness@scitldr",
            "Succinctness SciTLDR",
            lambda: _read(files),
            SharedLemma(material.language, material.stop_words),
            definition=define_pair("the summary of a paper in a sentence, by its authors", "its abstract"),
        )
    ]


def _read(files: Mapping[str, list[Path]]) -> Iterator[Pair]:
    for split, (path,) in files.items():
        first = next(read_json_lines(path), None)
        if first is not None and "target" in first[1]:
            yield from _original(split, path)
        else:
            yield from read_pairs(path)


def _original(split: str, path: Path) -> Iterator[Pair]:
    for number, record in read_json_lines(path):
        paper_id = string_of(record, ("paper_id",), path, number)
        sentences, summaries = (
            _strings(record, "source", path, number),
            _strings(record, "target", path, number),
        )
        yield Pair(
            f"scitldr-{split}-{paper_id}",
            summaries[0] if summaries else "",
            " ".join(sentences),
            query=string_of(record, ("title",), path, number),
            facts={"source": {"split": split, "paper_id": paper_id}},
        )


def _strings(record: Record, name: str, path: Path, number: int) -> list[str]:
    value = record.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise MalformedRecordError.at(path, number, expected=f"a list of strings {name!r}", seen=repr(value))
    return value
