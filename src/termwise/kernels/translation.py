"""IBM Model 1: estimating the table and scoring with it.

Estimation is one step of expectation maximisation, a range of target terms at a time. The cells of the model are
independent by target: for an occurrence of target f, denominator and counts involve the probabilities T(f|u) of that
f and of nothing else. So a table is held by target. The probabilities of one target are spread over an array with a
place for each term, all pairs whose target side holds f are walked, and what they add up to is collected again.
Nothing is hashed or looked for, and ranges of targets do not depend on each other: the numbers do not depend on how
many threads share the work.

A bitext has two sides. Row q of both belongs to query number q; a row consists of pieces, and a pair is a piece of
the one side with a piece of the other: the query, which is one piece, with each chunk of its passages.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from termwise.kernels.jit import Array, compiled

LEAST_MEAN = 1e-8
"""Without smoothing, a mean translation probability counts as at least this."""

OK = 0
CORRUPT = 1


class Side(NamedTuple):
    """One side of a bitext: rows of pieces, which are slices of `tokens`; pieces may overlap.

    Attributes
    ----------
    starts : ndarray of shape (rows + 1,), int64
        Row boundaries in the two arrays that follow.
    first : ndarray of shape (pieces,), int64
        Where each piece begins in `tokens`.
    length : ndarray of shape (pieces,), int32
        Its tokens.
    tokens : ndarray, int32
        Term numbers.
    """

    starts: Array
    first: Array
    length: Array
    tokens: Array


class Postings(NamedTuple):
    """Which rows of a side hold a term, and how often.

    Attributes
    ----------
    starts : ndarray of shape (terms + 1,), int64
        Boundaries of the terms in the two arrays that follow.
    rows : ndarray, int32
        Strictly increasing for each term.
    counts : ndarray, int32
        Occurrences in all pieces of the row together, 1 or more.
    """

    starts: Array
    rows: Array
    counts: Array


@compiled
def count_postings(side: Side, n_terms: int) -> Array:
    """Return where the postings of each term begin, and their number at the end: shape (n_terms + 1,), int64."""
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
    """Fill the rows and counts of postings whose starts `count_postings` gave."""
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
    """Add the occurrences of each term in all pieces to `counts` (int64), `times` (one a row) for each."""
    for row in range(len(side.starts) - 1):
        for piece in range(side.starts[row], side.starts[row + 1]):
            begin = side.first[piece]
            for place in range(begin, begin + side.length[piece]):
                counts[side.tokens[place]] += times[row]


@compiled
def count_updates(postings: Postings, side: Side, work: Array) -> int:
    """Count what one step does for targets with these postings and sources on this side.

    Parameters
    ----------
    postings : Postings
        Where the targets are.
    side : Side
        Where the sources are.
    work : ndarray of shape (terms,), int64
        What has to be done for each target is added to it: sources that are read, NULL included.

    Returns
    -------
    int
        Updates of cells: a source token, or NULL, that is seen with a target token.
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
    """Append the sources of a target that were not seen with it before; return how many there are now."""
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
    first: int, last: int, asked: Postings, chunks: Side, answered: Postings, queries: Side, counts: Array
) -> Array:
    """Find the sources that occur in a pair with each target of a range.

    Parameters
    ----------
    first, last : int
        The range of targets, half open.
    asked, chunks : Postings and Side
        Queries as targets: where the terms are in queries, and the chunks they are explained by.
    answered, queries : Postings and Side
        The swapped pairs: where the terms are in chunks, and the queries. Without postings where nothing is swapped.
    counts : ndarray of shape (terms,), int64
        Output: the number of sources of each target of the range, NULL not counted.

    Returns
    -------
    ndarray, int32
        The sources, target by target, in the order in which they are met.
    """
    n_terms = len(asked.starts) - 1
    seen = np.full(n_terms, -1, dtype=np.int64)
    found = np.empty(4 * n_terms, dtype=np.int32)
    size = 0
    for target in range(first, last):
        if size + n_terms > len(found):
            grown = np.empty(2 * len(found) + n_terms, dtype=np.int32)
            grown[:size] = found[:size]
            found = grown
        before = size
        size = _mark(target, asked, chunks, seen, found, size)
        size = _mark(target, answered, queries, seen, found, size)
        counts[target] = size - before
    return found[:size].copy()


