"""Texts as the numbers of their pieces: cut into windows, framed by special pieces, padded to batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from termwise.encode.windows import cut_windows
from termwise.text import WordPieceAnalyzer

PieceIds = npt.NDArray[np.int32]
Whole = TypeVar("Whole", bound=np.integer)


@dataclass(frozen=True)
class Windows:
    """Windows of several texts.

    Attributes
    ----------
    documents : ndarray of shape (n,), int64
        Position of the text that each window belongs to; a text without a piece has no window.
    pieces : list of n ndarrays, int32
        Numbers of the pieces of each window, without special ones.
    """

    documents: npt.NDArray[np.int64]
    pieces: list[PieceIds]

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.pieces)


def windows_of(analyzer: WordPieceAnalyzer, texts: Sequence[str], *, size: int, overlap: int) -> Windows:
    """Cut texts into windows, see `cut_windows`."""
    documents: list[int] = []
    pieces: list[PieceIds] = []
    for position, text in enumerate(texts):
        numbers = analyzer.numbers(text)
        for start, stop in cut_windows(len(numbers), size=size, overlap=overlap):
            documents.append(position)
            pieces.append(numbers[start:stop])
    return Windows(np.array(documents, dtype=np.int64), pieces)


def framed(first: int, *parts: npt.NDArray[Whole], sep: int) -> npt.NDArray[Whole]:
    """Return `first`, then each part with a separator after it; empty parts after the first are left out.

    Parameters
    ----------
    first : int
        The special piece in position 0.
    *parts : ndarrays of integers
        One or more.
    sep : int
        The separator.

    Examples
    --------
    >>> framed(101, np.array([7, 8], dtype=np.int32), np.array([9], dtype=np.int32), sep=102).tolist()
    [101, 7, 8, 102, 9, 102]
    """
    begin, end = (np.array([special], dtype=parts[0].dtype) for special in (first, sep))
    shown = [part for place, part in enumerate(parts) if place == 0 or len(part)]
    return np.concatenate([begin, *(piece for part in shown for piece in (part, end))])


def padded(
    inputs: Sequence[npt.NDArray[np.integer]], pad: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Stack inputs, padded to the longest.

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
