"""Porter's stemmer, as in his program and in Lucene's ``PorterStemFilter``.

The algorithm is that of the paper of 1980 [1]_ with the three differences of Porter's program [2]_: words of one or two
letters do not change, the ending ``bli`` becomes ``ble`` (in the paper: ``abli`` becomes ``able``), and the ending
``logi`` becomes ``log``.

References
----------
.. [1] M. F. Porter, *An algorithm for suffix stripping*, Program 14(3), 130-137, 1980.
.. [2] https://tartarus.org/martin/PorterStemmer/, "points of difference from the published algorithm".
"""

from __future__ import annotations

from collections.abc import Sequence

STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
)
STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
    *("ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


def porter_stem(word: str) -> str:
    """Return the stem of a lower-case English word.

    Vowels are a, e, i, o, u, and y after a consonant; all other characters are consonants.

    Examples
    --------
    >>> [porter_stem(word) for word in ("relational", "hopping", "ontology", "possibly", "is")]
    ['relat', 'hop', 'ontolog', 'possibl', 'is']
    """
    if len(word) <= 2:
        return word
    word = _without_plural(word)
    word = _without_past_or_progressive(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, STEP_2)
    word = _replaced(word, STEP_3)
    word = _without_last_suffix(word)
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _shape(stem: str) -> str:
    """Write ``v`` for each vowel and ``c`` for each consonant."""
    shape = ""
    for letter in stem:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(stem: str) -> int:
    """Count the consonants after a vowel: Porter's m."""
    return _shape(stem).count("vc")


def _ends_short(stem: str) -> bool:
    """Return whether a stem ends in consonant, vowel, consonant other than w, x, y: Porter's *o."""
    return stem[-1:] not in ("w", "x", "y") and _shape(stem).endswith("cvc")


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past_or_progressive(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and "v" in _shape(stem):
            if stem.endswith(("at", "bl", "iz")):
                return stem + "e"
            if stem[-2:-1] == stem[-1:] and _shape(stem).endswith("c"):
                return stem if stem[-1] in "lsz" else stem[:-1]
            return stem + "e" if _measure(stem) == 1 and _ends_short(stem) else stem
    return word


def _replaced(word: str, rules: Sequence[tuple[str, str]]) -> str:
    """Replace the first matching suffix, if the measure of the stem is above 0."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + replacement if _measure(stem) > 0 else word
    return word


def _without_last_suffix(word: str) -> str:
    for suffix in STEP_4:
        if word.endswith(suffix) and (suffix != "ion" or word.endswith(("sion", "tion"))):
            stem = word.removesuffix(suffix)
            return stem if _measure(stem) > 1 else word
    return word