@compiled
def _walk(
    target: int, postings: Postings, side: Side, chances: Array, null: float, drop: float, gathered: Array
) -> tuple[float, float]:
    """Share out the occurrences of a target among their sources; return NULL's part and the log-likelihood."""
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
    asked: Postings,
    chunks: Side,
    answered: Postings,
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
    """Replace the counts of a range of targets by those expected under them; see `reference.expected_counts`.

    The probability of target f given source u is ``cells / totals[u]``, that given NULL ``nulls[f] / null_total``.

    Parameters
    ----------
    first, last, asked, chunks, answered, queries
        As for `find_cells`.
    starts : ndarray of shape (terms + 1,), int64
        Boundaries of the targets in the two arrays that follow.
    sources : ndarray, int32
        As `find_cells` gives them.
    cells : ndarray, float64
        Counts of source and target; changed.
    nulls : ndarray of shape (terms,), float64
        Counts of NULL and target; changed.
    totals : ndarray of shape (terms,), float64
        Sum of the counts of each source over all targets.
    null_total : float
        That of NULL.
    floor : float
        Smaller probabilities count as this one.
    drop : float
        Shares of one occurrence of at most this size are not counted.
    logs : ndarray of shape (terms,), float64
        Output: the log-likelihood of all occurrences of each target of the range.
    """
    chances = np.zeros(len(totals), dtype=np.float64)
    gathered = np.zeros(len(totals), dtype=np.float64)
    for target in range(first, last):
        for cell in range(starts[target], starts[target + 1]):
            source = sources[cell]
            chance = cells[cell] / totals[source] if totals[source] > 0 else 0.0
            chances[source] = max(chance, floor)
        null = max(nulls[target] / null_total if null_total > 0 else 0.0, floor)
        in_queries = _walk(target, asked, chunks, chances, null, drop, gathered)
        in_chunks = _walk(target, answered, queries, chances, null, drop, gathered)
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
    """Turn counts into probabilities and keep those that are large enough.

    Parameters
    ----------
    starts, sources, cells, totals : ndarrays
        As for `expected_counts`.
    least : float
        Probabilities below it are left out, and those that float32 cannot tell from 0.

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


@compiled
def transpose(starts: Array, numbers: Array, values: Array) -> tuple[Array, Array, Array]:
    """Turn the rows of a square table into its columns; agrees with `reference.transpose`.

    Parameters
    ----------
    starts : ndarray of shape (n + 1,), int64
        Row boundaries.
    numbers : ndarray of shape (nnz,), int32
        The column of each entry, 0 to n - 1, distinct in a row.
    values : ndarray of shape (nnz,)
        The entries.

    Returns
    -------
    starts, numbers, values
        The same for the columns; the numbers in each are strictly increasing.
    """
    n = len(starts) - 1
    out_starts = np.zeros(n + 1, dtype=np.int64)
    for position in range(len(numbers)):
        out_starts[numbers[position] + 1] += 1
    for column in range(n):
        out_starts[column + 1] += out_starts[column]
    cursor = out_starts[:-1].copy()
    out_numbers = np.empty(len(numbers), dtype=np.int32)
    out = np.empty(len(values), dtype=values.dtype)
    for row in range(n):
        for position in range(starts[row], starts[row + 1]):
            slot = cursor[numbers[position]]
            out_numbers[slot] = row
            out[slot] = values[position]
            cursor[numbers[position]] = slot + 1
    return out_starts, out_numbers, out


@compiled
def model1_weight(mean: float, probability: float, lambda_: float) -> float:
    """Return what a term weighs in a document; agrees with `reference.model1_weight`."""
    if lambda_ == 0.0:
        return math.log(max(1.0, mean / LEAST_MEAN))
    return math.log1p((1.0 - lambda_) * mean / (lambda_ * probability))


@compiled
def usual_weights(
    starts: Array,
    targets: Array,
    chances: Array,
    shares: Array,
    probabilities: Array,
    p_self: float,
    lambda_: float,
) -> Array:
    """Return what each term weighs in the collection, taken as one document; agrees with `reference.usual_weights`.

    Parameters
    ----------
    starts, targets, chances, probabilities, p_self, lambda_
        See `model1_weights`.
    shares : ndarray of shape (V,), float64
        The share of all words of the collection that each term is.

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
    own: Array,
    probabilities: Array,
    p_self: float,
    lambda_: float,
    prune: float,
    keep: int,
    usual: Array,
) -> tuple[Array, Array, Array]:
    """Weigh all terms that the words of documents translate to; agrees with `reference.model1_weights`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries in the two arrays that follow.
    terms : ndarray of shape (nnz,), int32
        Terms of each document, below V.
    counts : ndarray of shape (nnz,), float32
        How often each occurs, 1 or more.
    starts : ndarray of shape (V + 1,), int64
        Boundaries of the sources in the two arrays that follow.
    targets : ndarray of shape (entries,), int32
        Targets of each source, below W.
    chances : ndarray of shape (entries,), float32
        T(t|u), above 0.
    own : ndarray of shape (V,), int32
        Which target each term is itself, or -1 where it is none.
    probabilities : ndarray of shape (W,), float64
        P(t|C) of each target, above 0.
    p_self : float64
        Probability of self-translation, from 0 to 1, added to the diagonal of (1 - p_self) T.
    lambda_ : float64
        Share of the collection in the mixture, from 0 to below 1.
    prune : float64
        Smaller weights are left out.
    keep : int64
        Weights kept of a row: those that tell most, sqrt(m P(t|C)) times what they are above the usual; among equals
        those of smaller term numbers. 0 for all.
    usual : ndarray of shape (W,), float64
        As `usual_weights` gives it; not read where `keep` is 0.

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
            itself = own[source]
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
                        0.0, weight - usual[term]
                    )
                kept += 1
            means[term] = 0.0
        least = 0.0
        equals = kept
        wanted = kept
        if 0 < keep < kept:
            wanted = keep
            least = np.partition(gains[:kept], kept - keep)[kept - keep]
            equals = keep
            for i in range(kept):
                if gains[i] > least:
                    equals -= 1
        if size + wanted > len(out):
            grown = 2 * len(out) + wanted
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
    own: Array,
    translated: Array,
    said: Array,
) -> int:
    """Sum what the words of documents translate to, for the words of one query.

    Agrees with `reference.gather_translations`.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,), uint32
        Row boundaries in the two arrays that follow.
    terms : ndarray of shape (nnz,), uint16 or uint32
        Terms of each document.
    shares : ndarray of shape (nnz,), float32
        P(u|D), the share of the document that each is.
    rows : ndarray of shape (m,), int64
        Documents wanted, each in range.
    slots : ndarray of shape (V,), int32
        For each term its row in the two arrays that follow; 0, which is empty, for those that matter to no word.
    columns : ndarray of shape (slots, q), float64
        T(t|u) for each word t of the query.
    own : ndarray of shape (slots,), int32
        Which word of the query the term is, or -1.
    translated : ndarray of shape (m, q), float64
        Output, to be all 0: the sum over u of T(t|u) P(u|D).
    said : ndarray of shape (m, q), float64
        Output, to be all 0: P(t|D).

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
                if own[slot] >= 0:
                    said[i, own[slot]] = share
    return OK


@compiled
def model1_scores(
    translated: Array, said: Array, times: Array, probabilities: Array, p_self: float, lambda_: float
) -> Array:
    """Score documents from what `gather_translations` found; agrees with `reference.model1_scores`.

    Parameters
    ----------
    translated, said : ndarray of shape (m, q), float64
        See `gather_translations`.
    times : ndarray of shape (q,), float64
        How often the query says each word.
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
            mean = (1.0 - p_self) * translated[i, word] + p_self * said[i, word]
            scores[i] += times[word] * model1_weight(mean, probabilities[word], lambda_)
    if lambda_ == 0.0:
        scores += math.log(LEAST_MEAN) * np.sum(times)
    return scores
