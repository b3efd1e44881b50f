"""Texts as the numbers of their pieces, cut into the windows that a network reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from termwise.encode.windows import cut_windows
from termwise.text import WordPieceAnalyzer

Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Windows:
    """The windows of several texts.

    Attributes
    ----------
    documents : ndarray of shape (n,), int64
        Position of the text that each window is of; a text without a piece has no window.
    pieces : list of n ndarrays, int32
        Numbers of the pieces of each window, without special ones.
    """

    documents: npt.NDArray[np.int64]
    pieces: list[Numbers]

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.pieces)


def numbers_of(analyzer: WordPieceAnalyzer, text: str) -> Numbers:
    """Return the numbers of the pieces of a text, in its order.

    Examples
    --------
    >>> numbers_of(WordPieceAnalyzer.shipped(), "tokenizing").tolist()
    [19204, 6026]
    """
    tokens = analyzer.tokens(text)
    return np.fromiter(map(analyzer.vocabulary.number, tokens), dtype=np.int32, count=len(tokens))


def windows_of(analyzer: WordPieceAnalyzer, texts: Sequence[str], *, size: int, overlap: int) -> Windows:
    """Cut texts into windows, see `cut_windows`."""
    documents: list[int] = []
    pieces: list[Numbers] = []
    for position, text in enumerate(texts):
        numbers = numbers_of(analyzer, text)
        for start, stop in cut_windows(len(numbers), size=size, overlap=overlap):
            documents.append(position)
            pieces.append(numbers[start:stop])
    return Windows(np.array(documents, dtype=np.int64), pieces)


def joined(*parts: int | Numbers) -> Numbers:
    """Put pieces and special pieces one after the other.

    Examples
    --------
    >>> joined(101, np.array([7, 8], dtype=np.int32), 102).tolist()
    [101, 7, 8, 102]
    """
    return np.concatenate([np.atleast_1d(np.asarray(part, dtype=np.int32)) for part in parts])
