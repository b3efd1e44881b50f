"""Choice of the parser."""

from __future__ import annotations

from termwise.errors import MissingExtraError, UnknownNameError
from termwise.probes.language.base import Language
from termwise.probes.language.cached_language import CachedLanguage
from termwise.probes.language.rules import RuleLanguage
from termwise.probes.language.spacy_language import SpacyLanguage

NAMES = ("spacy", "rules")


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
