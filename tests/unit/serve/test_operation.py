"""What operators rely on: metrics of several processes, and folders that are replaced or copied while in use."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.unit.serve.conftest import served

import termwise
from termwise.errors import CorruptIndexError
from termwise.fusion import mix_indexes
from termwise.records import Document
from termwise.search import verify
from termwise.serve.indexes import ServedIndex


@pytest.fixture
def two_workers(shop: Path, tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """Return the address of a service with two processes, its folder for temporary files, and the lines of its log."""
    command = ["-P", "-m", "termwise", "serve", str(shop), "--port", "0", "--workers", "2", "--threads", "1"]
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(termwise.__file__).parents[1]), "TMPDIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, *command, "--without-log"], env=environment, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"http://\S+", line) for line in process.stderr)))
        log: list[str] = []
        reader = threading.Thread(target=log.extend, args=(process.stderr,))
        reader.start()
        yield found[0].rstrip("/"), folder, log
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        reader.join()
    assert not list(folder.glob("termwise-*"))


def _get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=120) as answer:
        return answer.read().decode()


def _searches(page: str) -> float:
    found = re.search(
        r'^termwise_requests_total{operation="search_by_address",status="200"} (\S+)$', page, re.M
    )
    return 0.0 if found is None else float(found[1])


def test_metrics_are_those_of_all_processes(two_workers: tuple[str, Path, list[str]]) -> None:
    address, folder, log = two_workers
    search = f"{address}/v1/indexes/shop/search?query=tea"

    def processes() -> list[int]:
        return sorted(
            int(file.stem.rpartition("_")[2]) for file in folder.glob("termwise-metrics-*/counter_*.db")
        )

    sent = 0
    with ThreadPoolExecutor(8) as threads:
        while len(processes()) < 2:  # each request is a connection of its own, which either process accepts
            assert all(json.loads(each)["hits"] for each in threads.map(_get, [search] * 16))
            sent += 16
    ends = time.monotonic() + 10
    while _searches(_get(f"{address}/metrics")) < sent and time.monotonic() < ends:
        time.sleep(0.05)  # a request is counted after its answer
    for _ in range(6):
        page = _get(f"{address}/metrics")
        assert _searches(page) == sent
        assert f'termwise_request_seconds_count{{operation="search_by_address"}} {sent}.0' in page
        assert 'termwise_documents{index="shop"} 5.0' in page
        assert "pid=" not in page
    assert re.findall("^termwise_searches_pending (.*)$", page, re.MULTILINE) == ["0.0"]

    killed = processes()[0]
    os.kill(killed, signal.SIGKILL)  # what it has counted stays
    while True:
        try:
            assert _searches(_get(f"{address}/metrics")) == sent
            break
        except OSError:  # the connection was with the killed process
            continue
    deadline = (
        time.monotonic() + 150
    )  # a process that ends while it is asked for a sign of life is waited for
    while not any(f"the worker {killed} has ended (exit code -9)" in line for line in log):
        assert time.monotonic() < deadline, log
        time.sleep(0.1)


def _texts(prefix: str, n: int) -> list[Document]:
    return [Document(f"{prefix}{number}", f"running {prefix} {number}") for number in range(n)]


@pytest.mark.parametrize("by_link", [False, True])
def test_a_replaced_folder_is_served_at_once(tmp_path: Path, by_link: bool) -> None:
    """Also if the new index has another model and another analyzer."""
    blue, green, path = tmp_path / "blue.tw", tmp_path / "green.tw", tmp_path / "shop.tw"
    termwise.build_index(_texts("blue", 3), blue, store_text=True)
    termwise.build_index(_texts("green", 5), green, model="jm", analyzer="standard", store_text=True)
    if by_link:
        path.symlink_to(blue.name)
    else:
        blue.rename(path)
    served = ServedIndex("shop", path)
    old = termwise.open(path)
    assert served.searcher().rank("runs").doc_ids == old.rank("runs").doc_ids == ("blue0", "blue1", "blue2")
    if by_link:
        (tmp_path / "new").symlink_to(green.name)
        os.replace(tmp_path / "new", path)
    else:
        path.rename(blue)
        assert len(served.searcher().rank("running", k=9)) == 3  # between the two, the old index answers
        assert served.failed
        green.rename(path)
    new = termwise.open(path)
    for query in ("running green", "runs", "blue"):
        assert served.searcher().rank(query) == new.rank(query)
    assert len(served.searcher().rank("running", k=9)) == 5
    assert not served.failed
    shutil.rmtree(blue)
    assert len(old.rank("running")) == 3  # a search that began before ends on the files that it opened


def _change(path: Path, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        with termwise.open_writer(path) as writer:
            writer.add(
                [Document(f"n{number % 7}", f"tea number {number}"), Document(f"m{number}", "green tea")]
            )
            writer.delete([f"m{number - 3}"])
        number += 1


def _is_intact(snapshot: Path) -> bool:
    """Return whether a snapshot is not torn, which is a damage, or the error that a part of a mixture has changed."""
    try:
        return not verify(snapshot)
    except CorruptIndexError:
        return False


@pytest.mark.parametrize("mixture", [False, True])
def test_a_snapshot_by_hard_links_is_intact_or_found_to_be_torn(tmp_path: Path, mixture: bool) -> None:
    """The commands of the how-to, while the index is written and merged."""
    path = tmp_path / "shop.tw"
    teas = [Document(f"t{number}", f"green tea {number}") for number in range(50)]
    if mixture:
        for model in ("bm25", "jm"):
            termwise.build_index(teas, tmp_path / f"{model}.tw", model=model, store_text=True)
        mix_indexes([tmp_path / "bm25.tw", tmp_path / "jm.tw"], [0.5, 0.5], path)
    else:
        termwise.build_index(teas, path, store_text=True)
    stop = threading.Event()
    writing = threading.Thread(target=_change, args=(path, stop))
    writing.start()
    intact: list[Path] = []
    states: list[tuple[str, ...]] = []
    try:
        for number in range(400):
            snapshot = tmp_path / f"snapshot{number}"
            copied = subprocess.run(["cp", "-al", path, snapshot], capture_output=True).returncode == 0
            if copied and _is_intact(snapshot):
                intact.append(snapshot)
                states.append(termwise.open(snapshot).rank("tea number", k=99).doc_ids)
            if len(intact) == 5:
                break
    finally:
        stop.set()
        writing.join()
    assert len(intact) == 5
    with termwise.open_writer(path) as writer:
        writer.merge()
    for snapshot, state in zip(
        intact, states, strict=True
    ):  # later changes and merges leave them as they were
        assert not verify(snapshot)
        assert termwise.open(snapshot).rank("tea number", k=99).doc_ids == state
        assert len(state) >= 50
    with termwise.open_writer(
        intact[0]
    ) as writer:  # a restored index can be changed, without touching the original
        writer.add([Document("restored", "tea number")])
    assert "restored" in termwise.open(intact[0]).rank("tea number", k=99).doc_ids
    assert "restored" not in termwise.open(path).rank("tea number", k=99).doc_ids


def test_searches_go_on_while_a_folder_is_away(shop: Path) -> None:
    with served([str(shop)]) as client:
        shop.rename(shop.with_name("away.tw"))
        address = "/v1/indexes/shop/search"
        assert client.get(address, params={"query": "tea"}).status_code == 200
        assert client.get(address, params={"query": "pepermint", "fuzzy": "true"}).json()["hits"]


@contextmanager
def _serving(shop: Path, port: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a service with two workers in a process group of its own, and yield its process and port."""
    command = [
        "-P",
        "-m",
        "termwise",
        "serve",
        str(shop),
        "--workers",
        "2",
        "--without-log",
        "--port",
        str(port),
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(termwise.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, *command], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"http://\S+:(\d+)/", line) for line in process.stderr)))
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        try:
            yield process, int(found[1])
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            reader.join()


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [each for each in map(int, found) if "spawn_main" in Path(f"/proc/{each}/cmdline").read_text()]


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.5])
def test_a_service_that_starts_stops_at_once(shop: Path, seconds: float) -> None:
    """Also if the signal reaches the workers before they can handle it, as that of a terminal does."""
    with _serving(shop, 0) as (process, _):
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(30) is not None  # it took a minute, the time for a worker to start


def test_workers_end_with_their_parent(shop: Path) -> None:
    with _serving(shop, 0) as (process, port):
        assert json.loads(_get(f"http://127.0.0.1:{port}/v1/indexes/shop/search?query=tea"))["hits"]
        workers = _children(process.pid)
        assert len(workers) == 2
        process.kill()
        process.wait()
        deadline = time.monotonic() + 60
        while any(Path(f"/proc/{worker}").exists() for worker in workers):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    with _serving(shop, port) as (process, same):
        assert same == port
        assert json.loads(_get(f"http://127.0.0.1:{port}/v1/indexes/shop/search?query=tea"))["hits"]
        process.terminate()
        assert process.wait(60) == 0
