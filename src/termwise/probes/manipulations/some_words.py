"""A few words change places: what a change of noun chunks is to be compared with."""

from __future__ import annotations

from dataclasses import dataclass

from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.positions import words
from termwise.probes.manipulations.reordering import shuffled
from termwise.probes.manipulations.text_edits import contents, replaced


@dataclass(frozen=True)
class SomeWordsShuffled:
    """As many words change places as the text has noun chunks; which ones is drawn."""

    name: str = "shuffle-some-words"
    title: str = "As many words shuffled as there are noun chunks"
    makes: str = "the text in which as many words have changed places as it has noun chunks"

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        places = words(text)
        count = min(len(places), len(around.language.parse(text).chunks))
        drawn = sorted(around.random.sample(places, count))
        return replaced(text, drawn, shuffled(contents(text, drawn), around.random))
