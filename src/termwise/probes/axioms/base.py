"""What an axiom is: a condition on two texts and a query, and which text it prefers then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

from termwise.probes.axioms.word_similarity import Likeness

Measured = TypeVar("Measured")

MARGIN = 0.1
"""Numbers of real texts that differ by no more than this share of the larger one count as equal."""

Idf = Callable[[str], float]
"""How rare a term is: larger is rarer."""


@dataclass(frozen=True, eq=False)
class Terms:
    """A text as axioms see it.

    Attributes
    ----------
    tokens : tuple of str
        Its terms, in order.

    Examples
    --------
    >>> terms = Terms(("cat", "dog", "cat"))
    >>> terms.length, terms.counts["cat"], terms.places["cat"]
    (3, 2, [0, 2])
    """

    tokens: tuple[str, ...]

    @property
    def length(self) -> int:
        """Number of terms."""
        return len(self.tokens)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each term occurs; 0 for others."""
        return Counter(self.tokens)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each term occurs, in increasing order, counted in terms from 0."""
        found: dict[str, list[int]] = {}
        for place, token in enumerate(self.tokens):
            found.setdefault(token, []).append(place)
        return found


@dataclass(frozen=True, eq=False)
class Question:
    """A query as axioms see it.

    Attributes
    ----------
    tokens : tuple of str
        Its terms, in order.
    idf : callable
        How rare a term is.
    likeness : callable
        How near two terms are in meaning, see `termwise.probes.axioms.word_similarity`.
    """

    tokens: tuple[str, ...]
    idf: Idf
    likeness: Likeness

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The distinct terms, in the order in which they are first said."""
        return tuple(dict.fromkeys(self.tokens))

    def counts(self, text: Terms) -> tuple[int, ...]:
        """Return how often the text has each of `terms`."""
        return tuple(text.counts[term] for term in self.terms)


class Axiom(Protocol[Measured]):
    """Measures each text by itself, then compares two of them."""

    def measure(self, question: Question, text: Terms) -> Measured:
        """Return all that the axiom has to know of a text."""
        ...

    def prefers(self, question: Question, one: Measured, other: Measured) -> bool:
        """Tell whether the pair meets the condition of the axiom and the axiom prefers the first of it.

        Never true of both orders of a pair.
        """
        ...


@dataclass(frozen=True)
class Profile:
    """How long a text is, and how often it has each term of a query."""

    length: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, question: Question, text: Terms) -> Profile:
        """Measure a text."""
        return cls(text.length, question.counts(text))

    @property
    def total(self) -> int:
        """Occurrences of all terms of the query."""
        return sum(self.counts)


class Profiled:
    """The measurement of axioms that look at counts and lengths alone."""

    def measure(self, question: Question, text: Terms) -> Profile:
        """See `Axiom`."""
        return Profile.of(question, text)


def similar(one: float, other: float, margin: float) -> bool:
    """Tell whether two numbers, 0 or more, differ by no more than a share of the larger one.

    Examples
    --------
    >>> similar(9, 10, 0.1), similar(8, 10, 0.1), similar(0, 0, 0.0)
    (True, False, True)
    """
    return abs(one - other) <= margin * max(one, other)


def larger(one: float, other: float, margin: float) -> bool:
    """Tell whether a number is larger than another one, by more than a share of it."""
    return one > other and not similar(one, other, margin)


def differing(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Return the places at which two sequences of one length differ."""
    return [place for place, (mine, theirs) in enumerate(zip(one, other, strict=True)) if mine != theirs]
