"""Qdrant: points with a sparse or dense vector for each part, and payload."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, BinaryIO, ClassVar, Literal, final

import numpy as np

from termwise.attributes import Schema
from termwise.attributes.dates import microseconds
from termwise.attributes.field_types import FieldType
from termwise.display.safe_text import shown
from termwise.errors import ParameterError
from termwise.export.conditions import FieldTest, field_test
from termwise.export.folder import ExportFolder
from termwise.export.scripts.ranked_lists import BIAS
from termwise.export.source import Batch, ExportSource
from termwise.export.target import (
    Statement,
    dense_parts,
    float_weights,
    json_line,
    pieces,
    refuse_negative_weights,
    sparse_parts,
    untested,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import And, Filter, Not, Or
from termwise.filters.expressions import Condition
from termwise.fixes import Fix
from termwise.index.reader import ImpactRows
from termwise.progress import Progress
from termwise.records import AttributeValue
from termwise.settings import TypedSettings

INDEXES: Mapping[FieldType, str] = {
    "boolean": "bool",
    "integer": "integer",
    "float": "float",
    "date": "integer",
    "keyword": "keyword",
    "keywords": "keyword",
}
"""Types of the indexes of attributes; dates are microseconds since 1970."""

NO_NAME_CHARACTERS = '<>:"/\\|?*'
"""Characters that the name of a collection does not have, nor control characters."""

EXACT = 1 << 53
"""Whole numbers below it are exact as a bound of a range, which is a float of 64 bits."""


@final
@dataclass(frozen=True, kw_only=True)
class Qdrant(TypedSettings):
    """Target ``qdrant``; `meanings` describes its settings."""

    name: ClassVar[str] = "qdrant"
    title: ClassVar[str] = "Qdrant"
    engine: ClassVar[str] = "qdrant.py"
    helpers: ClassVar[tuple[str, ...]] = ("ranked_lists.py",)
    extra: ClassVar[str] = "qdrant"
    called: ClassVar[str] = "setting of the target qdrant"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"candidates": (1, 1_000_000)}
    meanings: ClassVar[Mapping[str, str]] = {
        "collection": "name of the collection, without / and other characters that names of files lack",
        "fusion": (
            "exact fetches candidates of each part until no other document can be a result, and adds up in "
            "front of the engine; formula adds up in the engine, in one request, over a fixed number of "
            "candidates of each part"
        ),
        "candidates": "number of candidates of each part for formula",
    }

    collection: str = "termwise"
    fusion: Literal["exact", "formula"] = "exact"
    candidates: int = 1000

    def check(self, source: ExportSource) -> None:
        """Refuse negative weights, invalid collection names, and attribute names that no JSON path can express."""
        refuse_negative_weights(self.title, source)
        if not re.fullmatch(f"[^{re.escape(NO_NAME_CHARACTERS)}\x00-\x1f]{{1,255}}", self.collection):
            raise ParameterError(
                f"the name of a collection has 1 to 255 characters, and none of {NO_NAME_CHARACTERS}",
                facts=[("given", shown(self.collection))],
            )
        unnamed = [name for name in source.schema if '"' in name]
        if unnamed:
            raise ParameterError(
                "a path in the payload of Qdrant has no quotation mark, and the name of an attribute has one",
                facts=[("index", source.path), ("attributes", ", ".join(unnamed))],
                fixes=["build the index with other names of attributes"],
            )

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the collection, the points and templates of queries."""
        folder.write(
            "data/collection.json", json.dumps(_collection(source), ensure_ascii=False, indent=1) + "\n"
        )
        indexes = [{"field_name": "id", "field_schema": "keyword"}]
        indexes += [
            {"field_name": payload_path(name), "field_schema": INDEXES[kind]}
            for name, kind in source.schema.items()
        ]
        folder.write("data/payload_indexes.json", json.dumps(indexes, ensure_ascii=False, indent=1) + "\n")
        folder.write(
            "data/query.json", json.dumps(_query_template(source), ensure_ascii=False, indent=1) + "\n"
        )
        for number, _, batches in pieces(source, progress):
            name = f"data/points-{number:05}.jsonl"
            if not folder.finished(name):
                with folder.piece(name) as file:
                    for batch in batches:
                        _write_points(batch, source, file)

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write identifiers of rows that are deleted or replaced, and the points of new and changed ones."""
        with folder.piece(f"{at}/deleted.jsonl") as names, folder.piece(f"{at}/points.jsonl") as file:
            names.write("".join(map(json_line, deleted)).encode())
            for batch in rows:
                names.write("".join(map(json_line, batch.ids)).encode())
                _write_points(batch, source, file)

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return nothing: the settings are described already."""
        return {}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        found = [float_weights(source)]
        if dense_parts(source):
            found.append(
                Statement(
                    "vectors",
                    False,
                    "numbers and their products have 24 bits, so scores differ by about 1e-7 of the largest one; all "
                    "vectors are compared, without a graph",
                )
            )
        exact = self.fusion == "exact" or not (
            source.is_mixture or any(part.has_bias for part in source.parts)
        )
        found.append(
            Statement(
                "results",
                exact,
                "candidates of each part are fetched until no other document can be a result"
                if self.fusion == "exact"
                else f"the best {self.candidates:,} documents of each part are added up exactly; a document that is "
                "among those of no part is missing; in a mixture of 11,332 documents, as many candidates as results "
                "found 82 % of the first 10, and ten times as many found all",
            )
        )
        found.append(
            Statement(
                "order", True, "documents with equal scores are in the order of the index: engine.py sorts"
            )
        )
        if source.schema:
            found.append(
                Statement(
                    "attributes and filters",
                    True,
                    "dates are microseconds since 1970; refused are ranges of keywords, which Qdrant does not have, "
                    "and bounds of numbers beyond 2^53 and of dates before 1684 or after 2255",
                )
            )
        found.append(
            untested(
                self.title,
                "the tests run its files with Qdrant Edge and the local mode of qdrant-client, which have the same "
                "points and searches",
            )
        )
        return found

    def filter(self, filter: Filter, schema: Schema) -> dict[str, Any]:
        """Return a filter in the form of the REST interface."""
        return filter_json(filter, schema)


