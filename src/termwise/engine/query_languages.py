"""Queries of an index in several languages, whose words have the same idf in all of them.

Each language has its own document frequencies, and its idf is part of the weights of its documents. So of two documents
with the same brand in their titles, the one in whose language the brand is rarer has the larger weight, and all
documents of this language come before those of the others. A query that is read in several languages therefore gives a
word the same idf in all of them: the mean of its idf in these languages, weighted by the documents with it there,

    idf(w) = sum_L df_L(w) idf_L(w) / sum_L df_L(w)

The weight of the term of w in the language L is its number of occurrences times idf(w) / idf_L(w). So equal documents
have equal scores up to the mean lengths of their languages, and a word that only one language has, or a query in one
language, keeps its weights.

A compound that an analyzer writes as a whole and in parts is one word. Its idf in a language is the sum of those of its
terms, as a document with the whole has all of them, and its document frequency is the smallest of theirs. Words at
different positions of the query, as those of different tokenizers can be, are different words. All terms that a search
adds for the same words, such as those of similar spelling, are one word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import final

from termwise.budget import spend
from termwise.engine.added_terms import AddedTerm
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.encoder_description import documents_of_languages
from termwise.kernels.weighting import lucene_idf_of
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute, language_of_token, readings
from termwise.weights import TermWeights


@final
@dataclass(frozen=True, eq=False)
class QueryEncoderByLanguage:
    """Encodes a query as counts of its tokens in each language, scaled to the same idf of a word in all languages.

    Attributes
    ----------
    index : Index
    analyzer : AnalyzerByAttribute
        Analyzer of queries, limited to the languages of the index or to one.
    """

    index: Index
    analyzer: AnalyzerByAttribute

    def encode_query(self, query: str) -> TermWeights:
        """Return one row over the vocabulary of the index; unknown tokens are dropped."""
        words: dict[tuple[int, int], dict[str, list[int]]] = {}
        for analyzer in readings(self.analyzer):
            analysis = analyzer.analyze(query)
            numbers = [self.index.vocabulary.number(token) for token in analysis.tokens]
            for places in analysis.compounds():
                known = [number for place in places if (number := numbers[place]) is not None]
                if known:
                    start, end = analysis.spans[places.start].tolist()
                    language = language_of_token(analysis.tokens[places.start])
                    words.setdefault((start, end), {}).setdefault(language, []).extend(known)
        row: dict[int, float] = {}
        for word in words.values():
            spend()
            factors = equal_idf({language: self._of_word(language, its) for language, its in word.items()})
            for language, its in word.items():
                for number in its:
                    row[number] = row.get(number, 0.0) + factors[language]
        return TermWeights.of_query(row, self.index.vocabulary.id)

    def factors_of_added(self, added: Sequence[AddedTerm]) -> list[float]:
        """Return the factors of terms that are added to a query; those for the same words are one word.

        Its idf in a language is the mean of those of its terms, weighted by their shares.
        """
        words: dict[tuple[object, ...], dict[str, list[AddedTerm]]] = {}
        for each in added:
            word = words.setdefault((each.spans, each.origin), {})
            word.setdefault(language_of_token(each.term), []).append(each)
        factors = {
            key: equal_idf({each: self._of_added(word[each]) for each in word}) for key, word in words.items()
        }
        return [factors[each.spans, each.origin][language_of_token(each.term)] for each in added]

    def _of_word(self, language: str, numbers: Sequence[int]) -> tuple[int, float]:
        """Return the document frequency and the idf of a word in a language."""
        frequencies = [df for number in numbers if (df := int(self.index.document_frequencies[number]))]
        return min(frequencies, default=0), sum(self._idf(language, df) for df in frequencies)

    def _of_added(self, added: Sequence[AddedTerm]) -> tuple[int, float]:
        language, frequencies = language_of_token(added[0].term), self.index.document_frequencies
        dfs = [int(frequencies[each.number]) for each in added]
        idf = sum(each.share * self._idf(language, df) for each, df in zip(added, dfs, strict=True))
        return sum(dfs), idf / sum(each.share for each in added)

    def _idf(self, language: str, frequency: int) -> float:
        """Return the idf of Lucene's BM25."""
        documents = max(frequency, self._documents.get(language, len(self.index)))
        return lucene_idf_of(frequency, documents)

    @cached_property
    def _documents(self) -> dict[str, int]:
        """Number of documents of each language, as in the weights."""
        return documents_of_languages(self.index.manifest.encoder.statistics)


def equal_idf(languages: Mapping[str, tuple[int, float]]) -> dict[str, float]:
    """Return the factors that give a word the same idf in all languages that have it.

    Parameters
    ----------
    languages : mapping of str to (int, float)
        Document frequency and idf of the word in each language.

    Examples
    --------
    >>> equal_idf({"de": (10, 3.0), "en": (30, 1.0), "fr": (0, 0.0)})
    {'de': 0.5, 'en': 1.5, 'fr': 1.0}
    """
    factors = dict.fromkeys(languages, 1.0)
    having = {language: idf for language, (frequency, idf) in languages.items() if frequency}
    if len(having) > 1:
        documents = sum(languages[language][0] for language in having)
        mean = sum(languages[language][0] * idf for language, idf in having.items()) / documents
        factors |= {language: mean / idf for language, idf in having.items()}
    return factors
