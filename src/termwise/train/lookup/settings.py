"""Settings of the training of a query table."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Literal

from termwise.fast_dataclass import dataclass
from termwise.settings import TypedSettings
from termwise.text.cleaned_analyzer import CleanMode


@dataclass(frozen=True, kw_only=True)
class LookupSettings(TypedSettings):
    """Settings of `train_lookup`.

    Attributes
    ----------
    max_texts : int
        Largest number of texts, drawn with the seed; 0 for no limit.
    length : int
        Pieces of a text that are read, the two special ones included.
    cleaning : {"paper", "repo", "none"}
        Tokens that have a row, see `clean_vocabulary`.
    centred : bool
        Whether the mean of the vectors is subtracted from each. It would add the same direction to every query.
    ridge : float
        Weight of the squares of all numbers of the table. A larger one makes rows of rare tokens shorter.
    steps : int
        Steps of conjugate gradients. Few steps also keep rows of rare tokens short.
    query_prompt, document_prompt : str
        Texts that the encoder reads before each text, and before each window of a document, in place of the prompts of
        its folder; empty for those.
    vocabulary : str
        File with the word pieces of the query table, see `WordPieceAnalyzer.from_file`, for an encoder whose own
        tokenizer is not WordPiece; by default the shipped vocabulary, which is English.
    held_out : float
        Share of the texts that measure the table and are not used to fit it.
    batch : int
        Number of texts that the encoder reads at once.
    precision : {"float32", "bfloat16"}
        Precision of the encoder while it reads the texts.
    seed : int
        Random seed, for drawing texts and held-out texts.

    Examples
    --------
    >>> LookupSettings.parse({"ridge": "0.5", "centred": "false"}).ridge
    0.5
    """

    max_texts: int = 0
    length: int = 128
    cleaning: CleanMode = "none"
    centred: bool = True
    ridge: float = 1.0
    steps: int = 8
    query_prompt: str = ""
    document_prompt: str = ""
    vocabulary: str = ""
    held_out: float = 0.01
    batch: int = 64
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 42

    ranges = MappingProxyType(
        {
            "length": (3, math.inf),
            "ridge": (1e-6, 1e9),
            "steps": (1, 10_000),
            "held_out": (0.0, 0.5),
            "batch": (1, math.inf),
            "seed": (0, 2**32 - 1),
        }
    )