def payload_path(name: str) -> str:
    """Return the path of an attribute in the payload.

    Examples
    --------
    >>> payload_path("year"), payload_path("price in EUR")
    ('attributes.year', 'attributes."price in EUR"')
    """
    plain = name.isascii() and name.replace("_", "a").isalnum()
    return f"attributes.{name}" if plain else f'attributes."{name}"'


def filter_json(filter: Filter, schema: Schema) -> dict[str, Any]:
    """Return a filter in the form of the REST interface of Qdrant.

    Raises
    ------
    UnknownNameError, ParameterError
        As `termwise.filters.check_filter`; also for a range of keywords, and for bounds that a float of 64 bits rounds.

    Examples
    --------
    >>> from termwise.filters import parse_filter
    >>> schema = Schema({"year": "integer"})
    >>> filter_json(parse_filter("year >= 2020"), schema)
    {'should': [{'key': 'attributes.year', 'range': {'gte': 2020}}]}
    """
    if isinstance(filter, Condition):
        return _test_json(field_test(filter, schema))
    if isinstance(filter, Not):
        return {"must_not": [filter_json(filter.filter, schema)]}
    if isinstance(filter, And | Or):
        clause = "must" if isinstance(filter, And) else "should"
        return {clause: [filter_json(each, schema) for each in filter.filters]}
    raise ParameterError("this is no filter", facts=[("given", repr(filter))])


def _test_json(test: FieldTest) -> dict[str, Any]:
    key = payload_path(test.field)
    missing = {"is_empty": {"key": key}}
    if test.strings is not None:
        raise ParameterError(
            "Qdrant has no ranges of strings",
            facts=[("field", test.field)],
            fixes=["compare with =, != or in", "export to another engine, such as postgresql or milvus"],
        )
    if test.never and not test.excluded:
        return {"must": [missing], "must_not": [missing]}
    passed: list[dict[str, Any]] = []
    if test.kind == "boolean":
        passed = [{"key": key, "match": {"value": value}} for value in test.values]
    elif test.values:
        passed = [{"key": key, "match": {"any": list(test.values)}}]
    passed += [_interval_json(test, key, low, high) for low, high in test.intervals]
    if passed and not test.excluded:
        return {"should": passed}
    return {"must_not": [missing, *passed]}


