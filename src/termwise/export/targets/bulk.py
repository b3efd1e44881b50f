"""Shared by the targets OpenSearch and Elasticsearch: documents for ``_bulk``, mapping, filters as queries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.attributes.dates import microseconds
from termwise.attributes.field_types import FieldType
from termwise.errors import ParameterError
from termwise.export.conditions import FieldTest, field_test
from termwise.export.folder import ExportFolder
from termwise.export.scripts.bulk_engine import HIGH, LOW, feature
from termwise.export.source import Batch, ExportPart, ExportSource
from termwise.export.target import Statement, dense_parts, pieces, sparse_parts
from termwise.filters import And, Filter, Not, Or
from termwise.filters.expressions import Condition
from termwise.index.reader import ImpactRows
from termwise.progress import Progress
from termwise.records import AttributeValue
from termwise.vectors import DocumentVectors

MOST_ID_BYTES = 512
"""Longest ``_id`` of a document."""

TYPES: Mapping[FieldType, str] = {
    "boolean": "boolean",
    "integer": "long",
    "float": "double",
    "date": "long",
    "keyword": "keyword",
    "keywords": "keyword",
}
"""Types of the fields of attributes; dates are microseconds since 1970, as the type ``date`` keeps milliseconds."""

_NO_ALIAS_CHARACTER = re.compile(r"[^a-z0-9_-]+")


def alias_of(source: ExportSource) -> str:
    """Return the name of the alias: that of the folder of the index, as far as names of indexes allow."""
    return _NO_ALIAS_CHARACTER.sub("-", source.path.resolve().stem.lower()).strip("-_") or "termwise"


def row_key(id: str) -> str:
    """Return the ``_id`` of a row: its identifier, or a digest of one that is empty or longer than 512 bytes.

    Examples
    --------
    >>> row_key("d1"), row_key("")[:14]
    ('d1', 'sha256:e3b0c44')
    """
    written = id.encode()
    return id if 0 < len(written) <= MOST_ID_BYTES else "sha256:" + sha256(written).hexdigest()


def attribute_field(name: str) -> str:
    """Return the name of the field of an attribute: other characters than letters, digits, ``_`` and ``-`` are escaped.

    Examples
    --------
    >>> attribute_field("year"), attribute_field("list.price")
    ('attribute_year', 'attribute_list%2Eprice')
    """
    return "attribute_" + "".join(
        character
        if character.isalnum() or character in "_-"
        else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in name
    )


def mapping(
    source: ExportSource, weights: Mapping[str, Any], vector: Callable[[int], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the mapping of the fields.

    Parameters
    ----------
    source : ExportSource
    weights : mapping
        Mapping of a field of weights.
    vector : callable
        Mapping of a vector of a number of dimensions.
    """
    properties: dict[str, Any] = {
        "id": {"type": "keyword"},
        "doc_id": {"type": "keyword"},
        "position": {"type": "long"},
    }
    if source.has_texts:
        properties["text"] = {"type": "text", "index": False}
    for name, kind in source.schema.items():
        properties[attribute_field(name)] = {"type": TYPES[kind]}
    for part in source.parts:
        if part.kind == "sparse":
            properties[part.field] = dict(weights)
        else:
            properties[part.field] = {
                "type": "nested",
                "properties": {"vector": dict(vector(part.dimensions))},
            }
            properties[f"{part.field}_windows"] = {"type": "integer"}
    return {"dynamic": "strict", "properties": properties}


def write_parts(
    source: ExportSource, folder: ExportFolder, progress: Progress, *, numbered: bool = False
) -> None:
    """Write the documents, one file for each piece; if `numbered`, features have the numbers of terms as names."""
    names = _names(source, numbered)
    for number, _, batches in pieces(source, progress):
        name = f"data/part-{number:05}.ndjson"
        if not folder.finished(name):
            with folder.piece(name) as file:
                for batch in batches:
                    file.write("".join(_actions(batch, source, names)).encode())


