"""Entries of the terms of all parts, in shards of neighbouring terms.

An entry is what a query reads for a term: its postings, or its row in a table of queries. A shard has a section for
each part, so that the stem of a word and its word piece, which are neighbours, are mostly one request. The order is
that of their UTF-16 units, which is that of JavaScript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from termwise.export.web.files import SearchFiles, short_names
from termwise.progress import Progress

SHARD = 8192
"""Largest size of a shard in bytes before compression. A term with more bytes has a shard of its own."""


def utf16_key(string: str) -> bytes:
    """Return the key of the order in which JavaScript sorts strings."""
    return string.encode("utf-16-be", "surrogatepass")


@dataclass(frozen=True, eq=False)
class Entries:
    """Data that a query reads for each term of a part: postings, or a row of the query table.

    Attributes
    ----------
    terms : sequence of str
    sizes : sequence of int
        Bytes of each entry, roughly.
    section : callable
        Returns header and numbers of the entries at some places.
    """

    terms: Sequence[str]
    sizes: Sequence[int]
    section: Callable[[list[int]], tuple[dict[str, Any], bytes]]


def write_terms(
    files: SearchFiles, parts: Sequence[Entries], frequent: Sequence[set[str]], progress: Progress
) -> dict[str, Any]:
    """Write the shards of all parts, without the terms that are frequent in queries; return their description."""
    firsts, names = [], []
    for shard in _shards(parts, frequent):
        firsts.append(parts[shard[0][0]].terms[shard[0][1]])
        places = [[place for part, place in shard if part == number] for number in range(len(parts))]
        header, body = sections(parts, places)
        names.append(files.add_shard("terms", header, body))
        progress("write terms", len(names), None)
    return {"firsts": firsts, "files": short_names(names)}


def sections(
    parts: Sequence[Entries], places: Sequence[list[int]], start: int = 0
) -> tuple[list[tuple[dict[str, Any], int, int]], bytes]:
    """Return the header of some entries of each part, with the range of its numbers, and the numbers."""
    headers, body = [], b""
    for part, chosen in zip(parts, places, strict=True):
        header, numbers = part.section(chosen)
        headers.append((header, start + len(body), start + len(body) + len(numbers)))
        body += numbers
    return headers, body


def _shards(parts: Sequence[Entries], frequent: Sequence[set[str]]) -> Iterator[list[tuple[int, int]]]:
    """Cut part and place of the sorted terms into shards of at most `SHARD` bytes, or of one term."""
    entries = [
        (utf16_key(term), number, place)
        for number, part in enumerate(parts)
        for place, term in enumerate(part.terms)
        if term not in frequent[number]
    ]
    shard: list[tuple[int, int]] = []
    size = 0
    for _, same in groupby(sorted(entries), key=lambda entry: entry[0]):
        owners = [(number, place) for _, number, place in same]
        needed = sum(
            len(parts[number].terms[place]) + 8 + parts[number].sizes[place] for number, place in owners
        )
        if shard and size + needed > SHARD:
            yield shard
            shard, size = [], 0
        shard += owners
        size += needed
    if shard:
        yield shard
