"""Internal order of the documents of a segment, computed from its postings."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np
import numpy.typing as npt

from termwise.kernels.bisection import bisect_all, cut

LEAF = 32
"""Sets of at most this many documents are not cut."""

ROUNDS = 12
"""Largest number of rounds of swaps per cut."""


def document_order(
    indptr: npt.NDArray[np.int64],
    terms: npt.NDArray[np.unsignedinteger],
    *,
    n_terms: int,
    threads: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> npt.NDArray[np.int32]:
    """Number the documents so that similar ones are neighbours.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries of the forward view.
    terms : ndarray of shape (nnz,), uint16 or uint32
        Term numbers; the array may be a mapped file.
    n_terms : int
        Size of the vocabulary.
    threads : int
        Threads to use; the result does not depend on it.
    progress : callable, optional
        Called with the number of placed documents and the total.

    Returns
    -------
    ndarray of shape (n,), int32
        Row of each document in the new order. The computation needs about ``8 n + 20 n_terms * threads`` more bytes.
    """
    n_documents = len(indptr) - 1
    order = np.arange(n_documents, dtype=np.int32)
    if n_documents <= LEAF:
        return order
    log2 = np.log2(np.maximum(np.arange(n_documents + 2), 1)).astype(np.float32)
    gains = np.empty(n_documents, dtype=np.float32)
    alone = max(LEAF, n_documents // (4 * threads))
    placed = 0

    def split(first: int, last: int) -> list[tuple[int, int]]:
        """Cut a large set and return its halves, or order a small one completely and return none."""
        once = last - first > alone
        bisect_all(indptr, terms, order, first, last, LEAF, once, ROUNDS, log2, n_terms, gains)
        middle = int(cut(first, last, LEAF))
        return [(first, middle), (middle, last)] if once else []

    with ThreadPoolExecutor(threads) as pool:
        running: dict[Future[list[tuple[int, int]]], int] = {pool.submit(split, 0, n_documents): n_documents}
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                size = running.pop(future)
                halves = future.result()
                for first, last in halves:
                    running[pool.submit(split, first, last)] = last - first
                if not halves:
                    placed += size
                    progress(placed, n_documents)
    return order
