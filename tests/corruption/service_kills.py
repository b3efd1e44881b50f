"""Kill a service with its workers at random moments while clients change its index, and check the index each time.

Usage: ``service_kills.py FOLDER KILLS SEED``. The index has an analyzer for each language, and the service a relevance
file. Each client changes documents of its own, one request after the other. After a kill, each document must have the
state of the last change that was answered, or of the one that was under way, and a search with the relevance file finds
it; the next service opens the index without any repair.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from random_kills import texts_of
from steered import check_search, document, write_relevance

import termwise

CLIENTS = 3
DOCUMENTS = 5
"""Documents of each client."""

LONGEST = 1.0
"""Longest life of a service after its start, in seconds."""

States = dict[str, str | None]
"""Text of each document; None for a deleted one."""


def start(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a service with two workers; return its process and port when it answers."""
    command = [
        sys.executable,
        "-m",
        "termwise",
        "serve",
        str(folder),
        "--relevance",
        str(write_relevance(folder, termwise.open(folder).schema)),
        "--port",
        "0",
        "--workers",
        "2",
        "--without-log",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"serving at http://[^:]+:(\d+)/", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            port = int(found[1])
            while not answers(port):
                time.sleep(0.02)
            return process, port
    raise AssertionError(f"the service ended with {process.wait()}")


def answers(port: int) -> bool:
    """Return whether a worker answers."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False


def change(port: int, client: int, seed: int, answered: States, begun: States) -> None:
    """Change the documents of one client until the service no longer answers."""
    choose = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    number = 0
    while True:
        number += 1
        doc_id = f"c{client}d{choose.randrange(DOCUMENTS)}"
        text = None if choose.random() < 0.3 else f"tea {seed} {client} {number}"
        begun.clear()
        begun[doc_id] = text
        address = f"/v1/indexes/{NAME}/documents/{doc_id}"
        try:
            if text is None:
                connection.request("DELETE", address)
            else:
                body = {"text": text, **document(doc_id, text).attributes}
                connection.request("PUT", address, json.dumps(body), {"content-type": "application/json"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return
        assert answer.status in (200, 201, 404), answer.status
        answered[doc_id] = text


NAME = "shop"


def main(folder: Path, kills: int, seed: int) -> None:
    """Kill the service again and again."""
    index = folder / f"{NAME}.tw"
    termwise.build_index([document("first", "tea")], index, analyzer="by-attribute:lang", store_text=True)
    choose = random.Random(seed)
    states: States = {}
    changes = under_way = 0
    for kill in range(kills):
        process, port = start(index)
        answered: list[States] = [{} for _ in range(CLIENTS)]
        begun: list[States] = [{} for _ in range(CLIENTS)]
        clients = [
            threading.Thread(target=change, args=(port, client, seed + kill, answered[client], begun[client]))
            for client in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        time.sleep(choose.uniform(0, LONGEST))
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
        process.wait()
        assert process.returncode == -signal.SIGKILL
        for client in clients:
            client.join()
        found = texts_of(index)
        for client in range(CLIENTS):
            states |= answered[client]
            changes += len(answered[client])
            for doc_id, text in begun[client].items():
                if found.get(doc_id) != states.get(doc_id):
                    assert found.get(doc_id) == text, f"kill {kill}: {doc_id}"
                    states[doc_id] = text
                    under_way += 1
        expected = {doc_id: text for doc_id, text in states.items() if text is not None}
        check_search(index, found)
        found.pop("first")
        assert found == expected, f"kill {kill}: {found} and not {expected}"
    print(json.dumps({"kills": kills, "documents_changed": changes, "under_way": under_way}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
