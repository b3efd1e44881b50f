"""Milvus: collections of documents with sparse vectors, and of windows with dense vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from typing import Any, BinaryIO, ClassVar, final

from termwise.attributes import Schema
from termwise.attributes.dates import microseconds
from termwise.attributes.field_types import FieldType
from termwise.errors import DataError, ParameterError
from termwise.export.conditions import FieldTest, field_test
from termwise.export.folder import ExportFolder
from termwise.export.scripts.ranked_lists import BIAS, NO_TERMS
from termwise.export.source import Batch, ExportSource
from termwise.export.target import (
    Statement,
    attribute_fields,
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
from termwise.index.reader import ImpactRows
from termwise.progress import Progress
from termwise.records import AttributeValue
from termwise.settings import TypedSettings

MOST_BYTES = 65_535
"""Longest string in bytes of UTF-8."""

MOST_VALUES = 4096
"""Largest number of strings in a list."""

MOST_FIELDS = 64
"""Largest number of fields of a collection."""

MOST_WINDOWS = 1 << 16
"""Windows of a row; the key of a window is the position of its row times this, plus its number."""

TYPES: Mapping[FieldType, str] = {
    "boolean": "Bool",
    "integer": "Int64",
    "float": "Double",
    "date": "Int64",
    "keyword": "VarChar",
    "keywords": "Array",
}
"""Types of the fields of attributes; dates are microseconds since 1970."""

UNUSED = "no_terms"
"""Sparse vector of the documents, if no part has one: Milvus wants a vector."""


@final
@dataclass(frozen=True, kw_only=True)
class Milvus(TypedSettings):
    """Target ``milvus``; `meanings` describes its settings."""

    name: ClassVar[str] = "milvus"
    title: ClassVar[str] = "Milvus"
    engine: ClassVar[str] = "milvus.py"
    helpers: ClassVar[tuple[str, ...]] = ("ranked_lists.py",)
    extra: ClassVar[str] = "milvus"
    called: ClassVar[str] = "setting of the target milvus"
    meanings: ClassVar[Mapping[str, str]] = {
        "collection": "name of the collection: letters, digits and underscores",
    }

    collection: str = "termwise"

    def check(self, source: ExportSource) -> None:
        """Refuse negative weights, a wrong name, and more fields than a collection has."""
        refuse_negative_weights(self.title, source)
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,199}", self.collection):
            raise ParameterError(
                "the name of a collection has letters, digits and underscores, and begins with no digit",
                facts=[("given", self.collection)],
            )
        fields = 4 + len(source.schema) + len(source.parts)
        if fields > MOST_FIELDS:
            raise ParameterError(
                "a collection of Milvus has too few fields for the attributes",
                facts=[("attributes", len(source.schema)), ("fields", fields), ("most fields", MOST_FIELDS)],
                fixes=["build the index with fewer attributes"],
            )

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the collections, their rows, and a template of a query."""
        folder.write(
            "data/collections.json", json.dumps(_collections(source, self.collection), indent=1) + "\n"
        )
        folder.write(
            "data/query.json", json.dumps(_query_templates(source, self.collection), indent=1) + "\n"
        )
        for number, _, batches in pieces(source, progress):
            names = [f"data/{each}-{number:05}.jsonl" for each in _files(source)]
            if not all(map(folder.finished, names)):
                with ExitStack() as stack:
                    files = [stack.enter_context(folder.piece(name)) for name in names]
                    for batch in batches:
                        _write_rows(batch, source, files)

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write identifiers of rows that are deleted or replaced, and the new and changed rows."""
        with ExitStack() as stack:
            names = stack.enter_context(folder.piece(f"{at}/deleted.jsonl"))
            files = [stack.enter_context(folder.piece(f"{at}/{each}.jsonl")) for each in _files(source)]
            names.write("".join(map(json_line, deleted)).encode())
            for batch in rows:
                names.write("".join(map(json_line, batch.ids)).encode())
                _write_rows(batch, source, files)

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return nothing: the collections are described in the data."""
        return {}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        found = [float_weights(source)]
        if dense_parts(source):
            found.append(
                Statement(
                    "vectors",
                    False,
                    "numbers and their products have 24 bits, so scores differ by about 1e-7 of the largest one; the "
                    "index FLAT compares all vectors; each window of a document is a row of a second collection",
                )
            )
        found += [
            Statement(
                "results",
                True,
                "candidates of each part are fetched until no other document can be a result, and added up in front "
                "of the engine: its own rankers normalise scores and are not linear",
            ),
            Statement(
                "order", True, "documents with equal scores are in the order of the index: engine.py sorts"
            ),
        ]
        if source.has_texts:
            reason = f"a string has at most {MOST_BYTES:,} bytes; the rest of a longer text is cut off"
            found.append(Statement("texts", False, reason))
        if source.schema:
            reason = "every type has a field of its own; dates are microseconds since 1970"
            found.append(Statement("attributes and filters", True, reason))
        found.append(
            untested(self.title, "the tests run its files with Milvus Lite, which has the same interface")
        )
        return found

    def filter(self, filter: Filter, schema: Schema) -> str:
        """Return a boolean expression."""
        return filter_expression(filter, schema)


