"""Which language there is."""

from __future__ import annotations

from termwise.errors import MissingExtraError, UnknownNameError
from termwise.probes.language.base import Language
from termwise.probes.language.cached_language import CachedLanguage
from termwise.probes.language.rules import RuleLanguage
from termwise.probes.language.spacy_language import SpacyLanguage

NAMES = ("spacy", "rules")


def open_language(name: str | None = None) -> Language:
    """Open a language; it remembers the texts that were asked for last.

    Parameters
    ----------
    name : {"spacy", "rules"}, optional
        By default spaCy where it is installed with its small English pipeline, and rules elsewhere. The name of what
        comes back says which it is.

    Raises
    ------
    MissingExtraError
        If spaCy was asked for by name and is not installed.
    UnknownNameError
        If there is no such language.

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
