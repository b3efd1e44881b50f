"""Axioms about where the terms of a query stand (Hagen, Völske, Göring & Stein, CIKM 2016).

=========  ===========================================================================================================
`Prox1`    the text whose terms first occur nearer to each other: words between them, mean over pairs of terms
`Prox2`    the text whose terms first occur earlier: the sum of their places
`Prox3`    the text that says the whole query earlier, word for word
`Prox4`    the text with the tighter closest group of all terms: words inside it that are not of the query; where they
           are equal, the one with more such groups
`Prox5`    the text in which groups are tighter, in the mean
=========  ===========================================================================================================

They follow the heuristics of Tao & Zhai (SIGIR 2007). PROX1 to PROX3 compare texts with the same terms of the query,
two or more; PROX4 and PROX5 texts with all. A group is an occurrence of one term with the nearest of each other term,
the earlier one of two that are equally near. Places are counted in terms of the analyzer. There are no margins here.

Texts that are made have the same words in the same sentences, and only the nouns, or the sentences, change places.
Where the axiom lets them, terms stand at the beginning, in the middle and at the end alike.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import inf
from typing import NamedTuple

from termwise.probes.axioms.base import Question, Terms
from termwise.probes.axioms.constructed import Built, Drawing
from termwise.probes.axioms.scenes import SENTENCES, Scene, Written


class Placed(NamedTuple):
    """Which terms of a query a text has, and a number: the smaller, the better."""

    covered: frozenset[str]
    value: float


class _SameTerms:
    """Smaller is better, of two texts with the same terms of the query."""

    def prefers(self, question: Question, one: Placed, other: Placed) -> bool:
        """See `Axiom`."""
        return one.covered == other.covered and len(one.covered) > 1 and one.value < other.value


@dataclass(frozen=True)
class Prox1(_SameTerms):
    """Terms near each other, see the module."""

    def measure(self, question: Question, text: Terms) -> Placed:
        """See `Axiom`."""
        first = _first_places(question, text)
        apart = [abs(one - other) - 1 for one, other in combinations(first.values(), 2)]
        return Placed(frozenset(first), sum(apart) / len(apart) if apart else 0.0)


@dataclass(frozen=True)
class Prox2(_SameTerms):
    """Terms early, see the module."""

    def measure(self, question: Question, text: Terms) -> Placed:
        """See `Axiom`."""
        first = _first_places(question, text)
        return Placed(frozenset(first), sum(first.values()))


@dataclass(frozen=True)
class Prox3(_SameTerms):
    """The whole query early, see the module."""

    def measure(self, question: Question, text: Terms) -> Placed:
        """See `Axiom`."""
        length = len(question.tokens)
        starts = text.places.get(question.tokens[0], []) if length else []
        said = (start for start in starts if text.tokens[start : start + length] == question.tokens)
        return Placed(frozenset(_first_places(question, text)), next(said, inf))


@dataclass(frozen=True)
class Prox4:
    """The closest group, see the module."""

    def measure(self, question: Question, text: Terms) -> tuple[int, int] | None:
        """See `Axiom`; None where a term is missing."""
        of_query = set(question.terms)
        others = list(accumulate((token not in of_query for token in text.tokens), initial=0))
        inside = [others[last] - others[first] for first, last in _groups(question, text)]
        return (min(inside), -inside.count(min(inside))) if inside else None

    def prefers(self, question: Question, one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
        """See `Axiom`."""
        return one is not None and other is not None and one < other


@dataclass(frozen=True)
class Prox5:
    """Groups in the mean, see the module."""

    def measure(self, question: Question, text: Terms) -> float | None:
        """See `Axiom`; None where a term is missing."""
        spans = [last - first for first, last in _groups(question, text)]
        return sum(spans) / len(spans) if spans else None

    def prefers(self, question: Question, one: float | None, other: float | None) -> bool:
        """See `Axiom`."""
        return one is not None and other is not None and one < other


def _first_places(question: Question, text: Terms) -> dict[str, int]:
    return {term: text.places[term][0] for term in question.terms if term in text.places}


def _groups(question: Question, text: Terms) -> list[tuple[int, int]]:
    """Return the first and last place of every group; none where a term is missing, or the query has just one."""
    places = [text.places.get(term, []) for term in question.terms]
    if len(places) < 2 or not all(places):
        return []
    groups = []
    for number, mine in enumerate(places):
        others = places[:number] + places[number + 1 :]
        for place in mine:
            group = [place, *(_nearest(theirs, place) for theirs in others)]
            groups.append((min(group), max(group)))
    return groups


def _nearest(places: list[int], place: int) -> int:
    after = bisect_left(places, place)
    near = places[max(0, after - 1) : after + 1]
    return min(near, key=lambda other: abs(other - place))


def prox1_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put terms into places next to each other, or over the whole text."""
    for terms in written.queries:
        query, count = " ".join(terms), len(terms)
        last = 2 * SENTENCES - count
        for where, begin in (("beginning", 0), ("middle", last // 2), ("end", last)):
            label = f"together at the {where}"
            scene = Scene.drawn(written, drawing(query, label))
            first = {(begin + number, 0): term for number, term in enumerate(terms)}
            second = {(place, 0): term for place, term in zip(_even(count), terms, strict=True)}
            yield Built(query, label, _arranged(scene, first), _arranged(scene, second))


def prox2_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put the two sentences with the terms before the others, among them, or after them."""
    wheres = {"beginning": 0, "middle": (SENTENCES - 2) // 2, "end": SENTENCES - 2}
    for terms in written.queries:
        query = " ".join(terms)
        for early, late in combinations(wheres, 2):
            label = f"{early} against {late}"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            words = dict(zip(random.sample(range(4), len(terms)), terms, strict=True))
            rest = list(range(2, SENTENCES))
            first, second = (
                scene.text(words, order=[*rest[: wheres[where]], 0, 1, *rest[wheres[where] :]])
                for where in (early, late)
            )
            yield Built(query, label, first, second)


def prox3_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Say the query in one place and turned around in a later one, or the other way round."""
    for terms in written.queries:
        query = " ".join(terms)
        for label, begin, end in (("far apart", 1, 2 * SENTENCES - 2), ("near", SENTENCES, SENTENCES + 2)):
            scene = Scene.drawn(written, drawing(query, label))
            turned = " ".join(reversed(terms))
            yield Built(
                query,
                label,
                scene.text({begin: query, end: turned}),
                scene.text({begin: turned, end: query}),
            )


def prox4_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Say the query in one place, or put its terms over the text; say it in two places, or in one."""
    here, there = SENTENCES, SENTENCES // 2
    for terms in written.queries:
        query, count = " ".join(terms), len(terms)
        spread = _even(2 * count)
        once = {(place, 0): term for place, term in zip(spread[::2], terms, strict=True)}
        again = {(place, 0): term for place, term in zip(spread[1::2], terms, strict=True)}
        said, twice = (
            {(place, number): term for number, term in enumerate(terms)} for place in (here, there)
        )
        pairs = {
            "closer": ((here,), {**once, **said}, {**once, **again}),
            "more often": ((here, there), {**said, **twice}, {**said, **once}),
        }
        for label, (wide, first, second) in pairs.items():
            scene = Scene.drawn(written, drawing(query, label))
            sizes = dict.fromkeys(wide, count)
            yield Built(query, label, _arranged(scene, first, sizes), _arranged(scene, second, sizes))


def prox5_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put all terms into each of several rows of places, or one term into each row."""
    for terms in written.queries:
        query, count = " ".join(terms), len(terms)
        near = (2 * SENTENCES - count * count) // 2
        rows = {
            "far apart": [round(place * (2 * SENTENCES - count) / (count - 1)) for place in range(count)],
            "near": [near + count * number for number in range(count)],
        }
        for label, begins in rows.items():
            scene = Scene.drawn(written, drawing(query, label))
            first, second = {}, {}
            for row, begin in enumerate(begins):
                for number in range(count):
                    first[begin + number, 0] = terms[number]
                    second[begin + number, 0] = terms[row]
            yield Built(query, label, _arranged(scene, first), _arranged(scene, second))


def _even(count: int) -> list[int]:
    """Return so many places, the first, the last, and others evenly between them."""
    return [round(number * (2 * SENTENCES - 1) / (count - 1)) for number in range(count)]


def _arranged(
    scene: Scene, put: Mapping[tuple[int, int], str], sizes: Mapping[int, int] | None = None
) -> str:
    """Return a text in which places hold one noun, or as many as `sizes` says.

    Terms stand where `put` says, by place and number within it; neutral nouns fill the rest in their order, so that two
    texts with as many terms have the same nouns.
    """
    neutral = iter((*scene.nouns, *scene.spare))
    words = {}
    for place in scene.places:
        size = (sizes or {}).get(place, 1)
        words[place] = " ".join(put.get((place, number)) or next(neutral) for number in range(size))
    return scene.text(words)
