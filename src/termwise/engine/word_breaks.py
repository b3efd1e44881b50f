"""Words of a query with a blank too many or too few: ``head lamp`` for *headlamp*, and ``headlamp`` for *head lamp*.

A blank is one edit. Two words of a query with only blanks between them stand for the joined word if more documents have
it than have both words. A word that no document has stands for two words that documents have together; of several
pairs, the one in the most documents. Where texts are stored, one of them must have the two words next to each other:
*car with a port* is no *car port*.

Words with a digit are left out, because another number is another thing, and so are parts of fewer than
`SHORTEST_PART` characters, which occur in many words by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.added_terms import Span
from termwise.engine.codes import has_digits
from termwise.engine.text_conditions import documents_with, on_a_path
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.kernels.weighting import lucene_idf_of
from termwise.text import Analysis, Analyzer

SHORTEST_PART = 3
"""Least number of characters of each of two words that a word without a blank stands for."""

LONGEST_WORD = 100
"""Number of characters of the longest word that is joined or taken as two words."""

MOST_PAIRS = 50
"""Number of neighbouring words of a query, the first ones, whose joined form is looked for."""


@dataclass(frozen=True)
class WordBreak:
    """Words of the index that differ from typed words by a blank.

    Attributes
    ----------
    text : str
        The words, spelt as they were typed.
    terms : tuple of (str, int)
        Their terms in the index, with the numbers: one of a joined word, or two.
    documents : int
        Number of documents, or of chunks of documents, with all of these terms.
    typed : int
        Number of documents with the words as they were typed.
    spans : tuple of (int, int)
        Positions of the typed words in the query.
    weight : float
        Weight of the typed words in units of that of each term: of two words, the sum of their idf by that of the
        joined word, so that a document with it has as much as one with both; of one word, a half for each of two. A
        word that no document has counts as one that a single document has.
    """

    text: str
    terms: tuple[tuple[str, int], ...]
    documents: int
    typed: int
    spans: tuple[Span, ...]
    weight: float = 0.5


@dataclass(frozen=True, eq=False)
class WordBreaks:
    """Looks for words with other blanks in an index.

    Attributes
    ----------
    index : Index
    analyzer : Analyzer
        Analyzer of its queries.
    number : callable
        Returns the number of a term, None if the index lacks it.
    texts_with : callable
        Returns stored texts with some terms, see `SimilarTerms.texts_with`.
    """

    index: Index
    analyzer: Analyzer
    number: Callable[[str], int | None]
    texts_with: Callable[[list[int]], Iterable[str]]

    def joined(self, query: str, analysis: Analysis) -> list[WordBreak]:
        """Return the joined forms of neighbouring words of a query that it lacks, and that more documents have."""
        compounds, spans = analysis.compounds(), analysis.spans.tolist()
        found: dict[str, WordBreak] = {}
        for first, second in islice(pairwise(compounds), MOST_PAIRS):
            (start, end), (next_start, last) = spans[first.start], spans[second.start]
            second_word = query[next_start:last]
            text = query[start:end] + (second_word if query[start:end].isupper() else second_word.lower())
            if not query[end:next_start].isspace() or len(text) > LONGEST_WORD or has_digits(text):
                continue
            term = self._term(text)
            if term is None or term[0] in analysis.tokens:
                continue
            spend()
            token, number = term
            if (earlier := found.get(token)) is not None:
                found[token] = replace(earlier, spans=(*earlier.spans, (start, last)))
                continue
            documents = int(self.index.document_frequencies[number])
            both = [documents_with_word(self.index, self.number, analysis, word) for word in (first, second)]
            typed = int(np.logical_and(*both).sum())
            if documents > typed:
                of_words = sum(lucene_idf_of(max(1, int(each.sum())), len(self.index)) for each in both)
                weight = of_words / lucene_idf_of(documents, len(self.index))
                found[token] = WordBreak(text, (term,), documents, typed, ((start, last),), weight)
        return list(found.values())

    def in_two(self, word: str, spans: tuple[Span, ...]) -> WordBreak | None:
        """Return the two words that a word which no document has stands for; None without any."""
        best: WordBreak | None = None
        if len(word) > LONGEST_WORD or has_digits(word):
            return None
        for place in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
            spend()
            if (first := self._term(word[:place])) is None or (second := self._term(word[place:])) is None:
                continue
            both = (documents_with_term(self.index, number) for _, number in (first, second))
            documents = int(np.logical_and(*both).sum())
            if documents > (0 if best is None else best.documents) and self._are_neighbours(first, second):
                best = WordBreak(f"{word[:place]} {word[place:]}", (first, second), documents, 0, spans)
        return best

    def _term(self, text: str) -> tuple[str, int] | None:
        """Return the term of a text that is one word, for a compound that of the whole, if a document has it."""
        for token in self.analyzer.tokens(text)[:1]:
            number = self.number(token)
            if number is not None and self.index.document_frequencies[number]:
                analysis = self.analyzer.analyze(text)
                if len(analysis.compounds()) == 1 and analysis.spans[0].tolist() == [0, len(text)]:
                    return token, number
        return None

    def _are_neighbours(self, first: tuple[str, int], second: tuple[str, int]) -> bool:
        """Return whether a stored text has two terms next to each other, or the index stores no texts."""
        if not self.index.stores_text:
            return True
        for text in self.texts_with([first[1], second[1]]):
            spend()
            analysis = self.analyzer.analyze(text)
            for place, pair in enumerate(pairwise(analysis.tokens)):
                if pair == (first[0], second[0]):
                    (_, end), (start, _) = analysis.spans[place : place + 2].tolist()
                    if end < start and not any(map(str.isalnum, text[end:start])):
                        return True
        return False


def documents_with_term(index: Index, number: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the documents that contain a term."""
    return documents_with(index, np.array([number], dtype=np.int32))


def documents_with_word(
    index: Index, number: Callable[[str], int | None], analysis: Analysis, places: range
) -> npt.NDArray[np.bool_]:
    """Return a mask of the documents that contain a word of a text: a compound as a whole, or all of its parts.

    Parameters
    ----------
    index : Index
    number : callable
        Returns the number of a term, None if the index lacks it.
    analysis : Analysis
        Of the text.
    places : range
        Places of the tokens of the word.
    """
    positions = analysis.positions().tolist()
    numbers = [number(analysis.tokens[place]) for place in places]
    steps = [
        (documents_with(index, np.array([] if each is None else [each], dtype=np.int32)), *positions[place])
        for each, place in zip(numbers, places, strict=True)
    ]
    return on_a_path(steps)
