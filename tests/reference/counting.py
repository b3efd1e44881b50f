"""Token counts of documents, one token at a time."""

from __future__ import annotations

from collections.abc import Sequence


def count_rows(
    indptr: Sequence[int], token_numbers: Sequence[int]
) -> tuple[list[int], list[int], list[float]]:
    """Turn rows of token numbers into rows of counts.

    Examples
    --------
    >>> count_rows([0, 3, 3], [7, 2, 7])
    ([0, 2, 2], [2, 7], [1.0, 2.0])
    """
    boundaries, terms, counts = [0], [], []
    for row in range(len(indptr) - 1):
        seen: dict[int, int] = {}
        for position in range(indptr[row], indptr[row + 1]):
            token = int(token_numbers[position])
            seen[token] = seen.get(token, 0) + 1
        for term in sorted(seen):
            terms.append(term)
            counts.append(float(seen[term]))
        boundaries.append(len(terms))
    return boundaries, terms, counts
