"""CondaQA: passages with a negation, three edits of each, and questions.

A. Ravichander, M. Gardner, A. Marasović, EMNLP 2022. Symmetric: a ranker that reads should tell more texts apart where
the meaning has changed than where it has not. The original files are ``condaqa_train.json``, ``condaqa_dev.json`` and
``condaqa_test.json``, with a question to a passage on each line; ``PassageEditID`` is 0 for the passage as it was. A
question makes a pair with each edit, where it is asked of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import read_pairs, string_of
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery

EDITS = {
    "paraphrase": ("Negation CondaQA: said in other words", "with its negation said in other words"),
    "scope": ("Negation CondaQA: scope changed", "with something else negated"),
    "affirmative": ("Negation CondaQA: taken back", "without its negation"),
}
"""What was done to passages, in the order of ``PassageEditID``. Only the first leaves the meaning as it was."""

_SPLITS = ("train", "dev", "test")
_FORMS = {
    "pairs": {split: [f"{split}.jsonl"] for split in _SPLITS},
    "original": {split: [f"condaqa_{split}.json"] for split in _SPLITS},
}


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make a row for each edit."""
    form, files = chosen(folder, "CondaQA", _FORMS)
    return [
        TransferProbe(
            f"negation-{edit}@condaqa",
            title,
            partial(_read, form, files, edit),
            GivenQuery(),
            definition=f"A passage with a negation, and the passage {changed_so}; neither comes first.",
            symmetric=True,
        )
        for edit, (title, changed_so) in EDITS.items()
    ]


def _read(form: str, files: Mapping[str, list[Path]], edit: str) -> Iterator[Pair]:
    for split, (path,) in files.items():
        if form == "pairs":
            yield from read_pairs(path, keep=lambda record: record.get("edit") == edit)
        else:
            yield from _original(split, path, edit)


def _original(split: str, path: Path, edit: str) -> Iterator[Pair]:
    wanted = 1 + list(EDITS).index(edit)
    passages: dict[tuple[str, str], str] = {}
    edited: list[tuple[tuple[str, str], str, str]] = []
    for number, record in read_json_lines(path):
        question_id, question, passage = (
            string_of(record, (name,), path, number) for name in ("QuestionID", "sentence2", "sentence1")
        )
        asked = str(record.get("PassageID")), question_id
        which = record.get("PassageEditID")
        if which not in range(1 + len(EDITS)):
            raise MalformedRecordError.at(
                path, number, expected=f"a PassageEditID from 0 to {len(EDITS)}", seen=repr(which)
            )
        if which == 0:
            passages[asked] = passage
        elif which == wanted:
            edited.append((asked, question, passage))
    for asked, question, passage in edited:
        if asked in passages:
            passage_id, question_id = asked
            yield Pair(
                f"condaqa-{split}-{passage_id}-{question_id}-{edit}",
                passages[asked],
                passage,
                query=question,
                facts={"source": {"passage": passage_id, "question": question_id}},
            )
