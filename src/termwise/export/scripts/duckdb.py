"""DuckDB: the export is the database data/index.duckdb, which needs no loading. Library: duckdb.

LOCATION is the path of the database; by default the one of the export. Searches open it to be read only, so a filter,
which is SQL, cannot change it; it can read files of this machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
from linear_sql import ExportState, best_documents, search_sql


def product(column: str, vector: Sequence[float]) -> str:
    """Return the product of a column of vectors and a query vector, in 64 bits."""
    numbers = ", ".join(map(repr, map(float, vector)))
    return f"array_inner_product({column}::DOUBLE[{len(vector)}], [{numbers}]::DOUBLE[{len(vector)}])"


class Engine:
    """DuckDB database of an export."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder = folder
        self.description: Mapping[str, Any] = json.loads((folder / "export.json").read_bytes())
        self.path = Path(location) if location else folder / "data" / "index.duckdb"
        self._open: Any = None
        self.state = ExportState(self.description, self.rows)

    @property
    def connection(self) -> Any:
        """Open connection."""
        if self._open is None:
            if not self.path.is_file():
                raise SystemExit(f"{self.path}: there is no such file; copy data/index.duckdb there")
            self._open = duckdb.connect(str(self.path), read_only=True)
        return self._open

    def rows(self, statement: str) -> list[Any]:
        """Return the rows of a statement."""
        return list(self.connection.execute(statement).fetchall())

    def load(self, say: Callable[[str], None]) -> None:
        """Apply all changes: the file is the database, and holds the other data."""
        for changes in self.state.changes:
            self.update(self.folder / changes, say)
        say(f"{self.path} is ready, generation {self.generation()}")

    def update(self, changes: Path, say: Callable[[str], None]) -> None:
        """Apply the changes of a later export, once and in their order."""
        if not self.state.next_step(changes, str(self.path)):
            return
        until = int(changes.resolve().name.split("-")[1])
        script = (changes / "changes.sql").read_bytes().decode()
        self.close()  # which only reads
        with duckdb.connect(str(self.path)) as database:
            database.execute(f"BEGIN;\n{script}\nUPDATE export_state SET generation = {until};\nCOMMIT;")
        say(f"{self.path}: applied {changes}")

    def generation(self) -> int | None:
        """Return the generation that the database holds."""
        found: int | None = self.state.generation(str(self.path))
        return found

    def parsed_filter(self, text: str) -> str:
        """Return a filter of the command line: a condition in SQL on the columns of documents."""
        return text

    def search(self, query: Mapping[str, Any], k: int, filter: str | None = None) -> list[tuple[str, float]]:
        """Return the identifiers and scores of the best documents."""

        def rows(wanted: int) -> list[tuple[str, float]]:
            sql = search_sql(query, self.description["parts"], wanted, filter, product)
            return [] if sql is None else list(self.connection.execute(sql).fetchall())

        found: list[tuple[str, float]] = best_documents(rows, k, chunked=self.description["chunked"])
        return found

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None
