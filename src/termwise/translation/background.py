"""Background probabilities P(t|C), which smooth translations.

Let cf(t) be the number of occurrences of the term in the collection, C the number of words of the collection, and
P(t|bitext) the relative frequency of the term on the source side of the training pairs:

==============  ==================================
background      P(t|C)
==============  ==================================
``smoothed``    0.9 P(t|bitext) + 0.1 cf(t) / C
``bitext``      P(t|bitext)
``collection``  cf(t) / C
==============  ==================================

Smaller probabilities are raised to `LEAST_PROBABILITY` (Boytsov & Kolter, ECIR 2021, arXiv 2102.06815, note 3). The
paper uses ``collection``, its code ``bitext``. Some translations are absent from the collection, and some document
words from the bitext: a term that is absent from the background has the smallest probability and outweighs all others.
``smoothed`` covers the terms of both.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

BackgroundSource = Literal["smoothed", "bitext", "collection"]

BACKGROUNDS: tuple[BackgroundSource, ...] = get_args(BackgroundSource)

LEAST_PROBABILITY = 1e-9
"""Lower bound for P(t|C)."""

BITEXT_WEIGHT = 0.9
"""Weight of the bitext in the background ``smoothed``."""


def background_probabilities(
    background: BackgroundSource, collection: npt.NDArray[np.float64], bitext: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return P(t|C) of some terms, 1e-9 or more, from cf / C and P(t|bitext), of shape (n,); see the module.

    Both are 0 for absent terms, and for all terms of an empty collection or bitext.

    Examples
    --------
    >>> background_probabilities("smoothed", np.array([0.5, 0.0]), np.array([0.25, 0.5])).round(3).tolist()
    [0.275, 0.45]
    """
    weight = {"smoothed": BITEXT_WEIGHT, "bitext": 1.0, "collection": 0.0}[background]
    return np.maximum(weight * bitext + (1 - weight) * collection, LEAST_PROBABILITY)
