"""Data sets of negation: SemAntoNeg, WikiFactCheck, CondaQA and NevIR.

=============  =======================================================================================================
SemAntoNeg     Sentences with one of the same meaning, expressed by a negated antonym, and two of the opposite meaning,
               which share more words with the query (Vahtola, Creutz & Tiedemann, BlackboxNLP 2022)
WikiFactCheck  Claims from Wikipedia, and edits by people that make the claims refuted (Sathe et al., LREC 2020), in
               the selection of the CANNOT data set
CondaQA        Passages with a negation, three edits of each, and questions on them (Ravichander, Gardner & Marasović,
               EMNLP 2022). Symmetric: a good ranker separates texts more often if the edit changes the meaning. A
               question makes a pair with each edit that it is asked about
NevIR          Two passages that differ by a negation, and two queries that only one of them answers (Weller, Lawrie &
               Van Durme, EACL 2024). The published figure is the share of items with both queries right: ``consistent``
               in a report, with a δ of 0
=============  =======================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import define_pair
from termwise.probes.sources.transfer.pair_files import is_list, read_pairs, read_table, string_of, strings_of
from termwise.probes.sources.transfer.pairs import TextPair, common_chunk, given_queries
from termwise.probes.sources.transfer.probe import (
    Layout,
    PairDataSet,
    PairProbe,
    by_layout,
    by_pattern,
    pair_layout,
)
from termwise.validation import is_integer


def _semantoneg(part: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
    for line, record in read_json_lines(paths[0]):
        query = string_of(record, ("input",), paths[0], line)
        sentences, label, item = (record.get(name) for name in ("sentences", "label", "idx"))
        if not is_list(sentences, str) or not is_integer(label) or not 0 <= label < len(sentences):
            raise MalformedRecordError.at(
                paths[0],
                line,
                expected="sentences, and as label the place of one of them",
                seen=f"sentences: {sentences!r}, label: {label!r}",
            )
        for position, other in enumerate(sentences[:label] + sentences[label + 1 :]):
            facts = {"source": {"idx": item, "distractor": position}}
            yield TextPair(f"semantoneg-{item}-{position}", sentences[label], other, query=query, facts=facts)


SEMANTONEG = PairDataSet(
    by_layout(
        "SemAntoNeg",
        pair_layout("pairs"),
        Layout("original", {"all": ["SemAntoNeg.json"]}, _semantoneg),
        Layout("version 1.0", {"all": ["SemAntoNeg_v1.0.json"]}, _semantoneg),
    ),
    given_queries,
    (
        PairProbe(
            "negation@semantoneg",
            "Negation SemAntoNeg",
            define_pair(
                "a sentence with the meaning of the query in other words",
                "a sentence with the opposite meaning",
            ),
        ),
    ),
)


def _wikifactcheck(path: Path, variant: str) -> Iterator[TextPair]:
    if ".tsv" not in path.suffixes:
        yield from read_pairs(path)
        return
    part = path.name.partition(".")[0].rpartition("_")[2]
    rows = read_table(path, ("sentence", "negated"), tabs=True)
    for position, (line, row) in enumerate(rows):
        facts = {"source": {"part": part, "line": line}}
        yield TextPair(f"wfc-{part}-{position}", row["sentence"], row["negated"], facts=facts)


WIKIFACTCHECK = PairDataSet(
    by_pattern(
        "the claims of WikiFactCheck",
        ("wikifactcheck_claim_vs_refuted.jsonl", "wikifactcheck_english_*.tsv"),
        _wikifactcheck,
    ),
    common_chunk,
    (
        PairProbe(
            "negation-claim@wikifactcheck",
            "Negation WikiFactCheck: claim against refuted claim",
            define_pair("a supported claim", "the claim after an edit that makes it refuted"),
        ),
    ),
)

_EDITS = ("paraphrase", "scope", "affirmative")
"""Edits of passages in the order of ``PassageEditID``, 0 being the original. Only the first keeps the meaning."""


def _condaqa_pairs(split: str, paths: Sequence[Path], edit: str) -> Iterator[TextPair]:
    return read_pairs(paths[0], keep=lambda record: record.get("edit") == edit)


def _condaqa(split: str, paths: Sequence[Path], edit: str) -> Iterator[TextPair]:
    (path,) = paths
    originals: dict[tuple[str, str], str] = {}
    edited: list[tuple[tuple[str, str], str, str]] = []
    for line, record in read_json_lines(path):
        question_id, question, passage = strings_of(
            record, ("QuestionID", "sentence2", "sentence1"), path, line
        )
        key = str(record.get("PassageID")), question_id
        number = record.get("PassageEditID")
        if number not in range(1 + len(_EDITS)):
            expected = f"a PassageEditID from 0 to {len(_EDITS)}"
            raise MalformedRecordError.at(path, line, expected=expected, seen=repr(number))
        if number == 0:
            originals[key] = passage
        elif number == 1 + _EDITS.index(edit):
            edited.append((key, question, passage))
    for (passage_id, question_id), question, passage in edited:
        if (passage_id, question_id) in originals:
            yield TextPair(
                f"condaqa-{split}-{passage_id}-{question_id}-{edit}",
                originals[passage_id, question_id],
                passage,
                query=question,
                facts={"source": {"passage": passage_id, "question": question_id}},
            )


CONDAQA = PairDataSet(
    by_layout(
        "CondaQA",
        *(
            Layout(name, {split: [file.format(split)] for split in ("train", "dev", "test")}, read)
            for name, file, read in (
                ("pairs", "{}.jsonl", _condaqa_pairs),
                ("original", "condaqa_{}.json", _condaqa),
            )
        ),
    ),
    given_queries,
    tuple(
        PairProbe(
            f"negation-{edit}@condaqa",
            f"Negation CondaQA: {title}",
            f"A passage with a negation, and the passage {change}; neither comes first.",
            variant=edit,
            symmetric=True,
        )
        for edit, title, change in (
            ("paraphrase", "said in other words", "with the negation in other words"),
            ("scope", "scope changed", "with another scope of the negation"),
            ("affirmative", "taken back", "without the negation"),
        )
    ),
)

_NEVIR_FIELDS = ("q1", "q2", "doc1", "doc2")


def _nevir(path: Path, variant: str) -> Iterator[TextPair]:
    split = path.name.partition(".")[0]
    records = read_table(path, _NEVIR_FIELDS) if ".csv" in path.suffixes else read_json_lines(path)
    for line, record in records:
        first_query, second_query, first, second = strings_of(record, _NEVIR_FIELDS, path, line)
        item = f"nevir-{split}-{line}"
        facts = {"source": {"split": split, "line": line}}
        yield TextPair(f"{item}-1", first, second, query=first_query, group=item, facts=facts)
        yield TextPair(f"{item}-2", second, first, query=second_query, group=item, facts=facts)


NEVIR = PairDataSet(
    by_pattern("NevIR", ("*.csv", "*.jsonl"), _nevir),
    given_queries,
    (
        PairProbe(
            "negation@nevir",
            "Negation NevIR",
            define_pair(
                "a passage that answers the query",
                "the passage with a negation added or removed, so that it does not answer the query",
            ),
        ),
    ),
)
