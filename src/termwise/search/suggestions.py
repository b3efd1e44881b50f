"""Suggestions for words of a query that an index lacks, and completions of its last word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_settings import added_terms
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage
from termwise.engine.similar_terms import LONGEST_ENDING, SimilarTerm, SimilarTerms
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
        The most frequent form of the term in the documents with its largest weights. If the index stores no texts, or
        none of these has it, the form that resembles the query word, see `SimilarTerm`.
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


@dataclass(frozen=True)
class Completion:
    """Text with its last word completed.

    Attributes
    ----------
    text : str
        The whole text.
    word : str
        Its last word, as documents write it; see `SimilarWord`.
    documents : int
        Number of documents, or of chunks of documents, with the term of this word.
    """

    text: str
    word: str
    documents: int


def completions(similar: SimilarTerms, text: str, n: int) -> list[Completion]:
    """Return the most frequent words that begin with the last word of a text; see `Searcher.complete`."""
    start, terms = similar.completing(
        text, n + LONGEST_ENDING + 1
    )  # so many may have no form that begins with it
    before, typed = text[:start], text[start:]
    found: list[Completion] = []
    for term in terms:
        forms = (form for form in _forms(similar, term, typed) if form.lower().startswith(typed.lower()))
        if (word := next(forms, None)) is not None:
            found.append(Completion(before + word, word, term.documents))
            if len(found) == n:
                break
    return found


def suggestions(similar: SimilarTerms, encoder: QueryEncoder, query: str) -> list[Suggestion]:
    """Return the words of a query that no document has, with the nearest ones; see `Searcher.did_you_mean`."""
    if all(map(similar.documents, similar.analyzer.tokens(query))):
        return []  # which is usual, and takes little time
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
                SimilarWord(next(_forms(similar, each, typed)), each.term, each.distance, each.documents)
                for each in nearest
            )
            found.append(Suggestion(typed, spans[0], tuple(words)))
    return found


def _forms(terms: SimilarTerms, similar: SimilarTerm, typed: str) -> Iterator[str]:
    """Yield words with a term, the most frequent ones first, in lower case if the typed word is; last, its `word`."""
    forms: Counter[str] = Counter()
    for text in _texts_with(terms.index, similar.number):
        analysis = terms.analyzer.analyze(text)
        places = [place for place, token in enumerate(analysis.tokens) if token == similar.term]
        forms.update(text[start:end] for start, end in analysis.spans[places].tolist())
    for form, _ in forms.most_common():
        for word in (form.lower(), form) if typed.islower() else (form,):
            if terms.analyzer.tokens(word) == [similar.term]:
                yield word
    yield similar.word


def _texts_with(index: Index, term: int) -> Iterator[str]:
    """Yield the first part of the stored texts in which a term has its largest weights."""
    if index.stores_text:
        row = TermWeights.of_query({term: 1.0}, index.vocabulary.id)
        ordinals, _ = first_stage(index, query_vector(index, row), TEXTS)
        yield from (text[:CHARACTERS] for text in index.document_texts(ordinals) if text is not None)
