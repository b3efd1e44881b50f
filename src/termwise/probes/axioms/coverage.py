"""Axioms about the number of query terms in a text (conditions of Bondarenko et al., SIGIR 2022).

======  ==============================================================================================================
AND     The text with all query terms is preferred to a text without some. Constructed texts have equal lengths and
        equal total counts of query terms
M-AND   The text with more query terms, the modified form of AND. Constructed as above; neither text has all terms
DIV     The text with less overlap with the query (after Gollapudi & Sharma, WWW 2009): the smaller share of common
        terms among the terms of both. Constructed texts have equal lengths and equal counts of each query term; the
        second repeats a neutral noun
======  ==============================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator

from termwise.probes.axioms.axiom import Axiom, AxiomQuery, TermSequence, larger
from termwise.probes.axioms.sentence_templates import Query, TemplateSampler
from termwise.probes.core.sample import Sample


def _covered(query: AxiomQuery, text: TermSequence) -> int:
    return sum(term in text.counts for term in query.terms)


def _overlap(query: AxiomQuery, text: TermSequence) -> float:
    common = _covered(query, text)
    either = len(text.counts) + len(query.terms) - common
    return common / either if either else 0.0


def _and_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put each query term into one place, then replace one term by another."""
    for case in sampler.cases(lambda terms: {f"without {missing}": missing for missing in terms}):
        text, missing = case.draw_text(), case.variant
        words = dict(zip(case.random.sample(text.places, len(case.terms)), case.terms, strict=True))
        twice = case.random.choice([term for term in case.terms if term != missing])
        second = {place: twice if term == missing else term for place, term in words.items()}
        yield case.pair(text.render(words), text.render(second), missing=missing, twice=twice)


def _mand_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put each query term except one into one place, then replace one term by another."""

    def variants(terms: Query) -> dict[str, str]:
        return {f"neither with {absent}": absent for absent in terms} if len(terms) > 2 else {}

    for case in sampler.cases(variants):
        text, absent = case.draw_text(), case.variant
        kept = case.random.sample([term for term in case.terms if term != absent], len(case.terms) - 1)
        places = case.random.sample(text.places, len(kept))
        words = dict(zip(places, kept, strict=True))
        first, second = text.render(words), text.render({**words, places[0]: kept[1]})
        yield case.pair(first, second, absent=absent, missing=kept[0], twice=kept[1])


def _div_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put each query term into one place, and into the other places one repeated neutral noun or different nouns."""
    for case in sampler.cases({f"one noun {repeated} times": repeated for repeated in (4, 10)}):
        text = case.draw_text()
        places = case.random.sample(text.places, len(case.terms) + case.variant)
        words = dict(zip(places, case.terms, strict=False))
        repeated = dict.fromkeys(places[len(case.terms) :], text.nouns[places[-1]])
        yield case.pair(text.render(words), text.render({**words, **repeated}))


AND = Axiom(
    "and",
    "AND: all terms",
    "The first text has all query terms, the second lacks some.",
    "Bondarenko et al., SIGIR 2022",
    lambda query, first, second, margin: second < first == len(query.terms),
    _and_pairs,
    measure=_covered,
)
M_AND = Axiom(
    "m-and",
    "M-AND: more of the terms",
    "The first text has more of the query terms than the second.",
    "Bondarenko et al., SIGIR 2022",
    lambda query, first, second, margin: first > second,
    _mand_pairs,
    measure=_covered,
)
DIV = Axiom(
    "div",
    "DIV: less in common with the query",
    "The first text has less overlap with the query: a smaller share of common terms among the terms of both.",
    "After Gollapudi & Sharma, WWW 2009",
    lambda query, first, second, margin: larger(second, first, margin),
    _div_pairs,
    measure=_overlap,
)
