"""One function applied to many things in further processes, with results in the order of what they were made from."""

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
"""Seconds of work after which further processes are started: by then they would have paid for their start."""

_WAITING = 4
"""Results that may wait for their turn, for each process."""


class Workers(Generic[Item, Result]):
    """Applies one function: in this process at first, in further ones once there proves to be much to do.

    What comes out does not depend on where it was computed, if the function depends on its argument alone. Memory is
    bounded: a few items a process are under way. Errors of the function arrive as they were raised. Interrupting this
    process ends the others, however it ends.

    Parameters
    ----------
    function : callable of one argument
        Can be pickled if `threads` is more than 1. Each process gets it once, and keeps what it remembers.
    threads : int
        Processes at most, no more than there are processors. 1 for this process alone.
    patience : float, optional
        Seconds of work done here before others are started.

    Raises
    ------
    UsageError
        If a process ends before its work is done.

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
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """Yield what the function makes of each item, in the order of the items.

        May be called again; not while an earlier call is still going on.
        """
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
        # Interrupting a terminal interrupts every process in it. A process that is started here inherits what is
        # blocked, so that it is for this one alone to say what happens.
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
        "a process that shared the work ended before it was done",
        facts=[("likely", "a script that calls this at its top level, or too little memory")],
        fixes=['in a script, put the call below: if __name__ == "__main__":', "threads=1"],
    )


_function: Callable[[Any], Any]


def _begin(function: Callable[[Any], Any]) -> None:
    """Keep the function, and let the process end when the one that started it does, however that ends."""
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
