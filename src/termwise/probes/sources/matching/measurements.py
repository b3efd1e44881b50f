"""What is measured on a judged text: one small class each.

========== ==========================================================================================================
Relevance  the grade of its judgment
Length     the number of its terms
TF         how often it has each term of the query: a vector
SumTF      the sum of that vector
Overlap    that sum divided by the length; 0 for a text without terms
========== ==========================================================================================================

All but SumTF are those of MacAvaney et al. (TACL 2022), section 2.2.1; SumTF is in their code only.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from termwise.probes.sources.matching.counting import Counted

Values = npt.NDArray[Any]


class Measurement(Protocol):
    """One measurement of texts for a query.

    Attributes
    ----------
    name : str
        Lower case with hyphens; names probes.
    title : str
        What tables call it.
    more, alike : str
        What is said of a text that has more of it than another one, and of texts with equally much.
    above_zero : bool
        Whether texts where it is 0 are left out: they say nothing of it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    more: ClassVar[str]
    alike: ClassVar[str]
    above_zero: ClassVar[bool]

    def values(self, counted: Counted) -> Values:
        """Return an array of shape (n, k): a row for each text, k = 1 unless it is a vector."""
        ...


class Relevance:
    """The grade of the judgment."""

    name: ClassVar[str] = "relevance"
    title: ClassVar[str] = "Relevance"
    more: ClassVar[str] = "is judged more relevant"
    alike: ClassVar[str] = "judged equally relevant"
    above_zero: ClassVar[bool] = False

    def values(self, counted: Counted) -> Values:
        """See `Measurement`."""
        return counted.grades[:, None]


class Length:
    """The number of terms."""

    name: ClassVar[str] = "length"
    title: ClassVar[str] = "Length"
    more: ClassVar[str] = "has more terms"
    alike: ClassVar[str] = "of equally many terms"
    above_zero: ClassVar[bool] = False

    def values(self, counted: Counted) -> Values:
        """See `Measurement`."""
        return counted.lengths[:, None]


class TermFrequency:
    """The counts of the distinct terms of the query, as a vector."""

    name: ClassVar[str] = "tf"
    title: ClassVar[str] = "TF"
    more: ClassVar[str] = "has every term of the query as often or more often, and one of them more often"
    alike: ClassVar[str] = "with every term of the query equally often"
    above_zero: ClassVar[bool] = False

    def values(self, counted: Counted) -> Values:
        """See `Measurement`."""
        return counted.counts


class SumTermFrequency:
    """The sum of the counts of the distinct terms of the query."""

    name: ClassVar[str] = "sum-tf"
    title: ClassVar[str] = "SumTF"
    more: ClassVar[str] = "has more occurrences of terms of the query"
    alike: ClassVar[str] = "with equally many occurrences of terms of the query"
    above_zero: ClassVar[bool] = False

    def values(self, counted: Counted) -> Values:
        """See `Measurement`."""
        totals: Values = counted.counts.sum(axis=1)[:, None]
        return totals


class Overlap:
    """The share of the terms that are terms of the query."""

    name: ClassVar[str] = "overlap"
    title: ClassVar[str] = "Overlap"
    more: ClassVar[str] = "has the larger share of terms of the query among its terms"
    alike: ClassVar[str] = "with an equal share of terms of the query among their terms"
    above_zero: ClassVar[bool] = True

    def values(self, counted: Counted) -> Values:
        """See `Measurement`."""
        shares: Values = counted.counts.sum(axis=1) / np.maximum(counted.lengths, 1)
        return shares[:, None]
