"""Additional index files of a model: collection frequencies and translation probabilities.

``collection-frequencies``
    cf of each term, int64 of shape (V,). The model ``ml`` needs it, because its weights do not contain cf.
``translation-starts``, ``translation-sources``, ``translation-chances``
    Source words and probabilities of each target term: boundaries, int64 of shape (V + 1,); sources, uint16, or uint32
    for more than 65,536 terms; T(t|u), float16. Only words of the collection are kept. Explanations read these files.

All numbers are little-endian. The manifest of the index holds the SHA-256 of each file.
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
    """Translation probabilities by target term.

    `starts`, int64 of shape (V + 1,), has the boundaries of the targets in `sources`, source terms that increase for
    each target, and `chances`, float16: T(t|u), without self-translation.
    """

    starts: npt.NDArray[np.int64]
    sources: npt.NDArray[np.unsignedinteger]
    chances: npt.NDArray[np.float16]

    def files(self) -> dict[str, bytes]:
        """Return the contents of the index files by name."""
        short = len(self.starts) - 1 <= _SHORT
        return {
            STARTS: self.starts.astype("<i8").tobytes(),
            SOURCES: self.sources.astype("<u2" if short else "<u4").tobytes(),
            CHANCES: self.chances.astype("<f2").tobytes(),
        }

    @classmethod
    def read(cls, attachment: Callable[[str], bytes], n_terms: int) -> TranslationColumns:
        """Read the columns from the files of an index with V terms, or raise `CorruptIndexError` if they do not fit."""
        starts = np.frombuffer(attachment(STARTS), dtype="<i8")
        sources = np.frombuffer(attachment(SOURCES), dtype="<u2" if n_terms <= _SHORT else "<u4")
        chances = np.frombuffer(attachment(CHANCES), dtype="<f2")
        fit = len(starts) == n_terms + 1 and starts[0] == 0 and starts[-1] == len(sources) == len(chances)
        if not fit or (np.diff(starts) < 0).any() or (len(sources) and sources.max() >= n_terms):
            raise _corrupt(STARTS, n_terms)
        return cls(starts, sources, chances)

    def column(self, term: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the source words of a target term, and their probabilities T(term|u)."""
        entries = slice(int(self.starts[term]), int(self.starts[term + 1]))
        return self.sources[entries].astype(np.int64), self.chances[entries].astype(np.float64)


def read_frequencies(data: bytes, n_terms: int) -> npt.NDArray[np.int64]:
    """Read the collection frequencies of V terms, shape (V,), or raise `CorruptIndexError` if their number differs."""
    if len(data) != 8 * n_terms:
        raise _corrupt(FREQUENCIES, n_terms)
    return np.frombuffer(data, dtype="<i8")


def _corrupt(name: str, n_terms: int) -> CorruptIndexError:
    return CorruptIndexError(
        "an additional file of the index does not fit its vocabulary",
        facts=[("file", name), ("terms", n_terms)],
        fixes=["build the index again"],
    )
