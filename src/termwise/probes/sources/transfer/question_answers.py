"""Data sets of questions with answers: Natural Questions, XQuAD and TruthfulQA.

=================  ===================================================================================================
Natural Questions  Questions with passages of Wikipedia as DPR publishes them (Karpukhin et al., EMNLP 2020), such as
                   ``biencoder-nq-train.json``; only ``positive_ctxs`` is used. The array is streamed, more than once
XQuAD              Questions on paragraphs of Wikipedia (Artetxe et al., ACL 2020), as ``xquad.en.json`` or ``qa.jsonl``
TruthfulQA         Questions with a true answer and common misconceptions (Lin et al., ACL 2022). False answers often
                   repeat words of the question, so that rankers that count words prefer them
=================  ===================================================================================================

For the first two, the right answer is replaced by another answer, see `termwise.probes.sources.transfer.answer_swaps`.
Ready pairs of XQuAD make one probe.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from termwise.collection import read_json_lines
from termwise.collection.lines import read_bytes
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.answer_swaps import (
    NAME_TYPES,
    AnsweredQuestion,
    AnswerPool,
    AnswerSwapProbe,
    finds_names,
)
from termwise.probes.sources.transfer.files import find_file, find_files, find_layout
from termwise.probes.sources.transfer.json_array import read_json_array
from termwise.probes.sources.transfer.pair_files import digest_of, is_list, read_pairs, read_table, strings_of
from termwise.probes.sources.transfer.pairs import TextPair, given_queries, given_query
from termwise.probes.sources.transfer.probe import (
    Layout,
    PairDataSet,
    PairProbe,
    TransferProbe,
    by_layout,
    pair_layout,
)

_NQ_FILES = ("*nq-train.json", "*nq-train.jsonl", "*nq-dev.json", "*nq-dev.jsonl")
_XQUAD = {
    "pairs": {"all": ["pairs.jsonl"]},
    "questions": {"all": ["qa.jsonl"]},
    "original": {"all": ["xquad.en.json"]},
}
_TRUTHFULQA_COLUMNS = ("Question", "Best Answer", "Incorrect Answers")


def _swap_probes(
    data_set: str, title: str, read: Callable[[], Iterable[AnsweredQuestion]], inputs: ProbeInputs
) -> list[Probe]:
    """Make a probe for each type of name."""
    answers = AnswerPool(read, inputs.language, inputs.stop_words)
    return [
        AnswerSwapProbe(
            f"factuality-{label.lower()}@{data_set}", f"Factuality {title}: {short}", answers, label
        )
        for label, short in NAME_TYPES.items()
    ]


def natural_questions(folder: Path, inputs: ProbeInputs) -> list[Probe]:
    """Make the probes of Natural Questions."""
    path = find_files(folder, "Natural Questions with passages", _NQ_FILES)[0]
    return _swap_probes("nq", "NQ", partial(_nq_questions, path), inputs)


def _nq_questions(path: Path) -> Iterator[AnsweredQuestion]:
    seen: set[str] = set()
    records = read_json_lines(path) if ".jsonl" in path.suffixes else read_json_array(path)
    for number, record in records:
        text, answers = record.get("question"), record.get("answers", ())
        contexts = record.get("positive_ctxs", ())
        if not isinstance(text, str) or not is_list(answers, str) or not is_list(contexts, dict):
            expected = "question, answers and positive_ctxs"
            raise MalformedRecordError.at(path, number, expected=expected, seen=", ".join(record))
        question_id = f"nq-{digest_of(text)}"
        if question_id not in seen:
            seen.add(question_id)
            yield AnsweredQuestion(question_id, text, tuple(answers), tuple(_passages(contexts).items()))


def _passages(contexts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    passages: dict[str, str] = {}
    for context in contexts:
        text = str(context.get("text", ""))
        passages[str(context.get("passage_id") or context.get("psg_id") or digest_of(text))] = text
    return passages


def xquad(folder: Path, inputs: ProbeInputs) -> list[Probe]:
    """Make the probes of XQuAD whose files exist.

    If there are ready pairs, answers are swapped only if the language finds names.
    """
    find_layout(folder, "XQuAD", _XQUAD)
    probes: list[Probe] = []
    if (path := find_file(folder, "pairs.jsonl")) is not None:
        definition = define_pair(
            "a paragraph that answers the question",
            "the paragraph with another answer in place of the right one",
        )
        description = PairProbe("factuality@xquad", "Factuality XQuAD", definition)
        probes.append(TransferProbe(description, partial(read_pairs, path), given_query))
        if not finds_names(inputs.language):
            return probes
    for name, reader in (("xquad.en.json", _squad_questions), ("qa.jsonl", _question_lines)):
        if (path := find_file(folder, name)) is not None:
            return [*probes, *_swap_probes("xquad", "XQuAD", partial(reader, path), inputs)]
    return probes


def _question_lines(path: Path) -> Iterator[AnsweredQuestion]:
    for line, record in read_json_lines(path):
        question_id, text, context, answer = strings_of(
            record, ("id", "question", "context", "answer"), path, line
        )
        passage = (str(record.get("context_id", "")), context)
        yield AnsweredQuestion(f"xquad-{question_id}", text, (answer,), (passage,))


def _squad_questions(path: Path) -> Iterator[AnsweredQuestion]:
    raw = read_bytes(path)
    try:
        articles = json.loads(raw)["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        for position, paragraph in enumerate(paragraphs):
            passage = (str(position), paragraph["context"])
            for question in paragraph["qas"]:
                answers = tuple(dict.fromkeys(answer["text"] for answer in question["answers"]))
                yield AnsweredQuestion(f"xquad-{question['id']}", question["question"], answers, (passage,))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        seen = f"{type(error).__name__}: {error}"
        raise MalformedRecordError.at(path, 1, expected="JSON in the SQuAD format", seen=seen) from error


def _truthfulqa(part: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    for row, (_, record) in enumerate(read_table(paths[0], _TRUTHFULQA_COLUMNS)):
        false_answers = [text.strip() for text in record["Incorrect Answers"].split(";") if text.strip()]
        for number, answer in enumerate(false_answers):
            yield TextPair(
                f"truthfulqa-{row}-{number}",
                record["Best Answer"].strip(),
                answer,
                query=record["Question"].strip(),
                facts={"source": {"row": row, "incorrect": number}},
            )


TRUTHFULQA = PairDataSet(
    by_layout(
        "TruthfulQA", pair_layout("pairs"), Layout("original", {"all": ["TruthfulQA.csv"]}, _truthfulqa)
    ),
    given_queries,
    (
        PairProbe(
            "factuality@truthfulqa",
            "Factuality TruthfulQA",
            define_pair("the best true answer to a question", "a false answer, a common misconception"),
        ),
    ),
)
