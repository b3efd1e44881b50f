"""Documents of the attacks, and real services as processes on free ports."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

import termwise

SOURCE = Path(termwise.__file__).resolve().parent.parent
WORDS = (
    "tea",
    "green",
    "black",
    "leaf",
    "pot",
    "iron",
    "bag",
    "smoke",
    "rose",
    "mint",
    "cup",
    "water",
    "hill",
    "rain",
)
KINDS = ("red", "green", "blue", "two words")
SECONDS = float(os.environ.get("TERMWISE_ATTACK_SECONDS", "1"))


def make_document(rng: random.Random, doc_id: str) -> dict:
    """Return a record with random words and attributes, of which some are missing."""
    record = {"_id": doc_id, "text": " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))}
    attributes = {
        "price": rng.choice((0.0, 1.5, 3.25, 9.0, 20.0)),
        "stock": rng.choice((-3, 0, 1, 7, 2**40)),
        "kind": rng.choice(KINDS),
        "tags": rng.sample(("a", "b", "c", "d"), rng.randint(1, 3)),
        "organic": rng.random() < 0.5,
        "added": f"20{rng.randint(10, 25)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
    }
    record.update({name: value for name, value in attributes.items() if rng.random() < 0.85})
    return record


SCHEMA = {
    "price": "float",
    "stock": "integer",
    "kind": "keyword",
    "tags": "keywords",
    "organic": "boolean",
    "added": "date",
}


def environment() -> dict:
    """Return the environment of a process that runs the package under test."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}


class Service:
    """A service that runs as a process."""

    def __init__(self, folder: Path, *arguments: object, log: Path, before_start=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.arguments = (f"docs={folder}", *arguments, "--port", self.port)
        self.log, self.before_start, self.process = log, before_start, None
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)

    def launch(self) -> "Service":
        """Start the process, and do not wait for it."""
        words = [sys.executable, "-m", "termwise", "serve", *map(str, self.arguments)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                words,
                env=environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=self.before_start,
            )
        return self

    def start(self) -> "Service":
        """Start the process, and wait until it is ready."""
        return self.launch().wait()

    def wait(self) -> "Service":
        """Wait until the process is ready."""
        end = time.monotonic() + 300
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/ready", timeout=2).status_code == 200:
                    return self
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the service was not ready in time")

    def kill(self) -> None:
        """End the process and its workers without notice."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.client.close()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)

    def raw(self, data: bytes, seconds: float = 2.0, first_only: bool = False) -> bytes:
        """Send bytes, and return what comes back until the connection ends or the time is over."""
        found = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            try:
                connection.sendall(data)
                while part := connection.recv(65536):
                    found += part
                    if first_only and b"\r\n\r\n" in found:
                        break
            except (TimeoutError, ConnectionError):
                pass
        return found

    def errors(self) -> str:
        """Return the log if it has a traceback, and else an empty text."""
        text = self.log.read_text(errors="replace")
        return text if "Traceback" in text else ""


def processor_seconds(process: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(process: int) -> float:
    """Return the memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
