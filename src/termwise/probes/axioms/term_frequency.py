"""Axioms about the frequency of query terms.

======  ==============================================================================================================
TFC1    Of two texts of equal length, the one with more occurrences (Fang, Tao & Zhai, SIGIR 2004). Published for
        queries of one term; for several terms we take the sum, and constructed pairs differ in one term
TFC2    The gain of a further occurrence decreases with the count (same). The axiom compares two differences of scores,
        which a single pair of texts does not show. We take two terms with an equal total count, each at least once:
        equal counts are better than unequal ones. For a scorer that sums over terms of equal weight this is equivalent.
        Because terms can differ in weight, each constructed pair has a twin with the other term more frequent: the
        axiom holds if the mean over both is above 0
TFC3    Of two texts of equal length, with two equally rare terms and an equal total count, the one that has both terms
        (Fang, Tao & Zhai, TOIS 2011). Other query terms have equal counts. Constructed pairs have twins as above
M-TDC   Of two texts of equal length, the one with more occurrences of the rarer term (TDC of Fang, Tao & Zhai, SIGIR
        2004, as modified by Shi et al., SIGIR 2005). We require that the counts of the two terms are exchanged; with
        other counts of an equal sum the axiom can contradict TFC2. A weak axiom: equal scores are allowed
======  ==============================================================================================================

Lengths and rarities of real texts are equal within the margin; counts are equal exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from termwise.probes.axioms.axiom import Axiom, AxiomQuery, Profile, differing, larger, similar
from termwise.probes.axioms.sentence_templates import TemplateSampler
from termwise.probes.core.sample import Sample


def _tfc1(query: AxiomQuery, first: Profile, second: Profile, margin: float) -> bool:
    return similar(first.length, second.length, margin) and larger(first.total, second.total, margin)


def _tfc2(query: AxiomQuery, first: Profile, second: Profile, margin: float) -> bool:
    one, other = _exchanged_counts(first, second, margin)
    return bool(one) and min(one + other) > 0 and max(one) < max(other)


def _tfc3(query: AxiomQuery, first: Profile, second: Profile, margin: float) -> bool:
    one, other = _exchanged_counts(first, second, margin)
    if not one or min(one) == 0 or min(other) > 0:
        return False
    return similar(*_rarities(query, first, second), margin)


def _mtdc(query: AxiomQuery, first: Profile, second: Profile, margin: float) -> bool:
    one, other = _exchanged_counts(first, second, margin)
    if not one or one != other[::-1]:
        return False
    more, less = _rarities(query, first, second)
    return larger(more, less, margin) if one[0] > one[1] else larger(less, more, margin)


def _exchanged_counts(
    first: Profile, second: Profile, margin: float
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the counts of the two terms that differ if lengths and totals agree; otherwise an empty result."""
    places = differing(first.counts, second.counts)
    if len(places) != 2 or first.total != second.total or not similar(first.length, second.length, margin):
        return (), ()
    return tuple(first.counts[place] for place in places), tuple(second.counts[place] for place in places)


def _rarities(query: AxiomQuery, first: Profile, second: Profile) -> tuple[float, float]:
    """Return the rarities of the two terms that differ."""
    one, other = (query.idf(query.terms[place]) for place in differing(first.counts, second.counts))
    return one, other


def _tfc1_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put one query term into more or fewer places; the other terms are in one place each."""
    counts = ((1, 0), (2, 1), (4, 2), (8, 4))
    for case in sampler.cases({f"{many} against {few}": (many, few) for many, few in counts}):
        text, (many, few) = case.draw_text(), case.variant
        varied, *others = case.random.sample(case.terms, len(case.terms))
        places = case.random.sample(text.places, many + len(others))
        fixed = dict(zip(places[many:], others, strict=True))
        first, second = (
            text.render({**fixed, **dict.fromkeys(places[:count], varied)}) for count in (many, few)
        )
        yield case.pair(first, second, term=varied)


def _even_pairs(sampler: TemplateSampler, counts: Sequence[tuple[int, int]]) -> Iterator[Sample]:
    """Put two query terms into equally many places, or replace some occurrences of one by the other.

    `counts` has the count of each term in the first text, and the number of replaced occurrences in the second.
    """
    variants = {
        f"{each} and {each} against {each + moved} and {each - moved}": (each, moved)
        for each, moved in counts
    }
    for case in sampler.cases(variants):
        text, (each, moved) = case.draw_text(), case.variant
        one, other, *others = case.random.sample(case.terms, len(case.terms))
        places = case.random.sample(text.places, 2 * each + len(others))
        even = {
            **dict(zip(places[2 * each :], others, strict=True)),
            **dict.fromkeys(places[:each], one),
            **dict.fromkeys(places[each : 2 * each], other),
        }
        twins = {
            "more of one": (one, places[each : each + moved]),
            "more of the other": (other, places[:moved]),
        }
        for twin, (more, replaced) in twins.items():
            first, second = text.render(even), text.render({**even, **dict.fromkeys(replaced, more)})
            yield case.pair(first, second, detail=f", {twin}", terms=[one, other], more=more)


def _mtdc_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put a rare and a common word into places, then exchange them."""
    counts = ((1, 0), (2, 1), (4, 1))
    variants = {f"{many} and {few} against {few} and {many}": (many, few) for many, few in counts}
    for case in sampler.cases(variants, sampler.data.rare):
        text, (many, few) = case.draw_text(), case.variant
        rare, common = case.terms
        places = case.random.sample(text.places, many + few)
        first, second = (
            text.render({**dict.fromkeys(places[:many], more), **dict.fromkeys(places[many:], less)})
            for more, less in ((rare, common), (common, rare))
        )
        yield case.pair(first, second, rare=rare, common=common)


TFC1 = Axiom(
    "tfc1",
    "TFC1: more occurrences",
    "Two texts of equal length; the first has more occurrences of query terms.",
    "Fang, Tao & Zhai, SIGIR 2004",
    _tfc1,
    _tfc1_pairs,
)
TFC2 = Axiom(
    "tfc2",
    "TFC2: evenly, not unevenly",
    "Two texts of equal length with an equal total count of two terms; in the first the counts are more even.",
    "Fang, Tao & Zhai, SIGIR 2004",
    _tfc2,
    partial(_even_pairs, counts=((2, 1), (3, 2), (5, 4))),
    in_judged_texts=False,
)
TFC3 = Axiom(
    "tfc3",
    "TFC3: two terms, not one twice",
    "Two texts of equal length with an equal total count of two equally rare terms; the first has both terms, the "
    "second only one.",
    "Fang, Tao & Zhai, TOIS 2011",
    _tfc3,
    partial(_even_pairs, counts=((1, 1), (2, 2), (4, 4))),
)
MTDC = Axiom(
    "m-tdc",
    "M-TDC: more of the rarer term",
    "Two texts of equal length with the counts of two terms exchanged; the first has more of the rarer term.",
    "Shi et al., SIGIR 2005",
    _mtdc,
    _mtdc_pairs,
    weak=True,
)
