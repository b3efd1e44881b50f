"""What requests need, compiled or loaded before the first one."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from termwise.compilation import all_kernels, compile_kernels, uncompiled
from termwise.errors import StorageError
from termwise.indexing import build_index, open_writer
from termwise.kernels.code_cache import VARIABLE, unused_place, writable_folder
from termwise.records import Document
from termwise.search import Search
from termwise.search.opening import open_searcher
from termwise.serve.observation import SHARED

DELAY = 2.0
"""Seconds before modules are loaded, so that the first requests do not wait for it."""

STOP_SECONDS = 2.0
"""Time that a service which stops waits for modules that are being loaded."""

OFFLINE = ("interpolation_metrics", "pair_scores", "translation_training")
"""Modules of kernels that no request needs."""

logger = logging.getLogger("termwise.serve")


def compile_served() -> None:
    """Compile the kernels that requests need, if that has not happened on this machine, and say so in the log."""
    missing = uncompiled(OFFLINE)
    if not missing:
        return
    if (place := unused_place()) is not None:
        logger.warning("%s is not used: %s is no folder that only this user can write", VARIABLE, place)
    if writable_folder() is None:
        logger.warning(
            "no folder can keep compiled code, so that each process compiles; name one in %s", VARIABLE
        )
        return
    logger.info(
        "compiling %s numerical functions for this machine, once for a version of termwise; then the service listens",
        len(missing),
    )
    begin = time.monotonic()
    compile_kernels(missing)
    logger.info("compiled %s numerical functions in %.0f s", len(missing), time.monotonic() - begin)


def load_search_kernels() -> None:
    """Load the kernels that replace functions of numpy; others are loaded when they are needed, in milliseconds."""
    for kernel in all_kernels():
        if kernel.plain is not None:
            kernel.use_compiled()


@contextmanager
def modules_loaded_soon() -> Iterator[None]:
    """Load modules in a thread, a little later; at the end of the block, the thread has ended, or soon will."""
    timer = threading.Timer(DELAY, use_modules)
    timer.daemon = True  # so that it keeps no process from ending
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join(STOP_SECONDS)


@cache
def use_modules() -> None:
    """Load the modules of all kinds of searches and of changes; once for a process.

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
            writer.add([Document("64", "black tea, thé noir", {"kind": "b"})])  # beyond ASCII
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
    searcher.did_you_mean("gren")
    searcher.search(Search("tea", filter="n < 0")).reasons()
