"""Measurements of judged texts for a query.

=========  ===========================================================================================================
Relevance  grade of the judgment
Length     number of terms
TF         counts of the distinct terms of the query, a vector
SumTF      sum of that vector
Overlap    that sum divided by the length; 0 for a text without terms
=========  ===========================================================================================================

All except SumTF are from MacAvaney et al. (TACL 2022), section 2.2.1; SumTF is only in their code.

Terms are those of Terrier's English indexing as the paper uses it. Words are runs of ASCII letters and digits. Words
are left out if they are longer than 20 characters, have more than 4 digits or more than 3 identical characters in a
row, or are stop words. The other words are lower-cased and stemmed by Porter's program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.fast_dataclass import dataclass
from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.text import PORTER

_WORD = re.compile("[A-Za-z0-9]+")
_DIGIT = re.compile("[0-9]")
_FOUR_ALIKE = re.compile(r"(.)\1{3}")
_MAX_LENGTH, _MAX_DIGITS = 20, 4


class PublishedTerms:
    """Published pipeline, see the module. The published stop words are Terrier's 733, which do not ship.

    Examples
    --------
    >>> terms = PublishedTerms(frozenset({"the", "of"}))
    >>> terms.tokens("The U.S. analogies of the 1990s: 12345 zzzz")
    ['u', 's', 'analog', '1990']
    """

    def __init__(self, stop_words: frozenset[str]) -> None:
        self.stop_words = stop_words
        self._stem = cache(self._stemmed)

    def tokens(self, text: str) -> list[str]:
        """Return the terms of a text, in order."""
        stems = (self._stem(word.lower()) for word in _WORD.findall(text))
        return [stem for stem in stems if stem is not None]

    def _stemmed(self, word: str) -> str | None:
        is_dropped = (
            len(word) > _MAX_LENGTH
            or len(_DIGIT.findall(word)) > _MAX_DIGITS
            or _FOUR_ALIKE.search(word) is not None
            or word in self.stop_words
        )
        return None if is_dropped else PORTER(word)


Values = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CountedQuery:
    """Grades, lengths and counts for the n judged texts of a query with t distinct terms."""

    texts: tuple[JudgedText, ...]
    """Ordered by document."""
    grades: Counts
    lengths: Counts
    counts: Counts
    """Shape (n, t): count of each query term, in alphabetical order."""


class CountedTexts:
    """Judged texts of a collection, counted on first use.

    Examples
    --------
    >>> judged = JudgedTexts("toy", {"q": "a cat"}, {"a": "Cat, cat.", "b": "Dog."}, {"q": {"a": 2, "b": 0}}, 0)
    >>> counted = CountedTexts(judged, PublishedTerms(frozenset())).of("q")
    >>> counted.lengths.tolist(), counted.counts.tolist()
    ([2, 1], [[0, 2], [0, 0]])
    """

    def __init__(self, judged: JudgedTexts, terms: PublishedTerms) -> None:
        self.judged = judged
        self._terms = terms
        self._counter = cache(self._terms_of)
        self.of = cache(self._count)

    def _count(self, query_id: str) -> CountedQuery:
        """Return the counts for a query."""
        texts = tuple(self.judged.of(query_id))
        query_terms = sorted(set(self._terms.tokens(self.judged.queries[query_id])))
        counters = [self._counter(text.doc_id) for text in texts]
        counts = np.array([[counter[term] for term in query_terms] for counter in counters], dtype=np.int64)
        return CountedQuery(
            texts=texts,
            grades=np.array([text.grade for text in texts], dtype=np.int64),
            lengths=np.array([sum(counter.values()) for counter in counters], dtype=np.int64),
            counts=counts.reshape(len(texts), len(query_terms)),
        )

    def _terms_of(self, doc_id: str) -> Counter[str]:
        return Counter(self._terms.tokens(self.judged.texts[doc_id]))


@dataclass(frozen=True)
class Measurement:
    """Measurement of texts for a query.

    `more` and `alike` describe a text with a larger value, and texts with equal values. `values` returns an array of
    shape (n, k), a row per text; k = 1 unless the measurement is a vector. With `above_zero`, texts with the value 0
    are left out.
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
    "sum-tf", "SumTF", "has more occurrences of query terms", "with equal total counts of query terms", _sums
)
OVERLAP = Measurement(
    "overlap",
    "Overlap",
    "has the larger share of query terms among its terms",
    "with equal shares of query terms among their terms",
    lambda counted: _sums(counted) / np.maximum(counted.lengths, 1)[:, None],
    above_zero=True,
)
