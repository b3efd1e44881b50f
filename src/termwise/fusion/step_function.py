"""What every alpha is worth: one step function for each query, and their mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EQUAL = 1e-9
"""Values of a measure that are nearer to each other than this are equal; the difference is rounding."""

NARROW = 1e-9
"""Intervals of alpha shorter than this are passed over: so near to a tie, rounding decides the order."""


@dataclass(frozen=True)
class Choice:
    """The alpha that was chosen.

    Attributes
    ----------
    alpha : float
        The share of the first.
    value : float
        The mean of the measure there.
    low, high : float
        Between them nothing changes; both are `alpha` where it is a single point.
    ties : int
        Other intervals, or points, that are as good.
    """

    alpha: float
    value: float
    low: float
    high: float
    ties: int


@dataclass(frozen=True, eq=False)
class AlphaCurve:
    """A measure as a step function of alpha, query by query, for alpha strictly between 0 and 1.

    Attributes
    ----------
    query_ids : tuple of str of length q
        The queries for which there was something to fuse.
    indptr : ndarray of shape (q + 1,), int64
        Where the steps of each query begin in the two arrays below.
    alphas : ndarray of shape (s,), float64
        Where each step begins; the first of each query is 0. At these places documents tie, and the value
        there may be another one.
    values : ndarray of shape (s,), float64
        The value of the query from there up to its next step, or to 1.
    judged : int
        Judged queries, by which sums are divided; those that are not in `query_ids` count 0.
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
            Ends of the steps, from 0 to 1, all different.
        values : ndarray of shape (m,), float64
            The value from each of them to the next.
        """
        changes = np.diff(self.values, prepend=0.0)
        begins = self.indptr[:-1]
        changes[begins] = self.values[begins]
        order = np.argsort(self.alphas, kind="stable")
        alphas = self.alphas[order]
        sums = np.cumsum(changes[order])
        last = np.append(np.flatnonzero(np.diff(alphas)), len(alphas) - 1)
        ends = np.append(alphas[last], 1.0)
        values = sums[last] / self.judged
        return (ends, values) if ends[-2] < 1 else (ends[:-1], values[:-1])

    def only(self, kept: npt.NDArray[np.bool_]) -> AlphaCurve:
        """Return the curve of some of the queries alone.

        Parameters
        ----------
        kept : ndarray of shape (q,), bool
            One or more; the mean is over these.
        """
        sizes = np.diff(self.indptr)
        steps = np.repeat(kept, sizes)
        return AlphaCurve(
            tuple(query_id for query_id, one in zip(self.query_ids, kept.tolist(), strict=True) if one),
            np.concatenate(([0], np.cumsum(sizes[kept]))),
            self.alphas[steps],
            self.values[steps],
            int(kept.sum()),
        )

    def at(self, alpha: float) -> Floats:
        """Return the value of each query at an alpha strictly between 0 and 1: shape (q,)."""
        begun = np.add.reduceat(self.alphas <= alpha, self.indptr[:-1], dtype=np.int64)
        return self.values[self.indptr[:-1] + begun - 1]

    def best(self) -> Choice:
        """Return the middle of the best interval of the mean.

        Of intervals that are equally good the widest is taken, and of equally wide ones the first.
        """
        ends, values = self.mean()
        widths = np.diff(ends)
        wide = np.flatnonzero(widths > NARROW)
        best = values[wide].max()
        equal = wide[values[wide] >= best - EQUAL]
        chosen = int(equal[np.argmax(widths[equal])])
        low, high = float(ends[chosen]), float(ends[chosen + 1])
        return Choice((low + high) / 2, float(values[chosen]), low, high, len(equal) - 1)
