"""Corrections of p-values for multiple comparisons.

`bonferroni` and `holm` control the family-wise error rate under any dependence between the tests;
`benjamini_hochberg` controls the false discovery rate. The p-value of an undefined test is None; it stays None and
counts as a test with p = 1.
"""

from __future__ import annotations

from collections.abc import Sequence


def bonferroni(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Multiply each p-value by the number of tests: min(1, m·p).

    Parameters
    ----------
    p_values : sequence of float or None, of length n
        Values in [0, 1]. None is the p-value of an undefined test; it stays None and counts as a test with p = 1.

    Returns
    -------
    tuple of float or None, of length n
        In the same order.

    References
    ----------
    Dunn, O. J. (1961). Multiple comparisons among means. JASA 56 (293), 52-64.

    Examples
    --------
    >>> bonferroni([0.01, 0.4, None])
    (0.03, 1.0, None)
    """
    m = len(p_values)
    return tuple(None if p is None else min(1.0, m * p) for p in p_values)


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values by Holm's step-down procedure; the result is never above Bonferroni's.

    With p(1) <= … <= p(m), the i-th becomes the largest min(1, (m - j + 1)·p(j)) over j <= i.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6 (2), 65-70.

    Examples
    --------
    >>> holm([0.25, 0.125, 0.03125])
    (0.25, 0.25, 0.09375)
    """
    ascending = sorted((p, position) for position, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for smaller, (p, position) in enumerate(ascending):
        largest = max(largest, min(1.0, (len(p_values) - smaller) * p))
        corrected[position] = largest
    return tuple(corrected)


def benjamini_hochberg(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values by the step-up procedure of Benjamini and Hochberg.

    With p(1) <= … <= p(m), the i-th becomes the smallest min(1, m·p(j) / j) over j >= i. This controls the expected
    share of false discoveries if the tests are independent or positively dependent.

    References
    ----------
    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate: a practical and powerful approach to
    multiple testing. Journal of the Royal Statistical Society B 57 (1), 289-300.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.03, 0.04, None])
    (0.04, 0.05333333333333334, 0.05333333333333334, None)
    """
    m = len(p_values)
    ascending = sorted((p, position) for position, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * m
    smallest = 1.0
    for rank, (p, position) in reversed(list(enumerate(ascending, start=1))):
        smallest = min(smallest, m * p / rank)
        corrected[position] = smallest
    return tuple(corrected)
