"""Words by the Unicode word boundaries, as in Lucene's StandardTokenizer."""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar, NamedTuple

from termwise.fast_dataclass import dataclass
from termwise.text.characters import character_table, classify
from termwise.text.tokenizer import WordTokenizer

LONGEST = 255
"""Longest word in UTF-16 code units, as in Lucene."""

STRETCH = 1024

MANY = 32
"""Length from which a run of underscores is shortened before the search for words."""

_ASCII_WORD = re.compile(
    r"(?:(?<!_)_+)?[A-Za-z0-9](?:[A-Za-z0-9_]+|(?<=[A-Za-z])[.':](?=[A-Za-z])|(?<=[0-9])[.,;'](?=[0-9]))*"
)


@dataclass(frozen=True)
class StandardWords(WordTokenizer):
    """Words by Unicode Standard Annex #29 [1]_, as in Lucene's StandardTokenizer [2]_.

    - letters, digits and Katakana form words by the rules WB5 to WB13b: ``can't``, ``3,14`` and ``a.b`` are one word
      each, ``e-mail`` is two, and a word can contain or end in underscores;
    - each character of Han and Hiragana is a word; runs of Southeast Asian letters are one word;
    - emoji sequences (joined, flags, keycaps, skin tones, tags) [3]_ are one word each;
    - other characters separate words; combining marks and format characters belong to the character before (WB4);
    - words longer than 255 UTF-16 code units are cut at 255.

    Departure: the properties are those of Unicode 17.0.0; Lucene uses an older version. Newer letters, ideographs and
    emoji are therefore words, and former emoji (★) are not.

    References
    ----------
    .. [1] *UAX #29: Unicode Text Segmentation*, section 4. https://www.unicode.org/reports/tr29/
    .. [2] Apache Lucene 10, class ``org.apache.lucene.analysis.standard.StandardTokenizer``.
    .. [3] *UTS #51: Unicode Emoji*, section 1.4.9. https://www.unicode.org/reports/tr51/

    Examples
    --------
    >>> StandardWords().words("Can't e-mail 3,14 snake_case 東京")
    ["Can't", 'e', 'mail', '3,14', 'snake_case', '東', '京']
    """

    name: ClassVar[str] = "standard-words"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words."""
        if text.isascii():
            spans = [match.span() for match in _ASCII_WORD.finditer(text)]
            return _cut(text) if any(end - start > LONGEST for start, end in spans) else spans
        classes, rules = _classes(text), standard_rules()
        if rules.letter_or_emoji.search(classes):
            return _cut(text)
        spans = [match.span() for match in rules.word.finditer(classes)]
        return _cut(text) if any(end - start > LONGEST // 2 for start, end in spans) else spans

    def words(self, text: str) -> list[str]:
        """Return all words."""
        if text.isascii():
            words = _ASCII_WORD.findall(text)
            if not words or len(max(words, key=len)) <= LONGEST:
                return words
        return super().words(text)


class StandardRules(NamedTuple):
    """Regular expressions over character classes; those of words and emoji have no lookahead past the match."""

    word: re.Pattern[str]
    emoji: re.Pattern[str]
    letter_or_emoji: re.Pattern[str]
    low_line: re.Pattern[str]
    many_underscores: re.Pattern[str]
    underscores: re.Pattern[str]


@cache
def standard_rules() -> StandardRules:
    """Compile the rules.

    Repetitions are greedy. The part after a repetition cannot begin with the repeated part, so there is no
    backtracking. Possessive repetitions would state this, but leak memory in Python before 3.11.5.

    The next character decides between two rules, so the first match is the longest. The exception is a character that
    is both a letter and an emoji (ℹ, Ⓜ, 🅰): see `_cut`.
    """

    def has(*names: str, without: tuple[str, ...] = ()) -> str:
        return character_table().where(
            lambda _, properties: not properties.isdisjoint(names) and properties.isdisjoint(without)
        )

    selectors = ("Text_Selector", "Emoji_Selector")
    ignored = has("Extend", "Format", "ZWJ")
    hebrew, numeric = has("Hebrew_Letter"), has("Numeric")
    plain = has("ALetter")
    low_line = has("ExtendNumLet")
    underscore = f"[{low_line}][{ignored}]*"
    a_hebrew = f"[{hebrew}][{ignored}]*"
    quote = f"[{has('Single_Quote')}][{ignored}]*"
    quotes = f"[{has('Double_Quote')}][{ignored}]*"
    in_word = f"[{has('MidLetter', 'MidNumLet', 'Single_Quote')}][{ignored}]*"
    in_number = f"[{has('MidNum', 'MidNumLet', 'Single_Quote')}][{ignored}]*"
    letters = f"(?:[{plain}][{plain}{ignored}]*|{a_hebrew})"
    digits = f"[{numeric}][{numeric}{ignored}]*"
    katakana = has("Katakana")
    in_part = has("ALetter", "Hebrew_Letter", "Numeric", "Katakana")
    part = (
        f"(?:[{katakana}][{katakana}{ignored}]*"
        f"|(?:{a_hebrew}(?:{quote}|{quotes}{a_hebrew})"
        f"|{letters}(?:{in_word}{letters})*"
        f"|{digits}(?:{in_number}{digits})*)+)"
    )
    alphanumeric = f"(?:{underscore}){{0,{LONGEST}}}{part}(?:(?:{underscore})+{part})*(?:{underscore})*"

    joiner, modifier = has("ZWJ"), has("Emoji_Modifier")
    selector, tag = has("Emoji_Selector"), has("Tag")
    picture = has("Extended_Pictographic")
    hash_or_star = character_table().where(lambda _, properties: properties == {"Emoji"})
    flag_letter = f"[{has('Regional_Indicator')}][{ignored}]*"
    marks = f"[{has('Extend', 'Format', 'ZWJ', without=selectors)}]*"
    not_keycap = f"[{has('Extend', 'Format', 'ZWJ', without=(*selectors, 'Keycap'))}]*"
    keycap = f"[{has('Keycap')}]"
    element = f"[{picture}]{marks}[{selector}]?"
    emoji = (
        f"(?:(?:[{joiner}]{{0,{LONGEST}}}{element}|[{modifier}]{marks})"
        f"(?:(?<=[{selector}])[{tag}]+[{has('Tag_End')}]"
        f"|(?:(?<=[{joiner}]){element}"
        f"|(?<=[{selector}])(?:[{joiner}]+{element}|[{joiner}][{modifier}]{marks}))*)"
        f"|[{hash_or_star}](?:{marks}[{selector}]{keycap}{marks}|{not_keycap}{keycap}{marks})"
        f"|{flag_letter}{flag_letter})"
    )

    southeast_asian = f"[{has('Complex_Context')}][{has('Complex_Context')}{ignored}]*"
    single = f"[{has('Han', 'Hiragana')}][{ignored}]*"
    both = character_table().where(
        lambda _, properties: "ALetter" in properties and "Extended_Pictographic" in properties
    )
    return StandardRules(
        word=re.compile(f"{alphanumeric}|{emoji}|{southeast_asian}|{single}"),
        emoji=re.compile(emoji),
        letter_or_emoji=re.compile(f"[{both}]"),
        low_line=re.compile(f"[{low_line}]"),
        many_underscores=re.compile(f"(?:{underscore}){{{MANY}}}"),
        underscores=re.compile(
            f"(?P<before>{a_hebrew}{quote}|[{in_part}][{ignored}]*)?"
            f"(?P<run>[{low_line}][{low_line}{ignored}]*)(?P<after>(?=[{in_part}]))?"
        ),
    )


def _classes(text: str) -> str:
    """Return the character classes of a text; underscores too far from a word to belong to it become spaces.

    A search that starts at an underscore reads up to 255 underscores before it finds that no word follows. Without the
    replacement, a text of underscores would take 255 steps for each underscore.
    """
    classes, rules = classify(text), standard_rules()
    if rules.many_underscores.search(classes) is None:
        return classes
    space = classify(" ")

    def shortened(match: re.Match[str]) -> str:
        before, run = match["before"] or "", match["run"]
        head = 0 if match["before"] is None else LONGEST
        tail = len(run) if match["after"] is None else max(head, len(run) - LONGEST)
        return before + run[:head] + rules.low_line.sub(space, run[head:tail]) + run[tail:]

    return rules.underscores.sub(shortened, classes)


def _cut(text: str) -> list[tuple[int, int]]:
    """Find the words of any text: the longest match of any rule within 255 UTF-16 code units.

    The search reads `STRETCH` characters at a time, so that a text that is one long word takes linear time.
    """
    classes, rules = _classes(text), standard_rules()
    spans = []
    position = 0
    while position < len(text):
        stretch = min(position + STRETCH, len(text))
        last = len(text) if stretch == len(text) else stretch - LONGEST
        match = rules.word.search(classes, position, stretch)
        if match is None or match.start() > last:
            position = last
            continue
        start, end = match.span()
        if end - start > LONGEST // 2 or rules.letter_or_emoji.match(classes, start):
            limit = start + _fitting(text[start : start + LONGEST])
            matches = (
                rules.word.match(classes, start, limit),
                rules.emoji.match(classes, start, limit),
            )
            end = max((match.end() for match in matches if match), default=start)
        if end > start:
            spans.append((start, end))
        position = max(end, start + 1)
    return spans


def _fitting(text: str) -> int:
    """Count the characters of `text` that fit into 255 UTF-16 code units."""
    units = 0
    for count, char in enumerate(text):
        units += 2 if char > "\uffff" else 1
        if units > LONGEST:
            return count
    return len(text)
