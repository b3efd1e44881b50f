"""Persistent cache of scores, in a SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from termwise.scorers.sqlite_cache import CacheSchema, SqliteCache, is_cache_file, text_key
from termwise.validation import check, check_pairs

_SCORES = CacheSchema(
    noun="scores",
    application=0x74776373,
    version=1,
    table="scores",
    owner="scorer",
    key="pair",
    value="score",
    column="REAL",
)


class ScoreCache:
    """Scores by scorer, query and text.

    Keys are the fingerprint of the scorer and 16-byte digests of query and text; texts are not stored. Scores are
    durable once `add` returns, so interrupted work continues where it stopped. Several processes can use one file.

    Parameters
    ----------
    path : str or Path, optional
        Created if it does not exist. In memory unless given.

    Raises
    ------
    DataError
        If the file is not a score cache, or is damaged.
    StorageError
        If it cannot be opened or written.

    Examples
    --------
    >>> with ScoreCache() as cache:
    ...     cache.add("sha256:1", ["q"], ["a text"], [0.5])
    ...     cache.find("sha256:1", ["q", "q"], ["another", "a text"])
    array([nan, 0.5])
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._file = SqliteCache(_SCORES, path)

    def __enter__(self) -> ScoreCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def is_at(path: Path) -> bool:
        """Return whether a file is a score cache of any version; the file is only read."""
        return is_cache_file(_SCORES, path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def find(self, scorer: str, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the cached scores.

        Parameters
        ----------
        scorer : str
            Fingerprint.
        queries, texts : sequence of str of length n

        Returns
        -------
        ndarray of shape (n,), float64
            NaN for a pair without a score.

        Raises
        ------
        DataError
            If the file is damaged.
        StorageError
            If it cannot be read, or is closed.
        """
        keys = _keys(queries, texts)
        scores = self._file.find(scorer, keys)
        for score in scores.values():
            if not isinstance(score, float):
                raise self._file.damaged(score)
        return np.array([scores.get(key, np.nan) for key in keys], dtype=np.float64)

    def add(
        self,
        scorer: str,
        queries: Sequence[str],
        texts: Sequence[str],
        scores: Sequence[float] | npt.NDArray[np.float64],
    ) -> None:
        """Add scores, replacing those of the same pairs.

        Raises
        ------
        ParameterError
            If there is not one score for each pair, or one is NaN.
        StorageError
            If the file cannot be written, or is closed.
        """
        check_pairs(queries, texts)
        values = np.asarray(scores, dtype=np.float64)
        holds = values.shape == (len(texts),) and not np.isnan(values).any()
        check("scores", scores, holds, "a number for each pair")
        self._file.add(scorer, _keys(queries, texts), values.tolist())

    def __len__(self) -> int:
        """Return the number of scores of all scorers."""
        return len(self._file)


def _keys(queries: Sequence[str], texts: Sequence[str]) -> list[bytes]:
    """Return a key for each pair; each distinct query or text is hashed once."""
    digests = {text: text_key(text) for text in {*queries, *texts}}
    return [digests[query] + digests[text] for query, text in zip(queries, texts, strict=True)]
