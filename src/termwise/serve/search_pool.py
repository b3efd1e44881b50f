"""Threads that run searches, with a bounded queue and a deadline for each search."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from termwise.serve.errors import DeadlineError, OverloadError

T = TypeVar("T")


class _Job(NamedTuple):
    function: Callable[[], Any]
    answer: asyncio.Future[Any]
    deadline: float
    loop: asyncio.AbstractEventLoop


class SearchPool:
    """Runs functions in threads for an event loop.

    Results go back to the event loop together: while it is busy, finished functions wait for one call, so that under
    load threads and loop do not take the lock of the interpreter from each other for every result.

    Parameters
    ----------
    threads : int
        Functions that run at the same time.
    queue : int
        Functions that wait; further ones are refused at once.
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
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._done: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []
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
        self._jobs.put(_Job(function, answer, time.monotonic() + self._timeout, loop))
        try:
            return await answer
        finally:
            timer.cancel()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            result: object = None
            error: BaseException | None = None
            if time.monotonic() < job.deadline:
                try:
                    result = job.function()
                except BaseException as raised:
                    error = raised
            else:
                error = _deadline_error(self._timeout)
            with self._lock:
                self._done.append((job.answer, result, error))
                first = len(self._done) == 1
            if first:  # otherwise the loop was called already
                job.loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        """Pass finished results on."""
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
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()


def _expire(answer: asyncio.Future[T], seconds: float) -> None:
    if not answer.done():
        answer.set_exception(_deadline_error(seconds))


def _deadline_error(seconds: float) -> DeadlineError:
    return DeadlineError("the answer was not ready in time", facts=[("seconds", f"{seconds:g}")])
