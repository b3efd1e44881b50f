"""The judged collection that is always there: the questions that ship, and the documentation of the running Python."""

from __future__ import annotations

from termwise.collection import PythonQuestions, open_collection
from termwise.probes.core.judged_texts import JudgedTexts

NAME = "python"


def python_judged() -> JudgedTexts:
    """Return the judged part of ``python:stdlib``; nothing of it is judged not relevant."""
    texts = {document.doc_id: document.text for document in open_collection("python:stdlib").documents()}
    questions = PythonQuestions.load(texts)
    grades: dict[str, dict[str, int]] = {}
    for qrel in questions.qrels:
        grades.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    queries = {query.query_id: query.text for query in questions.queries if query.query_id in grades}
    judged = {doc_id for of_query in grades.values() for doc_id in of_query}
    return JudgedTexts(NAME, queries, {doc_id: texts[doc_id] for doc_id in sorted(judged)}, grades, 0)
