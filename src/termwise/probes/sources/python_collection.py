"""Judged collection that is always available: the documentation of the running Python, with shipped questions."""

from __future__ import annotations

from termwise.collection import PythonQuestions, open_collection
from termwise.probes.core.judged_texts import JudgedTexts


def python_judged() -> JudgedTexts:
    """Return the judged part of ``python:stdlib``, which has no document judged not relevant."""
    texts = {document.doc_id: document.text for document in open_collection("python:stdlib").documents()}
    questions = PythonQuestions.load(texts)
    grades: dict[str, dict[str, int]] = {}
    for qrel in questions.qrels:
        grades.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    queries = {query.query_id: query.text for query in questions.queries if query.query_id in grades}
    doc_ids = sorted({doc_id for judgments in grades.values() for doc_id in judgments})
    return JudgedTexts("python", queries, {doc_id: texts[doc_id] for doc_id in doc_ids}, grades, 0)
