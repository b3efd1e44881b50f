"""Texts as numbers of tokens, in the order of first occurrence."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from itertools import repeat

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass
from termwise.text.analyzer import Analyzer


class Numbering(dict[str, int]):
    """Numbers of tokens; a lookup gives a new token the next number.

    Examples
    --------
    >>> numbering = Numbering()
    >>> [numbering[token] for token in ("merge", "sort", "merge")]
    [0, 1, 0]
    """

    def __missing__(self, token: str) -> int:
        number = self[token] = len(self)
        return number

    def of(self, tokens: Collection[str]) -> npt.NDArray[np.int32]:
        """Return the number of each token."""
        return np.fromiter(map(self.__getitem__, tokens), dtype=np.int32, count=len(tokens))


@dataclass(frozen=True, eq=False)
class NumberedTexts:
    """Tokens of texts, as numbers that are valid only for these texts.

    Attributes
    ----------
    tokens : tuple of str
        Distinct tokens in the order of first occurrence.
    indptr : ndarray of shape (texts + 1,), int64
        Boundaries of the texts in `numbers`.
    numbers : ndarray, int32
        Position in `tokens` of each token of the texts.
    """

    tokens: tuple[str, ...]
    indptr: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]


def number_texts(analyzer: Analyzer | Sequence[Analyzer], texts: Sequence[str]) -> NumberedTexts:
    """Analyze texts, with one analyzer or with that of each text, and number their tokens.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> numbered = number_texts(make_analyzer("whitespace"), ["merge sort", "sort lists"])
    >>> numbered.tokens, numbered.indptr.tolist(), numbered.numbers.tolist()
    (('merge', 'sort', 'lists'), [0, 2, 4], [0, 1, 1, 2])
    """
    numbering = Numbering()
    numbers = array("i")
    indptr = np.zeros(len(texts) + 1, dtype=np.int64)
    analyzers = analyzer if isinstance(analyzer, Sequence) else repeat(analyzer)
    for row, (its, text) in enumerate(zip(analyzers, texts, strict=False)):
        numbers.extend(map(numbering.__getitem__, its.tokens(text)))
        indptr[row + 1] = len(numbers)
    return NumberedTexts(tuple(numbering), indptr, np.array(numbers, dtype=np.int32))
