"""``ir_datasets:ID``: a tiny dataset of the same shape, and a system without the package."""

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from termwise.collection import Collection, open_collection, read_qrels, read_queries
from termwise.errors import DataError, DuplicateIdError, MissingExtraError, ParameterError, UnknownNameError
from termwise.records import Document, Qrel, Query

ir_datasets = pytest.importorskip("ir_datasets")


class Paper(NamedTuple):
    doc_id: str
    title: str
    abstract: str
    year: int

    def default_text(self) -> str:
        return f"{self.title} {self.abstract}"


class Page(NamedTuple):
    doc_id: str
    title: str
    body: str


class Odd(NamedTuple):
    doc_id: str
    headline: str


class Topic(NamedTuple):
    query_id: str
    title: str
    description: str


class Docs(ir_datasets.formats.BaseDocs):  # type: ignore[misc]
    def __init__(self, *records: Any, count: int | None = None) -> None:
        self.records, self.count = records, count

    def docs_iter(self) -> Iterator[Any]:
        return iter(self.records)

    def docs_cls(self) -> type:
        return type(self.records[0])

    def docs_count(self) -> int | None:
        if self.count is None:
            raise NotImplementedError
        return self.count


class Broken(Docs):
    def docs_iter(self) -> Iterator[Any]:
        yield self.records[0]
        raise ConnectionError("no network")


class Queries(ir_datasets.formats.BaseQueries):  # type: ignore[misc]
    def queries_iter(self) -> Iterator[Any]:
        return iter([Topic("1", "wing", "flutter of wings")])

    def queries_cls(self) -> type:
        return Topic


class Qrels(ir_datasets.formats.BaseQrels):  # type: ignore[misc]
    def __init__(self, *records: tuple[str, str, int, str]) -> None:
        self.records = records

    def qrels_iter(self) -> Iterator[Any]:
        return (ir_datasets.formats.TrecQrel(*record) for record in self.records)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a registry of our own in place of the real one, which downloads."""
    datasets = {
        "tiny": [
            Docs(Paper("a", "T", "one", 1999), Paper("b", "", "two", 2000), count=2),
            Queries(),
            Qrels(("1", "a", 2, "0"), ("1", "b", 0, "4.5")),
        ],
        "pages": [Docs(Page("a", "T", "x"))],
        "odd": [Docs(Odd("a", "x"))],
        "broken": [Broken(Page("a", "T", "x"))],
        "contradicting": [Qrels(("1", "a", 2, "0"), ("1", "a", 0, "0"))],
    }
    registry = {name: ir_datasets.Dataset(*parts) for name, parts in datasets.items()}
    monkeypatch.setattr(ir_datasets, "registry", registry)


def test_documents_and_length() -> None:
    collection = open_collection("ir_datasets:tiny")
    assert isinstance(collection, Collection)
    assert (collection.name, collection.length) == ("ir_datasets:tiny", 2)
    assert list(collection.documents()) == [Document("a", "T one"), Document("b", "two")]
    assert list(collection.documents()) == list(collection.documents())


def test_length_that_is_not_known() -> None:
    assert open_collection("ir_datasets:pages").length is None


def test_default_text_without_the_dataset_saying() -> None:
    assert list(open_collection("ir_datasets:pages").documents()) == [Document.of_texts("a", ["T", "x"])]


def test_fields() -> None:
    collection = open_collection("ir_datasets:tiny", fields=("abstract", "title"))
    assert [document.text for document in collection.documents()] == ["one\nT", "two"]
    with pytest.raises(UnknownNameError) as error:
        open_collection("ir_datasets:tiny", fields=("abstrct",))
    assert error.value.fixes == ("did you mean abstract?",)


@pytest.mark.parametrize(("spec", "fields"), [("ir_datasets:odd", None), ("ir_datasets:tiny", ("year",))])
def test_texts_that_are_not_known_or_not_text(spec: str, fields: tuple[str, ...] | None) -> None:
    with pytest.raises(ParameterError):
        list(open_collection(spec, fields=fields).documents())


def test_queries() -> None:
    assert list(read_queries("ir_datasets:tiny")) == [Query("1", "wing")]
    found = list(read_queries("ir_datasets:tiny", fields=("description", "title")))
    assert found == [Query("1", "flutter of wings wing")]


def test_qrels() -> None:
    assert read_qrels("ir_datasets:tiny") == [Qrel("1", "a", 2), Qrel("1", "b", 0, "4.5")]
    with pytest.raises(DuplicateIdError):
        read_qrels("ir_datasets:contradicting")


def test_parts_that_a_dataset_lacks() -> None:
    with pytest.raises(DataError, match="no queries"):
        read_queries("ir_datasets:pages")
    with pytest.raises(DataError, match="no docs"):
        open_collection("ir_datasets:contradicting")


def test_unknown_dataset() -> None:
    with pytest.raises(UnknownNameError) as error:
        open_collection("ir_datasets:tinny")
    assert error.value.fixes_worded()[0] == "did you mean tiny?"


def test_failing_download() -> None:
    documents = open_collection("ir_datasets:broken").documents()
    assert next(documents).doc_id == "a"
    with pytest.raises(DataError) as error:
        next(documents)
    assert dict(error.value.facts)["reason"] == "ConnectionError: no network"


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    for call in (open_collection, read_queries, read_qrels):
        with pytest.raises(MissingExtraError) as error:
            call("ir_datasets:tiny")
        assert error.value.exit_code == 4
        assert error.value.fixes == ("pip install 'termwise[datasets]'",)
