"""Judged collections: queries, and texts with relevance grades."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from termwise.collection import PythonQuestions, open_collection, read_qrels, read_queries
from termwise.collection.python_docs import PYTHON
from termwise.display.safe_text import shown
from termwise.errors import DataError, DuplicateIdError, UnknownIdError
from termwise.fast_dataclass import dataclass

_GENERIC_NAMES = ("docs", "documents", "corpus", "collection", "passages")


class JudgedText(NamedTuple):
    """A text with its grade for a query."""

    query_id: str
    query: str
    doc_id: str
    text: str
    grade: int

    @property
    def judgment_id(self) -> str:
        """Identifier of query and text together, used in sample identifiers."""
        return f"{self.query_id}/{self.doc_id}"


NOT_RELEVANT = "texts that were judged not relevant"
"""Value of `Probe.needs` for probes that require texts without relevance."""


@dataclass(frozen=True, eq=False)
class JudgedTexts:
    """The judged part of a collection.

    Attributes
    ----------
    name : str
        Name of the collection, part of probe names.
    queries : mapping of str to str
        Texts of queries, by identifier.
    texts : mapping of str to str
        Texts of documents, by identifier.
    grades : mapping of str to mapping of str to int
        Grades by query and document.
    lowest : int
        The grade of texts that are not relevant: usually 0, or 1 if the grades start at 1.

    Examples
    --------
    >>> judged = JudgedTexts("toy", {"q": "cats"}, {"a": "A cat.", "b": "A dog."}, {"q": {"b": 0, "a": 2}}, 0)
    >>> [(one.doc_id, one.grade) for one in judged]
    [('a', 2), ('b', 0)]
    """

    name: str
    queries: Mapping[str, str]
    texts: Mapping[str, str]
    grades: Mapping[str, Mapping[str, int]]
    lowest: int

    def __post_init__(self) -> None:
        for query_id, judged in self.grades.items():
            if query_id not in self.queries:
                raise UnknownIdError("a judged query has no text", facts=[("query", query_id)])
            for doc_id in judged:
                if doc_id not in self.texts:
                    raise UnknownIdError(
                        "a judged document has no text", facts=[("query", query_id), ("document", doc_id)]
                    )

    def __iter__(self) -> Iterator[JudgedText]:
        """Yield every judged text, ordered by query and document identifiers."""
        for query_id in sorted(self.grades):
            yield from self.of(query_id)

    def __len__(self) -> int:
        return sum(map(len, self.grades.values()))

    def of(self, query_id: str) -> list[JudgedText]:
        """Return the judged texts of one query, ordered by document identifier."""
        grades = self.grades[query_id]
        return [
            JudgedText(query_id, self.queries[query_id], doc_id, self.texts[doc_id], grades[doc_id])
            for doc_id in sorted(grades)
        ]

    @classmethod
    def read(
        cls,
        collection: str | Path,
        queries: str | Path,
        qrels: str | Path,
        *,
        name: str | None = None,
        fields: Sequence[str] | None = None,
    ) -> JudgedTexts:
        """Read the judged part of a collection; its name is `collection_name` by default.

        `fields` are the fields of the texts that were judged; by default those of `open_collection`.

        Judgments of unknown documents and unknown queries are ignored, because published judgments often cover more
        than a sample of a collection. See `open_collection`, `read_queries` and `read_qrels`.

        Raises
        ------
        DataError
            If no judgment has both a query and a document.
        DuplicateIdError
            If two documents have the same judged identifier.
        TermwiseError
            If a file cannot be read.
        """
        texts_of = {query.query_id: query.text for query in read_queries(queries)}
        all_grades: dict[str, dict[str, int]] = {}
        for qrel in read_qrels(qrels):
            if qrel.query_id in texts_of:
                all_grades.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
        judged = {doc_id for grades in all_grades.values() for doc_id in grades}
        texts: dict[str, str] = {}
        for document in open_collection(collection, fields=fields).documents():
            if document.doc_id not in judged:
                continue
            if document.doc_id in texts:
                raise DuplicateIdError(
                    "two judged documents have the same identifier",
                    facts=[
                        ("collection", collection),
                        ("document", document.doc_id),
                        ("first", shown(texts[document.doc_id])),
                        ("second", shown(document.text)),
                    ],
                )
            texts[document.doc_id] = document.text
        grades = {
            query_id: known
            for query_id, by_document in all_grades.items()
            if (known := {doc_id: grade for doc_id, grade in by_document.items() if doc_id in texts})
        }
        if not grades:
            raise DataError(
                "no judgment has both a query and a document of this collection",
                facts=[("collection", collection), ("queries", queries), ("judgments", qrels)],
                fixes=["name the queries and judgments that belong to the collection"],
            )
        smallest = min(grade for by_document in grades.values() for grade in by_document.values())
        return cls(
            name=collection_name(collection) if name is None else name,
            queries={query_id: texts_of[query_id] for query_id in grades},
            texts=texts,
            grades=grades,
            lowest=max(0, smallest),
        )


def collection_name(collection: str | Path) -> str:
    """Return a short name for a collection: the file name, or the folder name if the file name is generic.

    Examples
    --------
    >>> paths = "data/antique/docs.jsonl.gz", "data/antique.tsv", "python:stdlib"
    >>> [collection_name(path) for path in paths]
    ['antique', 'antique', 'python-stdlib']
    """
    path = Path(collection)
    stem = path.name.split(".")[0]
    if stem in _GENERIC_NAMES and path.resolve().parent.name:
        return path.resolve().parent.name
    return re.sub(r"[^\w.-]+", "-", stem) or "collection"


def python_judged() -> JudgedTexts:
    """Return the shipped documentation of Python with its questions; no document is judged not relevant."""
    texts = {document.doc_id: document.text for document in open_collection(PYTHON).documents()}
    questions = PythonQuestions.load()
    grades: dict[str, dict[str, int]] = {}
    for qrel in questions.qrels:
        grades.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    queries = {query.query_id: query.text for query in questions.queries}
    doc_ids = sorted({doc_id for judgments in grades.values() for doc_id in judgments})
    return JudgedTexts("python", queries, {doc_id: texts[doc_id] for doc_id in doc_ids}, grades, 0)
