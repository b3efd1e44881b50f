"""Learning what each share would be worth to a query, and choosing by it.

What is learned is not the best share, which for many queries is any, but the curve: for each share, by how much the
measure is above that at the best share for all. The share with the largest foretold value is chosen.

Curves of single queries are noise for the most part, and the largest of many noisy values is mostly noise, too. So a
foretold curve is drawn towards the mean of all, by as much as is best on queries that were left out in learning: in
full, if nothing can be foretold, and then all queries get the same share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

SHRINKING = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""What part of its difference from the mean is left to a foretold curve."""

INNER = 5
"""Folds in which that is chosen."""

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class Learner(Protocol):
    """Learns curves from features."""

    def fit(self, features: Floats, curves: Floats) -> Learner:
        """Learn from features of shape (n, f) and curves of shape (n, alphas)."""
        ...

    def predict(self, features: Floats) -> Floats:
        """Foretell curves, of shape (n, alphas)."""
        ...


def ridge() -> Learner:
    """Ridge regression: a curve is a sum over the features, scaled; the penalty is chosen by leaving one out."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    learner: Learner = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 5, 13)))
    return learner


@dataclass
class Boosting:
    """Gradient boosting of trees over the features and the share."""

    seed: int = 0
    iterations: int = 150
    _trees: Any = None
    _alphas: int = 0

    def fit(self, features: Floats, curves: Floats) -> Boosting:
        """See `Learner`."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        self._alphas = curves.shape[1]
        self._trees = HistGradientBoostingRegressor(
            max_iter=self.iterations,
            learning_rate=0.05,
            max_leaf_nodes=8,
            min_samples_leaf=400,
            random_state=self.seed,
        ).fit(self._rows(features), curves.ravel())
        return self

    def predict(self, features: Floats) -> Floats:
        """See `Learner`."""
        found: Floats = self._trees.predict(self._rows(features)).reshape(len(features), self._alphas)
        return found

    def _rows(self, features: Floats) -> Floats:
        alphas = np.tile(np.linspace(0, 1, self._alphas), len(features))
        return np.column_stack([np.repeat(features, self._alphas, axis=0), alphas])


LEARNERS: Mapping[str, Callable[[], Learner]] = {"ridge": ridge, "boosting": Boosting}


def folds(groups: Sequence[str], count: int, seed: int) -> Iterator[Indices]:
    """Deal queries out to so many parts at random, those of one group to the same; yield the places of each."""
    names = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(names))
    part_of = {names[name]: place % count for place, name in enumerate(order.tolist())}
    parts = np.array([part_of[group] for group in groups])
    for part in range(count):
        places = np.flatnonzero(parts == part)
        if len(places):
            yield places


def chosen(
    features: Floats,
    curves: Floats,
    groups: Sequence[str],
    parts: Sequence[Indices],
    make: Callable[[], Learner] | None,
) -> Indices:
    """Choose a share for each query of each part by what the others teach.

    Parameters
    ----------
    features : ndarray of shape (n, f)
    curves : ndarray of shape (n, alphas)
        The measure of each query at each share.
    groups : sequence of str of length n
        Queries of one group are not told apart by inner folds.
    parts : sequence of ndarray
        Places of queries; together all of them, each once.
    make : callable or None
        Makes a learner; None: the best share for all others.

    Returns
    -------
    ndarray of shape (n,), intp
        Which share, by its place.
    """
    found = np.empty(len(curves), dtype=np.intp)
    for part in parts:
        others = np.setdiff1d(np.arange(len(curves)), part)
        known, taught = features[others], curves[others]
        mean = taught.mean(axis=0)
        if make is None:
            found[part] = middle_of_best(mean)
            continue
        foretold = np.empty_like(taught)
        for inner in folds([groups[place] for place in others.tolist()], INNER, 0):
            rest = np.setdiff1d(np.arange(len(others)), inner)
            foretold[inner] = _foretold(make, known[rest], taught[rest], known[inner])
        worth = [
            taught[np.arange(len(taught)), _shares(foretold, mean, part_left)].mean()
            for part_left in SHRINKING
        ]
        found[part] = _shares(
            _foretold(make, known, taught, features[part]), mean, SHRINKING[int(np.argmax(worth))]
        )
    return found


def _foretold(make: Callable[[], Learner], known: Floats, taught: Floats, asked: Floats) -> Floats:
    """Return by how much each share is above the best for all, for queries that were not learned from."""
    best = middle_of_best(taught.mean(axis=0))
    return make().fit(known, taught - taught[:, [best]]).predict(asked)


def _shares(foretold: Floats, mean: Floats, left: float) -> Indices:
    """Return the best place of each curve, drawn towards the mean of all."""
    best = middle_of_best(mean)
    if left == 0:
        return np.full(len(foretold), best, dtype=np.intp)
    drawn: Indices = (left * foretold + (1 - left) * (mean - mean[best])).argmax(axis=1)
    return drawn


def middle_of_best(values: Floats) -> int:
    """Return the place of the largest value, the middle one of equal neighbours."""
    equal = np.flatnonzero(values >= values.max() - 1e-12)
    run = equal[: 1 + int(np.argmin(np.append(np.diff(equal), 2) == 1))] if len(equal) > 1 else equal
    return int(run[(len(run) - 1) // 2])
