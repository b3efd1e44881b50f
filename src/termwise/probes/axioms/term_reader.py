"""Analysis of texts and queries for axioms, with a cache."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Iterable

from termwise.probes.axioms.axiom import AxiomQuery, Idf, TermSequence
from termwise.probes.axioms.word_similarity import Similarity
from termwise.text import Analyzer

CACHED_TEXTS = 20_000


class TermReader:
    """Analyzes texts; the most recent ones are cached."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self._cache: OrderedDict[str, TermSequence] = OrderedDict()

    def terms(self, text: str) -> TermSequence:
        """Return the terms of a text."""
        if text in self._cache:
            self._cache.move_to_end(text)
            return self._cache[text]
        terms = self._cache[text] = TermSequence(tuple(self.analyzer.tokens(text)))
        if len(self._cache) > CACHED_TEXTS:
            self._cache.popitem(last=False)
        return terms

    def query(self, query: str, idf: Idf, similarity: Similarity) -> AxiomQuery:
        """Return an analyzed query."""
        return AxiomQuery(self.terms(query).tokens, idf, similarity)


def idf_of(reader: TermReader, texts: Iterable[str]) -> Idf:
    """Return the rarity of terms in N texts, n of which have the term: ln(1 + (N - n + 0.5) / (n + 0.5)), above 0.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> idf = idf_of(TermReader(make_analyzer("whitespace")), ["a b", "a"])
    >>> idf("b") > idf("a") > 0
    True
    """
    document_frequency: Counter[str] = Counter()
    number = 0
    for text in texts:
        document_frequency.update(reader.terms(text).counts.keys())
        number += 1

    def idf(term: str) -> float:
        count = document_frequency[term]
        return math.log1p((number - count + 0.5) / (count + 0.5))

    return idf
