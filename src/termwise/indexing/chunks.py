"""Documents cut into chunks before they are indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from termwise.index.reader import chunk_id
from termwise.records import Document
from termwise.text.chunks import chunk_spans


def chunks_of(document: Document, words: int) -> list[Document]:
    """Cut a document into chunks with its attributes.

    Examples
    --------
    >>> [chunk[:2] for chunk in chunks_of(Document("d", "One two. Three."), 2)]
    [('d#1', 'One two. '), ('d#2', 'Three.')]
    """
    return [
        Document(chunk_id(document.doc_id, number), document.text[start:end], document.attributes)
        for number, (start, end) in enumerate(chunk_spans(document.text, words), 1)
    ]


def cut(documents: Iterable[Document], words: int) -> Iterator[Document]:
    """Yield the chunks of documents."""
    for document in documents:
        yield from chunks_of(document, words)
