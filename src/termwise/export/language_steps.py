"""Steps of analyzers of languages as data, for the query kit: spellings, and the rules of light stemmers.

The rules of a step ``first`` are triples: the length that a word must exceed, a regular expression, and what replaces
its matches. The first rule that fits is applied. A step ``longer`` applies its steps to words that exceed a length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from termwise.text import light_stems, spelling
from termwise.text.english_plurals import ENGLISH_PLURALS
from termwise.text.spelling import ELIDED
from termwise.text.token_filters import POSSESSIVE_S

LANGUAGES = ("arabic", "czech", "german", "hindi", "italian", "persian", "portuguese", "spanish")
"""Languages whose steps can be described."""

SNOWBALL_LANGUAGES = tuple(
    "armenian basque catalan danish esperanto estonian finnish greek hungarian indonesian lithuanian nepali norwegian "  # noqa: SIM905
    "polish romanian russian serbian sesotho swedish tamil yiddish".split()
)
"""Languages that are stemmed by Snowball, which is not described. Their analyzers with parts are, too."""

_SNOWBALL = re.compile("stem:snowball-([a-z_]+)-3\\.1")

BLOCK = 256
"""Number of neighbouring characters that are tested at once for replacements."""

Rules = list[tuple[int, str, str]]


@cache
def language_steps() -> dict[str, list[dict[str, Any]]]:
    """Return the description of each step, by the name of the `WordStep`."""
    return {
        "digits:ascii": [_characters(spelling.ascii_digits)],
        "letters:arabic": [_characters(spelling.arabic_letters)],
        "letters:persian": [_characters(spelling.persian_letters)],
        "vowels:devanagari": [{"replace": dict(spelling.DEVANAGARI_WHOLE)}],
        "letters:hindi": [
            {"replace": {"\u0928\u094d": "\u0902"}},
            _characters(spelling.hindi_letters),
        ],
        "letters:german": [
            {"first": [(0, "(?<=[ao])e|(?<=(?<![aeioquyäöü])u)e", "")]},
            _characters(spelling.german_letters),
        ],
        "plural:german-s": [
            {"first": [(light_stems.SHORTEST_WITH_S, light_stems.GERMAN_S.pattern, "")]},
        ],
        "singular:english": [
            {"first": [(0, f"^{plural}(?='|$)", new) for plural, new in ENGLISH_PLURALS.items()]}
        ],
        "possessive": [{"first": [(0, POSSESSIVE_S.pattern, "")]}],
        "elision:catalan": [_elision(ELIDED["catalan"])],
        "elision:italian": [_elision(ELIDED["italian"])],
        "letters:romanian": [_characters(spelling.romanian_letters)],
        "letters:serbian": [_characters(spelling.serbian_latin)],
        "lower-case:greek": [_characters(spelling.greek_lower_case)],
        "vowels:tamil": [{"replace": dict(spelling.TAMIL_WHOLE)}],
        "stem:light-arabic": [
            {
                "first": [
                    (max(4, len(prefix) + 2) - 1, f"^{prefix}", "") for prefix in light_stems.ARABIC_PREFIXES
                ]
            },
            *_without_all(light_stems.ARABIC_SUFFIXES),
        ],
        "stem:light-czech": [
            _endings(light_stems.CZECH_CASES),
            _endings(light_stems.CZECH_POSSESSIVES),
            {
                "first": [
                    *((0, f"{ending}$", new) for ending, new in light_stems.CZECH_CONSONANTS),
                    (0, "e(?=.$)", ""),
                    (2, "ů(?=.$)", "o"),
                ]
            },
        ],
        "stem:light-german": [
            _characters_of(light_stems.GERMAN_LETTERS),
            _endings(light_stems.GERMAN_1),
            _endings(light_stems.GERMAN_2),
        ],
        "stem:light-hindi": [_endings(light_stems.HINDI)],
        "stem:light-italian": [
            _longer(5, _characters_of(light_stems.ROMANCE_LETTERS), _endings(light_stems.ITALIAN))
        ],
        "stem:light-persian": _without_all(light_stems.PERSIAN_SUFFIXES),
        "stem:light-portuguese": [
            _longer(
                3,
                _endings(light_stems.PORTUGUESE_PLURALS),
                _endings(light_stems.PORTUGUESE_FEMININES),
                {"first": [(4, "[eao]$", "")]},
                _characters_of(light_stems.PORTUGUESE_LETTERS),
            )
        ],
        "stem:light-spanish": [
            _longer(4, _characters_of(light_stems.ROMANCE_LETTERS), _endings(light_stems.SPANISH))
        ],
    }


def snowball_steps(name: str) -> list[dict[str, Any]]:
    """Return the description of a stemmer of Snowball by the name of its `WordStep`; an empty list for other steps.

    Examples
    --------
    >>> snowball_steps("stem:snowball-swedish-3.1")
    [{'stem': 'snowball', 'language': 'swedish'}]
    """
    if name == "stem:lucene-greek-snowball-3.1":
        return [_longer(3, {"stem": "snowball", "language": "greek"})]
    found = _SNOWBALL.fullmatch(name)
    return [{"stem": "snowball", "language": found[1]}] if found else []


def _longer(length: int, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"longer": length, "steps": list(steps)}


def _endings(rules: Iterable[tuple[int, str, str]]) -> dict[str, Any]:
    """Return the step that replaces the first ending that fits."""
    return {"first": [(longer, f"{ending}$", new) for longer, ending, new in rules]}


def _without_all(suffixes: Iterable[str]) -> list[dict[str, Any]]:
    """Return steps that remove each suffix, in order, if two characters are left."""
    return [{"first": [(len(suffix) + 1, f"{suffix}$", "")]} for suffix in suffixes]


@cache
def _blocks() -> list[str]:
    """Return the characters of Unicode planes 0 and 1 in blocks. No other plane has characters that are replaced."""
    return ["".join(map(chr, range(begin, begin + BLOCK))) for begin in range(0, 0x20000, BLOCK)]


def _characters(function: Callable[[str], str]) -> dict[str, Any]:
    """Return the step of a function that replaces each character by itself; most blocks stay as they are."""
    changed = "".join(block for block in _blocks() if function(block) != block)
    return {"replace": {char: form for char in changed if (form := function(char)) != char}}


def _characters_of(table: dict[int, Any]) -> dict[str, Any]:
    """Return the step of a table of ``str.translate``."""
    return {"map": ["".join(map(chr, table)), "".join(chr(point) for point in table.values())]}


def _elision(elided: Iterable[str]) -> dict[str, Any]:
    """Return the step that removes an elided word from the beginning, in upper or lower case."""
    words = ("".join(f"[{letter}{letter.upper()}]" for letter in re.escape(word)) for word in sorted(elided))
    return {"first": [(0, f"^(?:{'|'.join(words)})['’](?=.)", "")]}
