"""The `Language` protocol and its values: tokens, sentences, noun chunks and names."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from termwise.fast_dataclass import dataclass


class Token(NamedTuple):
    """A word, a number or a punctuation mark, with its half-open range of characters; never white space.

    Lemmas of proper names keep their capitals. The tag is a universal part of speech (``ADP``, ``PUNCT``, ``NUM``,
    ``NOUN``, ...), or empty if unknown.
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
    """A parsed text: tokens, sentences that cover them, noun chunks and names, in order and not overlapping.

    There are no entities if the parser does not find names.
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
    """A parser of texts. Equal texts give equal results."""

    @property
    def name(self) -> str:
        """Name with versions, such as ``rules 1`` or ``spacy 3.8.7, en_core_web_sm 3.8.0``."""

    def parse(self, text: str) -> Parsed:
        """Return the words, sentences, noun chunks and names of a text."""
