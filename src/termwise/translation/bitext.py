"""Bitext: queries paired with chunks of their relevant passages, as term numbers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.errors import EmptyCollectionError, StorageError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.kernels.translation_training import Postings, Side, count_postings, count_tokens, fill_postings
from termwise.parallel import Workers
from termwise.progress import Execution, Progress, Say
from termwise.text import Analyzer, NumberedTexts, Numbering, Vocabulary, number_texts
from termwise.translation.settings import Model1Settings

MEMORY = 1 << 30
"""Size in bytes above which an array is mapped from a file."""

_BATCH = 512
_BATCH_LENGTH = 1 << 17
"""Largest numbers of texts and of characters in an analysed batch."""

_LARGE = 10_000_000
"""Number of cells above which a single pair is reported."""


@dataclass(frozen=True)
class BitextFacts:
    """Counts of the pairs that a bitext was made from.

    Attributes
    ----------
    pairs : int
        Judged pairs read.
    empty : int
        Pairs skipped because one side has no terms.
    chunks : int
        Kept pairs of a query and a chunk.
    uneven : int
        Pairs of a query and a chunk skipped because their lengths differ too much.
    unsampled : int
        Pairs of a query and a chunk outside the sample.
    """

    pairs: int
    empty: int
    chunks: int
    uneven: int
    unsampled: int


@dataclass(frozen=True, eq=False)
class Bitext:
    """Training pairs of token sequences: each query with each of its chunks.

    Row q of both sides belongs to query q; every query has at least one chunk.

    Attributes
    ----------
    vocabulary : Vocabulary
        Numbers the terms of both sides.
    queries, chunks : Side
        A row of `queries` is a single piece, the query.
    query_postings, chunk_postings : Postings
        Occurrences of each term in the queries, and in the chunks. `chunk_postings` is empty unless pairs are swapped.
    passage_frequencies : ndarray of shape (V,), int64
        Number of distinct relevant passages with each term.
    facts : BitextFacts
        Counts of the pairs.
    symmetrised : bool
        Whether each pair is also used with its sides swapped.
    """

    vocabulary: Vocabulary
    queries: Side
    chunks: Side
    query_postings: Postings
    chunk_postings: Postings
    passage_frequencies: npt.NDArray[np.int64]
    facts: BitextFacts
    symmetrised: bool

    @property
    def sequences(self) -> int:
        """Number of pairs of a source and a target side, including swapped ones."""
        return len(self.chunks.first) * (2 if self.symmetrised else 1)

    @cached_property
    def occurrences(self) -> npt.NDArray[np.int64]:
        """Occurrences of each term on the source side; shape (V,)."""
        return self._in_chunks + self._in_queries if self.symmetrised else self._in_chunks

    @cached_property
    def target_counts(self) -> npt.NDArray[np.int64]:
        """Occurrences of each term on the target side; shape (V,)."""
        return self._in_chunks + self._in_queries if self.symmetrised else self._in_queries

    @cached_property
    def _in_chunks(self) -> npt.NDArray[np.int64]:
        counts = np.zeros(len(self.vocabulary), dtype=np.int64)
        count_tokens(self.chunks, np.ones(len(self.chunks.starts) - 1, dtype=np.int64), counts)
        return counts

    @cached_property
    def _in_queries(self) -> npt.NDArray[np.int64]:
        """Occurrences in queries; each query counts once per chunk."""
        counts = np.zeros(len(self.vocabulary), dtype=np.int64)
        count_tokens(self.queries, np.diff(self.chunks.starts), counts)
        return counts


def make_bitext(
    sources: Iterable[PairSource],
    analyzer: Analyzer,
    settings: Model1Settings = Model1Settings(),  # noqa: B008
    *,
    folder: str | Path | None = None,
    memory: int = MEMORY,
    execution: Execution = Execution(),  # noqa: B008
) -> Bitext:
    """Split passages into chunks about as long as their queries, and pair each query with its chunks [1]_.

    Parameters
    ----------
    sources : iterable of PairSource
        Judged pairs; each source is released after it is read.
    analyzer : Analyzer
        Analyzer of the texts. With an open vocabulary, terms are numbered in order of occurrence.
    settings : Model1Settings, optional
        Lengths of chunks, symmetry and sample; the analyzer named there is not used.
    folder : str or Path, optional
        Folder for arrays of more than `memory` bytes, in unnamed files that disappear with the process; by default all
        arrays are in memory.
    memory : int, optional
        Limit in bytes; see `folder`.
    execution : Execution, optional
        Its threads are processes for the analysis of many texts. A message names pairs so long that a single one slows
        training.

    Raises
    ------
    EmptyCollectionError
        If no pair remains.

    References
    ----------
    .. [1] FlexNeuART, CreateBitextFromQRELs and sample_and_filter_long_bitext.py, https://github.com/oaqa/FlexNeuART

    Examples
    --------
    >>> import numpy as np
    >>> from termwise.text import make_analyzer
    >>> pairs = PairSource("toy", ["a b"], ["x y z x y z y"], np.array([[0, 0]], dtype=np.int32))
    >>> bitext = make_bitext([pairs], make_analyzer("whitespace"))
    >>> bitext.chunks.first.tolist(), bitext.chunks.length.tolist()
    ([0, 3, 6], [3, 3, 1])
    """
    random = np.random.default_rng(settings.seed)
    with Workers(partial(number_texts, analyzer), threads=execution.threads) as workers:
        terms = _Terms(analyzer, workers)
        parts = [
            _part(source, terms, settings, random, execution.progress) for source in sources if len(source)
        ]
    facts = BitextFacts(
        **{
            field.name: sum(getattr(part.facts, field.name) for part in parts)
            for field in fields(BitextFacts)
        }
    )
    if facts.chunks == 0:
        raise EmptyCollectionError(
            "there is nothing to train on: no pair has terms on both sides",
            facts=[
                ("analyzer", analyzer.spec.name),
                ("pairs", facts.pairs),
                ("pairs without terms on a side", facts.empty),
                ("chunks of a very different length than their query", facts.uneven),
                ("chunks outside the sample", facts.unsampled),
            ],
            fixes=["choose another analyzer, set a larger longest_ratio or sample, or add data"],
        )
    _report_large([pair for part in parts for pair in part.large], execution.say)
    vocabulary = terms.vocabulary()
    scratch = _Scratch(None if folder is None else Path(folder), memory)
    frequencies = np.zeros(len(vocabulary), dtype=np.int64)
    for part in parts:
        frequencies[: len(part.frequencies)] += part.frequencies
    queries = _joined([part.queries for part in parts], scratch)
    chunks = _joined([part.chunks for part in parts], scratch)
    query_postings = _inverted(queries, len(vocabulary), scratch)
    chunk_postings = _inverted(chunks if settings.symmetrise else _NO_ROWS, len(vocabulary), scratch)
    return Bitext(
        vocabulary, queries, chunks, query_postings, chunk_postings, frequencies, facts, settings.symmetrise
    )


_NO_ROWS = Side(
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int32),
    np.empty(0, dtype=np.int32),
)


@dataclass(frozen=True)
class _Part:
    """Contribution of one source to a `Bitext`."""

    queries: Side
    chunks: Side
    frequencies: npt.NDArray[np.int64]
    facts: BitextFacts
    large: list[_Large]


@dataclass(frozen=True)
class _Large:
    """A pair with very many cells: its number in the source, from 1, and the lengths of its sides."""

    source: str
    number: int
    query: int
    passage: int
    cells: int


def _cells(query: npt.NDArray[np.int32], passage: npt.NDArray[np.int32], *, symmetrise: bool) -> int:
    """Return the number of pairs of distinct terms of two texts."""
    query_terms, passage_terms = np.unique(query), np.unique(passage)
    cells = len(query_terms) * len(passage_terms)
    return 2 * cells - len(np.intersect1d(query_terms, passage_terms)) ** 2 if symmetrise else cells


def _report_large(large: Sequence[_Large], say: Say) -> None:
    if not large:
        return
    largest = max(large, key=lambda pair: pair.cells)
    description = (
        f"pair {largest.number:,} of {largest.source}, {largest.query:,} x {largest.passage:,} terms"
    )
    others = f", and {len(large) - 1:,} more above {_LARGE:,}" if len(large) > 1 else ""
    say(f"{description}, makes {largest.cells:,} cells{others}: such pairs take much time and memory")


class _Terms:
    """Numbers terms as the analyzer does or, with an open vocabulary, in order of occurrence."""

    def __init__(self, analyzer: Analyzer, workers: Workers[list[str], NumberedTexts]) -> None:
        self._analyzer = analyzer
        self._workers = workers
        self._numbers = Numbering((token, number) for number, token in enumerate(analyzer.vocabulary or ()))

    def __len__(self) -> int:
        return len(self._numbers)

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary of all terms so far."""
        return self._analyzer.vocabulary or Vocabulary(self._numbers)

    def rows(
        self, texts: Sequence[str], stage: str, progress: Progress
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return the boundaries of each text's terms, and the terms of all texts."""
        lengths, tokens, done = [], [], 0
        for part in self._workers.map(_batches(texts)):
            lengths.append(np.diff(part.indptr))
            tokens.append(self._numbers.of(part.tokens)[part.numbers])
            done += len(lengths[-1])
            progress(stage, done, len(texts))
        return _boundaries(np.concatenate(lengths)), np.concatenate(tokens)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield batches of bounded number and, except for single long texts, bounded length."""
    batch: list[str] = []
    length = 0
    for text in texts:
        if batch and (len(batch) == _BATCH or length + len(text) > _BATCH_LENGTH):
            yield batch
            batch, length = [], 0
        batch.append(text)
        length += len(text)
    yield batch


def _part(
    source: PairSource,
    terms: _Terms,
    settings: Model1Settings,
    random: np.random.Generator,
    progress: Progress,
) -> _Part:
    used, query_of = np.unique(source.pairs[:, 0], return_inverse=True)
    judged, passage_of = np.unique(source.pairs[:, 1], return_inverse=True)
    query_starts, query_tokens = terms.rows(
        [source.queries[number] for number in used], f"read queries: {source.name}", progress
    )
    passage_starts, passage_tokens = terms.rows(
        [source.passages[number] for number in judged], f"read passages: {source.name}", progress
    )
    order = np.argsort(query_of, kind="stable")
    row, passage = query_of[order], passage_of[order]
    query_length, length = np.diff(query_starts)[row], np.diff(passage_starts)[passage]
    nonempty = (query_length > 0) & (length > 0)
    number, row, passage, query_length, length = (
        values[nonempty] for values in (order, row, passage, query_length, length)
    )
    size = chunk_lengths(query_length, length, settings.ratio)
    pieces = -(-length // size)
    pair = np.repeat(np.arange(len(row)), pieces)
    within = (np.arange(len(pair)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) * size[pair]
    chunk = np.minimum(size[pair], length[pair] - within)
    shorter, longer = np.minimum(chunk, query_length[pair]), np.maximum(chunk, query_length[pair])
    even = longer <= settings.longest_ratio * shorter
    sample = settings.sample
    drawn = even & (random.random(len(pair)) < sample) if sample < 1 else even
    first = (passage_starts[:-1][passage][pair] + within)[drawn]
    chunk_counts = np.bincount(row[pair][drawn], minlength=len(used))
    sampled = np.zeros(len(row), dtype=np.bool_)
    sampled[pair[drawn]] = True
    large = []
    for pair_number in np.flatnonzero(sampled & (2 * query_length * length > _LARGE)).tolist():
        query = query_tokens[query_starts[row[pair_number]] : query_starts[row[pair_number] + 1]]
        answer = passage_tokens[
            passage_starts[passage[pair_number]] : passage_starts[passage[pair_number] + 1]
        ]
        cells = _cells(query, answer, symmetrise=settings.symmetrise)
        if cells > _LARGE:
            large.append(_Large(source.name, int(number[pair_number]) + 1, len(query), len(answer), cells))
    kept = chunk_counts > 0
    counts = BitextFacts(
        pairs=len(source),
        empty=int((~nonempty).sum()),
        chunks=len(first),
        uneven=int((~even).sum()),
        unsampled=int(even.sum() - drawn.sum()),
    )
    chunks = Side(_boundaries(chunk_counts[kept]), first, chunk[drawn].astype(np.int32), passage_tokens)
    rows = np.arange(kept.sum() + 1)
    queries = Side(rows, query_starts[:-1][kept], np.diff(query_starts)[kept].astype(np.int32), query_tokens)
    return _Part(queries, chunks, _frequencies(passage_starts, passage_tokens, len(terms)), counts, large)


def chunk_lengths(
    query_lengths: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], ratio: float
) -> npt.NDArray[np.int64]:
    """Return the smallest n with n / query length >= ratio, at most the passage length; for ratio 0 the passage length.

    Examples
    --------
    >>> chunk_lengths(np.array([2, 3, 10]), np.array([100, 100, 100]), 1.5).tolist()
    [3, 5, 15]
    """
    if ratio == 0:
        return lengths
    # Start at or below the result: the condition is on the quotient, and the product is rounded.
    sizes: npt.NDArray[np.int64] = np.minimum(
        np.maximum(np.floor(ratio * query_lengths) - 1, 1), lengths
    ).astype(np.int64)
    while (short := (sizes / query_lengths < ratio) & (sizes < lengths)).any():
        sizes += short
    return sizes


def _frequencies(
    starts: npt.NDArray[np.int64], tokens: npt.NDArray[np.int32], n_terms: int
) -> npt.NDArray[np.int64]:
    rows = Side(np.arange(len(starts)), starts[:-1], np.diff(starts).astype(np.int32), tokens)
    frequencies: npt.NDArray[np.int64] = np.diff(count_postings(rows, n_terms))
    return frequencies


def _boundaries(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))


def _joined(sides: Sequence[Side], scratch: _Scratch) -> Side:
    """Concatenate the rows of several sides."""
    starts, first = [np.zeros(1, dtype=np.int64)], []
    pieces = tokens = 0
    for side in sides:
        starts.append(side.starts[1:] + pieces)
        first.append(side.first + tokens)
        pieces += len(side.first)
        tokens += len(side.tokens)
    return Side(
        scratch.joined(starts),
        scratch.joined(first),
        scratch.joined([side.length for side in sides]),
        scratch.joined([side.tokens for side in sides]),
    )


def _inverted(side: Side, n_terms: int, scratch: _Scratch) -> Postings:
    starts = count_postings(side, n_terms)
    postings = Postings(starts, *(scratch.empty(int(starts[-1]), np.int32) for _ in range(2)))
    fill_postings(side, postings)
    return postings


class _Scratch:
    """Allocator of arrays: in memory, or mapped from an unnamed file if they are large."""

    def __init__(self, folder: Path | None, memory: int) -> None:
        self._folder = folder
        self._memory = memory

    def empty(self, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        size = length * np.dtype(dtype).itemsize
        if self._folder is None or size <= self._memory:
            return np.empty(length, dtype=dtype)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder) as file:
                os.posix_fallocate(file.fileno(), 0, size)
                return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=(length,)))
        except OSError as error:
            raise StorageError(
                "the disk has no space for the bitext",
                facts=[("folder", self._folder), ("bytes", size), ("reason", error.strerror)],
                fixes=[Fix.use("choose a disk with more space: {}", out=Code("DIR"))],
            ) from error

    def joined(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        joined = self.empty(sum(map(len, parts)), parts[0].dtype)
        return np.concatenate(parts, out=joined)
