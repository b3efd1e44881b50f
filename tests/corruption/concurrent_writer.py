"""Write an index in another process: ``concurrent_writer.py FOLDER loop`` or ``… hold``.

``loop``
    Build two generations in turn, as fast as possible, until standard input ends; print the number of published ones.
``hold``
    Begin a build, print "begun", and wait.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from itertools import cycle
from pathlib import Path

from termwise.index import IndexWriter
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

VOCABULARY = Vocabulary(["merge", "sort"])


def build(folder: Path, documents: int) -> None:
    """Build an index in which every part contains its number of documents."""
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
    """Begin a build and wait."""
    with IndexWriter(folder, overwrite=True) as writer:
        writer.add(["a"], TermWeights.from_rows([{0: 1.0}], VOCABULARY.id))
        print("begun", flush=True)
        sys.stdin.read()


def loop(folder: Path) -> None:
    """Build repeatedly until standard input ends."""
    os.fsync = lambda descriptor: None  # durability does not matter here, speed does
    ended = threading.Thread(target=sys.stdin.read, daemon=True)
    ended.start()
    published = 0
    for documents in cycle([20, 30]):
        build(folder, documents)
        published += 1
        if published == 1:
            print("begun", flush=True)
        if not ended.is_alive():
            break
    print(published)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes ignore it by default
    if sys.argv[2] == "hold":
        hold(Path(sys.argv[1]))
    else:
        loop(Path(sys.argv[1]))
