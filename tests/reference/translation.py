"""IBM Model 1 over pairs of token lists, one occurrence at a time, and document scores by its table."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

NULL = None
"""Additional source of each pair, for targets without a source token."""

SourceTerm = Hashable | None
Cells = Mapping[tuple[SourceTerm, Hashable], float]


def expected_counts(
    pairs: Sequence[tuple[Sequence[Hashable], Sequence[Hashable]]],
    probabilities: Cells,
    *,
    floor: float = 0.0,
    drop: float = 0.0,
) -> tuple[dict[tuple[SourceTerm, Hashable], float], float]:
    """Distribute each occurrence of a target over NULL and the occurrences of sources in its pair.

    The expectation step [1]_: each occurrence of target f adds T(f|u) / sum over v of T(f|v) to the count of (u, f),
    for each occurrence u among NULL and the sources of its pair; the sum is over the same occurrences.

    Parameters
    ----------
    pairs : sequence of (sources, targets)
        Tokens of both sides in any order, with repetitions.
    probabilities : mapping of (source, target) to float
        T(f|u), 0 if missing.
    floor : float, optional
        Lower bound of probabilities.
    drop : float, optional
        Shares up to this size are ignored.

    Returns
    -------
    counts : dict of (source, target) to float
    log_likelihood : float
        The sum over all occurrences of ln(sum over v of T(f|v) / (l + 1)) for l sources.

    References
    ----------
    .. [1] P. F. Brown et al., The mathematics of statistical machine translation, Computational Linguistics 19(2),
       1993, section 4.

    Examples
    --------
    >>> uniform = {(source, "b"): 0.5 for source in (NULL, "a")}
    >>> expected_counts([(["a"], ["b"])], uniform)
    ({(None, 'b'): 0.5, ('a', 'b'): 0.5}, -0.6931471805599453)
    """
    counts: dict[tuple[SourceTerm, Hashable], float] = defaultdict(float)
    logs = 0.0
    for sources, targets in pairs:
        candidates = [NULL, *sources]
        for target in targets:
            chances = [max(probabilities.get((source, target), 0.0), floor) for source in candidates]
            total = sum(chances)
            logs += math.log(total / len(candidates))
            for source, chance in zip(candidates, chances, strict=True):
                if chance / total > drop:
                    counts[source, target] += chance / total
    return dict(counts), logs


def likely_cells(counts: Cells, least: float = 0.0) -> dict[tuple[SourceTerm, Hashable], float]:
    """Convert the result of `expected_counts` to probabilities T(f|u), and keep those of at least `least`.

    This is the maximisation step: before any is left out, the probabilities of each source sum to 1.

    Examples
    --------
    >>> likely_cells({("a", "b"): 3.0, ("a", "c"): 1.0}, least=0.5)
    {('a', 'b'): 0.75}
    """
    totals: dict[SourceTerm, float] = defaultdict(float)
    for (source, _), count in counts.items():
        totals[source] += count
    probabilities = {cell: count / totals[cell[0]] for cell, count in counts.items()}
    return {cell: chance for cell, chance in probabilities.items() if chance >= least}


def transpose(
    starts: Sequence[int], numbers: Sequence[int], values: Sequence[float]
) -> tuple[list[int], list[int], list[float]]:
    """Convert a square table from rows to columns.

    Examples
    --------
    >>> transpose([0, 2, 2], [0, 1], [0.5, 0.25])
    ([0, 1, 2], [0, 0], [0.5, 0.25])
    """
    n = len(starts) - 1
    columns: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for row in range(n):
        for position in range(starts[row], starts[row + 1]):
            columns[numbers[position]].append((row, values[position]))
    boundaries = [0]
    for column in columns:
        boundaries.append(boundaries[-1] + len(column))
    entries = [entry for column in columns for entry in column]
    return boundaries, [number for number, _ in entries], [value for _, value in entries]


def model1_weight(mean: float, probability: float, lambda_: float) -> float:
    """Return the weight of a term in a document.

    Parameters
    ----------
    mean : float
        m(t, D), the sum over the terms u of the document of T(t|u) P(u|D).
    probability : float
        P(t|C), above 0.
    lambda_ : float
        From 0 to below 1.

    Examples
    --------
    >>> model1_weight(0.25, 0.25, 0.5) == math.log(2), model1_weight(1e-8, 0.25, 0.0), model1_weight(0.0, 0.25, 0.5)
    (True, 0.0, 0.0)
    """
    if lambda_ == 0:
        return math.log(max(1.0, mean / 1e-8))
    return math.log1p((1 - lambda_) * mean / (lambda_ * probability))


def collection_weights(
    counts: Mapping[int, float],
    table: Mapping[int, Mapping[int, float]],
    probabilities: Sequence[float],
    p_self: float,
    lambda_: float,
) -> list[float]:
    """Return the weight of each term in the collection as one document, whose term counts are `counts`.

    For the other parameters see `model1_weights`.
    """
    (weights,) = model1_weights([counts], table, probabilities, p_self, lambda_)
    return [weights.get(term, 0.0) for term in range(len(probabilities))]


def model1_weights(
    documents: Sequence[Mapping[int, float]],
    table: Mapping[int, Mapping[int, float]],
    probabilities: Sequence[float],
    p_self: float,
    lambda_: float,
    prune: float = 0.0,
    keep: int = 0,
    in_collection: Sequence[float] = (),
) -> list[dict[int, float]]:
    """Compute the weights of all translations of the terms of documents.

    Parameters
    ----------
    documents : sequence of mapping of int to float
        Number of occurrences of each term in each document.
    table : mapping of int to mapping of int to float
        T(t|u) by source u and target t, without self-translation.
    probabilities, p_self, lambda_, prune, keep, in_collection
        See the kernel.

    Returns
    -------
    list of dict of int to float
        Weights above 0 of each document, by term.

    Examples
    --------
    >>> model1_weights([{0: 2}], {0: {1: 0.5}}, [0.5, 0.25], p_self=0.5, lambda_=0.5)
    [{0: 0.6931471805599453, 1: 0.6931471805599453}]
    """
    weighed = []
    for counts in documents:
        length = sum(counts.values())
        means: dict[int, float] = defaultdict(float)
        for source, count in counts.items():
            for target, chance in table.get(source, {}).items():
                means[target] += (1 - p_self) * chance * count / length
            means[source] += p_self * count / length
        weights = {term: model1_weight(mean, probabilities[term], lambda_) for term, mean in means.items()}
        kept = [term for term, weight in sorted(weights.items()) if weight > 0 and weight >= prune]
        if keep:
            gains = {
                term: math.sqrt(means[term] * probabilities[term])
                * max(0.0, weights[term] - in_collection[term])
                for term in kept
            }
            kept = sorted(sorted(kept, key=lambda term: -gains[term])[:keep])
        weighed.append({term: weights[term] for term in kept})
    return weighed


def gather_translations(
    documents: Sequence[Mapping[int, float]], table: Mapping[int, Mapping[int, float]], words: Sequence[int]
) -> tuple[list[list[float]], list[list[float]]]:
    """Sum the translation probabilities of documents for the words of a query.

    Parameters
    ----------
    documents : sequence of mapping of int to float
        P(u|D) of each term in each document.
    table : mapping of int to mapping of int to float
        T(t|u) by source u and target t.
    words : sequence of int
        Distinct words t of the query.

    Returns
    -------
    translated, untranslated : list of list of float
        For each document and word the sum over u of T(t|u) P(u|D), and P(t|D).
    """
    translated = [
        [sum(table.get(u, {}).get(word, 0.0) * share for u, share in shares.items()) for word in words]
        for shares in documents
    ]
    return translated, [[shares.get(word, 0.0) for word in words] for shares in documents]


def model1_scores(
    translated: Sequence[Sequence[float]],
    untranslated: Sequence[Sequence[float]],
    times: Sequence[float],
    probabilities: Sequence[float],
    p_self: float,
    lambda_: float,
) -> list[float]:
    """Score documents from the sums of `gather_translations`.

    Without smoothing, the score is the sum of ln max(1e-8, m), at most 0; with smoothing, of the weights, 0 or more.
    """
    scores = []
    for translations, shares in zip(translated, untranslated, strict=True):
        score = 0.0
        for t, s, n, probability in zip(translations, shares, times, probabilities, strict=True):
            mean = (1 - p_self) * t + p_self * s
            score += n * model1_weight(mean, probability, lambda_)
            if lambda_ == 0:
                score += n * math.log(1e-8)
        scores.append(score)
    return scores
