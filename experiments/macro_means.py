"""Means over collections and their ratios, with bootstrap intervals over the queries within each collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import record

Floats = npt.NDArray[np.float64]


def macro_ratios(
    values: Mapping[str, Mapping[str, Floats]],
    names: Sequence[str],
    baseline: str,
    *,
    counted: Sequence[str],
    without: Sequence[str] = (),
    contrasts: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Return macro means and their ratios to a baseline.

    Each draw resamples the queries within each collection, the same for all systems; collections are fixed.

    Parameters
    ----------
    values : mapping of str to mapping of str to ndarray
        One value per query, by collection and system.
    names : sequence of str
        Systems, including the baseline.
    baseline : str
        System of the denominator.
    counted : sequence of str
        Collections of the macro mean.
    without : sequence of str, optional
        Collections that a second mean leaves out.
    contrasts : sequence of (str, str), optional
        Pairs of systems to compare; pairs with a system that is not in `names` are ignored.

    Returns
    -------
    dict
        JSON object: ``collections`` of the mean; for each of ``systems`` the ratio on ``each`` collection and, if any
        collection counts, ``mean``, ``interval`` and ``ratio``; for each of ``contrasts`` ``difference``, ``interval``
        and ``ratio``.
    """
    place = {name: number for number, name in enumerate(names)}
    drawn = {
        name: record.resampled_means(
            np.stack([values[name][system] for system in names]), (record.SEED, number)
        )
        for number, name in enumerate(values)
    }
    means = {name: np.array([values[name][system].mean() for system in names]) for name in values}
    base = place[baseline]
    fewer = [name for name in counted if name not in without]
    result: dict[str, Any] = {"collections": list(counted), "systems": {}}
    for system in names:
        column = place[system]
        entry: dict[str, Any] = {
            "each": {name: _ratio(means[name], drawn[name], column, base) for name in values}
        }
        if counted:
            entry |= _macro(means, drawn, counted, column, base)
        if fewer and fewer != list(counted):
            entry["without"] = _macro(means, drawn, fewer, column, base)
        result["systems"][system] = entry
    result["contrasts"] = [
        {
            "system": system,
            "against": against,
            **_contrast(means, drawn, counted, place[system], place[against]),
        }
        for system, against in contrasts
        if counted and system in place and against in place
    ]
    return result


def _macro(
    means: Mapping[str, Floats], drawn: Mapping[str, Floats], counted: Sequence[str], column: int, base: int
) -> dict[str, Any]:
    macro, resampled = _over(means, counted), _over(drawn, counted)
    low, high = np.percentile(resampled[:, column], record.PERCENTILES)
    return {
        "mean": float(macro[column]),
        "interval": [float(low), float(high)],
        "ratio": _ratio(macro, resampled, column, base),
    }


def _contrast(
    means: Mapping[str, Floats],
    drawn: Mapping[str, Floats],
    counted: Sequence[str],
    system: int,
    against: int,
) -> dict[str, Any]:
    macro, resampled = _over(means, counted), _over(drawn, counted)
    low, high = np.percentile(resampled[:, system] - resampled[:, against], record.PERCENTILES)
    return {
        "difference": float(macro[system] - macro[against]),
        "interval": [float(low), float(high)],
        "ratio": _ratio(macro, resampled, system, against),
    }


def _over(values: Mapping[str, Floats], counted: Sequence[str]) -> Floats:
    """Return the mean over the collections of the macro mean."""
    mean: Floats = np.mean([values[name] for name in counted], axis=0)
    return mean


def _ratio(means: Floats, drawn: Floats, column: int, base: int) -> dict[str, Any]:
    if means[base] == 0:
        return {"ratio": None, "interval": [None, None]}
    usable = drawn[:, base] > 0
    low, high = np.percentile(drawn[usable, column] / drawn[usable, base], record.PERCENTILES)
    return {"ratio": float(means[column] / means[base]), "interval": [float(low), float(high)]}
