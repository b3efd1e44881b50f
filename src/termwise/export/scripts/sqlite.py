"""SQLite: the export is the database data/index.sqlite, which needs no loading.

LOCATION is the path of the database; by default the one of the export.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from linear_sql import ExportState, best_documents, search_sql


class Engine:
    """SQLite database of an export."""

    def __init__(self, folder: Path, location: str | None = None) -> None:
        self.folder = folder
        self.description: Mapping[str, Any] = json.loads((folder / "export.json").read_bytes())
        self.path = Path(location) if location else folder / "data" / "index.sqlite"
        self._open: sqlite3.Connection | None = None
        self.state = ExportState(self.description, self.rows)

    @property
    def connection(self) -> sqlite3.Connection:
        """Open connection."""
        if self._open is None:
            if not self.path.is_file():
                raise SystemExit(f"{self.path}: there is no such file; copy data/index.sqlite there")
            self._open = sqlite3.connect(self.path)
        return self._open

    def rows(self, statement: str) -> list[Any]:
        """Return the rows of a statement."""
        return self.connection.execute(statement).fetchall()

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
        with self.connection:
            self.connection.executescript(
                f"BEGIN;\n{script}\nUPDATE export_state SET generation = {until};\nCOMMIT;"
            )
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
            sql = search_sql(query, self.description["parts"], wanted, filter)
            return [] if sql is None else self.connection.execute(sql).fetchall()

        found: list[tuple[str, float]] = best_documents(rows, k, chunked=self.description["chunked"])
        return found

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None
