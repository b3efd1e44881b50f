"""Words, sentences or noun chunks in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

from termwise.probes.language.base import Parsed
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.positions import Groups
from termwise.probes.manipulations.text_edits import contents, replaced

Order = Callable[[Sequence[str], Random], list[str]]
"""Puts things into another order."""


@dataclass(frozen=True)
class Rearranged:
    """Things of a text change places; spaces, and what stands between the places, stay.

    No word is lost, added or changed: to whatever counts words, the text is what it was.

    Attributes
    ----------
    name, title, makes : str
        See `Manipulation`.
    places : callable
        Finds the things that change places, by group; see `termwise.probes.manipulations.positions`.
    order : callable
        `shuffled` or `reversed_`, of each group by itself.
    """

    name: str
    title: str
    makes: str
    places: Callable[[Parsed], Groups]
    order: Order

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        groups = self.places(around.language.parse(text))
        ordered = [self.order(contents(text, group), around.random) for group in groups]
        return replaced(text, [*chain(*groups)], [*chain(*ordered)])


def shuffled(things: Sequence[str], random: Random) -> list[str]:
    """Return things in an order drawn from all that can be told from theirs; as they are, if there is none.

    Examples
    --------
    >>> shuffled(["a", "b"], Random(0)), shuffled(["a", "a"], Random(0))
    (['b', 'a'], ['a', 'a'])
    """
    found = list(things)
    if len(set(found)) > 1:
        while found == list(things):
            random.shuffle(found)
    return found


def reversed_(things: Sequence[str], random: Random) -> list[str]:
    """Return things from the last to the first; nothing is drawn."""
    return list(things)[::-1]
