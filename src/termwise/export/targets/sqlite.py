"""SQLite: one database file with tables of documents and postings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.attributes.dates import microseconds
from termwise.attributes.field_types import FieldType
from termwise.errors import StorageError
from termwise.export.folder import ExportFolder
from termwise.export.postings import postings_by_term
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, pieces, refuse_vectors, sparse_parts
from termwise.export.targets.sql import (
    check_names,
    document_rows,
    filter_sql,
    sql_statements,
    tables_sql,
    write_changes_sql,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
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

    def attribute(self, kind: FieldType, value: AttributeValue) -> Any:
        """Return the value of an attribute as a column has it."""
        if kind == "keywords":
            return json.dumps(value, ensure_ascii=False)  # a tuple
        if isinstance(value, date):
            return microseconds(value)
        return int(value) if isinstance(value, bool) else value

    def literal(self, value: Any) -> str:
        """Return the literal of a value."""
        if value is None:
            return "NULL"
        if not isinstance(value, str):
            return repr(value)
        if "\0" in value:
            return f"CAST(x'{value.encode().hex()}' AS TEXT)"
        return "'" + value.replace("'", "''") + "'"

    def vector(self, numbers: npt.NDArray[np.float32]) -> str:
        """Raise an error: there are no vectors."""
        raise NotImplementedError("SQLite has no vectors")

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
        check_names(self.title, source, ignores_case=True)

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the database."""
        dialect = SqliteDialect()
        tables = tables_sql(source, dialect, vector=str, keys=True, real="REAL")
        folder.write("schema/tables.sql", "".join(f"{each};\n" for each in tables))
        if folder.finished(FILE):
            return
        try:
            self._write(source, folder, progress, dialect, tables)
        except sqlite3.OperationalError as error:
            raise StorageError(
                "the database cannot be written",
                facts=[("path", folder.path / FILE), ("reason", error)],
                fixes=["free space or choose another folder, and run the command again"],
            ) from error

    def _write(
        self,
        source: ExportSource,
        folder: ExportFolder,
        progress: Progress,
        dialect: SqliteDialect,
        tables: Sequence[str],
    ) -> None:
        with folder.place(FILE) as path, closing(sqlite3.connect(path, isolation_level=None)) as database:
            # The file gets its name when it is complete, so no journal is needed.
            database.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 8192;"
            )
            database.executescript(";\n".join(tables))
            database.execute("INSERT INTO export_state VALUES (?, ?)", (source.origin, source.generation))
            database.execute("BEGIN")
            for _, _, batches in pieces(source, progress):
                for batch in batches:
                    rows = list(document_rows(batch, source, dialect))
                    holes = ", ".join("?" * len(rows[0]))
                    database.executemany(f"INSERT INTO documents VALUES ({holes})", rows)
            for part in sparse_parts(source):
                statement = f"INSERT INTO {part.field}_postings VALUES (?, ?, ?)"
                for found in postings_by_term(part, progress=progress):
                    database.executemany(statement, zip(*(each.tolist() for each in found), strict=True))
            database.execute("COMMIT")

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write the changes as statements of SQL."""
        write_changes_sql(rows, deleted, source, folder, at, SqliteDialect())

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return nothing: the schema is in the database."""
        return {}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        return sql_statements(source, "")

    def filter(self, filter: Filter, schema: Schema) -> str:
        """Return a condition on the columns of ``documents d``."""
        return filter_sql(filter, schema, SqliteDialect())
