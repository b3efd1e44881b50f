"""What probes have to know of a language: words, sentences, noun chunks, names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable


class Token(NamedTuple):
    """A word, a number, or a mark of punctuation; never white space.

    Attributes
    ----------
    text : str
        As it stands there.
    start, end : int
        Half-open range of characters in the text.
    lemma : str
        As it stands in a dictionary; proper names keep their capitals.
    tag : str
        Part of speech, by the universal tags (``ADP``, ``PUNCT``, ``NUM``, ``NOUN``, ...); empty where it is not known.
    """

    text: str
    start: int
    end: int
    lemma: str
    tag: str


class Span(NamedTuple):
    """Half-open range of tokens."""

    first: int
    last: int


class Entity(NamedTuple):
    """A name, by its range of tokens and its kind: PERSON, GPE, LOC, NORP, ORG, DATE, CARDINAL, ..."""

    first: int
    last: int
    label: str


@dataclass(frozen=True)
class Parsed:
    """A text and what stands in it.

    Attributes
    ----------
    text : str
    tokens : tuple of Token
        In order, not overlapping.
    sentences : tuple of Span
        In order; they cover all tokens.
    chunks : tuple of Span
        Noun chunks, in order, not overlapping.
    entities : tuple of Entity
        In order, not overlapping; empty where the language knows none.
    """

    text: str
    tokens: tuple[Token, ...]
    sentences: tuple[Span, ...]
    chunks: tuple[Span, ...]
    entities: tuple[Entity, ...]

    def of(self, span: Span | Entity) -> str:
        """Return the characters of a range of tokens."""
        return self.text[self.tokens[span.first].start : self.tokens[span.last - 1].end]


@runtime_checkable
class Language(Protocol):
    """Reads texts. Stateless but for what it remembers: the same text always gives the same result."""

    @property
    def name(self) -> str:
        """What results say of it, with versions, such as ``rules 1`` or ``spacy 3.8.7, en_core_web_sm 3.8.0``."""
        ...

    def parse(self, text: str) -> Parsed:
        """Find words, sentences, noun chunks and names."""
        ...
