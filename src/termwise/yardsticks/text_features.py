"""Lexical features of query and text, for a learned ranker.

For the terms of each analyzer:

==================  ===================================================================================================
``bm25``            BM25 with the statistics of a background collection
``query_terms``     number of terms of the query
``text_terms``      number of terms of the text
``covered``         number of distinct query terms in the text
``covered_share``   ``covered`` / number of distinct query terms
``idf``             sum of the idf of the distinct query terms: ln(1 + (N - df + 0.5) / (df + 0.5))
``idf_covered``     sum of the idf of the query terms in the text
``idf_share``       ``idf_covered`` / ``idf``
``tf``              occurrences of query terms in the text
``tf_most``         occurrences of the most frequent query term
``tf_idf``          sum of idf * ln(1 + tf) over query terms
``overlap``         ``tf`` / ``text_terms``
``first``           position of the first query term in the text, from 0
``span``            length of the longest common run of terms
``span_share``      ``span`` / ``query_terms``
``window``          length of the shortest window with all covered terms / ``covered``
``pairs``           sum of c / (c + 1.2) over pairs of query terms that are at most 4 places apart in the query; c is
                    the number of their occurrences at most 8 places apart in the text
``ordered_pairs``   the same for occurrences in the order of the query
==================  ===================================================================================================

Features independent of the analyzer: ``query_characters``, ``text_characters``, and ``runs_of_3`` and ``runs_of_4``,
the shares of the distinct character 3-grams and 4-grams of the query that occur in the text. The scores of other
scorers are ``part.1``, ``part.2`` and so on. An undefined feature, such as ``first`` without a covered term, is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property

import numpy as np
import numpy.typing as npt

from termwise.models import BM25
from termwise.scorers.count_weigher import CountWeigher
from termwise.scorers.protocol import PairScorer, fingerprint_of
from termwise.scorers.row_scorer import RowScorer, distinct
from termwise.scorers.token_statistics import TokenStatistics
from termwise.storage.file_record import json_fingerprint
from termwise.text import Analyzer

NGRAMS = (3, 4)

OF_PAIR = ("query_characters", "text_characters", *(f"runs_of_{size}" for size in NGRAMS))
OF_TERMS = (
    "bm25", "query_terms", "text_terms", "covered", "covered_share", "idf", "idf_covered", "idf_share", "tf",
    "tf_most", "tf_idf", "overlap", "first", "span", "span_share", "window",
    "pairs", "ordered_pairs",
)  # fmt: skip

VERSION = 2
"""Version of the definitions; part of the fingerprint."""

_QUERY_WINDOW, _TEXT_WINDOW, _SATURATION = 4, 8, 1.2

_UNDEFINED = math.nan

Idf = Callable[[str], float]
Positions = Mapping[str, Sequence[int]]


class TextFeatures:
    """Computes the features of pairs.

    Parameters
    ----------
    statistics : sequence of (Analyzer, TokenStatistics)
        Analyzers, each with the statistics of the background collection.
    parts : sequence of PairScorer, optional
        Scorers whose scores are further features.

    Examples
    --------
    >>> from termwise.records import Document
    >>> from termwise.text import make_analyzer
    >>> words = make_analyzer("standard")
    >>> statistics = TokenStatistics.count([Document("1", "a cat"), Document("2", "a dog")], words)
    >>> features = TextFeatures([(words, statistics)])
    >>> row = features.of_pairs(["the old cat"], ["An old cat sleeps."])[0]
    >>> values = dict(zip(features.names, row.tolist()))
    >>> values["standard.covered"], values["standard.span"], values["standard.first"]
    (2.0, 2.0, 1.0)
    """

    def __init__(
        self, statistics: Sequence[tuple[Analyzer, TokenStatistics]], parts: Sequence[PairScorer] = ()
    ) -> None:
        self.statistics = tuple(statistics)
        self.parts = tuple(parts)
        self._bm25 = [RowScorer(CountWeigher(BM25(), *each)) for each in statistics]
        self._idf = [_idf_function(counted) for _, counted in statistics]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        of_terms = (f"{analyzer.spec.name}.{name}" for analyzer, _ in self.statistics for name in OF_TERMS)
        return (*OF_PAIR, *of_terms, *(f"part.{number}" for number in range(1, len(self.parts) + 1)))

    @cached_property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal features."""
        parts = [self.part_fingerprints] if self.parts else []
        digests = [counted.digest for _, counted in self.statistics]
        return json_fingerprint([VERSION, self.names, digests, *parts])

    @property
    def part_fingerprints(self) -> tuple[str, ...]:
        """Fingerprints of the parts."""
        return tuple(fingerprint_of(part) or "" for part in self.parts)

    def of_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the features of each pair.

        Returns
        -------
        ndarray of shape (n, f), float64
            NaN for an undefined feature.
        """
        distinct_queries, query_places = distinct(queries)
        distinct_texts, text_places = distinct(texts)
        pairs = list(zip(query_places.tolist(), text_places.tolist(), strict=True))
        columns = [_character_features(distinct_queries, distinct_texts, pairs)]
        for (analyzer, _), bm25, idf in zip(self.statistics, self._bm25, self._idf, strict=True):
            query_terms = [analyzer.tokens(query) for query in distinct_queries]
            text_terms = [analyzer.tokens(text) for text in distinct_texts]
            positions = [_positions(terms) for terms in text_terms]
            columns.append(np.asarray(bm25.score_pairs(queries, texts)).reshape(-1, 1))
            rows = [
                _term_features(query_terms[query], text_terms[text], positions[text], idf)
                for query, text in pairs
            ]
            columns.append(np.array(rows, dtype=np.float64).reshape(-1, len(OF_TERMS) - 1))
        columns += [np.asarray(part.score_pairs(queries, texts)).reshape(-1, 1) for part in self.parts]
        return np.hstack(columns)


def _idf_function(statistics: TokenStatistics) -> Idf:
    frequencies = dict(zip(statistics.tokens, statistics.counts.document_frequencies.tolist(), strict=True))
    documents = statistics.counts.n_documents

    def idf(term: str) -> float:
        df = max(1, frequencies.get(term, 0))
        return math.log(1 + (documents - df + 0.5) / (df + 0.5))

    return idf


def _positions(terms: Sequence[str]) -> Positions:
    positions: dict[str, list[int]] = {}
    for position, term in enumerate(terms):
        positions.setdefault(term, []).append(position)
    return positions


def _term_features(query: Sequence[str], text: Sequence[str], positions: Positions, idf: Idf) -> list[float]:
    """Return the features `OF_TERMS` except ``bm25``."""
    terms = list(dict.fromkeys(query))
    covered = [term for term in terms if term in positions]
    counts = [len(positions[term]) for term in covered]
    idf_total, idf_covered = sum(map(idf, terms)), sum(map(idf, covered))
    span = longest_span(query, text)
    return [
        len(query),
        len(text),
        len(covered),
        _ratio(len(covered), len(terms)),
        idf_total,
        idf_covered,
        _ratio(idf_covered, idf_total),
        sum(counts),
        max(counts, default=0),
        math.fsum(idf(term) * math.log1p(count) for term, count in zip(covered, counts, strict=True)),
        _ratio(sum(counts), len(text)),
        min((positions[term][0] for term in covered), default=_UNDEFINED),
        span,
        _ratio(span, len(query)),
        shortest_window([positions[term] for term in covered]) / len(covered)
        if len(covered) > 1
        else _UNDEFINED,
        *near_pairs(query, positions),
    ]


def longest_span(query: Sequence[str], text: Sequence[str]) -> int:
    """Return the length of the longest run of terms that query and text have in common.

    Examples
    --------
    >>> longest_span(["a", "b", "c", "x"], ["b", "a", "b", "c", "d"])
    3
    """
    return SequenceMatcher(None, query, text, autojunk=False).find_longest_match().size


def near_pairs(query: Sequence[str], positions: Positions) -> tuple[float, float]:
    """Return the features ``pairs`` and ``ordered_pairs``.

    Examples
    --------
    >>> near_pairs(["a", "b"], {"a": [0, 20], "b": [3, 19]})  # two occurrences, one of them in the order of the query
    (0.625, 0.4545454545454545)
    """
    pairs = {
        (first, second)
        for place, first in enumerate(query)
        for second in query[place + 1 : place + 1 + _QUERY_WINDOW]
        if first != second and first in positions and second in positions
    }
    counts = [
        np.subtract.outer(positions[second], positions[first]).ravel() for first, second in sorted(pairs)
    ]
    near = [int((np.abs(distances) <= _TEXT_WINDOW).sum()) for distances in counts]
    ordered = [int(((distances > 0) & (distances <= _TEXT_WINDOW)).sum()) for distances in counts]
    saturated = (sum(count / (count + _SATURATION) for count in found) for found in (near, ordered))
    return next(saturated), next(saturated)


def shortest_window(positions: Sequence[Sequence[int]]) -> int:
    """Return the length of the shortest window that contains one of the increasing positions of every term.

    Examples
    --------
    >>> shortest_window([[0, 7], [3, 9], [8]])
    3
    """
    events = sorted((position, term) for term, own in enumerate(positions) for position in own)
    last: dict[int, int] = {}
    shortest = events[-1][0] - events[0][0] + 1
    for position, term in events:
        last[term] = position
        if len(last) == len(positions):
            shortest = min(shortest, position - min(last.values()) + 1)
    return shortest


def _character_features(
    queries: Sequence[str], texts: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> npt.NDArray[np.float64]:
    """Return the features `OF_PAIR`."""
    query_ngrams = [_ngrams(query) for query in queries]
    text_ngrams = [_ngrams(text) for text in texts]
    rows = [
        [
            len(queries[query]),
            len(texts[text]),
            *(
                _ratio(len(of_query & of_text), len(of_query))
                for of_query, of_text in zip(query_ngrams[query], text_ngrams[text], strict=True)
            ),
        ]
        for query, text in pairs
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(OF_PAIR))


def _ngrams(text: str) -> list[frozenset[str]]:
    """Return the distinct character n-grams of a text, for each length."""
    plain = " ".join(text.lower().split())
    return [
        frozenset(plain[start : start + size] for start in range(len(plain) - size + 1)) for size in NGRAMS
    ]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else _UNDEFINED
