"""PostgreSQL: tables of documents, postings and vectors, in a schema of their own. Library: psycopg.

LOCATION is a connection string, such as postgresql://user@localhost/shop; by default the environment (PGHOST,
PGDATABASE and so on). Vectors need the extension pgvector.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
from linear_sql import best_documents, search_sql

DIMENSIONS = 1_000_000_000
"""Dimensions of the sparse vectors, the most that pgvector takes, so that terms can be added."""


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
        self._open: psycopg.Connection[Any] | None = None

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """Open connection, whose search path has the schema of the export."""
        if self._open is None:
            self._open = psycopg.connect(self.location, autocommit=True)
            name = self.description["settings"]["schema"].replace('"', '""')
            self._open.execute(f'SET search_path TO "{name}", public')
        return self._open

    def load(self, say: Callable[[str], None]) -> None:
        """Create the tables, and load the pieces that are not loaded yet."""
        for statement in (self.folder / "schema" / "tables.sql").read_text(encoding="utf-8").split(";\n"):
            if statement.strip():
                self.connection.execute(statement)
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
        for statement in (self.folder / "schema" / "indexes.sql").read_text(encoding="utf-8").split(";\n"):
            if statement.strip():
                self.connection.execute(statement)
        for changes in self.description.get("changes", ()):
            self.update(self.folder / changes, say)

    def update(self, changes: Path, say: Callable[[str], None]) -> None:
        """Apply the changes of a later export, once."""
        name = f"changes/{changes.name}"
        if self.connection.execute("SELECT 1 FROM export_pieces WHERE name = %s", (name,)).fetchone():
            say(f"{changes} is applied already")
            return
        with self.connection.transaction():
            self.connection.execute((changes / "changes.sql").read_bytes())
            if self.sparse is not None:
                for part in self.description["parts"]:
                    if part["kind"] == "sparse":
                        self.connection.execute(f"REFRESH MATERIALIZED VIEW {part['field']}_sparse".encode())
            self.connection.execute("INSERT INTO export_pieces VALUES (%s)", (name,))
        say(f"applied {changes}")

    def parsed_filter(self, text: str | None) -> str | None:
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
