"""Threads of searches: results, errors, the bounded queue, deadlines, and shares of clients."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from termwise.budget import spend
from termwise.errors import DeadlineError
from termwise.serve import search_pool
from termwise.serve.errors import OverloadError
from termwise.serve.search_pool import SearchPool, client_name


def test_every_function_has_its_result() -> None:
    async def run() -> list[int]:
        pool = SearchPool(3, 1000, 10)
        try:
            return await asyncio.gather(*(pool.run(lambda n=n: n * n) for n in range(500)))
        finally:
            pool.close()

    assert asyncio.run(run()) == [n * n for n in range(500)]


def test_an_error_belongs_to_its_function() -> None:
    async def run() -> list[object]:
        pool = SearchPool(2, 100, 10)
        answers = await asyncio.gather(pool.run(lambda: 1 // 0), pool.run(lambda: 2), return_exceptions=True)
        assert pool.pending == 0
        pool.close()
        return answers

    first, second = asyncio.run(run())
    assert isinstance(first, ZeroDivisionError)
    assert second == 2


def test_a_full_queue_refuses_at_once() -> None:
    async def run() -> None:
        hold = threading.Event()
        pool = SearchPool(1, 1, 10)
        running = [asyncio.ensure_future(pool.run(hold.wait)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadError):
            await pool.run(lambda: None)
        hold.set()
        await asyncio.gather(*running)
        assert await pool.run(lambda: 5) == 5
        pool.close()

    asyncio.run(run())


def test_what_has_not_begun_at_its_deadline_never_runs() -> None:
    ran = []

    async def run() -> None:
        pool = SearchPool(1, 5, 0.05)
        slow = asyncio.ensure_future(pool.run(lambda: time.sleep(0.2)))
        waiting = asyncio.ensure_future(pool.run(lambda: ran.append(1)))
        for each in (slow, waiting):
            with pytest.raises(DeadlineError):
                await each
        assert pool.pending == 2  # the slow function still runs, and the other one waits behind it
        pool.close()

    asyncio.run(run())
    assert ran == []


def test_a_closed_pool_refuses() -> None:
    async def run() -> None:
        pool = SearchPool(1, 5, 1)
        pool.close()
        with pytest.raises(OverloadError):
            await pool.run(lambda: None)

    asyncio.run(run())


def test_neither_a_function_nor_a_result_waits_for_a_slow_one() -> None:
    async def run() -> None:
        hold = threading.Event()
        pool = SearchPool(2, 10, 10)
        before, slow, after = (
            asyncio.ensure_future(pool.run(function)) for function in (lambda: 1, hold.wait, lambda: 2)
        )
        assert (await before, await after) == (1, 2)
        assert not slow.done()
        hold.set()
        assert await slow
        pool.close()

    asyncio.run(run())


def test_closing_finishes_what_waits() -> None:
    async def run() -> None:
        pool = SearchPool(2, 10, 10)
        waiting = [asyncio.ensure_future(pool.run(lambda n=n: n)) for n in range(5)]
        await asyncio.sleep(0)
        pool.close()
        assert await asyncio.gather(*waiting) == list(range(5))

    asyncio.run(run())


@contextmanager
def client(name: str) -> Iterator[None]:
    token = client_name.set(name)
    try:
        yield
    finally:
        client_name.reset(token)


def start(pool: SearchPool, name: str, function: Callable[[], object]) -> asyncio.Future[object]:
    with client(name):
        return asyncio.ensure_future(pool.run(function))


def use(pool: SearchPool, name: str, seconds: float) -> None:
    """Let a client have used time of threads, for long jobs."""
    client = pool._client(name)
    client.use(time.monotonic(), seconds)
    client.mean = seconds


def test_a_quick_client_does_not_wait_for_the_threads_of_others() -> None:
    async def run() -> None:
        hold = threading.Event()
        pool = SearchPool(1, 10, 10)
        for name in ("slow", "slower"):
            use(pool, name, 5)
        slow = [start(pool, name, hold.wait) for name in ("slow", "slower", "slow")]
        await asyncio.sleep(0.05)
        assert await start(pool, "quick", lambda: 7) == 7
        assert not any(each.done() for each in slow)
        hold.set()
        assert await asyncio.gather(*slow) == [True] * 3
        pool.close()

    asyncio.run(run())


def test_a_quick_client_does_not_wait_for_several_clients_with_long_first_jobs() -> None:
    async def run() -> None:
        hold = threading.Event()

        def long() -> None:
            while not hold.is_set():
                spend()
                time.sleep(0.002)

        pool = SearchPool(1, 100, 20)
        others = []
        for name in ("a", "b", "c", "d"):
            others += [start(pool, name, long) for _ in range(3)]
            await asyncio.sleep(0.05)
        for number in range(5):
            assert await asyncio.wait_for(start(pool, "quick", partial(int, number)), 2) == number
        hold.set()
        await asyncio.gather(*others)
        pool.close()

    asyncio.run(run())


def test_the_client_that_used_least_is_next() -> None:
    async def run() -> None:
        hold, order = threading.Event(), list[str]()
        pool = SearchPool(1, 20, 10)
        for name, seconds in (("a", 9.0), ("b", 6.0), ("c", 3.0)):
            use(pool, name, seconds)
        first = start(pool, "a", hold.wait)
        await asyncio.sleep(0.05)
        others = [start(pool, name, partial(order.append, name)) for name in ("a", "b", "a", "c", "b")]
        await asyncio.sleep(0.05)
        hold.set()
        await asyncio.gather(first, *others)
        assert order == ["c", "b", "b", "a", "a"]
        pool.close()

    asyncio.run(run())


def test_a_full_queue_makes_room_for_a_client_with_fewer_jobs() -> None:
    async def run() -> None:
        hold = threading.Event()
        pool = SearchPool(1, 4, 10)
        many = [start(pool, "many", hold.wait) for _ in range(5)]
        await asyncio.sleep(0.05)
        few = start(pool, "few", lambda: 3)
        with pytest.raises(OverloadError):
            await many[-1]  # the newest one
        assert not any(each.done() for each in many[:-1])
        hold.set()
        assert await few == 3
        await asyncio.gather(*many[:-1])
        assert pool.pending == 0
        pool.close()

    asyncio.run(run())


def test_a_client_waits_for_its_next_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_pool, "REFUSED_SECONDS", 0.3)

    async def refused(pool: SearchPool, name: str) -> float:
        begin = time.monotonic()
        with pytest.raises(OverloadError):
            await start(pool, name, lambda: None)
        return time.monotonic() - begin

    async def run() -> list[float]:
        hold = threading.Event()
        pool = SearchPool(1, 1, 10)
        running = [start(pool, name, hold.wait) for name in ("a", "b")]
        await asyncio.sleep(0.05)
        times = [await refused(pool, name) for name in ("a", "a", "b", "a")]
        hold.set()
        await asyncio.gather(*running)
        pool.close()
        return times

    first, second, other, third = asyncio.run(run())
    assert second >= 0.3
    assert third >= 0.3
    assert max(first, other) < second


def test_long_jobs_pause_while_a_quick_client_has_jobs() -> None:
    async def run() -> None:
        stop, paused = threading.Event(), list[float]()
        pool = SearchPool(1, 10, 10)
        use(pool, "slow", 9)

        def work() -> None:
            while not stop.is_set():
                begin = time.monotonic()
                while time.monotonic() - begin < 2 * search_pool.SHORTEST_RUN:
                    pass
                begin = time.monotonic()
                spend()
                paused.append(time.monotonic() - begin)

        def wait(number: int) -> None:
            while len(paused) < number:
                time.sleep(0.001)

        slow = start(pool, "slow", work)
        await asyncio.to_thread(wait, 20)
        alone = sorted(paused)
        await start(pool, "quick", lambda: wait(len(paused) + 5))
        beside = sorted(paused[-4:])
        stop.set()
        await slow
        pool.close()
        assert beside[2] > search_pool.FEW_PAUSES * search_pool.SHORTEST_RUN > alone[5]

    asyncio.run(run())


def test_a_cancelled_task_ends_its_function() -> None:
    async def run() -> None:
        began, ended = threading.Event(), threading.Event()
        pool = SearchPool(1, 10, 10)

        def work() -> None:
            began.set()
            try:
                while True:
                    spend()
            finally:
                ended.set()

        task = asyncio.ensure_future(pool.run(work))
        await asyncio.to_thread(began.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, 30)
        pool.close()

    asyncio.run(run())


def test_what_a_finished_job_held_is_freed_at_once() -> None:
    class Held:
        pass

    async def run() -> weakref.ref[Held]:
        pool, held = SearchPool(2, 10, 10), Held()
        await pool.run(partial(id, held))
        found = weakref.ref(held)
        del held
        await asyncio.sleep(0.05)
        pool.close()
        return found

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(run())() is None
    finally:
        gc.enable()
