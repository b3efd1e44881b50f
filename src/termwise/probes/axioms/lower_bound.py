"""Axioms about lower bounds of term weights in long texts (Lv & Zhai, CIKM 2011).

======  ==============================================================================================================
LB1     Of two texts with equal scores, the one with a query term that the other lacks. A probe has no scores. We
        require texts of equal length with equal counts of all other query terms, at least one of them above 0: a scorer
        of counts gives both the same score without the term. Constructed texts differ in one word and have 4, 12 and 24
        sentences, because the axiom is about long texts
LB2     A first occurrence is worth more than a further occurrence of an equally rare term. We require it to be worth
        more than any number of further occurrences; the published form is a constructed pair with one. Terms can differ
        in weight: each constructed pair has a twin with the two terms exchanged, and the mean over both counts
======  ==============================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator

from termwise.probes.axioms.axiom import Axiom, AxiomQuery, Profile, differing, similar
from termwise.probes.axioms.sentence_templates import LONGEST, TemplateSampler
from termwise.probes.core.sample import Sample


def _lb1(query: AxiomQuery, first: Profile, second: Profile, margin: float) -> bool:
    places = differing(first.counts, second.counts)
    return (
        len(places) == 1
        and second.counts[places[0]] == 0
        and second.total > 0
        and similar(first.length, second.length, margin)
    )


def _lb2(query: AxiomQuery, first: Profile, second: Profile, margin: float) -> bool:
    places = differing(first.counts, second.counts)
    if len(places) != 2 or not similar(first.length, second.length, margin):
        return False
    one, other = (query.idf(query.terms[place]) for place in places)
    if not similar(one, other, margin):
        return False
    return any(
        (first.counts[new], second.counts[new]) == (1, 0) and 0 < first.counts[old] < second.counts[old]
        for new, old in (places, places[::-1])
    )


def _lb1_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put each query term into one place, then leave one out."""
    for case in sampler.cases({f"{sentences} sentences": sentences for sentences in (4, 12, LONGEST)}):
        text = case.draw_text(case.variant)
        missing, *others = case.random.sample(case.terms, len(case.terms))
        place, *places = case.random.sample(text.places, len(case.terms))
        fixed = dict(zip(places, others, strict=True))
        yield case.pair(text.render({**fixed, place: missing}), text.render(fixed), term=missing)


def _lb2_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Add a new query term to a text, or further occurrences of a query term in the text."""
    for case in sampler.cases({f"{repeated} more": repeated for repeated in (1, 2, 4)}):
        text, repeated = case.draw_text(), case.variant
        one, other, *others = case.random.sample(case.terms, len(case.terms))
        place, *places = case.random.sample(text.places, 1 + repeated + len(others))
        fixed = dict(zip(places[repeated:], others, strict=True))
        for twin, old, new in (("one", one, other), ("the other", other, one)):
            base = {**fixed, place: old}
            first = text.render({**base, places[0]: new})
            second = text.render({**base, **dict.fromkeys(places[:repeated], old)})
            yield case.pair(first, second, detail=f" of {twin}", old=old, new=new)


LB1 = Axiom(
    "lb1",
    "LB1: a term that the other lacks",
    "Two texts of equal length with equal counts of all query terms except one, which only the first has.",
    "Lv & Zhai, CIKM 2011",
    _lb1,
    _lb1_pairs,
)
LB2 = Axiom(
    "lb2",
    "LB2: a first occurrence, not further ones",
    "Two texts of equal length; the first has a query term once that the second lacks, the second more occurrences of "
    "an equally rare term that both have.",
    "Lv & Zhai, CIKM 2011",
    _lb2,
    _lb2_pairs,
)
