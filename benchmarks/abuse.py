r"""Throughput of a client of the HTTP service while other clients send requests that are expensive.

    pip install -e '.[serve]' -r benchmarks/requirements.txt
    python benchmarks/abuse.py --workload FOLDER --work SCRATCH           # about 5 minutes

The clients have addresses of their own on this machine. The *quiet* client sends the queries of the workload, one after
the other, over two connections. Each abuser sends requests of one kind over eight connections without a pause, also
after a refusal:

=============  ======================================================================================
filters        a filter of 1,000 conditions on numbers
phrases        five excluded phrases, different ones in each request
answers        1,000 results with their texts, which the abuser does not read
explanations   100 explained results with excerpts
bodies         20,000 fields that no request has
clauses        an OpenSearch query with 70,000 clauses in its filter
aggregations   3,000 aggregations in OpenSearch's form
lines          100 OpenSearch searches in one request, each with 30 invalid clauses
candidates     1,000 candidates, whose scores are explained
=============  ======================================================================================

Abusers make their requests before the measurement, so that the time of the processor is left to the service.
The ratio is that of the answers that the quiet client gets in a second with two abusers and without, in turns; memory
is that of the process afterwards. Results are printed and appended to ``benchmarks/results/abuse.jsonl``.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import random
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from record import parser  # noqa: E402
from timing import RESULTS, about, append, say  # noqa: E402
from workload import load_texts  # noqa: E402

import termwise  # noqa: E402

PATH = "/v1/indexes/termwise/search"
OPENSEARCH = "/termwise/_search"

QUIET, ABUSERS = "127.0.0.2", ("127.0.0.3", "127.0.0.4")

CONNECTIONS = 8
"""Connections of an abuser."""

PREPARED = 20
"""Requests that an abuser sends in turns."""

WARM_UP = 2.0
"""Seconds between the start of the abusers and a measurement."""


Request = tuple[str, bytes]
"""Path and body."""


def search(fields: dict[str, Any]) -> Request:
    """Return a search of the service's own form."""
    return PATH, json.dumps(fields).encode()


def filters(words: Sequence[str], ids: int) -> Request:
    """Return a search with a filter of 1,000 conditions."""
    numbers = random.sample(range(1_000_000), 1000)
    return search({"query": "water", "filter": " or ".join(f"number = {number}" for number in numbers)})


def phrases(words: Sequence[str], ids: int) -> Request:
    """Return a search whose phrases are in few texts, so that many texts are read."""
    excluded = [" ".join(random.sample(words, 2)) for _ in range(5)]
    return search({"query": "the", "k": 1000, "must_not": excluded, "sort": "number"})


def answers(words: Sequence[str], ids: int) -> Request:
    """Return a search with a large answer."""
    return search({"query": random.choice(words), "k": 1000, "text": True, "highlight": True})


def explanations(words: Sequence[str], ids: int) -> Request:
    """Return a search with many explanations."""
    query = " ".join(random.sample(words, 20))
    return search({"query": query, "k": 100, "explain": True, "text": True, "highlight": True})


def bodies(words: Sequence[str], ids: int) -> Request:
    """Return a request that is refused when it is read."""
    return search({"query": "water"} | {f"field{number}": number for number in range(20_000)})


def clauses(words: Sequence[str], ids: int) -> Request:
    """Return a search with more clauses than are allowed, below the limit of a body."""
    return OPENSEARCH, json.dumps(_opensearch(70_000)).encode()


def _opensearch(number: int) -> dict[str, Any]:
    terms = [{"term": {"unknown": each}} for each in range(number)]
    return {"query": {"bool": {"must": {"match": {"text": "water"}}, "filter": terms}}}


def aggregations(words: Sequence[str], ids: int) -> Request:
    """Return a search with more aggregations than are allowed."""
    aggs = {f"a{each}": {"terms": {"field": "number"}} for each in range(3_000)}
    return OPENSEARCH, json.dumps({"query": {"match_all": {}}, "aggs": aggs}).encode()


def lines(words: Sequence[str], ids: int) -> Request:
    """Return 100 searches that are refused, in one request."""
    return "/termwise/_msearch", b"".join(
        b"{}\n" + json.dumps(_opensearch(30)).encode() + b"\n" for _ in range(100)
    )


def candidates(words: Sequence[str], ids: int) -> Request:
    """Return a search of given documents, with explanations."""
    chosen = [str(each) for each in random.sample(range(ids), 1000)]
    return search(
        {"query": " ".join(random.sample(words, 20)), "candidates": chosen, "k": 100, "explain": True}
    )


