"""Shipped questions about the standard library, with judgments."""

from __future__ import annotations

from termwise.collection.python_docs import python_folder
from termwise.collection.qrels import read_qrels
from termwise.collection.queries import read_queries
from termwise.fast_dataclass import dataclass
from termwise.records import Qrel, Query


@dataclass(frozen=True)
class PythonQuestions:
    """Shipped questions about the standard library, and judgments of documents of ``python:stdlib``.

    Attributes
    ----------
    queries : tuple of Query
        The questions; each has a judgment.
    qrels : tuple of Qrel
        The judgments; relevance 1 or 2.
    """

    queries: tuple[Query, ...]
    qrels: tuple[Qrel, ...]

    @classmethod
    def load(cls) -> PythonQuestions:
        """Read the shipped files.

        Examples
        --------
        >>> questions = PythonQuestions.load()
        >>> len(questions.queries), len(questions.qrels)
        (130, 640)
        """
        folder = python_folder()
        return cls(
            tuple(read_queries(folder / "queries.jsonl")), tuple(read_qrels(folder / "qrels" / "test.tsv"))
        )
