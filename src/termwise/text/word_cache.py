"""Cache of the results of a function for the words that it was called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Value = TypeVar("_Value")

_MOST = 1 << 17
_LONGEST = 64


class WordCache(dict[str, _Value]):
    """Values of a function, for up to 131,072 words of up to 64 characters."""

    def __init__(self, function: Callable[[str], _Value]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> _Value:
        value = self._function(word)
        if len(word) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[word] = value
        return value
