"""Lists of misspellings, the other way round: for a word, how people misspell it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from termwise.collection import read_json_lines, read_lines
from termwise.errors import DataError, MalformedRecordError, MissingExtraError
from termwise.text.unicode_words import UnicodeWords

Misspellings = Mapping[str, tuple[str, ...]]
"""By the word in lower case, in order."""

_JSON = (".jsonl", ".jsonl.gz", ".json", ".json.gz")
_EXPECTED = '{"correct": "...", "typos": ["...", ...]} or {"correct": "...", "typo": "..."}'


@cache
def codespell_misspellings() -> Misspellings:
    """Return the misspellings that the package codespell [1]_ knows.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    References
    ----------
    .. [1] https://github.com/codespell-project/codespell; the list is under CC BY-SA 3.0.

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

    Left out are corrections of several words, and misspellings that are words of the list themselves, or hold one: once
    every word has come to a misspelling, no word of the list is left.

    Parameters
    ----------
    path : str or Path
        Plain or compressed. If the name ends in ``.jsonl``, a JSON object a line,
        ``{"correct": "...", "typos": ["..."]}`` or ``{"correct": "...", "typo": "..."}``. Otherwise lines as codespell
        has them: ``misspelling->word``, or ``misspelling->word, another, why``, where what follows the last comma is a
        remark and may be empty. Lines that begin with ``#`` are skipped.

    Raises
    ------
    MissingFileError
        If the file cannot be read.
    MalformedRecordError
        If a line is something else.
    DataError
        If nothing is left.

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
    found: dict[str, set[str]] = {}
    for typo, correct in pairs:
        if correct and not _has_space(typo + correct) and not _holds(typo.lower(), words):
            found.setdefault(correct.lower(), set()).add(typo)
    if not found:
        raise DataError("a list of typos has none that can be used", facts=[("file", path)])
    return {correct: tuple(sorted(typos)) for correct, typos in found.items()}


def _holds(typo: str, words: Collection[str]) -> bool:
    return any(word in words for word in (typo, *UnicodeWords().words(typo)))


def _has_space(text: str) -> bool:
    return any(character.isspace() for character in text)


def _objects(path: Path) -> Iterator[tuple[str, str]]:
    for line, record in read_json_lines(path):
        typos: Any = record.get("typos", [record.get("typo")])
        correct = record.get("correct")
        if not isinstance(correct, str) or not _are_texts(typos):
            raise MalformedRecordError.at(path, line, expected=_EXPECTED, seen=str(record))
        for typo in typos:
            yield typo.strip(), correct.strip()


def _are_texts(values: object) -> bool:
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
