"""Estimation of the translation table of IBM Model 1.

One step of expectation maximisation processes a range of target terms. For an occurrence of target f, denominator and
counts involve only the probabilities T(f|u) of that f, so the table is stored by target. For each target, its
probabilities are spread over an array with one element per term, all pairs with f on the target side are read, and the
sums are collected again. No hashing or searching is needed. Ranges of targets are independent, so the results do not
depend on the number of threads.

A bitext has two sides. Row q of both sides belongs to query number q. A row consists of pieces: the query is one piece,
and each chunk of its passages is one. A pair is the query with a chunk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from termwise.kernels.jit import Array, compiled, compiled_for
from termwise.kernels.sorting import copy_of


class Side(NamedTuple):
    """One side of a bitext: rows of pieces, which are slices of `tokens`; pieces may overlap.

    Attributes
    ----------
    starts : ndarray of shape (rows + 1,), int64
        Row boundaries in the next two arrays.
    first : ndarray of shape (pieces,), int64
        Position of the first token of each piece in `tokens`.
    length : ndarray of shape (pieces,), int32
        Number of tokens of each piece.
    tokens : ndarray, int32
        Term numbers.
    """

    starts: Array
    first: Array
    length: Array
    tokens: Array


class Postings(NamedTuple):
    """Postings of a side: the rows that contain each term, and the number of occurrences in each.

    Attributes
    ----------
    starts : ndarray of shape (terms + 1,), int64
        Boundaries of the terms in the next two arrays.
    rows : ndarray, int32
        Strictly increasing for each term.
    counts : ndarray, int32
        Occurrences in all pieces of the row, 1 or more.
    """

    starts: Array
    rows: Array
    counts: Array


SIDE = "Side(int64[:], int64[:], int32[:], int32[:])"
POSTINGS = "Postings(int64[:], int32[:], int32[:])"
"""Types of a side and of postings in signatures."""


@compiled_for(f"{SIDE}, int64")
def count_postings(side: Side, n_terms: int) -> Array:
    """Return the boundaries of the terms in the postings, shape (n_terms + 1,), int64."""
    starts = np.zeros(n_terms + 1, dtype=np.int64)
    seen = np.full(n_terms, -1, dtype=np.int64)
    for row in range(len(side.starts) - 1):
        for piece in range(side.starts[row], side.starts[row + 1]):
            begin = side.first[piece]
            for place in range(begin, begin + side.length[piece]):
                token = side.tokens[place]
                if seen[token] != row:
                    seen[token] = row
                    starts[token + 1] += 1
    for term in range(n_terms):
        starts[term + 1] += starts[term]
    return starts


@compiled_for(f"{SIDE}, {POSTINGS}")
def fill_postings(side: Side, postings: Postings) -> None:
    """Fill rows and counts of postings; `count_postings` computes their starts."""
    n_terms = len(postings.starts) - 1
    cursor = postings.starts[:-1].copy()
    seen = np.full(n_terms, -1, dtype=np.int64)
    for row in range(len(side.starts) - 1):
        for piece in range(side.starts[row], side.starts[row + 1]):
            begin = side.first[piece]
            for place in range(begin, begin + side.length[piece]):
                token = side.tokens[place]
                if seen[token] != row:
                    seen[token] = row
                    slot = cursor[token]
                    postings.rows[slot] = row
                    postings.counts[slot] = 1
                    cursor[token] = slot + 1
                else:
                    postings.counts[cursor[token] - 1] += 1


@compiled_for(f"{SIDE}, int64[:], out(int64[:])")
def count_tokens(side: Side, times: Array, counts: Array) -> None:
    """Add ``times[row]`` to `counts` (int64) of a term for each of its occurrences in a row."""
    for row in range(len(side.starts) - 1):
        for piece in range(side.starts[row], side.starts[row + 1]):
            begin = side.first[piece]
            for place in range(begin, begin + side.length[piece]):
                counts[side.tokens[place]] += times[row]


@compiled_for(f"{POSTINGS}, {SIDE}, out(int64[:])")
def count_updates(postings: Postings, side: Side, work: Array) -> int:
    """Count the operations of one step of expectation maximisation.

    Parameters
    ----------
    postings : Postings
        Postings of the targets.
    side : Side
        Side of the sources.
    work : ndarray of shape (terms,), int64
        Output: the number of source tokens to read for each target, including NULL, is added.

    Returns
    -------
    int
        Number of pairs of a source token, or NULL, and a target token.
    """
    sizes = np.zeros(len(side.starts) - 1, dtype=np.int64)
    for row in range(len(sizes)):
        for piece in range(side.starts[row], side.starts[row + 1]):
            sizes[row] += side.length[piece] + 1
    updates = 0
    for term in range(len(postings.starts) - 1):
        for position in range(postings.starts[term], postings.starts[term + 1]):
            size = sizes[postings.rows[position]]
            work[term] += size
            updates += size * postings.counts[position]
    return updates


@compiled
def _mark(target: int, postings: Postings, side: Side, seen: Array, found: Array, size: int) -> int:
    """Append the new sources of a target to `found`; return the new number of sources."""
    for position in range(postings.starts[target], postings.starts[target + 1]):
        row = postings.rows[position]
        for piece in range(side.starts[row], side.starts[row + 1]):
            begin = side.first[piece]
            for place in range(begin, begin + side.length[piece]):
                token = side.tokens[place]
                if seen[token] != target:
                    seen[token] = target
                    found[size] = token
                    size += 1
    return size


@compiled_for(f"int64, int64, {POSTINGS}, {SIDE}, {POSTINGS}, {SIDE}, out(int64[:])")
def find_cells(
    first: int,
    last: int,
    query_postings: Postings,
    chunks: Side,
    chunk_postings: Postings,
    queries: Side,
    counts: Array,
) -> Array:
    """Find the sources that occur in a pair with each target of a range.

    Parameters
    ----------
    first, last : int
        Half-open range of targets.
    query_postings, chunks : Postings and Side
        Targets in queries and sources in chunks.
    chunk_postings, queries : Postings and Side
        Targets in chunks and sources in queries, for swapped pairs; empty postings if pairs are not swapped.
    counts : ndarray of shape (terms,), int64
        Output: the number of sources of each target of the range without NULL.

    Returns
    -------
    ndarray, int32
        Sources of the targets in the order of their first occurrence.
    """
    n_terms = len(query_postings.starts) - 1
    seen = np.full(n_terms, -1, dtype=np.int64)
    found = np.empty(4 * n_terms, dtype=np.int32)
    size = 0
    for target in range(first, last):
        if size + n_terms > len(found):
            found = copy_of(found, size, 2 * len(found) + n_terms)
        before = size
        size = _mark(target, query_postings, chunks, seen, found, size)
        size = _mark(target, chunk_postings, queries, seen, found, size)
        counts[target] = size - before
    return copy_of(found, size, size)


@compiled
def _distribute(
    target: int, postings: Postings, side: Side, chances: Array, null: float, drop: float, gathered: Array
) -> tuple[float, float]:
    """Distribute the occurrences of a target over their sources; return the share of NULL and the log-likelihood."""
    null_count = 0.0
    logs = 0.0
    for position in range(postings.starts[target], postings.starts[target + 1]):
        row = postings.rows[position]
        times = np.float64(postings.counts[position])
        for piece in range(side.starts[row], side.starts[row + 1]):
            begin = side.first[piece]
            end = begin + side.length[piece]
            total = null
            for place in range(begin, end):
                total += chances[side.tokens[place]]
            logs += times * np.log(total / (end - begin + 1))
            inverse = 1.0 / total
            share = null * inverse
            if share > drop:
                null_count += times * share
            for place in range(begin, end):
                token = side.tokens[place]
                share = chances[token] * inverse
                if share > drop:
                    gathered[token] += times * share
    return null_count, logs


@compiled_for(
    f"int64, int64, {POSTINGS}, {SIDE}, {POSTINGS}, {SIDE}, int64[:], int32[:], out(float64[:]), out(float64[:]), "
    "float64[:], float64, float64, float64, out(float64[:])"
)
def expected_counts(
    first: int,
    last: int,
    query_postings: Postings,
    chunks: Side,
    chunk_postings: Postings,
    queries: Side,
    starts: Array,
    sources: Array,
    cells: Array,
    nulls: Array,
    totals: Array,
    null_total: float,
    floor: float,
    drop: float,
    logs: Array,
) -> None:
    """Replace the counts of a range of targets by the expected counts; see `reference.expected_counts`.

    The probability of target f given source u is ``cells / totals[u]``; given NULL it is ``nulls[f] / null_total``.

    Parameters
    ----------
    first, last, query_postings, chunks, chunk_postings, queries
        See `find_cells`.
    starts : ndarray of shape (terms + 1,), int64
        Boundaries of the targets in the next two arrays.
    sources : ndarray, int32
        See `find_cells`.
    cells : ndarray, float64
        Counts of source and target; changed.
    nulls : ndarray of shape (terms,), float64
        Counts of NULL and target; changed.
    totals : ndarray of shape (terms,), float64
        Sum of the counts of each source over all targets.
    null_total : float
        Sum of the counts of NULL.
    floor : float
        Lower bound of probabilities.
    drop : float
        Shares of one occurrence up to this size are ignored.
    logs : ndarray of shape (terms,), float64
        Output: log-likelihood of all occurrences of each target of the range.
    """
    chances = np.zeros(len(totals), dtype=np.float64)
    gathered = np.zeros(len(totals), dtype=np.float64)
    for target in range(first, last):
        for cell in range(starts[target], starts[target + 1]):
            source = sources[cell]
            chance = cells[cell] / totals[source] if totals[source] > 0 else 0.0
            chances[source] = max(chance, floor)
        null = max(nulls[target] / null_total if null_total > 0 else 0.0, floor)
        in_queries = _distribute(target, query_postings, chunks, chances, null, drop, gathered)
        in_chunks = _distribute(target, chunk_postings, queries, chances, null, drop, gathered)
        nulls[target] = in_queries[0] + in_chunks[0]
        logs[target] = in_queries[1] + in_chunks[1]
        for cell in range(starts[target], starts[target + 1]):
            source = sources[cell]
            cells[cell] = gathered[source]
            gathered[source] = 0.0


@compiled_for("int32[:], float64[:], out(float64[:])")
def add_sources(sources: Array, cells: Array, totals: Array) -> None:
    """Add the count of each cell to the total of its source, in the order of the cells."""
    for cell in range(len(sources)):
        totals[sources[cell]] += cells[cell]


@compiled_for("int64[:], int32[:], float64[:], float64[:], float64")
def likely_cells(
    starts: Array, sources: Array, cells: Array, totals: Array, least: float
) -> tuple[Array, Array, Array]:
    """Convert counts to probabilities and keep those of at least `least`.

    Parameters
    ----------
    starts, sources, cells, totals : ndarrays
        See `expected_counts`.
    least : float
        Smaller probabilities are left out, and those that are 0 in float32.

    Returns
    -------
    starts : ndarray of shape (terms + 1,), int64
    sources : ndarray of shape (entries,), int32
    probabilities : ndarray of shape (entries,), float32
    """
    kept = np.int64(0)
    for cell in range(len(cells)):
        total = totals[sources[cell]]
        if total > 0:
            chance = np.float32(cells[cell] / total)
            if chance > 0 and chance >= least:
                kept += 1
    out_starts = np.zeros(len(starts), dtype=np.int64)
    out_sources = np.empty(kept, dtype=np.int32)
    out = np.empty(kept, dtype=np.float32)
    size = np.int64(0)
    for target in range(len(starts) - 1):
        for cell in range(starts[target], starts[target + 1]):
            source = sources[cell]
            if totals[source] > 0:
                chance = np.float32(cells[cell] / totals[source])
                if chance > 0 and chance >= least:
                    out_sources[size] = source
                    out[size] = chance
                    size += 1
        out_starts[target + 1] = size
    return out_starts, out_sources, out
