"""PostgreSQL: tables of documents, postings and vectors, in a schema of their own. Library: psycopg.

LOCATION is a connection string, such as postgresql://user@localhost/shop; by default the environment (PGHOST,
PGDATABASE and so on). Vectors need the extension pgvector.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from linear_sql import ExportState, best_documents, search_sql

DIMENSIONS = 1_000_000_000
"""Dimensions of the sparse vectors, the most that pgvector takes, so that terms can be added."""

MADE = "termwise export"
"""Comment on the schema, tables and views that an export made, which `Engine.remove` may remove."""


def product(column: str, vector: Sequence[float]) -> str:
    """Return the product of a column of vectors and a query vector; pgvector has the negative one."""
    numbers = ",".join(map(repr, map(float, vector)))
    return f"-({column} <#> '[{numbers}]'::vector)"


def sparse_sums(field: str, numbers: Mapping[str, float]) -> str:
    """Select the sums of a part from its sparse vectors, whose positions begin with 1."""
    weights = ",".join(f"{term + 1}:{numbers[str(term)]!r}" for term in sorted(map(int, numbers)))
    product = f"-(vector <#> '{{{weights}}}/{DIMENSIONS}'::sparsevec)"
    return (
        f"SELECT position, s FROM (SELECT position, {product} AS s FROM {field}_sparse) AS sums WHERE s > 0"
    )


class Engine:
    """Schema of a PostgreSQL database."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder = folder
        self.description: Mapping[str, Any] = json.loads((folder / "export.json").read_bytes())
        self.location = location or ""
        self.sparse = sparse_sums if self.description["settings"]["form"] == "sparsevec" else None
        self.schema = str(self.description["settings"]["schema"])
        self.state = ExportState(self.description, self.rows)
        self._open: psycopg.Connection[Any] | None = None

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """Open connection, whose search path has the schema of the export."""
        if self._open is None:
            self._open = psycopg.connect(self.location, autocommit=True)
            self._open.execute(f"SET search_path TO {self.quoted_schema}, public".encode())
        return self._open

    @property
    def quoted_schema(self) -> str:
        """Name of the schema as an identifier."""
        return '"' + self.schema.replace('"', '""') + '"'

    def rows(self, statement: str) -> list[Any]:
        """Return the rows of a statement."""
        return self.connection.execute(statement.encode()).fetchall()

    def generation(self) -> int | None:
        """Return the generation that the schema holds; stop if it holds another export."""
        (found,) = self.rows(
            f"SELECT to_regclass('{self.quoted_schema.replace(chr(39), chr(39) * 2)}.export_state')"
        )
        if found[0] is None:
            return None
        try:
            generation: int | None = self.state.generation(f"the schema {self.schema}")
        except SystemExit as error:
            raise SystemExit(
                f"{error}: remove it with client.py load --replace, or export with --set schema=NAME"
            ) from None
        return generation

    def remove(self, say: Callable[[str], None]) -> None:
        """Remove the tables of an export, and the schema if an export made it and nothing else is in it."""
        held = self.connection.execute(
            "SELECT relkind = 'm', relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) "
            "AND obj_description(oid, 'pg_class') = %s ORDER BY 1 DESC, 2",
            (self.quoted_schema, MADE),
        ).fetchall()
        with self.connection.transaction():
            for is_view, name in held:
                kind = "MATERIALIZED VIEW" if is_view else "TABLE"
                self.connection.execute(f'DROP {kind} {self.quoted_schema}."{name}"'.encode())
        say(f"removed {len(held)} tables of an export from the schema {self.schema}")
        comment = "SELECT obj_description(to_regnamespace(%s), 'pg_namespace')"
        if self.connection.execute(comment, (self.quoted_schema,)).fetchall() == [(MADE,)]:
            with suppress(psycopg.errors.DependentObjectsStillExist):
                self.connection.execute(f"DROP SCHEMA {self.quoted_schema}".encode())
                say(f"removed the schema {self.schema}")

    def _create(self) -> None:
        """Create the tables if an earlier run has not. Tables with these names from elsewhere are an error."""
        held = "to_regnamespace(%s) IS NULL, to_regclass(%s) IS NULL"
        names = (self.quoted_schema, f"{self.quoted_schema}.export_state")
        ((is_new, is_missing),) = self.connection.execute(f"SELECT {held}", names).fetchall()
        if is_missing:
            with self.connection.transaction():
                for statement in self._statements("tables"):
                    self.connection.execute(statement.encode())
                if is_new:
                    self.connection.execute(f"COMMENT ON SCHEMA {self.quoted_schema} IS '{MADE}'".encode())

    def _statements(self, name: str) -> Iterator[str]:
        """Yield the statements of a file of the folder schema."""
        text = (self.folder / "schema" / f"{name}.sql").read_bytes().decode()
        return filter(str.strip, text.split(";\n"))

    def load(self, say: Callable[[str], None]) -> None:
        """Create the tables, load the pieces that are not loaded yet, and apply all changes."""
        self.generation()
        self._create()
        if self.generation() is None:
            row = (self.state.origin, -1)  # until all pieces are loaded
            self.connection.execute("INSERT INTO export_state VALUES (%s, %s)", row)
        loaded = {name for (name,) in self.connection.execute("SELECT name FROM export_pieces")}
        for path in sorted((self.folder / "data").glob("*/*")):
            name = path.relative_to(self.folder / "data").as_posix()
            if name in loaded:
                continue
            form = "FORMAT binary" if path.suffix == ".bin" else "FORMAT text"
            with self.connection.transaction(), self.connection.cursor() as cursor:
                with (
                    cursor.copy(f"COPY {path.parent.name} FROM STDIN ({form})") as copy,
                    path.open("rb") as file,
                ):
                    while data := file.read(1 << 20):
                        copy.write(data)
                cursor.execute("INSERT INTO export_pieces VALUES (%s)", (name,))
            say(f"loaded {name}")
        for statement in self._statements("indexes"):
            self.connection.execute(statement.encode())
        if self.generation() == -1:
            self.connection.execute("UPDATE export_state SET generation = %s", (self.state.first,))
        for changes in self.state.changes:
            self.update(self.folder / changes, say)
        say(f"the schema {self.schema} is ready, generation {self.generation()}")

    def update(self, changes: Path, say: Callable[[str], None]) -> None:
        """Apply the changes of a later export, once and in their order."""
        if not self.state.next_step(changes, f"the schema {self.schema}"):
            return
        until = int(changes.resolve().name.split("-")[1])
        with self.connection.transaction():
            self.connection.execute((changes / "changes.sql").read_bytes())
            if self.sparse is not None:
                for part in self.description["parts"]:
                    if part["kind"] == "sparse":
                        self.connection.execute(f"REFRESH MATERIALIZED VIEW {part['field']}_sparse".encode())
            self.connection.execute("UPDATE export_state SET generation = %s", (until,))
        say(f"applied {changes}")

    def parsed_filter(self, text: str) -> str:
        """Return a filter of the command line: a condition in SQL on the columns of documents."""
        return text

    def search(self, query: Mapping[str, Any], k: int, filter: str | None = None) -> list[tuple[str, float]]:
        """Return the identifiers and scores of the best documents."""

        def rows(wanted: int) -> list[tuple[str, float]]:
            sql = search_sql(query, self.description["parts"], wanted, filter, product, self.sparse)
            return [] if sql is None else self.connection.execute(sql.encode()).fetchall()

        found: list[tuple[str, float]] = best_documents(rows, k, chunked=self.description["chunked"])
        return found

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None
