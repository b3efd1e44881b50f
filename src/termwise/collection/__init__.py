"""Readers: collections, queries, judgments, runs, and statistics in one pass."""

from termwise.collection.file_collections import JsonLinesCollection, TabSeparatedCollection
from termwise.collection.lines import read_json_lines, read_lines
from termwise.collection.open_statistics import OpenStatistics
from termwise.collection.openers import open_collection
from termwise.collection.protocol import Collection
from termwise.collection.python_docs import PythonDocumentation
from termwise.collection.python_questions import PythonQuestions
from termwise.collection.qrels import read_qrels, write_qrels
from termwise.collection.queries import read_queries
from termwise.collection.runs import read_run, write_run
from termwise.collection.seeds import read_seeds
from termwise.collection.statistics import CollectionStatistics
from termwise.collection.word_vectors import WordTable, read_word_vectors

__all__ = [
    "Collection",
    "CollectionStatistics",
    "JsonLinesCollection",
    "OpenStatistics",
    "PythonDocumentation",
    "PythonQuestions",
    "TabSeparatedCollection",
    "WordTable",
    "open_collection",
    "read_json_lines",
    "read_lines",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_seeds",
    "read_word_vectors",
    "write_qrels",
    "write_run",
]


def __dir__() -> list[str]:
    return __all__
