"""Term counts of the judged texts of a query, shared by all measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.sources.matching.terms import TermExtractor

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CountedQuery:
    """Counts for the n judged texts of a query with t distinct terms.

    Attributes
    ----------
    texts : tuple of JudgedText of length n
        Ordered by document.
    grades : ndarray of shape (n,), int64
    lengths : ndarray of shape (n,), int64
        Number of terms of each text.
    counts : ndarray of shape (n, t), int64
        Count of each query term in each text; terms are in alphabetical order.
    """

    texts: tuple[JudgedText, ...]
    grades: Counts
    lengths: Counts
    counts: Counts


class CountedTexts:
    """Judged texts of a collection, counted on first use.

    Parameters
    ----------
    judged : JudgedTexts
    terms : TermExtractor
        Defines the counted terms.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> judged = JudgedTexts("toy", {"q": "a cat"}, {"a": "Cat, cat.", "b": "Dog."}, {"q": {"a": 2, "b": 0}}, 0)
    >>> counted = CountedTexts(judged, make_analyzer("standard")).of("q")
    >>> counted.lengths.tolist(), counted.counts.tolist()
    ([2, 1], [[0, 2], [0, 0]])
    """

    def __init__(self, judged: JudgedTexts, terms: TermExtractor) -> None:
        self.judged = judged
        self._terms = terms
        self._counters: dict[str, Mapping[str, int]] = {}
        self._counted: dict[str, CountedQuery] = {}

    def of(self, query_id: str) -> CountedQuery:
        """Return the counts for a query."""
        if query_id not in self._counted:
            self._counted[query_id] = self._count(query_id)
        return self._counted[query_id]

    def _count(self, query_id: str) -> CountedQuery:
        texts = tuple(self.judged.of(query_id))
        query_terms = sorted(set(self._terms.tokens(self.judged.queries[query_id])))
        counters = [self._counter(text.doc_id) for text in texts]
        counts = np.array(
            [[counter.get(term, 0) for term in query_terms] for counter in counters], dtype=np.int64
        )
        return CountedQuery(
            texts=texts,
            grades=np.array([text.grade for text in texts], dtype=np.int64),
            lengths=np.array([sum(counter.values()) for counter in counters], dtype=np.int64),
            counts=counts.reshape(len(texts), len(query_terms)),
        )

    def _counter(self, doc_id: str) -> Mapping[str, int]:
        if doc_id not in self._counters:
            self._counters[doc_id] = Counter(self._terms.tokens(self.judged.texts[doc_id]))
        return self._counters[doc_id]
