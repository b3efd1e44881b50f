"""Write src/termwise/text/unicode-17.0.0.txt, the frozen character properties of the word tokenizers.

Needs the package ``regex`` in a release that carries Unicode 17.0.0 (2025.11.3) and ``tokenizers`` or any other
source of simple lower-case mappings of that version; both are checked against ``unicodedata2`` 17.0.0.

    python make_unicode_table.py > src/termwise/text/unicode-17.0.0.txt
"""

from __future__ import annotations

import sys

import regex
import unicodedata2
from tokenizers import normalizers

VERSION = "17.0.0"
SIZE = 0x110000
EVERY = [chr(code) for code in range(SIZE)]
WORD_BREAK = [
    "ALetter", "Hebrew_Letter", "Numeric", "Katakana", "MidLetter", "MidNumLet", "MidNum", "Single_Quote",
    "Double_Quote", "ExtendNumLet", "Extend", "Format", "ZWJ", "Regional_Indicator",
]  # fmt: skip
OTHER = {
    "Complex_Context": r"\p{Line_Break=SA}",
    "Han": r"\p{Script=Han}",
    "Hiragana": r"\p{Script=Hiragana}",
    "Emoji": r"\p{Emoji}",
    "Emoji_Modifier": r"\p{Emoji_Modifier}",
    "Extended_Pictographic": r"\p{Extended_Pictographic}",
}
HEAD = f"""\
# Character properties that word tokenizers and lower-casing use, from the Unicode Character Database {VERSION}.
# Unicode(R) Character Database: Copyright (c) 1991-2025 Unicode, Inc., under the Unicode License v3 (NOTICE).
#
# Code points (first..last), hexadecimal; general category: L letter, M mark, N number, - anything else;
# the properties they have out of: Word_Break values, Line_Break=Complex_Context, Script=Han,
# Script=Hiragana, Emoji, Emoji_Modifier, Extended_Pictographic. What is not listed has none of these.
"""
LOWER = """\
#
# Simple lower-case mappings: code points (first..last, every second one after /2); what to add to each.
"""


def having(pattern: str) -> set[int]:
    """Return all code points that match `pattern`."""
    compiled = regex.compile(pattern)
    return {code for code in range(SIZE) if compiled.match(EVERY[code])}


def main() -> None:
    """Print the table."""
    assigned = {code for code in range(SIZE) if unicodedata2.category(EVERY[code]) != "Cn"}
    if unicodedata2.unidata_version != VERSION or having(r"\P{Cn}") != assigned:
        sys.exit(f"regex and unicodedata2 must both carry Unicode {VERSION}")
    properties = {name: having(rf"\p{{Word_Break={name}}}") for name in WORD_BREAK}
    properties |= {name: having(pattern) for name, pattern in OTHER.items()}
    categories = [unicodedata2.category(char)[0] for char in EVERY]
    rows: list[tuple[int, int, str, str]] = []
    for code in range(SIZE):
        kind = categories[code] if categories[code] in "LMN" else "-"
        has = ",".join(name for name in properties if code in properties[name]) or "-"
        if kind == has == "-":
            continue
        if rows and rows[-1][1] == code - 1 and rows[-1][2:] == (kind, has):
            rows[-1] = (rows[-1][0], code, kind, has)
        else:
            rows.append((code, code, kind, has))
    print(HEAD, end="")
    for first, last, kind, has in rows:
        where = f"{first:04X}" if first == last else f"{first:04X}..{last:04X}"
        print(f"{where} {kind} {has}")

    rust = normalizers.Lowercase()
    lower = {}
    for code in sorted(assigned):
        if not 0xD800 <= code <= 0xDFFF:
            mapped = rust.normalize_str(EVERY[code])
            if code == 0x130:
                mapped = "i"
            if mapped != EVERY[code]:
                lower[code] = ord(mapped) - code
    print(LOWER, end="")
    done: set[int] = set()
    for code in lower:
        if code in done:
            continue
        step = 1 if lower.get(code + 1) == lower[code] else 2
        last = code
        while lower.get(last + step) == lower[code] and (step == 1 or last + 1 not in lower):
            last += step
        done.update(range(code, last + 1, step))
        where = f"{code:04X}" if code == last else f"{code:04X}..{last:04X}" + ("/2" if step == 2 else "")
        print(f"{where} lower {lower[code]:+d}")


main()
