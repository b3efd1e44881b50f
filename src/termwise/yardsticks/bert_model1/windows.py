"""What a network reads of a query and a document: windows of ``[CLS] query [SEP] chunk [SEP]``.

A document that does not fit into one window is cut into as few chunks as will do, ceil(L / most), and these are as
equal as whole pieces allow: their lengths differ by one at most. Each is read with the whole query. So every piece of
the document has about as much around it as any other, and none is left alone in a short last chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from termwise.train.data.inputs import Ids, Pieces

FRAME = 3
"""Pieces of a window that are no text: one [CLS] and two [SEP]."""


@dataclass(frozen=True, eq=False)
class Window:
    """A query and a chunk of a document.

    Attributes
    ----------
    query, chunk : ndarray of shape (n,) and (m,), int64
        Pieces.
    """

    query: Ids
    chunk: Ids

    def __len__(self) -> int:
        """Return the number of pieces, the three that are no text included."""
        return len(self.query) + len(self.chunk) + FRAME

    @property
    def query_places(self) -> slice:
        """Where the pieces of the query stand."""
        return slice(1, 1 + len(self.query))

    @property
    def chunk_places(self) -> slice:
        """Where the pieces of the chunk stand."""
        begin = 2 + len(self.query)
        return slice(begin, begin + len(self.chunk))


@dataclass(frozen=True)
class Inputs:
    """Windows as a network takes them, padded to the longest.

    Attributes
    ----------
    ids : int64 tensor of shape (b, l)
    mask : int64 tensor of shape (b, l)
        1 where there is a piece, 0 where there is padding.
    segments : int64 tensor of shape (b, l)
        1 for the chunk and the separator after it, 0 for what stands before, and for padding.
    """

    ids: Tensor
    mask: Tensor
    segments: Tensor

    @classmethod
    def of(cls, windows: Sequence[Window], pieces: Pieces) -> Inputs:
        """Put windows into tensors."""
        rows = [pieces.framed(pieces.special.cls, window.query, window.chunk) for window in windows]
        ids, mask = pieces.padded(rows)
        segments = torch.zeros_like(ids)
        for number, window in enumerate(windows):
            segments[number, window.chunk_places.start : len(window)] = 1
        return cls(ids, mask, segments)

    def to(self, device: torch.device) -> Inputs:
        """Return the same on a device."""
        return Inputs(self.ids.to(device), self.mask.to(device), self.segments.to(device))


def even_chunks(length: int, most: int) -> tuple[slice, ...]:
    """Cut a length into as few chunks of at most so many as will do, their lengths differing by one at most.

    Parameters
    ----------
    length : int
        0 or more; 0 makes no chunk.
    most : int
        1 or more.

    Examples
    --------
    >>> [(part.start, part.stop) for part in even_chunks(10, 4)]
    [(0, 3), (3, 6), (6, 10)]
    """
    count = -(-length // most)
    return tuple(slice(number * length // count, (number + 1) * length // count) for number in range(count))


def windows_of(query: Ids, document: Ids, *, chunk_length: int) -> tuple[Window, ...]:
    """Pair a query with each chunk of a document.

    Parameters
    ----------
    query, document : ndarray of shape (n,) and (L,), int64
        Pieces, cut off where they are to be.
    chunk_length : int
        Most pieces of a chunk.

    Returns
    -------
    tuple of Window
        Of length ceil(L / chunk_length).
    """
    return tuple(Window(query, document[part]) for part in even_chunks(len(document), chunk_length))
