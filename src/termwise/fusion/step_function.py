"""Step functions of a measure over the interpolation weight alpha, per query and averaged."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass

Floats = npt.NDArray[np.float64]

EQUAL = 1e-9
"""Values of a measure with a smaller difference count as equal; the difference is rounding."""

NARROW = 1e-9
"""Shorter intervals of alpha are ignored, because rounding decides the order so close to a tie."""


@dataclass(frozen=True)
class Choice:
    """A chosen alpha.

    Attributes
    ----------
    alpha : float
        Interpolation weight of the first run.
    value : float
        Mean of the measure at alpha.
    low, high : float
        Bounds of the interval with this value; both are `alpha` for a single point.
    ties : int
        Number of other intervals or points with the same value.
    """

    alpha: float
    value: float
    low: float
    high: float
    ties: int


@dataclass(frozen=True, eq=False)
class AlphaCurve:
    """A measure per query as a step function of alpha, for alpha strictly between 0 and 1.

    Attributes
    ----------
    query_ids : tuple of str of length q
        Judged queries with fused documents.
    indptr : ndarray of shape (q + 1,), int64
        Start of the steps of each query in the two arrays below.
    alphas : ndarray of shape (s,), float64
        Start of each step; the first of each query is 0. Documents tie at these points, so the value at the point
        itself may differ.
    values : ndarray of shape (s,), float64
        Value of the query from the start of the step to the next step, or to 1.
    judged : int
        Number of judged queries; those that are not in `query_ids` count 0.
    """

    query_ids: tuple[str, ...]
    indptr: npt.NDArray[np.int64]
    alphas: Floats
    values: Floats
    judged: int

    def mean(self) -> tuple[Floats, Floats]:
        """Return the mean over the judged queries as one step function.

        Returns
        -------
        alphas : ndarray of shape (m + 1,), float64
            Bounds of the steps, from 0 to 1, all different.
        values : ndarray of shape (m,), float64
            Value from each bound to the next.
        """
        changes = np.diff(self.values, prepend=0.0)
        starts = self.indptr[:-1]
        changes[starts] = self.values[starts]
        order = np.argsort(self.alphas, kind="stable")
        alphas = self.alphas[order]
        sums = np.cumsum(changes[order])
        last = np.append(np.flatnonzero(np.diff(alphas)), len(alphas) - 1)
        ends = np.append(alphas[last], 1.0)
        values = sums[last] / self.judged
        return (ends, values) if ends[-2] < 1 else (ends[:-1], values[:-1])

    def only(self, mask: npt.NDArray[np.bool_]) -> AlphaCurve:
        """Return the curve of a subset of the queries, given as a mask of shape (q,)."""
        sizes = np.diff(self.indptr)
        steps = np.repeat(mask, sizes)
        return AlphaCurve(
            tuple(query_id for query_id, keep in zip(self.query_ids, mask.tolist(), strict=True) if keep),
            np.concatenate(([0], np.cumsum(sizes[mask]))),
            self.alphas[steps],
            self.values[steps],
            int(mask.sum()),
        )

    def at(self, alpha: float) -> Floats:
        """Return the value of each query at an alpha strictly between 0 and 1; shape (q,)."""
        steps = np.add.reduceat(self.alphas <= alpha, self.indptr[:-1], dtype=np.int64)
        return self.values[self.indptr[:-1] + steps - 1]

    def best(self) -> Choice:
        """Return the middle of the best interval of the mean; the widest of equally good ones, then the first."""
        ends, values = self.mean()
        widths = np.diff(ends)
        wide = np.flatnonzero(widths > NARROW)
        best = values[wide].max()
        equal = wide[values[wide] >= best - EQUAL]
        chosen = int(equal[np.argmax(widths[equal])])
        low, high = float(ends[chosen]), float(ends[chosen + 1])
        return Choice((low + high) / 2, float(values[chosen]), low, high, len(equal) - 1)
