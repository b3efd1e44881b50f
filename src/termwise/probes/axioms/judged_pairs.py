"""Pairs of judged texts that meet the condition of an axiom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isqrt
from random import Random
from typing import Any

from termwise.probes.axioms.base import Axiom, Idf
from termwise.probes.axioms.term_reader import TermReader
from termwise.probes.axioms.word_similarity import Likeness
from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.core.probe import Probe, Strategy
from termwise.probes.core.sample import Sample, random_for
from termwise.validation import check_count

MOST = 20_000
"""Samples of a probe at most, unless asked for otherwise."""

LOOKED_AT = 100_000
"""Pairs of a query that are looked at, at most."""


class AxiomProbe(Probe):
    """Pairs of judged texts of a query for which an axiom has a preference. Positive: it is the ranker's as well.

    Judgments say only which texts belong to a query; what they say of it plays no part. Every query may give an equal
    share of the samples, at least one: where more of its pairs meet the condition, those are drawn, and where it has
    more than 100,000 pairs, so many are drawn and looked at.

    Parameters
    ----------
    name : str
        Of the axiom.
    title, definition : str
        See `Probe`.
    axiom : Axiom
        The definition, with its margin.
    judged : JudgedTexts
        Whose texts.
    reader : TermReader
        What counts as a term.
    idf : callable
        Returns how rare terms are; called when samples are asked for.
    likeness : callable
        Returns how near terms are; called when samples are asked for.
    most : int, optional
        Samples at most, if there are fewer queries.
    """

    strategy: Strategy = "axiom"

    def __init__(
        self,
        name: str,
        title: str,
        definition: str,
        *,
        axiom: Axiom[Any],
        judged: JudgedTexts,
        reader: TermReader,
        idf: Callable[[], Idf],
        likeness: Callable[[], Likeness],
        most: int = MOST,
    ) -> None:
        check_count("most", most)
        self.name = f"{name}@{judged.name}"
        self.title = title
        self.definition = definition
        self._axiom = axiom
        self._judged = judged
        self._reader = reader
        self._idf = idf
        self._likeness = likeness
        self._most = most

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        idf, likeness = self._idf(), self._likeness()
        share = max(1, self._most // max(1, len(self._judged.grades)))
        for query_id in sorted(self._judged.grades):
            texts = self._judged.of(query_id)
            question = self._reader.question(self._judged.queries[query_id], idf, likeness)
            measured = [self._axiom.measure(question, self._reader.terms(one.text)) for one in texts]
            found = 0
            for one, other in drawn_pairs(len(texts), random_for(seed, self.name, query_id)):
                if self._axiom.prefers(question, measured[one], measured[other]):
                    yield _sample(texts[one], texts[other])
                elif self._axiom.prefers(question, measured[other], measured[one]):
                    yield _sample(texts[other], texts[one])
                else:
                    continue
                found += 1
                if found == share:
                    break


def drawn_pairs(number: int, random: Random, most: int = LOOKED_AT) -> Iterator[tuple[int, int]]:
    """Yield pairs of different numbers below `number`, the larger first, in an order that is drawn.

    All of them, or so many as are looked at.

    Examples
    --------
    >>> sorted(drawn_pairs(3, Random(1)))
    [(1, 0), (2, 0), (2, 1)]
    """
    total = number * (number - 1) // 2
    for place in random.sample(range(total), min(total, most)):
        larger = (1 + isqrt(1 + 8 * place)) // 2
        yield larger, place - larger * (larger - 1) // 2


def _sample(first: JudgedText, second: JudgedText) -> Sample:
    return Sample(
        sample_id=f"{first.query_id}/{first.doc_id}/{second.doc_id}",
        query=first.query,
        first=first.text,
        second=second.text,
        query_id=first.query_id,
        facts={
            "documents": [first.doc_id, second.doc_id],
            "grades": [first.grade, second.grade],
        },
    )
