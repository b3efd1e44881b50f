"""What every way to fill an index is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from termwise.index import IndexWriter
from termwise.progress import Progress
from termwise.records import Document


@dataclass(frozen=True, kw_only=True)
class Filling:
    """An index that is to be filled with documents.

    Attributes
    ----------
    documents : iterator of Document
    length : int or None
        How many there are, if that is known.
    writer : IndexWriter
        Of the index.
    store_text : bool
        Whether to keep the texts.
    threads : int
    progress : callable
        Called with a stage, what is done, and the total.
    """

    documents: Iterator[Document]
    length: int | None
    writer: IndexWriter
    store_text: bool
    threads: int
    progress: Progress
