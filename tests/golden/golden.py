"""Eight small golden indexes: their content, and how they are written; one of them as earlier versions wrote it.

``python tests/golden/golden.py`` writes the kept files of the others anew. That is right only together with a new
version of the format: an index of an old version must stay readable, so its files are kept beside the new ones.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from termwise.index import IndexWriter
from termwise.index import updater as updaters
from termwise.index import writer as writers
from termwise.index.manifest_records import IdfRecord
from termwise.index.updater import IndexUpdater
from termwise.text.vocabulary import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Golden:
    """Index of three documents, in which every number can be computed by hand."""

    name: str
    tokens: list[str]
    doc_ids: list[str]
    rows: list[dict[int, float]]
    background: bool = False
    texts: list[str] | None = None
    vectors: DocumentVectors | None = None
    quantiser: str = "uint8"
    settings: dict[str, Any] = field(default_factory=dict)
    change: Callable[[IndexUpdater], None] | None = None
    changed_ids: list[str] | None = None
    counts: list[int] | None = None

    @property
    def folder(self) -> Path:
        """Folder of the files."""
        return HERE / self.name

    def write(self, folder: Path) -> None:
        """Write the index."""
        vocabulary = Vocabulary(self.tokens, background=self.background)
        options: dict[str, Any] = {"quantiser": self.quantiser, "store_text": self.texts is not None}
        with mock.patch.object(writers, "__version__", "golden"), IndexWriter(folder, **options) as writer:
            writer.add_documents(self.doc_ids, self.texts)
            if self.vectors is None:
                counts = None if self.counts is None else np.array(self.counts)
                writer.add_weights(TermWeights.from_rows(self.rows, vocabulary.id), counts)
            else:
                writer.add_vectors(self.vectors)
            writer.commit(vocabulary, **{"encoder": {}, **self.settings})
        if self.change is not None:
            idf = IdfRecord(power=1.0, documents=len(self.doc_ids))
            with (
                mock.patch.object(updaters, "__version__", "golden"),
                IndexUpdater(folder, idf=idf) as updater,
            ):
                self.change(updater)


IMPACTS = Golden(
    name="impacts",
    tokens=["list", "merge", "sort", "größe"],
    doc_ids=["a", "b c", "ü"],
    rows=[
        {0: 127.5, 1: 1.25, 4: 1.0},  # 255 units of 0.5; 2.5 units, a tie that goes to 2; a bias of 512/512
        {0: 0.125, 2: 64.0, 4: 0.25},  # a quarter of a unit, raised to 1; 128 units; a bias of 128/512
        {4: 0.0},  # a document without terms
    ],
    background=True,
    settings={
        "encoder": {"model": {"name": "by hand", "parameters": {"b": 0.4, "k1": 0.9}}},
        "floors": [-1.0, -0.5, 0.0, -2.0, -0.25],
        "query_weights": [0.5, 1.5, 2.0, 1.0],
        "attachments": {"note.txt": b"three documents\n"},
    },
)
FLOATS = Golden(
    name="floats",
    tokens=["list", "merge", "sort"],
    doc_ids=["a", "b", "c"],
    rows=[{0: 127.5, 1: 1.25}, {0: 0.125, 2: 64.0}, {}],
    quantiser="float32",
)
TEXTS = Golden(
    name="texts",
    tokens=["list", "merge", "sort"],
    doc_ids=["a", "b", "c"],
    rows=[{0: 2.0, 1: 1.0}, {0: 1.0, 2: 3.0}, {}],
    texts=["merge list list", "sort list sort sort", ""],
)
VECTORS = Golden(
    name="vectors",
    tokens=["list", "merge", "of", "sort"],
    doc_ids=["a", "b", "c"],
    rows=[{}, {}, {}],
    # two windows, one window, and a document without text
    vectors=DocumentVectors([0, 2, 3, 3], [[127, 0, -3], [-1, 2, 0], [0, -127, 64]], [0.5, 0.25, 1.0]),
    settings={
        # "of" has no vector; those of "sort" are in units of 2**3 * 0.125
        "term_vectors": TermVectors(
            [[8, -4, 0], [0, 16, -127], [0, 0, 0], [1, 2, 3]],
            [0, 1, 0, 3],
            0.125,
            Vocabulary(["list", "merge", "of", "sort"]).id,
        ),
    },
)


def _change(updater: IndexUpdater) -> None:
    """Add a term and two documents, one of them in place of an earlier one."""
    updater.add_terms(["neu"], np.array([-3.0]))
    rows: list[dict[int, float]] = [
        {1: 2.0, 4: 160.0, 5: 2.0},
        {4: 1.0},
    ]  # units of 1.0, as 160 is 320 units of 0.5
    updater.add(["x", "a"], TermWeights.from_rows(rows, updater.vocabulary))
    updater.commit()


CHANGES = Golden(
    name="changes",
    tokens=["list", "merge", "sort", "größe"],
    doc_ids=["a", "b c", "ü"],
    rows=[{0: 127.5, 1: 1.25, 4: 1.0}, {0: 0.125, 2: 64.0, 4: 0.25}, {4: 0.0}],
    background=True,
    settings={
        "floors": [-1.0, -0.5, 0.0, -2.0, -0.25],
        "attachments": {"document-frequencies": np.array([2, 1, 1, 0], dtype="<u4").tobytes()},
    },
    change=_change,
    changed_ids=["b c", "ü", "x", "a"],
)
COUNTS = Golden(
    name="counts",
    tokens=["list", "merge", "sort"],
    doc_ids=["a", "b", "c"],
    rows=[{0: 2.0, 1: 1.0, 2: 3.0, 3: 1.0}, {0: 1.0, 2: 3.0, 3: 0.5}, {3: 0.0}],
    background=True,
    counts=[3, 1, 4, 0, 2, 700, 0, 0],  # 0 for each bias
)
EMPTY = Golden(
    name="empty",
    tokens=[],
    doc_ids=[""],
    rows=[{}],
    counts=[],
    settings={"empty": True},
    changed_ids=[],
)
EARLIER = replace(VECTORS, name="vectors-without-sums")
"""An index of vectors without their sums, as it was written before feedback."""
WRITTEN = (IMPACTS, FLOATS, TEXTS, VECTORS, CHANGES, COUNTS, EMPTY)
ALL = (*WRITTEN, EARLIER)


if __name__ == "__main__":
    for golden in WRITTEN:
        shutil.rmtree(golden.folder, ignore_errors=True)
        golden.write(golden.folder)
