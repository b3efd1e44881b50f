"""Batches of network inputs of similar length, which keep padding small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from termwise.encode.document_encoder import Advance, no_advance
from termwise.encode.network_inputs import chunks, framed, padded, windows_of
from termwise.encode.onnx_session import OnnxSession

PIECES = 32 * 128
"""Pieces in a batch, including padding."""

PIECES_OF_LOGITS = 8 * 128
"""Pieces in a batch of a network that computes logits over the vocabulary for every piece: 125 MB for 30,522 terms."""

DOCUMENTS = 1024
"""Documents in a block: their windows are batched together."""

WINDOWS = 4096
"""Windows whose inputs are in memory at the same time."""

ROWS = 256
"""Largest number of inputs in a batch."""


def plan_batches(
    lengths: Sequence[int], *, pieces: int = PIECES, rows: int = ROWS
) -> list[npt.NDArray[np.int64]]:
    """Group inputs by length; return the positions of the inputs of each batch.

    A batch of b inputs of at most l pieces satisfies ``b * l <= pieces``, unless it is a single input, and has at most
    `rows` inputs. The longest inputs come first, so memory peaks at the start; inputs of equal length keep their order.

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
    """Run a network over inputs of mixed length, special tokens included; yield positions and outputs of each batch.

    The positions are int64 of shape (b,), the outputs float32 of shape (b, ...); see `plan_batches`.
    """
    pad = session.folder.document_special.pad
    for batch in plan_batches([len(ids) for ids in inputs], pieces=pieces):
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
    """Run a network with one output per input over the windows of several texts; yield texts and outputs of each batch.

    The position of the text of each window is int64 of shape (b,), the outputs are float32 of shape (b, V). `marker` is
    the special token in position 0. See `cut_windows` for `size` and `overlap`, and `plan_batches` for `pieces`.
    """
    windows = windows_of(
        session.folder.document_tokenizer,
        texts,
        size=size,
        overlap=overlap,
        prompt=session.folder.manifest.document_prompt,
    )
    sep = session.folder.document_special.sep
    total = sum(map(len, windows.pieces))
    done = 0
    for first, last in chunks(len(windows.pieces), WINDOWS):
        inputs = [framed(marker, ids, sep=sep) for ids in windows.pieces[first:last]]
        for positions, outputs in run_batches(session, inputs, pieces=pieces):
            yield windows.documents[first + positions], outputs
            done += sum(len(inputs[position]) - 2 for position in positions.tolist())
            advance(done / total)
