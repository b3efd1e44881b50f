"""Parser with a cache of recent texts: many probes parse the same texts."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from termwise.probes.language.base import Language, Parsed
from termwise.validation import check_count

TOKENS = 1_000_000
"""Default size of the cache in tokens: some hundred megabytes."""


class CachedLanguage:
    """Parser with a least-recently-used cache.

    Parameters
    ----------
    inner : Language
        The parser.
    tokens : int, optional
        Maximum number of tokens in the cache.

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
        """Name of the inner parser."""
        return self._inner.name

    def parse(self, text: str) -> Parsed:
        """Return the cached result, or parse the text."""
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
