"""Words, and compounds such as ``AB-1200/X``, ``getUserById``, ``T-shirt`` and ``5 GHz``, joined and in parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import chain
from string import ascii_letters, digits
from typing import ClassVar

import numpy as np

from termwise.fast_dataclass import dataclass
from termwise.text.characters import INVISIBLE, character_table, code_points
from termwise.text.tokenizer import WordTokenizer
from termwise.text.word_cache import WordCache

LONGEST_JOINED = 64
"""Longest compound in characters that is a token as a whole."""

SKIPPED, MARK, DASH, SMALL, CAPITAL, OTHER = "\x7f", "\x1f", "\x1e", "é", "É", "!"
"""Kinds of characters beyond ASCII: not seen, mark, dash, small or other letter, capital, anything else."""

RULES = 4
"""Version of the rules, at the end of the names of tokenizers.

With the first version, dashes separated all words. With the second, points of thousands and blanks in article numbers
did. With the third, the parts of a compound had no joined forms.
"""

DASHES = "\u2012\u2013\u2014\u2015\u2212"
"""Dashes that are often written in place of a hyphen: figure, en and em dash, horizontal bar, minus sign."""

HYPHENS = "\u2010\u2011"
"""Hyphens beyond ASCII."""

_SPACES = "\u00a0\u2009\u202f"
_CAPITAL, _SMALL = f"[A-Z{CAPITAL}]", f"[a-z{SMALL}]"
_LETTER, _CHARACTER = f"[A-Za-z{CAPITAL}{SMALL}]", f"[A-Za-z0-9{CAPITAL}{SMALL}]"
_THOUSANDS = ",(?<=[0-9],)[0-9]{3}(?![0-9])"
_DECIMALS = ",(?<=[0-9],)(?![0-9]{3}(?![0-9]))[0-9]+(?![.,]?[0-9])"
_NUMBER = rf"[0-9]+(?:{_DECIMALS}|(?:\.[0-9]+|{_THOUSANDS})*)"
_ENDS = f"(?!{_CHARACTER}|[-_/.'&]{_CHARACTER})"
_ENDING = "(?:[sdmtSDMT]|ll|LL|re|RE|ve|VE)"
SINGLE = "[B-HJ-Zb-hj-z]"
"""Letters that form a compound with the word after them, in English: all but *a* and *i*, which are words."""

_UNIT = (
    "(?:[kmgtcdnKMGTCDN]?(?:[bgjlmvwBGJLMVW]|[hH][zZ]|[wWaA][hH]|[pP][aA]|[bB][iI][tT])|[mM][aA]|[kKxX]|[xX]{1,3}[lL]"
    "|[fF][tT]|[oO][zZ]|[lL][bB][sS]?|[pP][xXtT]|[mM][pP]|[dD][pP][iI]|[rR][pP][mM])"
)

_ARTICLE = "(?:[0-9] (?:[0-9]{6} [0-9]{6}|[0-9]{5} [0-9]{5} [0-9])|0 [0-9]{3} [0-9]{3} [0-9]{3})"
_WITH_DECIMALS = f"{_CHARACTER}+(?:{_DECIMALS}{_CHARACTER}*)*"
_IN_LIST = "[0-9](?<=[0-9],[0-9])[0-9]*(?=,[0-9])"


def compound_pattern(single: str = SINGLE, elided: Iterable[str] = ()) -> re.Pattern[str]:
    """Compile a compound or single word, over the kinds of characters.

    Parameters
    ----------
    single : str, optional
        Letters that form a compound with a word after a blank, as a class of characters.
    elided : iterable of str, optional
        Words that are left out before an apostrophe, such as *l* in *l'eau*, but not if they and the word after them
        begin with a capital, as in *L'Oréal*.
    """
    any_case = {
        word: "".join(f"[{letter}{letter.upper()}]" for letter in word[1:]) for word in sorted(elided)
    }
    small = "|".join(word[0] + rest for word, rest in any_case.items())
    capital = "|".join(word[0].upper() + rest for word, rest in any_case.items())
    start = f"(?<!{_LETTER})(?!(?:{small})'{_CHARACTER}|(?:{capital})'[a-z{SMALL}0-9])" if any_case else ""
    return re.compile(
        f"{start}(?:{_IN_LIST}|{_ARTICLE}{_ENDS}|{_NUMBER} {_UNIT}{_ENDS}|{single} {_LETTER}{{3,}}{_ENDS}"
        rf"|{_WITH_DECIMALS}(?:[-_/'&]{_WITH_DECIMALS}|\.{_CHARACTER}+|{_THOUSANDS}{_CHARACTER}*)*)"
    )


def part_pattern(ending: str = _ENDING) -> re.Pattern[str]:
    """Compile a part of a compound, over the kinds of characters, with an ending after an apostrophe."""
    return re.compile(
        f"{_NUMBER}|{_LETTER}+?(?:'{ending}(?!{_CHARACTER})|(?!{_LETTER})"
        f"|(?<={_LETTER}{_SMALL})(?={_CAPITAL}{_LETTER})|(?<={_CAPITAL}{{2}})(?={_CAPITAL}{_SMALL}{{2}}))"
    )


def lead_pattern(ending: str = _ENDING) -> re.Pattern[str]:
    """Compile two words that belong together in a longer compound, such as *Wi-Fi*, over the kinds of characters."""
    return re.compile(
        f"(?<![-'A-Za-z0-9{CAPITAL}{SMALL}]){_LETTER}{{1,3}}[-&']{_LETTER}+(?:'{ending})?(?!{_CHARACTER})"
    )


def run_pattern(ending: str = _ENDING) -> re.Pattern[str]:
    """Compile a run of parts with nothing between them, over the kinds of characters."""
    return re.compile(f"(?:{_NUMBER}|{_LETTER}+(?:'{ending}(?!{_CHARACTER}))?)+")


LETTERS = f"{_LETTER}+"
"""Pattern of letters, over the kinds of characters."""

Ranges = tuple[tuple[int, int], ...]
"""Half-open ranges of characters."""

DECIMAL_COMMA = re.compile("(?<=[0-9]),(?=[0-9])(?![0-9]{3}(?![0-9]))")
"""A comma that is a decimal point in a compound."""

JOINT = re.compile(rf"[-_/&, ·{HYPHENS}{DASHES}{_SPACES}]|['’](?!{_ENDING}$)|\.(?![0-9])|(?<![0-9])\.")
"""What a joined form leaves out: characters between parts, but not points in numbers and the apostrophe of *don't*."""

