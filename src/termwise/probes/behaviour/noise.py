"""Noise probes: typography, invisible characters, and remains of scanners, browsers and crawlers."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from functools import partial
from random import Random

from termwise.probes.behaviour.words_and_sentences import put_before, sentence_starts, with_some_words
from termwise.probes.core.probe_inputs import Family
from termwise.probes.manipulations.base import Change, Manipulation, ManipulationContext, over_collections
from termwise.probes.manipulations.text_edits import in_a_row

MARKS = dict.fromkeys("aeiouAEIOU", "\u0301\u0300\u0302\u0308") | {
    letter: mark
    for letters, mark in (("nN", "\u0303"), ("cC", "\u0327"), ("sSzZ", "\u030c"))
    for letter in letters
}
"""Possible accents of a letter, as combining characters."""

LOOKALIKES = dict(zip("aceopxyijsABCEHKMOPTX", "асеорхуіјѕАВСЕНКМОРТХ", strict=True))
"""Cyrillic letters by the Latin letters of the same form."""

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"
"""Zero-width characters."""

MISREAD = {
    "rn": "m", "m": "rn", "cl": "d", "li": "h", "l": "1", "o": "0", "e": "c", "h": "b",
    "i": "l", "S": "5", "B": "8", "O": "0", "I": "l", "5": "S", "0": "O", "1": "l",
}  # fmt: skip
"""Scanner errors: printed letters, and the letters that a scanner reads instead."""

EMOJI = ("😀", "👍", "🔥", "✨", "🎉", "🙏", "💡", "🚀")

BEFORE = "Home | News | Contact | Log in\nThis website uses cookies. Accept all · Settings\n"
AFTER = "\nShare this page · Print · Send by mail\nAll rights reserved. Privacy · Terms of use · Imprint"

_URLS = " ".join(
    f"https://www.example.{domain}/{path}"
    for domain, path in (
        ("com", "index.php?id=4711&lang=en"),
        ("org", "archive/2019/03/14/item-88213.html"),
        ("net", "img/thumb_640x480.jpg?v=3"),
        ("com", "tracker?utm_source=mail&utm_medium=link"),
        ("org", "a/b/c/d.pdf#page=12"),
    )
)


def _accented(word: str, random: Random) -> str | None:
    places = [place for place, letter in enumerate(word) if letter in MARKS]
    if not places:
        return None
    place = random.choice(places)
    letter = unicodedata.normalize("NFC", word[place] + random.choice(MARKS[word[place]]))
    return word[:place] + letter + word[place + 1 :]


def _lookalike(word: str, random: Random) -> str | None:
    return "".join(LOOKALIKES.get(letter, letter) for letter in word)


def _with_invisible(word: str, random: Random) -> str | None:
    if len(word) < 2:
        return None
    place = random.randrange(1, len(word))
    return word[:place] + random.choice(INVISIBLE) + word[place:]


def _misread(word: str, random: Random) -> str | None:
    places = [
        (place, printed)
        for printed in MISREAD
        for place in range(len(word) - len(printed) + 1)
        if word.startswith(printed, place)
    ]
    if not places:
        return None
    place, printed = random.choice(places)
    return word[:place] + MISREAD[printed] + word[place + len(printed) :]


def _bold(word: str, random: Random) -> str | None:
    return f"**{word}**" if len(word) > 3 else None


def _some_words(change: Callable[[str, Random], str | None]) -> Change:
    return lambda text, context: with_some_words(text, context.random, change)


def _double_spaces(text: str, context: ManipulationContext) -> str:
    return re.sub(r"(?<=\S) (?=\S)", "  ", text)


def _html(text: str, context: ManipulationContext) -> str:
    return f'<div class="content"><p>{html.escape(text, quote=False)}</p>&nbsp;<br/></div>'


def _markdown(text: str, context: ManipulationContext) -> str:
    bold = with_some_words(text, context.random, _bold, share=0.1) or text
    return f"## Text\n\n> {bold}\n\n---\n[back](#top) ![](image.png)"


def _emoji(text: str, context: ManipulationContext) -> str:
    for start in reversed(sentence_starts(text, context.language)):
        text = put_before(text, context.random.choice(EMOJI), start)
    return in_a_row(text, context.random.choice(EMOJI))


MANIPULATIONS = [
    Manipulation(
        "noise-upper-case", "Upper case", "the text in upper case", lambda text, context: text.upper()
    ),
    Manipulation(
        "noise-lower-case", "Lower case", "the text in lower case", lambda text, context: text.lower()
    ),
    Manipulation(
        "noise-accents",
        "Accents on a third of the words",
        "the text with an accent on a letter of about every third word",
        _some_words(_accented),
    ),
    Manipulation(
        "noise-lookalikes",
        "Cyrillic letters that look the same",
        "the text with Cyrillic letters of the same form in about every third word",
        _some_words(_lookalike),
    ),
    Manipulation(
        "noise-invisible",
        "Characters of no width",
        "the text with a zero-width character in about every third word",
        _some_words(_with_invisible),
    ),
    Manipulation(
        "noise-scanner",
        "Letters as scanners misread them",
        "the text with a scanner error in about every third word",
        _some_words(_misread),
    ),
    Manipulation("noise-spaces", "Blanks doubled", "the text with two spaces between words", _double_spaces),
    Manipulation(
        "noise-html", "Rests of HTML", "the text between HTML tags, with special characters escaped", _html
    ),
    Manipulation(
        "noise-markdown",
        "Rests of Markdown",
        "the text as a Markdown quotation with some words in bold",
        _markdown,
    ),
    Manipulation(
        "noise-emoji", "An emoji after each sentence", "the text with an emoji after each sentence", _emoji
    ),
    Manipulation(
        "noise-urls",
        "Addresses of web pages appended",
        "the text followed by five URLs",
        lambda text, context: in_a_row(text, _URLS),
    ),
    Manipulation(
        "noise-boilerplate",
        "What web pages have above and below",
        "the text between the menu, cookie notice and imprint of a web page",
        lambda text, context: BEFORE + text + AFTER,
    ),
]


FAMILY = Family("noise", "effect of noise that readers overlook", partial(over_collections, MANIPULATIONS))
