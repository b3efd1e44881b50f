"""Requests that ask for much work, memory or patience, and what remains for other clients."""

import asyncio
import contextlib
import json
import random
import socket
import threading
import time

import httpx
import pytest
from tests.attack.services import SECONDS, WORDS, Service, processor_seconds, resident_megabytes

import termwise
from termwise.budget import Budget
from termwise.serve.keys import KeyFile
from termwise.serve.search_pool import SearchPool, _Job

TIMEOUT = 0.5


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """The file of three keys, and the keys: two of the role search, one of the role write."""
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    return path, *(KeyFile(path).create(role=role) for role in ("search", "search", "write"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, keys: tuple):
    """Service of an index of 4,000 documents, most of which contain most phrases, with a deadline of one second."""
    rng = random.Random(1)
    folder = tmp_path_factory.mktemp("large")
    with (folder / "docs.jsonl").open("w") as file:
        for number in range(4_000):
            text = " ".join(rng.choices(WORDS, k=60))
            file.write(json.dumps({"_id": f"d{number}", "text": text, "price": rng.random()}) + "\n")
    termwise.build_index(folder / "docs.jsonl", folder / "docs.tw", attributes="all", store_text=True)
    options = ("--timeout", TIMEOUT, "--threads", 1, "--keys", keys[0], "--max-results", 10_000)
    running = Service(folder / "docs.tw", *options, log=folder / "log").start()
    running.client.headers["authorization"] = f"Bearer {keys[1]}"
    for _warm_up in range(20):  # the first searches compile kernels
        answer = running.client.post(
            "/v1/indexes/docs/search", json={"query": "tea -rose", "filter": "price < 0.5"}
        )
        if answer.status_code == 200:
            break
    yield running
    running.kill()
    assert not running.errors()


PAIRS = [f"{one} {two}" for one in WORDS for two in WORDS][:48]
ASKS = {
    "excluded phrases": {"query": "tea", "must_not": PAIRS, "total": True, "sort": "-price"},
    "required phrases": {"query": "tea", "must": PAIRS, "total": True},
    "conditions": {"filter": {"or": [{"field": "price", "<": n / 1000} for n in range(1000)]}, "total": True},
    "negations": {"filter": "not " * 100 + "price < 0.5", "total": True},
    "explanations": {"query": " ".join(WORDS), "explain": True, "k": 100, "fuzzy": True, "prefix": True},
    "excerpts and syntax": {
        "query": " ".join(WORDS),
        "highlight": True,
        "excerpt_length": 100_000,
        "k": 10_000,
    },
    "texts": {"text": True, "k": 10_000},
    "ranges": {"ranges": {"price": {str(n): [n / 100, 1] for n in range(100)}}, "total": True},
    "candidates": {"query": "tea", "candidates": [f"d{n}" for n in range(4_000)], "k": 1000},
    "typos": {
        "query": " ".join(f"{w}{x}" for w in WORDS for x in "qxzw")[:3900],
        "fuzzy": True,
        "prefix": True,
    },
}


def rests_soon(service) -> bool:
    """Return whether the service uses no processor, at the latest a second from now."""
    end = time.monotonic() + 1
    while True:
        before = processor_seconds(service.process.pid)
        time.sleep(0.2)
        if processor_seconds(service.process.pid) - before < 0.12:
            return True
        if time.monotonic() > end:
            return False


@pytest.mark.parametrize("name", ASKS)
def test_work_ends_with_the_deadline(large, name):
    """An expensive search is answered in time, and no processor works for it afterwards."""
    begin = time.monotonic()
    answer = large.client.post("/v1/indexes/docs/search", json=ASKS[name])
    assert answer.status_code in (200, 400, 503), answer.text
    assert time.monotonic() - begin < TIMEOUT + 2
    assert rests_soon(large), "a processor works for an answer that was given"


def test_many_searches_in_one_request_have_one_deadline(large):
    """A hundred expensive searches in one request do not have a hundred deadlines."""
    query = {"bool": {"must": [{"match": {"text": "tea"}}]}}
    query["bool"]["must_not"] = [{"match_phrase": {"text": pair}} for pair in PAIRS[:20]]
    lines = [json.dumps(part) for _ in range(100) for part in ({"index": "docs"}, {"query": query})]
    begin = time.monotonic()
    header = {"content-type": "application/x-ndjson"}
    answer = large.client.post("/_msearch", content="\n".join(lines) + "\n", headers=header)
    assert answer.status_code in (200, 503)
    assert time.monotonic() - begin < TIMEOUT + 2


def test_long_searches_of_one_client_leave_others_their_share(large, keys):
    """While one client sends expensive searches on eight connections, another one is answered."""
    stop = threading.Event()

    def attack():
        with httpx.Client(base_url=large.client.base_url, headers=large.client.headers, timeout=30) as client:
            while not stop.is_set():
                client.post("/v1/indexes/docs/search", json=ASKS["excluded phrases"] | {"k": 7})

    attackers = [threading.Thread(target=attack) for _ in range(8)]
    for one in attackers:
        one.start()
    try:
        time.sleep(0.3)
        times = []
        with httpx.Client(base_url=large.client.base_url, timeout=30) as client:
            client.headers["authorization"] = f"Bearer {keys[2]}"
            end = time.monotonic() + 1
            while time.monotonic() < end:
                begin = time.monotonic()
                answer = client.get("/v1/indexes/docs/search", params={"query": "tea", "k": 1})
                if answer.status_code == 200:
                    times.append(time.monotonic() - begin)
    finally:
        stop.set()
        for one in attackers:
            one.join()
    assert len(times) >= 10
    assert sorted(times)[len(times) // 2] < 0.25


def test_the_reserve_takes_nothing_while_nothing_runs():
    """The reserve is for clients that others keep waiting, so it takes no job if nothing runs."""

    async def look():
        pool = SearchPool(1, 64, 5.0)
        try:
            client = pool._client("a client with long jobs")
            client.mean = 1.0
            job = _Job(
                int,
                asyncio.get_running_loop().create_future(),
                Budget(5.0),
                asyncio.get_running_loop(),
                client,
            )
            with pool._lock:
                pool.pending += 1
                client.pending += 1
                client.jobs.append(job)
                pool._waiting[client] = None
            return pool._next(True)
        finally:
            with pool._lock:
                pool._waiting.clear()
                pool._running.clear()
            pool.close()

    assert asyncio.run(look()) is None


@pytest.mark.skipif(SECONDS < 2, reason="adding a large document takes seconds")
def test_the_work_for_a_large_example_ends_with_the_deadline(large, keys):
    """A query by an example of 350,000 words stops using the processor when its deadline has passed."""
    rng = random.Random(2)
    text = " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _word in range(350_000))
    header = {"authorization": f"Bearer {keys[3]}"}
    answer = large.client.put("/v1/indexes/docs/documents/large", json={"text": text}, headers=header)
    assert answer.status_code == 201
    try:
        large.client.post("/v1/indexes/docs/search", json={"like": "large", "k": 3})
        assert rests_soon(large)
    finally:
        large.client.delete("/v1/indexes/docs/documents/large", headers=header)


def seconds_of(service, send, times: int) -> float:
    """Return the processor time of an answer."""
    send()
    before = processor_seconds(service.process.pid)
    for _time in range(times):
        send()
    return (processor_seconds(service.process.pid) - before) / times


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/_msearch", b"\n" * 1_990_000),
        ("/docs/_mget", json.dumps({"ids": [f"d{n}" for n in range(200_000)]}).encode()),
    ],
    ids=["lines", "identifiers"],
)
def test_a_request_without_work_is_cheap(large, path, body):
    """Requests without searches, and those refused for too many documents, do not take the time of many searches."""
    header = {"content-type": "application/x-ndjson" if "msearch" in path else "application/json"}
    small = seconds_of(large, lambda: large.client.get("/v1/indexes/docs/search?query=tea&k=1"), 50)
    odd = seconds_of(large, lambda: large.client.post(path, content=body, headers=header), 5)
    assert odd < 40 * max(small, 0.001)