NUMBER_FIRST = (
    r"^(?![1-9][0-9]{0,2}(?:\.[0-9]{3})+(?![0-9]|[.,][0-9]))"
    r"(?!(?=(?:\.?[0-9]){7,}$)[0-9]+\.[0-9]+\.)[0-9]"
)
"""Pattern of words whose joined form keeps the points in numbers.

A number comes first, without thousands, and it is no article number: that has seven digits or more, and two points or
more, as *9857.107.98*.
"""


_MARKS = re.compile(f"(?:{SKIPPED}*{MARK})*")
"""Marks after a letter, over the kinds of characters."""

_LETTERS_AND_JOINTS = f"-A-Za-z{CAPITAL}{SMALL}_/.'&{MARK}{SKIPPED}"
_NO_DIGIT, _PIECE = f"[{_LETTERS_AND_JOINTS}]", f"[{_LETTERS_AND_JOINTS}0-9]"
_RUN = f"[{_LETTERS_AND_JOINTS}0-9{DASH}]"
_TO_NEXT = f"[0-9]{_NO_DIGIT}*{DASH}+{_NO_DIGIT}"

CODE = re.compile(
    f"(?<!{_RUN})(?={_RUN}*?(?:{_TO_NEXT}+(?!{_PIECE})"
    f"|(?<!{_PIECE}){_NO_DIGIT}+{DASH}+{_NO_DIGIT}*[0-9]|{_TO_NEXT}*[0-9]{_PIECE}*{DASH}+{_NO_DIGIT}*[0-9]))"
    f"{_RUN}+"
)
"""A code with dashes, over the kinds of characters.

Some of its pieces between dashes have digits and others have none, or three pieces in a row have digits.
"""


