"""What a probe is: a stream of samples, and how they are to be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar

from termwise.probes.sample import Sample, checked

Strategy = Literal["measure-and-match", "manipulation", "transfer", "axiom"]
"""How the pairs come about: found among judged documents that agree in one thing and differ in another; made by
changing a text; taken from a data set of pairs; or found and made to meet the conditions of a retrieval axiom."""


Source = TypeVar("Source")
"""What a sample is made of: a judged text, a pair of a data set."""


class Probe(ABC):
    """A question to a ranker, put as controlled pairs.

    Attributes
    ----------
    name : str
        Lower case with hyphens, distinct among probes.
    title : str
        What tables call it.
    strategy : str
        See `Strategy`.
    symmetric : bool
        Whether the order of the two texts means nothing: then an effect says that they are told apart.
    """

    name: str
    title: str
    strategy: Strategy
    symmetric: bool = False

    @abstractmethod
    def samples(self, seed: int) -> Iterator[Sample]:
        """Yield the samples, in any order.

        Parameters
        ----------
        seed : int
            Of all that is drawn. A sample depends on it and on itself, see `termwise.probes.sample.random_for`; never
            on the samples before it.
        """

    def drawn(self, seed: int, most: int, order: Callable[[str], Any]) -> tuple[list[Sample], int]:
        """Return only some of the samples: those whose identifiers come first in an order.

        Parameters
        ----------
        seed : int
            See `samples`.
        most : int
            Samples, at the most.
        order : callable
            Returns what identifiers are ordered by.

        Returns
        -------
        samples : list of Sample
            Ordered by their identifiers.
        left_out : int
            How many others there are, at the most. A probe that knows identifiers before it makes samples overrides
            this method, and makes no others.
        """
        given = checked(self.samples(seed))
        chosen = sorted(given, key=lambda sample: order(sample.sample_id))[:most]
        return checked(chosen), len(given) - len(chosen)


def first_made(
    sources: Iterable[Source],
    *,
    name: Callable[[Source], str],
    make: Callable[[Source], Sample | None],
    most: int,
    order: Callable[[str], Any],
) -> tuple[list[Sample], int]:
    """Make samples in an order of their identifiers until there are enough; see `Probe.drawn`.

    Parameters
    ----------
    sources : iterable
        What samples are made of.
    name : callable
        Returns the identifier of the sample that a source would make.
    make : callable
        Makes the sample; None where the source gives none.
    most : int
        Samples, at the most.
    order : callable
        Returns what identifiers are ordered by.

    Returns
    -------
    samples : list of Sample
        Ordered by their identifiers.
    left_out : int
        Sources that were not tried.
    """
    queue = sorted(sources, key=lambda source: order(name(source)))
    found: list[Sample] = []
    for tried, source in enumerate(queue):
        if len(found) == most:
            return checked(found), len(queue) - tried
        if (sample := make(source)) is not None:
            found.append(sample)
    return checked(found), 0
