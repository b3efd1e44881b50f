"""Vespa: an application with a schema and a rank profile, and a feed of documents with weighted sets and tensors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, BinaryIO, ClassVar, final

from termwise.attributes import Schema
from termwise.attributes.dates import microseconds
from termwise.attributes.field_types import FieldType
from termwise.errors import DataError, ParameterError
from termwise.export.conditions import FieldTest, field_test
from termwise.export.folder import ExportFolder
from termwise.export.source import Batch, ExportPart, ExportSource
from termwise.export.target import (
    Statement,
    attribute_fields,
    dense_parts,
    json_line,
    pieces,
    refuse_float,
    untested,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import And, Filter, Not, Or
from termwise.filters.expressions import Condition
from termwise.index.reader import ImpactRows
from termwise.progress import Progress
from termwise.records import AttributeValue
from termwise.settings import TypedSettings

TYPES: Mapping[FieldType, str] = {
    "boolean": "bool",
    "integer": "long",
    "float": "double",
    "date": "long",
    "keyword": "string",
    "keywords": "array<string>",
}
"""Types of the fields of attributes; dates are microseconds since 1970."""

MOST_HITS = 100_000
"""Largest number of results of the query profile; the default of Vespa is 400."""

UNSET = -(2**63)
"""Whole number that means a missing value."""

_NO_TEXT = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\ufdd0-\ufddf"
    + "".join(chr(plane + 0xFFFE) + chr(plane + 0xFFFF) for plane in range(0, 0x110000, 0x10000))
    + "]"
)
"""Characters that a string of Vespa does not have."""


@final
@dataclass(frozen=True, kw_only=True)
class Vespa(TypedSettings):
    """Target ``vespa``; `meanings` describes its settings."""

    name: ClassVar[str] = "vespa"
    title: ClassVar[str] = "Vespa"
    engine: ClassVar[str] = "vespa.py"
    helpers: ClassVar[tuple[str, ...]] = ("linear_sql.py",)
    extra: ClassVar[str] = ""
    called: ClassVar[str] = "setting of the target vespa"
    meanings: ClassVar[Mapping[str, str]] = {
        "schema": "name of the schema and of the namespace: letters, digits and underscores",
    }

    schema: str = "termwise"

    def check(self, source: ExportSource) -> None:
        """Refuse weights that are not rounded, and a wrong name."""
        refuse_float(self.title, source)
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,199}", self.schema):
            raise ParameterError(
                "the name of a schema has letters, digits and underscores, and begins with no digit",
                facts=[("given", self.schema)],
            )

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the application, the feed and a template of a query."""
        application = "data/application"
        folder.write(f"{application}/schemas/{self.schema}.sd", schema_text(source, self.schema))
        folder.write(f"{application}/services.xml", _services(self.schema))
        profile = (
            f'<query-profile id="default">\n  <field name="maxHits">{MOST_HITS}</field>\n</query-profile>\n'
        )
        folder.write(f"{application}/search/query-profiles/default.xml", profile)
        folder.write("data/query.json", json.dumps(_query_template(source, self.schema), indent=1) + "\n")
        for number, _, batches in pieces(source, progress):
            name = f"data/feed-{number:05}.jsonl"
            if not folder.finished(name):
                with folder.piece(name) as file:
                    for batch in batches:
                        self._write_puts(batch, source, file)

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write the changes as a feed."""
        with folder.piece(f"{at}/feed.jsonl") as file:
            for each in deleted:
                file.write(json_line({"remove": self._document(each)}).encode())
            for batch in rows:
                self._write_puts(batch, source, file)

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return nothing: the fields are described in the schema."""
        return {}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        found = [
            untested(
                self.title,
                "its files follow the documentation, and the tests compute the arithmetic of the rank profile from the "
                "feed",
            ),
            Statement("weights", True, "whole numbers of 32 bits; the profile adds them up in 64 bits"),
        ]
        if dense_parts(source):
            reason = (
                "whole numbers of 8 bits and a scale for each window, multiplied in 64 bits; all are compared"
            )
            found.append(Statement("vectors", True, reason))
        found.append(
            Statement(
                "order", True, "documents with equal scores are in the order of the index, by their position"
            )
        )
        if source.has_texts:
            reason = "control characters, which Vespa refuses, are replaced by U+FFFD in texts and attributes"
            found.append(Statement("texts", False, reason))
        if source.schema:
            reason = (
                "dates are microseconds since 1970; the field present lists the attributes that a document has; "
                "refused are ranges of keywords, which Vespa does not have"
            )
            found.append(Statement("attributes and filters", True, reason))
        return found

    def filter(self, filter: Filter, schema: Schema) -> str:
        """Return a filter as a condition in YQL, the query language of Vespa."""
        return filter_yql(filter, schema)

    def _document(self, id: str) -> str:
        """Return the identifier of a document of Vespa."""
        if not id or _NO_TEXT.search(id):
            raise DataError(
                "an identifier of Vespa is not empty and has no control characters",
                facts=[("row", repr(id))],
                fixes=["replace the document by one with another identifier"],
            )
        return f"id:{self.schema}:{self.schema}::{id}"

    def _write_puts(self, batch: Batch, source: ExportSource, file: BinaryIO) -> None:
        names = attribute_fields(source.schema)
        documents: list[dict[str, Any]] = []
        for row, position in enumerate(batch.positions.tolist()):
            fields: dict[str, Any] = {"position": position, "doc_id": batch.doc_ids[row], "present": []}
            if batch.texts is not None:
                fields["text"] = _text(batch.texts[row])
            for name, value in batch.attributes[row].items():
                fields[names[name]] = _attribute(batch.ids[row], name, value)
                fields["present"].append(names[name])
            documents.append(fields)
        for part, found in zip(source.parts, batch.rows, strict=True):
            starts = found.indptr.tolist()
            for row, fields in enumerate(documents):
                span = slice(starts[row], starts[row + 1])
                if isinstance(found, ImpactRows):
                    weights = dict(
                        zip(map(str, found.terms[span].tolist()), found.impacts[span].tolist(), strict=True)
                    )
                    fields[part.field] = weights
                    fields[f"{part.field}_weights"] = {"cells": weights}
                    if part.has_bias:
                        fields[f"{part.field}_bias"] = int(found.biases[row])
                elif span.start < span.stop:
                    windows = range(span.stop - span.start)
                    rows, scales = found.rows[span].tolist(), found.scales[span].tolist()
                    fields[f"{part.field}_rows"] = {"blocks": {str(each): rows[each] for each in windows}}
                    fields[f"{part.field}_scales"] = {"cells": {str(each): scales[each] for each in windows}}
                    fields["present"].append(f"vectors:{part.field}")
        for id, fields in zip(batch.ids, documents, strict=True):
            file.write(json_line({"put": self._document(id), "fields": fields}).encode())


