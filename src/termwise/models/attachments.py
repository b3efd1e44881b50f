"""What an index keeps of its model besides rows, and what the query side reads from it.

``collection-frequencies``
    cf of each term, int64 of shape (V,): an index of shares (``ml``) does not tell them otherwise.
``translation-starts``, ``translation-sources``, ``translation-chances``
    Which words translate to each term and how likely: boundaries, int64 of shape (V + 1,); sources, uint16, or uint32
    where there are more than 65,536 terms; T(t|u), float16. Restricted to words that the collection holds, and only
    read to explain a weight.

All little-endian. The index knows the SHA-256 of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.errors import CorruptIndexError

FREQUENCIES = "collection-frequencies"
STARTS, SOURCES, CHANCES = "translation-starts", "translation-sources", "translation-chances"

_SHORT = 1 << 16


class TranslationColumns(NamedTuple):
    """Translation probabilities by target.

    Attributes
    ----------
    starts : ndarray of shape (V + 1,), int64
        Boundaries of the targets in the two arrays that follow.
    sources : ndarray of shape (entries,), an unsigned type
        Increasing for each target.
    chances : ndarray of shape (entries,), float16
        T(t|u), without self-translation.
    """

    starts: npt.NDArray[np.int64]
    sources: npt.NDArray[np.unsignedinteger]
    chances: npt.NDArray[np.float16]

    def files(self) -> dict[str, bytes]:
        """Return the files an index keeps."""
        short = len(self.starts) - 1 <= _SHORT
        return {
            STARTS: self.starts.astype("<i8").tobytes(),
            SOURCES: self.sources.astype("<u2" if short else "<u4").tobytes(),
            CHANCES: self.chances.astype("<f2").tobytes(),
        }

    @classmethod
    def read(cls, attachment: Callable[[str], bytes], n_terms: int) -> TranslationColumns:
        """Read the files of an index over V terms.

        Raises
        ------
        CorruptIndexError
            If the arrays do not fit each other or the index.
        """
        starts = np.frombuffer(attachment(STARTS), dtype="<i8")
        sources = np.frombuffer(attachment(SOURCES), dtype="<u2" if n_terms <= _SHORT else "<u4")
        chances = np.frombuffer(attachment(CHANCES), dtype="<f2")
        fit = len(starts) == n_terms + 1 and starts[0] == 0 and starts[-1] == len(sources) == len(chances)
        if not fit or (np.diff(starts) < 0).any() or (len(sources) and sources.max() >= n_terms):
            raise _odd(STARTS, n_terms)
        return cls(starts, sources, chances)

    def column(self, term: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the words that translate to a term, and how likely each does."""
        entries = slice(int(self.starts[term]), int(self.starts[term + 1]))
        return self.sources[entries].astype(np.int64), self.chances[entries].astype(np.float64)


def read_frequencies(data: bytes, n_terms: int) -> npt.NDArray[np.int64]:
    """Read cf of each term.

    Raises
    ------
    CorruptIndexError
        If there is not one number for each term.
    """
    if len(data) != 8 * n_terms:
        raise _odd(FREQUENCIES, n_terms)
    return np.frombuffer(data, dtype="<i8")


def _odd(name: str, n_terms: int) -> CorruptIndexError:
    return CorruptIndexError(
        "a file that the index keeps does not fit its vocabulary",
        facts=[("file", name), ("terms", n_terms)],
        fixes=["build the index again"],
    )
