"""Axioms about the length of texts (Fang, Tao & Zhai, SIGIR 2004).

=========  ===========================================================================================================
`Lnc1`     of two texts with as many occurrences of each term of the query, the one with fewer other words. Published
           for one word more; we take any number, and ask that there is some occurrence: a scorer that looks at nothing
           else would give both texts nothing. A weak axiom: no difference is allowed
`Lnc2`     a text that is said k times over is not below the text. A weak axiom
`TfLnc`    of two texts with as many other words, the one with more occurrences of a term. Published for queries of one
           term; of several we ask that the others occur as often, and made texts have none of them
=========  ===========================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from termwise.probes.axioms.base import MARGIN, Profile, Profiled, Question, Terms, differing, larger, similar
from termwise.probes.axioms.constructed import Built, Drawing
from termwise.probes.axioms.judged_pairs import MOST
from termwise.probes.axioms.scenes import Scene, Written
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe import Probe, Strategy
from termwise.probes.core.sample import Sample, random_for
from termwise.validation import check_count

LNC1_WORDS = (1, 4, 8)
"""Words that the second text has more than the first."""

LNC1_SENTENCES = 4
"""Sentences that it has more, in a further pair."""

LNC2_TIMES = (2, 3)
"""How often the first text says the second."""

TFLNC_MORE = (1, 2, 4)
"""Occurrences that the first text has more than the second, which has one."""


@dataclass(frozen=True)
class Lnc1(Profiled):
    """Fewer other words, see the module."""

    margin: float = MARGIN

    def prefers(self, question: Question, one: Profile, other: Profile) -> bool:
        """See `Axiom`."""
        return (
            one.total > 0
            and all(
                similar(mine, theirs, self.margin)
                for mine, theirs in zip(one.counts, other.counts, strict=True)
            )
            and larger(other.length, one.length, self.margin)
        )


@dataclass(frozen=True)
class Lnc2:
    """The same text several times, see the module."""

    def measure(self, question: Question, text: Terms) -> Terms:
        """See `Axiom`."""
        return text

    def prefers(self, question: Question, one: Terms, other: Terms) -> bool:
        """See `Axiom`."""
        if not other.length or one.length <= other.length or one.length % other.length:
            return False
        times = one.length // other.length
        return one.counts == {term: times * count for term, count in other.counts.items()}


@dataclass(frozen=True)
class TfLnc(Profiled):
    """More occurrences and nothing else, see the module."""

    margin: float = MARGIN

    def prefers(self, question: Question, one: Profile, other: Profile) -> bool:
        """See `Axiom`."""
        places = differing(one.counts, other.counts)
        return (
            len(places) == 1
            and one.counts[places[0]] > other.counts[places[0]]
            and similar(one.length - one.total, other.length - other.total, self.margin)
        )


class RepeatedTexts(Probe):
    """LNC2 with judged texts: each said twice, against itself. Negative effects break the axiom, others do not.

    Parameters
    ----------
    judged : JudgedTexts
        Whose texts.
    title, definition : str
        See `Probe`.
    most : int, optional
        Samples at most; more are drawn from. Empty texts give none.
    """

    strategy: Strategy = "axiom"

    def __init__(self, judged: JudgedTexts, *, title: str, definition: str, most: int = MOST) -> None:
        check_count("most", most)
        self.name = f"lnc2@{judged.name}"
        self.title = title
        self.definition = definition
        self._judged = judged
        self._most = most

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        found = [one for one in self._judged if one.text.strip()]
        if len(found) > self._most:
            found = random_for(seed, self.name).sample(found, self._most)
        for one in found:
            yield Sample(
                sample_id=one.judgment_id,
                query=one.query,
                first=f"{one.text} {one.text}",
                second=one.text,
                query_id=one.query_id,
                facts={"document": one.doc_id, "grade": one.grade},
            )


def lnc1_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put neutral nouns before neutral nouns, or add sentences without a word of the query."""
    for terms in written.queries:
        query = " ".join(terms)
        for words in (*LNC1_WORDS, None):
            label = f"longer by {LNC1_SENTENCES} sentences" if words is None else f"longer by {words}"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            places = random.sample(scene.places, len(terms) + (words or 0))
            standing = dict(zip(places, terms, strict=False))
            first = scene.text(standing)
            if words is None:
                further = [one for one in written.sentences if one not in scene.sentences]
                added = random.sample(further, LNC1_SENTENCES)
                second = f"{first} {Scene(tuple(added), scene.spare[: 2 * LNC1_SENTENCES], ()).text()}"
            else:
                named = zip(places[len(terms) :], scene.spare, strict=False)
                second = scene.text(
                    {**standing, **{place: f"{noun} {scene.nouns[place]}" for place, noun in named}}
                )
            yield Built(query, label, first, second)


def lnc2_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Say a text several times."""
    for terms in written.queries:
        query = " ".join(terms)
        for times in LNC2_TIMES:
            label = f"{times} times"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            text = scene.text(dict(zip(random.sample(scene.places, len(terms)), terms, strict=True)))
            yield Built(query, label, " ".join([text] * times), text)


def tflnc_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put a word of the query before neutral nouns."""
    for terms in written.queries:
        query = " ".join(terms)
        for more in TFLNC_MORE:
            label = f"{more + 1} against 1"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            term = random.choice(terms)
            place, *places = random.sample(scene.places, 1 + more)
            added = {place: f"{term} {scene.nouns[place]}" for place in places}
            first, second = scene.text({place: term, **added}), scene.text({place: term})
            yield Built(query, label, first, second, {"term": term})
