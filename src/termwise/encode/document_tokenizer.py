"""Tokenizers of the texts that a network reads, if the vocabulary of queries is another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from termwise.errors import ModelFormatError
from termwise.text.characters import without_surrogates
from termwise.text.tokenizer_json import load_tokenizer

_SAMPLE = "a"


@dataclass(frozen=True, eq=False)
class DocumentTokenizer:
    """Tokenizer of a network: any model of the `tokenizers` library, such as the byte-level BPE of RoBERTa.

    There is no truncation and no padding, even if the file sets them. The text of a special token becomes that token,
    as in the library. Lone surrogates become U+FFFD. A text of white space has no pieces.

    Parameters
    ----------
    data : bytes
        Content of a ``tokenizer.json``.

    Attributes
    ----------
    first, last : int
        Special tokens before and after the pieces of an input.
    terms : int
        Number of rows that an embedding needs: the largest number of a token, plus 1.

    Raises
    ------
    ModelFormatError
        If the library cannot read the file, or an input does not have exactly two special tokens: one before the pieces
        and one after them.
    """

    data: bytes = field(repr=False)
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
                facts=[("expected", "a tokenizer.json of the tokenizers library"), ("reason", error)],
                fixes=["save the tokenizer of the network again"],
            ) from error
        plain, whole = (tokenizer.encode(_SAMPLE, add_special_tokens=special) for special in (False, True))
        if len(whole.ids) < 2 or whole.ids[1:-1] != plain.ids:
            raise ModelFormatError(
                "the tokenizer of the network does not put a text between two special tokens",
                facts=[
                    ("expected", "one special token before the pieces of a text, and one after them"),
                    ("seen", f"{_SAMPLE!r} is read as {' '.join(whole.tokens)}"),
                ],
                fixes=["use an encoder with inputs like those of BERT and RoBERTa: [CLS] text [SEP]"],
            )
        made: dict[str, Any] = {
            "first": whole.ids[0],
            "last": whole.ids[-1],
            "terms": max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1,
            "_tokenizer": tokenizer,
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[object, ...]:
        return (DocumentTokenizer, (self.data,))

    def numbers(self, text: str) -> npt.NDArray[np.int32]:
        """Return the numbers of the pieces of a text, without special tokens: shape (pieces,)."""
        if not text.strip():
            return np.empty(0, dtype=np.int32)
        encoding = self._tokenizer.encode(without_surrogates(text), add_special_tokens=False)
        return np.array(encoding.ids, dtype=np.int32)
