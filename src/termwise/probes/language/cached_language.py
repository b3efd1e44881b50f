"""A language that remembers what it has read: many probes read the same texts."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from termwise.probes.language.base import Language, Parsed
from termwise.validation import check_count

TOKENS = 1_000_000
"""Tokens that are remembered: some hundred megabytes."""


class CachedLanguage:
    """Keeps the texts that were asked for last.

    Parameters
    ----------
    inner : Language
        What reads.
    tokens : int, optional
        So many tokens are kept at most, of all texts together.

    Examples
    --------
    >>> from termwise.probes.language import RuleLanguage
    >>> language = CachedLanguage(RuleLanguage())
    >>> language.parse("Some text.") is language.parse("Some text.")
    True
    """

    def __init__(self, inner: Language, *, tokens: int = TOKENS) -> None:
        check_count("tokens", tokens)
        self._inner = inner
        self._most = tokens
        self._kept: OrderedDict[str, Parsed] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    @property
    def name(self) -> str:
        """That of the language inside."""
        return self._inner.name

    def parse(self, text: str) -> Parsed:
        """See `Language`; a text that is remembered is not read again."""
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text]
        parsed = self._inner.parse(text)
        with self._lock:
            if text not in self._kept:
                self._kept[text] = parsed
                self._size += _size(parsed)
            while self._size > self._most:
                self._size -= _size(self._kept.popitem(last=False)[1])
        return parsed


def _size(parsed: Parsed) -> int:
    return len(parsed.tokens) + 1
