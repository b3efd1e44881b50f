"""Base classes of probes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, Literal, TypeVar

from termwise.probes.core.sample import Sample, Samples, draw_order
from termwise.validation import check

Strategy = Literal["measure-and-match", "manipulation", "transfer", "axiom"]
"""Origin of the pairs: judged documents that agree in one property and differ in another; changed texts; data sets of
pairs; or texts found or built to meet the conditions of a retrieval axiom."""

SourceItem = TypeVar("SourceItem")
"""Source item of a sample, such as a judged text or a pair of a data set."""

EXPECTATIONS = ("first", "second", "neither", "")
"""Behaviour of a good ranker: it prefers the first text, the second, or neither; empty if either is acceptable."""

SYMMETRIC_EXPECTATIONS = ("neither", "")
"""Expectations that a symmetric probe may have."""


class Probe(ABC):
    """A set of controlled pairs that measures one behaviour of rankers.

    Attributes
    ----------
    name : str
        Lower case with hyphens, distinct among probes. The part after ``@`` names the origin of the texts.
    title : str
        Name in tables.
    strategy : str
        See `Strategy`.
    definition : str
        Description of the first and the second text; may be empty.
    symmetric : bool
        Whether the order of the two texts is arbitrary. The effect is then 1 if the scores differ by more than the tie
        threshold.
    needs : str
        Data that a sample requires, such as "texts judged not relevant"; shown if there is no sample.
    extra : str
        Extra of termwise that making the samples requires, such as "probe"; empty if none.
    expectation : str or None
        One of `EXPECTATIONS`; None for the expectation in the table of `termwise.probes.core.expectations`.
    """

    name: str
    title: str
    strategy: Strategy
    definition: str = ""
    symmetric: bool = False
    needs: str = ""
    extra: str = ""
    expectation: str | None = None

    @abstractmethod
    def samples(self, seed: int) -> Iterator[Sample]:
        """Yield the samples in any order.

        Parameters
        ----------
        seed : int
            Seed of random choices. A sample depends on the seed and its own identifier, never on other samples; see
            `termwise.probes.core.sample.random_for`.
        """

    def draw(self, seed: int, limit: int | None) -> tuple[Samples, int]:
        """Return at most `limit` random samples, the same ones for the same seed; see `draw_order`.

        Parameters
        ----------
        seed : int
            See `samples`.
        limit : int or None
            Maximum number of samples; None for all.

        Returns
        -------
        samples : Samples
        omitted : int
            Upper bound of the number of other samples.
        """
        samples = Samples.of(self.samples(seed))
        if limit is None or len(samples) <= limit:
            return samples, 0
        drawn = sorted(samples, key=lambda sample: draw_order(seed, sample.sample_id))[:limit]
        return Samples.of(drawn), len(samples) - limit


def check_probe(probe: Probe) -> None:
    """Raise `ParameterError` unless all attributes of a probe have valid values."""
    kind = type(probe).__name__
    for attribute in ("name", "title", "strategy", "definition", "needs", "extra"):
        value = getattr(probe, attribute, None)
        check(f"{kind}.{attribute}", value, isinstance(value, str), "a text")
    check(f"{kind}.name", probe.name, bool(probe.name), "a name")
    allowed = SYMMETRIC_EXPECTATIONS if probe.symmetric else EXPECTATIONS
    known = probe.expectation is None or (isinstance(probe.expectation, str) and probe.expectation in allowed)
    check(f"{kind}.expectation", probe.expectation, known, f"{', '.join(map(repr, allowed))} or None")


def define_pair(first: str, second: str) -> str:
    """Return the definition of a probe from descriptions of its two texts.

    Examples
    --------
    >>> define_pair("the text twice", "the text as it was")
    'First: the text twice. Second: the text as it was.'
    """
    return f"First: {first}. Second: {second}."


class SourcedProbe(Probe, Generic[SourceItem]):
    """Probe that makes at most one sample of each source item; `draw` makes only the drawn samples."""

    @abstractmethod
    def sources(self) -> Iterable[tuple[str, SourceItem]]:
        """Return the source items, each after the identifier of its sample."""

    @abstractmethod
    def sample(self, seed: int, source: SourceItem) -> Sample | None:
        """Return the sample of an item, or None if there is none."""

    def samples(self, seed: int) -> Iterator[Sample]:
        """Yield the sample of every item."""
        for _, source in self.sources():
            if (sample := self.sample(seed, source)) is not None:
                yield sample

    def draw(self, seed: int, limit: int | None) -> tuple[Samples, int]:
        """Make only the drawn samples; see `Probe.draw`."""
        if limit is None:
            return super().draw(seed, limit)
        queue = sorted(self.sources(), key=lambda source: draw_order(seed, source[0]))
        drawn: list[Sample] = []
        for tried, (_, source) in enumerate(queue):
            if len(drawn) == limit:
                return Samples.of(drawn), len(queue) - tried
            if (sample := self.sample(seed, source)) is not None:
                drawn.append(sample)
        return Samples.of(drawn), 0
