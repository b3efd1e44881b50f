"""Texts of the fields of a document, as an index stores them.

An index stores the texts of the fields of a document separated by U+001F, the unit separator. If fields have weights,
every field has a place, also an empty one, in the order of the weights; else there are only those with text. Readers
see the texts joined as `termwise.records.join_fields` joins them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from termwise.records import join_fields

SEPARATOR = "\x1f"


def pack(texts: Iterable[str]) -> str:
    r"""Return the texts of the fields of a document as one string; a separator in a text becomes a space.

    Examples
    --------
    >>> pack(["Bees", "", "Workers collect nectar."])
    'Bees\x1f\x1fWorkers collect nectar.'
    """
    return SEPARATOR.join(text.replace(SEPARATOR, " ") for text in texts)


def joined_chunks(chunks: Sequence[str]) -> str:
    r"""Return the texts of the fields of a document for those of its chunks, which differ in the last field.

    Examples
    --------
    >>> joined_chunks(["Bees\x1fWorkers collect nectar. ", "Bees\x1fThe queen lays eggs."])
    'Bees\x1fWorkers collect nectar. The queen lays eggs.'
    """
    first, separator, _ = chunks[0].rpartition(SEPARATOR)
    return first + separator + "".join(chunk.rpartition(SEPARATOR)[2] for chunk in chunks)


def unpack(stored: str) -> list[str]:
    r"""Return the texts of the fields.

    Examples
    --------
    >>> unpack("Bees\x1f\x1fWorkers collect nectar.")
    ['Bees', '', 'Workers collect nectar.']
    """
    return stored.split(SEPARATOR)


def joined(stored: str) -> str:
    r"""Return the text of a document as readers see it.

    Examples
    --------
    >>> joined("Bees\x1f\x1fWorkers collect nectar.")
    'Bees\nWorkers collect nectar.'
    """
    return join_fields(unpack(stored)) if SEPARATOR in stored else stored
