"""SQLite: one database file with tables of documents and postings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from typing import Any, ClassVar, final

from termwise.attributes import Schema
from termwise.attributes.dates import microseconds
from termwise.attributes.field_types import FieldType
from termwise.export.folder import ExportFolder
from termwise.export.postings import postings_by_term
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, pieces, refuse_vectors, sparse_parts
from termwise.export.targets.sql import attribute_column, filter_sql
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.index.reader import ImpactRows
from termwise.progress import Progress
from termwise.records import AttributeValue

FILE = "data/index.sqlite"


class SqliteDialect:
    """SQL of SQLite: booleans are 0 and 1, dates are microseconds since 1970, lists of strings are JSON."""

    types: Mapping[FieldType, str] = {
        "boolean": "INTEGER",
        "integer": "INTEGER",
        "float": "REAL",
        "date": "INTEGER",
        "keyword": "TEXT",
        "keywords": "TEXT",
    }

    def date(self, microseconds: int) -> str:
        """Return the literal of a point in time."""
        return str(microseconds)

    def compared(self, text: str) -> str:
        """Return the text: SQLite compares by code points."""
        return text

    def any_of(self, column: str, condition: str) -> str:
        """Return whether a value ``v`` of a list fulfils a condition."""
        return f"EXISTS (SELECT 1 FROM (SELECT value AS v FROM json_each({column})) WHERE {condition})"


@final
@dataclass(frozen=True)
class Sqlite:
    """Target ``sqlite``."""

    name: ClassVar[str] = "sqlite"
    title: ClassVar[str] = "SQLite"
    engine: ClassVar[str] = "sqlite.py"
    helpers: ClassVar[tuple[str, ...]] = ("linear_sql.py",)
    extra: ClassVar[str] = ""

    def check(self, source: ExportSource) -> None:
        """Refuse vectors, which SQLite does not have."""
        refuse_vectors(self.title, source)

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the database."""
        with folder.place(FILE) as path, closing(sqlite3.connect(path, isolation_level=None)) as database:
            # The file gets its name when it is complete, so no journal is needed.
            database.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;"
            )
            database.executescript(_schema(source))
            database.execute("BEGIN")
            holes = ", ".join("?" * _columns(source))
            for _, _, batches in pieces(source, progress):
                for batch in batches:
                    database.executemany(f"INSERT INTO documents VALUES ({holes})", _documents(batch, source))
            for part in sparse_parts(source):
                statement = f"INSERT INTO {part.field}_postings VALUES (?, ?, ?)"
                for found in postings_by_term(part, progress=progress):
                    database.executemany(statement, zip(*(each.tolist() for each in found), strict=True))
            database.execute("COMMIT")
            database.execute("CREATE INDEX documents_doc_id ON documents (doc_id)")

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write the changes as statements of SQL."""
        fields = [part.field for part in sparse_parts(source)]
        with folder.piece(f"{at}/changes.sql") as file:

            def remove(ids: Iterable[str]) -> None:
                for each in ids:
                    row = f"(SELECT position FROM documents WHERE id = {_literal(each)})"
                    for field in fields:
                        file.write(f"DELETE FROM {field}_postings WHERE position = {row};\n".encode())
                    file.write(f"DELETE FROM documents WHERE id = {_literal(each)};\n".encode())

            for field in fields:  # found by position; postings are ordered by term
                file.write(
                    f"CREATE INDEX IF NOT EXISTS {field}_rows ON {field}_postings (position);\n".encode()
                )
            remove(deleted)
            for batch in rows:
                remove(batch.ids)
                for values in _documents(batch, source):
                    file.write(
                        f"INSERT INTO documents VALUES ({', '.join(map(_literal, values))});\n".encode()
                    )
                for part, found in zip(source.parts, batch.rows, strict=True):
                    assert isinstance(found, ImpactRows), "no part has vectors"
                    for row, position in enumerate(batch.positions.tolist()):
                        span = slice(int(found.indptr[row]), int(found.indptr[row + 1]))
                        values = [
                            f"({term}, {position}, {impact})"
                            for term, impact in zip(
                                found.terms[span].tolist(), found.impacts[span].tolist(), strict=True
                            )
                        ]
                        if values:
                            file.write(
                                f"INSERT INTO {part.field}_postings VALUES {', '.join(values)};\n".encode()
                            )

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return nothing: the schema is in the database."""
        return {}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        return [
            Statement(
                "weights", True, "impacts are stored as whole numbers, and sums of whole numbers are exact"
            ),
            Statement("order", True, "documents with equal scores are in the order of the index"),
            *attribute_statements(source),
        ]

    def filter(self, filter: Filter, schema: Schema) -> str:
        """Return a condition on the columns of ``documents d``."""
        return filter_sql(filter, schema, SqliteDialect())


def attribute_statements(source: ExportSource) -> list[Statement]:
    """Return the statement on attributes, if there are any."""
    if not source.schema:
        return []
    reason = "every type has a column of its own; dates keep microseconds"
    return [Statement("attributes and filters", True, reason)]


def _columns(source: ExportSource) -> int:
    return 4 + len(source.schema) + sum(part.has_bias for part in source.parts)


def _schema(source: ExportSource) -> str:
    types = SqliteDialect.types
    columns = ["position INTEGER PRIMARY KEY", "id TEXT NOT NULL UNIQUE", "doc_id TEXT NOT NULL", "text TEXT"]
    columns += [f"{attribute_column(name)} {types[kind]}" for name, kind in source.schema.items()]
    columns += [f"{part.field}_bias INTEGER NOT NULL" for part in source.parts if part.has_bias]
    tables = [f"CREATE TABLE documents ({', '.join(columns)});"]
    for part in sparse_parts(source):
        number = "INTEGER" if part.is_exact_integer else "REAL"
        tables.append(
            f"CREATE TABLE {part.field}_postings (term INTEGER NOT NULL, position INTEGER NOT NULL, "
            f"impact {number} NOT NULL, PRIMARY KEY (term, position)) WITHOUT ROWID;"
        )
    return "\n".join(tables)


def _documents(batch: Batch, source: ExportSource) -> Iterator[list[Any]]:
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
            *(_value(kind, attributes.get(name)) for name, kind in source.schema.items()),
            *(each[row] for each in biases),
        ]


def _value(kind: FieldType, value: AttributeValue | None) -> Any:
    if value is None:
        return None
    if kind == "keywords":
        return json.dumps(value, ensure_ascii=False)  # a tuple
    if isinstance(value, date):
        return microseconds(value)
    return int(value) if isinstance(value, bool) else value


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        text = value.replace("'", "''")
        return f"'{text}'" if "\0" not in text else f"CAST(x'{value.encode().hex()}' AS TEXT)"
    return repr(value)
