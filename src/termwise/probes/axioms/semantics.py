"""Axioms about words with similar meaning.

======  ==============================================================================================================
STMC1   Of two texts without the query word, the one with words more similar to it (Fang & Zhai, SIGIR 2006).
        Published for texts of one word. We take the mean similarity of all other words to all query terms, and require
        texts of equal length with equal counts of each term
STMC2   A query word is worth no less than any number of occurrences of a similar word (same). The second text is k
        times as long, and has a similar word k times as often as the first text has the query word. Other query terms
        also occur k times as often. Constructed texts have k copies of a text with the similar word in place of the
        query word. A weak axiom
REG     Of two texts of equal length, the one with more occurrences of the term that is least similar to the other query
        terms (Zheng & Fang, ECIR 2010). Constructed texts have equal total counts
======  ==============================================================================================================

`termwise.probes.axioms.word_similarity` defines similarity. The published margin of STMC2 is twice that of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from termwise.probes.axioms.axiom import Axiom, AxiomQuery, Profile, TermSequence, larger, profile, similar
from termwise.probes.axioms.sentence_templates import Case, Query, TemplateSampler
from termwise.probes.core.sample import Sample


def _other_words(query: AxiomQuery, text: TermSequence) -> dict[str, int]:
    return {token: count for token, count in text.counts.items() if token not in query.terms}


def _mean_similarity(query: AxiomQuery, text: TermSequence) -> tuple[Profile, float]:
    others = _other_words(query, text)
    total = sum(
        count * query.similarity(token, term) for token, count in others.items() for term in query.terms
    )
    pairs = sum(others.values()) * len(query.terms)
    return profile(query, text), total / pairs if pairs else 0.0


def _stmc1(
    query: AxiomQuery, first: tuple[Profile, float], second: tuple[Profile, float], margin: float
) -> bool:
    return (
        first[0].counts == second[0].counts
        and similar(first[0].length, second[0].length, margin)
        and larger(first[1], second[1], margin)
    )


SimilarWords = tuple[Profile, tuple[dict[str, int], ...]]
"""Profile of a text, and the counts of its words that are similar to each query term."""


def _similar_words(query: AxiomQuery, text: TermSequence) -> SimilarWords:
    others = _other_words(query, text)
    counts = tuple(
        {token: count for token, count in others.items() if query.similarity(token, term) > 0}
        for term in query.terms
    )
    return profile(query, text), counts


def _stmc2(query: AxiomQuery, first: SimilarWords, second: SimilarWords, margin: float) -> bool:
    margin = 2 * margin
    (one, similar_words), (other, other_similar_words) = first, second
    only = [place for place, count in enumerate(one.counts) if count > 0 and other.counts[place] == 0]
    if len(only) != 1 or not (other.length >= one.length or similar(one.length, other.length, margin)):
        return False
    place, times = only[0], other.length / one.length
    in_proportion = all(
        similar(times * count, other.counts[at], margin) for at, count in enumerate(one.counts) if at != place
    )
    return in_proportion and any(
        token not in similar_words[place] and similar(times * one.counts[place], count, margin)
        for token, count in other_similar_words[place].items()
    )


def _least_similar(query: AxiomQuery, text: TermSequence) -> tuple[Profile, tuple[int, ...]]:
    """Return the profile, and the places of the terms least similar to the others; no places if all are equal."""
    sums = [
        sum(query.similarity(term, other) for other in query.terms if other != term) for term in query.terms
    ]
    least = tuple(place for place, value in enumerate(sums) if value == min(sums) < max(sums))
    return profile(query, text), least


def _reg(
    query: AxiomQuery,
    first: tuple[Profile, tuple[int, ...]],
    second: tuple[Profile, tuple[int, ...]],
    margin: float,
) -> bool:
    (one, least), (other, _) = first, second
    return (
        bool(least)
        and similar(one.length, other.length, margin)
        and all(larger(one.counts[place], other.counts[place], margin) for place in least)
    )


def _similar_cases(sampler: TemplateSampler, *counts: int) -> Iterator[tuple[Case[int], str]]:
    """Yield a case for each of the first two words of every group and each count, with the other word."""
    similar_to = dict(pair for group in sampler.data.related for pair in permutations(group[:2], 2))

    def variants(terms: Query) -> dict[str, int]:
        return {f"{count} {similar_to[terms[0]]}": count for count in counts}

    for case in sampler.cases(variants, [(word,) for word in similar_to]):
        yield case, similar_to[case.query]


def _stmc1_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put a similar word into some places; the query word is in neither text."""
    for case, near in _similar_cases(sampler, 1, 4):
        text = case.draw_text()
        places = case.random.sample(text.places, case.variant)
        yield case.pair(text.render(dict.fromkeys(places, near)), text.render(), near=near)


def _stmc2_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put the query word into one place, or a similar word, and then repeat the text."""
    for case, near in _similar_cases(sampler, 1, 2, 4):
        text = case.draw_text(sentences=4)
        place = case.random.choice(text.places)
        second = " ".join([text.render({place: near})] * case.variant)
        yield case.pair(text.render({place: case.query}), second, near=near)


def _reg_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put each query term into one place, and the least similar or another term into some further places."""
    groups = sampler.data.related
    queries = [
        (one, other, groups[(number + len(groups) // 2) % len(groups)][0])
        for number, (one, other, *_) in enumerate(groups)
    ]
    for case in sampler.cases({f"{more} more": more for more in (1, 3)}, queries):
        text, (one, _, apart) = case.draw_text(), case.terms
        places = case.random.sample(text.places, 3 + case.variant)
        fixed = dict(zip(places, case.terms, strict=False))
        first, second = (text.render({**fixed, **dict.fromkeys(places[3:], word)}) for word in (apart, one))
        yield case.pair(first, second, apart=apart)


STMC1 = Axiom(
    "stmc1",
    "STMC1: words nearer in meaning",
    "Two texts of equal length with equal counts of each query term; the other words of the first are more similar to "
    "the query in meaning.",
    "Fang & Zhai, SIGIR 2006",
    _stmc1,
    _stmc1_pairs,
    measure=_mean_similarity,
)
STMC2 = Axiom(
    "stmc2",
    "STMC2: the word, not one near to it",
    "First: a text with a query term. Second: a text k times as long that has a word of similar meaning k times as "
    "often.",
    "Fang & Zhai, SIGIR 2006",
    _stmc2,
    _stmc2_pairs,
    measure=_similar_words,
    weak=True,
)
REG = Axiom(
    "reg",
    "REG: the term least similar to the others",
    "Two texts of equal length; the first has more occurrences of the term that is least similar to the other query "
    "terms.",
    "Zheng & Fang, ECIR 2010",
    _reg,
    _reg_pairs,
    measure=_least_similar,
)
