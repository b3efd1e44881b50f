"""Files of SQLite in which results are kept from one run to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from termwise.errors import DataError, StorageError

_AT_ONCE = 200
"""Keys asked for in one statement, below the number of parameters that every SQLite takes."""


@dataclass(frozen=True)
class Kept:
    """What a kind of file holds: one table, from an owner and a key to a value.

    Attributes
    ----------
    noun : str
        The values, as messages name them.
    application, version : int
        Mark a file as one of this kind.
    table, owner, key, value : str
        Names of the table and its columns.
    column : str
        What SQLite calls the type of the values.
    """

    noun: str
    application: int
    version: int
    table: str
    owner: str
    key: str
    value: str
    column: str


def is_kept(kind: Kept, path: Path) -> bool:
    """Tell whether a file is one of this kind, of whatever version, or empty as a new one is; it is only read."""
    with path.open("rb") as file:
        header = file.read(100)
    return not header or (
        header.startswith(b"SQLite format 3\0") and header[68:72] == kind.application.to_bytes(4, "big")
    )


class KeptFile:
    """One file; several processes may use it, and what was added is safe once `add` returns.

    Parameters
    ----------
    kind : Kept
    path : str or Path, optional
        Made if there is none. In memory, and gone with the object, unless given.

    Raises
    ------
    DataError
        If the file is of another kind, or damaged.
    StorageError
        If it cannot be opened or written.
    """

    def __init__(self, kind: Kept, path: str | Path | None = None) -> None:
        self._kind = kind
        self._path = None if path is None else Path(path)
        with self._told():
            self._open = sqlite3.connect(
                ":memory:" if self._path is None else self._path, timeout=60, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._open.close()
                raise

    def close(self) -> None:
        """Close the file; nothing is lost."""
        self._open.close()

    def find(self, owner: str, keys: Sequence[bytes]) -> Mapping[bytes, Any]:
        """Return the values that are kept, by key."""
        found: dict[bytes, Any] = {}
        wanted = list(dict.fromkeys(keys))
        kind = self._kind
        with self._told():
            for begin in range(0, len(wanted), _AT_ONCE):
                part = wanted[begin : begin + _AT_ONCE]
                marks = ",".join("?" * len(part))
                found.update(
                    self._open.execute(
                        f"SELECT {kind.key}, {kind.value} FROM {kind.table} "
                        f"WHERE {kind.owner} = ? AND {kind.key} IN ({marks})",
                        (_utf8(owner), *part),
                    )
                )
        return found

    def add(self, owner: str, keys: Sequence[bytes], values: Sequence[Any]) -> None:
        """Keep values; one that is there already is replaced."""
        with self._told(), self._open:
            self._open.executemany(
                f"INSERT OR REPLACE INTO {self._kind.table} VALUES (?, ?, ?)",
                ((_utf8(owner), key, value) for key, value in zip(keys, values, strict=True)),
            )

    def __len__(self) -> int:
        with self._told():
            return int(self._open.execute(f"SELECT count(*) FROM {self._kind.table}").fetchone()[0])

    def _prepare(self) -> None:
        kind = self._kind
        mark = self._open.execute("PRAGMA application_id").fetchone()[0]
        version = self._open.execute("PRAGMA user_version").fetchone()[0]
        tables = self._open.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and (mark != kind.application or version != kind.version):
            raise self._unfit(("version", version), ("expected", kind.version))
        if not tables:
            with self._open:
                self._open.execute(f"PRAGMA application_id = {kind.application}")
                self._open.execute(f"PRAGMA user_version = {kind.version}")
                self._open.execute(
                    f"CREATE TABLE IF NOT EXISTS {kind.table} ({kind.owner} TEXT NOT NULL, "
                    f"{kind.key} BLOB NOT NULL, {kind.value} {kind.column} NOT NULL, "
                    f"PRIMARY KEY ({kind.owner}, {kind.key})) WITHOUT ROWID"
                )
        columns = [row[1] for row in self._open.execute(f"PRAGMA table_info({kind.table})")]
        expected = [kind.owner, kind.key, kind.value]
        if columns != expected:
            raise self._unfit(("columns", ", ".join(columns)), ("expected", ", ".join(expected)))

    def _unfit(self, *facts: tuple[str, object]) -> DataError:
        noun = self._kind.noun
        return DataError(
            f"this file is no store of {noun} that this version of termwise can read",
            facts=[("file", self._path), *facts],
            fixes=["name another file", f"delete it: {noun} can be computed again"],
        )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what SQLite complains of as an error of ours."""
        noun = self._kind.noun
        try:
            yield
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
                raise self._unfit(("SQLite says", error)) from error
            raise StorageError(
                f"the file of {noun} cannot be used",
                facts=[("file", self._path), ("SQLite says", error)],
                fixes=["name a file in a folder that can be written, on a disk with room"],
            ) from error
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"the file of {noun} is damaged, or is something else",
                facts=[("file", self._path), ("SQLite says", error)],
                fixes=["name another file", f"delete it: {noun} can be computed again"],
            ) from error


def _utf8(owner: str) -> str:
    """Return a name as SQLite takes it: a byte that is no UTF-8, from a command line, becomes an escape."""
    return owner.encode("utf-8", "backslashreplace").decode("utf-8")
