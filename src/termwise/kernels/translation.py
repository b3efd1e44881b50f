"""IBM Model 1: estimation of the translation table, and scores computed with it.

One step of expectation maximisation processes a range of target terms. For an occurrence of target f, denominator and
counts involve only the probabilities T(f|u) of that f, so the table is stored by target. For each target, its
probabilities are spread over an array with one element per term, all pairs with f on the target side are read, and the
sums are collected again. No hashing or searching is needed. Ranges of targets are independent, so the results do not
depend on the number of threads.

A bitext has two sides. Row q of both sides belongs to query number q. A row consists of pieces: the query is one piece,
and each chunk of its passages is one. A pair is the query with a chunk.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from termwise.kernels.jit import Array, compiled

LEAST_MEAN = 1e-8
"""Lower bound of mean translation probabilities without smoothing."""

OK = 0
CORRUPT = 1


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
    """Rows of a side that contain each term, with numbers of occurrences.

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


@compiled
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


@compiled
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


@compiled
def count_tokens(side: Side, times: Array, counts: Array) -> None:
    """Add ``times[row]`` to `counts` (int64) of a term for each of its occurrences in a row."""
    for row in range(len(side.starts) - 1):
        for piece in range(side.starts[row], side.starts[row + 1]):
            begin = side.first[piece]
            for place in range(begin, begin + side.length[piece]):
                counts[side.tokens[place]] += times[row]


