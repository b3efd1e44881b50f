"""Shared by the SQL targets: tables, their rows, changes, and filters as conditions on the table of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.attributes.field_types import FieldType
from termwise.errors import ParameterError
from termwise.export.conditions import FieldTest, field_test
from termwise.export.folder import ExportFolder
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, dense_parts
from termwise.filters import And, Filter, Not, Or
from termwise.filters.expressions import Condition
from termwise.index.reader import ImpactRows
from termwise.records import AttributeValue


class Dialect(Protocol):
    """Dialect of SQL.

    Attributes
    ----------
    types : mapping of FieldType to str
        Types of the columns of attributes.
    """

    types: Mapping[FieldType, str]

    def attribute(self, kind: FieldType, value: AttributeValue) -> Any:
        """Return the value of an attribute as the library of the engine takes it."""

    def literal(self, value: Any) -> str:
        """Return the literal of such a value, or of an identifier, a text, a number or None."""

    def vector(self, numbers: npt.NDArray[np.float32]) -> str:
        """Return the literal of a vector."""

    def date(self, microseconds: int) -> str:
        """Return the literal of a point in time."""

    def compared(self, text: str) -> str:
        """Return an expression of text so that it is compared by code points."""

    def any_of(self, column: str, condition: str) -> str:
        """Return whether a value ``v`` of a column of several strings fulfils a condition."""


def tables_sql(
    source: ExportSource,
    dialect: Dialect,
    *,
    vector: Callable[[int], str],
    keys: bool,
    real: str = "DOUBLE PRECISION",
) -> list[str]:
    """Return the statements that create the tables.

    Parameters
    ----------
    source : ExportSource
    dialect : Dialect
    vector : callable
        Returns the type of a vector of some dimensions.
    keys : bool
        Whether the tables of postings are ordered by their key, as in SQLite.
    real : str, optional
        Type of the weights of a float index.
    """
    columns = ["position INTEGER PRIMARY KEY", "id TEXT NOT NULL UNIQUE", "doc_id TEXT NOT NULL", "text TEXT"]
    columns += [f"{attribute_column(name)} {dialect.types[kind]}" for name, kind in source.schema.items()]
    columns += [
        f"{part.field}_bias {'INTEGER' if part.is_exact_integer else real} NOT NULL"
        for part in source.parts
        if part.has_bias
    ]
    tables = [
        f"CREATE TABLE documents ({', '.join(columns)})",
        "CREATE TABLE export_state (origin TEXT NOT NULL, generation INTEGER NOT NULL)",
    ]
    for part in source.parts:
        if part.kind == "dense":
            tables.append(
                f"CREATE TABLE {part.field}_vectors (position INTEGER NOT NULL, "
                f"vector {vector(part.dimensions)} NOT NULL)"
            )
            continue
        number = "INTEGER" if part.is_exact_integer else real
        key = ", PRIMARY KEY (term, position)) WITHOUT ROWID" if keys else ")"
        tables.append(
            f"CREATE TABLE {part.field}_postings (term INTEGER NOT NULL, position INTEGER NOT NULL, "
            f"impact {number} NOT NULL{key}"
        )
    return tables


def document_rows(batch: Batch, source: ExportSource, dialect: Dialect) -> Iterator[list[Any]]:
    """Yield the rows of the table of documents."""
    biases = [
        found.biases.tolist()
        for part, found in zip(source.parts, batch.rows, strict=True)
        if part.has_bias and isinstance(found, ImpactRows)
    ]
    texts: Sequence[str | None] = [None] * len(batch) if batch.texts is None else batch.texts
    for row, position in enumerate(batch.positions.tolist()):
        attributes = batch.attributes[row]
        yield [
            position,
            batch.ids[row],
            batch.doc_ids[row],
            texts[row],
            *(
                dialect.attribute(kind, attributes[name]) if name in attributes else None
                for name, kind in source.schema.items()
            ),
            *(each[row] for each in biases),
        ]


def changes_sql(
    rows: Iterator[Batch], deleted: Sequence[str], source: ExportSource, dialect: Dialect
) -> Iterator[str]:
    """Yield the statements that delete rows, and insert those that are new or different."""
    tables = [f"{part.field}_{'postings' if part.kind == 'sparse' else 'vectors'}" for part in source.parts]

    def removed(each: str) -> Iterator[str]:
        wanted = f"id = {dialect.literal(each)}"
        for table in tables:
            yield f"DELETE FROM {table} WHERE position = (SELECT position FROM documents WHERE {wanted});\n"
        yield f"DELETE FROM documents WHERE {wanted};\n"

    for table in tables:  # which are ordered by term, or not at all
        yield f"CREATE INDEX IF NOT EXISTS {table}_position ON {table} (position);\n"
    for each in deleted:
        yield from removed(each)
    for batch in rows:
        for each in batch.ids:
            yield from removed(each)
        for values in document_rows(batch, source, dialect):
            yield f"INSERT INTO documents VALUES ({', '.join(map(dialect.literal, values))});\n"
        for table, found in zip(tables, batch.rows, strict=True):
            for row, position in enumerate(batch.positions.tolist()):
                span = slice(int(found.indptr[row]), int(found.indptr[row + 1]))
                if isinstance(found, ImpactRows):
                    pairs = zip(found.terms[span].tolist(), found.impacts[span].tolist(), strict=True)
                    written = [f"({term}, {position}, {impact!r})" for term, impact in pairs]
                else:
                    numbers = found.rows[span].astype(np.float32) * found.scales[span, None]
                    written = [f"({position}, {dialect.vector(each)})" for each in numbers]
                if written:
                    yield f"INSERT INTO {table} VALUES {', '.join(written)};\n"


def check_names(title: str, source: ExportSource, *, ignores_case: bool) -> None:
    """Refuse names of attributes that cannot be columns.

    Raises
    ------
    ParameterError
        If a name has control characters, or differs from another one in the case of letters alone where this is
        ignored.
    """
    seen: dict[str, str] = {}
    for name in source.schema:
        if any(ord(character) < 32 for character in name):
            raise ParameterError(
                f"a name of a column in {title} has no control characters", facts=[("attribute", repr(name))]
            )
        other = seen.setdefault(name.lower() if ignores_case else name, name)
        if other != name:
            raise ParameterError(
                f"{title} does not distinguish upper and lower case in names of columns",
                facts=[("attributes", f"{other}, {name}")],
                fixes=["build the index with other names of attributes"],
            )


def write_changes_sql(
    rows: Iterator[Batch],
    deleted: Sequence[str],
    source: ExportSource,
    folder: ExportFolder,
    at: str,
    dialect: Dialect,
) -> None:
    """Write changes as statements of SQL into the folder `at` of an export."""
    with folder.piece(f"{at}/changes.sql") as file:
        for statement in changes_sql(rows, deleted, source, dialect):
            file.write(statement.encode())


def sql_statements(source: ExportSource, vectors: str) -> list[Statement]:
    """Return what is exact in a database; `vectors` is the reason for vectors."""
    return [
        Statement(
            "weights", True, "impacts are stored as whole numbers, and sums of whole numbers are exact"
        ),
        *([Statement("vectors", True, vectors)] if dense_parts(source) else []),
        Statement("order", True, "documents with equal scores are in the order of the index"),
        *attribute_statements(source),
    ]


def attribute_statements(source: ExportSource) -> list[Statement]:
    """Return the statement on attributes, if there are any."""
    if not source.schema:
        return []
    reason = "every type has a column of its own; dates keep microseconds"
    return [Statement("attributes and filters", True, reason)]


def attribute_column(name: str) -> str:
    """Return the name of the column of an attribute, quoted.

    Examples
    --------
    >>> attribute_column('unit "price" in EUR')
    '"attribute_unit ""price"" in EUR"'
    """
    return '"attribute_' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Return a literal of text."""
    if "\0" in text:
        raise ParameterError("a text in SQL has no NUL character", facts=[("text", text)])
    return "'" + text.replace("'", "''") + "'"