def schema_text(source: ExportSource, name: str) -> str:
    """Return the schema with its rank profile."""
    keyword = (
        "attribute: fast-search",
        "match: cased",
        "dictionary {",
        "    hash",
        "    cased",
        "}",
        "rank: filter",
    )
    fields = [
        _field("position", "long", "attribute | summary"),
        _field("doc_id", "string", "attribute | summary", "match: cased"),
        _field("present", "array<string>", "attribute", *keyword),
    ]
    if source.has_texts:
        fields.append(_field("text", "string", "summary"))
    for attribute, field in attribute_fields(source.schema).items():
        kind = source.schema[attribute]
        more: tuple[str, ...] = keyword if kind in ("keyword", "keywords") else ("rank: filter",)
        if kind in ("integer", "float", "date"):
            more = ("attribute: fast-search", "rank: filter")
        fields.append(_field(field, TYPES[kind], "attribute | summary", *more))
    inputs = ["query(constant) double"]
    for part in source.parts:
        inputs.append(f"query({part.field}_coefficient) double")
        if part.kind == "dense":
            fields.append(
                _field(f"{part.field}_rows", f"tensor<int8>(window{{}}, x[{part.dimensions}])", "attribute")
            )
            fields.append(_field(f"{part.field}_scales", "tensor<float>(window{})", "attribute"))
            inputs.append(f"query({part.field}_vector) tensor<double>(x[{part.dimensions}])")
            continue
        fields.append(_field(part.field, "weightedset<int>", "attribute", "attribute: fast-search"))
        fields.append(_field(f"{part.field}_weights", "tensor<double>(term{})", "attribute"))
        inputs.append(f"query({part.field}_terms) tensor<double>(term{{}})")
        if part.has_bias:
            fields.append(_field(f"{part.field}_bias", "long", "attribute"))
            inputs.append(f"query({part.field}_background) double")
    functions = "".join(
        f"\n        function {part.field}_score() {{\n            expression: {_part_expression(part)}\n        }}"
        for part in source.parts
    )
    total = " + ".join(
        [
            "query(constant)",
            *(f"query({part.field}_coefficient) * {part.field}_score" for part in source.parts),
        ]
    )
    lines = "\n            ".join(inputs)
    return f"""schema {name} {{
    document {name} {{
{"".join(fields)}    }}

    rank-profile linear {{
        inputs {{
            {lines}
        }}{functions}
        first-phase {{
            expression: {total}
        }}
    }}
}}
"""


def _part_expression(part: ExportPart) -> str:
    """Return the score of a document in one part as a rank expression."""
    field = part.field
    if part.kind == "dense":
        products = f"sum(query({field}_vector) * attribute({field}_rows), x) * attribute({field}_scales)"
        return f"if (count(attribute({field}_scales)) > 0, reduce({products}, max), 0)"
    total = f"sum(query({field}_terms) * attribute({field}_weights))"
    return f"{total} + query({field}_background) * attribute({field}_bias)" if part.has_bias else total


