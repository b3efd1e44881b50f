"""Axioms: conditions on two texts and a query under which one text is preferred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from termwise.probes.axioms.sentence_templates import ConstructedPair, TemplateSampler
from termwise.probes.axioms.word_similarity import Similarity

MARGIN = 0.1
"""Largest difference of equal numbers in real texts, as a share of the larger number."""

Idf = Callable[[str], float]
"""Returns the rarity of a term; larger is rarer."""


@dataclass(frozen=True, eq=False)
class TermSequence:
    """Terms of a text, in order.

    Examples
    --------
    >>> text = TermSequence(("cat", "dog", "cat"))
    >>> text.length, text.counts["cat"], text.places["cat"]
    (3, 2, [0, 2])
    """

    tokens: tuple[str, ...]

    @property
    def length(self) -> int:
        """Number of terms."""
        return len(self.tokens)

    @cached_property
    def counts(self) -> Counter[str]:
        """Count of each term."""
        return Counter(self.tokens)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Increasing places of each term, from 0."""
        places: dict[str, list[int]] = {}
        for place, token in enumerate(self.tokens):
            places.setdefault(token, []).append(place)
        return places


@dataclass(frozen=True, eq=False)
class AxiomQuery:
    """Terms of a query, with their rarity and similarity.

    Attributes
    ----------
    tokens : tuple of str
        In order.
    idf : callable
        Rarity of a term.
    similarity : callable
        Similarity of two terms, see `termwise.probes.axioms.word_similarity`.
    """

    tokens: tuple[str, ...]
    idf: Idf
    similarity: Similarity

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Distinct terms, in order of their first occurrence."""
        return tuple(dict.fromkeys(self.tokens))


@dataclass(frozen=True)
class Profile:
    """Length of a text, and the count of each query term in it."""

    length: int
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """Total count of all query terms."""
        return sum(self.counts)


def profile(query: AxiomQuery, text: TermSequence) -> Profile:
    """Return the profile of a text, the measurement of axioms about counts and lengths."""
    return Profile(text.length, tuple(text.counts[term] for term in query.terms))


@dataclass(frozen=True)
class Axiom:
    """Retrieval axiom.

    Attributes
    ----------
    name : str
        Lower case with hyphens.
    title : str
        For tables.
    condition : str
        Description of the two texts.
    source : str
        Publication.
    prefers : callable
        Called with a query, the measurements of two texts and a margin. Returns whether the pair meets the condition
        and the first text is preferred; never true for both orders of a pair.
    construct : callable
        Yields pairs that meet the condition.
    measure : callable
        Called with a query and a text; returns the measurement of the text.
    weak : bool
        Whether equal scores are allowed, so that only negative effects violate the axiom.
    in_judged_texts : bool
        Whether pairs of judged texts are searched for.
    """

    name: str
    title: str
    condition: str
    source: str
    prefers: Callable[[AxiomQuery, Any, Any, float], bool]
    construct: Callable[[TemplateSampler], Iterator[ConstructedPair]]
    measure: Callable[[AxiomQuery, TermSequence], Any] = profile
    weak: bool = False
    in_judged_texts: bool = True

    @property
    def definition(self) -> str:
        """Definition of its probes."""
        weak = " Only negative effects violate it." if self.weak else ""
        return f"{self.condition}{weak} {self.source}."


def similar(one: float, other: float, margin: float) -> bool:
    """Return whether two numbers of at least 0 differ by no more than a share of the larger one.

    Examples
    --------
    >>> similar(9, 10, 0.1), similar(8, 10, 0.1), similar(0, 0, 0.0)
    (True, False, True)
    """
    return abs(one - other) <= margin * max(one, other)


def larger(one: float, other: float, margin: float) -> bool:
    """Return whether a number is larger than another, and not `similar`."""
    return one > other and not similar(one, other, margin)


def differing(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Return the places at which two sequences of equal length differ."""
    return [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
