"""Batches of inputs of similar length, so that little computation is spent on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from termwise.encode.document_encoder import Advance, no_advance
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.pieces import framed, padded, windows_of
from termwise.encode.windows import chunks

PIECES = 32 * 128
"""Pieces per batch, padding included, for networks that compute one output per position or per text."""

PIECES_OF_LOGITS = 8 * 128
"""The same for networks that compute logits over the vocabulary for every piece: 125 MB for 30,522 terms."""

DOCUMENTS = 1024
"""Documents whose windows are batched together."""

WINDOWS = 4096
"""Windows whose inputs are in memory at a time."""

ROWS = 256
"""Largest number of inputs in a batch."""


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
        Largest number of inputs in a batch.

    Returns
    -------
    list of ndarray of int64
        Positions of the inputs of each batch; every input is in exactly one. Longest first, so that peak memory is
        reached at the start; equal lengths keep their order. The same lengths always give the same batches.

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


def run_batches(
    session: OnnxSession, inputs: Sequence[npt.NDArray[np.integer]], *, pieces: int = PIECES
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
    """Run a network over inputs of mixed length.

    Parameters
    ----------
    session : OnnxSession
        The network.
    inputs : sequence of ndarray of integers
        Pieces of each input, special ones included; 1 or more.
    pieces : int
        See `plan_batches`.

    Yields
    ------
    positions : ndarray of shape (b,), int64
        Positions of the inputs in this batch.
    outputs : ndarray of shape (b, ...), float32
        Output of the network for them; the first axis is there for a single input as well.
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
    advance: Advance = no_advance,
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
    """Run a network that computes one output per text over the windows of several texts.

    Parameters
    ----------
    session : OnnxSession
        The network.
    texts : sequence of str
        Any number.
    marker : int
        The special piece in position 0.
    size, overlap : int
        Pieces of text in a window, and how many neighbouring windows share.
    pieces : int
        Pieces per batch, see `plan_batches`.
    advance : callable
        Called with the fraction of pieces done.

    Yields
    ------
    documents : ndarray of shape (b,), int64
        Position of the text that each window belongs to.
    outputs : ndarray of shape (b, V), float32
        Output of the network for each window.
    """
    windows = windows_of(session.folder.analyzer, texts, size=size, overlap=overlap)
    sep = session.folder.manifest.special.sep
    total = sum(map(len, windows.pieces))
    done = 0
    for first, last in chunks(len(windows), WINDOWS):
        inputs = [framed(marker, part, sep=sep) for part in windows.pieces[first:last]]
        for positions, values in run_batches(session, inputs, pieces=pieces):
            yield windows.documents[first + positions], values
            done += sum(len(inputs[position]) - 2 for position in positions.tolist())
            advance(done / total)
