"""A pair of texts as data sets have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Pair:
    """Two texts that say the same or nearly so; the first has the named quality.

    Attributes
    ----------
    pair_id : str
        Distinct within its data set.
    first, second : str
        The texts.
    query : str, optional
        What is asked; None where the data have no queries.
    group : str
        Pairs of one group share a text, and depend on each other; empty where the query says which do.
    facts : mapping
        JSON-like: where the pair comes from.
    """

    pair_id: str
    first: str
    second: str
    query: str | None = None
    group: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
