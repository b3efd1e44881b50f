"""Axioms about the length of texts (Fang, Tao & Zhai, SIGIR 2004).

======  ==============================================================================================================
LNC1    Of two texts with equal counts of each query term, the one with fewer other words. Published for one word more;
        we take any number, and require an occurrence of a query term. A weak axiom: equal scores are allowed
LNC2    A text repeated k times does not score below the text. A weak axiom
TF-LNC  Of two texts with equally many other words, the one with more occurrences of a term. Published for queries of
        one term; for several, the others have equal counts, and are absent from constructed texts
======  ==============================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator

from termwise.probes.axioms.axiom import Axiom, AxiomQuery, Profile, TermSequence, differing, larger, similar
from termwise.probes.axioms.sentence_templates import (
    PLACES_PER_SENTENCE,
    TemplateSampler,
    TemplateText,
)
from termwise.probes.core.sample import Sample


def _lnc1(query: AxiomQuery, first: Profile, second: Profile, margin: float) -> bool:
    return (
        first.total > 0
        and all(similar(*counts, margin) for counts in zip(first.counts, second.counts, strict=True))
        and larger(second.length, first.length, margin)
    )


def _lnc2(query: AxiomQuery, first: TermSequence, second: TermSequence, margin: float) -> bool:
    if not second.length or first.length <= second.length or first.length % second.length:
        return False
    times = first.length // second.length
    return first.counts == {term: times * count for term, count in second.counts.items()}


def _tflnc(query: AxiomQuery, first: Profile, second: Profile, margin: float) -> bool:
    places = differing(first.counts, second.counts)
    return (
        len(places) == 1
        and first.counts[places[0]] > second.counts[places[0]]
        and similar(first.length - first.total, second.length - second.total, margin)
    )


def _lnc1_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put neutral nouns before neutral nouns, or add sentences without a query term."""
    sentences = 4
    variants: dict[str, int | None] = {f"longer by {words}": words for words in (1, 4, 8)}
    variants[f"longer by {sentences} sentences"] = None
    for case in sampler.cases(variants):
        text, words = case.draw_text(), case.variant
        places = case.random.sample(text.places, len(case.terms) + (words or 0))
        fixed = dict(zip(places, case.terms, strict=False))
        first = text.render(fixed)
        if words is None:
            unused = [sentence for sentence in sampler.data.sentences if sentence not in text.sentences]
            added = tuple(case.random.sample(unused, sentences))
            nouns = text.spare[: PLACES_PER_SENTENCE * sentences]
            second = f"{first} {TemplateText(added, nouns, ()).render()}"
        else:
            additions = zip(places[len(case.terms) :], text.spare, strict=False)
            longer = {place: f"{noun} {text.nouns[place]}" for place, noun in additions}
            second = text.render({**fixed, **longer})
        yield case.pair(first, second)


def _lnc2_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Repeat a text."""
    for case in sampler.cases({f"{times} times": times for times in (2, 3)}):
        text = case.draw_text()
        places = case.random.sample(text.places, len(case.terms))
        once = text.render(dict(zip(places, case.terms, strict=True)))
        yield case.pair(" ".join([once] * case.variant), once)


def _tflnc_pairs(sampler: TemplateSampler) -> Iterator[Sample]:
    """Put a query term before neutral nouns."""
    for case in sampler.cases({f"{more + 1} against 1": more for more in (1, 2, 4)}):
        text = case.draw_text()
        term = case.random.choice(case.terms)
        place, *places = case.random.sample(text.places, 1 + case.variant)
        added = {place: f"{term} {text.nouns[place]}" for place in places}
        yield case.pair(text.render({place: term, **added}), text.render({place: term}), term=term)


LNC1 = Axiom(
    "lnc1",
    "LNC1: fewer other words",
    "Two texts with equal counts of each query term; the first has fewer other words.",
    "Fang, Tao & Zhai, SIGIR 2004",
    _lnc1,
    _lnc1_pairs,
    weak=True,
)
LNC2 = Axiom(
    "lnc2",
    "LNC2: text repeated",
    "First: the text repeated several times. Second: the text once.",
    "Fang, Tao & Zhai, SIGIR 2004",
    _lnc2,
    _lnc2_pairs,
    measure=lambda query, text: text,
    weak=True,
    in_judged_texts=False,
)
TF_LNC = Axiom(
    "tf-lnc",
    "TF-LNC: more occurrences, and longer",
    "Two texts with equally many other words; the first has more occurrences of a query term, and is longer by them.",
    "Fang, Tao & Zhai, SIGIR 2004",
    _tflnc,
    _tflnc_pairs,
)