@compiled
def count_updates(postings: Postings, side: Side, work: Array) -> int:
    """Count the operations of one step.

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


@compiled
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
            grown = np.empty(2 * len(found) + n_terms, dtype=np.int32)
            grown[:size] = found[:size]
            found = grown
        before = size
        size = _mark(target, query_postings, chunks, seen, found, size)
        size = _mark(target, chunk_postings, queries, seen, found, size)
        counts[target] = size - before
    return found[:size].copy()


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


@compiled
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


@compiled
def add_sources(sources: Array, cells: Array, totals: Array) -> None:
    """Add the count of each cell to the total of its source, in the order of the cells."""
    for cell in range(len(sources)):
        totals[sources[cell]] += cells[cell]


@compiled
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


def transpose(starts: Array, numbers: Array, values: Array) -> tuple[Array, Array, Array]:
    """Convert a square table from rows to columns; agrees with `reference.transpose`.

    Parameters
    ----------
    starts : ndarray of shape (n + 1,), int64
        Row boundaries.
    numbers : ndarray of shape (nnz,), int32
        Column of each entry, 0 to n - 1, distinct in a row.
    values : ndarray of shape (nnz,)
        Entries.

    Returns
    -------
    starts, numbers, values
        The same by column; row numbers are strictly increasing in a column.
    """
    from scipy.sparse import csr_array

    n = len(starts) - 1
    table = csr_array((values, numbers, starts), shape=(n, n)).tocsc()
    return table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data


@compiled
def model1_weight(mean: float, probability: float, lambda_: float) -> float:
    """Return the weight of a term in a document; agrees with `reference.model1_weight`."""
    if lambda_ == 0.0:
        return math.log(max(1.0, mean / LEAST_MEAN))
    return math.log1p((1.0 - lambda_) * mean / (lambda_ * probability))


@compiled
def collection_weights(
    starts: Array,
    targets: Array,
    chances: Array,
    shares: Array,
    probabilities: Array,
    p_self: float,
    lambda_: float,
) -> Array:
    """Return the weight of each term in the collection as one document; agrees with `reference.collection_weights`.

    Parameters
    ----------
    starts, targets, chances, probabilities, p_self, lambda_
        See `model1_weights`.
    shares : ndarray of shape (V,), float64
        Share of each term in the tokens of the collection.

    Returns
    -------
    ndarray of shape (V,), float64
    """
    means = p_self * shares
    for source in range(len(shares)):
        translated = (1.0 - p_self) * shares[source]
        if translated > 0:
            for entry in range(starts[source], starts[source + 1]):
                means[targets[entry]] += translated * chances[entry]
    for term in range(len(means)):
        means[term] = model1_weight(means[term], probabilities[term], lambda_)
    return means


@compiled
def model1_weights(
    indptr: Array,
    terms: Array,
    counts: Array,
    starts: Array,
    targets: Array,
    chances: Array,
    target_numbers: Array,
    probabilities: Array,
    p_self: float,
    lambda_: float,
    prune: float,
    keep: int,
    in_collection: Array,
) -> tuple[Array, Array, Array]:
    """Compute the weights of all translations of the terms of documents; agrees with `reference.model1_weights`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries in the next two arrays.
    terms : ndarray of shape (nnz,), int32
        Terms of each document, below V.
    counts : ndarray of shape (nnz,), float32
        Number of occurrences, 1 or more.
    starts : ndarray of shape (V + 1,), int64
        Boundaries of the sources in the next two arrays.
    targets : ndarray of shape (entries,), int32
        Targets of each source, below W.
    chances : ndarray of shape (entries,), float32
        T(t|u), above 0.
    target_numbers : ndarray of shape (V,), int32
        Target number of each term, or -1 if it is not a target.
    probabilities : ndarray of shape (W,), float64
        P(t|C) of each target, above 0.
    p_self : float64
        Probability of self-translation, from 0 to 1, added to the diagonal of (1 - p_self) T.
    lambda_ : float64
        Share of the collection in the mixture, from 0 to below 1.
    prune : float64
        Smaller weights are left out.
    keep : int64
        Number of weights per row, 0 for all: those with the largest sqrt(m P(t|C)) max(0, weight - in_collection);
        among equals, smaller term numbers come first.
    in_collection : ndarray of shape (W,), float64
        See `collection_weights`; not read if `keep` is 0.

    Returns
    -------
    indptr : ndarray of shape (n + 1,), int64
    terms : ndarray, int32
        Targets, strictly increasing in a row.
    weights : ndarray, float32
        Above 0.
    """
    n_targets = len(probabilities)
    means = np.zeros(n_targets, dtype=np.float64)
    found = np.empty(n_targets, dtype=np.int32)
    row_weights = np.empty(n_targets, dtype=np.float32)
    gains = np.zeros(n_targets, dtype=np.float64)
    out_indptr = np.zeros(len(indptr), dtype=np.int64)
    out_terms = np.empty(4 * n_targets, dtype=np.int32)
    out = np.empty(4 * n_targets, dtype=np.float32)
    size = np.int64(0)
    for row in range(len(indptr) - 1):
        length = 0.0
        for position in range(indptr[row], indptr[row + 1]):
            length += counts[position]
        n_found = 0
        for position in range(indptr[row], indptr[row + 1]):
            source = terms[position]
            share = counts[position] / length
            translated = (1.0 - p_self) * share
            if translated > 0:
                for entry in range(starts[source], starts[source + 1]):
                    target = targets[entry]
                    if means[target] == 0.0:
                        found[n_found] = target
                        n_found += 1
                    means[target] += translated * chances[entry]
            itself = target_numbers[source]
            if p_self > 0 and itself >= 0:
                if means[itself] == 0.0:
                    found[n_found] = itself
                    n_found += 1
                means[itself] += p_self * share
        if 8 * n_found > n_targets:
            n_found = 0
            for term in range(n_targets):
                if means[term] > 0.0:
                    found[n_found] = term
                    n_found += 1
        else:
            found[:n_found].sort()
        kept = 0
        for i in range(n_found):
            term = found[i]
            weight = np.float32(model1_weight(means[term], probabilities[term], lambda_))
            if weight > 0 and weight >= prune:
                found[kept] = term
                row_weights[kept] = weight
                if keep > 0:
                    gains[kept] = math.sqrt(means[term] * probabilities[term]) * max(
                        0.0, weight - in_collection[term]
                    )
                kept += 1
            means[term] = 0.0
        least = 0.0
        equals = kept
        n_kept = kept
        if 0 < keep < kept:
            n_kept = keep
            least = np.partition(gains[:kept], kept - keep)[kept - keep]
            equals = keep
            for i in range(kept):
                if gains[i] > least:
                    equals -= 1
        if size + n_kept > len(out):
            grown = 2 * len(out) + n_kept
            more_terms = np.empty(grown, dtype=np.int32)
            more_terms[:size] = out_terms[:size]
            out_terms = more_terms
            more = np.empty(grown, dtype=np.float32)
            more[:size] = out[:size]
            out = more
        for i in range(kept):
            if gains[i] == least:
                equals -= 1
            if gains[i] > least or (gains[i] == least and equals >= 0):
                out_terms[size] = found[i]
                out[size] = row_weights[i]
                size += 1
        out_indptr[row + 1] = size
    return out_indptr, out_terms[:size].copy(), out[:size].copy()


@compiled
def gather_translations(
    indptr: Array,
    terms: Array,
    shares: Array,
    rows: Array,
    slots: Array,
    columns: Array,
    word_positions: Array,
    translated: Array,
    untranslated: Array,
) -> int:
    """Sum the translation probabilities of documents for the words of a query.

    Agrees with `reference.gather_translations`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), uint32
        Row boundaries in the next two arrays.
    terms : ndarray of shape (nnz,), uint16 or uint32
        Terms of each document.
    shares : ndarray of shape (nnz,), float32
        P(u|D), share of each term in the document.
    rows : ndarray of shape (m,), int64
        Documents to score, in range.
    slots : ndarray of shape (V,), int32
        Row of each term in the next two arrays; 0, which is empty, for terms without a translation to a query word.
    columns : ndarray of shape (slots, q), float64
        T(t|u) for each word t of the query.
    word_positions : ndarray of shape (slots,), int32
        Position of the term in the words of the query, or -1.
    translated : ndarray of shape (m, q), float64
        Output, initially 0: the sum over u of T(t|u) P(u|D).
    untranslated : ndarray of shape (m, q), float64
        Output, initially 0: P(t|D).

    Returns
    -------
    int
        `OK` or `CORRUPT`.
    """
    size = len(slots)
    words = columns.shape[1]
    for i in range(len(rows)):
        first = np.int64(indptr[rows[i]])
        last = np.int64(indptr[rows[i] + 1])
        if first > last or last > len(terms):
            return CORRUPT
        for position in range(first, last):
            term = np.int64(terms[position])
            if term >= size:
                return CORRUPT
            slot = slots[term]
            if slot > 0:
                share = np.float64(shares[position])
                for word in range(words):
                    translated[i, word] += share * columns[slot, word]
                if word_positions[slot] >= 0:
                    untranslated[i, word_positions[slot]] = share
    return OK


@compiled
def model1_scores(
    translated: Array, untranslated: Array, times: Array, probabilities: Array, p_self: float, lambda_: float
) -> Array:
    """Score documents from the sums of `gather_translations`; agrees with `reference.model1_scores`.

    Parameters
    ----------
    translated, untranslated : ndarray of shape (m, q), float64
        See `gather_translations`.
    times : ndarray of shape (q,), float64
        Number of occurrences of each word in the query.
    probabilities : ndarray of shape (q,), float64
        P(t|C), above 0.
    p_self, lambda_ : float64
        See `model1_weights`.

    Returns
    -------
    ndarray of shape (m,), float64
    """
    scores = np.zeros(len(translated), dtype=np.float64)
    for i in range(len(scores)):
        for word in range(len(times)):
            mean = (1.0 - p_self) * translated[i, word] + p_self * untranslated[i, word]
            scores[i] += times[word] * model1_weight(mean, probabilities[word], lambda_)
    if lambda_ == 0.0:
        scores += math.log(LEAST_MEAN) * np.sum(times)
    return scores
