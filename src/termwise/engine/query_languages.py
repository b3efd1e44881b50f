"""Queries of an index in several languages, whose words have the same idf in all of them.

Each language has its own document frequencies, and its idf is part of the weights of its documents. So of two documents
with the same brand in their titles, the one in whose language the brand is rarer has the larger weight, and all
documents of this language come before those of the others. A query that is read in several languages therefore gives a
word the same idf in all of them: the mean of its idf in these languages, weighted by the documents with it there,

    idf(w) = sum_L df_L(w) idf_L(w) / sum_L df_L(w)

The weight of the term of w in the language L is its number of occurrences times idf(w) / stored_L(w), where
stored_L(w) is the idf in the weights of the documents, which has the document frequency of the time when the weights
were computed. So equal documents have equal scores up to the mean lengths of their languages. A word that only one
language has, or a query in one language, has the current idf of this language. It is that of the weights if the index
was not changed.

A compound that an analyzer writes as a whole and in parts is one word. Its idf in a language is the sum of those of its
terms, as a document with the whole has all of them, and its document frequency is the smallest of theirs. Words at
different positions of the query, as those of different tokenizers can be, are different words. All terms that a search
adds for the same words, such as those of similar spelling, are one word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.added_terms import AddedTerm
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.encoder_description import documents_of_languages
from termwise.kernels.weighting import lucene_idf_of
from termwise.text.analyzer_by_attribute import (
    LANGUAGE_CODES,
    AnalyzerByAttribute,
    language_of_token,
    readings,
)
from termwise.text.words_around import word_around
from termwise.weights import TermWeights


def in_documents(index: Index) -> Callable[[str], bool]:
    """Return a function that says whether a document has a token, which names its language."""

    def has(token: str) -> bool:
        number = index.vocabulary.number(token)
        return number is not None and bool(index.document_frequencies[number])

    return has


def language_of_words(index: Index, analyzer: AnalyzerByAttribute, text: str, known: str) -> str | None:
    """Return the language of a query if its documents cover more query words than those of `known`; None otherwise.

    Its documents have all words of the text that documents of the known language have, and some others. Documents whose
    language is unknown count as those of the known one. Of several such languages, the one with most words is returned.

    Examples
    --------
    >>> import tempfile, termwise
    >>> from termwise.text import make_analyzer_by_attribute
    >>> texts = [("en", "warm jacket"), ("de", "warme Jacke"), ("fr", "veste")]
    >>> shop = [{"id": str(n), "text": text, "lang": lang} for n, (lang, text) in enumerate(texts)]
    >>> analyzer = make_analyzer_by_attribute("lang")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = termwise.build_index(shop, folder + "/i", analyzer=analyzer).index
    ...     [language_of_words(index, analyzer, text, "en") for text in ("Jacke", "warm", "warm jacket", "the veste")]
    ['de', None, None, 'fr']
    """
    words: dict[str, set[tuple[int, int]]] = {}
    for each in readings(analyzer):
        spend()
        analysis = each.analyze(text)
        numbers = [index.vocabulary.number(token) for token in analysis.tokens]
        for token, number, (start, end) in zip(
            analysis.tokens, numbers, analysis.spans.tolist(), strict=True
        ):
            if number is not None and index.document_frequencies[number]:
                language = language_of_token(token)
                language = language if language in LANGUAGE_CODES else known
                words.setdefault(language, set()).add(word_around(text, start, end))
    of_known = words.pop(known, set())
    others = {language: its for language, its in words.items() if its > of_known}
    return max(sorted(others), key=lambda language: len(others[language]), default=None)


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
        for reading in self._readings(query):
            for (start, end), (language, known) in reading.items():
                if known:
                    words.setdefault((start, end), {}).setdefault(language, []).extend(known)
        row: dict[int, float] = {}
        for word in words.values():
            spend()
            factors = equal_idf({language: self._of_word(language, its) for language, its in word.items()})
            for language, its in word.items():
                for number in its:
                    row[number] = row.get(number, 0.0) + factors[language]
        return TermWeights.of_query(row, self.index.vocabulary.id)

    def _readings(self, query: str) -> list[dict[tuple[int, int], tuple[str, list[int]]]]:
        """Return the words of a query in each language, with the numbers of their terms in the index.

        A language in which no document has some word of the query has no stop words of a language whose documents have
        all other words: *lampe à poser* is French, so German documents with *A* are not found by *à*.
        """
        found = []
        for analyzer in readings(self.analyzer):
            analysis = analyzer.analyze(query)
            numbers = [self.index.vocabulary.number(token) for token in analysis.tokens]
            words: dict[tuple[int, int], tuple[str, list[int]]] = {}
            for places in analysis.compounds():
                start, end = analysis.spans[places.start].tolist()
                language = language_of_token(analysis.tokens[places.start])
                known = [number for place in places if (number := numbers[place]) is not None]
                words.setdefault((start, end), (language, []))[1].extend(known)
            found.append(words)
        if len(found) == 1:
            return found
        around = [{word_around(query, *span) for span in words} for words in found]
        every = set[tuple[int, int]]().union(*around)
        are_known = [all(numbers for _, numbers in words.values()) for words in found]
        stop = [
            every - its if is_known and its else set[tuple[int, int]]()
            for its, is_known in zip(around, are_known, strict=True)
        ]
        dropped = set[tuple[int, int]]().union(*stop)
        return [
            words
            if is_known
            else {span: its for span, its in words.items() if word_around(query, *span) not in dropped}
            for words, is_known in zip(found, are_known, strict=True)
        ]

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

    def _of_word(self, language: str, numbers: Sequence[int]) -> WordStatistics:
        """Return document frequency, current idf and stored idf of a word in a language."""
        frequencies = self.index.document_frequencies
        having = {number: int(frequencies[number]) for number in numbers if frequencies[number]}
        return WordStatistics(
            min(having.values(), default=0),
            sum(self._idf(language, df) for df in having.values()),
            sum(self._idf(language, self._built(number)) for number in having),
        )

    def _of_added(self, added: Sequence[AddedTerm]) -> WordStatistics:
        language, frequencies = language_of_token(added[0].term), self.index.document_frequencies
        shares = sum(each.share for each in added)
        dfs = [int(frequencies[each.number]) for each in added]
        idf = sum(each.share * self._idf(language, df) for each, df in zip(added, dfs, strict=True))
        stored = sum(each.share * self._idf(language, self._built(each.number)) for each in added)
        return WordStatistics(sum(dfs), idf / shares, stored / shares)

    def _idf(self, language: str, frequency: int) -> float:
        """Return the idf of Lucene's BM25; a language that the weights lack has the number of all documents."""
        documents = self._documents.get(language, self.index.manifest.encoder.statistics["documents"])
        return lucene_idf_of(frequency, max(frequency, documents))

    def _built(self, number: int) -> int:
        """Return the document frequency of a term in the weights, which is 1 for terms that were added later."""
        return max(1, int(self._frequencies[number])) if number < len(self._frequencies) else 1

    @cached_property
    def _frequencies(self) -> npt.NDArray[np.uint32]:
        """Document frequencies from which the stored weights were computed."""
        return self.index.built_frequencies()

    @cached_property
    def _documents(self) -> dict[str, int]:
        """Number of documents of each language, as in the weights."""
        return documents_of_languages(self.index.manifest.encoder.statistics)


