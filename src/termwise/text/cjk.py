"""Bigrams of Chinese, Japanese and Korean characters, as in Lucene's CJKAnalyzer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import ClassVar

from termwise.fast_dataclass import dataclass
from termwise.text.characters import character_table, classify
from termwise.text.standard_words import StandardWords
from termwise.text.tokenizer import WordTokenizer

HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa0-\uffdc"
_HANGUL_LETTER, _NOT_HANGUL = re.compile(f"[{HANGUL}]"), re.compile(f"[^{HANGUL}]")
IGNORED = ("Extend", "Format", "ZWJ")
"""Properties of the characters that belong to the character before."""

_MAYBE_CJK = re.compile("[^\x00-\u10ff]")
VOICED = "ウカキクケコサシスセソタチツテトハヒフヘホワヰヱヲヽ"
HALF_VOICED = "ハヒフヘホ"
_WIDE = (
    "・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノ"
    "ハヒフヘホマミムメモヤユヨラリルレロワン"
)
_HALF_WIDTH = {0xFF65 + number: kana for number, kana in enumerate(_WIDE)}


@dataclass(frozen=True)
class CjkWords(WordTokenizer):
    """Pairs of neighbouring Chinese, Japanese and Korean characters, and words of other scripts.

    The words are `StandardWords`. Han and Hiragana characters and words of Katakana or Hangul alone are split into
    characters, and neighbours form pairs, as in Lucene's CJKBigramFilter [1]_. A character without a neighbour is a
    word. Unlike in Lucene, marks and characters that are not seen belong to the character before them, and the
    decomposed letters of a Hangul syllable are one character, so texts in all normal forms have the same pairs.

    References
    ----------
    .. [1] Apache Lucene 10.4, ``org.apache.lucene.analysis.cjk``.

    Examples
    --------
    >>> CjkWords().words("東京都のTV 中 서울역 ｶﾞｲﾄﾞ")
    ['東京', '京都', '都の', 'TV', '中', '서울', '울역', 'ｶﾞｲ', 'ｲﾄﾞ']
    """

    name: ClassVar[str] = "cjk-bigrams"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words and pairs, in order; pairs overlap."""
        spans = StandardWords().spans(text)
        if _MAYBE_CJK.search(text) is None:
            return spans
        return [pair for _, run in cjk_runs(text, spans) for pair in _pairs(run)]


def one_width(word: str) -> str:
    """Write characters of full width as ASCII, and Katakana of half width in full width, as Lucene's CJKWidthFilter.

    Examples
    --------
    >>> one_width("Ｔｅｘｔ１ ｶﾞｲﾄﾞ")
    'Text1 ガイド'
    """
    if word.isascii():
        return word
    return _SOUND_MARK.sub(_composed, word.translate(_WIDTHS)).translate(_LONE_MARKS)


def cjk_runs(
    text: str, spans: Iterable[tuple[int, int]], *, hangul: bool = True
) -> Iterator[tuple[bool, list[tuple[int, int]]]]:
    """Yield the words of a text, with adjacent Chinese, Japanese and Korean characters in runs.

    `spans` are the ranges of its `StandardWords`; with `hangul`, those of Hangul are split into characters too. Yields
    True and the ranges of the characters of a run, or False and the range of another word.
    """
    classes, kinds = classify(text), cjk_character()
    run: list[tuple[int, int]] = []
    for start, end in spans:
        is_cjk = kinds.fullmatch(classes, start, end) or (hangul and _is_hangul(text, classes, start, end))
        if run and (not is_cjk or run[-1][1] != start):
            yield True, run
            run = []
        if not is_cjk:
            yield False, [(start, end)]
        elif end - start == 1:
            run.append((start, end))
        else:
            run += _units(text, classes, start, end)
    if run:
        yield True, run


def _units(text: str, classes: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges of the characters of a word, each with the marks that follow it."""
    ignored = ignored_characters()
    units: list[tuple[int, int]] = []
    for unit in _UNIT.finditer(text, start, end):
        if units and ignored.match(classes, unit.start()):
            units[-1] = units[-1][0], unit.end()
        else:
            units.append(unit.span())
    return units


def _pairs(run: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return run if len(run) == 1 else [(start, end) for (start, _), (_, end) in pairwise(run)]


@cache
def cjk_character() -> re.Pattern[str]:
    """Compile a Han or Hiragana character, or a word of Katakana, over character classes."""
    ignored = ignored_characters().pattern
    return re.compile(f"[{_classes('Han', 'Hiragana')}]{ignored}*|(?:[{_classes('Katakana')}]{ignored}*)+")


@cache
def ignored_characters() -> re.Pattern[str]:
    """Compile a character that belongs to the one before it, over character classes."""
    return re.compile(f"[{_classes(*IGNORED)}]")


def _classes(*names: str) -> str:
    return character_table().where(lambda _, properties: not properties.isdisjoint(names))


def _is_hangul(text: str, classes: str, start: int, end: int) -> bool:
    """Return whether a word has Hangul letters, marks and format characters alone, and begins with a letter."""
    if _HANGUL_LETTER.match(text, start) is None:
        return False
    properties = character_table().properties
    return all(
        not properties[ord(classes[other.start()])].isdisjoint(IGNORED)
        for other in _NOT_HANGUL.finditer(text, start, end)
    )


def _composed(pair: re.Match[str]) -> str:
    kana, mark = pair[1], pair[2]
    if mark == "\uff9f":
        return chr(ord(kana) + 2) if kana in HALF_VOICED else pair[0]
    if kana == "ウ":
        return "ヴ"
    return chr(ord(kana) + (8 if kana in "ワヰヱヲ" else 1))


_WIDTHS = {**_HALF_WIDTH, **{0xFF01 + number: chr(0x21 + number) for number in range(94)}}
_SOUND_MARK = re.compile(f"([{VOICED}])([\uff9e\uff9f])")
_LONE_MARKS = {0xFF9E: "\u3099", 0xFF9F: "\u309a"}

LEADING, VOWELS, TRAILING, SYLLABLES = "\u1100-\u1112", "\u1161-\u1175", "\u11a8-\u11c2", "\uac00-\ud7a3"
"""Letters of Hangul that form syllables, and syllables."""

_UNIT = re.compile(f"[{LEADING}][{VOWELS}][{TRAILING}]?|[{SYLLABLES}][{TRAILING}]|.", re.DOTALL)
"""Pattern of one character, or of the letters of a Hangul syllable."""
