"""Axioms about words that are near in meaning.

=========  ===========================================================================================================
`Stmc1`    of two texts without the word of the query, the one whose words are nearer to it (Fang & Zhai, SIGIR 2006).
           Published for texts of one word. We take the mean likeness of all words that are not of the query to all
           terms of it, and ask for texts of one length in which each term occurs as often
`Stmc2`    a word of the query is worth no less than any number of occurrences of a word near to it (same). The second
           text is k times as long, and has a word near to the term k times as often as the first has the term. Other
           terms of the query, too, occur k times as often. Made texts have k copies of one in which the word near to it
           has taken the place of the term. A weak axiom
`Reg`      of two texts of one length, the one with more occurrences of the term that is least like the others of the
           query (Zheng & Fang, ECIR 2010). Made texts have as many occurrences of all terms together
=========  ===========================================================================================================

What is near to what comes from `termwise.probes.axioms.word_similarity`. Published margins of STMC2 are wider than
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from termwise.probes.axioms.base import MARGIN, Profile, Question, Terms, larger, similar
from termwise.probes.axioms.constructed import Built, Drawing
from termwise.probes.axioms.scenes import Scene, Written

STMC1_COUNTS = (1, 4)
"""Occurrences of the word near to the query."""

STMC2_TIMES = (1, 2, 4)
"""How often the second text is said over."""

STMC2_SENTENCES = 4
"""Sentences of the first text."""

REG_MORE = (1, 3)
"""Further occurrences of a term that is in both texts."""


@dataclass(frozen=True)
class Stmc1:
    """Words near to the query, see the module."""

    margin: float = MARGIN

    def measure(self, question: Question, text: Terms) -> tuple[Profile, float]:
        """See `Axiom`."""
        others = {token: count for token, count in text.counts.items() if token not in question.terms}
        near = sum(
            count * question.likeness(token, term)
            for token, count in others.items()
            for term in question.terms
        )
        all_pairs = sum(others.values()) * len(question.terms)
        return Profile.of(question, text), near / all_pairs if all_pairs else 0.0

    def prefers(self, question: Question, one: tuple[Profile, float], other: tuple[Profile, float]) -> bool:
        """See `Axiom`."""
        return (
            one[0].counts == other[0].counts
            and similar(one[0].length, other[0].length, self.margin)
            and larger(one[1], other[1], self.margin)
        )


@dataclass(frozen=True)
class NearWords:
    """Counts of a text, and its words near to each term of the query that are not in the query."""

    profile: Profile
    near: tuple[dict[str, int], ...]


@dataclass(frozen=True)
class Stmc2:
    """The word itself, see the module."""

    margin: float = 2 * MARGIN

    def measure(self, question: Question, text: Terms) -> NearWords:
        """See `Axiom`."""
        others = {token: count for token, count in text.counts.items() if token not in question.terms}
        near = tuple(
            {token: count for token, count in others.items() if question.likeness(token, term) > 0}
            for term in question.terms
        )
        return NearWords(Profile.of(question, text), near)

    def prefers(self, question: Question, one: NearWords, other: NearWords) -> bool:
        """See `Axiom`."""
        mine, theirs = one.profile, other.profile
        only = [place for place, count in enumerate(mine.counts) if count > 0 and theirs.counts[place] == 0]
        if len(only) != 1 or not (
            theirs.length >= mine.length or similar(mine.length, theirs.length, self.margin)
        ):
            return False
        place, times = only[0], theirs.length / mine.length
        in_proportion = all(
            similar(times * mine.counts[at], theirs.counts[at], self.margin)
            for at in range(len(mine.counts))
            if at != place
        )
        return in_proportion and any(
            token not in one.near[place] and similar(times * mine.counts[place], count, self.margin)
            for token, count in other.near[place].items()
        )


@dataclass(frozen=True)
class Reg:
    """The term least like the others, see the module."""

    margin: float = MARGIN

    def measure(self, question: Question, text: Terms) -> tuple[Profile, tuple[int, ...]]:
        """See `Axiom`; with the places of the terms that are least like the others, none where all are alike."""
        means = [
            sum(question.likeness(term, other) for other in question.terms if other != term)
            for term in question.terms
        ]
        least = tuple(place for place, mean in enumerate(means) if mean == min(means) < max(means))
        return Profile.of(question, text), least

    def prefers(
        self,
        question: Question,
        one: tuple[Profile, tuple[int, ...]],
        other: tuple[Profile, tuple[int, ...]],
    ) -> bool:
        """See `Axiom`."""
        mine, theirs = one[0], other[0]
        return (
            bool(one[1])
            and similar(mine.length, theirs.length, self.margin)
            and all(larger(mine.counts[place], theirs.counts[place], self.margin) for place in one[1])
        )


def stmc1_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put a word near to the query into some places; the query itself is in neither text."""
    for query, near in _near_pairs(written):
        for count in STMC1_COUNTS:
            label = f"{count} {near}"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            places = random.sample(scene.places, count)
            yield Built(query, label, scene.text(dict.fromkeys(places, near)), scene.text(), {"near": near})


def stmc2_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put the word of the query into one place, or a word near to it, the text then being said several times."""
    for query, near in _near_pairs(written):
        for times in STMC2_TIMES:
            label = f"{times} {near}"
            random = drawing(query, label)
            scene = Scene.drawn(written, random, STMC2_SENTENCES)
            place = random.choice(scene.places)
            second = " ".join([scene.text({place: near})] * times)
            yield Built(query, label, scene.text({place: query}), second, {"near": near})


def reg_pairs(written: Written, drawing: Drawing) -> Iterator[Built]:
    """Put all terms of a query into one place each, and that apart, or another one, into some more."""
    groups = written.related
    for number, (one, other, *_) in enumerate(groups):
        apart = groups[(number + len(groups) // 2) % len(groups)][0]
        query = f"{one} {other} {apart}"
        for more in REG_MORE:
            label = f"{more} more"
            random = drawing(query, label)
            scene = Scene.drawn(written, random)
            places = random.sample(scene.places, 3 + more)
            standing = dict(zip(places, (one, other, apart), strict=False))
            first, second = (
                scene.text({**standing, **dict.fromkeys(places[3:], word)}) for word in (apart, one)
            )
            yield Built(query, label, first, second, {"apart": apart})


def _near_pairs(written: Written) -> Iterator[tuple[str, str]]:
    """Yield the first two words of every group, in both orders."""
    for group in written.related:
        yield from permutations(group[:2], 2)