@dataclass(frozen=True)
class WordsWithParts(WordTokenizer):
    """Words, and compounds in both forms: joined and in parts.

    A compound is a run of letters and numbers with single hyphens, slashes, underscores, points, apostrophes and
    ampersands between them. A compound of several parts is followed by its parts, whose ranges are within its own. If
    it is longer than 64 characters, only the parts are words.

    - Parts end between letters and numbers.
    - Parts end at capitals: after two letters of which the second is small, if a letter follows the capital, and before
      the last one of several capitals, if two small letters follow. So *GHz*, *iPhone*, *mRNA* and *PDFs* are one part.
    - A number and a unit with a blank between them (``5 GHz``) are a compound. So are a single letter, except *a* and
      *i*, and a word of three letters or more (``t shirt``).
    - Parts with nothing between them are a word, too, as *MacBook* in *MacBook-Hülle* and *5GHz* in *5GHz/AB*. So are
      two parts of letters of a longer compound, if the first has at most three letters, does not follow a hyphen, and
      is joined to the second by a hyphen, an ampersand or an apostrophe, as *Wi-Fi* in *Wi-Fi-Router*.
    - Points between digits do not end a number, and commas do not if three digits follow.
    - The digits of an EAN or UPC may have the blanks with which they are printed (``4 006381 333931``), and so may
      article numbers such as ``0 986 494 104``.
    - A single comma between digits that exactly three digits do not follow is a decimal point (``3,5``). Commas of
      lists (``1,2,3``) and of numbers with points (``1.200,50``) separate words.
    - The endings ``'s 'd 'm 't 'll 're 've`` belong to the part before them.
    - Marks belong to the letter before them. Characters that are not seen, such as soft hyphens, do not end a word.
    - Dashes such as ``–`` are hyphens in codes (``AB–1200``), see `with_hyphens`, and otherwise separate words.

    Examples
    --------
    >>> WordsWithParts().words("AB-1200/X getUserById")
    ['AB-1200/X', 'AB', '1200', 'X', 'getUserById', 'get', 'User', 'By', 'Id']
    >>> WordsWithParts().words("iPadPro-Case USB-C-Kabel")
    ['iPadPro-Case', 'iPadPro', 'iPad', 'Pro', 'Case', 'USB-C-Kabel', 'USB-C', 'USB', 'C', 'Kabel']
    >>> WordsWithParts().words("the world's T-shirt, 5 GHz")
    ['the', "world's", 'T-shirt', 'T', 'shirt', '5 GHz', '5', 'GHz']
    """

    name: ClassVar[str] = f"words-with-parts-{RULES}"
    nested: ClassVar[bool] = True
    compound: ClassVar[re.Pattern[str]] = compound_pattern()
    part: ClassVar[re.Pattern[str]] = part_pattern()
    run: ClassVar[re.Pattern[str]] = run_pattern()
    lead: ClassVar[re.Pattern[str]] = lead_pattern()

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words and parts, in the order of their starts."""
        if text.isascii():
            return self._spans(text)
        return spans_beside_marks(with_hyphens(kinds_of_text(text)), self._spans)

    def words(self, text: str) -> list[str]:
        """Return all words and parts as they are written."""
        if not text.isascii():
            return super().words(text)
        _, words = _caches(self.part, (self.run, self.lead))
        return list(chain.from_iterable(map(words.__getitem__, self.compound.findall(text))))

    def _spans(self, kinds: str) -> list[tuple[int, int]]:
        parts, _ = _caches(self.part, (self.run, self.lead))
        spans = []
        for compound in self.compound.finditer(kinds):
            start = compound.start()
            spans += [(start + first, start + last) for first, last in parts[compound[0]]]
        return spans


def with_hyphens(kinds: str) -> str:
    r"""Replace the dashes of codes by hyphens, over the kinds of characters; two pieces with digits are a range.

    Examples
    --------
    >>> runs = ("AB–1200", "AB–1200–20", "5–10", "M6–M8", "north–south", "978–3–16")
    >>> [with_hyphens(run.replace("–", DASH)) for run in runs]
    ['AB-1200', 'AB-1200-20', '5\x1e10', 'M6\x1eM8', 'north\x1esouth', '978-3-16']
    """
    return CODE.sub(lambda code: code[0].replace(DASH, "-"), kinds) if DASH in kinds else kinds


def spans_beside_marks(kinds: str, spans: Callable[[str], list[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Return the ranges that `spans` finds without the kinds `SKIPPED` and `MARK`; each ends after its last marks."""
    if SKIPPED not in kinds and MARK not in kinds:
        return spans(kinds)
    places = [place for place, kind in enumerate(kinds) if kind not in (SKIPPED, MARK)]
    found = []
    for start, end in spans(kinds.replace(SKIPPED, "").replace(MARK, "")):
        marks = _MARKS.match(kinds, places[end - 1] + 1)
        found.append((places[start], len(kinds) if marks is None else marks.end()))
    return found


