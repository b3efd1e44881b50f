"""A small shop that is served in the same process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

import termwise
from termwise.records import Document
from termwise.serve import ServiceSettings, create_app

TEAS = [
    Document(
        "sencha", "green tea from Uji, grassy and fresh", {"price": 12, "kind": "green", "tags": ("loose",)}
    ),
    Document("assam", "black tea from India, strong and malty", {"price": 7, "kind": "black"}),
    Document("genmaicha", "green tea with roasted rice", {"price": 9, "kind": "green"}),
    Document("pot", "a pot for tea, of clay", {"price": 40, "kind": "ware"}),
    Document("mint/fresh", "peppermint leaves & <b>nothing</b> else", {"price": 5, "kind": "herb"}),
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop.tw"
    termwise.build_index(TEAS, folder, store_text=True)
    return folder


@pytest.fixture
def client(shop: Path) -> Iterator[TestClient]:
    with served([str(shop)]) as client:
        yield client


def served(folders: list[str], settings: ServiceSettings | None = None) -> TestClient:
    """Return a client of a service in this process."""
    app = create_app(folders, settings or ServiceSettings(threads=2))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


class Running(NamedTuple):
    """A service in a process of its own."""

    process: int
    port: int


@contextmanager
def running(*arguments: str | Path, prefix: Sequence[str] = ()) -> Iterator[Running]:
    """Run ``termwise serve`` at a free port, and stop it at the end; `prefix` is a command that starts it."""
    command = [*prefix, sys.executable, "-m", "termwise", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            ports = (re.search(r":(\d+)/", line) for line in process.stderr)  # notes may come first
            found = next(filter(None, ports), None)
            assert found, "the service has not started"
            reader = threading.Thread(target=process.stderr.read)  # so that the log never fills the pipe
            reader.start()
            yield Running(process.pid, int(found[1]))
        finally:
            process.terminate()
        reader.join()
    assert process.returncode == 128 + signal.SIGTERM