def filter_sql(filter: Filter, schema: Schema, dialect: Dialect) -> str:
    """Return a filter as a condition on the columns of ``documents d``, which is never NULL.

    Raises
    ------
    UnknownNameError, ParameterError
        As `termwise.filters.check_filter`.
    """
    if isinstance(filter, Condition):
        return _test_sql(field_test(filter, schema), dialect)
    if isinstance(filter, Not):
        return f"NOT {filter_sql(filter.filter, schema, dialect)}"
    if isinstance(filter, And | Or):
        word = " AND " if isinstance(filter, And) else " OR "
        return "(" + word.join(filter_sql(each, schema, dialect) for each in filter.filters) + ")"
    raise ParameterError("this is no filter", facts=[("given", repr(filter))])


def _test_sql(test: FieldTest, dialect: Dialect) -> str:
    column = f"d.{attribute_column(test.field)}"
    present = f"{column} IS NOT NULL"
    passed = _passed(test, column, dialect)
    if passed is None:
        return f"({present})"
    return f"({present} AND {'NOT ' if test.excluded else ''}({passed}))"


def _passed(test: FieldTest, column: str, dialect: Dialect) -> str | None:
    """Return the condition that a value passes the test; None if it only has to be present."""
    value = "v" if test.kind == "keywords" else column
    if test.never:
        return "1 = 0"
    if test.kind == "boolean" and test.values:
        return " OR ".join(column if each else f"NOT {column}" for each in test.values)
    if test.values:
        condition = f"{value} IN ({', '.join(quoted_text(str(each)) for each in test.values)})"
    elif test.strings is not None:
        span, text, bounds = test.strings, dialect.compared(value), []
        if span.low is not None:
            bounds.append(f"{text} {'>=' if span.with_low else '>'} {quoted_text(span.low)}")
        if span.high is not None:
            bounds.append(f"{text} {'<=' if span.with_high else '<'} {quoted_text(span.high)}")
        condition = " AND ".join(bounds)
    elif test.intervals:
        return " OR ".join(_interval(test.kind, column, low, high, dialect) for low, high in test.intervals)
    else:
        return None
    return dialect.any_of(column, condition) if test.kind == "keywords" else condition


def _interval(
    kind: FieldType, column: str, low: int | float | None, high: int | float | None, dialect: Dialect
) -> str:
    def literal(number: int | float) -> str:
        return dialect.date(int(number)) if kind == "date" else repr(number)

    bounds = [] if low is None else [f"{column} >= {literal(low)}"]
    bounds += [] if high is None else [f"{column} <= {literal(high)}"]
    return f"({' AND '.join(bounds) or '1 = 1'})"
