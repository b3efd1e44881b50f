"""Settings of the service, with the limits of requests."""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path

from termwise.fast_dataclass import dataclass
from termwise.validation import check, check_count, check_threads, is_finite_number

DAY = 86_400
"""Largest number of seconds of a time limit."""

MOST_VALUES = 10_000
"""Values in the JSON of a request that changes nothing."""


@dataclass(frozen=True)
class BodyLimits:
    """Limits of the body of a request.

    Attributes
    ----------
    size : int
        Bytes.
    values : int, optional
        Values of its JSON, estimated by the brackets and commas outside strings: the more values, the longer other
        requests wait.
    """

    size: int
    values: int | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """Settings of a service.

    Attributes
    ----------
    threads : int
        Searches that one process runs at the same time.
    queue : int
        Searches that wait for a thread; further ones are refused.
    timeout : float
        Seconds from the arrival of a search to its answer.
    write_timeout : float
        Seconds that a change may wait for the index, and for its own commit.
    refresh_interval : float
        Seconds that a search may lag behind the newest change; 0 for none.
    relevance : tuple of str
        Relevance files of searches that give none, ``NAME=FILE`` or, with one index, ``FILE``. A file is read again
        when it changes.
    create_in : Path or None
        Folder in which requests create indexes; those that it has are served too. Without it, none can be created.
    max_body : int
        Bytes of the body of a request.
    max_search_body : int
        Bytes of the body of a request that changes nothing, if `max_body` is not less; reading JSON holds the
        other requests up.
    max_bodies : int
        Bytes of the bodies of all requests that a process reads and answers at the same time, at least `max_body`.
    max_answer : int
        Characters of the texts of one answer.
    max_answers : int
        Bytes of all answers that a process sends at the same time, besides small ones; at least one is sent.
    max_touched : int
        Documents that conditions, counts and the like may look at for one answer, each as often as it is looked at; a
        text that is read counts as 100.
    max_query : int
        Characters of a query, of an example, and of all strings of `must` and `must_not` together.
    max_results : int
        Results of a search, with those that `offset` skips.
    max_explained : int
        Results of a search that explains their scores.
    max_facets : int
        Attributes to count in one search, and values of each.
    max_operations : int
        Changes in one request.
    read_only : bool
        Refuse changes.
    keys : Path or None
        File of API keys; without it, all requests are allowed.
    mcp : bool
        Offer the tools for assistants at ``/mcp``.
    hosts : tuple of str
        Names of this service that a request may give as its host, besides those of this machine; empty for all.
    origins : tuple of str
        Other sites whose pages may send requests and read the answers, such as ``https://shop.example``.

    Raises
    ------
    ParameterError
        If a number is out of range: times are at most a day, and only `refresh_interval`, `queue`, `max_explained`,
        `max_facets` and `max_operations` can be 0.
    """

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    queue: int = 64
    timeout: float = 5.0
    write_timeout: float = 60.0
    refresh_interval: float = 0.0
    relevance: tuple[str, ...] = ()
    create_in: Path | None = None
    max_body: int = 16 << 20
    max_search_body: int = 2 << 20
    max_bodies: int = 64 << 20
    max_answer: int = 16 << 20
    max_answers: int = 64 << 20
    max_touched: int = 1_000_000_000
    max_query: int = 4_000
    max_results: int = 1_000
    max_explained: int = 100
    max_facets: int = 20
    max_operations: int = 10_000
    read_only: bool = False
    keys: Path | None = None
    mcp: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_threads(self.threads)
        for name in ("timeout", "write_timeout", "refresh_interval"):
            seconds = getattr(self, name)
            holds = (
                is_finite_number(seconds) and 0 <= seconds <= DAY and (seconds or name == "refresh_interval")
            )
            least = "from" if name == "refresh_interval" else "above"
            check(name, seconds, bool(holds), f"a number of seconds {least} 0, at most {DAY:,}")
        for name in (
            *("max_body", "max_search_body", "max_bodies", "max_answer", "max_answers"),
            *("max_touched", "max_query", "max_results"),
        ):
            check_count(name, getattr(self, name))
        for name in ("queue", "max_explained", "max_facets", "max_operations"):
            check_count(name, getattr(self, name), least=0)

    @property
    def search_body(self) -> BodyLimits:
        """Limits of the body of a request that changes nothing."""
        return BodyLimits(min(self.max_body, self.max_search_body), MOST_VALUES)

    @property
    def change_body(self) -> BodyLimits:
        """Limits of the body of a request that changes an index."""
        return BodyLimits(self.max_body)
