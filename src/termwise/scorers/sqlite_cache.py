"""SQLite files that cache computed values by owner and key."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from termwise.display.safe_text import shown
from termwise.errors import DataError, StorageError
from termwise.fast_dataclass import dataclass
from termwise.validation import check_path

_KEYS_PER_QUERY = 200
"""Number of keys per statement, below the limit of every build of SQLite."""

_LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process."""


@dataclass(frozen=True)
class CacheSchema:
    """Contents of a kind of cache file: one table that maps an owner and a key to a value.

    `noun` names the values in messages. `application` and `version` are the ``application_id`` and ``user_version`` of
    the SQLite file, and `column` is the SQLite type of the values.
    """

    noun: str
    application: int
    version: int
    table: str
    owner: str
    key: str
    value: str
    column: str


def is_cache_file(schema: CacheSchema, path: Path) -> bool:
    """Return whether a file is empty or has the application id of this schema in any version; the file is only read."""
    with path.open("rb") as file:
        header = file.read(100)
    return not header or (
        header.startswith(b"SQLite format 3\0") and header[68:72] == schema.application.to_bytes(4, "big")
    )


def text_key(text: str) -> bytes:
    """Return a 16-byte digest of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class SqliteCache:
    """Cache in one file, which several processes can use; values are durable once `add` returns.

    The file is created if it does not exist; without a path, the cache is in memory. `DataError` if the file has
    another schema or is damaged; `StorageError` if it cannot be used, or is locked for more than a minute.
    """

    def __init__(self, schema: CacheSchema, path: str | Path | None = None) -> None:
        if path is not None:
            check_path(f"the file of {schema.noun}", path)
        self._schema = schema
        self._path = None if path is None else Path(path)
        with self._typed_errors():
            self._connection = sqlite3.connect(
                ":memory:" if self._path is None else self._path,
                timeout=_LOCK_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def find(self, owner: str, keys: Sequence[bytes]) -> Mapping[bytes, Any]:
        """Return the cached values by key; keys without a value are absent."""
        values: dict[bytes, Any] = {}
        distinct = list(dict.fromkeys(keys))
        schema = self._schema
        with self._typed_errors():
            for begin in range(0, len(distinct), _KEYS_PER_QUERY):
                part = distinct[begin : begin + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(part))
                values.update(
                    self._connection.execute(
                        f"SELECT {schema.key}, {schema.value} FROM {schema.table} "
                        f"WHERE {schema.owner} = ? AND {schema.key} IN ({marks})",
                        (_utf8(owner), *part),
                    )
                )
        return values

    def add(self, owner: str, keys: Sequence[bytes], values: Sequence[Any]) -> None:
        """Add values, replacing those of the same keys."""
        with self._typed_errors(), self._transaction():
            self._connection.executemany(
                f"INSERT OR REPLACE INTO {self._schema.table} VALUES (?, ?, ?)",
                ((_utf8(owner), key, value) for key, value in zip(keys, values, strict=True)),
            )

    def __len__(self) -> int:
        with self._typed_errors():
            return self._count_rows(self._schema.table)

    def damaged(self, value: object) -> DataError:
        """Return the error for a value of a wrong type."""
        return DataError(
            f"the file of {self._schema.noun} is damaged",
            facts=[("file", self._path or "in memory"), ("value", shown(value))],
            fixes=self._replacement_fixes(),
        )

    def _prepare(self) -> None:
        schema = self._schema
        if not self._count_rows("sqlite_master"):
            with self._transaction():
                if not self._count_rows("sqlite_master"):  # unless another process has created it by now
                    self._connection.execute(f"PRAGMA application_id = {schema.application}")
                    self._connection.execute(f"PRAGMA user_version = {schema.version}")
                    self._connection.execute(
                        f"CREATE TABLE {schema.table} ({schema.owner} TEXT NOT NULL, "
                        f"{schema.key} BLOB NOT NULL, {schema.value} {schema.column} NOT NULL, "
                        f"PRIMARY KEY ({schema.owner}, {schema.key})) WITHOUT ROWID"
                    )
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if application != schema.application or version != schema.version:
            raise self._unreadable(("version", version), ("expected", schema.version))
        columns = [row[1] for row in self._connection.execute(f"PRAGMA table_info({schema.table})")]
        expected = [schema.owner, schema.key, schema.value]
        if columns != expected:
            raise self._unreadable(("columns", ", ".join(columns)), ("expected", ", ".join(expected)))

    def _count_rows(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _unreadable(self, *facts: tuple[str, object]) -> DataError:
        return DataError(
            f"this version of termwise cannot read the file as a cache of {self._schema.noun}",
            facts=[("file", self._path), *facts],
            fixes=self._replacement_fixes(),
        )

    def _replacement_fixes(self) -> list[str]:
        """Return the fixes for an unusable file; deletion is suggested only for a file with the same application id."""
        fixes = ["name another file"]
        if self._path is not None and self._path.is_file() and is_cache_file(self._schema, self._path):
            fixes.append(f"delete it: {self._schema.noun} can be computed again")
        return fixes

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        """Translate errors of SQLite into typed errors."""
        noun = self._schema.noun
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_INTERNAL) & 0xFF
            if code == sqlite3.SQLITE_ERROR:
                raise self._unreadable(("SQLite error", error)) from error
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise StorageError(
                    f"another process is writing the file of {noun}",
                    facts=[("file", self._path), ("waited", f"{_LOCK_TIMEOUT:g} seconds")],
                    fixes=["wait until it is done", "name another file"],
                ) from error
            raise StorageError(
                f"the file of {noun} cannot be used",
                facts=[("file", self._path), ("SQLite error", error)],
                fixes=["name a file in a writable folder, on a disk with free space"],
            ) from error
        except sqlite3.ProgrammingError as error:
            raise StorageError(
                f"the file of {noun} is closed", facts=[("file", self._path), ("SQLite error", error)]
            ) from error
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"the file of {noun} is damaged or of another type",
                facts=[("file", self._path), ("SQLite error", error)],
                fixes=self._replacement_fixes(),
            ) from error


def _utf8(owner: str) -> str:
    """Return a name that SQLite accepts: bytes of a command line that are not UTF-8 become escapes."""
    return owner.encode("utf-8", "backslashreplace").decode("utf-8")