def filter_expression(filter: Filter, schema: Schema) -> str:
    """Return a filter as a boolean expression of Milvus, which is never unknown.

    Raises
    ------
    UnknownNameError, ParameterError
        As `termwise.filters.check_filter`.

    Examples
    --------
    >>> from termwise.filters import parse_filter
    >>> filter_expression(parse_filter("not year >= 2020"), Schema({"year": "integer"}))
    '(attribute_year is null or not ((attribute_year >= 2020)))'
    """
    return _expression(filter, schema, attribute_fields(schema), negated=False)


def _expression(filter: Filter, schema: Schema, fields: Mapping[str, str], *, negated: bool) -> str:
    if isinstance(filter, Condition):
        test = field_test(filter, schema)
        return _test_expression(test, fields[test.field], negated=negated)
    if isinstance(filter, Not):
        return _expression(filter.filter, schema, fields, negated=not negated)
    if isinstance(filter, And | Or):
        word = " and " if isinstance(filter, And) is not negated else " or "
        return f"({word.join(_expression(each, schema, fields, negated=negated) for each in filter.filters)})"
    raise ParameterError("this is no filter", facts=[("given", repr(filter))])


def _test_expression(test: FieldTest, field: str, *, negated: bool) -> str:
    passed = _passed(test, field)
    present = f"{field} is null" if negated else f"{field} is not null"
    if passed is None:
        return f"({present})"
    return (
        f"({present} {'or' if negated else 'and'} {'not ' if test.excluded is not negated else ''}({passed}))"
    )


def _passed(test: FieldTest, field: str) -> str | None:
    """Return the condition that a value passes the test; None if it only has to be present."""
    if test.never:
        return "position < 0"
    if test.kind == "boolean" and test.values:
        return " or ".join(f"{field} == {'true' if value else 'false'}" for value in test.values)
    if test.values:
        values = ", ".join(map(_string, test.values))
        return (
            f"array_contains_any({field}, [{values}])"
            if test.kind == "keywords"
            else f"{field} in [{values}]"
        )
    if test.strings is not None:
        if test.kind == "keywords":
            raise ParameterError(
                "Milvus has no ranges of the strings of a list",
                facts=[("field", test.field)],
                fixes=["compare with =, != or in", "export to another engine, such as postgresql"],
            )
        span, bounds = test.strings, []
        if span.low is not None:
            bounds.append(f"{field} {'>=' if span.with_low else '>'} {_string(span.low)}")
        if span.high is not None:
            bounds.append(f"{field} {'<=' if span.with_high else '<'} {_string(span.high)}")
        return " and ".join(bounds)
    if test.intervals:
        return " or ".join(_interval(test.field, field, low, high) for low, high in test.intervals)
    return None


def _interval(name: str, field: str, low: int | float | None, high: int | float | None) -> str:
    bounds = [] if low is None else [f"{field} >= {low!r}"]
    if (
        high is not None
    ):  # the smallest whole number has no literal: it would be that of a larger one, negated
        bounds.append(f"{field} <= {high!r}" if high != -(2**63) else f"{field} < {high + 1!r}")
    return f"({' and '.join(bounds) or f'{field} is not null'})"


def _string(value: str | bool) -> str:
    return json.dumps(value, ensure_ascii=False)


def _files(source: ExportSource) -> list[str]:
    """Return the beginnings of the names of the data files, one for each collection."""
    return ["documents", *(f"windows-{part.field}" for part in dense_parts(source))]


def _collections(source: ExportSource, name: str) -> list[dict[str, Any]]:
    """Return the collections in the form of the REST interface, and the names of their data files."""

    def text(field: str, **more: Any) -> dict[str, Any]:
        return {
            "fieldName": field,
            "dataType": "VarChar",
            "elementTypeParams": {"max_length": MOST_BYTES},
            **more,
        }

    def attribute(field: str, kind: FieldType) -> dict[str, Any]:
        if kind == "keyword":
            return text(field, nullable=True)
        found = {"fieldName": field, "dataType": TYPES[kind], "nullable": True}
        if kind == "keywords":
            found["elementDataType"] = "VarChar"
            found["elementTypeParams"] = {"max_length": MOST_BYTES, "max_capacity": MOST_VALUES}
        return found

    names = attribute_fields(source.schema)
    attributes = [attribute(names[each], kind) for each, kind in source.schema.items()]
    sparse = [part.field for part in sparse_parts(source)] or [UNUSED]
    terms = {"index_type": "SPARSE_INVERTED_INDEX", "inverted_index_algo": "DAAT_MAXSCORE"}
    found = [
        {
            "collectionName": name,
            "files": "documents",
            "schema": {
                "fields": [
                    {"fieldName": "position", "dataType": "Int64", "isPrimary": True},
                    text("id"),
                    text("doc_id"),
                    *([text("text")] if source.has_texts else []),
                    *attributes,
                    *({"fieldName": field, "dataType": "SparseFloatVector"} for field in sparse),
                ]
            },
            "indexParams": [{"fieldName": field, "metricType": "IP", "params": terms} for field in sparse],
        }
    ]
    for part in dense_parts(source):
        dimensions = {"dim": part.dimensions}
        fields = [
            {"fieldName": "row", "dataType": "Int64", "isPrimary": True},
            {"fieldName": "position", "dataType": "Int64"},
            text("doc_id"),
            *attributes,
            {"fieldName": "vector", "dataType": "FloatVector", "elementTypeParams": dimensions},
        ]
        flat = {"fieldName": "vector", "metricType": "IP", "params": {"index_type": "FLAT"}}
        found.append(
            {
                "collectionName": f"{name}_{part.field}",
                "files": f"windows-{part.field}",
                "schema": {"fields": fields},
                "indexParams": [flat],
            }
        )
    return found


