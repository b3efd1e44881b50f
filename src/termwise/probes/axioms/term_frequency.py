"""Axioms about how often terms of a query occur.

=========  ===========================================================================================================
`Tfc1`     of two texts of one length, the one with more occurrences (Fang, Tao & Zhai, SIGIR 2004). Published for
           queries of one term; with several we take the sum, and made pairs differ in one term alone
`Tfc2`     the gain of one more occurrence shrinks with their number (same). The axiom compares two differences of
           scores, which no pair of texts shows. We put it so: of two terms, each there once or more, that occur as
           often together, evenly is better than unevenly. For a scorer that adds up terms of one weight it is the
           same. As terms may differ in weight, each made pair has a twin in which the other term occurs more often: the
           axiom holds where the mean over both is above 0
`Tfc3`     of two texts of one length, with two terms equally rare and as many occurrences together, the one that has
           both (Fang, Tao & Zhai, TOIS 2011). The other terms of the query occur as often in both. Made pairs have
           twins as above
`MTdc`     of two texts of one length, the one with more occurrences of the rarer term (TDC of Fang, Tao & Zhai, SIGIR
           2004, in the modified form of Shi et al., SIGIR 2005). We ask that the counts of the two terms are exchanged:
           with other counts of one sum the axiom and TFC2 may want opposite things. A weak axiom: no difference is
           allowed
=========  ===========================================================================================================

Lengths and rarities of real texts are equal within a margin; counts are equal or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from termwise.probes.axioms.base import MARGIN, Profile, Profiled, Question, differing, larger, similar
from termwise.probes.axioms.constructed import Built, Drawing
from termwise.probes.axioms.scenes import Scene, Written

TFC1_COUNTS = ((1, 0), (2, 1), (4, 2), (8, 4))
"""Occurrences in the first text and in the second."""

TFC2_COUNTS = ((2, 1), (3, 2), (5, 4))
"""Occurrences of each term in the first text, and how many are exchanged in the second."""

TFC3_COUNTS = ((1, 1), (2, 2), (4, 4))
"""The same, all of one term being exchanged."""

MTDC_COUNTS = ((1, 0), (2, 1), (4, 1))
"""Occurrences of the rare and of the common term in the first text; exchanged in the second."""


@dataclass(frozen=True)
class Tfc1(Profiled):
    """More occurrences, see the module."""

    margin: float = MARGIN

    def prefers(self, question: Question, one: Profile, other: Profile) -> bool:
        """See `Axiom`."""
        return similar(one.length, other.length, self.margin) and larger(one.total, other.total, self.margin)


@dataclass(frozen=True)
class Tfc2(Profiled):
    """Evenly rather than unevenly, see the module."""

    margin: float = MARGIN

    def prefers(self, question: Question, one: Profile, other: Profile) -> bool:
        """See `Axiom`."""
        mine, theirs = _exchanged(one, other, self.margin)
        return bool(mine) and min(mine + theirs) > 0 and max(mine) < max(theirs)


@dataclass(frozen=True)
class Tfc3(Profiled):
    """Two terms rather than one, see the module."""

    margin: float = MARGIN

    def prefers(self, question: Question, one: Profile, other: Profile) -> bool:
        """See `Axiom`."""
        mine, theirs = _exchanged(one, other, self.margin)
        if not mine or min(mine) == 0 or min(theirs) > 0:
            return False
        return similar(*_rarities(question, one, other), self.margin)


@dataclass(frozen=True)
class MTdc(Profiled):
    """More of the rarer term, see the module."""

    margin: float = MARGIN

    def prefers(self, question: Question, one: Profile, other: Profile) -> bool:
        """See `Axiom`."""
        mine, theirs = _exchanged(one, other, self.margin)
        if not mine or mine != theirs[::-1]:
            return False
        rarer, commoner = _rarities(question, one, other)
        if mine[0] > mine[1]:
            return larger(rarer, commoner, self.margin)
        return larger(commoner, rarer, self.margin)


def _exchanged(one: Profile, other: Profile, margin: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the counts of the two terms that differ, where lengths and sums agree; nothing where they do not."""
    places = differing(one.counts, other.counts)
    if len(places) != 2 or one.total != other.total or not similar(one.length, other.length, margin):
        return (), ()
    return tuple(one.counts[place] for place in places), tuple(other.counts[place] for place in places)


def _rarities(question: Question, one: Profile, other: Profile) -> tuple[float, float]:
    """Return how rare the two terms are that differ."""
    first, second = (question.idf(question.terms[place]) for place in differing(one.counts, other.counts))
    return first, second


def tfc1_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put one term of a query into more places or fewer; the others are in one place each."""
    for terms in written.queries:
        query = " ".join(terms)
        for many, few in TFC1_COUNTS:
            label = f"{many} against {few}"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            varied, *others = random.sample(terms, len(terms))
            places = random.sample(scene.places, many + len(others))
            standing = dict(zip(places[many:], others, strict=True))
            first, second = (
                scene.text({**standing, **dict.fromkeys(places[:count], varied)}) for count in (many, few)
            )
            yield Built(query, label, first, second, {"term": varied})


def tfc2_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put two terms of a query into as many places each, or some more of the one in the stead of the other."""
    return _evenly(written, drawing, TFC2_COUNTS)


def tfc3_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put two terms of a query into as many places each, or the one into all of them."""
    return _evenly(written, drawing, TFC3_COUNTS)


def _evenly(written: Written, drawing: Drawing, counts: Sequence[tuple[int, int]]) -> Iterator[Built]:
    for terms in written.queries:
        query = " ".join(terms)
        for each, moved in counts:
            pair = f"{each} and {each} against {each + moved} and {each - moved}"
            random = drawing(query, pair)
            scene = Scene.drawn(written, random)
            one, other, *others = random.sample(terms, len(terms))
            places = random.sample(scene.places, 2 * each + len(others))
            standing = dict(zip(places[2 * each :], others, strict=True))
            even = {**dict.fromkeys(places[:each], one), **dict.fromkeys(places[each : 2 * each], other)}
            first = scene.text({**standing, **even})
            twins = {
                "more of one": (one, places[each : each + moved]),
                "more of the other": (other, places[:moved]),
            }
            for twin, (more, turned) in twins.items():
                second = scene.text({**standing, **even, **dict.fromkeys(turned, more)})
                facts = {"terms": [one, other], "more": more}
                yield Built(query, f"{pair}, {twin}", first, second, facts)


def mtdc_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put a rare and a common word into places, then exchange them."""
    for rare, common in written.rare:
        query = f"{rare} {common}"
        for many, few in MTDC_COUNTS:
            label = f"{many} and {few} against {few} and {many}"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            places = random.sample(scene.places, many + few)
            first, second = (
                scene.text({**dict.fromkeys(places[:many], more), **dict.fromkeys(places[many:], less)})
                for more, less in ((rare, common), (common, rare))
            )
            yield Built(query, label, first, second, {"rare": rare, "common": common})
