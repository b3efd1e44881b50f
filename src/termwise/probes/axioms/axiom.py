"""Axioms: conditions on two texts and a query under which one text is preferred; analysis of these texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

from termwise.fast_dataclass import dataclass
from termwise.probes.axioms.sentence_templates import TemplateSampler
from termwise.probes.axioms.word_similarity import Similarity
from termwise.probes.core.sample import Sample
from termwise.text import Analyzer

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
    """Terms of a query in order, the rarity of a term, and the similarity of two terms."""

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

    `condition` describes the two texts, and `source` is the publication. `measure` returns the measurement of a text
    for a query. `prefers` is called with a query, the measurements of two texts and a margin: it returns whether the
    pair meets the condition and the first text is preferred, never for both orders of a pair. `construct` yields pairs
    that meet the condition. A `weak` axiom allows equal scores, so that only negative effects violate it. Pairs of
    judged texts are searched for if `in_judged_texts`.
    """

    name: str
    title: str
    condition: str
    source: str
    prefers: Callable[[AxiomQuery, Any, Any, float], bool]
    construct: Callable[[TemplateSampler], Iterator[Sample]]
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


CACHED_TEXTS = 20_000


class TermReader:
    """Analyzer that caches the terms of the most recent texts."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.terms = lru_cache(CACHED_TEXTS)(self._terms)

    def _terms(self, text: str) -> TermSequence:
        return TermSequence(tuple(self.analyzer.tokens(text)))

    def query(self, query: str, idf: Idf, similarity: Similarity) -> AxiomQuery:
        """Return an analyzed query."""
        return AxiomQuery(self.terms(query).tokens, idf, similarity)


def idf_of(reader: TermReader, texts: Iterable[str]) -> Idf:
    """Return the rarity of terms in N texts, n of which have the term: ln(1 + (N - n + 0.5) / (n + 0.5)), above 0.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> idf = idf_of(TermReader(make_analyzer("whitespace")), ["a b", "a"])
    >>> idf("b") > idf("a") > 0
    True
    """
    document_frequency: Counter[str] = Counter()
    number = 0
    for text in texts:
        document_frequency.update(reader.terms(text).counts.keys())
        number += 1

    def idf(term: str) -> float:
        count = document_frequency[term]
        return math.log1p((number - count + 0.5) / (count + 0.5))

    return idf
