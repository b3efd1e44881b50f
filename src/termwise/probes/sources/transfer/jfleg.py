"""JFLEG: sentences of learners of English, each corrected by four people (Napoles et al., EACL 2017).

The first text is a correction, the second the sentence as it was written; in the second row, the same after a spelling
checker. Corrections that leave a sentence as it was are kept, as published: they count as told apart by nobody. In the
half called test the spell-checked sentences are in lower case, their corrections are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import by_source, parallel_lines, read_pairs
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import CommonChunk

REFERENCES = 4

_FORMS = {
    "pairs": {split: [f"{split}.jsonl"] for split in ("dev", "test")},
    "original": {
        split: [
            *(f"{split}.{kind}" for kind in ("src", "spellchecked.src")),
            *(f"{split}.ref{number}" for number in range(REFERENCES)),
        ]
        for split in ("dev", "test")
    },
}


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make both rows."""
    form, files = chosen(folder, "JFLEG", _FORMS)
    asking = CommonChunk(material.language)
    return [
        TransferProbe(
            name,
            title,
            partial(_read, form, files, spellchecked),
            asking,
            definition=define_pair(
                "a sentence of a learner as somebody corrected it", f"the sentence as {written}"
            ),
            keep_identical=True,
        )
        for name, title, spellchecked, written in (
            ("fluency@jfleg", "Fluency JFLEG", False, "the learner wrote it"),
            (
                "fluency-spellchecked@jfleg",
                "Fluency JFLEG (spell-checked)",
                True,
                "the learner wrote it and a spelling checker mended it",
            ),
        )
    ]


def _read(form: str, files: Mapping[str, list[Path]], spellchecked: bool) -> Iterator[Pair]:
    written = ("doc_b_spellchecked",) if spellchecked else ("doc_b",)
    for split, paths in files.items():
        if form == "pairs":
            yield from read_pairs(paths[0], second=written, group=by_source("split", "line"))
        else:
            yield from _original(split, paths, spellchecked)


def _original(split: str, paths: list[Path], spellchecked: bool) -> Iterator[Pair]:
    for line, (written, checked, *corrected) in parallel_lines(paths):
        for reference, text in enumerate(corrected):
            source = {"split": split, "line": line, "ref": reference}
            yield Pair(
                f"jfleg-{split}-{line}-{reference}",
                text,
                checked if spellchecked else written,
                group=f"{split}-{line}",
                facts={"source": source},
            )
