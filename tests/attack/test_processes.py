"""Processes that end at a bad moment, disks that are full, and files that run out."""

import os
import random
import resource
import signal
import socket
import subprocess
import threading
import time

import httpx
import pytest
from tests.attack.services import SECONDS

import termwise
from termwise.index import verify


def members(group: int) -> list[int]:
    """Return the processes of a group that still run."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(pid) for pid, pgid, state in rows if int(pgid) == group and not state.startswith("Z")]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_stop_during_the_start(new_service, seed):
    """SIGTERM at a random moment of the start ends all processes before a service manager would kill them."""
    rng = random.Random(seed)
    service = new_service().launch()
    time.sleep(rng.random() * 2)
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(timeout=30) in (0, 143, -15)
    assert not members(service.process.pid)


@pytest.mark.skipif(SECONDS < 2, reason="three processes take ten seconds to start")
def test_workers_and_parent_are_killed(new_service):
    """A killed worker is replaced, workers end with their parent, and the port is free at once."""
    service = new_service("--workers", 2).start()
    parent = service.process.pid
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(parent)], capture_output=True, text=True, check=True
    )
    workers = [int(line.split()[0]) for line in listed.stdout.splitlines() if "tracker" not in line]
    assert len(workers) >= 2
    os.kill(workers[-1], signal.SIGKILL)
    time.sleep(0.3)
    for _request in range(10):
        answer = httpx.get(f"http://127.0.0.1:{service.port}/v1/indexes/docs/search?query=tea", timeout=10)
        assert answer.status_code == 200
    os.kill(parent, signal.SIGKILL)
    service.process.wait()
    end = time.monotonic() + 5
    while members(parent) and time.monotonic() < end:
        time.sleep(0.05)
    assert not members(parent)
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", service.port))


def test_files_that_cannot_grow(new_service, index):
    """If no file may grow, as on a full disk, changes are refused as a whole, searches go on, and nothing is lost."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    service = new_service(before_start=limit).start()
    rng = random.Random(1)
    acknowledged, refused = {}, 0
    for number in range(8):
        text = " ".join(f"w{rng.randrange(50_000)}" for _ in range(20 if number % 2 else 20_000))
        answer = service.client.put(
            f"/v1/indexes/docs/documents/f{number}", json={"text": text, "stock": number}
        )
        if answer.status_code == 201:
            acknowledged[f"f{number}"] = number
        else:
            assert answer.status_code in (500, 503, 507)
            assert answer.json()["error"]["type"] == "storage"
            refused += 1
    assert refused
    assert acknowledged

    def check():
        for name, number in acknowledged.items():
            found = service.client.get(f"/v1/indexes/docs/documents/{name}").json()
            assert found["attributes"]["stock"] == number
        assert service.client.get("/v1/indexes/docs").json()["documents"] == 300 + len(acknowledged)

    check()
    service.kill()
    assert not verify(index)
    assert set(acknowledged) <= set(termwise.open(index).rank(None, k=1000).doc_ids)
    with termwise.open_writer(index) as writer:
        writer.add([termwise.Document("after", "there is space again")])


def test_another_writer_beside_the_service(living):
    """While another process changes the index, changes of the service wait, and those of both are made."""
    service, folder = living
    before = service.client.get("/v1/indexes/docs").json()["documents"]
    statuses = []

    def change() -> None:
        for number in range(5):
            answer = service.client.put(
                f"/v1/indexes/docs/documents/s{number}", json={"text": "from the service"}
            )
            statuses.append(answer.status_code)

    with termwise.open_writer(folder, wait=10) as writer:
        writer.add([termwise.Document(f"c{number}", f"tea number{number}") for number in range(300)])
        changing = threading.Thread(target=change)
        changing.start()
        time.sleep(0.5)
        assert not statuses
        writer.commit()
    changing.join()
    assert statuses == [201] * 5
    assert service.client.get("/v1/indexes/docs").json()["documents"] == before + 305
    found = service.client.get("/v1/indexes/docs/search", params={"query": "number299"}).json()
    assert found["hits"][0]["doc_id"] == "c299"
