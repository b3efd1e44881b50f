"""One function in many processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from termwise.errors import MalformedRecordError, UsageError
from termwise.parallel import Workers

TWO = (os.cpu_count() or 1) > 1
two_processors = pytest.mark.skipif(not TWO, reason="there is one processor, so there is one process")


def place_and_process(item: int) -> tuple[int, int]:
    return item, os.getpid()


def picky(item: int) -> int:
    if item == 7:
        raise MalformedRecordError.at("pairs.jsonl", item, expected="a word", seen="none")
    return item


def dies(item: int) -> int:
    os._exit(9)


def test_one_thread_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessPoolExecutor, "__init__", None)
    with Workers(place_and_process, threads=1, patience=0) as workers:
        assert list(workers.map(range(3))) == [(item, os.getpid()) for item in range(3)]


def test_little_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessPoolExecutor, "__init__", None)
    with Workers(place_and_process, threads=2, patience=100) as workers:
        assert list(workers.map(range(3))) == [(item, os.getpid()) for item in range(3)]


@two_processors
def test_results_come_in_order_from_the_same_processes_each_time() -> None:
    with Workers(place_and_process, threads=2, patience=0) as workers:
        first, second = list(workers.map(range(50))), list(workers.map(range(20)))
    assert [item for item, _ in first] == list(range(50))
    assert [item for item, _ in second] == list(range(20))
    processes = {process for _, process in first + second}
    assert os.getpid() not in processes
    assert len(processes) <= 2
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@two_processors
def test_few_items_are_taken_ahead() -> None:
    taken = []

    def items() -> object:
        for item in range(100):
            taken.append(item)
            yield item

    with Workers(place_and_process, threads=2, patience=0) as workers:
        next(workers.map(items()))  # type: ignore[arg-type]
    assert len(taken) <= 10


@two_processors
def test_an_error_arrives_as_it_was_raised() -> None:
    with (
        Workers(picky, threads=2, patience=0) as workers,
        pytest.raises(MalformedRecordError, match="not in the expected form") as caught,
    ):
        list(workers.map(range(100)))
    assert dict(caught.value.facts)["file"] == "pairs.jsonl"
    assert dict(caught.value.facts)["line"] == 7


@two_processors
def test_a_process_that_ends_early() -> None:
    with (
        Workers(dies, threads=2, patience=0) as workers,
        pytest.raises(UsageError, match="ended before its work was done") as caught,
    ):
        list(workers.map(range(100)))
    assert "threads=1" in caught.value.fixes_worded()


SCRIPT = """
import os, signal, sys, time
from termwise.parallel import Workers

def slow(item):
    os.write(1, b"%d\\n" % os.getpid())  # at once: two processes write into one pipe
    time.sleep(0.2)
    return item

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background inherits as ignored
    with Workers(slow, threads=2, patience=0) as workers:
        for _ in workers.map(range(10_000)):
            pass
"""


def gone(process: int) -> bool:
    for _ in range(200):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@two_processors
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_every_end_of_this_process_ends_the_others(tmp_path, how) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            assert running.stdout is not None
            processes = {int(running.stdout.readline()) for _ in range(6)}
            if how == signal.SIGINT:
                os.killpg(running.pid, how)  # what a terminal does
            else:
                running.kill()
            _, told = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == -how
    assert all(gone(process) for process in processes)
    if how == signal.SIGINT:
        assert told.count("Traceback") == 1
        assert told.rstrip().endswith("KeyboardInterrupt")
