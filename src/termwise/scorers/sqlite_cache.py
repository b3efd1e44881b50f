"""Files of SQLite in which results are kept from one run to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from termwise.display.safe_text import shown
from termwise.errors import DataError, StorageError
from termwise.validation import check, check_path

_AT_ONCE = 200
"""Keys asked for in one statement, below the number of parameters that every SQLite takes."""

_PATIENCE = 60.0
"""Seconds to wait for another process."""


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
        If it cannot be opened or written, or another process writes it for longer than a minute.
    """

    def __init__(self, kind: Kept, path: str | Path | None = None) -> None:
        if path is not None:
            check_path(f"the file of {kind.noun}", path)
            check(f"the file of {kind.noun}", path, "\0" not in str(path), "a path")
        self._kind = kind
        self._path = None if path is None else Path(path)
        with self._told():
            self._open = sqlite3.connect(
                ":memory:" if self._path is None else self._path,
                timeout=_PATIENCE,
                isolation_level=None,
                check_same_thread=False,
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
        with self._told(), self._writing():
            self._open.executemany(
                f"INSERT OR REPLACE INTO {self._kind.table} VALUES (?, ?, ?)",
                ((_utf8(owner), key, value) for key, value in zip(keys, values, strict=True)),
            )

    def __len__(self) -> int:
        with self._told():
            return int(self._open.execute(f"SELECT count(*) FROM {self._kind.table}").fetchone()[0])

    def _prepare(self) -> None:
        kind = self._kind
        if not self._tables():
            with self._writing():
                if not self._tables():  # unless another process has made them by now
                    self._open.execute(f"PRAGMA application_id = {kind.application}")
                    self._open.execute(f"PRAGMA user_version = {kind.version}")
                    self._open.execute(
                        f"CREATE TABLE {kind.table} ({kind.owner} TEXT NOT NULL, "
                        f"{kind.key} BLOB NOT NULL, {kind.value} {kind.column} NOT NULL, "
                        f"PRIMARY KEY ({kind.owner}, {kind.key})) WITHOUT ROWID"
                    )
        mark = self._open.execute("PRAGMA application_id").fetchone()[0]
        version = self._open.execute("PRAGMA user_version").fetchone()[0]
        if mark != kind.application or version != kind.version:
            raise self._unfit(("version", version), ("expected", kind.version))
        columns = [row[1] for row in self._open.execute(f"PRAGMA table_info({kind.table})")]
        expected = [kind.owner, kind.key, kind.value]
        if columns != expected:
            raise self._unfit(("columns", ", ".join(columns)), ("expected", ", ".join(expected)))

    def _tables(self) -> int:
        return int(self._open.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write alone: all of it, or nothing where something fails."""
        self._open.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._open.execute("COMMIT")
        except BaseException:
            if self._open.in_transaction:
                self._open.execute("ROLLBACK")
            raise

    def _unfit(self, *facts: tuple[str, object]) -> DataError:
        return DataError(
            f"this file is no store of {self._kind.noun} that this version of termwise can read",
            facts=[("file", self._path), *facts],
            fixes=self._other_file(),
        )

    def _other_file(self) -> list[str]:
        """Return what to do about a file that cannot be used; only one of ours is to be deleted."""
        fixes = ["name another file"]
        if self._path is not None and self._path.is_file() and is_kept(self._kind, self._path):
            fixes.append(f"delete it: {self._kind.noun} can be computed again")
        return fixes

    def damaged(self, value: object) -> DataError:
        """Return the error for a value that is none of this kind."""
        return DataError(
            f"the file of {self._kind.noun} is damaged",
            facts=[("file", self._path or "in memory"), ("seen", shown(value))],
            fixes=self._other_file(),
        )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what SQLite complains of as an error of ours."""
        noun = self._kind.noun
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_INTERNAL) & 0xFF
            if code == sqlite3.SQLITE_ERROR:
                raise self._unfit(("SQLite says", error)) from error
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise StorageError(
                    f"another process is writing the file of {noun}",
                    facts=[("file", self._path), ("waited", f"{_PATIENCE:g} seconds")],
                    fixes=["wait until it is done", "name another file"],
                ) from error
            raise StorageError(
                f"the file of {noun} cannot be used",
                facts=[("file", self._path), ("SQLite says", error)],
                fixes=["name a file in a folder that can be written, on a disk with room"],
            ) from error
        except sqlite3.ProgrammingError as error:
            raise StorageError(
                f"the file of {noun} is closed", facts=[("file", self._path), ("SQLite says", error)]
            ) from error
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"the file of {noun} is damaged, or is something else",
                facts=[("file", self._path), ("SQLite says", error)],
                fixes=self._other_file(),
            ) from error


def _utf8(owner: str) -> str:
    """Return a name as SQLite takes it: a byte that is no UTF-8, from a command line, becomes an escape."""
    return owner.encode("utf-8", "backslashreplace").decode("utf-8")
