"""From texts to what a network reads: special pieces, truncation, padding, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from termwise.errors import ModelFormatError
from termwise.text import Vocabulary
from termwise.text.wordpiece import WordPieceAnalyzer

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SpecialPieces:
    """Numbers of the special pieces of a vocabulary.

    Attributes
    ----------
    document, query : int
        What stands at position 0 of a passage and of a query for TILDE: the first two unused pieces, [unused0]
        and [unused1] in BERT's vocabularies.
    cls, sep, pad : int
        What stands at position 0 otherwise, what ends a text, what fills up.
    """

    document: int
    query: int
    cls: int
    sep: int
    pad: int

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> SpecialPieces:
        """Look the pieces up.

        Raises
        ------
        ModelFormatError
            If the vocabulary lacks one of them.
        """
        unused = [token for token in vocabulary if token.startswith("[unused")][:2]
        names = [*unused, *[""] * (2 - len(unused)), "[CLS]", "[SEP]", "[PAD]"]
        numbers = [vocabulary.number(name) for name in names]
        if any(number is None for number in numbers):
            raise ModelFormatError(
                "the vocabulary lacks special pieces that the network needs",
                facts=[
                    ("needed", "[CLS], [SEP], [PAD] and two pieces named [unused...]"),
                    ("found", ", ".join(name for name in names if name in vocabulary) or "none of them"),
                ],
                fixes=["use an encoder with the vocabulary of BERT"],
            )
        return cls(*[int(number) for number in numbers if number is not None])


class Pieces:
    """Cuts texts into numbers of word pieces, and pads them into tensors.

    Parameters
    ----------
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    """

    def __init__(self, analyzer: WordPieceAnalyzer) -> None:
        self.analyzer = analyzer
        self.special = SpecialPieces.of(analyzer.vocabulary)
        self._numbers = {token: number for number, token in enumerate(analyzer.vocabulary)}

    def __call__(self, text: str) -> Ids:
        """Return the numbers of the pieces of a text, of shape (pieces,), without special ones."""
        numbers = self._numbers
        return np.array([numbers[token] for token in self.analyzer.tokens(text)], dtype=np.int64)

    def padded(self, rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
        """Pad rows to the longest.

        Returns
        -------
        input_ids, attention_mask : int64 tensors of shape (b, l)
        """
        longest = max(map(len, rows))
        ids = np.full((len(rows), longest), self.special.pad, dtype=np.int64)
        mask = np.zeros((len(rows), longest), dtype=np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        return torch.from_numpy(ids), torch.from_numpy(mask)

    def framed(self, first: int, *parts: Ids) -> Ids:
        """Return `first`, then each part with a separator after it; empty later parts are left out."""
        sep = np.array([self.special.sep])
        shown = [parts[0], *(part for part in parts[1:] if len(part))]
        return np.concatenate([np.array([first]), *(piece for part in shown for piece in (part, sep))])


def distinct_terms(rows: Sequence[Ids], kept: npt.NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
    """List which kept terms each row has, each once.

    Returns
    -------
    row, term : int64 tensors of shape (n,)
    """
    terms = [np.unique(row[kept[row]]) for row in rows]
    return _positions(terms)


def occurrences(rows: Sequence[Ids], kept: npt.NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
    """List the kept terms of each row, as often as they occur.

    Returns
    -------
    row, term : int64 tensors of shape (n,)
    """
    return _positions([row[kept[row]] for row in rows])


def _positions(terms: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    row = np.repeat(np.arange(len(terms)), [len(found) for found in terms])
    return torch.from_numpy(row), torch.from_numpy(np.concatenate(terms))
