"""What a probe is: a stream of samples, and how they are to be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Literal, TypeVar

from termwise.probes.core.sample import Sample, check_samples
from termwise.validation import check

Strategy = Literal["measure-and-match", "manipulation", "transfer", "axiom"]
"""How the pairs come about: found among judged documents that agree in one thing and differ in another; made by
changing a text; taken from a data set of pairs; or found and made to meet the conditions of a retrieval axiom."""


SourceItem = TypeVar("SourceItem")
"""What a sample is made of: a judged text, a pair of a data set."""


EXPECTATIONS = ("first", "second", "neither", "")
"""What may be wanted of a ranker: that it prefers one text, or neither; the last where people may want either."""

SYMMETRIC_EXPECTATIONS = ("neither", "")
"""Likewise, where the order of the two texts means nothing."""


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
    definition : str
        What the two texts are, in a sentence or two that say which is the first; empty where nobody said it.
    symmetric : bool
        Whether the order of the two texts means nothing: then an effect says that they are told apart.
    needs : str
        What there has to be for a sample, such as "texts judged not relevant"; said where there is none.
    expectation : str or None
        What a good ranker does, one of `EXPECTATIONS`; None where `termwise.probes.core.expectations` is to say.
    """

    name: str
    title: str
    strategy: Strategy
    definition: str = ""
    symmetric: bool = False
    needs: str = ""
    expectation: str | None = None

    @abstractmethod
    def samples(self, seed: int) -> Iterator[Sample]:
        """Yield the samples, in any order.

        Parameters
        ----------
        seed : int
            Of all that is drawn. A sample depends on it and on itself, see `termwise.probes.core.sample.random_for`;
            never
            on the samples before it.
        """

    def draw(self, seed: int, most: int, order: Callable[[str], Any]) -> tuple[list[Sample], int]:
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
        given = check_samples(self.samples(seed))
        chosen = sorted(given, key=lambda sample: order(sample.sample_id))[:most]
        return check_samples(chosen), len(given) - len(chosen)


def check_probe(probe: Probe) -> None:
    """Refuse a probe that does not say what it is.

    Raises
    ------
    ParameterError
        If its name, title, strategy, definition, or what it needs, is no text, or what it wants is no wish.
    """
    kind = type(probe).__name__
    for attribute in ("name", "title", "strategy", "definition", "needs"):
        value = getattr(probe, attribute, None)
        check(f"{kind}.{attribute}", value, isinstance(value, str), "a text")
    check(f"{kind}.name", probe.name, bool(probe.name), "a name")
    wishes = SYMMETRIC_EXPECTATIONS if probe.symmetric else EXPECTATIONS
    expected = f"{', '.join(map(repr, wishes))} or None"
    known = probe.expectation is None or (isinstance(probe.expectation, str) and probe.expectation in wishes)
    check(f"{kind}.expectation", probe.expectation, known, expected)


def define_pair(first: str, second: str) -> str:
    """Define a probe by its two texts.

    Examples
    --------
    >>> define_pair("the text twice", "the text as it was")
    'First: the text twice. Second: the text as it was.'
    """
    return f"First: {first}. Second: {second}."


class SourcedProbe(Probe, Generic[SourceItem]):
    """A probe that makes each sample of one thing, whose identifier is known before the sample is made."""

    @abstractmethod
    def sources(self) -> Iterable[SourceItem]:
        """Return what samples are made of."""

    @abstractmethod
    def source_id(self, source: SourceItem) -> str:
        """Return the identifier of the sample that a source would make."""

    @abstractmethod
    def sample(self, seed: int, source: SourceItem) -> Sample | None:
        """Make the sample; None where the source gives none."""

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        for source in self.sources():
            if (sample := self.sample(seed, source)) is not None:
                yield sample

    def draw(self, seed: int, most: int, order: Callable[[str], Any]) -> tuple[list[Sample], int]:
        """See `Probe`; samples that are not wanted are not made."""
        queue = sorted(self.sources(), key=lambda source: order(self.source_id(source)))
        found: list[Sample] = []
        for tried, source in enumerate(queue):
            if len(found) == most:
                return check_samples(found), len(queue) - tried
            if (sample := self.sample(seed, source)) is not None:
                found.append(sample)
        return check_samples(found), 0