def _query_templates(source: ExportSource, name: str) -> list[dict[str, Any]]:
    """Return a search for each part in the form of the REST interface, with names of the query kit in brackets."""
    found = []
    for part in source.parts:
        sparse = part.kind == "sparse"
        terms = f"<numbers of {part.name}" + (f" and {BIAS}: background>" if part.has_bias else ">")
        found.append(
            {
                "collectionName": name if sparse else f"{name}_{part.field}",
                "data": [terms if sparse else f"<vector of {part.name}>"],
                "annsField": part.field if sparse else "vector",
                "limit": 1000,
                "outputFields": ["position", "doc_id"],
                "searchParams": {"metricType": "IP", "params": {"drop_ratio_search": 0.0} if sparse else {}},
            }
        )
    return found


def _write_rows(batch: Batch, source: ExportSource, files: Sequence[BinaryIO]) -> None:
    names = attribute_fields(source.schema)
    rows = []
    for row, position in enumerate(batch.positions.tolist()):
        attributes = {
            names[name]: _attribute(batch.ids[row], name, batch.attributes[row].get(name))
            for name in source.schema
        }
        rows.append(
            {"position": position, "doc_id": _whole(batch.ids[row], batch.doc_ids[row]), **attributes}
        )
    documents: list[dict[str, Any]] = [
        {**row, "id": _whole(id, id)} for row, id in zip(rows, batch.ids, strict=True)
    ]
    if batch.texts is not None:
        for document, text in zip(documents, batch.texts, strict=True):
            document["text"] = text.encode()[:MOST_BYTES].decode(errors="ignore")
    if not sparse_parts(source):
        for document in documents:
            document[UNUSED] = {NO_TERMS: 1}
    windows = iter(files[1:])
    for part, found in zip(source.parts, batch.rows, strict=True):
        starts = found.indptr.tolist()
        if isinstance(found, ImpactRows):
            terms, impacts = found.terms.tolist(), found.impacts.tolist()
            biases = found.biases.tolist() if part.has_bias else [0] * len(batch)
            for row, bias in enumerate(biases):
                span = slice(starts[row], starts[row + 1])
                weights = dict(zip(terms[span], impacts[span], strict=True))
                if bias:
                    weights[BIAS] = bias
                documents[row][part.field] = weights or {NO_TERMS: 1}
            continue
        file, matrix = next(windows), found.matrix().tolist()
        for row, shared in enumerate(rows):
            for number, vector in enumerate(matrix[starts[row] : starts[row + 1]]):
                if number == MOST_WINDOWS:
                    raise _too_large(batch.ids[row], "windows of a document", MOST_WINDOWS)
                key = shared["position"] * MOST_WINDOWS + number
                numbers = [float(f"{x:.9g}") for x in vector]
                file.write(json_line({"row": key, **shared, "vector": numbers}).encode())
    for document in documents:
        files[0].write(json_line(document).encode())


def _attribute(id: str, name: str, value: AttributeValue | None) -> Any:
    if isinstance(value, date):
        return microseconds(value)
    if isinstance(value, str):
        return _whole(id, value)
    if isinstance(value, tuple):
        if len(value) > MOST_VALUES:
            raise _too_large(id, f"strings in {name}", MOST_VALUES)
        return [_whole(id, each) for each in value]
    return value


def _whole(id: str, text: str) -> str:
    """Return a string that must not be cut."""
    if len(text.encode()) > MOST_BYTES:
        raise _too_large(id, "bytes of a string", MOST_BYTES)
    return text


def _too_large(id: str, what: str, most: int) -> DataError:
    return DataError(
        "a document exceeds a limit of Milvus",
        facts=[("row", id[:100]), ("limit", f"{most:,} {what}")],
        fixes=["export to another engine, such as qdrant"],
    )