def write_changed(
    rows: Iterator[Batch],
    deleted: Sequence[str],
    source: ExportSource,
    folder: ExportFolder,
    at: str,
    *,
    numbered: bool = False,
) -> None:
    """Write what changed as actions of ``_bulk``; see `write_parts`."""
    names = _names(source, numbered)
    with folder.piece(f"{at}/changes.ndjson") as file:
        for each in deleted:
            file.write(f'{{"delete":{{"_id":{json.dumps(row_key(each))}}}}}\n'.encode())
        for batch in rows:
            file.write("".join(_actions(batch, source, names)).encode())


def longest_vectors(source: ExportSource) -> dict[str, float]:
    """Return an upper bound of the lengths of the vectors of each part with vectors, by its field."""
    found = dict.fromkeys((part.field for part in dense_parts(source)), 0.0)
    if found:
        for batch in source.batches():
            for part, rows in zip(source.parts, batch.rows, strict=True):
                if isinstance(rows, DocumentVectors) and len(rows.rows):
                    lengths = np.linalg.norm(rows.rows.astype(np.float32), axis=1) * rows.scales
                    found[part.field] = max(found[part.field], float(lengths.max()))
    return {field: length * 1.00001 for field, length in found.items()}


def statements(source: ExportSource, *, weights: str) -> list[Statement]:
    """Return what is exact; `weights` is the type of the fields of weights."""
    found = []
    for part in sparse_parts(source):
        if part.is_exact_integer:
            reason = f"{weights} keeps 9 significant bits, and the impacts have 8"
        else:
            reason = f"{weights} keeps 9 significant bits, and the weights of this index are not rounded to 8"
        found.append(Statement(f"weights of {part.name}", part.is_exact_integer, reason))
    for part in dense_parts(source):
        reason = "numbers of 8 bits and their scale become floats of 32 bits; products differ by about 1e-6"
        found.append(Statement(f"vectors of {part.name}", False, reason))
    if source.schema:
        reason = (
            "dates are whole numbers of microseconds since 1970 in fields of the type long"
            if "date" in source.schema.values()
            else "every type has a field of its own"
        )
        found.append(Statement("attributes and filters", True, reason))
    return found


def _names(source: ExportSource, numbered: bool) -> dict[str, list[str]]:
    """Return the beginnings of the members of weights, by field: the name of the feature and a colon."""
    if numbered:
        return {part.field: [f'"{n}":' for n in range(len(part.tokens))] for part in sparse_parts(source)}
    return {
        part.field: [f"{json.dumps(feature(token), ensure_ascii=False)}:" for token in part.tokens]
        for part in sparse_parts(source)
    }


