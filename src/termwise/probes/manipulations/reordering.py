"""Manipulations that reorder words, sentences or noun chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from random import Random

from termwise.probes.language.base import Parsed
from termwise.probes.manipulations.base import Change, ManipulationContext
from termwise.probes.manipulations.positions import Groups, words
from termwise.probes.manipulations.text_edits import contents, replaced

Order = Callable[[Sequence[str], Random], list[str]]
"""`shuffled` or `in_reverse`."""


def reordering(places: Callable[[Parsed], Groups], order: Order) -> Change:
    """Return the change that reorders the parts of each group; the text between them is unchanged.

    No word is lost, added or changed, so the text is the same for a ranker that counts words.

    Parameters
    ----------
    places : callable
        Finds the groups of parts, see `termwise.probes.manipulations.positions`.
    order : callable
    """

    def apply(text: str, context: ManipulationContext) -> str:
        groups = places(context.language.parse(text))
        ordered = [order(contents(text, group), context.random) for group in groups]
        return replaced(text, [*chain(*groups)], [*chain(*ordered)])

    return apply


def shuffle_some_words(text: str, context: ManipulationContext) -> str:
    """Shuffle as many random words as the text has noun chunks, as a control of shuffled noun chunks."""
    places = words(text)
    count = min(len(places), len(context.language.parse(text).chunks))
    chosen = sorted(context.random.sample(places, count))
    return replaced(text, chosen, shuffled(contents(text, chosen), context.random))


def shuffled(items: Sequence[str], random: Random) -> list[str]:
    """Return items in a random order that differs from the given order, if possible.

    Examples
    --------
    >>> shuffled(["a", "b"], Random(0)), shuffled(["a", "a"], Random(0))
    (['b', 'a'], ['a', 'a'])
    """
    result = list(items)
    if len(set(result)) > 1:
        while result == list(items):
            random.shuffle(result)
    return result


def in_reverse(items: Sequence[str], random: Random) -> list[str]:
    """Return items in reverse order; nothing is random."""
    return list(items)[::-1]
