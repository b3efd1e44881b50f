"""Lists of misspellings by correct word."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from termwise.collection import read_json_lines, read_lines
from termwise.errors import DataError, MalformedRecordError, MissingExtraError
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
