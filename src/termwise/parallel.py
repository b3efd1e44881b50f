"""A function applied to many items by several processes, with the results in the order of the items."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process, resource_tracker
from threading import Thread
from types import TracebackType
from typing import Any, Generic, TypeVar

from termwise.errors import UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_PROCESSES = 2.0
"""Seconds of work after which more processes start, about the cost of starting them."""

_WAITING = 4
"""Largest number of waiting results for each process."""


class Workers(Generic[Item, Result]):
    """Applies a function: first in this process, and in others as well after some seconds of work.

    Results do not depend on the process if the function depends only on its argument. Memory is bounded: each process
    has a few items at a time. Errors of the function are raised here. The other processes end with this one.

    Parameters
    ----------
    function : callable of one argument
        If `threads` is more than 1, it can be pickled. Each process receives it once and keeps its caches.
    threads : int
        Largest number of processes, also limited by the number of processors. 1 means this process only.
    patience : float, optional
        Seconds of work before other processes start.

    Raises
    ------
    UsageError
        If a process ends too early.

    Examples
    --------
    >>> with Workers(str.upper, threads=1) as workers:
    ...     list(workers.map(["merge", "sort"]))
    ['MERGE', 'SORT']
    """

    def __init__(
        self, function: Callable[[Item], Result], *, threads: int, patience: float | None = None
    ) -> None:
        self._function = function
        self._processes = min(threads, os.cpu_count() or 1)
        self._patience = WORTH_PROCESSES if patience is None else patience
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers[Item, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the other processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """Yield the result of each item, in order; calls cannot overlap."""
        waiting: list[Future[Result]] = []
        for item in items:
            if self._here():
                begin = time.monotonic()
                result = self._function(item)
                self._patience -= time.monotonic() - begin
                yield result
                continue
            waiting.append(self._submitted(item))
            if len(waiting) > _WAITING * self._processes:
                yield _result(waiting.pop(0))
        while waiting:
            yield _result(waiting.pop(0))

    def _here(self) -> bool:
        return self._processes == 1 or (self._pool is None and self._patience > 0)

    def _submitted(self, item: Item) -> Future[Result]:
        if self._pool is None:
            resource_tracker.ensure_running()
            self._pool = ProcessPoolExecutor(
                self._processes,
                mp_context=get_context("spawn"),
                initializer=_begin,
                initargs=(self._function,),
            )
        # Ctrl-C in a terminal interrupts all its processes. Child processes inherit the blocked signal, so that only
        # this process handles it.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._pool.submit(_apply, item)
        except BrokenProcessPool as error:
            raise _ended() from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _result(future: Future[Result]) -> Result:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise _ended() from error


def _ended() -> UsageError:
    return UsageError(
        "a process ended before its work was done",
        facts=[("likely", "a script with this call at its top level, or too little memory")],
        fixes=['in a script, put the call below: if __name__ == "__main__":', "threads=1"],
    )


_function: Callable[[Any], Any]


def _begin(function: Callable[[Any], Any]) -> None:
    """Initialise a worker: store the function, and start a thread that exits when the parent process exits."""
    global _function
    _function = function

    def wait() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait, daemon=True).start()


def _apply(item: Any) -> Any:
    return _function(item)
