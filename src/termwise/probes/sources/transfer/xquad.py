"""XQuAD: questions on paragraphs of Wikipedia, with their answers (Artetxe et al., ACL 2020).

Files of ready pairs make one row. The questions themselves, as ``xquad.en.json`` or as ``qa.jsonl``, make a row for
each kind of answer, by the recipe of `termwise.probes.sources.transfer.answer_swaps`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.collection.lines import opened
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.answer_swaps import KINDS, Answers, Question, SwapProbe, knows_names
from termwise.probes.sources.transfer.files import chosen, found
from termwise.probes.sources.transfer.pair_files import read_pairs, string_of
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import GivenQuery

_FORMS = {
    "pairs": {"all": ["pairs.jsonl"]},
    "questions": {"all": ["qa.jsonl"]},
    "original": {"all": ["xquad.en.json"]},
}


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the rows for what is there; beside ready pairs, those of kinds only if the language knows names."""
    chosen(folder, "XQuAD", _FORMS)
    made: list[Probe] = []
    if (path := found(folder, "pairs.jsonl")) is not None:
        made.append(
            TransferProbe(
                "factuality@xquad",
                "Factuality XQuAD",
                partial(read_pairs, path),
                GivenQuery(),
                definition=define_pair(
                    "a paragraph that answers the question", "the paragraph with another answer in its place"
                ),
            )
        )
    if made and not knows_names(material.language):
        return made
    for name in ("xquad.en.json", "qa.jsonl"):
        if (path := found(folder, name)) is not None:
            read = partial(_original if name == "xquad.en.json" else _lines, path)
            answers = Answers(read, material.language, material.stop_words)
            made += [
                SwapProbe(f"factuality-{kind}@xquad", f"Factuality XQuAD: {title}", answers, label)
                for label, (kind, title) in KINDS.items()
            ]
            break
    return made


def _lines(path: Path) -> Iterator[Question]:
    for number, record in read_json_lines(path):
        question_id, text, context, answer = (
            string_of(record, (name,), path, number) for name in ("id", "question", "context", "answer")
        )
        passage = (str(record.get("context_id", "")), context)
        yield Question(f"xquad-{question_id}", text, (answer,), (passage,))


def _original(path: Path) -> Iterator[Question]:
    with opened(path) as stream:
        raw = stream.read()
    try:
        articles = json.loads(raw)["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        for place, paragraph in enumerate(paragraphs):
            for asked in paragraph["qas"]:
                answers = tuple(dict.fromkeys(answer["text"] for answer in asked["answers"]))
                passage = (str(place), paragraph["context"])
                yield Question(f"xquad-{asked['id']}", asked["question"], answers, (passage,))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MalformedRecordError.at(
            path, 1, expected="JSON in the form of SQuAD", seen=f"{type(error).__name__}: {error}"
        ) from error
