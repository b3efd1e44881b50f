"""docTquery: questions that a T5 generates for each document, appended before BM25 indexes it.

Nogueira & Lin, *From doc2query to docTTTTTquery*, 2019: samples from the 10 likeliest tokens at each step. The number
of questions determines the cost; the authors append 40.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import record

from termwise.collection import Collection
from termwise.records import Document
from termwise.yardsticks import CachedExpander

AT_ONCE = 16
"""Number of documents in one batch of generated questions, which are stored after each batch."""


def open_expander(folder: Path, kept: Path, *, questions: int, threads: int) -> CachedExpander:
    """Open the T5 of a folder; questions are stored in a file, from which an interrupted run resumes."""
    torch: Any = record.need("torch", "train", "docTquery")
    from termwise.yardsticks.compatibility import fastest_device
    from termwise.yardsticks.doc2query import Doc2Query

    torch.set_num_threads(threads)
    kept.parent.mkdir(parents=True, exist_ok=True)
    return CachedExpander(Doc2Query.open(folder, count=questions, device=fastest_device()), kept)


@dataclass(frozen=True)
class Expanded:
    """Collection whose documents end with their questions."""

    collection: Collection
    expander: CachedExpander

    @property
    def name(self) -> str:
        """Name of the collection."""
        return self.collection.name

    @property
    def length(self) -> int | None:
        """Number of documents; None if it is not known."""
        return self.collection.length

    def documents(self) -> Iterator[Document]:
        """Yield the documents."""
        documents, done = self.collection.documents(), 0
        while batch := list(islice(documents, AT_ONCE)):
            asked = self.expander.expand([document.text for document in batch])
            for document, questions in zip(batch, asked, strict=True):
                yield Document(document.doc_id, " ".join([document.text, *questions]))
            done += len(batch)
            if done % (AT_ONCE * 20) == 0:
                record.say(f"  questions for {done:,} of {self.length or '?'} documents")
