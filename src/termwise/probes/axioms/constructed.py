"""Pairs that are made to meet the condition of one axiom, of sentences that come with the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Protocol

from termwise.probes.axioms.base import Axiom
from termwise.probes.axioms.scenes import Written
from termwise.probes.axioms.term_reader import TermReader
from termwise.probes.axioms.word_similarity import RelatedWords
from termwise.probes.core.probe import Probe, Strategy
from termwise.probes.core.sample import Sample, random_for

CONSTRUCTED = "constructed"
"""What stands in names where others have a collection."""

_COMMON_IDF, _RARE_IDF = 1.0, 2.0


@dataclass(frozen=True)
class Built:
    """A pair of texts of which the axiom prefers the first.

    Attributes
    ----------
    query : str
    label : str
        Distinct among the pairs of a query; says what the pair is.
    first, second : str
    facts : mapping
        What was put into the texts.
    """

    query: str
    label: str
    first: str
    second: str
    facts: Mapping[str, Any] = field(default_factory=dict)


class Drawing(Protocol):
    """Gives a generator for what is named by some strings, and for nothing else."""

    def __call__(self, *parts: str) -> Random:
        """Return the generator, new each time."""
        ...


Construct = Callable[[Written, Drawing], Iterator[Built]]
"""Makes the pairs of an axiom."""


class ConstructedProbe(Probe):
    """Pairs that meet the condition of an axiom exactly. Positive: what the axiom prefers is preferred.

    The same definition that finds pairs among real texts looks at each pair, with no margin: a pair that does not meet
    the condition under the analyzer, because it gives two of the words one form, is left out.

    Parameters
    ----------
    name : str
        Of the axiom.
    title, definition : str
        See `Probe`.
    axiom : Axiom
        The definition, with no margin.
    construct : callable
        Makes the pairs.
    written : Written
        What texts are made of. The rare words in it are the only ones that count as rarer than others, and the groups
        in it say what is near in meaning.
    reader : TermReader
        What counts as a term.
    """

    strategy: Strategy = "axiom"

    def __init__(
        self,
        name: str,
        title: str,
        definition: str,
        *,
        axiom: Axiom[Any],
        construct: Construct,
        written: Written,
        reader: TermReader,
    ) -> None:
        self.name = f"{name}@{CONSTRUCTED}"
        self.title = title
        self.definition = definition
        self._axiom = axiom
        self._construct = construct
        self._written = written
        self._reader = reader

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`. Sentences, nouns, places and the term that is varied are drawn; the queries are not."""
        rare = {term for word, _ in self._written.rare for term in self._reader.terms(word).tokens}
        likeness = RelatedWords(self._written.related, self._reader.analyzer)
        for built in self._construct(self._written, partial(random_for, seed, self.name)):
            question = self._reader.question(
                built.query, lambda term: _RARE_IDF if term in rare else _COMMON_IDF, likeness
            )
            first, second = (
                self._axiom.measure(question, self._reader.terms(text))
                for text in (built.first, built.second)
            )
            if self._axiom.prefers(question, first, second):
                yield Sample(
                    sample_id=f"{built.query}/{built.label}",
                    query=built.query,
                    first=built.first,
                    second=built.second,
                    facts={"pair": built.label, **built.facts},
                )
