"""One process replaces all documents of an index or a mixture again and again, others search it meanwhile.

Usage: ``batches.py FOLDER SECONDS READERS KIND``, an index or a mixture, for so many seconds or more.

Each commit deletes the documents of one batch and adds those of the next one. So every search must find all documents
of one batch and none of another, and the batches that a reader sees never go back. Merges run between the commits.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mixtures import build_mixture

import termwise
from termwise import Document

SIZE = 7
"""Number of documents in each batch."""


def batch(number: int) -> list[Document]:
    """Return the documents of a batch."""
    return [Document(f"{number}-{place}", f"common word{place} batch{number}") for place in range(SIZE)]


def write(folder: Path, done: Any) -> None:
    """Replace the batch until all readers are done."""
    number = 0
    with termwise.open_writer(folder) as writer:
        while not done.is_set():
            writer.delete(document.doc_id for document in batch(number))
            number += 1
            writer.add(batch(number))
            writer.commit()
            if number % 10 == 0:
                writer.merge()


def read(folder: Path, end: float, results: Any) -> None:
    """Search until the time is over and enough was seen; report the number of searches, and of batches."""
    searcher, seen, searches = termwise.open(folder), [-1], 0
    while time.monotonic() < end or searches <= 10 or len(seen) < 5:
        searcher = searcher.refresh()
        ranking = searcher.rank("common", k=3 * SIZE)
        numbers = {int(doc_id.split("-")[0]) for doc_id in ranking.doc_ids}
        assert len(ranking) == SIZE, ranking.doc_ids
        (number,) = numbers
        assert number >= seen[-1], (number, seen[-1])
        explanation = searcher.explain("common", ranking.doc_ids[0])
        assert explanation.score == ranking.scores[0]
        if number > seen[-1]:
            seen.append(number)
        searches += 1
    results.put((searches, len(seen) - 1))


def main(folder: Path, seconds: float, readers: int, kind: str) -> None:
    """Run one writer and some readers."""
    if kind == "mixture":
        build_mixture(folder, batch(0))
    else:
        termwise.build_index(batch(0), folder)
    context = multiprocessing.get_context("fork")
    results, done = context.Queue(), context.Event()
    writer = context.Process(target=write, args=(folder, done))
    writer.start()
    end = time.monotonic() + seconds
    processes = [context.Process(target=read, args=(folder, end, results)) for _ in range(readers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(seconds + 600)
    done.set()
    writer.join()
    assert [process.exitcode for process in (writer, *processes)] == [0] * (1 + readers)
    found = [results.get() for _ in processes]
    generation = termwise.open(folder).index.manifest.generation
    print(
        json.dumps(
            {"generation": generation, "searches": [s for s, _ in found], "batches": [b for _, b in found]}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
