"""IBM Model 1 over pairs of token lists, one occurrence at a time; and the scores of documents by its table."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

NULL = None
"""The source that explains what no token of the source side does."""

SourceTerm = Hashable | None
Cells = Mapping[tuple[SourceTerm, Hashable], float]


def expected_counts(
    pairs: Sequence[tuple[Sequence[Hashable], Sequence[Hashable]]],
    probabilities: Cells,
    *,
    floor: float = 0.0,
    drop: float = 0.0,
) -> tuple[dict[tuple[SourceTerm, Hashable], float], float]:
    """Share each occurrence of a target out among NULL and the occurrences of sources that it is paired with.

    The expectation step [1]_: each occurrence of target f adds T(f|u) / sum over v of T(f|v) to the count of (u, f),
    for each occurrence u among NULL and the sources of its pair, which v runs over as well.

    Parameters
    ----------
    pairs : sequence of (sources, targets)
        Both sides as tokens in any order; repeated tokens count separately.
    probabilities : mapping of (source, target) to float
        T(f|u); what is missing is 0.
    floor : float, optional
        Smaller probabilities count as this one.
    drop : float, optional
        Shares of at most this size are not counted.

    Returns
    -------
    counts : dict of (source, target) to float
    log_likelihood : float
        The sum over all occurrences of ln(sum over v of T(f|v) / (l + 1)), l being the number of sources.

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
        explaining = [NULL, *sources]
        for target in targets:
            chances = [max(probabilities.get((source, target), 0.0), floor) for source in explaining]
            total = sum(chances)
            logs += math.log(total / len(explaining))
            for source, chance in zip(explaining, chances, strict=True):
                if chance / total > drop:
                    counts[source, target] += chance / total
    return dict(counts), logs


def likely_cells(counts: Cells, least: float = 0.0) -> dict[tuple[SourceTerm, Hashable], float]:
    """Turn counts into probabilities, the maximisation step, and keep those that are large enough.

    Parameters
    ----------
    counts : mapping of (source, target) to float
        As `expected_counts` gives them.
    least : float, optional
        Probabilities below it are left out.

    Returns
    -------
    dict of (source, target) to float
        T(f|u); before anything is left out, those of each source sum to 1.

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
    """Turn the rows of a square table into its columns.

    Parameters
    ----------
    starts : sequence of int, length n + 1
        Row boundaries.
    numbers : sequence of int
        The column of each entry, 0 to n - 1.
    values : sequence of float
        The entries.

    Returns
    -------
    starts, numbers, values
        The same for the columns; the numbers in each ascend.

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
    """Return what a term weighs in a document.

    Parameters
    ----------
    mean : float
        The sum over the words u of the document of T(t|u) P(u|D).
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


def usual_weights(
    counts: Mapping[int, float],
    table: Mapping[int, Mapping[int, float]],
    probabilities: Sequence[float],
    p_self: float,
    lambda_: float,
) -> list[float]:
    """Return what each term weighs in the collection, taken as one document.

    Parameters
    ----------
    counts : mapping of int to float
        How often the collection says each term.
    table, probabilities, p_self, lambda_
        See `model1_weights`.
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
    usual: Sequence[float] = (),
) -> list[dict[int, float]]:
    """Weigh all terms that the words of documents translate to.

    Parameters
    ----------
    documents : sequence of mapping of int to float
        How often each document says each term.
    table : mapping of int to mapping of int to float
        T(t|u) by source u and target t, without self-translation; sources without a row are left out.
    probabilities : sequence of float
        P(t|C) of each term.
    p_self, lambda_, prune, keep
        See `termwise.models.Model1`.
    usual : sequence of float
        For `keep`: the weights that `usual_weights` gives.

    Returns
    -------
    list of dict of int to float
        The weights above 0 of each document, by term.

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
                term: math.sqrt(means[term] * probabilities[term]) * max(0.0, weights[term] - usual[term])
                for term in kept
            }
            kept = sorted(sorted(kept, key=lambda term: -gains[term])[:keep])
        weighed.append({term: weights[term] for term in kept})
    return weighed


def gather_translations(
    documents: Sequence[Mapping[int, float]], table: Mapping[int, Mapping[int, float]], words: Sequence[int]
) -> tuple[list[list[float]], list[list[float]]]:
    """Sum what the words of documents translate to, for the words of one query.

    Parameters
    ----------
    documents : sequence of mapping of int to float
        P(u|D): the share of each document that each term is.
    table : mapping of int to mapping of int to float
        T(t|u) by source u and target t.
    words : sequence of int
        The different words t of the query.

    Returns
    -------
    translated, said : list of list of float
        For each document and word the sum over u of T(t|u) P(u|D), and P(t|D).
    """
    translated = [
        [sum(table.get(u, {}).get(word, 0.0) * share for u, share in shares.items()) for word in words]
        for shares in documents
    ]
    return translated, [[shares.get(word, 0.0) for word in words] for shares in documents]


def model1_scores(
    translated: Sequence[Sequence[float]],
    said: Sequence[Sequence[float]],
    times: Sequence[float],
    probabilities: Sequence[float],
    p_self: float,
    lambda_: float,
) -> list[float]:
    """Score documents from what `gather_translations` found.

    Without smoothing, the score is the sum of ln max(1e-8, m), below 0; with it, of the weights, 0 or more.
    """
    scores = []
    for row, own in zip(translated, said, strict=True):
        score = 0.0
        for t, s, n, probability in zip(row, own, times, probabilities, strict=True):
            mean = (1 - p_self) * t + p_self * s
            score += n * model1_weight(mean, probability, lambda_)
            if lambda_ == 0:
                score += n * math.log(1e-8)
        scores.append(score)
    return scores
