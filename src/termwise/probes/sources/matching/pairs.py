"""Which texts agree in one measurement while another is strictly larger for one of them.

Values are rows. Two rows agree if all their entries are equal; one is larger than another if no entry is smaller and at
least one is larger. For rows of a single number this is the usual order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.validation import is_finite_number, wrong

Values = npt.NDArray[Any]
Places = npt.NDArray[np.int64]


def matched_pairs(variable: Values, control: Values, *, tolerance: float = 0.0) -> tuple[Places, Places]:
    """Find all pairs that agree in the control and differ in the variable.

    Parameters
    ----------
    variable, control : ndarray of shape (n, k) and (n, m)
        A row for each text.
    tolerance : float, optional
        How far apart two control values may be, and still agree; needs m = 1 unless it is 0.

    Returns
    -------
    higher, lower : ndarray of shape (p,), int64
        Places of the text whose variable is larger, and of the other one; ordered. No two texts make more than one
        pair.

    Raises
    ------
    ParameterError
        If the tolerance is negative, or the control is a vector and the tolerance is not 0.

    Examples
    --------
    >>> grade, length = np.array([[2], [0], [1], [1]]), np.array([[7], [7], [9], [7]])
    >>> higher, lower = matched_pairs(grade, length)
    >>> list(zip(higher.tolist(), lower.tolist()))
    [(0, 1), (0, 3), (3, 1)]
    """
    check_tolerance(tolerance)
    if not tolerance:
        _, labels = np.unique(control, axis=0, return_inverse=True)
        key = labels.reshape(-1)
    elif control.shape[1] == 1:
        key = control[:, 0]
    else:
        raise wrong("tolerance", tolerance, "0 for a control that is a vector")
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    begins = np.searchsorted(ranked, key - tolerance, side="left")
    ends = np.searchsorted(ranked, key + tolerance, side="right")
    higher, lower = [], []
    for place, row in enumerate(variable):
        near = order[begins[place] : ends[place]]
        others = variable[near]
        found = near[(row >= others).all(axis=1) & (row > others).any(axis=1)]
        higher.append(np.full(len(found), place, dtype=np.int64))
        lower.append(np.sort(found))
    if not higher:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(higher), np.concatenate(lower)


def check_tolerance(tolerance: object) -> None:
    """Refuse what is not a finite number of at least 0."""
    if not is_finite_number(tolerance) or tolerance < 0:
        raise wrong("tolerance", tolerance, "a number of at least 0")
