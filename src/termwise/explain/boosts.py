"""Boosts in explanations: one contribution for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from termwise.attributes.json_values import value_text
from termwise.engine.boosts import Boost, IndexBoosts, rounded_boost
from termwise.explain.explanation import Contribution, Explanation

NOT_ADDED = "not added to a match by meaning only"
"""Shape of a boost that a result of a mixture does not have."""


def with_boosts(
    explanations: Sequence[Explanation],
    ordinals: npt.NDArray[np.int64],
    boosts: IndexBoosts,
    have_all: npt.NDArray[np.bool_],
) -> list[Explanation]:
    """Add the contributions of boosts to explanations of scores without them, of documents at some positions.

    Documents for which `have_all` is not true have those with a weight below 0 only.
    """
    names = [boost.attribute for boost in boosts.boosts if boost.contains is None]
    values = boosts.index.attributes(ordinals, names)
    shapes = [boosts.shapes(boost, ordinals) * (have_all | (boost.weight < 0)) for boost in boosts.boosts]
    added = [
        rounded_boost(boost.weight * of_boost) for boost, of_boost in zip(boosts.boosts, shapes, strict=True)
    ]
    return [
        replace(
            explanation,
            score=explanation.score + float(sum(of_boost[place] for of_boost in added)),
            contributions=(
                *explanation.contributions,
                *(
                    Contribution(
                        term=boost.attribute,
                        origin="boost",
                        query_weight=boost.weight,
                        weight=float(of_boost[place]),
                        score=float(its[place]),
                        value=value_text(values[place].get(boost.attribute, "")),
                        shape=_shape_text(boost) if have_all[place] or boost.weight < 0 else NOT_ADDED,
                    )
                    for boost, of_boost, its in zip(boosts.boosts, shapes, added, strict=True)
                ),
            ),
        )
        for place, explanation in enumerate(explanations)
    ]


def _shape_text(boost: Boost) -> str:
    """Return the shape of a boost in words.

    Examples
    --------
    >>> _shape_text(Boost("sold", 2, saturation=100)), _shape_text(Boost("price", 1, near=20, distance=5.5))
    ('saturation 100', 'near 20, distance 5.5')
    >>> _shape_text(Boost("brand", 1, values=["acme", "zen"]))
    'values acme, zen'
    >>> _shape_text(Boost("stock", 1, filter="stock > 0"))
    'stock > 0'
    >>> _shape_text(Boost("_text", 1, contains=["green tea"]))
    'contains "green tea"'
    """
    if boost.saturation is not None:
        return f"saturation {boost.saturation:g}"
    if boost.half_life is not None:
        return f"half-life {boost.half_life}"
    if boost.filter is not None:
        return boost.filter
    if boost.contains is not None:
        return "contains " + ", ".join(f'"{each}"' for each in boost.contains)
    if boost.values is not None:
        return f"values {value_text(tuple(map(str, boost.values)))}"
    return f"near {boost.near:g}, distance {boost.distance:g}"
