"""Cache of term rows by text, so that a text is weighed once for all queries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from termwise.weights import TermWeights

CAPACITY = 50_000
"""Rows in a cache."""

Row = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""Terms, strictly increasing, and a number for each."""

T = TypeVar("T")


class RowCache(Generic[T]):
    """Least-recently-used cache of rows; safe for several threads.

    Parameters
    ----------
    compute : callable
        Returns a row for each text.
    capacity : int, optional

    Examples
    --------
    >>> def compute(texts):
    ...     print("computes", texts)
    ...     return [(np.array([len(text)], np.int32), np.ones(1, np.float32)) for text in texts]
    >>> cache = RowCache(compute)
    >>> len(cache.rows(["a", "b"])), len(cache.rows(["b", "c"]))
    computes ['a', 'b']
    computes ['c']
    (2, 2)
    """

    def __init__(self, compute: Callable[[Sequence[str]], Iterable[T]], *, capacity: int = CAPACITY) -> None:
        self._compute = compute
        self._capacity = capacity
        self._rows: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def rows(self, texts: Sequence[str]) -> list[T]:
        """Return the row of each text."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._rows]
            if missing:
                self._rows.update(zip(missing, self._compute(missing), strict=True))
            rows = [self._rows[text] for text in texts]
            for text in texts:
                self._rows.move_to_end(text)
            while len(self._rows) > self._capacity:
                self._rows.popitem(last=False)
        return rows


def stack_rows(rows: Sequence[Row], vocabulary: str) -> TermWeights:
    """Return rows as one matrix over the vocabulary with this identifier."""
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(terms) for terms, _ in rows], out=indptr[1:])
    return TermWeights(
        indptr,
        np.concatenate([np.empty(0, np.int32), *(terms for terms, _ in rows)]),
        np.concatenate([np.empty(0, np.float32), *(values for _, values in rows)]),
        vocabulary,
    )
