"""GYAFC: answers in a forum, rewritten more or less formally by four people (Rao & Tetreault, NAACL 2018).

The first text is the formal one, also if the informal text is the original. The query is the title of the answered
question if it shares a lemma with both texts. The corpus does not name the question. The question is read from files
``formal.qids`` and ``informal.qids`` beside the texts, with one line per text, ``_`` if unknown. Titles come from a
file ``questions.tsv`` (identifier, tab, title) or from the two XML files of Yahoo! Answers L6, whose identifiers have
the suffix ``-q``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from termwise.collection import read_lines
from termwise.errors import MalformedRecordError
from termwise.probes.core.probe import define_pair
from termwise.probes.sources.transfer.files import find_files, find_layout
from termwise.probes.sources.transfer.pair_files import parallel_lines
from termwise.probes.sources.transfer.pairs import TextPair, shared_lemma
from termwise.probes.sources.transfer.probe import PairDataSet, PairProbe

_GENRES = {"Entertainment_Music": "entertainment", "Family_Relationships": "family"}
_DIRECTIONS = (("formal", "informal"), ("informal", "formal"))
"""Style of the original, and of its rewritten versions."""
_DEFINITION = define_pair("an answer in a forum, in formal wording", "the same in informal wording")
_UNKNOWN = "_"
_URI = re.compile(r"<uri>(.*?)</uri>", re.DOTALL)
_SUBJECT = re.compile(r"<subject>(.*?)</subject>", re.DOTALL)


class _Corpus:
    """Files of the corpus; titles of questions are read on first use."""

    def __init__(self, folder: Path) -> None:
        parts = {
            f"{genre}/{split}/{style}": [
                f"{genre}/{split}/{name}"
                for name in (f"{style}.qids", style, *(f"{other}.ref{number}" for number in range(4)))
            ]
            for genre in _GENRES
            for split in ("tune", "test")
            for style, other in _DIRECTIONS
        }
        _, self._files = find_layout(folder, "GYAFC", {"original": parts})
        self._questions = find_files(folder, "the questions of GYAFC", ("questions.tsv", "FullOct2007.xml*"))

    def __call__(self, only: str) -> Iterator[TextPair]:
        """Yield the pairs of one genre, or all of them."""
        for part, paths in self._files.items():
            genre, split, style = part.split("/")
            if only and genre != only:
                continue
            for line, (question, text, *others) in parallel_lines(paths):
                if question == _UNKNOWN or question not in self._titles:
                    continue
                for reference, other in enumerate(others):
                    formal, informal = (text, other) if style == "formal" else (other, text)
                    source = {
                        "genre": genre,
                        "split": split,
                        "written": style,
                        "line": line,
                        "ref": reference,
                    }
                    yield TextPair(
                        f"gyafc-{genre}-{split}-{style}-{line}-{reference}",
                        formal,
                        informal,
                        query=self._titles[question],
                        group=question,
                        facts={"source": source},
                    )

    @cached_property
    def _titles(self) -> dict[str, str]:
        questions = {
            question for paths in self._files.values() for _, (question, *_) in parallel_lines(paths)
        } - {_UNKNOWN}
        titles: dict[str, str] = {}
        for path in self._questions:
            read = _titles_of_table if path.name.startswith("questions.tsv") else _titles_of_xml
            titles.update((question, title) for question, title in read(path) if question in questions)
        return titles


def _titles_of_table(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in read_lines(path):
        question, tab, title = line.partition("\t")
        if not tab:
            expected = "an identifier, a tab and a title"
            raise MalformedRecordError.at(path, number, expected=expected, seen=line)
        yield question, title.strip()


def _titles_of_xml(path: Path) -> Iterator[tuple[str, str]]:
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


GYAFC = PairDataSet(
    _Corpus,
    shared_lemma,
    (
        PairProbe("formality@gyafc", "Formality GYAFC", _DEFINITION),
        *(
            PairProbe(f"formality-{name}@gyafc", f"Formality GYAFC {name}", _DEFINITION, variant=genre)
            for genre, name in _GENRES.items()
        ),
    ),
)