def _interval_json(
    test: FieldTest, key: str, low: int | float | None, high: int | float | None
) -> dict[str, Any]:
    whole = test.kind != "float"
    if whole and low is not None and low == high:
        return {"key": key, "match": {"value": low}}
    bounds = {name: bound for name, bound in (("gte", low), ("lte", high)) if bound is not None}
    inexact = [bound for bound in bounds.values() if whole and abs(bound) >= EXACT]
    if inexact:
        raise ParameterError(
            "Qdrant compares ranges as floats of 64 bits, which round this bound",
            facts=[("field", test.field), ("type", test.kind), ("bound", inexact[0]), ("exact below", EXACT)],
            fixes=[Fix.sentence("leave the bound out, or choose one that is nearer to 0")],
        )
    if not bounds:
        return {"must_not": [{"is_empty": {"key": key}}]}
    return {"key": key, "range": bounds}


def _collection(source: ExportSource) -> dict[str, Any]:
    """Return the body of the request that makes the collection."""
    return {
        "vectors": {
            part.field: {
                "size": part.dimensions,
                "distance": "Dot",
                "datatype": "float32",
                "hnsw_config": {"m": 0},  # no graph: searches compare all vectors
                "multivector_config": {"comparator": "max_sim"},
            }
            for part in dense_parts(source)
        },
        "sparse_vectors": {part.field: {"index": {"datatype": "float32"}} for part in sparse_parts(source)},
    }


def _query_template(source: ExportSource) -> dict[str, Any]:
    """Return the body of a query that adds up in the engine; names in brackets are fields of the query kit."""
    found: list[Any] = []
    scored: list[Any] = []
    summands: list[Any] = []
    for part in source.parts:
        shared = {"using": part.field, "limit": 1000, "params": {"exact": True}}
        if part.kind == "dense":
            query: Any = f"<vector of {part.name}>"
            found.append({"query": query, **shared})
        else:
            query = {"indices": f"<numbers of {part.name}>", "values": f"<weights of {part.name}>"}
            found.append({"query": query, **shared})
            if part.has_bias:
                query = {
                    "indices": f"<numbers of {part.name}, {BIAS}>",
                    "values": f"<weights of {part.name}, background of {part.name}>",
                }
        scored.append({"prefetch": found, "query": query, **shared, "limit": 1000 * len(source.parts)})
        summands.append({"mult": [f"<coefficient of {part.name}>", f"$score[{len(summands)}]"]})
    return {
        "prefetch": scored,
        "query": {"formula": {"sum": [*summands, "<constant>"]}},
        "limit": 10,
        "with_payload": ["doc_id"],
    }


def _write_points(batch: Batch, source: ExportSource, file: BinaryIO) -> None:
    vectors: list[dict[str, Any]] = [{} for _ in range(len(batch))]
    for part, found in zip(source.parts, batch.rows, strict=True):
        starts = found.indptr.tolist()
        if isinstance(found, ImpactRows):
            terms, impacts = found.terms.tolist(), found.impacts.tolist()
            biases = found.biases.tolist() if part.has_bias else [0] * len(batch)
            for row, bias in enumerate(biases):
                span = slice(starts[row], starts[row + 1])
                more = [bias] if bias else []
                indices = terms[span] + [BIAS] * len(more)
                if indices:
                    vectors[row][part.field] = {"indices": indices, "values": impacts[span] + more}
        else:
            matrix = found.matrix().astype(np.float32)
            for row in range(len(batch)):
                if starts[row] < starts[row + 1]:
                    windows = matrix[starts[row] : starts[row + 1]]
                    vectors[row][part.field] = [
                        [float(f"{x:.9g}") for x in window] for window in windows.tolist()
                    ]
    for row, position in enumerate(batch.positions.tolist()):
        payload: dict[str, Any] = {"id": batch.ids[row], "doc_id": batch.doc_ids[row]}
        if batch.texts is not None:
            payload["text"] = batch.texts[row]
        if batch.attributes[row]:
            payload["attributes"] = {name: _value(each) for name, each in batch.attributes[row].items()}
        file.write(json_line({"id": position, "vector": vectors[row], "payload": payload}).encode())


def _value(value: AttributeValue) -> Any:
    return microseconds(value) if isinstance(value, date) else value