KINDS: dict[str, Callable[[Sequence[str], int], Request]] = {
    each.__name__: each
    for each in (filters, phrases, answers, explanations, bodies, clauses, aggregations, lines, candidates)
}


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work")
    command.add_argument("--workload", type=Path, required=True, help="folder of the reference workload")
    command.add_argument("--documents", type=int, default=500_000)
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--seconds", type=float, default=6, help="time of one measurement")
    command.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    from service import PORT, Server

    passages, queries = load_texts(arguments.workload)
    index = arguments.work / "termwise.tw"
    if not index.exists():
        shutil.rmtree(arguments.work, ignore_errors=True)
        arguments.work.mkdir(parents=True)
        texts = (passages[number % len(passages)] for number in range(arguments.documents))
        documents = (
            termwise.Document(str(number), text, {"number": number}) for number, text in enumerate(texts)
        )
        termwise.build_index(documents, index, analyzer="english", store_text=True)
    words = sorted({word for query in queries for word in query.split()})
    report: dict[str, Any] = {"about": about(("starlette", "uvicorn")), "documents": arguments.documents}
    for kind in arguments.kinds:
        with Server("termwise", arguments.work) as server:
            requests = [json.dumps({"query": query, "k": 10}) for query in queries]
            quiet(PORT, requests, WARM_UP)
            prepared = [KINDS[kind](words, arguments.documents) for _ in range(PREPARED)]
            rounds = []
            for _ in range(arguments.rounds):
                alone = quiet(PORT, requests, arguments.seconds)
                with abusers(PORT, kind, prepared) as counts:
                    time.sleep(WARM_UP)
                    beside = quiet(PORT, requests, arguments.seconds)
                rounds.append({"alone": alone, "beside": beside, "abusers": counts()})
            memory = server.memory()["all"]
        ratio = median(each["beside"]["rate"] / each["alone"]["rate"] for each in rounds)
        say(f"{kind:14} quiet client {median(each['alone']['rate'] for each in rounds):6.0f} answers/s alone, "
            f"{median(each['beside']['rate'] for each in rounds):6.0f} beside two abusers: {ratio:.2f}; "
            f"p99 {median(each['beside']['p99'] for each in rounds):.1f} ms; memory {memory:.0f} MB; "
            f"abusers {rounds[-1]['abusers']}")  # fmt: skip
        report[kind] = {"ratio": ratio, "rounds": rounds, "memory": memory}
    append(report, "abuse", arguments.out)


def quiet(port: int, bodies: Sequence[str], seconds: float) -> dict[str, float]:
    """Send searches over two connections; return answers per second, and the 99th percentile of their times in ms."""
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        found = pool.starmap(_sent, [(port, bodies[half::2], seconds) for half in range(2)])
    times = sorted(each for of_one in found for each in of_one)
    return {"rate": len(times) / seconds, "p99": 1000 * times[int(0.99 * len(times))] if times else 0.0}


def _sent(port: int, bodies: Sequence[str], seconds: float) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(QUIET, 0))
    taken, end, number = [], time.monotonic() + seconds, 0
    while (begin := time.monotonic()) < end:
        connection.request("POST", PATH, bodies[number % len(bodies)], {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            taken.append(time.monotonic() - begin)
        number += 1
    return taken


class abusers:  # noqa: N801
    """Two processes that send expensive requests until the end of the block; yields a function that counts answers."""

    def __init__(self, port: int, kind: str, prepared: Sequence[Request]) -> None:
        context = multiprocessing.get_context("fork")
        self._counts = context.Manager().dict()
        self._processes = [
            context.Process(target=_abuse, args=(port, kind, prepared, address, self._counts), daemon=True)
            for address in ABUSERS
        ]

    def __enter__(self) -> Callable[[], dict[str, int]]:
        for process in self._processes:
            process.start()
        return lambda: dict(self._counts)

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.join()


def _abuse(port: int, kind: str, prepared: Sequence[Request], address: str, counts: Any) -> None:
    import threading

    def send() -> None:
        for status in _statuses(port, kind, prepared, address):
            counts[status] = counts.get(status, 0) + 1

    threads = [threading.Thread(target=send, daemon=True) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _statuses(port: int, kind: str, prepared: Sequence[Request], address: str) -> Iterator[str]:
    head = (
        "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n"
    )
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 60, (address, 0)) as connection:
                while True:
                    path, body = random.choice(prepared)
                    connection.sendall(head.format(path, len(body)).encode() + body)
                    begin = connection.recv(4096)
                    if not begin:
                        break
                    yield begin[9:12].decode("latin-1")
                    if kind == "answers":
                        time.sleep(30)  # the rest is not read
                    size = int(begin.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                    left = size - len(begin.partition(b"\r\n\r\n")[2])
                    while left > 0 and (part := connection.recv(1 << 20)):
                        left -= len(part)
        except (OSError, IndexError, ValueError):
            yield "ended"
            time.sleep(0.01)


if __name__ == "__main__":
    main()
