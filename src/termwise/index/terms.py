"""Terms of an open index: vocabulary, whose look-ups read the mapped files, floors, query weights and query table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from termwise.errors import WeightError
from termwise.index.manifest import Manifest
from termwise.index.manifest_records import AddedTerms
from termwise.index.open_files import OpenFiles
from termwise.index.string_table import PackedStrings, StringTable
from termwise.storage.file_record import text_fingerprint
from termwise.text.vocabulary import BACKGROUND, Vocabulary
from termwise.vectors import TermVectors

CACHED_TOKENS = 1 << 14
"""Tokens whose numbers are kept after a look-up: words of queries repeat."""

LONGEST_CACHED = 64
"""Characters of the longest of them."""


class MappedVocabulary:
    """Vocabulary of an index; look-ups read the mapped files.

    `tables` have the tokens of the build, and those that were added later, in the order of their numbers; `identity` is
    that in the manifest.
    """

    def __init__(self, tables: Sequence[StringTable], *, background: bool, identity: str) -> None:
        self._tables = tuple(tables)
        self._background = background
        self._identity = identity
        self._firsts = [sum(map(len, self._tables[:i])) for i in range(len(self._tables))]
        self._length = sum(map(len, self._tables))
        self._numbers: dict[str, int | None] = {}

    def __len__(self) -> int:
        """Return the number of tokens without the reserved background term."""
        return self._length

    def number(self, token: str) -> int | None:
        """Return the number of a token, or None if it is unknown."""
        try:
            return self._numbers[token]
        except KeyError:
            number = self._number(token)
        if len(token) <= LONGEST_CACHED:
            if len(self._numbers) >= CACHED_TOKENS:
                self._numbers.clear()
            self._numbers[token] = number
        return number

    def _number(self, token: str) -> int | None:
        for first, table in zip(self._firsts, self._tables, strict=True):
            number = table.find(token)
            if number is not None:
                return first + number
        return None

    def numbers(self, tokens: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of several tokens, -1 for unknown ones; faster than `number`."""
        packed = PackedStrings(tokens)
        numbers = np.full(len(tokens), -1, dtype=np.int64)
        for first, table in zip(self._firsts, self._tables, strict=True):
            found = table.find_packed(packed)
            numbers = np.where(found >= 0, found + first, numbers)
        return numbers

    def token(self, number: int) -> str:
        """Return the token with a number; ``[background]`` for the background term."""
        if number == self.background:
            return BACKGROUND
        place = bisect_right(self._firsts, number) - 1
        return self._tables[place].get(number - self._firsts[place])

    def tokens(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return the tokens with several numbers, in ascending order; faster than `token`."""
        bounds = np.searchsorted(numbers, [*self._firsts, self._length]).tolist()
        tokens: list[str] = []
        for table, first, (begin, end) in zip(self._tables, self._firsts, pairwise(bounds), strict=True):
            tokens += table.get_many(numbers[begin:end] - first)
        return tokens

    def starting_with(self, prefix: str) -> npt.NDArray[np.int64]:
        """Return the numbers of the tokens that begin with a prefix, in any order."""
        found = (table.starting_with(prefix) for table in self._tables)
        return np.concatenate([first + numbers for first, numbers in zip(self._firsts, found, strict=True)])

    def code_points(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Return the characters of all tokens; see `StringTable.code_points`."""
        points, starts = zip(*(table.code_points() for table in self._tables), strict=True)
        lengths = np.concatenate([np.diff(each) for each in starts])
        return np.concatenate(points), np.concatenate([[0], np.cumsum(lengths)])

    @property
    def background(self) -> int | None:
        """Number of the reserved background term, or None."""
        return self._length if self._background else None

    @property
    def id(self) -> str:
        """Identity from the manifest: equal ids mean equal numberings."""
        return self._identity

    def check(self) -> None:
        """Check every token and their order; see `StringTable.check`."""
        for table in self._tables:
            table.check()

    def load(self) -> Vocabulary:
        """Read all tokens into memory."""
        return Vocabulary(self._tokens(self._tables), background=self._background)

    def built(self) -> Vocabulary:
        """Read the tokens of the build into memory."""
        return Vocabulary(self._tokens(self._tables[:1]), background=self._background)

    @staticmethod
    def _tokens(tables: Sequence[StringTable]) -> Iterator[str]:
        return (table.get(number) for table in tables for number in range(len(table)))


def grown_vocabulary(built: str, added: Sequence[AddedTerms]) -> str:
    """Return the identity of a vocabulary with added terms."""
    if not added:
        return built
    return text_fingerprint("\n".join([built, *(record.file.sha256 for record in added)]))


def open_terms(
    files: OpenFiles, manifest: Manifest
) -> tuple[MappedVocabulary, npt.NDArray[np.float64], npt.NDArray[np.float32]]:
    """Return vocabulary, floors and query weights of an index: the terms of the build, and those added later."""
    terms = files.container(manifest.terms_file, "terms")
    added = []
    for record in manifest.added_terms:
        container = files.container(record.file, "added")
        added.append((container, container.array("added.floors", "<f8", record.terms)))
    vocabulary = MappedVocabulary(
        [
            StringTable(terms, "terms", manifest.built_terms),
            *(StringTable(file, "terms", len(floors)) for file, floors in added),
        ],
        background=manifest.background,
        identity=manifest.vocabulary,
    )
    slots = manifest.built_terms + manifest.background
    floors = terms.array("floors", "<f8", slots if len(terms.array("floors", "<f8")) else 0)
    if added and len(floors):
        built = floors[: manifest.built_terms]
        floors = np.concatenate([built, *(part for _, part in added), floors[len(built) :]])
    weights = terms.array("query_weights", "<f4")
    weights = terms.array("query_weights", "<f4", manifest.built_terms if len(weights) else 0)
    if added and len(weights):  # added terms have no fixed query weight
        weights = np.pad(weights, (0, manifest.terms - len(weights)))
    return vocabulary, floors, weights


def open_term_vectors(files: OpenFiles, manifest: Manifest) -> TermVectors | None:
    """Return the query table of an index; None if it does not rank by vectors."""
    terms = files.container(manifest.terms_file, "terms")
    record, count = manifest.vectors, manifest.built_terms
    if record is None:
        return None
    rows = terms.array("term_vectors.rows", "i1", count * record.dimensions)
    shifts = terms.array("term_vectors.shifts", "u1", count)
    try:
        return TermVectors(rows.reshape(count, record.dimensions), shifts, record.scale, manifest.vocabulary)
    except WeightError as error:
        seen = f"{int(shifts.max(initial=0))}"
        raise terms.damaged("term_vectors.shifts", error.facts[0][1], seen) from None
