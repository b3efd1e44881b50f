"""Threads that run searches, with a bounded queue and a deadline for each search."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from termwise.serve.errors import DeadlineError, OverloadError

T = TypeVar("T")


class SearchPool:
    """Runs functions in threads for an event loop.

    Parameters
    ----------
    threads : int
        Functions that run at the same time.
    queue : int
        Functions that wait; further ones are refused at once.
    timeout : float
        Seconds from the call to the result.
    """

    def __init__(self, threads: int, queue: int, timeout: float) -> None:
        self._executor = ThreadPoolExecutor(threads, "termwise-search")
        self._most = threads + queue
        self._timeout = timeout
        self.pending = 0
        """Functions that wait or run, also those whose deadline has passed while they run."""

    async def run(self, function: Callable[[], T]) -> T:
        """Return the result of a function.

        Raises
        ------
        OverloadError
            If the queue is full.
        DeadlineError
            If there is no result in time. A function that has not begun by then never runs.
        """
        if self.pending >= self._most:
            raise OverloadError(
                "the service has too many searches to answer", fixes=["repeat the request later"]
            )
        loop = asyncio.get_running_loop()
        deadline = time.monotonic() + self._timeout
        answer: asyncio.Future[T] = loop.create_future()
        timer = loop.call_later(self._timeout, _expire, answer, self._timeout)
        self.pending += 1

        def work() -> None:
            try:
                if time.monotonic() < deadline:
                    result = function()
                    loop.call_soon_threadsafe(self._finish, answer, result, None)
                    return
                error: BaseException | None = None
            except BaseException as raised:
                error = raised
            loop.call_soon_threadsafe(self._finish, answer, None, error)

        try:
            self._executor.submit(work)
        except RuntimeError:  # the service stops
            self.pending -= 1
            timer.cancel()
            raise OverloadError("the service stops") from None
        try:
            return await answer
        finally:
            timer.cancel()

    def _finish(self, answer: asyncio.Future[T], result: T | None, error: BaseException | None) -> None:
        self.pending -= 1
        if answer.done():
            return
        if error is None:
            answer.set_result(cast(T, result))
        else:
            answer.set_exception(error)

    def close(self) -> None:
        """Wait for the functions that run."""
        self._executor.shutdown(wait=True, cancel_futures=True)


def _expire(answer: asyncio.Future[T], seconds: float) -> None:
    if not answer.done():
        answer.set_exception(
            DeadlineError("the answer was not ready in time", facts=[("seconds", f"{seconds:g}")])
        )
