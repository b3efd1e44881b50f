"""The service: its indexes, the threads that search them, and their changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from termwise.errors import DeadlineError, TermwiseError
from termwise.serve.byte_budget import ByteBudget
from termwise.serve.changes import Change, ChangeQueue, NewAttributes, Outcome
from termwise.serve.errors import ForbiddenError, OverloadError, UnknownIndexError, UnreadableIndexError
from termwise.serve.indexes import ServedIndex, ServedIndexes
from termwise.serve.keys import Access
from termwise.serve.pace import Pace
from termwise.serve.search_pool import SearchPool, client_name
from termwise.serve.settings import ServiceSettings
from termwise.serve.warm_up import compile_served, load_search_kernels

T = TypeVar("T")

BODY_RATE, BODY_BURST = 1e6, 4e6
"""Bytes of the large bodies of searches that are read for a client a second, and at once."""

REFUSAL_RATE, REFUSAL_BURST = 10, 50
"""Refused requests of a client a second, and at once, that are answered without a pause."""


class Service:
    """Open indexes with the threads that search and change them, and the access of requests.

    Parameters
    ----------
    folders : sequence of str
        See `ServedIndexes`.
    settings : ServiceSettings, optional

    Raises
    ------
    TermwiseError
        If an index cannot be opened, or the file of keys cannot be read.
    """

    def __init__(self, folders: Sequence[str], settings: ServiceSettings | None = None) -> None:
        compile_served()
        load_search_kernels()
        self.settings = settings or ServiceSettings()
        self.indexes = ServedIndexes(
            folders,
            refresh_interval=self.settings.refresh_interval,
            relevance=self.settings.relevance,
            create_in=self.settings.create_in,
        )
        for served in self.indexes:
            served.warm_up()
        self.access = Access(self.settings.keys)
        given = self.settings
        self.pool = SearchPool(given.threads, given.queue, given.timeout, given.max_touched, given.max_answer)
        self.answers = ByteBudget(self.settings.max_answers)
        self.bodies = ByteBudget(max(self.settings.max_bodies, self.settings.max_body))
        self.body_pace, self.refusal_pace = Pace(BODY_RATE, BODY_BURST), Pace(REFUSAL_RATE, REFUSAL_BURST)
        self._slow, self._creating = asyncio.Lock(), asyncio.Lock()
        self.on_merge: Callable[[str, bool], object] = lambda name, failed: None
        """Called after each commit, with the name of the index, and whether its segments could not be merged."""
        self._changes: dict[str, ChangeQueue] = {}

    async def change(
        self, served: ServedIndex, changes: Sequence[Change | NewAttributes], *, refresh: bool = False
    ) -> list[Outcome]:
        """Make changes, all or none, and return the outcome of each when they are on the disk.

        Parameters
        ----------
        served : ServedIndex
        changes : sequence of Change or NewAttributes
        refresh : bool, optional
            Return when every search that begins afterwards sees the changes, in all processes of the service.

        Raises
        ------
        ForbiddenError
            If the service allows no changes.
        OverloadError, DeadlineError, IndexLockedError
            If too many changes wait, or the index is written by another process.
        UnreadableIndexError
            If the index cannot be read now.
        TermwiseError
            If a change is not possible.
        """
        if self.settings.read_only:
            raise ForbiddenError("this service allows no changes")
        if not await asyncio.to_thread(served.follow):  # what is in its place would take the changes
            raise UnreadableIndexError.of(served.name)
        future = self._queue(served).submit(changes)
        try:
            outcomes = await asyncio.wait_for(
                asyncio.shield(asyncio.wrap_future(future)), 2 * self.settings.write_timeout
            )
        except TimeoutError:
            raise DeadlineError("the changes were not made in time; they may still be made") from None
        except TermwiseError:
            if served.name not in self.indexes:  # it was deleted in the meantime
                raise UnknownIndexError(
                    "the service has no such index", facts=[("index", served.name)]
                ) from None
            raise
        if refresh and self.settings.refresh_interval:
            await asyncio.sleep(self.settings.refresh_interval)
        return outcomes

    async def create(self, name: str, build: Callable[[Path], object]) -> None:
        """Create an index by a function that builds it in a folder; see `ServedIndexes.create` for the errors.

        Raises
        ------
        ForbiddenError
            If the service allows no changes.
        """
        async with self._changing_indexes():
            await asyncio.to_thread(self.indexes.create, name, build)

    async def change_aliases(self, change: Callable[[dict[str, str]], None]) -> None:
        """Change the aliases of indexes; see `ServedIndexes.change_aliases` for the errors.

        Raises
        ------
        ForbiddenError
            If the service allows no changes.
        """
        async with self._changing_indexes():
            await asyncio.to_thread(self.indexes.change_aliases, change)

    async def delete(self, name: str) -> None:
        """Delete an index that a request created, after its waiting changes; see `ServedIndexes.delete` for the errors.

        Raises
        ------
        ForbiddenError
            If the service allows no changes.
        """
        async with self._changing_indexes():
            await asyncio.to_thread(self.indexes.delete, name, self.settings.write_timeout)
            queue = self._changes.pop(name, None)
            if queue is not None:  # what waits is for the folder that is gone, and fails
                await asyncio.to_thread(queue.close)

    @asynccontextmanager
    async def _changing_indexes(self) -> AsyncIterator[None]:
        """Create and delete indexes, and change aliases, one after the other; raises `ForbiddenError`, see `create`."""
        if self.settings.read_only:
            raise ForbiddenError("this service allows no changes")
        async with self._creating:
            yield

    def _queue(self, served: ServedIndex) -> ChangeQueue:
        """Return the waiting changes of an index."""
        if served.name not in self._changes:
            merged = partial(self._merged, served.name)
            self._changes[served.name] = ChangeQueue(served.path, self.settings.write_timeout, merged)
        return self._changes[served.name]

    def _merged(self, name: str, failed: bool) -> None:
        self.on_merge(name, failed)

    async def slowly(self, function: Callable[[], T]) -> T:
        """Return the result of a function that reads a whole index, in a thread of its own, one at a time.

        Raises
        ------
        OverloadError
            If another such function runs.
        """
        if self._slow.locked():
            raise OverloadError("the service verifies an index already", fixes=["repeat the request later"])
        async with self._slow:
            return await asyncio.to_thread(function)

    async def wait_fairly(self, pace: Pace, amount: float) -> None:
        """Let the client of this request wait as its pace demands, if another client is active."""
        client = client_name.get()
        seconds = pace.wait(client, amount, time.monotonic())
        if seconds and self.pool.has_other_clients(client):
            await asyncio.sleep(seconds)

    def close(self) -> None:
        """Finish what was accepted."""
        self.pool.close()
        for changes in self._changes.values():
            changes.close()
