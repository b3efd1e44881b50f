"""Axioms about the places of query terms (Hagen, Völske, Göring & Stein, CIKM 2016).

=======  =============================================================================================================
PROX1    The text whose terms first occur nearer to each other: mean number of words between pairs of terms
PROX2    The text whose terms first occur earlier: sum of their places
PROX3    The text that contains the whole query, word for word, earlier
PROX4    The text with the tighter closest group of all terms: number of other words inside; if equal, the text with
         more such groups
PROX5    The text with the smaller mean span of groups
=======  =============================================================================================================

They follow the heuristics of Tao & Zhai (SIGIR 2007). PROX1 to PROX3 compare texts with the same two or more query
terms, PROX4 and PROX5 texts with all query terms. A group is an occurrence of one term with the nearest occurrence of
each other term, the earlier one of two at equal distance. Places are counted in terms of the analyzer. There are no
margins.

Constructed texts have the same words in the same sentences; only the nouns or the sentences are reordered. If the axiom
allows it, terms are at the beginning, in the middle and at the end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate, combinations
from math import inf
from typing import Any, NamedTuple

from termwise.probes.axioms.axiom import Axiom, AxiomQuery, TermSequence
from termwise.probes.axioms.sentence_templates import (
    SENTENCES,
    TemplateSampler,
    TemplateText,
)
from termwise.probes.core.sample import Sample


class PlacedTerms(NamedTuple):
    """Query terms of a text, and a number; smaller is better."""

    covered: frozenset[str]
    value: float


def _smaller_value(query: AxiomQuery, first: PlacedTerms, second: PlacedTerms, margin: float) -> bool:
    return first.covered == second.covered and len(first.covered) > 1 and first.value < second.value


def _first_places(query: AxiomQuery, text: TermSequence) -> dict[str, int]:
    return {term: text.places[term][0] for term in query.terms if term in text.places}


def _mean_distance(query: AxiomQuery, text: TermSequence) -> PlacedTerms:
    places = _first_places(query, text)
    distances = [abs(one - other) - 1 for one, other in combinations(places.values(), 2)]
    return PlacedTerms(frozenset(places), sum(distances) / len(distances) if distances else 0.0)


def _place_sum(query: AxiomQuery, text: TermSequence) -> PlacedTerms:
    places = _first_places(query, text)
    return PlacedTerms(frozenset(places), sum(places.values()))


def _phrase_place(query: AxiomQuery, text: TermSequence) -> PlacedTerms:
    length = len(query.tokens)
    starts = text.places.get(query.tokens[0], []) if length else []
    phrases = (start for start in starts if text.tokens[start : start + length] == query.tokens)
    return PlacedTerms(frozenset(_first_places(query, text)), next(phrases, inf))


def _groups(query: AxiomQuery, text: TermSequence) -> list[tuple[int, int]]:
    """Return first and last place of every group; empty if a term is missing or the query has one term."""
    places = [text.places.get(term, []) for term in query.terms]
    if len(places) < 2 or not all(places):
        return []
    groups = []
    for number, own in enumerate(places):
        others = places[:number] + places[number + 1 :]
        for place in own:
            group = [place, *(_nearest(other, place) for other in others)]
            groups.append((min(group), max(group)))
    return groups


def _nearest(places: list[int], place: int) -> int:
    after = bisect_left(places, place)
    return min(places[max(0, after - 1) : after + 1], key=lambda other: abs(other - place))


def _closest_group(query: AxiomQuery, text: TermSequence) -> tuple[int, int] | None:
    """Return the other words in the closest group, and the negated number of such groups; None without a group."""
    terms = set(query.terms)
    others = list(accumulate((token not in terms for token in text.tokens), initial=0))
    inside = [others[last] - others[first] for first, last in _groups(query, text)]
    return (min(inside), -inside.count(min(inside))) if inside else None


def _mean_span(query: AxiomQuery, text: TermSequence) -> float | None:
    """Return the mean span of groups; None without a group."""
    spans = [last - first for first, last in _groups(query, text)]
    return sum(spans) / len(spans) if spans else None


def _smaller(query: AxiomQuery, first: Any, second: Any, margin: float) -> bool:
    """Return whether both measurements exist and the first is smaller."""
    return first is not None and second is not None and bool(first < second)


def _prox1_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put terms into adjacent places, or spread them over the text."""
    for case in sampler.cases(
        {f"together at the {where}": where for where in ("beginning", "middle", "end")}
    ):
        text, count = case.draw_text(), len(case.terms)
        last = 2 * SENTENCES - count
        begin = {"beginning": 0, "middle": last // 2, "end": last}[case.variant]
        first = {(begin + number, 0): term for number, term in enumerate(case.terms)}
        second = {(place, 0): term for place, term in zip(_spread(count), case.terms, strict=True)}
        yield case.pair(_arranged(text, first), _arranged(text, second))


def _prox2_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put the two sentences with the terms before the others, among them, or after them."""
    offsets = {"beginning": 0, "middle": (SENTENCES - 2) // 2, "end": SENTENCES - 2}
    variants = {f"{early} against {late}": (early, late) for early, late in combinations(offsets, 2)}
    for case in sampler.cases(variants):
        text = case.draw_text()
        words = dict(zip(case.random.sample(range(4), len(case.terms)), case.terms, strict=True))
        rest = list(range(2, SENTENCES))
        first, second = (
            text.render(words, order=[*rest[: offsets[where]], 0, 1, *rest[offsets[where] :]])
            for where in case.variant
        )
        yield case.pair(first, second)


def _prox3_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put the query into one place and its reversal into a later one, or vice versa."""
    for case in sampler.cases({"far apart": (1, 2 * SENTENCES - 2), "near": (SENTENCES, SENTENCES + 2)}):
        text, (begin, end) = case.draw_text(), case.variant
        reversed_query = " ".join(reversed(case.terms))
        first = text.render({begin: case.query, end: reversed_query})
        yield case.pair(first, text.render({begin: reversed_query, end: case.query}))


def _prox4_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put the query into one place or spread its terms, and into two places or one."""
    here, there = SENTENCES, SENTENCES // 2
    for case in sampler.cases({"closer": (here,), "more often": (here, there)}):
        text, wide, count = case.draw_text(), case.variant, len(case.terms)
        spread = _spread(2 * count)
        once, again = (
            {(place, 0): term for place, term in zip(spread[start::2], case.terms, strict=True)}
            for start in (0, 1)
        )
        phrase, other_phrase = (
            {(place, number): term for number, term in enumerate(case.terms)} for place in (here, there)
        )
        first, second = (
            ({**once, **phrase}, {**once, **again})
            if case.label == "closer"
            else ({**phrase, **other_phrase}, {**phrase, **once})
        )
        sizes = dict.fromkeys(wide, count)
        yield case.pair(_arranged(text, first, sizes), _arranged(text, second, sizes))


def _prox5_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put all terms into each of several rows of places, or one term into each row."""
    for case in sampler.cases({"far apart": True, "near": False}):
        text, count = case.draw_text(), len(case.terms)
        middle = (2 * SENTENCES - count * count) // 2
        begins = (
            [round(row * (2 * SENTENCES - count) / (count - 1)) for row in range(count)]
            if case.variant
            else [middle + count * row for row in range(count)]
        )
        first, second = {}, {}
        for row, begin in enumerate(begins):
            for number in range(count):
                first[begin + number, 0] = case.terms[number]
                second[begin + number, 0] = case.terms[row]
        yield case.pair(_arranged(text, first), _arranged(text, second))


def _spread(count: int) -> list[int]:
    """Return the first place, the last place, and places evenly between them."""
    return [round(number * (2 * SENTENCES - 1) / (count - 1)) for number in range(count)]


def _arranged(
    text: TemplateText, words: Mapping[tuple[int, int], str], sizes: Mapping[int, int] | None = None
) -> str:
    """Return a text with words at given places and numbers within the place; neutral nouns fill the rest in order.

    A place has one noun, or the number of nouns in `sizes`. Two texts with equally many words have the same nouns.
    """
    neutral = iter((*text.nouns, *text.spare))
    filled = {}
    for place in text.places:
        size = (sizes or {}).get(place, 1)
        filled[place] = " ".join(words.get((place, number)) or next(neutral) for number in range(size))
    return text.render(filled)


_SOURCE = "Hagen et al., CIKM 2016"

PROX1 = Axiom(
    "prox1",
    "PROX1: terms near each other",
    "Two texts with the same query terms; in the first their first occurrences are nearer to each other.",
    _SOURCE,
    _smaller_value,
    _prox1_pairs,
    measure=_mean_distance,
)
PROX2 = Axiom(
    "prox2",
    "PROX2: terms early",
    "Two texts with the same query terms; the first has them earlier.",
    _SOURCE,
    _smaller_value,
    _prox2_pairs,
    measure=_place_sum,
)
PROX3 = Axiom(
    "prox3",
    "PROX3: the whole query early",
    "Two texts with the same query terms; the first contains the whole query, word for word, earlier, or only the "
    "first contains it.",
    _SOURCE,
    _smaller_value,
    _prox3_pairs,
    measure=_phrase_place,
)
PROX4 = Axiom(
    "prox4",
    "PROX4: the closest group tighter",
    "Two texts with all query terms; in the first the closest group of all terms has fewer other words inside, or "
    "there are more such groups.",
    _SOURCE,
    _smaller,
    _prox4_pairs,
    measure=_closest_group,
)
PROX5 = Axiom(
    "prox5",
    "PROX5: groups tighter in the mean",
    "Two texts with all query terms; in the first, an occurrence of a term and the nearest occurrences of the other "
    "terms span fewer words in the mean.",
    _SOURCE,
    _smaller,
    _prox5_pairs,
    measure=_mean_span,
)
