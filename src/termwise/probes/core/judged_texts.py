"""What probes about real rankings are made of: queries, and texts that somebody judged for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from termwise.collection import open_collection, read_qrels, read_queries
from termwise.display.safe_text import shown
from termwise.errors import DataError, DuplicateIdError, UnknownIdError

_PLAIN = ("docs", "documents", "corpus", "collection", "passages")


class JudgedText(NamedTuple):
    """A text with its judgment for a query."""

    query_id: str
    query: str
    doc_id: str
    text: str
    grade: int

    @property
    def judgment_id(self) -> str:
        """Of the query and the text together: what samples of it are called."""
        return f"{self.query_id}/{self.doc_id}"


NOT_RELEVANT = "texts that were judged not relevant"
"""What some probes need, and many collections have not."""


@dataclass(frozen=True, eq=False)
class JudgedTexts:
    """A judged collection, as far as it has judgments.

    Attributes
    ----------
    name : str
        Of the collection, in the names of samples.
    queries : mapping of str to str
        Texts of queries, by identifier.
    texts : mapping of str to str
        Texts of documents, by identifier.
    grades : mapping of str to mapping of str to int
        By query and document. Every query and document here has a text.
    lowest : int
        The grade of what has nothing to do with a query: 0 mostly, 1 where grades begin there.

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
        """Yield every judgment, ordered by the identifiers of query and document."""
        for query_id in sorted(self.grades):
            yield from self.of(query_id)

    def __len__(self) -> int:
        return sum(map(len, self.grades.values()))

    def of(self, query_id: str) -> list[JudgedText]:
        """Return the judgments of one query, ordered by document."""
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
        lowest: int | None = None,
    ) -> JudgedTexts:
        """Read the judged part of a collection.

        Judgments of documents that the collection lacks, or of queries without text, are left out: published
        judgments often name more than a sample of a collection holds.

        Parameters
        ----------
        collection, queries, qrels : str or Path
            As `open_collection`, `read_queries` and `read_qrels` take them.
        name : str, optional
            By default that of the file or folder of the collection, see `name_of`.
        lowest : int, optional
            By default 0, or the smallest grade where that is larger.

        Raises
        ------
        DataError
            If no judgment is left.
        DuplicateIdError
            If two documents have an identifier that is judged.
        TermwiseError
            If a file cannot be read.
        """
        texts_of = {query.query_id: query.text for query in read_queries(queries)}
        wanted: dict[str, dict[str, int]] = {}
        for qrel in read_qrels(qrels):
            if qrel.query_id in texts_of:
                wanted.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
        judged = {doc_id for grades in wanted.values() for doc_id in grades}
        texts: dict[str, str] = {}
        for document in open_collection(collection).documents():
            if document.doc_id not in judged:
                continue
            if document.doc_id in texts:
                raise DuplicateIdError(
                    "two documents have one identifier, and judgments do not tell which is meant",
                    facts=[
                        ("collection", collection),
                        ("document", document.doc_id),
                        ("first", shown(texts[document.doc_id])),
                        ("second", shown(document.text)),
                    ],
                )
            texts[document.doc_id] = document.text
        grades = {
            query_id: found
            for query_id, of_query in wanted.items()
            if (found := {doc_id: grade for doc_id, grade in of_query.items() if doc_id in texts})
        }
        if not grades:
            raise DataError(
                "no judgment is about a document of this collection and one of these queries",
                facts=[("collection", collection), ("queries", queries), ("judgments", qrels)],
                fixes=["name the queries and judgments that belong to the collection"],
            )
        smallest = min(grade for of_query in grades.values() for grade in of_query.values())
        return cls(
            name=name_of(collection) if name is None else name,
            queries={query_id: texts_of[query_id] for query_id in grades},
            texts=texts,
            grades=grades,
            lowest=max(0, smallest) if lowest is None else lowest,
        )


def name_of(collection: str | Path) -> str:
    """Return a short name for a collection: that of its folder, where the file says only that it is one.

    Examples
    --------
    >>> name_of("data/antique/docs.jsonl.gz"), name_of("data/antique.tsv"), name_of("python:stdlib")
    ('antique', 'antique', 'python-stdlib')
    """
    path = Path(collection)
    stem = path.name.split(".")[0]
    if stem in _PLAIN and path.resolve().parent.name:
        return path.resolve().parent.name
    return re.sub(r"[^\w.-]+", "-", stem) or "collection"
