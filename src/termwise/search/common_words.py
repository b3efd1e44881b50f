"""Words that the parts of a mixture know, for words of a query that no document has.

Parts of whole words find similar words, but none for a word that a part of pieces has as a whole. Parts of pieces read
these similar words in place of the mistyped ones; see `termwise.engine.words_in_pieces`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

from termwise.engine.query_settings import QuerySettings, WeighedQueryEncoder
from termwise.engine.similar_terms import SimilarTerms
from termwise.engine.words_in_pieces import SimilarPieces, WordsInPieces
from termwise.search.searcher import Searcher


def with_common_words(searchers: Sequence[Searcher]) -> list[Searcher]:
    """Return searchers of the parts of a mixture that look up words in each other's indexes.

    Parts of pieces read the words that the first part of whole words with `QuerySettings.fuzzy` adds.
    """
    pieces = [
        WordsInPieces(each.index, each.encoder.analyzer) for each in searchers if each.similar_terms is None
    ]
    if not pieces or len(pieces) == len(searchers):
        return list(searchers)

    def is_word(word: str) -> bool:
        return any(each.has(word) for each in pieces)

    shared = [_with_dictionary(each, is_word) for each in searchers]
    for searcher in shared:
        encoder, similar = searcher.encoder, searcher.similar_terms
        if similar is not None and isinstance(encoder, WeighedQueryEncoder) and encoder.settings.fuzzy:
            return [_reading(each, similar, encoder.settings) for each in shared]
    return shared


def _with_dictionary(searcher: Searcher, is_word: Callable[[str], bool]) -> Searcher:
    """Return a searcher of whole words that finds no similar ones for some words; others are not changed."""
    if searcher.similar_terms is None:
        return searcher
    made = copy.copy(searcher)
    made.similar_terms = SimilarTerms(made.index, searcher.similar_terms.analyzer, is_word=is_word)
    if isinstance(made.encoder, WeighedQueryEncoder):
        made.encoder = replace(made.encoder, similar=made.similar_terms)
    return made


def _reading(searcher: Searcher, similar: SimilarTerms, settings: QuerySettings) -> Searcher:
    """Return a searcher of pieces that reads similar words; others are not changed."""
    if searcher.similar_terms is not None:
        return searcher
    made, encoder = copy.copy(searcher), searcher.encoder
    if not isinstance(encoder, WeighedQueryEncoder):
        encoder = WeighedQueryEncoder(encoder, made.index, QuerySettings())
    made.encoder = replace(
        encoder,
        settings=replace(encoder.settings, fuzzy=True, prefix=settings.prefix),
        similar=SimilarPieces(similar, WordsInPieces(made.index, encoder.analyzer)),
    )
    return made
