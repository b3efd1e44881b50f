"""Network inputs: word pieces, special pieces, padding and target terms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from termwise.encode.encoder_manifest import SpecialIds
from termwise.encode.network_inputs import framed, padded
from termwise.errors import ModelFormatError
from termwise.text import Vocabulary
from termwise.text.wordpiece import WordPieceAnalyzer

Ids = npt.NDArray[np.int64]

_NAMES = {"cls": ("<s>", "[CLS]"), "sep": ("</s>", "[SEP]"), "pad": ("<pad>", "[PAD]")}
"""MPNet uses the first ones, and its vocabulary has both."""

_MARKER = "[unused"


def special_ids(vocabulary: Vocabulary, kind: str) -> SpecialIds:
    """Look up the special pieces of a vocabulary.

    For ``tilde``, the markers of documents and queries are the first two pieces whose names begin with ``[unused``,
    which are [unused0] and [unused1] in the vocabularies of BERT; the other kinds use the classification piece.
    """
    numbers = {
        role: next((number for name in names if (number := vocabulary.number(name)) is not None), None)
        for role, names in _NAMES.items()
    }
    if kind == "tilde":
        unused = [number for number, piece in enumerate(vocabulary) if piece.startswith(_MARKER)]
        numbers["document"], numbers["query"] = (*unused, None, None)[:2]
    else:
        numbers["document"] = numbers["query"] = numbers["cls"]
    missing = [role for role, number in numbers.items() if number is None]
    if missing:
        names = ", ".join(" or ".join(names) for names in _NAMES.values())
        raise ModelFormatError(
            "the vocabulary lacks special pieces",
            facts=[
                ("missing", ", ".join(missing)),
                ("expected", f"{names} and, for tilde, two pieces named {_MARKER}...]"),
            ],
            fixes=[
                "use an encoder with the vocabulary of BERT",
                "in Python, EncoderContents(special=SpecialIds(document=…, query=…, cls=…, sep=…, pad=…))",
            ],
        )
    return SpecialIds(**{role: number for role, number in numbers.items() if number is not None})


class Pieces:
    """Converts texts to numbers of word pieces, and pads them into tensors.

    The kind of network determines the piece at position 0, see `special_ids`.
    """

    def __init__(self, analyzer: WordPieceAnalyzer, kind: str) -> None:
        self.analyzer = analyzer
        self.special = special_ids(analyzer.vocabulary, kind)

    def __call__(self, text: str) -> Ids:
        """Return the numbers of the pieces of a text, of shape (pieces,), without special ones."""
        return self.analyzer.numbers(text).astype(np.int64)

    def padded(self, rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
        """Pad rows to the longest one; return input ids and attention mask, int64 tensors of shape (b, l)."""
        ids, mask = padded(rows, self.special.pad)
        return torch.from_numpy(ids), torch.from_numpy(mask)

    def framed(self, first: int, *parts: Ids) -> Ids:
        """Return `first`, then each part followed by a separator; empty parts after the first are skipped."""
        return framed(first, *parts, sep=self.special.sep)


def distinct_terms(rows: Sequence[Ids], kept: npt.NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
    """Return row and term of the distinct kept terms of each row: int64 tensors of shape (n,)."""
    return _positions([np.unique(row[kept[row]]) for row in rows])


def occurrences(rows: Sequence[Ids], kept: npt.NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
    """Return row and term of the kept terms of each row, with repetitions: int64 tensors of shape (n,)."""
    return _positions([row[kept[row]] for row in rows])


def _positions(terms: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    row = np.repeat(np.arange(len(terms)), list(map(len, terms)))
    return torch.from_numpy(row), torch.from_numpy(np.concatenate(terms))
