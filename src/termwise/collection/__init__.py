"""Readers of collections, queries, judgments and runs; collection statistics."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.collection.clicks import read_clicks
    from termwise.collection.file_collections import JsonLinesCollection, TabSeparatedCollection
    from termwise.collection.lines import read_json_lines, read_lines
    from termwise.collection.openers import Collection, open_collection
    from termwise.collection.python_questions import PythonQuestions
    from termwise.collection.qrels import read_qrels, read_seeds
    from termwise.collection.queries import read_queries
    from termwise.collection.runs import read_run, write_run
    from termwise.collection.statistics import CollectionStatistics, EstimatedStatistics, OpenStatistics
    from termwise.collection.word_vectors import WordTable, read_word_vectors
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "clicks": "read_clicks",
            "file_collections": "JsonLinesCollection TabSeparatedCollection",
            "lines": "read_json_lines read_lines",
            "openers": "Collection open_collection",
            "python_questions": "PythonQuestions",
            "qrels": "read_qrels read_seeds",
            "queries": "read_queries",
            "runs": "read_run write_run",
            "statistics": "CollectionStatistics EstimatedStatistics OpenStatistics",
            "word_vectors": "WordTable read_word_vectors",
        },
    )

__all__ = [
    "Collection",
    "CollectionStatistics",
    "EstimatedStatistics",
    "JsonLinesCollection",
    "OpenStatistics",
    "PythonQuestions",
    "TabSeparatedCollection",
    "WordTable",
    "open_collection",
    "read_clicks",
    "read_json_lines",
    "read_lines",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_seeds",
    "read_word_vectors",
    "write_run",
]
