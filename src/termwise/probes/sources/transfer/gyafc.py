"""GYAFC: answers of a forum, written again more or less formally by four people (Rao & Tetreault, NAACL 2018).

The first text is the formal one, whichever of the two was written first. The query is the title of the question that
was answered, if it shares a lemma with both. The corpus does not name that question: files ``formal.qids`` and
``informal.qids`` beside the texts do, a line for each text, with ``_`` where it is unknown. Titles are read from a file
``questions.tsv`` (identifier, tab, title), or from the two XML files of Yahoo! Answers L6, whose questions are called
``12345-q``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from termwise.collection import read_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import Probe, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.sources.transfer.files import any_of, chosen
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.pair_files import parallel_lines
from termwise.probes.sources.transfer.probe import TransferProbe
from termwise.probes.sources.transfer.queries import SharedLemma

_DEFINITION = define_pair("an answer in a forum, worded formally", "the answer, worded informally")

GENRES = {"Entertainment_Music": "entertainment", "Family_Relationships": "family"}
REFERENCES = 4
UNKNOWN = "_"

_URI = re.compile(r"<uri>(.*?)</uri>", re.DOTALL)
_SUBJECT = re.compile(r"<subject>(.*?)</subject>", re.DOTALL)
_WRITTEN = (("formal", "informal"), ("informal", "formal"))


def probes(folder: Path, material: ProbeInputs) -> list[Probe]:
    """Make the row of both genres, and one for each."""
    corpus = _Corpus(folder)
    asking = SharedLemma(material.language, material.stop_words)
    rows: list[Probe] = [
        TransferProbe("formality@gyafc", "Formality GYAFC", corpus.pairs, asking, definition=_DEFINITION)
    ]
    for genre, name in GENRES.items():
        read = _OfGenre(corpus, genre)
        rows.append(
            TransferProbe(
                f"formality-{name}@gyafc", f"Formality GYAFC {name}", read, asking, definition=_DEFINITION
            )
        )
    return rows


class _OfGenre:
    def __init__(self, corpus: _Corpus, genre: str) -> None:
        self._corpus, self._genre = corpus, genre

    def __call__(self) -> Iterator[Pair]:
        return (pair for pair in self._corpus.pairs() if pair.facts["source"]["genre"] == self._genre)


class _Corpus:
    """The files; titles of questions are read when they are first needed."""

    def __init__(self, folder: Path) -> None:
        parts = {
            f"{genre}/{split}/{written}": [
                f"{genre}/{split}/{name}"
                for name in (
                    f"{written}.qids",
                    written,
                    *(f"{other}.ref{number}" for number in range(REFERENCES)),
                )
            ]
            for genre in GENRES
            for split in ("tune", "test")
            for written, other in _WRITTEN
        }
        _, self._files = chosen(folder, "GYAFC", {"original": parts})
        self._questions = any_of(folder, "the questions of GYAFC", ("questions.tsv", "FullOct2007.xml*"))

    def pairs(self) -> Iterator[Pair]:
        for part, paths in self._files.items():
            genre, split, written = part.split("/")
            for line, (question, text, *others) in parallel_lines(paths):
                if question == UNKNOWN or question not in self._titles:
                    continue
                for reference, other in enumerate(others):
                    formal, informal = (text, other) if written == "formal" else (other, text)
                    source = {
                        "genre": genre,
                        "split": split,
                        "written": written,
                        "line": line,
                        "ref": reference,
                    }
                    yield Pair(
                        f"gyafc-{genre}-{split}-{written}-{line}-{reference}",
                        formal,
                        informal,
                        query=self._titles[question],
                        group=question,
                        facts={"source": source},
                    )

    @cached_property
    def _titles(self) -> dict[str, str]:
        wanted = {
            question for paths in self._files.values() for _, (question, *_) in parallel_lines(paths)
        } - {UNKNOWN}
        titles: dict[str, str] = {}
        for path in self._questions:
            read = _from_columns if path.name.startswith("questions.tsv") else _from_xml
            titles.update((question, title) for question, title in read(path) if question in wanted)
        return titles


def _from_columns(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in read_lines(path):
        question, tab, title = line.partition("\t")
        if not tab:
            raise MalformedRecordError.at(
                path, number, expected="an identifier, a tab and a title", seen=line
            )
        yield question, title.strip()


def _from_xml(path: Path) -> Iterator[tuple[str, str]]:
    record = ""
    for _, line in read_lines(path):
        if record or "<vespaadd>" in line:
            record += f"{line}\n"
        if "</vespaadd>" in line:
            uri, subject = _URI.search(record), _SUBJECT.search(record)
            if uri and subject:
                title = html.unescape(subject[1]).replace("<br />", "\n")
                yield f"{uri[1].strip()}-q", title.strip()
            record = ""
