"""What the texts of queries say about the size of their scores."""

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
        For each query, by its identifier, the sum of ``ln(1 + (N - df + 0.5) / (df + 0.5))`` over its
        distinct terms that the index knows; 0 where it knows none. How often the query repeats a term does
        not count.
    words : mapping of str to float
        The number of words of each query, as the analyzer of the index cuts it, with repetitions and with
        words that the index does not know.
    """

    idf: Mapping[str, float]
    words: Mapping[str, float]

    @classmethod
    def of(cls, index: Index, queries: Iterable[Query]) -> QueryScales:
        """Read them off an index.

        Parameters
        ----------
        index : Index
            Opened; its analyzer and its document frequencies are used. For ``idf`` its documents should hold
            the terms of their texts, as those of BM25 do, and no expansions.
        queries : iterable of Query
            The texts.

        Raises
        ------
        UnknownNameError
            If the index does not say how queries are analysed.
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
