"""Shipped questions about the standard library, with judgments."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from importlib.resources import as_file, files

from termwise.collection.qrels import read_qrels
from termwise.collection.queries import read_queries
from termwise.records import Qrel, Query


@dataclass(frozen=True)
class PythonQuestions:
    """Questions, and their judgments for a collection.

    Attributes
    ----------
    queries : tuple of Query
        All shipped questions, including those without remaining judgments.
    qrels : tuple of Qrel
        Judgments of documents of the collection; relevance 1 or 2.
    dropped : tuple of Qrel
        Judgments of documents that this version of Python lacks. Results with different dropped judgments are not
        exactly comparable.
    """

    queries: tuple[Query, ...]
    qrels: tuple[Qrel, ...]
    dropped: tuple[Qrel, ...]

    @classmethod
    def load(cls, doc_ids: Container[str]) -> PythonQuestions:
        """Read the shipped files and keep the judgments of documents in `doc_ids`.

        Parameters
        ----------
        doc_ids : container of str
            Document identifiers of ``python:stdlib`` in the running Python.

        Examples
        --------
        >>> questions = PythonQuestions.load({"heapq.merge"})
        >>> {qrel.doc_id for qrel in questions.qrels}
        {'heapq.merge'}
        >>> len(questions.qrels) + len(questions.dropped) > 500
        True
        """
        folder = files("termwise") / "assets" / "python_questions"
        with as_file(folder / "queries.jsonl") as path:
            queries = tuple(read_queries(path))
        with as_file(folder / "qrels.tsv") as path:
            judged = read_qrels(path)
        return cls(
            queries,
            tuple(qrel for qrel in judged if qrel.doc_id in doc_ids),
            tuple(qrel for qrel in judged if qrel.doc_id not in doc_ids),
        )
