"""Irregular English plurals and their singulars, which have different stems."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ENGLISH_PLURALS: Mapping[str, str] = MappingProxyType(
    {
        "calves": "calf",
        "elves": "elf",
        "halves": "half",
        "hooves": "hoof",
        "knives": "knife",
        "leaves": "leaf",
        "loaves": "loaf",
        "scarves": "scarf",
        "shelves": "shelf",
        "thieves": "thief",
        "wives": "wife",
        "wolves": "wolf",
        "bookshelves": "bookshelf",
        "housewives": "housewife",
        "midwives": "midwife",
        "penknives": "penknife",
        "children": "child",
        "feet": "foot",
        "geese": "goose",
        "grandchildren": "grandchild",
        "lice": "louse",
        "men": "man",
        "mice": "mouse",
        "oxen": "ox",
        "stepchildren": "stepchild",
        "teeth": "tooth",
        "women": "woman",
    }
)
"""Irregular English plurals and their singulars, without words such as *lives* that have other meanings."""


def english_singular(word: str) -> str:
    """Return the singular of an irregular English plural such as *knives*, which has another stem.

    Examples
    --------
    >>> [english_singular(word) for word in ("knives", "women's", "lives", "specimen")]
    ['knife', "woman's", 'lives', 'specimen']
    """
    plural, apostrophe, ending = word.partition("'")
    return ENGLISH_PLURALS.get(plural, plural) + apostrophe + ending
