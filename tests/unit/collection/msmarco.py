"""A miniature of the shape that ir_datasets gives msmarco-passage: passages without titles, and subsets over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest


class Passage(NamedTuple):
    doc_id: str
    text: str


class Asked(NamedTuple):
    query_id: str
    text: str


Subset = tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str, int, str]]]
"""Queries by identifier and text; judgments as in a file of TREC."""


def register(
    monkeypatch: pytest.MonkeyPatch, passages: Sequence[str], subsets: Mapping[str, Subset]
) -> list[int]:
    """Put the datasets ``msmarco-passage`` and its subsets in place of the real ones, which are downloaded.

    Returns
    -------
    list of int
        One entry for each time that the passages were read.
    """
    ir_datasets = pytest.importorskip("ir_datasets")
    read: list[int] = []

    class Docs(ir_datasets.formats.BaseDocs):  # type: ignore[misc]
        def docs_iter(self) -> Iterator[Any]:
            read.append(len(passages))
            return (Passage(str(i), text) for i, text in enumerate(passages))

        def docs_cls(self) -> type:
            return Passage

        def docs_count(self) -> int:
            return len(passages)

    class Queries(ir_datasets.formats.BaseQueries):  # type: ignore[misc]
        def __init__(self, given: Sequence[tuple[str, str]]) -> None:
            self.given = given

        def queries_iter(self) -> Iterator[Any]:
            return (Asked(*one) for one in self.given)

        def queries_cls(self) -> type:
            return Asked

    class Qrels(ir_datasets.formats.BaseQrels):  # type: ignore[misc]
        def __init__(self, given: Sequence[tuple[str, str, int, str]]) -> None:
            self.given = given

        def qrels_iter(self) -> Iterator[Any]:
            return (ir_datasets.formats.TrecQrel(*one) for one in self.given)

    docs = Docs()
    registry = {"msmarco-passage": ir_datasets.Dataset(docs)}
    for name, (queries, qrels) in subsets.items():
        registry[f"msmarco-passage/{name}"] = ir_datasets.Dataset(docs, Queries(queries), Qrels(qrels))
    monkeypatch.setattr(ir_datasets, "registry", registry)
    return read
