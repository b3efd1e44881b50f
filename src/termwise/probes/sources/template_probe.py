"""Probes of users, written as templates with slots."""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from termwise.fast_dataclass import dataclass
from termwise.probes.core.probe import Probe, Strategy
from termwise.probes.core.sample import Sample, random_for

SLOT_NAME = re.compile(r"[a-z][a-z0-9_]*")

_PART = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]")
_BRACES = {"{{": "{", "}}": "}"}


def slots_of(template: str) -> list[str]:
    """Return the slot names of a template, without duplicates; `ValueError` if a brace encloses no slot name.

    Examples
    --------
    >>> slots_of("{city} by {when}, {city} {{as it is}}")
    ['city', 'when']
    """
    names: dict[str, None] = {}
    for part in _PART.findall(template):
        if part in _BRACES:
            continue
        name = part[1:-1]
        if not SLOT_NAME.fullmatch(name):
            raise ValueError(part)
        names[name] = None
    return list(names)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Replace slots by values, and double braces by single ones.

    Examples
    --------
    >>> filled("{city} {{as it is}}", {"city": "Lyon"})
    'Lyon {as it is}'
    """
    return _PART.sub(lambda part: _BRACES.get(part[0]) or values[part[0][1:-1]], template)


def fillings(slots: Mapping[str, Sequence[str]], *, zipped: bool) -> Iterator[dict[str, str]]:
    """Yield values for all slots: every combination, or the first values, the second values, and so on.

    Examples
    --------
    >>> list(fillings({"a": ["1", "2"], "b": ["x", "y"]}, zipped=True))
    [{'a': '1', 'b': 'x'}, {'a': '2', 'b': 'y'}]
    """
    rows = zip(*slots.values(), strict=True) if zipped and slots else itertools.product(*slots.values())
    for row in rows:
        yield dict(zip(slots, row, strict=True))


def count_of(slots: Mapping[str, Sequence[str]], *, zipped: bool) -> int:
    """Return the number of fillings."""
    lengths = [len(values) for values in slots.values()]
    return lengths[0] if zipped and lengths else math.prod(lengths)


@dataclass(frozen=True)
class TemplateCase:
    """Templates of a query and two texts, and the values of their slots.

    `second_query` is the template of the query of the second text, if it differs.
    """

    query: str
    first: str
    second: str
    second_query: str | None
    slots: Mapping[str, tuple[str, ...]]

    def samples(self, *, zipped: bool) -> Iterator[Sample]:
        """Yield a sample for each filling whose two sides differ."""
        for values in fillings(self.slots, zipped=zipped):
            query, first, second = (filled(text, values) for text in (self.query, self.first, self.second))
            second_query = None if self.second_query is None else filled(self.second_query, values)
            facts = {"slots": values} if values else {}
            sample = Sample("", query, first, second, facts=facts, second_query=second_query)
            if not sample.identical:
                yield sample


@dataclass(eq=False)
class UserProbe(Probe):
    """Probe of a YAML file.

    If `zipped`, values at the same position in their lists belong together; otherwise all combinations are made. Each
    case has at most `limit` samples.
    """

    name: str
    title: str
    cases: tuple[TemplateCase, ...]
    definition: str = ""
    symmetric: bool = False
    expectation: str | None = ""
    zipped: bool = False
    limit: int | None = None
    strategy: Strategy = "transfer"

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; a sample that two cases make is yielded once."""
        seen: set[str] = set()
        for case in self.cases:
            samples: Iterable[Sample] = case.samples(zipped=self.zipped)
            if self.limit is not None:
                samples = heapq.nsmallest(
                    self.limit,
                    samples,
                    key=lambda sample: random_for(seed, self.name, sample.sample_id).random(),
                )
            for sample in samples:
                if sample.sample_id not in seen:
                    seen.add(sample.sample_id)
                    yield sample
