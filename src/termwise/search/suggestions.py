"""Suggestions for words of a query that an index lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_settings import added_terms
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage
from termwise.engine.similar_terms import SimilarTerm, SimilarTerms
from termwise.index import Index
from termwise.weights import TermWeights

TEXTS = 3
"""Number of documents in which a word with a stem is looked for."""

CHARACTERS = 20_000
"""Length of the beginning of a text in which it is looked for."""


@dataclass(frozen=True)
class SimilarWord:
    """Word that the index has.

    Attributes
    ----------
    word : str
        The most frequent form of the term in the documents with its largest weights. The term itself if the index
        stores no texts, or none of these has it.
    term : str
        The term in the index, which can be a stem.
    distance : int
        Number of edits between the term and that of the query word.
    documents : int
        Number of documents, or of chunks of documents, with the term.
    """

    word: str
    term: str
    distance: int
    documents: int


@dataclass(frozen=True)
class Suggestion:
    """Word of a query that the index lacks, and the nearest ones that it has.

    Attributes
    ----------
    word : str
        The word as typed.
    span : (int, int)
        Its first position in the query.
    words : tuple of SimilarWord
        At most five, all with the same distance; the most frequent one first.
    """

    word: str
    span: tuple[int, int]
    words: tuple[SimilarWord, ...]


def suggestions(similar: SimilarTerms, encoder: QueryEncoder, query: str) -> list[Suggestion]:
    """Return the words of a query that no document has, with the nearest ones; see `Searcher.did_you_mean`."""
    unfinished = {
        span for added in added_terms(encoder, query) if added.origin == "prefix" for span in added.spans
    }
    found = []
    for token, spans in similar.analyzer.analyze(query).spans_by_token().items():
        if similar.documents(token) or unfinished.issuperset(spans):
            continue
        typed = query[slice(*spans[0])]
        if nearest := similar.nearest(token, typed):
            words = (
                SimilarWord(_written(similar, each, typed), each.term, each.distance, each.documents)
                for each in nearest
            )
            found.append(Suggestion(typed, spans[0], tuple(words)))
    return found


def _written(terms: SimilarTerms, similar: SimilarTerm, typed: str) -> str:
    """Return a word of which the term is the form, in lower case if the typed word is."""
    forms: Counter[str] = Counter()
    for text in _texts_with(terms.index, similar.number):
        spans = terms.analyzer.analyze(text).spans_by_token().get(similar.term, ())
        forms.update(text[start:end] for start, end in spans)
    for form, _ in forms.most_common():
        for word in (form.lower(), form) if typed.islower() else (form,):
            if terms.analyzer.tokens(word) == [similar.term]:
                return word
    return similar.term


def _texts_with(index: Index, term: int) -> Iterator[str]:
    """Yield the first part of the stored texts in which a term has its largest weights."""
    if index.stores_text:
        row = TermWeights.of_query({term: 1.0}, index.vocabulary.id)
        ordinals, _ = first_stage(index, query_vector(index, row), TEXTS)
        yield from (text[:CHARACTERS] for text in index.document_texts(ordinals) if text is not None)
