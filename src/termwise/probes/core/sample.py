"""A sample: a query and two texts that differ in one thing."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from termwise.display.safe_text import shown
from termwise.errors import DuplicateIdError, ParameterError
from termwise.validation import check


@dataclass(frozen=True)
class Sample:
    """One controlled pair.

    Attributes
    ----------
    sample_id : str
        Distinct within its probe, and always the same for the same pair: what is drawn at random for a sample depends
        on it, and on nothing that stands around it.
    query : str
        The information need.
    first, second : str
        The texts. An effect above 0 says that the first is preferred.
    query_id : str
        Samples of one query depend on each other; they are drawn together where intervals are made. The query itself
        unless given.
    facts : mapping
        JSON-like: where the texts come from, what was changed.
    second_query : str, optional
        The query that the second text is scored for, where the queries are what differs; the same one unless given.
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
            raise ParameterError("a sample has an identifier", facts=[("query", self.query[:60])])
        if not self.query_id:
            object.__setattr__(self, "query_id", self.query)

    @property
    def pairs(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Query and text of both sides."""
        other = self.query if self.second_query is None else self.second_query
        return (self.query, self.first), (other, self.second)

    @property
    def identical(self) -> bool:
        """Whether both sides say the same, so that no ranker can tell them apart."""
        return self.pairs[0] == self.pairs[1]


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ParameterError(
            "a sample is made of strings", facts=[("field", name), ("given", type(value).__name__)]
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ParameterError(
            "a sample holds half of a surrogate pair, which is not a character",
            facts=[("field", name), ("given", shown(value[max(0, error.start - 20) : error.end]))],
            fixes=[r"take out what '[\ud800-\udfff]' finds"],
        ) from error


def _check_facts(sample: Sample) -> None:
    """Refuse facts that no file of samples could hold, before anything is scored."""
    try:
        held = isinstance(sample.facts, Mapping) and bool(json.dumps(dict(sample.facts)))
    except (TypeError, ValueError, RecursionError):
        held = False
    if not held:
        raise ParameterError(
            "the facts of a sample are names with values that JSON has",
            facts=[("sample", sample.sample_id), ("given", shown(sample.facts))],
        )


def check_samples(samples: Iterable[Sample]) -> list[Sample]:
    """Return samples as a list, ordered by their identifiers.

    Raises
    ------
    DuplicateIdError
        If two have one identifier.
    ParameterError
        If one is no sample, or its facts cannot be written.
    """
    check("samples", samples, isinstance(samples, Iterable), "several samples")
    found: dict[str, Sample] = {}
    for sample in samples:
        if not isinstance(sample, Sample):
            raise ParameterError("a probe is made of samples", facts=[("given", shown(sample))])
        if sample.sample_id in found:
            raise DuplicateIdError("two samples have one identifier", facts=[("sample", sample.sample_id)])
        _check_facts(sample)
        found[sample.sample_id] = sample
    return [found[name] for name in sorted(found)]


def content_hash(samples: Iterable[Sample]) -> str:
    """Return ``sha256:`` and a digest of what the samples say, whatever order they come in.

    Two systems whose results have one hash have seen the same texts.

    Examples
    --------
    >>> one, two = Sample("1", "q", "a", "b"), Sample("2", "q", "c", "d")
    >>> content_hash([one, two]) == content_hash([two, one])
    True
    """
    digest = hashlib.sha256()
    for sample in check_samples(samples):
        said = [sample.sample_id, sample.query_id, sample.query, sample.first, sample.second]
        line = json.dumps(said if sample.second_query is None else [*said, sample.second_query])
        digest.update(f"{line}\n".encode("ascii"))
    return f"sha256:{digest.hexdigest()}"


def random_for(seed: int, *parts: str) -> random.Random:
    """Return a generator for one sample: it depends on the seed and on these parts alone.

    Parameters
    ----------
    seed : int
        Of the whole run.
    *parts : str
        Mostly the name of the probe and the identifier of the sample, or its text.

    Examples
    --------
    >>> random_for(1, "typos", "d7").random() == random_for(1, "typos", "d7").random()
    True
    """
    text = json.dumps([seed, *parts])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode("ascii")).digest(), "big"))
