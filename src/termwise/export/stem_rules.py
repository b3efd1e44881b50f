"""Rules of English stemmers as data, which the programs of the query kit apply.

References
----------
.. [1] https://snowballstem.org/algorithms/english/stemmer.html, in the version of Snowball 3.1.
"""

from __future__ import annotations

from typing import Any

from termwise.text.porter import STEP_2, STEP_3, STEP_4

PORTER: dict[str, Any] = {"step 2": STEP_2, "step 3": STEP_3, "step 4": STEP_4}
"""Suffixes of Porter's stemmer with their replacements, see `termwise.text.porter`."""

_SUFFIXES_OF_2 = {
    "tion": ["tional"],
    "ence": ["enci"],
    "ance": ["anci"],
    "able": ["abli"],
    "ent": ["entli"],
    "ize": ["izer", "ization"],
    "ate": ["ational", "ation", "ator"],
    "al": ["alism", "aliti", "alli"],
    "ful": ["fulness", "fulli"],
    "ous": ["ousli", "ousness"],
    "ive": ["iveness", "iviti"],
    "ble": ["biliti", "bli"],
    "og": ["ogist"],
    "less": ["lessli"],
}
_SUFFIXES_OF_3 = {
    "tion": ["tional"],
    "ate": ["ational"],
    "al": ["alize"],
    "ic": ["icate", "iciti", "ical"],
    "": ["ful", "ness"],
}


def _longest_first(suffixes: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return pairs of a suffix and its replacement, so that the first one that matches is the longest."""
    pairs = [(suffix, new) for new, each in suffixes.items() for suffix in each]
    return sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0]))


ENGLISH: dict[str, Any] = {
    "words": {
        "skis": "ski",
        "skies": "sky",
        "idly": "idl",
        "gently": "gentl",
        "ugly": "ugli",
        "early": "earli",
        "only": "onli",
        "singly": "singl",
        **{word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")},
    },
    "beginnings": ["gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter"],
    "kept before ing": ["inn", "out", "cann", "herr", "earr", "even"],
    "kept before eed": ["succ", "proc", "exc"],
    "step 2": _longest_first(_SUFFIXES_OF_2),
    "step 3": _longest_first(_SUFFIXES_OF_3),
    "step 4": sorted(
        [
            *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
            *("ism", "ate", "iti", "ous", "ive", "ize", "ion"),
        ],
        key=lambda suffix: (-len(suffix), suffix),
    ),
}
"""Rules of the English stemmer of Snowball 3.1 [1]_: words with stems of their own, beginnings after which the first
region starts, and suffixes with their replacements."""
