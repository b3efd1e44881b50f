"""Closed lists of English words, and tokenisation of English texts by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from termwise.text.characters import character_table, classify
from termwise.text.stop_lists import stop_list


def listed(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


PREPOSITIONS = listed("""
    about above across against along alongside amid amidst among amongst around at atop before behind below beneath
    beside besides between beyond by despite during for from in inside into near of off on onto opposite outside over
    past per through throughout toward towards under underneath unlike until upon via with within without
    """)
"""Words that are nearly always prepositions, which excludes *to*, *as*, *like*, *than*, *after* and *since*."""

NUMBER_WORDS = listed("""
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion
    """)

BEFORE_NAMES = listed("""
    adm capt cf col dept dr e.g eg gov hon i.e ie lt maj messrs mr mrs ms mt prof rep rev sen sgt st viz vs
    """)
"""Abbreviations that do not end a sentence, written without their final full stop."""

BEFORE_NUMBERS = listed("""
    app approx apr art aug ca ch dec eq eqs feb fig figs jan jul jun mar no nos nov nr oct p pp sec sep sept vol vols
    """)
"""Abbreviations that do not end a sentence if a number follows, written without their final full stop."""

IN_SENTENCES = listed("""
    assn ave bros co corp etc inc jr ltd sq sr univ
    """)
"""Abbreviations that can end a sentence."""

FUNCTION_WORDS = (
    stop_list("nltk-english")
    | PREPOSITIONS
    | listed("""
        also although among another anyone anything could either else ever every everyone everything however let many
        may might much must neither never nobody none nothing often others perhaps rather shall since somebody someone
        something therefore though thus together unless us whenever whereas wherever whether whose within would yet
        """)
)
"""Words that end a noun chunk, and that start a sentence if capitalised."""


_ABBREVIATIONS = BEFORE_NAMES | IN_SENTENCES
_NEXT = re.compile(r"\s*(?P<word>\w+)")
_WORD = re.compile(
    r"""
      (?P<dotted>L\.(?:L\.)+(?![LMN]))               # U.S., e.g.
    | (?P<number>N+(?:[.,:]N+)*(?![LMN]))            # 1,234.5 and 10:30
    | (?P<word>[LN][LMN]*(?:(?<=[LM])['’]L[LMN]*)*)  # world's
    | (?P<mark>([^\sLMN])\5*|M+)                     # ... and what else there is
    """,
    re.VERBOSE,
)


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the half-open character ranges of words, numbers and punctuation marks.

    Abbreviations and initials include their full stop. An apostrophe between letters does not split a word. A hyphen
    splits a word and is a token. A run of equal marks, such as ``...``, is one token.

    Examples
    --------
    >>> text = "Mr. J. Hale's well-known $1,234.50... in the U.S."
    >>> [text[start:end] for start, end in word_spans(text)]
    ['Mr.', 'J.', "Hale's", 'well', '-', 'known', '$', '1,234.50', '...', 'in', 'the', 'U.S.']
    """
    shape = text.translate(_SHAPES)
    done = 0
    for found in _WORD.finditer(shape):
        start, end = found.span()
        if start < done:
            continue
        if found["word"] and shape[end : end + 1] == "." and shape[end : end + 2] != "..":
            end += _has_stop(text, text[start:end], end)
        yield start, end
        done = end


def _has_stop(text: str, word: str, end: int) -> bool:
    """Return whether the full stop after a word belongs to it."""
    form = word.lower()
    if form in _ABBREVIATIONS:
        return True
    found = _NEXT.match(text, end + 1)
    following = found["word"] if found else ""
    if form in BEFORE_NUMBERS:
        return following.isdecimal()
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return is_initial and following[:1].isupper() and following.lower() not in FUNCTION_WORDS


class _Shapes(dict[int, str]):
    """Translation table: letters to L, marks to M, numbers to N, white space to a blank, others unchanged."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = character_table().kinds[ord(classify(character))]
        self[code] = kind if kind != "-" else " " if character.isspace() else character
        return self[code]


_SHAPES = _Shapes()
