"""Words of a query for an index whose terms are pieces of words.

Such an index has a weight or a vector for every word: it splits *solugions* into *sol*, *##ug* and *##ions*, which have
nothing to do with solutions. Three facts are known only together with an index of whole words over the same documents,
the other part of a mixture:

- A word that is one piece, and that no document has, is no typo. Vocabularies of pieces have the frequent words of a
  language as a whole; see `WordsInPieces.has`.
- If no document has a word of the query, and none of them is one piece or a compound of words that are, as *raincoat*,
  the query is probably nonsense; see `WordsInPieces.has_word_of`.
- A mistyped word, and its similar words. Their pieces replace those of the mistyped word, each with the share that the
  similar word has in the index of whole words; see `SimilarPieces`. The weight of a query is a sum over its words, so
  this is the query that is expected if the shares are probabilities. Adding the similar words and keeping the pieces of
  the typo was measured too, and ranks less well (experiments/results/typos.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from termwise.engine.added_terms import AddedTerm
from termwise.engine.similar_terms import SimilarTerms, SimilarTermsByLanguage
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.text.analyzer import Analyzer, unknown_token
from termwise.text.words_around import word_around

SHORTEST_WORD = 3
"""Least number of letters of the words of a compound."""


@dataclass(frozen=True, eq=False)
class WordsInPieces:
    """Splits words as an index of pieces does.

    Attributes
    ----------
    index : Index
    analyzer : Analyzer
        Analyzer of its queries.
    """

    index: Index
    analyzer: Analyzer

    def of(self, text: str) -> list[tuple[str, int]]:
        """Return the tokens of a text that can contribute to a score, with their numbers."""
        found = ((token, self.index.vocabulary.number(token)) for token in self.analyzer.tokens(text))
        return [(token, number) for token, number in found if number is not None and self.knows(token)]

    def has(self, word: str) -> bool:
        """Return whether a word is one piece that can contribute to a score."""
        tokens = self.analyzer.tokens(word)
        return len(tokens) == 1 and self.knows(tokens[0])

    def has_word_of(self, text: str, words: Sequence[Analyzer]) -> bool:
        """Return whether a word of a text is one piece that can contribute to a score, or a compound of such words.

        Words of a compound have `SHORTEST_WORD` letters at least. Words that all of the given analyzers remove, such as
        stop words, do not count.
        """
        analysis = self.analyzer.analyze(text)
        pieces: dict[tuple[int, int], list[tuple[str, str]]] = {}
        for token, (start, end) in zip(analysis.tokens, analysis.spans.tolist(), strict=True):
            pieces.setdefault(word_around(text, start, end), []).append((token, text[start:end]))
        return any(
            all(map(self.knows, (token for token, _ in its)))
            and (len(its) == 1 or all(len(part) >= SHORTEST_WORD and self.has(part) for _, part in its))
            and sum(len(part) for _, part in its) == end - start
            and any(each.tokens(text[start:end]) for each in words)
            for (start, end), its in pieces.items()
        )

    def knows(self, token: str) -> bool:
        """Return whether a token can contribute to a score."""
        return token != unknown_token(self.analyzer) and is_known(self.index, token)


@dataclass(frozen=True, eq=False)
class SimilarPieces:
    """Pieces of the words that resemble the mistyped words of a query.

    Attributes
    ----------
    similar : SimilarTerms or SimilarTermsByLanguage
        Similar terms of an index of whole words.
    pieces : WordsInPieces
        The index of pieces.
    """

    replaces: ClassVar[bool] = True  # words with added terms

    similar: SimilarTerms | SimilarTermsByLanguage
    pieces: WordsInPieces

    def added_to(self, query: str, *, fuzzy: bool, prefix: bool) -> list[AddedTerm]:
        """Return the pieces of the words that `SimilarTerms.added_to` adds for mistyped words.

        Two words that are joined there keep their own pieces here.
        """
        found = self.similar.added_to(query, fuzzy=fuzzy, prefix=prefix)
        words = {
            (each.word, each.spans): each for each in found if each.origin == "fuzzy"
        }  # a phrase has two terms
        return [
            replace(each, term=token, number=number)
            for each in words.values()
            if " " in each.word or " " not in query[slice(*each.spans[-1])]
            for token, number in self.pieces.of(each.word)
        ]


def is_known(index: Index, token: str) -> bool:
    """Return whether a token of a query can contribute to a score."""
    number, table = index.vocabulary.number(token), index.term_vectors
    return number is not None and (table is None or bool(table.rows[number].any()))
