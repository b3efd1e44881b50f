"""Samples of probes: a query and two texts that differ in one property."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from termwise.display.safe_text import shown
from termwise.errors import DuplicateIdError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.scorers.protocol import Pair, TextScorer
from termwise.validation import check

ScorePairs = Callable[[TextScorer, Iterable[Pair], str], Mapping[Pair, float]]
"""Function that scores pairs; its third argument is the stage name for progress reports."""


@dataclass(frozen=True)
class Sample:
    """One controlled pair.

    Attributes
    ----------
    sample_id : str
        Distinct within its probe and stable; if empty, a hash of the queries and texts. Random choices for a sample
        depend only on this identifier and the seed.
    query : str
        Text of the query.
    first, second : str
        The texts. A positive effect means that the first text is preferred.
    query_id : str
        Samples of one query are dependent; the bootstrap draws them together. The query itself by default.
    facts : mapping
        JSON-like: origin of the texts, description of the change.
    second_query : str, optional
        Query for the second text, where the queries differ; `query` by default.

    Raises
    ------
    ParameterError
        If a field is not a string without unpaired surrogates, or the facts are not JSON-like.
    """

    sample_id: str
    query: str
    first: str
    second: str
    query_id: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    second_query: str | None = None

    def __post_init__(self) -> None:
        for name in ("sample_id", "query", "first", "second", "query_id"):
            _check_text(name, getattr(self, name))
        if self.second_query is not None:
            _check_text("second_query", self.second_query)
        if not self.sample_id:
            content = json.dumps([self.query, self.first, self.second, self.second_query])
            object.__setattr__(self, "sample_id", hashlib.sha256(content.encode("ascii")).hexdigest()[:16])
        if not self.query_id:
            object.__setattr__(self, "query_id", self.query)
        if not _is_json_object(self.facts):
            raise ParameterError(
                "the facts of a sample are a mapping of names to JSON values",
                facts=[("sample", self.sample_id), ("given", shown(self.facts))],
            )

    @property
    def pairs(self) -> tuple[Pair, Pair]:
        """Query and text of both sides."""
        second_query = self.query if self.second_query is None else self.second_query
        return (self.query, self.first), (second_query, self.second)

    @property
    def identical(self) -> bool:
        """Whether both sides are equal, so that no ranker can distinguish them."""
        return self.pairs[0] == self.pairs[1]


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ParameterError(
            "the fields of a sample are strings", facts=[("field", name), ("given", type(value).__name__)]
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ParameterError(
            "a sample contains an unpaired surrogate, which is not a character",
            facts=[("field", name), ("given", shown(value[max(0, error.start - 20) : error.end]))],
            fixes=[r"remove the matches of '[\ud800-\udfff]'"],
        ) from error


def _is_json_object(facts: object) -> bool:
    try:
        return isinstance(facts, Mapping) and bool(json.dumps(dict(facts)))
    except (TypeError, ValueError, RecursionError):
        return False


@dataclass(frozen=True)
class Samples:
    """Samples of a probe, ordered by their identifiers; `of` makes them from samples in any order.

    Examples
    --------
    >>> one, two = Sample("1", "q", "a", "b"), Sample("2", "q", "c", "d")
    >>> Samples.of([two, one]).content == Samples.of([one, two]).content
    True
    """

    items: tuple[Sample, ...]

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Samples:
        """Order samples by identifier.

        Raises
        ------
        DuplicateIdError
            If two samples have the same identifier.
        ParameterError
            If an item is not a sample.
        """
        check("samples", samples, isinstance(samples, Iterable), "an iterable of samples")
        by_id: dict[str, Sample] = {}
        for sample in samples:
            if not isinstance(sample, Sample):
                raise ParameterError("a probe yields samples", facts=[("given", shown(sample))])
            if sample.sample_id in by_id:
                raise DuplicateIdError(
                    "two samples have one identifier", facts=[("sample", sample.sample_id)]
                )
            by_id[sample.sample_id] = sample
        return cls(tuple(by_id[sample_id] for sample_id in sorted(by_id)))

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def content(self) -> str:
        """``sha256:`` and a digest of identifiers, queries and texts."""
        digest = hashlib.sha256()
        for sample in self:
            fields = [sample.sample_id, sample.query_id, sample.query, sample.first, sample.second]
            line = json.dumps(fields if sample.second_query is None else [*fields, sample.second_query])
            digest.update(f"{line}\n".encode("ascii"))
        return f"sha256:{digest.hexdigest()}"


def draw_order(seed: int, sample_id: str) -> bytes:
    """Return the sort key of a sample: its samples are drawn in the order of these keys.

    A larger limit thus includes the samples of a smaller one, and probes of one judged collection use the same texts.
    """
    return hashlib.sha256(f"{seed}\n{sample_id}".encode()).digest()


def random_for(seed: int, *parts: str) -> random.Random:
    """Return a random generator for one sample; it depends only on these arguments.

    Parameters
    ----------
    seed : int
        Seed of the run.
    *parts : str
        Usually the name of the probe and the identifier of the sample, or its text.

    Examples
    --------
    >>> random_for(1, "typos", "d7").random() == random_for(1, "typos", "d7").random()
    True
    """
    text = json.dumps([seed, *parts])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode("ascii")).digest(), "big"))
