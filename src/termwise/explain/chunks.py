"""Explanation of the best chunk of a document, with positions in the text of the whole document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from termwise.explain.explanation import Explanation, Window
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.field_texts import joined, unpack
from termwise.records import join_fields

if TYPE_CHECKING:
    from termwise.text.chunks import Span


@dataclass(frozen=True)
class DocumentText:
    """Text of a document that can be cut into chunks.

    Attributes
    ----------
    text : str
        Text, with its fields joined.
    begin : int
        Position from which it is cut; the characters before, such as a title, are part of each chunk.
    """

    text: str
    begin: int = 0

    @classmethod
    def read(cls, index: Index, documents: npt.NDArray[np.int64]) -> list[DocumentText | None]:
        """Return the stored texts of documents; None without stored texts."""
        return [
            None
            if stored is None
            else cls._of_fields(unpack(stored))
            if index.manifest.field_weights
            else cls(joined(stored))
            for stored in index.store.document_texts(documents)
        ]

    @classmethod
    def _of_fields(cls, fields: list[str]) -> DocumentText:
        text = join_fields(fields)
        return cls(text, len(text) - len(join_fields(fields[-1:])))

    def chunks(self, words: int) -> list[Span]:
        """Return the ranges of the chunks, without what is part of each chunk; see `chunk_spans`."""
        from termwise.text.chunks import chunk_spans

        spans = chunk_spans(self.text[self.begin :], words)
        return [(self.begin + start, self.begin + end) for start, end in spans]


def chunk_window(index: Index, document: int, chunk: int, text: DocumentText | None) -> Window | None:
    """Return the place of a chunk in the text of its document; None for a document that is not cut.

    Its range of characters is None without a text, and if the text is another one, with other chunks.
    """
    if not index.manifest.chunk:
        return None
    count = len(index.chunks.of(document))
    spans = [] if text is None else text.chunks(index.manifest.chunk)
    start, end = spans[chunk - document] if len(spans) == count else (None, None)
    return Window(chunk - document + 1, count, start, end)


def text_of_chunk(text: DocumentText | None, window: Window | None) -> str | None:
    """Return the text of a chunk, or of a document that is not cut."""
    if text is None or window is None:
        return None if text is None else text.text
    return None if window.start is None else text.text[: text.begin] + text.text[window.start : window.end]


def in_document(explanation: Explanation, text: DocumentText | None, window: Window) -> Explanation:
    """Move the positions in the explanation of a chunk into the text of the document."""
    begin = 0 if text is None else text.begin
    distance = (window.start or begin) - begin

    def moved(spans: tuple[Span, ...]) -> tuple[Span, ...]:
        return tuple(
            (start + distance, end + distance) if start >= begin else (start, end) for start, end in spans
        )

    contributions = tuple(
        replace(
            each,
            spans=moved(each.spans),
            sources=tuple(replace(word, spans=moved(word.spans)) for word in each.sources),
        )
        for each in explanation.contributions
    )
    return replace(
        explanation,
        text=None if text is None else text.text,
        contributions=contributions,
        windows=(window,),
    )
