"""Documents cut into chunks before they are indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from termwise.index.document_store import chunk_id
from termwise.indexing.field_weights import field_texts
from termwise.records import Document
from termwise.text.chunks import chunk_spans
from termwise.validation import check_document


def chunks_of(
    document: Document, words: int, field_weights: Mapping[str, int] | None = None
) -> list[Document]:
    r"""Cut a document into chunks with its attributes.

    If the fields have weights, the last field is cut, and the others are part of each chunk.

    Raises
    ------
    ParameterError
        If it lacks the fields; see `termwise.indexing.field_weights`.

    Examples
    --------
    >>> [chunk[:2] for chunk in chunks_of(Document("d", "One two. Three."), 2)]
    [('d#1', 'One two. '), ('d#2', 'Three.')]
    >>> document = Document.of_fields("d", {"title": "Numbers", "text": "One two. Three."})
    >>> [chunk.text for chunk in chunks_of(document, 2, {"title": 3, "text": 1})]
    ['Numbers\nOne two. ', 'Numbers\nThree.']
    """
    doc_id, text, attributes, _, borders = document
    if not field_weights:
        return [
            Document(
                chunk_id(doc_id, number),
                text[start:end],
                attributes,
                borders=tuple(border - start for border in borders if start <= border < end),
            )
            for number, (start, end) in enumerate(chunk_spans(text, words), 1)
        ]
    *others, last = field_texts(document, field_weights)
    return [
        Document.of_fields(
            chunk_id(doc_id, number),
            dict(zip(field_weights, [*others, last[start:end]], strict=True)),
            attributes,
        )
        for number, (start, end) in enumerate(chunk_spans(last, words), 1)
    ]


def cut(
    documents: Iterable[Document], words: int, field_weights: Mapping[str, int] | None
) -> Iterator[Document]:
    """Yield the chunks of documents after checking them; see `chunks_of`."""
    for document in documents:
        check_document(document)
        yield from chunks_of(document, words, field_weights)
