"""Spellings of a word: whether two words differ by an ending only, and how a mistyped word may be meant.

A stemmer can write a mistyped word as the right one. That of French writes double letters once, so *adiddas* has the
stem of *adidas*; others do so at the end of a word, where they also remove swapped and additional letters.
"""

from __future__ import annotations

import re

from termwise.text.folding import folded

SPELLED_OUT = re.compile("(?<=[aou])e")
"""The *e* after the vowel of a word in lower case that can stand for an umlaut, as in *Kaerner* for *Kärner*."""

_LETTERS = re.compile(r"[^\W_]+")


def is_form_of(typed: str, written: str) -> bool:
    """Return whether words are spelled alike up to case, accents, what joins them, and beginning or ending of each.

    The shorter word of each two is in the longer one, apart from its last letter.

    Examples
    --------
    >>> [is_form_of(typed, "Wasserkocher") for typed in ("wasserkochern", "Wasser-Kocher", "waserkocher")]
    [True, True, False]
    >>> is_form_of("batteries", "battery"), is_form_of("Kaerner", "Kärner"), is_form_of("setee", "settee")
    (True, True, False)
    """
    if typed == written:
        return True
    words, others = (_LETTERS.findall(SPELLED_OUT.sub("", folded(each).lower())) for each in (typed, written))
    if len(words) != len(others):
        words, others = ["".join(words)], ["".join(others)]
    pairs = (sorted(pair, key=len) for pair in zip(words, others, strict=True))
    return all(shorter[:-1] in longer for shorter, longer in pairs)


def respellings(word: str) -> set[str]:
    """Return the words that differ from a word by two swapped letters, an additional one, or a doubled one.

    The first and last letter are not removed, as they can belong to a beginning or an ending, except one of two equal
    ones. In place of another letter is the one before or after it, as *vossen* for *voseen*.

    Examples
    --------
    >>> sorted(respellings("tea"))
    ['eea', 'eta', 'ta', 'taa', 'tae', 'teaa', 'tee', 'teea', 'tta', 'ttea']
    """
    found = set()
    for place, letter in enumerate(word):
        before, after = word[:place], word[place + 1 :]
        found.add(before + 2 * letter + after)
        if (before and after) or letter == before[-1:]:
            found.add(before + after)
        found.add(before + after[:1] + letter + after[1:])
        found |= {before + other + after for other in (before[-1:], after[:1]) if other}
    return found - {word}
