"""Change an index or a mixture with a fault at each step in turn, and check the folder after it.

Usage: ``changes.py FOLDER kill|refuse index|mixture [STRIDE]``; the modes are those of ``faults.py``, and only every
STRIDE-th step has a fault. A change adds, replaces and deletes documents in two commits, and merges the segments; its
documents have an attribute that the index does not have before. That of a mixture also renews its statistics.
Afterwards the index or mixture must have the documents of a commit, at least those of the last one that returned, with
their attributes, and the next change must succeed and remove left-over files.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from faults import Steps, die, refuse
from mixtures import PARTS, build_mixture, left_over

import termwise
from termwise import Document
from termwise.errors import StorageError, TermwiseError
from termwise.index import Index, IndexWriter
from termwise.index.updater import IndexUpdater
from termwise.indexing import renew_index
from termwise.search import Relevance, Search, Searcher, verify
from termwise.search.mixture_folder import MixtureManifest
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
CHANGED = ("n0", "d1", "n1")


def attributes_of(name: str, text: str) -> dict[str, int]:
    """Return the attributes of a document: only the changed ones have any."""
    return {"sold": len(text)} if name in CHANGED and not text.startswith("text") else {}


class Subject(ABC):
    """What is changed."""

    @abstractmethod
    def build(self, folder: Path) -> None:
        """Build it, in place of an existing one."""

    @abstractmethod
    def change(self, folder: Path, committed: Callable[[int], None]) -> None:
        """Change it; `committed` is called after each commit with its number."""

    @abstractmethod
    def commit_of(self, folder: Path) -> int:
        """Read all of it, and return the number of the commit that it has the documents of."""

    @abstractmethod
    def begin_again(self, folder: Path) -> None:
        """Make another change, which must remove left-over files, and build it again."""


class ChangedIndex(Subject):
    """An index with texts."""

    def build(self, folder: Path) -> None:
        with IndexWriter(folder, overwrite=True, store_text=True) as writer:
            writer.add(list(BUILT), rows(len(BUILT), 20, VOCABULARY.id), list(BUILT.values()))
            writer.commit(VOCABULARY, encoder={})

    def change(self, folder: Path, committed: Callable[[int], None]) -> None:
        with IndexUpdater(folder) as updater:
            updater.add_terms(["added"])
            texts = [FIRST[name] for name in CHANGED]
            updater.add_documents(CHANGED, texts, list(map(attributes_of, CHANGED, texts)))
            updater.add_weights(rows(3, updater.terms, updater.vocabulary))
            updater.delete(["d2", "d4"])
            updater.commit()
            committed(1)
            updater.delete(["d9", "n0"])
            updater.commit()
            committed(2)
            updater.merge()

    def commit_of(self, folder: Path) -> int:
        assert verify(folder) == []
        index = Index.open(folder)
        assert len(index.weights(np.arange(len(index)))) == len(index)
        commit = commit_with(documents_of(index))
        assert index.attributes(np.arange(len(index))) == attributes_in(commit)
        assert bool(index.schema) == (commit > 0)
        return commit

    def begin_again(self, folder: Path) -> None:
        with IndexUpdater(folder) as updater:
            updater.delete(["d20"])
            updater.commit()
        assert not left_over(folder), left_over(folder)
        self.build(folder)


class ChangedMixture(Subject):
    """A mixture of an index with texts and one without."""

    def build(self, folder: Path) -> None:
        whole = folder.with_name("whole")
        if not whole.exists():
            build_mixture(whole, [Document(*pair) for pair in BUILT.items()])
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)

    def change(self, folder: Path, committed: Callable[[int], None]) -> None:
        with termwise.open_writer(folder) as writer:
            writer.add([Document(name, FIRST[name], attributes_of(name, FIRST[name])) for name in CHANGED])
            writer.delete(["d2", "d4"])
            writer.commit()
            committed(1)
            writer.delete(["d9", "n0"])
            writer.commit()
            committed(2)
            writer.merge()
        renew_index(folder)

    def commit_of(self, folder: Path) -> int:
        assert verify(folder) == []
        mixture = termwise.open(folder)
        commit = commit_with(documents_of(mixture.index))
        assert mixture.attributes(list(COMMITS[commit])) == attributes_in(commit)
        check_steered(mixture, COMMITS[commit])
        for name in PARTS:  # by itself, a part has this commit or the one before
            index = Index.open(folder / name)
            assert index.doc_ids(np.arange(len(index))) in [list(each) for each in COMMITS[: commit + 1]]
        return commit

    def begin_again(self, folder: Path) -> None:
        with termwise.open_writer(folder) as writer:
            writer.delete(["d20"])
        assert not left_over(folder), left_over(folder)
        for part in MixtureManifest.read(folder).parts:
            assert Index.open(folder / part.folder).manifest.sha256 == part.sha256
        self.build(folder)


def check_steered(mixture: Searcher, documents: Documents) -> None:
    """Search with boosts of the new attribute, synonyms and rules, and compare the results with the documents."""
    boosts = [{"attribute": "sold", "weight": 0.5, "saturation": 5}] if mixture.schema else []
    rules = [{"query": "text", "pin": ["d1", "n0"], "ban": ["d3"]}]
    relevance = Relevance.of({"boosts": boosts, "synonyms": ["text, new"], "rules": rules})
    ranking = mixture.search(Search("text", k=70, relevance=relevance)).ranking
    pinned = [doc_id for doc_id in ("d1", "n0") if doc_id in documents]
    assert list(ranking.doc_ids[: len(pinned)]) == pinned
    found = {doc_id for doc_id, text in documents.items() if text.startswith(("text", "new"))}
    assert set(ranking.doc_ids) == (found | set(pinned)) - {"d3"}


def rows(count: int, background: int, vocabulary: str) -> TermWeights:
    """Return rows of some terms and a document bias."""
    weights = [{i % 20: 1.5 + i % 7, background - 1: 2.0, background: float(i % 3)} for i in range(count)]
    return TermWeights.from_rows(weights, vocabulary)


def documents_of(index: Index) -> Documents:
    """Return identifiers and texts of an index."""
    everything = np.arange(len(index))
    return dict(zip(index.doc_ids(everything), index.texts(everything), strict=True))


def commit_with(documents: Documents) -> int:
    """Return the number of the commit with these documents in this order."""
    (number,) = [i for i, commit in enumerate(COMMITS) if list(commit.items()) == list(documents.items())]
    return number


def attributes_in(commit: int) -> list[dict[str, int]]:
    """Return the attributes of the documents of a commit."""
    return [attributes_of(*each) for each in COMMITS[commit].items()]


def acknowledge(pipe: int, commit: int) -> None:
    """Tell the parent process that a commit has returned."""
    os.write(pipe, bytes([commit]))


def kill(folder: Path, steps: Steps, subject: Subject, stride: int) -> dict[str, Any]:
    """Kill the change before each of its steps."""
    seen: dict[str, int] = {}
    number = 0
    while True:
        number += stride
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with steps.counting(folder, number, die):
                subject.change(folder, partial(acknowledge, writing))
            os._exit(0)
        os.close(writing)
        _, status = os.waitpid(child, 0)
        acknowledged = max(os.read(reading, 10), default=0)
        os.close(reading)
        if not os.WIFSIGNALED(status):
            assert status == 0
            return {"steps": number - stride, "left": seen}
        left = subject.commit_of(folder)
        assert left in (acknowledged, acknowledged + 1), (left, acknowledged)
        seen[str(left)] = seen.get(str(left), 0) + 1
        subject.begin_again(folder)


def refuse_steps(folder: Path, steps: Steps, subject: Subject, stride: int) -> dict[str, Any]:
    """Refuse each step of the change."""
    seen: dict[str, int] = {}
    number = refused = 0
    while True:
        number += stride
        acknowledged = [0]
        error: TermwiseError | None = None
        with steps.counting(folder, number, refuse):
            try:
                subject.change(folder, acknowledged.append)
            except TermwiseError as caught:
                error = caught
        if steps.taken < number:
            return {"steps": number - stride, "refused": refused, "left": seen}
        what = f"step {number}, {steps.event}: {error}"
        left = subject.commit_of(folder)
        assert left in (acknowledged[-1], acknowledged[-1] + 1), what
        if error is None:
            assert left == 2, what  # only the clean-up failed
        else:
            refused += 1
            assert isinstance(error, StorageError) or steps.event in ("open", "mmap.__new__"), what
        seen[str(left)] = seen.get(str(left), 0) + 1
        subject.begin_again(folder)


def main(folder: Path, mode: str, kind: str, stride: int = 1) -> None:
    """Run one mode."""
    subject: Subject = {"index": ChangedIndex, "mixture": ChangedMixture}[kind]()
    subject.build(folder)
    print(json.dumps({"kill": kill, "refuse": refuse_steps}[mode](folder, Steps(), subject, stride)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