def _field(name: str, kind: str, indexing: str, *more: str) -> str:
    lines = "".join(f"            {line}\n" for line in (f"indexing: {indexing}", *more))
    return f"        field {name} type {kind} {{\n{lines}        }}\n"


def _services(schema: str) -> str:
    return f"""<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0">
    <document-api/>
    <search/>
    <nodes>
      <node hostalias="node1"/>
    </nodes>
  </container>
  <content id="{schema}" version="1.0">
    <min-redundancy>1</min-redundancy>
    <documents>
      <document type="{schema}" mode="index"/>
    </documents>
    <nodes>
      <node hostalias="node1" distribution-key="0"/>
    </nodes>
  </content>
</services>
"""


def _query_template(source: ExportSource, schema: str) -> dict[str, Any]:
    """Return the body of a query; names in brackets are fields of the query kit."""
    inputs: dict[str, Any] = {"constant": "<constant>"}
    found = []
    for part in source.parts:
        inputs[f"{part.field}_coefficient"] = f"<coefficient of {part.name}>"
        if part.kind == "dense":
            inputs[f"{part.field}_vector"] = f"<vector of {part.name}>"
            found.append(f'present contains "vectors:{part.field}"')
            continue
        inputs[f"{part.field}_terms"] = f"<numbers of {part.name}>"
        found.append(f"dotProduct({part.field}, <pairs of numbers of {part.name}>)")
        if part.has_bias:
            inputs[f"{part.field}_background"] = f"<background of {part.name}>"
    return {
        "yql": f"select doc_id, position from {schema} where ({' or '.join(found)})",
        "hits": 10,
        "ranking.profile": "linear",
        "ranking.sorting": "-[relevance] +position",
        **{f"input.query({name})": value for name, value in inputs.items()},
    }


def filter_yql(filter: Filter, schema: Schema) -> str:
    """Return a filter as a condition in YQL.

    Raises
    ------
    UnknownNameError, ParameterError
        As `termwise.filters.check_filter`; also for a range of keywords.

    Examples
    --------
    >>> from termwise.filters import parse_filter
    >>> filter_yql(parse_filter("year >= 2020 and not lang = 'de'"), Schema({"year": "integer", "lang": "keyword"}))
    '((range(attribute_year, 2020, Infinity)) and (true and !((attribute_lang in ("de")))))'
    """
    return _yql(filter, schema, attribute_fields(schema))


def _yql(filter: Filter, schema: Schema, fields: Mapping[str, str]) -> str:
    if isinstance(filter, Condition):
        test = field_test(filter, schema)
        return _test_yql(test, fields[test.field])
    if isinstance(filter, Not):
        return f"(true and !({_yql(filter.filter, schema, fields)}))"
    if isinstance(filter, And | Or):
        word = " and " if isinstance(filter, And) else " or "
        return f"({word.join(_yql(each, schema, fields) for each in filter.filters)})"
    raise ParameterError("this is no filter", facts=[("given", repr(filter))])


def _test_yql(test: FieldTest, field: str) -> str:
    present = f'present contains "{field}"'
    if test.strings is not None:
        raise ParameterError(
            "Vespa has no ranges of strings",
            facts=[("field", test.field)],
            fixes=["compare with =, != or in", "export to another engine, such as postgresql or milvus"],
        )
    if test.never:
        return f"({present})" if test.excluded else "false"
    if test.kind == "boolean" and test.values:
        values = " or ".join(f"{field} = {'true' if value else 'false'}" for value in test.values)
        passed = f"{present} and ({values})"  # a missing one is false
    elif test.values:
        passed = f"{field} in ({', '.join(json.dumps(value, ensure_ascii=False) for value in test.values)})"
    elif test.intervals:
        passed = " or ".join(
            f"range({field}, {_bound(low, '-')}, {_bound(high, '')})" for low, high in test.intervals
        )
    else:
        return f"({present})"
    return f"({present} and !({passed}))" if test.excluded else f"({passed})"


def _bound(number: int | float | None, sign: str) -> str:
    if number is None:
        return f"{sign}Infinity"
    return f"{number!r}L" if isinstance(number, int) and not -(2**31) <= number < 2**31 else repr(number)


def _attribute(id: str, name: str, value: AttributeValue) -> Any:
    if isinstance(value, date):
        return microseconds(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return list(map(_text, value))
    if isinstance(value, int) and value == UNSET:
        raise DataError(
            "the smallest whole number is a missing value in Vespa",
            facts=[("row", id[:100]), ("attribute", name), ("value", value)],
        )
    return value


def _text(text: str) -> str:
    return _NO_TEXT.sub("�", text)
