"""Kill a process that changes an index or a mixture at random moments, and check the folder after each kill.

Usage: ``random_kills.py FOLDER KILLS SEED index|mixture``. The process adds, replaces and deletes documents with
attributes, of which one is new; commits; and merges. The index has an analyzer for each language. After a kill, the
index or mixture must have the documents of the last commit that returned, or those of the next one; a search with a
relevance file finds them; and the next process continues from there.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mixtures import build_mixture, left_over
from steered import check_search, document

import termwise
from termwise import Document
from termwise.search import verify

WORDS = ["green", "black", "white", "tea", "pot", "cup", "leaf", "spoon", "water", "kettle", "sugar", "milk"]
LONGEST = 0.3
"""Longest life of a process in seconds; a commit takes some hundredths."""

Texts = dict[str, str]


def changes(before: Texts, seed: int) -> Iterator[tuple[list[Document], list[str], bool, Texts]]:
    """Yield, for each commit, documents to add, identifiers to delete, whether to merge, and the texts afterwards."""
    choose = random.Random(seed)
    texts = dict(before)
    while True:
        added = [
            document(f"d{choose.randrange(60)}", " ".join(choose.choices(WORDS, k=choose.randrange(1, 9))))
            for _ in range(choose.randrange(6))
        ]
        added = list({each.doc_id: each for each in added}.values())
        deleted = choose.sample(sorted(texts), k=min(len(texts), choose.randrange(3)))
        for each in added:
            if texts.get(each.doc_id) != each.text:
                texts.pop(each.doc_id, None)
                texts[each.doc_id] = each.text
        for doc_id in deleted:
            texts.pop(doc_id, None)
        yield added, deleted, choose.random() < 0.1, dict(texts)


def change(folder: Path, before: Texts, seed: int, pipe: int) -> None:
    """Change the index without end, and write a byte to the pipe after each commit."""
    with termwise.open_writer(folder) as writer:
        for added, deleted, merged, _ in changes(before, seed):
            writer.add(added)
            writer.delete(deleted)
            writer.merge() if merged else writer.commit()
            os.write(pipe, b".")


def texts_of(folder: Path) -> Texts:
    """Read all documents."""
    assert verify(folder) == []
    index = termwise.open(folder).index
    everything = np.arange(len(index))
    return dict(zip(index.doc_ids(everything), (text or "" for text in index.texts(everything)), strict=True))


def main(folder: Path, kills: int, seed: int, kind: str) -> None:
    """Kill the process again and again."""
    os.fsync = lambda descriptor: (
        None
    )  # for power failures; without it, a process makes more commits in its life
    texts: Texts = {f"d{number}": WORDS[number % len(WORDS)] for number in range(30)}
    documents = [document(*pair) for pair in texts.items()]
    if kind == "mixture":
        build_mixture(folder, documents)
    else:
        termwise.build_index(documents, folder, analyzer="by-attribute:lang", store_text=True)
    with termwise.open_writer(folder) as writer:  # loads the kernels for all processes
        added, deleted, _, texts = next(changes(texts, seed))
        writer.add(added)
        writer.delete(deleted)
        writer.merge()
    choose = random.Random(seed)
    commits = unacknowledged = unused = 0
    for kill in range(kills):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                change(folder, texts, kill, writing)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(1)
        os.close(writing)
        time.sleep(choose.uniform(0, LONGEST))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"kill {kill}: the process ended with {status}"
        acknowledged = 0
        while read := os.read(reading, 4096):
            acknowledged += len(read)
        os.close(reading)
        states = [texts]
        following = changes(texts, kill)
        states += [next(following)[3] for _ in range(acknowledged + 1)]
        found = texts_of(folder)
        # The order counts, and a commit may change nothing, so equal states are possible.
        matching = [list(found.items()) == list(state.items()) for state in states[acknowledged:]]
        assert any(matching), f"kill {kill}: neither commit {acknowledged} nor the next"
        commits += acknowledged
        unacknowledged += not matching[0]
        unused += bool(left_over(folder))
        texts = found
        check_search(folder, texts)
    with termwise.open_writer(folder) as writer:
        writer.add([Document("last", "tea")])
    assert not left_over(folder), left_over(folder)
    report = {"kills": kills, "commits": commits, "unacknowledged": unacknowledged, "left_over": unused}
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
