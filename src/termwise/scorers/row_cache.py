"""Rows of texts that were read before, so that a text is read once however many queries it is scored for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt

from termwise.weights import TermWeights

MOST = 50_000
"""Rows that are kept, at the most."""

Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""Terms, strictly increasing, and a number for each."""


class RowCache:
    """Rows by text; those that were asked for longest ago are forgotten first.

    Parameters
    ----------
    read : callable
        Returns a row for each text.
    most : int, optional
        Rows that are kept.

    Examples
    --------
    >>> def read(texts):
    ...     print("reads", texts)
    ...     return [(np.array([len(text)], np.int32), np.ones(1, np.float32)) for text in texts]
    >>> memory = RowCache(read)
    >>> len(memory.rows(["a", "b"])), len(memory.rows(["b", "c"]))
    reads ['a', 'b']
    reads ['c']
    (2, 2)
    """

    def __init__(self, read: Callable[[Sequence[str]], Iterable[Row]], *, most: int = MOST) -> None:
        self._read = read
        self._most = most
        self._known: OrderedDict[str, Row] = OrderedDict()
        self._lock = Lock()

    def rows(self, texts: Sequence[str]) -> list[Row]:
        """Return the row of each text."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._known]
            if missing:
                self._known.update(zip(missing, self._read(missing), strict=True))
            found = [self._known[text] for text in texts]
            for text in texts:
                self._known.move_to_end(text)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return found


def joined(rows: Sequence[Row], vocabulary: str) -> TermWeights:
    """Return rows one after the other.

    Parameters
    ----------
    rows : sequence of Row
    vocabulary : str
        Identifier of the vocabulary.
    """
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(terms) for terms, _ in rows], out=indptr[1:])
    return TermWeights(
        indptr,
        np.concatenate([np.empty(0, np.int32), *(terms for terms, _ in rows)]),
        np.concatenate([np.empty(0, np.float32), *(values for _, values in rows)]),
        vocabulary,
    )
