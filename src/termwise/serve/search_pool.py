"""Threads that run searches: a bounded queue, a budget for each search, and a fair share for each client.

A client is an API key or an address. The thread that is free takes a job of the client that has used the least time of
processors of late. Three rules keep clients with long jobs from stopping the others:

- Further threads, the reserve, only take jobs of clients for whose jobs all running ones are long.
- While another client has such a job, long jobs pause at each `termwise.budget.spend`: together, they run for half of
  the time, and for a fifth if their client has used much of late. They pause for no client that has used `MOST_USED`
  times as much.
- If the queue is full, the client with the most waiting jobs loses its newest one; that client waits for its next
  refusals.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, NoReturn, TypeVar

from termwise.budget import Budget, limited
from termwise.serve.errors import OverloadError
from termwise.serve.pace import MOST_CLIENTS

T = TypeVar("T")

client_name: ContextVar[str] = ContextVar("client_name", default="")
"""Name of the client whose request the current task answers."""

HELP_SECONDS = 0.003
"""Time after which another thread is woken for functions that wait, and results are passed on."""

TOGETHER_SECONDS = 0.001
"""Time after which a result waits for no further function of its thread."""

LONG = 4.0
"""A job is long for a client if it takes this many times as long as the mean of the jobs of the client."""

SHORTEST = 0.0005
"""Least mean time of the jobs of a client that others are compared with."""

SMOOTHING = 0.25
"""Weight of the newest job in the mean time of the jobs of a client."""

HALF_LIFE = 10.0
"""Seconds after which half of the time that a client has used is forgotten."""

MUCH = 2.0
"""Seconds of a processor that a client can use of late before its jobs pause longer."""

FEW_PAUSES, MANY_PAUSES = 2.0, 5.0
"""Seconds in which long jobs run for one second, while a client has one for which they are long."""

MOST_USED = 4.0
"""Processor time that the client of short jobs may have used, in terms of that of the client with a long one."""

LONGEST_PAUSE = 0.25

SHORTEST_RUN = 0.0005
"""Seconds between two pauses."""

REFUSED_SECONDS = 0.5
"""Time that a client waits for a refusal if it was refused less than `FORGIVEN_SECONDS` ago."""

FORGIVEN_SECONDS = 1.0

RESERVE = 8
"""Least number of threads of the reserve: so many clients whose first job is long can come between those that wait."""

ACTIVE_SECONDS = 1.0
"""Time since its last job for which a client is active."""


@dataclass(eq=False)
class _Client:
    """Jobs of a client, and the time that it has used.

    Attributes
    ----------
    jobs : deque of _Job
        Those that wait.
    pending : int
        Jobs that wait or run.
    refused : float
        Time of the last refusal.
    mean : float
        Mean time of its jobs in seconds of a processor, the last ones above all.
    owed : float
        Seconds that its jobs ran without a pause before they ended; the next job pauses for them.
    at : float
        Time when it last had a job.
    """

    jobs: deque[_Job] = field(default_factory=deque)
    pending: int = 0
    refused: float = -FORGIVEN_SECONDS
    mean: float = 0.0
    owed: float = 0.0
    at: float = -math.inf
    _used: float = 0.0

    def use(self, now: float, seconds: float = 0.0) -> float:
        """Add seconds to the processor time of the client, and return this time, which decays with `HALF_LIFE`."""
        self._used = self._used * 0.5 ** ((now - self.at) / HALF_LIFE) + seconds
        self.at = now
        return self._used


@dataclass(eq=False)
class _Job:
    """Function that waits or runs.

    Attributes
    ----------
    resumed : float
        Time when it began, or went on after its last pause.
    ran : float
        Seconds for which it ran before.
    """

    function: Callable[[], Any]
    answer: asyncio.Future[Any]
    budget: Budget
    loop: asyncio.AbstractEventLoop
    client: _Client
    resumed: float = 0.0
    ran: float = 0.0

    def is_long_for(self, client: _Client, now: float) -> bool:
        """Return whether the job, which runs, is long for another client, or the jobs of its own client are."""
        seconds = max(self.client.mean, self.ran + now - self.resumed)
        return client is not self.client and seconds > LONG * max(client.mean, SHORTEST)


class SearchPool:
    """Runs functions in threads for an event loop; see the module.

    A thread that runs Python code makes the event loop wait, and each takes the lock of the interpreter from the other
    at a cost of many microseconds. So the functions that one turn of the event loop starts are taken by one thread,
    and their results return together; other threads help if functions have to wait.

    Parameters
    ----------
    threads : int
        Functions that run at the same time, besides those of the reserve.
    queue : int
        Functions that wait; further ones are refused.
    timeout : float
        Seconds from the call to the result.
    documents, size : int, optional
        See `termwise.budget.Budget`.

    Attributes
    ----------
    pending : int
        Functions that wait or run, also those whose deadline has passed while they run.
    """

    def __init__(
        self, threads: int, queue: int, timeout: float, documents: int | None = None, size: int | None = None
    ) -> None:
        self.pending = 0
        self._most = threads + queue
        self._limits = timeout, documents, size
        self._clients: dict[str, _Client] = {}
        self._waiting: dict[_Client, None] = {}
        """Clients with jobs that wait."""
        self._running: set[_Job] = set()
        self._wakes, self._reserve_wakes = SimpleQueue[bool](), SimpleQueue[bool]()
        """One item for each thread that is to take jobs until none is left; False ends a thread."""
        self._wakes_soon = self._helps_soon = False
        self._working = 0
        """Threads that take jobs."""
        self._done: list[tuple[_Job, object, BaseException | None]] = []
        self._first_done = 0.0
        self._lock = threading.Lock()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, args=given, name=f"termwise-{name}-{number}", daemon=True)
            for name, given, most in (
                ("search", (self._wakes, False), threads),
                ("reserve", (self._reserve_wakes, True), max(threads, RESERVE)),
            )
            for number in range(most)
        ]
        for thread in self._threads:
            thread.start()

    def budget(self) -> Budget:
        """Return the budget for the functions of one answer, whose time begins now."""
        return Budget(*self._limits)

    async def run(self, function: Callable[[], T], budget: Budget | None = None) -> T:
        """Return the result of a function.

        Parameters
        ----------
        function : callable
        budget : Budget, optional
            Budget of an answer for which several functions run; by default a new one.

        Raises
        ------
        OverloadError
            If the queue is full.
        BudgetError
            If there is no result in time, or the function looks at too many documents. A function that has not begun by
            the deadline never runs.
        """
        if self._closed:
            raise OverloadError("the service stops")
        loop, client = asyncio.get_running_loop(), self._client(client_name.get())
        if self.pending >= self._most and not self._drop_for(client):
            await self._refuse(client)
        budget = budget or self.budget()
        answer: asyncio.Future[T] = loop.create_future()
        timer = loop.call_later(max(0.0, budget.ends - time.monotonic()), _expire, answer, budget)
        job = _Job(function, answer, budget, loop, client)
        with self._lock:
            self.pending += 1
            client.pending += 1
            client.jobs.append(job)
            self._waiting[client] = None
        if not self._wakes_soon:
            self._wakes_soon = True
            loop.call_soon(self._wake, loop)
        try:
            return await answer
        except OverloadError:
            await self._refuse(client)
        except asyncio.CancelledError:
            budget.cancel()
            raise
        finally:
            timer.cancel()

    def has_other_clients(self, name: str) -> bool:
        """Return whether a client with another name has a job, or had one shortly before."""
        now = time.monotonic()
        return any(
            client.pending or now - client.at < ACTIVE_SECONDS
            for other, client in self._clients.items()
            if other != name
        )

    def _client(self, name: str) -> _Client:
        if name not in self._clients:
            if len(self._clients) >= MOST_CLIENTS:
                self._clients = {each: known for each, known in self._clients.items() if known.pending}
            self._clients[name] = _Client()
        return self._clients[name]

    def _drop_for(self, client: _Client) -> bool:
        """Refuse the newest job of the client with the most waiting jobs; False if none has more than this one."""
        with self._lock:
            longest = max(self._waiting, key=lambda each: len(each.jobs), default=client)
            if len(longest.jobs) <= len(client.jobs) + 1:
                return False
            job = longest.jobs.pop()
            self._forget(job)
        if not job.answer.done():
            job.answer.set_exception(_full())
        return True

    async def _refuse(self, client: _Client) -> NoReturn:
        """Raise `OverloadError`, later if the client was refused shortly before."""
        now = time.monotonic()
        again = now - client.refused < FORGIVEN_SECONDS
        client.refused = now
        if again:
            await asyncio.sleep(REFUSED_SECONDS)
        raise _full()

    def _forget(self, job: _Job) -> None:
        self.pending -= 1
        job.client.pending -= 1
        if not job.client.jobs:
            self._waiting.pop(job.client, None)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake a thread unless one takes quick jobs, and another one soon if jobs still wait."""
        self._wakes_soon = False
        with self._lock:
            idle = not self._working
        if idle:
            self._wakes.put(True)
        elif self._reserve_is_wanted():
            self._reserve_wakes.put(True)
        if not self._helps_soon:
            self._helps_soon = True
            loop.call_later(HELP_SECONDS, self._help, loop)

    def _help(self, loop: asyncio.AbstractEventLoop) -> None:
        """Return finished results while their thread runs a slow job, and wake other threads if jobs wait."""
        self._finish()
        if self._waiting:
            self._wakes.put(True)
            if self._reserve_is_wanted():
                self._reserve_wakes.put(True)
        self._helps_soon = self.pending > 0
        if self._helps_soon:
            loop.call_later(HELP_SECONDS, self._help, loop)

    def _reserve_is_wanted(self) -> bool:
        """Return whether a job waits that the reserve threads may run."""
        with self._lock:
            return bool(self._kept_waiting(time.monotonic()))

    def _kept_waiting(self, now: float) -> list[_Client]:
        """Return the clients with waiting jobs for which all running jobs, at least one, are long."""
        return [
            client
            for client in self._waiting
            if self._running and all(job.is_long_for(client, now) for job in self._running)
        ]

    def _work(self, wakes: SimpleQueue[bool], reserve: bool) -> None:
        while wakes.get():
            while self._take_jobs(reserve):  # also those that arrived before `_working` went down
                pass

    def _take_jobs(self, reserve: bool) -> bool:
        """Run jobs until none is left; return whether there was one."""
        with self._lock:
            self._working += 1
        job = self._next(reserve)
        found = job is not None
        while job is not None:
            begin = time.thread_time()
            result = self._result(job)
            used, now = time.thread_time() - begin, time.monotonic()
            with self._lock:
                self._running.discard(job)
                job.client.use(now, used)
                job.client.mean += SMOOTHING * (used - job.client.mean)
                job.client.owed = min(LONGEST_PAUSE, job.client.owed + now - job.resumed)
                self._done.append((job, *result))
                if len(self._done) == 1:
                    self._first_done = now
                late = now - self._first_done > TOGETHER_SECONDS
            done, job = job, self._next(reserve)
            if late or job is None:
                done.loop.call_soon_threadsafe(self._finish)
        with self._lock:
            self._working -= 1
        return found

    def _next(self, reserve: bool) -> _Job | None:
        """Take the next job of the client that has used the least; the reserve only if all running ones are long."""
        now = time.monotonic()
        with self._lock:
            clients = self._kept_waiting(now) if reserve else self._waiting
            client = min(clients, key=lambda each: each.use(now), default=None)
            if client is None:
                return None
            job = client.jobs.popleft()
            if not client.jobs:
                del self._waiting[client]
            job.resumed, client.owed = now - client.owed, 0.0
            self._running.add(job)
            return job

    def _result(self, job: _Job) -> tuple[object, BaseException | None]:
        try:
            job.budget.pause = lambda: self._pause(job)
            job.budget.spend()
            with limited(job.budget):
                return job.function(), None
        except BaseException as error:
            return None, error
        finally:
            job.budget.pause = None  # which refers to the job

    def _pause(self, job: _Job) -> None:
        """Let short jobs of other clients go first, if a job is long."""
        now = time.monotonic()
        ran = now - job.resumed
        if ran < SHORTEST_RUN:
            return
        with self._lock:
            used = job.client.use(now) + job.ran + ran
            clients = {*self._waiting, *(each.client for each in self._running)}
            others = (each for each in clients if each.use(now) < MOST_USED * used)
            shortest = min(others, key=lambda each: each.mean, default=job.client)
            long = sum(each.is_long_for(shortest, now) for each in self._running)
            paused = job.is_long_for(shortest, now)
            job.ran += ran
            factor = MANY_PAUSES if used > MUCH else FEW_PAUSES
        if paused:
            time.sleep(min((factor * long - 1) * ran, LONGEST_PAUSE))
        job.resumed = time.monotonic()

    def _finish(self) -> None:
        """Pass results on."""
        with self._lock:
            done, self._done = self._done, []
            for job, _, _ in done:
                self._forget(job)
        for job, result, error in done:
            if job.answer.done():
                continue
            if error is None:
                job.answer.set_result(result)
            else:
                job.answer.set_exception(error)

    def close(self) -> None:
        """Finish the functions that wait, and end the threads."""
        self._closed = True
        for wakes in (self._wakes, self._reserve_wakes):
            for another in (True, *(False for _ in self._threads)):
                wakes.put(another)
        for thread in self._threads:
            thread.join()


def _expire(answer: asyncio.Future[T], budget: Budget) -> None:
    if not answer.done():
        budget.cancel()
        answer.set_exception(budget.late())


def _full() -> OverloadError:
    return OverloadError("the service has too many searches to answer", fixes=["repeat the request later"])
