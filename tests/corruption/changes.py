"""Change an index with a fault at each step in turn, and check the folder after it.

Usage: ``changes.py FOLDER kill | refuse``; the modes are those of ``faults.py``. A change adds, replaces and deletes
documents in two commits, and merges the segments. Afterwards the index must have the documents of a commit, at least
those of the last one that returned, and the next change must succeed and remove left-over files.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from faults import Steps, die, listed, refuse

from termwise.errors import StorageError, TermwiseError
from termwise.index import Index, IndexWriter, verify
from termwise.index.updater import IndexUpdater
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

VOCABULARY = Vocabulary([f"t{i}" for i in range(20)], background=True)
Documents = dict[str, str]

BUILT: Documents = {f"d{i}": f"text {i}" for i in range(30)}
FIRST: Documents = {
    **{name: text for name, text in BUILT.items() if name not in ("d1", "d2", "d4")},
    "n0": "new",
    "d1": "replaced",
    "n1": "new, too",
}
SECOND: Documents = {name: text for name, text in FIRST.items() if name not in ("d9", "n0")}
COMMITS = (BUILT, FIRST, SECOND)


def rows(count: int, background: int, vocabulary: str) -> TermWeights:
    """Return rows of some terms and a document bias."""
    weights = [{i % 20: 1.5 + i % 7, background - 1: 2.0, background: float(i % 3)} for i in range(count)]
    return TermWeights.from_rows(weights, vocabulary)


def build(folder: Path) -> None:
    """Build the index, in place of an existing one."""
    with IndexWriter(folder, overwrite=True, store_text=True) as writer:
        writer.add(list(BUILT), rows(len(BUILT), 20, VOCABULARY.id), list(BUILT.values()))
        writer.commit(VOCABULARY, encoder={})


def change(folder: Path, committed: Callable[[int], None]) -> None:
    """Change the index; `committed` is called after each commit with its number."""
    with IndexUpdater(folder) as updater:
        updater.add_terms(["added"])
        updater.add(
            ["n0", "d1", "n1"], rows(3, updater.terms, updater.vocabulary), ["new", "replaced", "new, too"]
        )
        updater.delete(["d2", "d4"])
        updater.commit()
        committed(1)
        updater.delete(["d9", "n0"])
        updater.commit()
        committed(2)
        updater.merge()


def acknowledge(pipe: int, commit: int) -> None:
    """Tell the parent process that a commit has returned."""
    os.write(pipe, bytes([commit]))


def commit_of(folder: Path) -> int:
    """Read the whole index, and return the number of the commit that it has the documents of."""
    assert verify(folder) == []
    index = Index.open(folder)
    everything = np.arange(len(index))
    documents = dict(zip(index.doc_ids(everything), index.texts(everything), strict=True))
    assert len(index.weights(everything)) == len(documents)
    (number,) = [i for i, commit in enumerate(COMMITS) if list(commit.items()) == list(documents.items())]
    return number


def begin_again(folder: Path) -> None:
    """Make another change, which must remove left-over files, and build the index again."""
    with IndexUpdater(folder) as updater:
        updater.delete(["d20"])
        updater.commit()
    files = {file.name for file in Index.open(folder).manifest.files()}
    assert listed(folder) == files | {"manifest.json"}, listed(folder) - files
    build(folder)


def kill(folder: Path, steps: Steps) -> dict[str, Any]:
    """Kill the change before each of its steps."""
    seen: dict[str, int] = {}
    number = 0
    while True:
        number += 1
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with steps.counting(folder, number, die):
                change(folder, partial(acknowledge, writing))
            os._exit(0)
        os.close(writing)
        _, status = os.waitpid(child, 0)
        acknowledged = max(os.read(reading, 10), default=0)
        os.close(reading)
        if not os.WIFSIGNALED(status):
            assert status == 0
            return {"steps": number - 1, "left": seen}
        left = commit_of(folder)
        assert left in (acknowledged, acknowledged + 1), (left, acknowledged)
        seen[str(left)] = seen.get(str(left), 0) + 1
        begin_again(folder)


def refuse_steps(folder: Path, steps: Steps) -> dict[str, Any]:
    """Refuse each step of the change."""
    seen: dict[str, int] = {}
    number = refused = 0
    while True:
        number += 1
        acknowledged = [0]
        error: TermwiseError | None = None
        with steps.counting(folder, number, refuse):
            try:
                change(folder, acknowledged.append)
            except TermwiseError as caught:
                error = caught
        if steps.taken < number:
            return {"steps": number - 1, "refused": refused, "left": seen}
        what = f"step {number}, {steps.event}: {error}"
        left = commit_of(folder)
        assert left in (acknowledged[-1], acknowledged[-1] + 1), what
        if error is None:
            assert left == 2, what  # only the clean-up failed
        else:
            refused += 1
            assert isinstance(error, StorageError) or steps.event in ("open", "mmap.__new__"), what
        seen[str(left)] = seen.get(str(left), 0) + 1
        begin_again(folder)


def main(folder: Path, mode: str) -> None:
    """Run one mode."""
    build(folder)
    print(json.dumps({"kill": kill, "refuse": refuse_steps}[mode](folder, Steps())))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
