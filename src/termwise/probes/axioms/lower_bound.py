"""Axioms about what a term must be worth even in a long text (Lv & Zhai, CIKM 2011).

=========  ===========================================================================================================
`Lb1`      of two texts with one score, the one with a term of the query that the other lacks. Scores are not known to a
           probe. We ask instead for texts of one length in which all other terms of the query occur as often, one of
           them at least: a scorer that looks at counts gives both one score without the term. Made texts differ in one
           word and are of 4, 12 and 24 sentences, as the axiom is about long ones
`Lb2`      a first occurrence is worth more than a further one of a term that is there, both being equally rare. We put
           it more strongly: more than any number of further ones. The published form is a made pair with one. Terms may
           differ in weight: each made pair has a twin with the two terms exchanged, and the mean over both counts
=========  ===========================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from termwise.probes.axioms.base import MARGIN, Profile, Profiled, Question, differing, similar
from termwise.probes.axioms.constructed import Built, Drawing
from termwise.probes.axioms.scenes import LONGEST, Scene, Written

LB1_SENTENCES = (4, 12, LONGEST)
"""Sentences of the texts."""

LB2_REPEATED = (1, 2, 4)
"""Further occurrences of the term that is there."""


@dataclass(frozen=True)
class Lb1(Profiled):
    """A term that the other text lacks, see the module."""

    margin: float = MARGIN

    def prefers(self, question: Question, one: Profile, other: Profile) -> bool:
        """See `Axiom`."""
        places = differing(one.counts, other.counts)
        return (
            len(places) == 1
            and other.counts[places[0]] == 0
            and other.total > 0
            and similar(one.length, other.length, self.margin)
        )


@dataclass(frozen=True)
class Lb2(Profiled):
    """A first occurrence against further ones, see the module."""

    margin: float = MARGIN

    def prefers(self, question: Question, one: Profile, other: Profile) -> bool:
        """See `Axiom`."""
        places = differing(one.counts, other.counts)
        if len(places) != 2 or not similar(one.length, other.length, self.margin):
            return False
        one_idf, other_idf = (question.idf(question.terms[place]) for place in places)
        if not similar(one_idf, other_idf, self.margin):
            return False
        return any(
            (one.counts[new], other.counts[new]) == (1, 0) and 0 < one.counts[old] < other.counts[old]
            for new, old in (places, places[::-1])
        )


def lb1_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put all terms of a query into one place each, then leave one out."""
    for terms in written.queries:
        query = " ".join(terms)
        for sentences in LB1_SENTENCES:
            label = f"{sentences} sentences"
            random = drawing(query, label)
            scene = Scene.drawn(written, random, sentences)
            missing, *others = random.sample(terms, len(terms))
            place, *places = random.sample(scene.places, len(terms))
            standing = dict(zip(places, others, strict=True))
            first, second = scene.text({**standing, place: missing}), scene.text(standing)
            yield Built(query, label, first, second, {"term": missing})


def lb2_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put one term more into a text, or so many more of one that is there."""
    for terms in written.queries:
        query = " ".join(terms)
        for repeated in LB2_REPEATED:
            pair = f"{repeated} more"
            random = drawing(query, pair)
            scene = Scene.drawn(written, random)
            one, other, *others = random.sample(terms, len(terms))
            place, *places = random.sample(scene.places, 1 + repeated + len(others))
            standing = dict(zip(places[repeated:], others, strict=True))
            for twin, old, new in (("one", one, other), ("the other", other, one)):
                base = {**standing, place: old}
                first = scene.text({**base, places[0]: new})
                second = scene.text({**base, **dict.fromkeys(places[:repeated], old)})
                yield Built(query, f"{pair} of {twin}", first, second, {"old": old, "new": new})
