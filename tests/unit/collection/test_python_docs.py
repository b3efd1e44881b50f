"""``python:stdlib``: the shipped documents, questions and judgments."""

import pytest

from termwise.collection import Collection, PythonQuestions, open_collection
from termwise.records import Document


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return list(open_collection("python:stdlib").documents())


def test_collection(documents: list[Document]) -> None:
    collection = open_collection("python:stdlib")
    assert isinstance(collection, Collection)
    assert collection.name == "python:stdlib"
    assert len(documents) == len({document.doc_id for document in documents}) == 11_332


@pytest.mark.parametrize(
    ("name", "first_line"),
    [
        ("heapq.merge", "heapq.merge(*iterables, key=None, reverse=False)"),
        ("builtins.sorted", "builtins.sorted(iterable, /, *, key=None, reverse=False)"),
        ("builtins.str.split", "builtins.str.split(sep=None, maxsplit=-1)"),
        ("os.path.join", "os.path.join(a, *p)"),
        ("json", "json"),
        ("builtins.str.maketrans", "builtins.str.maketrans"),
    ],
)
def test_first_lines(documents: list[Document], name: str, first_line: str) -> None:
    (text,) = (document.text for document in documents if document.doc_id == name)
    assert text.split("\n")[0] == first_line


def test_every_question_is_judged_and_every_judged_document_exists(documents: list[Document]) -> None:
    questions = PythonQuestions.load()
    assert len(questions.queries) == 130
    assert {qrel.doc_id for qrel in questions.qrels} <= {document.doc_id for document in documents}
    assert {qrel.query_id for qrel in questions.qrels} == {query.query_id for query in questions.queries}
    assert {qrel.relevance for qrel in questions.qrels} == {1, 2}


def test_the_folder_is_a_collection_in_beir_layout(documents: list[Document]) -> None:
    from termwise.collection.python_docs import python_folder

    assert list(open_collection(python_folder()).documents()) == documents
