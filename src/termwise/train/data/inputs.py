"""From texts to what a network reads: special pieces, truncation, padding, targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from termwise.encode.encoder_manifest import SpecialIds
from termwise.encode.pieces import framed, padded
from termwise.errors import ModelFormatError
from termwise.text import Vocabulary
from termwise.text.wordpiece import WordPieceAnalyzer

Ids = npt.NDArray[np.int64]


_NAMES = {"cls": ("[CLS]", "<s>"), "sep": ("[SEP]", "</s>"), "pad": ("[PAD]", "<pad>")}
_MARKER = "[unused"


def special_ids(vocabulary: Vocabulary, kind: str) -> SpecialIds:
    """Look up the pieces that are not text.

    Parameters
    ----------
    vocabulary : Vocabulary
    kind : str
        ``tilde`` marks documents and queries by the first two pieces whose names begin with ``[unused``, [unused0]
        and [unused1] in BERT's vocabularies; for the other kinds the markers are the start of the input.

    Raises
    ------
    ModelFormatError
        If the vocabulary has no such pieces.
    """
    found = {
        what: next((number for name in names if (number := vocabulary.number(name)) is not None), None)
        for what, names in _NAMES.items()
    }
    if kind == "tilde":
        unused = [number for number, piece in enumerate(vocabulary) if piece.startswith(_MARKER)]
        found["document"], found["query"] = (*unused, None, None)[:2]
    else:
        found["document"] = found["query"] = found["cls"]
    lacking = [what for what, number in found.items() if number is None]
    if lacking:
        looked_for = ", ".join(" or ".join(names) for names in _NAMES.values())
        raise ModelFormatError(
            "the vocabulary has no pieces for what is not text",
            facts=[
                ("lacking", ", ".join(lacking)),
                ("looked for", f"{looked_for} and, for tilde, two pieces named {_MARKER}...]"),
            ],
            fixes=[
                "use an encoder with the vocabulary of BERT",
                "in Python, write_encoder_folder(special=SpecialIds(document=…, query=…, cls=…, sep=…, pad=…))",
            ],
        )
    return SpecialIds(**{what: number for what, number in found.items() if number is not None})


class Pieces:
    """Cuts texts into numbers of word pieces, and pads them into tensors.

    Parameters
    ----------
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    kind : str
        Kind of network, which decides about what stands at position 0, see `special_ids`.
    """

    def __init__(self, analyzer: WordPieceAnalyzer, kind: str) -> None:
        self.analyzer = analyzer
        self.special = special_ids(analyzer.vocabulary, kind)

    def __call__(self, text: str) -> Ids:
        """Return the numbers of the pieces of a text, of shape (pieces,), without special ones."""
        return self.analyzer.numbers(text).astype(np.int64)

    def padded(self, rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
        """Pad rows to the longest.

        Returns
        -------
        input_ids, attention_mask : int64 tensors of shape (b, l)
        """
        ids, mask = padded(rows, self.special.pad)
        return torch.from_numpy(ids), torch.from_numpy(mask)

    def framed(self, first: int, *parts: Ids) -> Ids:
        """Return `first`, then each part with a separator after it; empty parts after the first are left out."""
        return framed(first, *parts, sep=self.special.sep)


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
