"""Write an index in another process: ``rebuilding.py FOLDER loop SECONDS`` or ``rebuilding.py FOLDER hold``.

``loop``
    Build two generations in turn, as fast as it goes; print how many were published.
``hold``
    Begin a build, say so, and wait in the middle of it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import cycle
from pathlib import Path

from termwise.index import IndexWriter
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

VOCABULARY = Vocabulary(["merge", "sort"])


def build(folder: Path, documents: int) -> None:
    """Build an index whose every part tells its number of documents."""
    with IndexWriter(folder, overwrite=True, store_text=True) as writer:
        writer.add(
            [f"d{i} of {documents}" for i in range(documents)],
            TermWeights.from_rows(
                [{0: 1.0 + i, 1: float(documents)} for i in range(documents)], VOCABULARY.id
            ),
            [f"text {i} of {documents}" for i in range(documents)],
        )
        writer.commit(
            VOCABULARY, encoder={"documents": documents}, attachments={"file": str(documents).encode()}
        )


def hold(folder: Path) -> None:
    """Begin and wait."""
    with IndexWriter(folder, overwrite=True) as writer:
        writer.add(["a"], TermWeights.from_rows([{0: 1.0}], VOCABULARY.id))
        print("begun", flush=True)
        sys.stdin.read()


def loop(folder: Path, seconds: float) -> None:
    """Build until the time is up."""
    os.fsync = lambda descriptor: None  # the machine is not going to die, and this is about speed
    end = time.monotonic() + seconds
    published = 0
    for documents in cycle([20, 30]):
        build(folder, documents)
        published += 1
        if published == 1:
            print("begun", flush=True)
        if time.monotonic() > end:
            break
    print(published)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
    if sys.argv[2] == "hold":
        hold(Path(sys.argv[1]))
    else:
        loop(Path(sys.argv[1]), float(sys.argv[3]))
