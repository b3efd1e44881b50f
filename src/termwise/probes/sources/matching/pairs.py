"""Search for texts that agree in one measurement and differ in another.

Values are rows. Two rows agree if all entries are equal; a row is larger if no entry is smaller and at least one is
larger. For rows of one number this is the usual order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.validation import wrong

Values = npt.NDArray[Any]
Places = npt.NDArray[np.int64]


def matched_pairs(variable: Values, control: Values, *, tolerance: float = 0.0) -> tuple[Places, Places]:
    """Find all pairs that agree in the control and differ in the variable.

    Parameters
    ----------
    variable, control : ndarray of shape (n, k) and (n, m)
        A row per text.
    tolerance : float, optional
        Largest difference of two control values that agree, 0 or more; must be 0 unless m = 1.

    Returns
    -------
    higher, lower : ndarray of shape (p,), int64
        Places of the text with the larger variable and of the other text, sorted. Two texts make at most one pair.

    Raises
    ------
    ParameterError
        If the control is a vector and the tolerance is not 0.

    Examples
    --------
    >>> grade, length = np.array([[2], [0], [1], [1]]), np.array([[7], [7], [9], [7]])
    >>> higher, lower = matched_pairs(grade, length)
    >>> list(zip(higher.tolist(), lower.tolist()))
    [(0, 1), (0, 3), (3, 1)]
    """
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
        candidates = order[begins[place] : ends[place]]
        others = variable[candidates]
        smaller = candidates[(row >= others).all(axis=1) & (row > others).any(axis=1)]
        higher.append(np.full(len(smaller), place, dtype=np.int64))
        lower.append(np.sort(smaller))
    if not higher:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(higher), np.concatenate(lower)
