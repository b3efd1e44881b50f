"""Long texts cut into chunks of whole sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from termwise.text.words_around import UNSPACED

Span = tuple[int, int]

_BORDER = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+\s+|[。！？]+\s*|\n\s*\n\s*")
"""End of a sentence, or of a paragraph, with the white space after it; linear in the length of a row of full stops."""

_CHARACTERS = f"{UNSPACED}\uac00-\ud7af"

_WORD = re.compile(f"[{_CHARACTERS}]|[^\\W{_CHARACTERS}]+")
"""Matches a word, or one character of Korean and of scripts without spaces between words."""


def chunk_spans(text: str, words: int) -> list[Span]:
    """Cut a text into chunks of at most `words` words.

    A chunk ends at the end of a sentence; a sentence that is longer than a chunk is cut between words. The words are
    not those of an analyzer, so that the indexes of a mixture have the same chunks. Returns ranges of characters, one
    after the other, from 0 to the length of the text; at least one.

    Examples
    --------
    >>> text = "One two. Three four five! Six."
    >>> [text[start:end] for start, end in chunk_spans(text, 4)]
    ['One two. ', 'Three four five! Six.']
    >>> [text[start:end] for start, end in chunk_spans(text, 2)]
    ['One two. ', 'Three four ', 'five! Six.']
    """
    starts, held = [0], 0
    for start, end in _sentences(text):
        found = [word.start() for word in _WORD.finditer(text, start, end)]
        if held and held + len(found) > words:
            starts.append(start)
            held = 0
        if len(found) > words:
            starts += found[words::words]
            held = (len(found) - 1) % words + 1
        else:
            held += len(found)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def _sentences(text: str) -> Iterator[Span]:
    start = 0
    for border in _BORDER.finditer(text):
        yield start, border.end()
        start = border.end()
    yield start, len(text)
