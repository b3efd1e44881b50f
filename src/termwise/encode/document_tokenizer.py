"""Tokenizers of the texts that a network reads, if the vocabulary of queries is another one."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from termwise.errors import ModelFormatError
from termwise.fast_dataclass import dataclass
from termwise.text.characters import without_surrogates
from termwise.text.tokenizer_json import load_tokenizer

_SAMPLE = "a"
_UNKNOWN = "\ue000 \u0378"
"""Characters that no vocabulary has: one for private use, and one that is not assigned."""


@dataclass(frozen=True, eq=False)
class DocumentTokenizer:
    """Tokenizer of a network: any model of the `tokenizers` library, such as the byte-level BPE of RoBERTa.

    There is no truncation and no padding, even if the file sets them. The text of a special token becomes that token,
    as in the library. Lone surrogates become U+FFFD. A text of white space has no pieces.

    Parameters
    ----------
    data : bytes
        Content of a ``tokenizer.json``.
    source : Path, optional
        File of the content, for errors.

    Attributes
    ----------
    first, last : int
        Special tokens before and after the pieces of an input.
    terms : int
        Number of rows that an embedding needs: the largest number of a token, plus 1.

    Raises
    ------
    ModelFormatError
        If the library cannot read the file or tokenise a text, or an input does not have exactly two special tokens:
        one before the pieces and one after them.
    """

    data: bytes = field(repr=False)
    source: Path | None = field(default=None)
    first: int = field(init=False)
    last: int = field(init=False)
    terms: int = field(init=False)
    _tokenizer: Tokenizer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            tokenizer = load_tokenizer(self.data)
        except ValueError as error:
            raise ModelFormatError(
                "the tokenizer of the network cannot be read",
                facts=[
                    *self._file,
                    ("expected", "a tokenizer.json of the tokenizers library"),
                    ("reason", error),
                ],
                fixes=["save the tokenizer of the network again"],
            ) from error
        object.__setattr__(self, "_tokenizer", tokenizer)
        self._encode(_UNKNOWN)
        plain, whole = (self._encode(_SAMPLE, special=special) for special in (False, True))
        if len(whole.ids) < 2 or whole.ids[1:-1] != plain.ids:
            raise ModelFormatError(
                "the tokenizer of the network does not put a text between two special tokens",
                facts=[
                    *self._file,
                    ("expected", "one special token before the pieces of a text, and one after them"),
                    ("seen", f"{_SAMPLE!r} is read as {' '.join(whole.tokens)}"),
                ],
                fixes=["use an encoder with inputs like those of BERT and RoBERTa: [CLS] text [SEP]"],
            )
        made: dict[str, Any] = {
            "first": whole.ids[0],
            "last": whole.ids[-1],
            "terms": max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1,
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[object, ...]:
        return (DocumentTokenizer, (self.data, self.source))

    @property
    def _file(self) -> list[tuple[str, object]]:
        return [] if self.source is None else [("file", self.source)]

    def _encode(self, text: str, *, special: bool = False) -> Encoding:
        try:
            return self._tokenizer.encode(text, add_special_tokens=special)
        except Exception as error:  # the library raises nothing more specific
            raise ModelFormatError(
                "the tokenizer of the network cannot tokenise a text",
                facts=[*self._file, ("text", f"{text!a:.80}"), ("reason", error)],
                fixes=["save the tokenizer of the network again, with its unknown token in the vocabulary"],
            ) from error

    def numbers(self, text: str) -> npt.NDArray[np.int32]:
        """Return the numbers of the pieces of a text, without special tokens: shape (pieces,)."""
        if not text.strip():
            return np.empty(0, dtype=np.int32)
        return np.array(self._encode(without_surrogates(text)).ids, dtype=np.int32)

    def spans(self, text: str) -> npt.NDArray[np.int32]:
        """Return the character ranges of these pieces: shape (pieces, 2)."""
        if not text.strip():
            return np.empty((0, 2), dtype=np.int32)
        return np.array(self._encode(without_surrogates(text)).offsets, dtype=np.int32).reshape(-1, 2)
