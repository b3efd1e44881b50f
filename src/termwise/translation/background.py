"""P(t|C): how likely a term is asked for whatever the document; a translation is smoothed with it and measured by it.

With cf(t) of the C words of the collection being the term, and P(t|bitext) its share of the source side of what the
table was trained on:

==============  ==================================
background      P(t|C)
==============  ==================================
``smoothed``    0.9 P(t|bitext) + 0.1 cf(t) / C
``bitext``      P(t|bitext)
``collection``  cf(t) / C
==============  ==================================

and `LEAST_PROBABILITY` where that is less (Boytsov & Kolter, ECIR 2021, arXiv 2102.06815, note 3). The paper has
``collection``, its code ``bitext``. Words translate to terms that the collection lacks, and documents say words that
the bitext lacks: by one of the two alone, what it lacks is the rarest term there can be and outweighs all others.
``smoothed`` knows a term that either has seen.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Background = Literal["smoothed", "bitext", "collection"]

BACKGROUNDS: tuple[Background, ...] = get_args(Background)

LEAST_PROBABILITY = 1e-9
"""What a term counts as that the background lacks: P(t|C) is at least this."""

OF_THE_BITEXT = 0.9
"""Share of the bitext in the background ``smoothed``."""


def background_probabilities(
    background: Background, collection: npt.NDArray[np.float64], bitext: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return P(t|C) of some terms.

    Parameters
    ----------
    background : {"smoothed", "bitext", "collection"}
        See the top of the module.
    collection : ndarray of shape (n,), float64
        cf / C of each; 0 for terms that the collection lacks, and for all where it has no words.
    bitext : ndarray of shape (n,), float64
        P(t|bitext) of each; 0 likewise.

    Returns
    -------
    ndarray of shape (n,), float64
        1e-9 or more.

    Examples
    --------
    >>> background_probabilities("smoothed", np.array([0.5, 0.0]), np.array([0.25, 0.5])).round(3).tolist()
    [0.275, 0.45]
    """
    weight = {"smoothed": OF_THE_BITEXT, "bitext": 1.0, "collection": 0.0}[background]
    return np.maximum(weight * bitext + (1 - weight) * collection, LEAST_PROBABILITY)
