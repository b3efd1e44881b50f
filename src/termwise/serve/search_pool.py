"""Threads that run searches: a bounded queue, a budget for each search, and a fair share for each client.

A client is an API key or an address. The thread that is free takes a job of the client that has used the least time
of late. Three rules keep clients with long jobs from stopping the others:

- Half of the threads, the reserve, only take jobs of *quick* clients: those that used less than `QUICK` seconds.
- While a quick client has jobs, the jobs of the others pause at each `termwise.budget.spend` for `PAUSE` times as long
  as they ran.
- If the queue is full, the client with the most waiting jobs loses its newest one; that client waits for its next
  refusals.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from termwise.budget import Budget, limited
from termwise.serve.errors import OverloadError

T = TypeVar("T")

client_name: ContextVar[str] = ContextVar("client_name", default="")
"""Client whose request the running task answers."""

HELP_SECONDS = 0.003
"""Time after which another thread is woken for functions that wait, and results are passed on."""

TOGETHER_SECONDS = 0.001
"""Time after which a result waits for no further function of its thread."""

QUICK = 0.25
"""Seconds of threads that a quick client has used of late."""

HALF_LIFE = 1.0
"""Seconds after which half of the time that a client has used is forgotten."""

PAUSE = 4.0
"""Seconds for which a job of another client pauses for each second that it ran, while a quick client has jobs."""

LONGEST_PAUSE = 0.02

SHORTEST_RUN = 0.0005
"""Seconds between two pauses."""

REFUSED_SECONDS = 0.5
"""Time that a client waits for a refusal if it was refused less than `FORGIVEN_SECONDS` ago."""

FORGIVEN_SECONDS = 1.0

MOST_CLIENTS = 1000
"""Clients whose use is remembered, besides those with jobs."""


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
    """

    jobs: deque[_Job] = field(default_factory=deque)
    pending: int = 0
    refused: float = -FORGIVEN_SECONDS
    _used: float = 0.0
    _at: float = 0.0

    def use(self, now: float, seconds: float = 0.0) -> float:
        """Add seconds to the time that the client has used, and return what is not forgotten."""
        self._used = self._used * 0.5 ** ((now - self._at) / HALF_LIFE) + seconds
        self._at = now
        return self._used


@dataclass(eq=False)
class _Job:
    """Function that waits or runs.

    Attributes
    ----------
    began, resumed : float
        Times when the function was called, and when it went on after its last pause.
    """

    function: Callable[[], Any]
    answer: asyncio.Future[Any]
    budget: Budget
    loop: asyncio.AbstractEventLoop
    client: _Client
    began: float = 0.0
    resumed: float = 0.0

    def is_quick(self, now: float) -> bool:
        """Return whether the client is quick, with the time of this job while it runs."""
        return self.client.use(now) + (now - self.began if self.began else 0.0) < QUICK


class SearchPool:
    """Runs functions in threads for an event loop; see the module.

    A thread that runs Python code makes the event loop wait, and each takes the lock of the interpreter from the other
    at a cost of many microseconds. So the functions that one turn of the event loop starts are taken by one thread,
    and their results return together; other threads help if functions have to wait.

    Parameters
    ----------
    threads : int
        Functions that run at the same time; as many again for quick clients.
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
            for name, given in (("search", (self._wakes, False)), ("reserve", (self._reserve_wakes, True)))
            for number in range(threads)
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
            raise
        except asyncio.CancelledError:
            budget.cancel()
            raise
        finally:
            timer.cancel()

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

    async def _refuse(self, client: _Client) -> None:
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
        elif self._number_slow() >= self._working:
            self._reserve_wakes.put(True)
        if not self._helps_soon:
            self._helps_soon = True
            loop.call_later(HELP_SECONDS, self._help, loop)

    def _help(self, loop: asyncio.AbstractEventLoop) -> None:
        """Return finished results while their thread runs a slow job, and wake other threads if jobs wait."""
        self._finish()
        if self._waiting:
            self._wakes.put(True)
            if self._number_slow():
                self._reserve_wakes.put(True)
        self._helps_soon = self.pending > 0
        if self._helps_soon:
            loop.call_later(HELP_SECONDS, self._help, loop)

    def _number_slow(self) -> int:
        """Return how many jobs run for clients that are not quick."""
        now = time.monotonic()
        with self._lock:
            return sum(not job.is_quick(now) for job in self._running)

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
            result = self._result(job)
            now = time.monotonic()
            with self._lock:
                self._running.discard(job)
                job.client.use(now, now - job.began)
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
        """Take the next job of the client that has used the least time; the reserve only one of a quick client."""
        now = time.monotonic()
        with self._lock:
            client = min(self._waiting, key=lambda each: each.use(now), default=None)
            if client is None or (reserve and not client.jobs[0].is_quick(now)):
                return None
            job = client.jobs.popleft()
            if not client.jobs:
                del self._waiting[client]
            job.began = job.resumed = now
            self._running.add(job)
            return job

    def _result(self, job: _Job) -> tuple[object, BaseException | None]:
        try:
            job.budget.spend()
            job.budget.pause = lambda: self._pause(job)
            with limited(job.budget):
                return job.function(), None
        except BaseException as error:
            return None, error
        finally:
            job.budget.pause = None  # which refers to the job

    def _pause(self, job: _Job) -> None:
        """Let quick clients go first, if the client of a running job is not one of them."""
        now = time.monotonic()
        ran = now - job.resumed
        if ran < SHORTEST_RUN or len(self._clients) < 2:
            return
        with self._lock:
            others = {*self._waiting, *(other.client for other in self._running)} - {job.client}
            wanted = not job.is_quick(now) and any(each.use(now) < QUICK for each in others)
        if wanted:
            time.sleep(min(PAUSE * ran, LONGEST_PAUSE))
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
