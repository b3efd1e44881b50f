"""What can be counted of a query and a text, without a network: the features of a learned ranker.

For each analyzer, over the terms that it makes (number of a feature, what it says):

==================  ===================================================================================================
``bm25``            BM25 with the statistics of a collection
``covered``         distinct terms of the query that the text has
``covered_share``   of all distinct terms of the query
``idf``             idf of the terms of the query, together: ln(1 + (N - df + 0.5) / (df + 0.5))
``idf_covered``     of those that the text has
``idf_share``       the one by the other
``tf``              occurrences of terms of the query in the text, together
``tf_most``         of the most frequent one
``tf_idf``          idf * ln(1 + tf), together
``overlap``         ``tf`` by the terms of the text
``first``           place of the first term of the query in the text, from 0
``span``            terms in the longest row of terms that query and text have in common
``span_share``      by the terms of the query
``window``          terms in the shortest piece of the text with all terms that are covered, by their number
==================  ===================================================================================================

And once: ``query_terms`` and ``text_terms`` of each analyzer, ``query_characters``, ``text_characters``, and the shares
of the runs of three and four characters of the query that the text has, ``runs_of_3`` and ``runs_of_4``. What is not
defined, such as the first place of no term, is NaN, and not 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from termwise.models import BM25
from termwise.scorers.count_weigher import CountWeigher, TokenStatistics
from termwise.scorers.row_scorer import RowScorer, distinct
from termwise.text import Analyzer
from termwise.validation import check_pairs

RUNS = (3, 4)

OF_PAIR = ("query_characters", "text_characters", *(f"runs_of_{size}" for size in RUNS))
OF_TERMS = (
    "bm25", "query_terms", "text_terms", "covered", "covered_share", "idf", "idf_covered", "idf_share", "tf",
    "tf_most", "tf_idf", "overlap", "first", "span", "span_share", "window",
)  # fmt: skip

VERSION = 1
"""Of what features mean; part of the fingerprint."""

_NONE = math.nan

Idf = Callable[[str], float]
Places = Mapping[str, Sequence[int]]


class TextFeatures:
    """Counts the features of pairs.

    Parameters
    ----------
    counted : sequence of (Analyzer, TokenStatistics)
        What makes terms, each with the statistics of a collection that it has cut.

    Examples
    --------
    >>> from termwise.records import Document
    >>> from termwise.text import make_analyzer
    >>> words = make_analyzer("standard")
    >>> statistics = TokenStatistics.count([Document("1", "a cat"), Document("2", "a dog")], words)
    >>> features = TextFeatures([(words, statistics)])
    >>> row = features.of_pairs(["the old cat"], ["An old cat sleeps."])[0]
    >>> found = dict(zip(features.names, row.tolist()))
    >>> found["standard.covered"], found["standard.span"], found["standard.first"]
    (2.0, 2.0, 1.0)
    """

    def __init__(self, counted: Sequence[tuple[Analyzer, TokenStatistics]]) -> None:
        self.counted = tuple(counted)
        self._bm25 = [RowScorer(CountWeigher(BM25(), *each)) for each in counted]
        self._idf = [_idf_of(statistics) for _, statistics in counted]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the columns are, in order."""
        return OF_PAIR + tuple(f"{cut.spec.name}.{name}" for cut, _ in self.counted for name in OF_TERMS)

    @cached_property
    def fingerprint(self) -> str:
        """Equal ones give equal features."""
        said = [VERSION, self.names, [statistics.digest for _, statistics in self.counted]]
        return f"sha256:{sha256(json.dumps(said).encode()).hexdigest()}"

    def of_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return a row for each pair.

        Returns
        -------
        ndarray of shape (n, f), float64
            NaN where a feature is not defined.
        """
        check_pairs(queries, texts)
        asked, query_places = distinct(queries)
        held, text_places = distinct(texts)
        pairs = list(zip(query_places.tolist(), text_places.tolist(), strict=True))
        parts = [_of_characters(asked, held, pairs)]
        for (analyzer, _), bm25, idf in zip(self.counted, self._bm25, self._idf, strict=True):
            wanted = [analyzer.tokens(query) for query in asked]
            cut = [analyzer.tokens(text) for text in held]
            found = [_places_of(terms) for terms in cut]
            parts.append(np.asarray(bm25.score_pairs(queries, texts)).reshape(-1, 1))
            rows = [_of_terms(wanted[query], cut[text], found[text], idf) for query, text in pairs]
            parts.append(np.array(rows, dtype=np.float64).reshape(-1, len(OF_TERMS) - 1))
        return np.hstack(parts)


def _idf_of(statistics: TokenStatistics) -> Idf:
    frequencies = dict(zip(statistics.tokens, statistics.counts.document_frequencies.tolist(), strict=True))
    documents = statistics.counts.n_documents

    def idf(term: str) -> float:
        df = max(1, frequencies.get(term, 0))
        return math.log(1 + (documents - df + 0.5) / (df + 0.5))

    return idf


def _places_of(terms: Sequence[str]) -> Places:
    found: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        found.setdefault(term, []).append(place)
    return found


def _of_terms(query: Sequence[str], text: Sequence[str], places: Places, idf: Idf) -> list[float]:
    terms = list(dict.fromkeys(query))
    covered = [term for term in terms if term in places]
    counts = [len(places[term]) for term in covered]
    whole, held = sum(map(idf, terms)), sum(map(idf, covered))
    span = longest_span(query, text, places)
    return [
        len(query),
        len(text),
        len(covered),
        _share(len(covered), len(terms)),
        whole,
        held,
        _share(held, whole),
        sum(counts),
        max(counts, default=0),
        math.fsum(idf(term) * math.log1p(count) for term, count in zip(covered, counts, strict=True)),
        _share(sum(counts), len(text)),
        min((places[term][0] for term in covered), default=_NONE),
        span,
        _share(span, len(query)),
        shortest_window([places[term] for term in covered]) / len(covered) if len(covered) > 1 else _NONE,
    ]


def longest_span(query: Sequence[str], text: Sequence[str], places: Places) -> int:
    """Return how many terms in a row query and text have in common at the most.

    Examples
    --------
    >>> text = ["b", "a", "b", "c", "d"]
    >>> longest_span(["a", "b", "c", "x"], text, {"a": [1], "b": [0, 2], "c": [3], "d": [4]})
    3
    """
    longest = 0
    for start, term in enumerate(query):
        if len(query) - start <= longest:
            break
        for place in places.get(term, ()):
            size = 1
            while (
                start + size < len(query)
                and place + size < len(text)
                and query[start + size] == text[place + size]
            ):
                size += 1
            longest = max(longest, size)
    return longest


def shortest_window(places: Sequence[Sequence[int]]) -> int:
    """Return how long the shortest piece of a text is that holds one of the places of every term.

    Parameters
    ----------
    places : sequence of increasing sequences of int
        Of each term, one or more.

    Examples
    --------
    >>> shortest_window([[0, 7], [3, 9], [8]])
    3
    """
    events = sorted((place, term) for term, own in enumerate(places) for place in own)
    last: dict[int, int] = {}
    shortest = events[-1][0] - events[0][0] + 1
    for place, term in events:
        last[term] = place
        if len(last) == len(places):
            shortest = min(shortest, place - min(last.values()) + 1)
    return shortest


def _of_characters(
    queries: Sequence[str], texts: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> npt.NDArray[np.float64]:
    asked = [_runs(query) for query in queries]
    held = [_runs(text) for text in texts]
    rows = [
        [
            len(queries[query]),
            len(texts[text]),
            *(
                _share(len(mine & theirs), len(mine))
                for mine, theirs in zip(asked[query], held[text], strict=True)
            ),
        ]
        for query, text in pairs
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(OF_PAIR))


def _runs(text: str) -> list[frozenset[str]]:
    plain = " ".join(text.lower().split())
    return [frozenset(plain[start : start + size] for start in range(len(plain) - size + 1)) for size in RUNS]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else _NONE
