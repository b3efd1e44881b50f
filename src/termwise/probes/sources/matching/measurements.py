"""Measurements of judged texts for a query.

=========  ===========================================================================================================
Relevance  grade of the judgment
Length     number of terms
TF         counts of the distinct terms of the query, a vector
SumTF      sum of that vector
Overlap    that sum divided by the length; 0 for a text without terms
=========  ===========================================================================================================

All but SumTF are those of MacAvaney et al. (TACL 2022), section 2.2.1; SumTF is in their code only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.probes.sources.matching.counting import CountedQuery

Values = npt.NDArray[Any]


@dataclass(frozen=True)
class Measurement:
    """Measurement of texts for a query.

    Attributes
    ----------
    name : str
        Lower case with hyphens; part of names of probes.
    title : str
        For tables.
    more, alike : str
        Description of a text with a larger value, and of texts with equal values, in definitions of probes.
    values : callable
        Returns an array of shape (n, k), a row per text; k = 1 unless the measurement is a vector.
    above_zero : bool
        Whether texts with the value 0 are left out.
    """

    name: str
    title: str
    more: str
    alike: str
    values: Callable[[CountedQuery], Values]
    above_zero: bool = False


def _sums(counted: CountedQuery) -> Values:
    sums: Values = counted.counts.sum(axis=1)[:, None]
    return sums


RELEVANCE = Measurement(
    "relevance",
    "Relevance",
    "has the higher grade",
    "with equal grades",
    lambda counted: counted.grades[:, None],
)
LENGTH = Measurement(
    "length", "Length", "has more terms", "of equal length in terms", lambda counted: counted.lengths[:, None]
)
TERM_FREQUENCY = Measurement(
    "tf",
    "TF",
    "has no fewer occurrences of any query term, and more of at least one",
    "with equal counts of each query term",
    lambda counted: counted.counts,
)
SUM_TERM_FREQUENCY = Measurement(
    "sum-tf",
    "SumTF",
    "has more occurrences of query terms",
    "with equal total counts of query terms",
    _sums,
)
OVERLAP = Measurement(
    "overlap",
    "Overlap",
    "has the larger share of query terms among its terms",
    "with equal shares of query terms among their terms",
    lambda counted: _sums(counted) / np.maximum(counted.lengths, 1)[:, None],
    above_zero=True,
)
