"""Explanation of the best chunk of a document, with positions in the text of the whole document."""

from __future__ import annotations

from dataclasses import replace

from termwise.explain.explanation import Explanation, Window
from termwise.index import Index
from termwise.text.chunks import Span, chunk_spans


def chunk_window(index: Index, document: int, chunk: int, text: str | None) -> Window | None:
    """Return the place of a chunk in the text of its document; None for a document that is not cut.

    Its range of characters is None without a text, and if the text is another one, with other chunks.
    """
    if not index.manifest.chunk:
        return None
    count = len(index.chunks(document))
    spans = [] if text is None else chunk_spans(text, index.manifest.chunk)
    start, end = spans[chunk - document] if len(spans) == count else (None, None)
    return Window(chunk - document + 1, count, start, end)


def in_document(explanation: Explanation, text: str | None, window: Window) -> Explanation:
    """Move the positions in the explanation of a chunk into the text of the document."""
    start = window.start or 0
    contributions = tuple(
        replace(
            each,
            spans=_moved(each.spans, start),
            sources=tuple(replace(word, spans=_moved(word.spans, start)) for word in each.sources),
        )
        for each in explanation.contributions
    )
    return replace(explanation, text=text, contributions=contributions, windows=(window,))


def _moved(spans: tuple[Span, ...], start: int) -> tuple[Span, ...]:
    return tuple((first + start, last + start) for first, last in spans)