def test_unread_answers_do_not_fill_the_memory(large, keys):
    """Forty clients that ask for large texts and read nothing do not fill the memory, and others are answered."""
    body = json.dumps({"text": True, "k": 10_000}).encode()
    head = f"POST /v1/indexes/docs/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {keys[1]}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    before = resident_megabytes(large.process.pid)
    with contextlib.ExitStack() as stack:
        for _client in range(40):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", large.port))
            one.sendall(head.encode() + body)
        time.sleep(1.5)
        header = {"authorization": f"Bearer {keys[2]}"}
        answer = large.client.get("/v1/indexes/docs/search?query=tea", headers=header)
        assert answer.status_code == 200, answer.text
        assert resident_megabytes(large.process.pid) - before < 300


def test_pipelined_requests_do_not_fill_the_memory(large):
    """Four connections without a key that send requests without a pause do not fill the memory."""
    data = b"GET /v1/indexes HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5000
    before = resident_megabytes(large.process.pid)
    end = time.monotonic() + 2.5

    def flood():
        while time.monotonic() < end:
            with (
                contextlib.suppress(ConnectionError),
                socket.create_connection(("127.0.0.1", large.port)) as one,
            ):
                one.settimeout(0.2)
                place = 0
                while time.monotonic() < end:
                    with contextlib.suppress(TimeoutError):
                        place = (place + one.send(data[place:])) % len(data)

    floods = [threading.Thread(target=flood) for _ in range(4)]
    for one in floods:
        one.start()
    for one in floods:
        one.join()
    grown = resident_megabytes(large.process.pid) - before
    assert grown < 60, f"{grown} MB"


def test_bodies_of_one_client_leave_room_for_others(large, keys):
    """While one client with a key to search sends many bodies slowly, the bodies of another one are read."""
    head = "POST /v1/indexes/docs/search HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: Bearer {keys[1]}\r\nContent-Type: application/json\r\nContent-Length: "
    with contextlib.ExitStack() as stack:
        for size in (1_990_000, 100_000, 10_000, 1_000):
            for _body in range(40):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", large.port), timeout=5))
                one.sendall(f"{head}{size}\r\n\r\n".encode() + b" " * (size - 1))
                one.settimeout(0.03)
                with contextlib.suppress(TimeoutError):
                    one.recv(1)  # the bodies are too many
                    break
        header = {"authorization": f"Bearer {keys[2]}"}
        statuses = {
            large.client.post(
                "/v1/indexes/docs/search", json={"query": "tea " * 900}, headers=header
            ).status_code
            for _ in range(5)
        }
    assert statuses == {200}
