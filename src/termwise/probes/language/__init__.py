"""Parsers of English texts into words, sentences, noun chunks and names: spaCy, or rules without dependencies."""

from termwise.probes.language.base import Entity, Language, Parsed, Span, Token
from termwise.probes.language.cached_language import CachedLanguage, open_language
from termwise.probes.language.rules import RuleLanguage
from termwise.probes.language.spacy_language import SpacyLanguage

__all__ = [
    "CachedLanguage",
    "Entity",
    "Language",
    "Parsed",
    "RuleLanguage",
    "SpacyLanguage",
    "Span",
    "Token",
    "open_language",
]
