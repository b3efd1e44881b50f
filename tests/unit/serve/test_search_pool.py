"""Threads of searches: results, errors, the bounded queue, deadlines."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from termwise.errors import DeadlineError
from termwise.serve.errors import OverloadError
from termwise.serve.search_pool import SearchPool


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