@cache
def _caches(
    part: re.Pattern[str], joined: tuple[re.Pattern[str], ...]
) -> tuple[WordCache[Ranges], WordCache[tuple[str, ...]]]:
    """Return two caches for compounds: of the ranges of a compound and its parts, and of their texts."""
    return WordCache(partial(_ranges, part, joined)), WordCache(partial(_words, part, joined))


def _ranges(part: re.Pattern[str], joined: tuple[re.Pattern[str], ...], compound: str) -> Ranges:
    """Return the ranges of a compound, its parts, and words that several parts form, in the order of their starts."""
    parts = [found.span() for found in part.finditer(compound)]
    if len(parts) < 2:
        return tuple(parts)
    several = (found.span() for pattern in joined for found in pattern.finditer(compound))
    words = {(start, end) for start, end in ((0, len(compound)), *several) if end - start <= LONGEST_JOINED}
    return tuple(sorted(words.union(parts), key=lambda word: (word[0], -word[1])))


def _words(part: re.Pattern[str], joined: tuple[re.Pattern[str], ...], compound: str) -> tuple[str, ...]:
    return tuple(compound[start:end] for start, end in _ranges(part, joined, compound))


def kinds_of_text(text: str) -> str:
    """Replace each character by its kind."""
    return kinds_of_characters()[code_points(text)].tobytes().decode("latin-1")


@cache
def kinds_of_characters() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return the kind of each character, as a code point below 256; ASCII letters, digits and joints are their own."""
    table = character_table()
    of_class = [ord({"L": SMALL, "M": MARK, "N": "0"}.get(kind, OTHER)) for kind in table.kinds]
    kinds = np.array(of_class, dtype=np.uint8)[table.classes]
    points = np.arange(len(kinds))
    kinds[(kinds == ord(SMALL)) & (table.lower != points)] = ord(CAPITAL)
    invisible = "".join(re.findall(f"[{INVISIBLE}]", "".join(map(chr, range(0x10000)))))
    for characters, kind in (
        (HYPHENS, "-"),
        (DASHES, DASH),
        (_SPACES, " "),
        ("’", "'"),
        (invisible, SKIPPED),
    ):
        kinds[list(map(ord, characters))] = ord(kind)
    for char in f"{ascii_letters}{digits}-_/.'&, ":
        kinds[ord(char)] = ord(char)
    kinds.setflags(write=False)
    return kinds