def _actions(batch: Batch, source: ExportSource, names: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield two lines for each row: the action and the document."""
    members = [
        _weights(part, rows, names[part.field]) if isinstance(rows, ImpactRows) else _vectors(part, rows)
        for part, rows in zip(source.parts, batch.rows, strict=True)
    ]
    kinds = [(name, kind, attribute_field(name)) for name, kind in source.schema.items()]
    for row, id in enumerate(batch.ids):
        document: dict[str, Any] = {
            "id": id,
            "doc_id": batch.doc_ids[row],
            "position": int(batch.positions[row]),
        }
        if batch.texts is not None:
            document["text"] = batch.texts[row]
        attributes = batch.attributes[row]
        for name, kind, field in kinds:
            if name in attributes:
                document[field] = _value(kind, attributes[name])
        head = json.dumps(document, ensure_ascii=False)[:-1]
        fields = "".join(f",{next(each)}" for each in members)
        yield f'{{"index":{{"_id":{json.dumps(row_key(id), ensure_ascii=False)}}}}}\n{head}{fields}}}\n'


def _weights(part: ExportPart, rows: ImpactRows, names: list[str]) -> Iterator[str]:
    """Yield the member of the weights of each row."""
    ends = rows.indptr.tolist()
    terms, impacts = rows.terms.tolist(), rows.impacts.tolist()
    for row, (first, stop) in enumerate(pairwise(ends)):
        found = [
            f"{names[term]}{impact}"
            for term, impact in zip(terms[first:stop], impacts[first:stop], strict=True)
        ]
        if part.has_bias:
            bias = rows.biases[row].item()
            halves = split_bias(bias) if part.is_exact_integer else (bias, 0)
            found += [f'"{name}":{half}' for name, half in zip((HIGH, LOW), halves, strict=True) if half]
        yield f'"{part.field}":{{{",".join(found)}}}'


def split_bias(bias: int) -> tuple[int, int]:
    """Return two numbers of at most 8 significant bits each, whose sum is a bias of 16 significant bits.

    Examples
    --------
    >>> split_bias(0xABCD) == (0xAB00, 0xCD), split_bias(200)
    (True, (200, 0))
    """
    lower = max(0, bias.bit_length() - 8)
    high = bias >> lower << lower
    return high, bias - high


def _vectors(part: ExportPart, rows: DocumentVectors) -> Iterator[str]:
    """Yield the members of the vectors of each row: its windows, and how many there are."""
    ends = rows.indptr.tolist()
    for first, stop in pairwise(ends):
        windows = [
            f'{{"vector":[{",".join(_numbers(rows.rows[window], rows.scales[window]))}]}}'
            for window in range(first, stop)
        ]
        yield f'"{part.field}":[{",".join(windows)}],"{part.field}_windows":{len(windows)}'


def _numbers(row: npt.NDArray[np.int8], scale: np.float32) -> list[str]:
    """Return the numbers of a window as text that reads back as the same float of 32 bits."""
    levels, places = np.unique(row, return_inverse=True)
    written = [str(x) for x in levels.astype(np.float32) * scale]
    return [written[place] for place in places.tolist()]


def _value(kind: FieldType, value: AttributeValue) -> Any:
    if kind == "date":
        return microseconds(value)  # type: ignore[arg-type]
    if kind == "float":
        return float(value) + 0.0  # type: ignore[arg-type]  # -0.0, which is below 0.0 in these engines, becomes 0.0
    return value


# Filters


def filter_query(filter: Filter, schema: Schema) -> dict[str, Any]:
    """Return a filter as a query of the engine.

    Raises
    ------
    UnknownNameError, ParameterError
        As `termwise.filters.check_filter`.

    Examples
    --------
    >>> from termwise.filters import Equals, NotEquals
    >>> schema = Schema({"lang": "keyword", "year": "integer"})
    >>> filter_query(Equals("lang", "de"), schema)
    {'terms': {'attribute_lang': ['de']}}
    >>> filter_query(~NotEquals("year", 2024), schema)["bool"]["must_not"][0]["bool"]["filter"]
    [{'exists': {'field': 'attribute_year'}}]
    """
    if isinstance(filter, Condition):
        return _test_query(field_test(filter, schema))
    if isinstance(filter, Not):
        return {"bool": {"must_not": [filter_query(filter.filter, schema)]}}
    if isinstance(filter, And | Or):
        each = [filter_query(one, schema) for one in filter.filters]
        return {"bool": {"filter": each}} if isinstance(filter, And) else _any(each)
    raise ParameterError("this is no filter", facts=[("given", repr(filter))])


def _any(queries: list[dict[str, Any]]) -> dict[str, Any]:
    return queries[0] if len(queries) == 1 else {"bool": {"should": queries, "minimum_should_match": 1}}


def _test_query(test: FieldTest) -> dict[str, Any]:
    field = attribute_field(test.field)
    exists = {"exists": {"field": field}}
    if test.never:
        passed: dict[str, Any] = {"match_none": {}}
    elif test.values:
        passed = {"terms": {field: list(test.values)}}
    elif test.strings is not None:
        span = test.strings
        bounds = {}
        if span.low is not None:
            bounds["gte" if span.with_low else "gt"] = span.low
        if span.high is not None:
            bounds["lte" if span.with_high else "lt"] = span.high
        passed = {"range": {field: bounds}}
    elif test.intervals:
        passed = _any([{"range": {field: _bounds(low, high)}} for low, high in test.intervals])
    else:
        return exists
    return {"bool": {"filter": [exists], "must_not": [passed]}} if test.excluded else passed


def _bounds(low: int | float | None, high: int | float | None) -> dict[str, int | float]:
    return {name: bound + 0 for name, bound in (("gte", low), ("lte", high)) if bound is not None}
