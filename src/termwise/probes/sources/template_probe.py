"""A probe that was written as templates with slots."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from termwise.probes.core.probe import Probe, Strategy
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.sources.slots import filled, fillings


@dataclass(frozen=True)
class Case:
    """Templates, and what fills their slots.

    Attributes
    ----------
    query, first, second : str
        Templates.
    second_query : str or None
        The template of the query that the second text is scored for, where that is another one.
    slots : mapping of str to tuple of str
        Values of the slots that stand in the templates.
    """

    query: str
    first: str
    second: str
    second_query: str | None
    slots: Mapping[str, tuple[str, ...]]

    def samples(self, *, zipped: bool) -> Iterator[Sample]:
        """Yield a sample for each filling that makes two different sides."""
        for values in fillings(self.slots, zipped=zipped):
            query, first, second = (filled(text, values) for text in (self.query, self.first, self.second))
            other = None if self.second_query is None else filled(self.second_query, values)
            said = json.dumps([query, first, second, other])
            sample = Sample(
                sample_id=hashlib.sha256(said.encode("ascii")).hexdigest()[:16],
                query=query,
                first=first,
                second=second,
                facts={"slots": values} if values else {},
                second_query=other,
            )
            if not sample.identical:
                yield sample


class UserProbe(Probe):
    """A probe from a file.

    Parameters
    ----------
    name, title : str
        See `Probe`.
    cases : tuple of Case
        What is asked.
    definition : str, optional
        See `Probe`.
    symmetric : bool, optional
        Whether only being told apart counts.
    wanted : str, optional
        What a good ranker does, one of `termwise.probes.core.probe.EXPECTATIONS`.
    zipped : bool, optional
        Whether values of slots that stand at the same place belong together, rather than all combinations.
    limit : int, optional
        At most so many samples of each case.
    """

    strategy: Strategy = "transfer"

    def __init__(
        self,
        name: str,
        title: str,
        cases: tuple[Case, ...],
        *,
        definition: str = "",
        symmetric: bool = False,
        wanted: str = "",
        zipped: bool = False,
        limit: int | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.definition = definition
        self.symmetric = symmetric
        self.expectation = wanted
        self._cases = cases
        self._zipped = zipped
        self._limit = limit

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; what two cases both say comes once."""
        seen: set[str] = set()
        for case in self._cases:
            for sample in self._limited(case, seed):
                if sample.sample_id not in seen:
                    seen.add(sample.sample_id)
                    yield sample

    def _limited(self, case: Case, seed: int) -> Iterator[Sample]:
        found = case.samples(zipped=self._zipped)
        if self._limit is None:
            return found
        drawn = heapq.nsmallest(
            self._limit, found, key=lambda sample: random_for(seed, self.name, sample.sample_id).random()
        )
        return iter(drawn)
