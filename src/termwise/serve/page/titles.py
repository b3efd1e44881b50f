"""Titles of documents: the attribute or field `title`, else the first words of the text, else the identifier."""

from __future__ import annotations

import re
from collections.abc import Sequence

from termwise.search.by_example import AnySearcher
from termwise.serve.documents import texts_by_field

TITLE = "title"

LONGEST = 90
"""Characters of a title that is the beginning of a text."""

_SENTENCE = re.compile(r".{12,}?[.!?](?=\s|$)")


def titles_of(searcher: AnySearcher, doc_ids: Sequence[str]) -> list[str]:
    """Return the titles of documents; the identifier for documents that the index lacks or that have no text."""
    known = [doc_id for doc_id in doc_ids if searcher.index.find(doc_id) is not None]
    attributes = searcher.attributes(known) if TITLE in searcher.schema else [{} for _ in known]
    titles = {}
    for doc_id, values, texts in zip(known, attributes, texts_by_field(searcher, known), strict=True):
        named = values.get(TITLE)
        named = named if isinstance(named, str) else texts.get(TITLE, "")
        titles[doc_id] = " ".join(named.split()) or first_words(" ".join(texts.values())) or doc_id
    return [titles.get(doc_id, doc_id) for doc_id in doc_ids]


def first_words(text: str) -> str:
    r"""Return the first sentence of the first line of a text if it is short, else the line or its first words.

    Examples
    --------
    >>> first_words("A pot\nIt is made of clay."), first_words("A pot for tea. Made of clay.")
    ('A pot', 'A pot for tea.')
    >>> first_words("one two " * 20)[-8:]
    'one two…'
    """
    line = " ".join(text.strip()[: 4 * LONGEST].partition("\n")[0].split())
    sentence = _SENTENCE.match(line)
    if sentence and len(sentence[0]) <= LONGEST:
        return sentence[0]
    if len(line) <= LONGEST:
        return line
    return f"{line[:LONGEST].rpartition(' ')[0] or line[:LONGEST]}…"
