"""Fixtures of the tests of adapters."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import termwise
from termwise.collection import PythonQuestions


class Judged(NamedTuple):
    documents: list[termwise.Document]
    queries: list[termwise.Query]
    qrels: list[termwise.Qrel]


@pytest.fixture(scope="session")
def judged() -> Judged:
    """Part of the shipped documentation of Python: all judged documents and every tenth other one; 130 questions."""
    questions = PythonQuestions.load()
    needed = {qrel.doc_id for qrel in questions.qrels}
    documents = [
        document
        for number, document in enumerate(termwise.open_collection("python:stdlib").documents())
        if number % 10 == 0 or document.doc_id in needed
    ]
    return Judged(documents, list(questions.queries), list(questions.qrels))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run coroutines with asyncio."""
    return "asyncio"
