"""Divisors of scores computed from the texts of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from termwise.engine.query_encoder import analyzer_of
from termwise.index import Index
from termwise.kernels.weighting import lucene_idf
from termwise.records import Query


@dataclass(frozen=True)
class QueryScales:
    """Divisors for the scalings ``idf`` and ``query-length``.

    Attributes
    ----------
    idf : mapping of str to float
        Per query, by identifier, the sum of ``ln(1 + (N - df + 0.5) / (df + 0.5))`` over its distinct terms in the
        index; 0 without such terms.
    words : mapping of str to float
        Per query, the number of tokens, with repetitions and unknown tokens.
    """

    idf: Mapping[str, float]
    words: Mapping[str, float]

    @classmethod
    def of(cls, index: Index, queries: Iterable[Query]) -> QueryScales:
        """Compute the divisors with the statistics of an index.

        Parameters
        ----------
        index : Index
            Its analyzer and document frequencies are used. For ``idf`` it should hold the terms of the texts without
            expansions, as an index of BM25 does.
        queries : iterable of Query
            The queries.

        Raises
        ------
        UnknownNameError
            If the index has no analyzer for queries.
        """
        analyzer, number = analyzer_of(index), index.vocabulary.number
        idf = lucene_idf(index.document_frequencies, len(index))
        sums: dict[str, float] = {}
        words: dict[str, float] = {}
        for query in queries:
            tokens = analyzer.tokens(query.text)
            terms = sorted({term for token in tokens if (term := number(token)) is not None})
            sums[query.query_id] = float(idf[terms].sum())
            words[query.query_id] = float(len(tokens))
        return cls(sums, words)
