"""Titles and attributes of documents as words.

A title is the attribute or field `title`, else the first words of the text, else the identifier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from termwise.records import join_fields
from termwise.search import Searcher
from termwise.serve.documents import texts_by_field

LONGEST = 90
"""Characters of a title that is the beginning of a text."""

_SENTENCE = re.compile(r".{12,}?[.!?](?=\s|$)")


def is_title(name: str) -> bool:
    """Return whether an attribute or a field holds the title, whatever the case of its name."""
    return name.casefold() == "title"


def titles_of(searcher: Searcher, doc_ids: Sequence[str]) -> list[str]:
    """Return the titles of documents; the identifier for documents that the index lacks or that have no text."""
    known = [doc_id for doc_id in doc_ids if searcher.index.find(doc_id) is not None]
    attributes = searcher.attributes(known) if any(map(is_title, searcher.schema)) else [{} for _ in known]
    titles = {}
    for doc_id, values, texts in zip(known, attributes, texts_by_field(searcher, known), strict=True):
        titles[doc_id] = _named(values) or _named(texts) or first_words(join_fields(texts.values())) or doc_id
    return [titles.get(doc_id, doc_id) for doc_id in doc_ids]


def _named(values: Mapping[str, Any]) -> str:
    """Return the title among attributes or fields; empty if there is none."""
    found = (value for name, value in values.items() if is_title(name) and isinstance(value, str))
    return " ".join(next(found, "").split())


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


def value_text(value: Any) -> str:
    """Return a JSON value of an attribute as words; a date at midnight as a day.

    Examples
    --------
    >>> value_text(True), value_text(["a", "b"]), value_text("2024-01-31T00:00:00Z"), value_text(7.5)
    ('yes', 'a, b', '2024-01-31', '7.5')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    text = str(value)
    return text.removesuffix("T00:00:00Z")


def attribute_rows(attributes: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return attributes as names and words, without the title."""
    return [(name, value_text(value)) for name, value in attributes.items() if not is_title(name)]
