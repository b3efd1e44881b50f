"""Long documents, cut into overlapping windows so that every piece is read."""

from __future__ import annotations

from collections.abc import Iterator

from termwise.errors import ParameterError


def cut_windows(pieces: int, *, size: int, overlap: int) -> list[tuple[int, int]]:
    """Cut a document into windows.

    Each window after the first begins ``size - overlap`` pieces later than the one before. The last is moved back so
    that it ends with the document and is as long as the others; it may overlap its neighbour more.

    Parameters
    ----------
    pieces : int
        Pieces of the document, special ones not counted; 0 or more.
    size : int
        Largest number of pieces in a window, 1 or more.
    overlap : int
        Pieces that neighbours share, from 0 to ``size - 1``.

    Returns
    -------
    list of (int, int)
        Start and end of each window, the end exclusive. Together they cover the document. A document that fits is one
        window; an empty one has none.

    Examples
    --------
    >>> cut_windows(10, size=4, overlap=1)
    [(0, 4), (3, 7), (6, 10)]
    >>> cut_windows(11, size=4, overlap=1)
    [(0, 4), (3, 7), (6, 10), (7, 11)]
    >>> cut_windows(3, size=4, overlap=1), cut_windows(0, size=4, overlap=1)
    ([(0, 3)], [])
    """
    if pieces == 0:
        return []
    starts = [*range(0, pieces - size, size - overlap), max(0, pieces - size)]
    return [(start, min(start + size, pieces)) for start in starts]


def window_sizes(*, length: int, overlap: int | None, positions: int) -> tuple[int, int]:
    """Return how many pieces of text a window holds, and how many of them neighbours share.

    Parameters
    ----------
    length : int
        Pieces of a window, two of them special.
    overlap : int or None
        Pieces that neighbours share; None for an eighth of a window.
    positions : int
        Largest number of pieces the network can read.

    Raises
    ------
    ParameterError
        If windows are longer than `positions`, or do not hold more pieces than they share.

    Examples
    --------
    >>> window_sizes(length=128, overlap=None, positions=512)
    (126, 15)
    """
    size = length - 2
    if length > positions:
        raise ParameterError(
            "windows are longer than what the encoder can read",
            facts=[("length", length), ("most", positions)],
            fixes=[f"--set length={positions}"],
        )
    shared = size // 8 if overlap is None else overlap
    if shared >= size:
        raise ParameterError(
            "windows share more pieces than they have",
            facts=[("overlap", overlap), ("pieces of a window", size)],
            fixes=[f"--set overlap={max(0, size // 8)}"],
        )
    return size, shared


def chunks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most `size` that cover ``range(count)``.

    Examples
    --------
    >>> list(chunks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, count, size):
        yield start, min(start + size, count)
