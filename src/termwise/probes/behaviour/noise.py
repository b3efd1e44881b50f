"""Surface noise: what a reader overlooks, and what scanners, browsers and crawlers leave in a text."""

from __future__ import annotations

import html
import random
import re
import unicodedata

from termwise.probes.behaviour.changes import Change, changed
from termwise.probes.behaviour.wording import sentence_starts, with_some_words
from termwise.probes.core.probe import Probe
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.text_edits import in_a_row

MARKS = dict.fromkeys("aeiouAEIOU", "\u0301\u0300\u0302\u0308") | {
    letter: mark
    for letters, mark in (("nN", "\u0303"), ("cC", "\u0327"), ("sSzZ", "\u030c"))
    for letter in letters
}
"""Accents that a letter can bear, as combining characters."""

LOOKALIKES = dict(zip("aceopxyijsABCEHKMOPTX", "асеорхуіјѕАВСЕНКМОРТХ", strict=True))
"""Latin letters, and Cyrillic ones that look the same."""

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"
"""Characters of no width."""

MISREAD = {
    "rn": "m",
    "m": "rn",
    "cl": "d",
    "li": "h",
    "l": "1",
    "o": "0",
    "e": "c",
    "h": "b",
    "i": "l",
    "S": "5",
    "B": "8",
    "O": "0",
    "I": "l",
    "5": "S",
    "0": "O",
    "1": "l",
}
"""What a scanner takes for something else."""

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


def _accented(word: str, drawing: random.Random) -> str | None:
    places = [place for place, letter in enumerate(word) if letter in MARKS]
    if not places:
        return None
    place = drawing.choice(places)
    letter = unicodedata.normalize("NFC", word[place] + drawing.choice(MARKS[word[place]]))
    return word[:place] + letter + word[place + 1 :]


def _lookalike(word: str, drawing: random.Random) -> str | None:
    return "".join(LOOKALIKES.get(letter, letter) for letter in word)


def _with_invisible(word: str, drawing: random.Random) -> str | None:
    if len(word) < 2:
        return None
    place = drawing.randrange(1, len(word))
    return word[:place] + drawing.choice(INVISIBLE) + word[place:]


def _misread(word: str, drawing: random.Random) -> str | None:
    places = [
        (place, seen)
        for seen in MISREAD
        for place in range(len(word) - len(seen) + 1)
        if word.startswith(seen, place)
    ]
    if not places:
        return None
    place, seen = drawing.choice(places)
    return word[:place] + MISREAD[seen] + word[place + len(seen) :]


def _bold(word: str, drawing: random.Random) -> str | None:
    return f"**{word}**" if len(word) > 3 else None


def _upper(text: str, around: Around) -> str:
    return text.upper()


def _lower(text: str, around: Around) -> str:
    return text.lower()


def _accents(text: str, around: Around) -> str | None:
    return with_some_words(text, around.random, _accented)


def _lookalikes(text: str, around: Around) -> str | None:
    return with_some_words(text, around.random, _lookalike)


def _invisible(text: str, around: Around) -> str | None:
    return with_some_words(text, around.random, _with_invisible)


def _scanned(text: str, around: Around) -> str | None:
    return with_some_words(text, around.random, _misread)


def _wide(text: str, around: Around) -> str:
    return re.sub(r"(?<=\S) (?=\S)", "  ", text)


def _html(text: str, around: Around) -> str:
    return f'<div class="content"><p>{html.escape(text, quote=False)}</p>&nbsp;<br/></div>'


def _markdown(text: str, around: Around) -> str:
    bold = with_some_words(text, around.random, _bold, share=0.1) or text
    return f"## Text\n\n> {bold}\n\n---\n[back](#top) ![](image.png)"


def _emoji(text: str, around: Around) -> str:
    for start in reversed(sentence_starts(text, around.language)):
        text = f"{text[:start]}{around.random.choice(EMOJI)} {text[start:]}"
    return in_a_row(text, around.random.choice(EMOJI))


def _urls(text: str, around: Around) -> str:
    return in_a_row(text, _URLS)


def _boilerplate(text: str, around: Around) -> str:
    return BEFORE + text + AFTER


CHANGES = (
    Change("noise-upper-case", "Upper case", "the text in capitals", _upper),
    Change("noise-lower-case", "Lower case", "the text in small letters", _lower),
    Change(
        "noise-accents",
        "Accents on a third of the words",
        "the text with an accent on a letter of every third word or so",
        _accents,
    ),
    Change(
        "noise-lookalikes",
        "Cyrillic letters that look the same",
        "the text with Cyrillic letters in every third word or so, which look the same",
        _lookalikes,
    ),
    Change(
        "noise-invisible",
        "Characters of no width",
        "the text with a character of no width within every third word or so",
        _invisible,
    ),
    Change(
        "noise-scanner",
        "Letters as scanners misread them",
        "the text with every third word or so as a scanner might misread it",
        _scanned,
    ),
    Change("noise-spaces", "Blanks doubled", "the text with two blanks between words", _wide),
    Change(
        "noise-html", "Rests of HTML", "the text between tags of HTML, with entities for its signs", _html
    ),
    Change(
        "noise-markdown",
        "Rests of Markdown",
        "the text as a quotation in Markdown, some words in bold",
        _markdown,
    ),
    Change(
        "noise-emoji", "An emoji after each sentence", "the text with an emoji after each sentence", _emoji
    ),
    Change(
        "noise-urls",
        "Addresses of web pages appended",
        "the text with five addresses of web pages behind it",
        _urls,
    ),
    Change(
        "noise-boilerplate",
        "What web pages have above and below",
        "the text between menu, notice of cookies and imprint of a web page",
        _boilerplate,
    ),
)


def noise_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes, over our passages and every judged collection."""
    return [*changed(CHANGES, material)]


FAMILY = Family("noise", "does a text lose by what a reader overlooks?", noise_probes)
