"""Texts as numbers of pieces: input of the encoder, and columns of the least-squares problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from termwise.encode.network_inputs import PieceTokenizer
from termwise.fast_dataclass import dataclass
from termwise.progress import Progress, no_progress

_REPORT_EVERY = 10_000


@dataclass(frozen=True)
class TokenisedTexts:
    """Pieces of texts, int32, without special ones, and the bounds of the texts in them: int64 of shape (n + 1,)."""

    starts: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]

    @classmethod
    def of(
        cls, texts: Sequence[str], tokenizer: PieceTokenizer, *, most: int, progress: Progress = no_progress
    ) -> TokenisedTexts:
        """Tokenise texts; of each, the first `most` pieces are kept."""
        rows = []
        for number, text in enumerate(texts, 1):
            rows.append(tokenizer.numbers(text)[:most])
            if number % _REPORT_EVERY == 0 or number == len(texts):
                progress("tokenise texts", number, len(texts))
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return cls(starts, np.concatenate([np.empty(0, dtype=np.int32), *rows]))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, number: int) -> npt.NDArray[np.int64]:
        """Return the pieces of one text."""
        return self.numbers[self.starts[number] : self.starts[number + 1]].astype(np.int64)

    def counts(self, kept: npt.NDArray[np.bool_]) -> sparse.csr_array[Any]:
        """Return the counts of the kept pieces, divided by the square root of their sum in each text.

        `kept` is bool of shape (V,). The result is float32 of shape (n, V).

        Examples
        --------
        >>> texts = TokenisedTexts(np.array([0, 3, 5]), np.array([2, 1, 2, 0, 1], dtype=np.int32))
        >>> texts.counts(np.array([False, True, True])).toarray().round(2).tolist()
        [[0.0, 0.5799999833106995, 1.149999976158142], [0.0, 1.0, 0.0]]
        """
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        counted = kept[self.numbers]
        rows, columns = rows[counted], self.numbers[counted]
        sizes = np.bincount(rows, minlength=len(self))
        values = (1 / np.sqrt(np.maximum(sizes, 1))).astype(np.float32)[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        matrix = sparse.csr_array((values, columns, starts), shape=(len(self), len(kept)))
        matrix.sum_duplicates()
        return matrix
