"""Corrections of p-values for making several comparisons at once.

`bonferroni` and `holm` keep the probability of a single false discovery in the family below the level of the test,
whatever the dependence between the tests; `benjamini_hochberg` keeps the share of false ones among the discoveries.
"""

from __future__ import annotations

from collections.abc import Sequence


def bonferroni(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Multiply each p-value by the number of tests: min(1, m·p).

    Parameters
    ----------
    p_values : sequence of float or None, of length n
        In [0, 1]. None stands for a test that was planned and could not be made: it stays None, and
        counts in m, as if it had shown nothing (p = 1).

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
    """Correct by Holm's step-down rule, never larger than Bonferroni's value.

    With p(1) <= … <= p(m), the i-th becomes the largest min(1, (m - j + 1)·p(j)) over j <= i.

    Parameters
    ----------
    p_values : sequence of float or None, of length n
        In [0, 1]. None stands for a test that was planned and could not be made: it stays None, and
        counts in m, as if it had shown nothing (p = 1).

    Returns
    -------
    tuple of float or None, of length n
        In the same order.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6 (2), 65-70.

    Examples
    --------
    >>> holm([0.25, 0.125, 0.03125])
    (0.25, 0.25, 0.09375)
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(p_values) - done) * p))
        corrected[place] = largest
    return tuple(corrected)


def benjamini_hochberg(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct by the step-up rule of Benjamini and Hochberg.

    With p(1) <= … <= p(m), the i-th becomes the smallest min(1, m·p(j) / j) over j >= i. What is kept below a level is
    not the probability of one false discovery, but the share of discoveries that are false, on average and where tests
    do not speak against each other.

    Parameters
    ----------
    p_values : sequence of float or None, of length n
        In [0, 1]. None stands for a test that was planned and could not be made: it stays None, and
        counts in m, as if it had shown nothing (p = 1).

    Returns
    -------
    tuple of float or None, of length n
        In the same order.

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
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * m
    smallest = 1.0
    for rank, (p, place) in reversed(list(enumerate(order, start=1))):
        smallest = min(smallest, m * p / rank)
        corrected[place] = smallest
    return tuple(corrected)
