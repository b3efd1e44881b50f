"""Manipulations that misspell words: common misspellings from a list, and typing errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from termwise.collection import read_json_lines, read_lines
from termwise.errors import DataError, MalformedRecordError, MissingExtraError
from termwise.probes.manipulations.base import Manipulation, ManipulationContext
from termwise.probes.manipulations.changes import cased_like
from termwise.probes.manipulations.positions import words
from termwise.probes.manipulations.text_edits import Place, contents, replaced
from termwise.text.characters import lower_case
from termwise.text.tokenizer import UnicodeWords

Misspellings = Mapping[str, tuple[str, ...]]
"""Sorted misspellings by correct word in lower case."""

_JSON = (".jsonl", ".jsonl.gz", ".json", ".json.gz")
_EXPECTED = '{"correct": "...", "typos": ["...", ...]} or {"correct": "...", "typo": "..."}'


@cache
def codespell_misspellings() -> Misspellings:
    """Return the misspellings of the package codespell, of the extra ``probe``.

    Source: https://github.com/codespell-project/codespell; the list is under CC BY-SA 3.0.

    Examples
    --------
    >>> "begining" in codespell_misspellings()["beginning"]
    True
    """
    package = find_spec("codespell_lib")
    if package is None or package.origin is None:
        raise MissingExtraError.of("codespell", "probe", "a list of typos")
    return read_misspellings(Path(package.origin).with_name("data") / "dictionary.txt")


def read_misspellings(path: str | Path) -> Misspellings:
    r"""Read a list of misspellings.

    Corrections of several words are left out. Misspellings that are or contain a correct word of the list are also left
    out, so that no correct word of the list remains after the manipulation.

    The file is plain or compressed. Files ``.jsonl`` have a JSON object per line, ``{"correct": "...", "typos":
    ["..."]}`` or ``{"correct": "...", "typo": "..."}``. Other files have the format of codespell:
    ``misspelling->word``, or ``misspelling->word, another, remark``, where the remark can be empty. Lines that begin
    with ``#`` are skipped.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "typos.txt"
    ...     _ = path.write_text("teh->the\nadn->and\nhte->the\n")
    ...     read_misspellings(path)
    {'the': ('hte', 'teh'), 'and': ('adn',)}
    """
    path = Path(path)
    pairs = list(_objects(path) if path.name.endswith(_JSON) else _arrows(path))
    words = {correct.lower() for _, correct in pairs}
    typos_of: dict[str, set[str]] = {}
    for typo, correct in pairs:
        if correct and not any(map(str.isspace, typo + correct)) and not _contains(typo.lower(), words):
            typos_of.setdefault(correct.lower(), set()).add(typo)
    if not typos_of:
        raise DataError("a list of misspellings has no usable entry", facts=[("file", path)])
    return {correct: tuple(sorted(typos)) for correct, typos in typos_of.items()}


def _contains(typo: str, words: Collection[str]) -> bool:
    return any(word in words for word in (typo, *UnicodeWords().words(typo)))


def _objects(path: Path) -> Iterator[tuple[str, str]]:
    for line, record in read_json_lines(path):
        typos: Any = record.get("typos", [record.get("typo")])
        correct = record.get("correct")
        if not isinstance(correct, str) or not _are_words(typos):
            raise MalformedRecordError.at(path, line, expected=_EXPECTED, seen=str(record))
        for typo in typos:
            yield typo.strip(), correct.strip()


def _are_words(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) and value.strip() for value in values)


def _arrows(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in read_lines(path):
        if line.startswith("#"):
            continue
        typo, arrow, rest = line.partition("->")
        if not arrow or not typo.strip() or not rest.strip():
            raise MalformedRecordError.at(path, number, expected="misspelling->word", seen=line)
        *several, last = rest.split(",")
        for correct in several or [last]:
            yield typo.strip(), correct.strip()


SHORTEST = 4
"""Minimum number of letters of a mistyped word."""

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ADJACENT = {(0, -1), (0, 1), (1, -1), (1, 0), (-1, 0), (-1, 1)}
"""Rows and columns between adjacent keys: each row is half a key to the right of the row above."""


def misspelling(misspellings: Misspellings | None = None) -> Manipulation:
    """Return the manipulation that misspells every listed word except stop words, keeping the case of the word.

    The misspellings are those of codespell by default, which need the extra ``probe``.
    """
    return Manipulation(
        "typos",
        "Typos",
        "the text with a misspelling of every listed word except stop words",
        partial(_misspell, misspellings=misspellings),
        extra="probe" if misspellings is None else "",
    )


def _misspell(text: str, context: ManipulationContext, misspellings: Misspellings | None) -> str:
    known = codespell_misspellings() if misspellings is None else misspellings
    places = [
        place for place in _listed(text, known) if not context.is_stop_word(text[place.start : place.end])
    ]
    typos = [cased_like(context.random.choice(known[_key(word)]), word) for word in contents(text, places)]
    return replaced(text, places, typos)


def _listed(text: str, known: Misspellings) -> list[Place]:
    """Return the places of listed words: words between spaces, or otherwise their parts between hyphens."""
    places = []
    for start, end in words(text):
        if _key(text[start:end]) in known:
            places.append(Place(start, end))
        else:
            parts = _listed_parts(text[start:end], known)
            places += [Place(start + first, start + last) for first, last in parts]
    return places


def _listed_parts(text: str, known: Misspellings) -> Iterator[tuple[int, int]]:
    for start, end in UnicodeWords().spans(text):
        without_suffix = start + len(_key(text[start:end]).partition("'")[0])
        for last in (end, without_suffix):
            if _key(text[start:last]) in known:
                yield start, last
                break


def _key(word: str) -> str:
    return lower_case(word).replace("’", "'")


def mistype(text: str, context: ManipulationContext, every: int = 10) -> str:
    """Make a typing error in one of `every` words, at least one.

    Only words of at least 4 letters from a to z that are not stop words are mistyped. Their first letter is unchanged.
    """
    places = [Place(*span) for span in UnicodeWords().spans(text)]
    count = max(1, round(len(places) / every))
    candidates = [place for place in places if _can_mistype(text[place.start : place.end], context)]
    chosen = sorted(context.random.sample(candidates, min(count, len(candidates))))
    return replaced(text, chosen, [mistyped(word, context.random) for word in contents(text, chosen)])


def _can_mistype(word: str, context: ManipulationContext) -> bool:
    is_long = len(word) >= SHORTEST
    return is_long and word.isascii() and word.isalpha() and not context.is_stop_word(word)


def mistyped(word: str, random: Random) -> str:
    """Return a word with one typing error: a letter replaced by an adjacent key, dropped, doubled or swapped.

    The word has two letters or more from a to z, in any case.

    Examples
    --------
    >>> [mistyped("keyboard", Random(seed)) for seed in range(1, 6)]
    ['ketboard', 'keyboar', 'keuboard', 'keboard', 'keybosrd']
    """
    place = random.randrange(1, len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    errors = [
        before + after,
        before + letter + letter + after,
        before + _adjacent_key(letter, random) + after,
    ]
    if place > 1 and word[place - 1] != letter:
        errors.append(before[:-1] + letter + before[-1] + after)
    return random.choice(errors)


def _adjacent_key(letter: str, random: Random) -> str:
    key = letter.lower()
    row = next(number for number, keys in enumerate(_KEYBOARD) if key in keys)
    column = _KEYBOARD[row].index(key)
    adjacent = [
        other
        for other_row, keys in enumerate(_KEYBOARD)
        for other_column, other in enumerate(keys)
        if (other_row - row, other_column - column) in _ADJACENT
    ]
    chosen = random.choice(adjacent)
    return chosen.upper() if letter.isupper() else chosen
