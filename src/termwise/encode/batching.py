"""Batches of inputs of similar length, so that little of the arithmetic is spent on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from termwise.encode.documents import Advance, unheard
from termwise.encode.pieces import joined, windows_of
from termwise.encode.session import OnnxSession
from termwise.encode.windows import chunks

PIECES = 32 * 128
"""Pieces of a batch, padding included, for networks that give numbers for a position or for a text."""

PIECES_OF_LOGITS = 8 * 128
"""The same for networks that hold a vocabulary of logits for every piece: 125 MB of them for 30,522 terms."""

DOCUMENTS = 1024
"""Documents whose windows are sorted by length together."""

WINDOWS = 4096
"""Windows whose inputs are made together."""

ROWS = 256
"""Most inputs of a batch."""


def plan_batches(
    lengths: Sequence[int], *, pieces: int = PIECES, rows: int = ROWS
) -> list[npt.NDArray[np.int64]]:
    """Group inputs by length.

    Parameters
    ----------
    lengths : sequence of int of length n
        Pieces of each input, 1 or more.
    pieces : int
        A batch of b inputs of at most l pieces has ``b * l <= pieces``, unless it is one input.
    rows : int
        Most inputs of a batch.

    Returns
    -------
    list of ndarray of int64
        Positions of the inputs of each batch; every input is in one. Longest first, so that what memory there must be
        is asked for at the start; equal lengths stay in the order of the input. The same lengths always give the
        same batches.

    Examples
    --------
    >>> [batch.tolist() for batch in plan_batches([3, 9, 4, 5], pieces=10)]
    [[1], [3, 2], [0]]
    """
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    batches = []
    start = 0
    while start < len(order):
        count = min(rows, max(1, pieces // lengths[order[start]]))
        batches.append(order[start : start + count])
        start += count
    return batches


def padded(
    inputs: Sequence[npt.NDArray[np.integer]], pad: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Lay inputs below each other, filled up to the longest.

    Returns
    -------
    input_ids : ndarray of shape (b, l), int64
        The inputs; `pad` after their ends.
    attention_mask : ndarray of shape (b, l), int64
        1 where there is a piece, 0 where there is padding.

    Examples
    --------
    >>> ids, mask = padded([np.array([5, 6]), np.array([7])], 0)
    >>> ids.tolist(), mask.tolist()
    ([[5, 6], [7, 0]], [[1, 1], [1, 0]])
    """
    lengths = np.array([len(one) for one in inputs], dtype=np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask] = np.concatenate(inputs)
    return ids, mask.astype(np.int64)


def run_batches(
    session: OnnxSession, inputs: Sequence[npt.NDArray[np.integer]], *, pieces: int = PIECES
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
    """Run a network over inputs of mixed length.

    Parameters
    ----------
    session : OnnxSession
        The network.
    inputs : sequence of ndarray of integers
        Pieces of each, special ones included; 1 or more.
    pieces : int
        See `plan_batches`.

    Yields
    ------
    positions : ndarray of shape (b,), int64
        Which inputs were run, in the order of the batches.
    outputs : ndarray of shape (b, ...), float32
        What the network gives for them; the first axis is there for a single input as well.
    """
    pad = session.folder.manifest.special.pad
    for batch in plan_batches([len(one) for one in inputs], pieces=pieces):
        yield batch, session.run(*padded([inputs[position] for position in batch.tolist()], pad))


def run_windows(
    session: OnnxSession,
    texts: Sequence[str],
    *,
    marker: int,
    size: int,
    overlap: int,
    pieces: int = PIECES,
    advance: Advance = unheard,
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
    """Run a network that gives numbers for a text over the windows of texts.

    Parameters
    ----------
    session : OnnxSession
        The network.
    texts : sequence of str
        What is read.
    marker : int
        The special piece in position 0.
    size, overlap : int
        Pieces of text in a window, and those that neighbours share.
    pieces : int
        Pieces of a batch, see `plan_batches`.
    advance : callable
        Hears of the share of the pieces that are done.

    Yields
    ------
    documents : ndarray of shape (b,), int64
        Positions of the texts that the windows are of.
    outputs : ndarray of shape (b, V), float32
        What the network gives for each window.
    """
    windows = windows_of(session.folder.analyzer, texts, size=size, overlap=overlap)
    sep = session.folder.manifest.special.sep
    total = sum(map(len, windows.pieces))
    done = 0
    for first, last in chunks(len(windows), WINDOWS):
        inputs = [joined(marker, part, sep) for part in windows.pieces[first:last]]
        for positions, values in run_batches(session, inputs, pieces=pieces):
            yield windows.documents[first + positions], values
            done += sum(len(inputs[position]) - 2 for position in positions.tolist())
            advance(done / total)
