"""Reads texts and queries into terms, each text once."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Iterable

from termwise.probes.axioms.base import Idf, Question, Terms
from termwise.probes.axioms.word_similarity import Likeness
from termwise.text import Analyzer

TEXTS = 20_000
"""Texts that are remembered."""


class TermReader:
    """Cuts texts into terms and remembers those that were asked for last.

    Parameters
    ----------
    analyzer : Analyzer
        What counts as a term.
    texts : int, optional
        How many are remembered.
    """

    def __init__(self, analyzer: Analyzer, *, texts: int = TEXTS) -> None:
        self.analyzer = analyzer
        self._most = texts
        self._known: OrderedDict[str, Terms] = OrderedDict()

    def terms(self, text: str) -> Terms:
        """Return the terms of a text."""
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text]
        found = self._known[text] = Terms(tuple(self.analyzer.tokens(text)))
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found

    def question(self, query: str, idf: Idf, likeness: Likeness) -> Question:
        """Return a query as axioms see it."""
        return Question(self.terms(query).tokens, idf, likeness)


def idf_of(reader: TermReader, texts: Iterable[str]) -> Idf:
    """Count in how many texts each term occurs, and return how rare that makes it.

    With N texts of which n have the term, ln(1 + (N - n + 0.5) / (n + 0.5)), which is above 0.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> idf = idf_of(TermReader(make_analyzer("whitespace")), ["a b", "a"])
    >>> idf("b") > idf("a") > 0
    True
    """
    having: Counter[str] = Counter()
    number = 0
    for text in texts:
        having.update(reader.terms(text).counts.keys())
        number += 1
    return lambda term: math.log1p((number - having[term] + 0.5) / (having[term] + 0.5))
