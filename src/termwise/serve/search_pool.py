"""Threads that run searches, with a bounded queue and a deadline for each search."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from termwise.serve.errors import DeadlineError, OverloadError

T = TypeVar("T")


HELP_SECONDS = 0.003
"""Time after which another thread is woken for functions that wait, and results are passed on."""

TOGETHER_SECONDS = 0.001
"""Time after which a result waits for no further function of its thread."""


class _Job(NamedTuple):
    function: Callable[[], Any]
    answer: asyncio.Future[Any]
    deadline: float
    loop: asyncio.AbstractEventLoop


_running = threading.local()
"""Deadline and allowed seconds of the function that a thread of a pool runs."""


def check_deadline() -> None:
    """Raise `DeadlineError` in a thread of a pool if the deadline of its function has passed.

    The answer is not waited for any more, so that what is left of the work would be in vain.
    """
    deadline, seconds = getattr(_running, "limit", (math.inf, 0.0))
    if time.monotonic() > deadline:
        raise _deadline_error(seconds)


class SearchPool:
    """Runs functions in threads for an event loop.

    A thread that runs Python code makes the event loop wait, and each takes the lock of the interpreter from the other
    at a cost of many microseconds. So the functions that one turn of the event loop starts are taken by one thread,
    and their results return together; other threads help if functions have to wait.

    Parameters
    ----------
    threads : int
        Functions that run at the same time.
    queue : int
        Functions that wait; further ones are refused.
    timeout : float
        Seconds from the call to the result.

    Attributes
    ----------
    pending : int
        Functions that wait or run, also those whose deadline has passed while they run.
    """

    def __init__(self, threads: int, queue: int, timeout: float) -> None:
        self.pending = 0
        self._most = threads + queue
        self._timeout = timeout
        self._jobs: deque[_Job] = deque()
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        """One item for each thread that is to take jobs until none is left; False ends a thread."""
        self._wakes_soon = self._helps_soon = False
        self._working = 0
        """Threads that take jobs."""
        self._done: list[tuple[asyncio.Future[Any], object, BaseException | None]] = []
        self._first_done = 0.0
        self._lock = threading.Lock()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"termwise-search-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, function: Callable[[], T]) -> T:
        """Return the result of a function.

        Raises
        ------
        OverloadError
            If the queue is full.
        DeadlineError
            If there is no result in time. A function that has not begun by then never runs.
        """
        if self._closed:
            raise OverloadError("the service stops")
        if self.pending >= self._most:
            raise OverloadError(
                "the service has too many searches to answer", fixes=["repeat the request later"]
            )
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        timer = loop.call_later(self._timeout, _expire, answer, self._timeout)
        self.pending += 1
        self._jobs.append(_Job(function, answer, time.monotonic() + self._timeout, loop))
        if not self._wakes_soon:
            self._wakes_soon = True
            loop.call_soon(self._wake, loop)
        try:
            return await answer
        finally:
            timer.cancel()

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake a thread unless one takes jobs, and another one soon if jobs still wait."""
        self._wakes_soon = False
        with self._lock:
            idle = not self._working
        if idle:
            self._wakes.put(True)
        if not self._helps_soon:
            self._helps_soon = True
            loop.call_later(HELP_SECONDS, self._help, loop)

    def _help(self, loop: asyncio.AbstractEventLoop) -> None:
        """Return finished results while their thread runs a slow job, and wake another thread if jobs wait."""
        self._finish()
        if self._jobs:
            self._wakes.put(True)
        self._helps_soon = self.pending > 0
        if self._helps_soon:
            loop.call_later(HELP_SECONDS, self._help, loop)

    def _work(self) -> None:
        while self._wakes.get():
            while self._jobs:  # also those that arrived before `_working` went down
                with self._lock:
                    self._working += 1
                self._take_jobs()
                with self._lock:
                    self._working -= 1

    def _take_jobs(self) -> None:
        """Run jobs until none is left."""
        while self._jobs:
            try:
                job = self._jobs.popleft()
            except IndexError:  # another thread was faster
                return
            result = self._result(job)
            now = time.monotonic()
            with self._lock:
                self._done.append((job.answer, *result))
                if len(self._done) == 1:
                    self._first_done = now
                late = now - self._first_done > TOGETHER_SECONDS
            if late or not self._jobs:
                job.loop.call_soon_threadsafe(self._finish)

    def _result(self, job: _Job) -> tuple[object, BaseException | None]:
        if time.monotonic() >= job.deadline:
            return None, _deadline_error(self._timeout)
        _running.limit = job.deadline, self._timeout
        try:
            return job.function(), None
        except BaseException as error:
            return None, error

    def _finish(self) -> None:
        """Pass results on."""
        with self._lock:
            done, self._done = self._done, []
        for answer, result, error in done:
            self.pending -= 1
            if answer.done():
                continue
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

    def close(self) -> None:
        """Finish the functions that wait, and end the threads."""
        self._closed = True
        for another in (True, *(False for _ in self._threads)):
            self._wakes.put(another)
        for thread in self._threads:
            thread.join()


def _expire(answer: asyncio.Future[T], seconds: float) -> None:
    if not answer.done():
        answer.set_exception(_deadline_error(seconds))


def _deadline_error(seconds: float) -> DeadlineError:
    return DeadlineError("the answer was not ready in time", facts=[("seconds", f"{seconds:g}")])