class WordStatistics(NamedTuple):
    """Statistics of a word in a language.

    Attributes
    ----------
    frequency : int
        Number of documents with the word.
    idf : float
        Its idf in the language.
    stored : float
        The idf in the weights of the documents, larger than 0 if there are any.
    """

    frequency: int
    idf: float
    stored: float


def equal_idf(languages: Mapping[str, WordStatistics]) -> dict[str, float]:
    """Return the factors that give a word the same idf in all languages that have it.

    Examples
    --------
    >>> german, english = WordStatistics(10, 3.0, 3.0), WordStatistics(30, 1.0, 1.5)
    >>> equal_idf({"de": german, "en": english, "fr": WordStatistics(0, 0.0, 0.0)})
    {'de': 0.5, 'en': 1.0, 'fr': 1.0}
    >>> equal_idf({"en": english})
    {'en': 0.6666666666666666}
    """
    factors = dict.fromkeys(languages, 1.0)
    having = {language: each for language, each in languages.items() if each.frequency}
    if len(having) == 1:  # without the rounding of the mean
        return factors | {language: each.idf / each.stored for language, each in having.items()}
    if having:
        documents = sum(each.frequency for each in having.values())
        mean = sum(each.frequency * each.idf for each in having.values()) / documents
        factors |= {language: mean / each.stored for language, each in having.items()}
    return factors
