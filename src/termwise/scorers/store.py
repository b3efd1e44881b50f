"""Scores that are kept from one run to the next, in a file of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, StorageError

_APPLICATION = 0x74776373
"""Marks a file of SQLite as one of ours."""

_VERSION = 1

_AT_ONCE = 200
"""Pairs asked for in one statement, below the number of parameters that every SQLite takes."""


class ScoreStore:
    """Scores by scorer, query and text.

    A scorer is known by its fingerprint, queries and texts by a digest of 16 bytes: no text is kept. What was added is
    safe once `add` returns, so that work that is interrupted goes on where it stopped. Several processes may use one
    file.

    Parameters
    ----------
    path : str or Path, optional
        The file; made if there is none. In memory, and gone with the object, unless given.

    Raises
    ------
    DataError
        If the file is no store of scores, or damaged.
    StorageError
        If it cannot be opened or written.

    Examples
    --------
    >>> with ScoreStore() as store:
    ...     store.add("sha256:1", ["q"], ["a text"], [0.5])
    ...     store.find("sha256:1", ["q", "q"], ["another", "a text"])
    array([nan, 0.5])
    """

    def __init__(self, path: str | Path | None = None) -> None:
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

    def __enter__(self) -> ScoreStore:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; nothing is lost."""
        self._open.close()

    def find(self, scorer: str, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the scores that are kept.

        Parameters
        ----------
        scorer : str
            Fingerprint.
        queries, texts : sequence of str of length n

        Returns
        -------
        ndarray of shape (n,), float64
            NaN where a pair has none.
        """
        keys = _keys(queries, texts)
        known: dict[bytes, float] = {}
        wanted = list(dict.fromkeys(keys))
        with self._told():
            for begin in range(0, len(wanted), _AT_ONCE):
                part = wanted[begin : begin + _AT_ONCE]
                marks = ",".join("?" * len(part))
                known.update(
                    self._open.execute(
                        f"SELECT pair, score FROM scores WHERE scorer = ? AND pair IN ({marks})",
                        (scorer, *part),
                    )
                )
        return np.array([known.get(key, np.nan) for key in keys], dtype=np.float64)

    def add(
        self,
        scorer: str,
        queries: Sequence[str],
        texts: Sequence[str],
        scores: Sequence[float] | npt.NDArray[np.float64],
    ) -> None:
        """Keep scores; one that is there already is replaced."""
        rows = zip(_keys(queries, texts), np.asarray(scores, dtype=np.float64).tolist(), strict=True)
        with self._told(), self._open:
            self._open.executemany(
                "INSERT OR REPLACE INTO scores VALUES (?, ?, ?)",
                ((scorer, key, score) for key, score in rows),
            )

    def __len__(self) -> int:
        """Scores that are kept, of all scorers."""
        with self._told():
            return int(self._open.execute("SELECT count(*) FROM scores").fetchone()[0])

    def _prepare(self) -> None:
        mark = self._open.execute("PRAGMA application_id").fetchone()[0]
        version = self._open.execute("PRAGMA user_version").fetchone()[0]
        tables = self._open.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and (mark != _APPLICATION or version != _VERSION):
            raise DataError(
                "this file is no store of scores that this version of termwise can read",
                facts=[("file", self._path), ("version", version), ("expected", _VERSION)],
                fixes=["name another file", "delete it: scores can be computed again"],
            )
        with self._open:
            self._open.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._open.execute(f"PRAGMA user_version = {_VERSION}")
            self._open.execute(
                "CREATE TABLE IF NOT EXISTS scores (scorer TEXT NOT NULL, pair BLOB NOT NULL, score REAL NOT NULL, "
                "PRIMARY KEY (scorer, pair)) WITHOUT ROWID"
            )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what SQLite complains of as an error of ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(
                "the file of scores cannot be used",
                facts=[("file", self._path), ("SQLite says", error)],
                fixes=["name a file in a folder that can be written, on a disk with room"],
            ) from error
        except sqlite3.DatabaseError as error:
            raise DataError(
                "the file of scores is damaged, or is something else",
                facts=[("file", self._path), ("SQLite says", error)],
                fixes=["name another file", "delete it: scores can be computed again"],
            ) from error


def _keys(queries: Sequence[str], texts: Sequence[str]) -> list[bytes]:
    """Return a digest of each pair; the one of a query or text is made once."""
    digests: dict[str, bytes] = {}

    def digest(text: str) -> bytes:
        found = digests.get(text)
        if found is None:
            found = digests[text] = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        return found

    return [digest(query) + digest(text) for query, text in zip(queries, texts, strict=True)]
