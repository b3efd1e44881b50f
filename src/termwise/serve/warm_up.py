"""Kernels of searches and changes, compiled or loaded before requests need them."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from termwise.errors import StorageError
from termwise.indexing import build_index, open_writer
from termwise.records import Document
from termwise.search import Search
from termwise.search.opening import open_searcher
from termwise.serve.observation import SHARED

DELAY = 2.0
"""Seconds before kernels are loaded, so that the first requests do not wait for it."""

STOP_SECONDS = 2.0
"""Time that a service which stops waits for kernels that are being compiled."""


@contextmanager
def kernels_loaded_soon() -> Iterator[None]:
    """Load the kernels in a thread, a little later; at the end of the block, the thread has ended, or soon will."""
    timer = threading.Timer(DELAY, use_kernels)
    timer.daemon = True  # so that it keeps no process from ending
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join(STOP_SECONDS)


@cache
def use_kernels() -> None:
    """Compile the kernels of all kinds of searches and of changes, or load them from the cache; once for a process.

    They are used with a small index in a temporary folder. Without such a folder, they are loaded when they are needed.
    """
    documents = [
        Document(
            str(number), f"green tea number {number}", {"kind": "a" if number % 16 else "b", "n": number}
        )
        for number in range(64)
    ]
    with (
        suppress(OSError, StorageError),
        tempfile.TemporaryDirectory(prefix="termwise-warm-up-", dir=os.environ.get(SHARED)) as folder,
    ):
        path = Path(folder) / "index.tw"
        build_index(documents, path, store_text=True)
        _search(path)
        with open_writer(path) as writer:
            writer.add([Document("64", "black tea", {"kind": "b"})])
            writer.delete(["0"])
        _search(path)


def _search(path: Path) -> None:
    searcher = open_searcher(path)
    for condition in ('kind = "b"', "n < 40"):  # few documents are scored in another way than many
        searcher.search(Search("gren tea numb", filter=condition, fuzzy=True, prefix=True)).ranking  # noqa: B018
        searcher.rank("tea", k=5, filter=condition, must="tea number", must_not="7")
    searcher.rank(None, k=5, sort="-n")
    searcher.rank("tea", k=5, candidates=["1", "2"])
    searcher.search(Search("tea", facets=["kind"])).facets()
    searcher.explain("tea", "1")
