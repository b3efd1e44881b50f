"""Network inputs: texts cut into windows of word pieces, framed by special tokens and padded to batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix

PieceIds = npt.NDArray[np.int32]

_Integer = TypeVar("_Integer", bound=np.integer)


class PieceTokenizer(Protocol):
    """Splits texts into the pieces that a network reads: `WordPieceAnalyzer` or `DocumentTokenizer`."""

    def numbers(self, text: str) -> PieceIds:
        """Return the numbers of the pieces of a text, without special tokens: shape (pieces,)."""

    def spans(self, text: str) -> npt.NDArray[np.int32]:
        """Return the character ranges of these pieces: shape (pieces, 2)."""


@dataclass(frozen=True)
class TextWindows:
    """Windows of several texts: position of the text of each window, int64 of shape (n,), and its pieces.

    The pieces have no special tokens. An empty text has no window.
    """

    documents: npt.NDArray[np.int64]
    pieces: list[PieceIds]


def cut_windows(pieces: int, *, size: int, overlap: int) -> list[tuple[int, int]]:
    """Cut a document of this number of pieces into overlapping windows that together cover it.

    Each window starts ``size - overlap`` pieces after the previous one. The last window is moved back to end with the
    document, so it is as long as the others and may overlap its neighbour more. A document of at most `size` pieces is
    one window; an empty document has none. The ends are exclusive.

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
    """Return the number of pieces of text in a window, and the number that neighbouring windows share.

    A window of `length` pieces has two special tokens; it must fit into the `positions` of the network. Without an
    overlap, neighbouring windows share an eighth of a window.

    Examples
    --------
    >>> window_sizes(length=128, overlap=None, positions=512)
    (126, 15)
    """
    size = length - 2
    if length > positions:
        raise ParameterError(
            "the windows are longer than the input of the encoder",
            facts=[("length", length), ("most", positions)],
            fixes=[Fix.use(length=positions)],
        )
    shared = size // 8 if overlap is None else overlap
    if shared >= size:
        raise ParameterError(
            "the overlap is not smaller than the windows",
            facts=[("overlap", overlap), ("pieces of a window", size)],
            fixes=[Fix.use(overlap=max(0, size // 8))],
        )
    return size, shared


def windows_of(
    tokenizer: PieceTokenizer, texts: Sequence[str], *, size: int, overlap: int, prompt: str = ""
) -> TextWindows:
    """Cut texts into windows, see `cut_windows`.

    Every window begins with the pieces of the prompt, which count in its size. The prompt and a text are tokenised
    together, because a piece may hold the space between them; such a piece belongs to the text. White space has no
    window.
    """
    before = prompt_pieces(tokenizer, prompt)
    documents: list[int] = []
    pieces: list[PieceIds] = []
    for position, text in enumerate(texts):
        numbers = tokenizer.numbers(prompt + text if text.strip() else "")
        shared = _shared_pieces(numbers, before)
        first, rest = numbers[:shared], numbers[shared:]
        for start, stop in cut_windows(len(rest), size=size - len(before), overlap=overlap):
            documents.append(position)
            pieces.append(np.concatenate([first, rest[start:stop]]))
    return TextWindows(np.array(documents, dtype=np.int64), pieces)


def window_spans(
    tokenizer: PieceTokenizer, text: str, *, size: int, overlap: int, prompt: str = ""
) -> list[tuple[int, int]]:
    """Return the character ranges of the windows into which `windows_of` cuts a text.

    A range begins with the first piece of its window and ends with the last one.

    Examples
    --------
    >>> from termwise.text import WordPieceAnalyzer
    >>> text = "Merge two  sorted lists."
    >>> [text[slice(*span)] for span in window_spans(WordPieceAnalyzer.shipped(), text, size=3, overlap=1)]
    ['Merge two  sorted', 'sorted lists.']
    """
    if not text.strip():
        return []
    before, spans = prompt_pieces(tokenizer, prompt), tokenizer.spans(prompt + text)
    shared = _shared_pieces(tokenizer.numbers(prompt + text), before)
    places = np.maximum(0, spans[shared:] - len(prompt)).tolist()
    windows = cut_windows(len(places), size=size - len(before), overlap=overlap)
    return [(places[start][0], places[stop - 1][1]) for start, stop in windows]


def _shared_pieces(numbers: PieceIds, before: PieceIds) -> int:
    """Return the number of leading pieces that are those of the prompt."""
    same = numbers[: len(before)] == before[: len(numbers)]
    return int(np.argmin(np.append(same, False)))


def prompt_pieces(tokenizer: PieceTokenizer, prompt: str) -> PieceIds:
    """Tokenise a prompt without the white space at its end, which can be in the first piece of the text."""
    return tokenizer.numbers(prompt.rstrip())


def framed(first: int, *parts: npt.NDArray[_Integer], sep: int) -> npt.NDArray[_Integer]:
    """Return the input ``first part sep [part sep ...]``; empty parts are left out, except for the first.

    Examples
    --------
    >>> framed(101, np.array([7, 8], dtype=np.int32), np.array([9], dtype=np.int32), sep=102).tolist()
    [101, 7, 8, 102, 9, 102]
    """
    begin, end = (np.array([token], dtype=parts[0].dtype) for token in (first, sep))
    filled = [parts[0], *(part for part in parts[1:] if len(part))]
    return np.concatenate([begin, *(array for part in filled for array in (part, end))])


def padded(
    inputs: Sequence[npt.NDArray[np.integer]], pad: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Stack inputs, padded to the longest: ids and mask, int64 of shape (b, l); the mask is 1 for a piece, otherwise 0.

    Examples
    --------
    >>> ids, mask = padded([np.array([5, 6]), np.array([7])], 0)
    >>> ids.tolist(), mask.tolist()
    ([[5, 6], [7, 0]], [[1, 1], [1, 0]])
    """
    lengths = np.array([len(pieces) for pieces in inputs], dtype=np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask] = np.concatenate(inputs)
    return ids, mask.astype(np.int64)


def chunks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most `size` that cover ``range(count)``.

    Examples
    --------
    >>> list(chunks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, count, size):
        yield start, min(start + size, count)
