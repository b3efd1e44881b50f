"""Axioms about how many of the terms of a query a text has.

=========  ===========================================================================================================
`And`      the text with all terms of the query rather than one that lacks some. Made texts have one length and as many
           occurrences of all terms together
`MAnd`     the text with more of the terms, the modified form of AND. Made as above; neither text has all
`Div`      the text whose words have less in common with those of the query (after Gollapudi & Sharma, WWW 2009): the
           smaller share of terms that both have among those that either has. Made texts have one length and as many
           occurrences of each term of the query; the second repeats a neutral noun
=========  ===========================================================================================================

The conditions are those of Bondarenko et al., SIGIR 2022.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from termwise.probes.axioms.base import MARGIN, Question, Terms, larger
from termwise.probes.axioms.constructed import Built, Drawing
from termwise.probes.axioms.scenes import Scene, Written

DIV_REPEATED = (4, 10)
"""Places that hold one neutral noun in the second text."""


class _Covering:
    """Counts the terms of the query that a text has."""

    def measure(self, question: Question, text: Terms) -> int:
        """See `Axiom`."""
        return sum(term in text.counts for term in question.terms)


@dataclass(frozen=True)
class And(_Covering):
    """All terms, see the module."""

    def prefers(self, question: Question, one: int, other: int) -> bool:
        """See `Axiom`."""
        return other < one == len(question.terms)


@dataclass(frozen=True)
class MAnd(_Covering):
    """More terms, see the module."""

    def prefers(self, question: Question, one: int, other: int) -> bool:
        """See `Axiom`."""
        return one > other


@dataclass(frozen=True)
class Div:
    """Less in common, see the module."""

    margin: float = MARGIN

    def measure(self, question: Question, text: Terms) -> float:
        """See `Axiom`."""
        both = sum(term in text.counts for term in question.terms)
        either = len(text.counts) + len(question.terms) - both
        return both / either if either else 0.0

    def prefers(self, question: Question, one: float, other: float) -> bool:
        """See `Axiom`."""
        return larger(other, one, self.margin)


def and_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put all terms of a query into one place each, then another one in the stead of one."""
    for terms in written.queries:
        query = " ".join(terms)
        for missing in terms:
            label = f"without {missing}"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            put = dict(zip(random.sample(scene.places, len(terms)), terms, strict=True))
            other = random.choice([term for term in terms if term != missing])
            second = {place: other if term == missing else term for place, term in put.items()}
            yield Built(
                query, label, scene.text(put), scene.text(second), {"missing": missing, "twice": other}
            )


def mand_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put all terms of a query but one into one place each, then another one in the stead of one of them."""
    for terms in written.queries:
        query = " ".join(terms)
        for absent in terms if len(terms) > 2 else ():
            label = f"neither with {absent}"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            kept = random.sample([term for term in terms if term != absent], len(terms) - 1)
            places = random.sample(scene.places, len(kept))
            put = dict(zip(places, kept, strict=True))
            second = {**put, places[0]: kept[1]}
            facts = {"absent": absent, "missing": kept[0], "twice": kept[1]}
            yield Built(query, label, scene.text(put), scene.text(second), facts)


def div_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put all terms of a query into one place each, and one neutral noun into many others, or different ones."""
    for terms in written.queries:
        query = " ".join(terms)
        for repeated in DIV_REPEATED:
            label = f"one noun {repeated} times"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            places = random.sample(scene.places, len(terms) + repeated)
            put = dict(zip(places, terms, strict=False))
            again = dict.fromkeys(places[len(terms) :], scene.nouns[places[-1]])
            yield Built(query, label, scene.text(put), scene.text({**put, **again}))
