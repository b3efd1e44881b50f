"""Scores that are kept from one run to the next, in a file of SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from termwise.scorers.sqlite_cache import Kept, KeptFile, is_kept
from termwise.validation import check, check_pairs

_SCORES = Kept(
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
    >>> with ScoreCache() as store:
    ...     store.add("sha256:1", ["q"], ["a text"], [0.5])
    ...     store.find("sha256:1", ["q", "q"], ["another", "a text"])
    array([nan, 0.5])
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._file = KeptFile(_SCORES, path)

    def __enter__(self) -> ScoreCache:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    @staticmethod
    def is_at(path: Path) -> bool:
        """Tell whether a file is a store of scores, of whatever version; it is only read."""
        return is_kept(_SCORES, path)

    def close(self) -> None:
        """Close the file; nothing is lost."""
        self._file.close()

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

        Raises
        ------
        DataError
            If the file is damaged.
        StorageError
            If it cannot be read, or is closed.
        """
        keys = _keys(queries, texts)
        known = self._file.find(scorer, keys)
        for score in known.values():
            if not isinstance(score, float):
                raise self._file.damaged(score)
        return np.array([known.get(key, np.nan) for key in keys], dtype=np.float64)

    def add(
        self,
        scorer: str,
        queries: Sequence[str],
        texts: Sequence[str],
        scores: Sequence[float] | npt.NDArray[np.float64],
    ) -> None:
        """Keep scores; one that is there already is replaced.

        Raises
        ------
        ParameterError
            If there is not one for each pair, or one is NaN.
        StorageError
            If the file cannot be written, or is closed.
        """
        check_pairs(queries, texts)
        given = np.asarray(scores, dtype=np.float64)
        fits = given.shape == (len(texts),) and not np.isnan(given).any()
        check("scores", scores, fits, "a number for each pair")
        self._file.add(scorer, _keys(queries, texts), given.tolist())

    def __len__(self) -> int:
        """Scores that are kept, of all scorers."""
        return len(self._file)


def _keys(queries: Sequence[str], texts: Sequence[str]) -> list[bytes]:
    """Return a digest of each pair; the one of a query or text is made once."""
    digests: dict[str, bytes] = {}

    def digest(text: str) -> bytes:
        found = digests.get(text)
        if found is None:
            found = digests[text] = text_digest(text)
        return found

    return [digest(query) + digest(text) for query, text in zip(queries, texts, strict=True)]


def text_digest(text: str) -> bytes:
    """Return 16 bytes that stand for a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
