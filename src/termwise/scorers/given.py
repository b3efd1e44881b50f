"""Reading what a ranker of others returns as scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError
from termwise.legible import shown


def as_scores(name: str, given: object) -> npt.NDArray[np.float64]:
    """Return scores as an array of float64, of whatever shape.

    Parameters
    ----------
    name : str
        The ranker.
    given : object
        What it returned: an array, a list, a tensor of torch on the processor.

    Raises
    ------
    DataError
        If it is not made of real numbers, or one of them is larger than a float64 can be.

    Examples
    --------
    >>> as_scores("mine", [1, 2.5])
    array([1. , 2.5])
    """
    try:
        found = np.asarray(given)
        if found.dtype.kind in "biuf" or all(isinstance(one, int | float) for one in found.flat):
            return found.astype(np.float64)
        why = f"{found.dtype} is no kind of real number"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    raise DataError(
        "the scorer gave scores that are no numbers",
        facts=[("scorer", name), ("given", f"{type(given).__name__}, {shown(given)}"), ("why", why)],
        fixes=["return a list or an array of floats, one for each text"],
    )
