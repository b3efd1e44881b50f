"""Choice of the parser, with a cache of recent texts, because many probes parse the same texts."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from termwise.errors import MissingExtraError, UnknownNameError
from termwise.probes.language.base import Language, Parsed
from termwise.probes.language.rules import RuleLanguage
from termwise.probes.language.spacy_language import SpacyLanguage
from termwise.validation import check_count

NAMES = ("spacy", "rules")

TOKENS = 1_000_000
"""Default size of the cache in tokens: some hundred megabytes."""


class CachedLanguage:
    """Parser with a least-recently-used cache of at most so many tokens.

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


def open_language(name: str | None = None) -> Language:
    """Return a parser with a cache of recent texts.

    Parameters
    ----------
    name : {"spacy", "rules"}, optional
        By default spaCy if it is installed with its small English pipeline, else the rules; see `Language.name`.

    Raises
    ------
    MissingExtraError
        If spaCy is requested and not installed.
    UnknownNameError
        If there is no such parser.

    Examples
    --------
    >>> open_language("rules").name
    'rules 1'
    """
    if name is None:
        try:
            return CachedLanguage(SpacyLanguage())
        except MissingExtraError:
            return CachedLanguage(RuleLanguage())
    if name not in NAMES:
        raise UnknownNameError.of("language", name, NAMES)
    return CachedLanguage(SpacyLanguage() if name == "spacy" else RuleLanguage())
