"""Natural Questions with passages of Wikipedia, as DPR publishes them (Karpukhin et al., EMNLP 2020).

A file is a JSON array of questions, as ``biencoder-nq-train.json``; only its ``positive_ctxs`` are used. It is read as
a stream, more than once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from termwise.collection import read_json_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.answer_swaps import KINDS, Answers, Question, SwapProbe
from termwise.probes.sources.transfer.arrays import read_json_array
from termwise.probes.sources.transfer.files import any_of
from termwise.probes.sources.transfer.pair_files import digest_of

_PATTERNS = ("*nq-train.json", "*nq-train.jsonl", "*nq-dev.json", "*nq-dev.jsonl")


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the rows of all kinds of answers."""
    (path, *_) = any_of(folder, "Natural Questions with passages", _PATTERNS)
    answers = Answers(lambda: _questions(path), material.language, material.stop_words)
    return [
        SwapProbe(f"factuality-{name}@nq", f"Factuality NQ: {title}", answers, label)
        for label, (name, title) in KINDS.items()
    ]


def _questions(path: Path) -> Iterator[Question]:
    seen: set[str] = set()
    records = read_json_lines(path) if ".jsonl" in path.suffixes else read_json_array(path)
    for number, record in records:
        text, answers = record.get("question"), record.get("answers", ())
        passages = record.get("positive_ctxs", ())
        if not isinstance(text, str) or not _all(answers, str) or not _all(passages, Mapping):
            raise MalformedRecordError.at(
                path, number, expected="question, answers and positive_ctxs", seen=", ".join(record)
            )
        question_id = f"nq-{digest_of(text)}"
        if question_id not in seen:
            seen.add(question_id)
            yield Question(question_id, text, tuple(answers), tuple(_passages(passages).items()))


def _passages(found: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    passages: dict[str, str] = {}
    for one in found:
        text = str(one.get("text", ""))
        passages[str(one.get("passage_id") or one.get("psg_id") or digest_of(text))] = text
    return passages


def _all(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)
