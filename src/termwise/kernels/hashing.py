"""Set of 64-bit hashes, 8 bytes per slot."""

from __future__ import annotations

import numpy as np

from termwise.kernels.jit import Array, compiled


@compiled
def insert_hashes(table: Array, hashes: Array) -> int:
    """Insert hashes into an open-addressing table, up to the first that the table contains already.

    Parameters
    ----------
    table : ndarray of shape (a power of two,), uint64
        0 marks a free slot; there must be more free slots than hashes.
    hashes : ndarray of shape (n,), uint64
        Hashes to insert, not 0.

    Returns
    -------
    int
        Position of the first hash that the table contained already (earlier ones are inserted), or n.
    """
    mask = np.uint64(len(table) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & mask
        while table[slot] != 0:
            if table[slot] == hashes[i]:
                return i
            slot = (slot + np.uint64(1)) & mask
        table[slot] = hashes[i]
    return len(hashes)
