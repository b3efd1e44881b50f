"""Windows of a query and a document: ``[CLS] query [SEP] chunk [SEP]``.

A document of L tokens that exceeds one window is split into ceil(L / chunk_length) chunks, whose lengths differ by at
most one. Each chunk is read with the whole query. Therefore all tokens have contexts of similar length. An empty
document has one window, ``[CLS] query [SEP]``.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from termwise.fast_dataclass import dataclass
from termwise.train.inputs import Ids, Pieces

SPECIAL_TOKENS = 3
"""Special tokens of a window: one [CLS] and two [SEP]."""


@dataclass(frozen=True, eq=False)
class Window:
    """A query and a chunk of a document, as token ids: int64 of shape (n,) and (m,)."""

    query: Ids
    chunk: Ids

    def __len__(self) -> int:
        """Return the number of tokens, special tokens included."""
        return len(self.query) + len(self.chunk) + (SPECIAL_TOKENS if len(self.chunk) else SPECIAL_TOKENS - 1)

    @property
    def query_places(self) -> slice:
        """Positions of the query tokens."""
        return slice(1, 1 + len(self.query))

    @property
    def chunk_places(self) -> slice:
        """Positions of the chunk tokens."""
        begin = 2 + len(self.query)
        return slice(begin, begin + len(self.chunk))


@dataclass(frozen=True)
class Inputs:
    """Windows as input tensors, padded to the longest: int64 of shape (b, l).

    `mask` is 1 for tokens, 0 for padding. `segments` is 1 for the chunk and the separator after it, 0 for the tokens
    before them and for padding.
    """

    ids: Tensor
    mask: Tensor
    segments: Tensor

    @classmethod
    def of(cls, windows: Sequence[Window], pieces: Pieces) -> Inputs:
        """Convert windows into tensors."""
        rows = [pieces.framed(pieces.special.cls, window.query, window.chunk) for window in windows]
        ids, mask = pieces.padded(rows)
        segments = torch.zeros_like(ids)
        for number, window in enumerate(windows):
            segments[number, window.chunk_places.start : len(window)] = 1
        return cls(ids, mask, segments)

    def to(self, device: torch.device) -> Inputs:
        """Return the tensors on a device."""
        return Inputs(self.ids.to(device), self.mask.to(device), self.segments.to(device))


def even_chunks(length: int, limit: int) -> tuple[slice, ...]:
    """Split a length into the smallest number of chunks of at most `limit`, whose lengths differ by at most one.

    The length 0 is one empty chunk.

    Examples
    --------
    >>> [(part.start, part.stop) for part in even_chunks(10, 4)]
    [(0, 3), (3, 6), (6, 10)]
    """
    count = max(1, -(-length // limit))
    return tuple(slice(number * length // count, (number + 1) * length // count) for number in range(count))


def windows_of(query: Ids, document: Ids, *, chunk_length: int) -> tuple[Window, ...]:
    """Pair the token ids of a query with each chunk of those of a document."""
    return tuple(Window(query, document[part]) for part in even_chunks(len(document), chunk_length))
