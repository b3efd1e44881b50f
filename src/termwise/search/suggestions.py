"""Suggestions for words of a query that an index lacks, and completions of its last word."""

from __future__ import annotations

from collections.abc import Iterator

from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_settings import added_terms
from termwise.engine.similar_terms import LONGEST_ENDING, SimilarTerm, SimilarTerms, edits
from termwise.fast_dataclass import dataclass


@dataclass(frozen=True)
class SimilarWord:
    """Word that the index has.

    Attributes
    ----------
    word : str
        The nearest form of the term in the documents with its largest weights, the most frequent one of several. If the
        index stores no texts, or none of these has it, the form that resembles the query word, see `SimilarTerm`.
    term : str
        The term in the index, which can be a stem.
    distance : int
        Number of edits between this word and the query word as typed.
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
        At most five; the nearest one first, then the most frequent one.
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
        Its last word: the most frequent form of a term in the documents with its largest weights.
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
    added = added_terms(encoder, query)
    found = []
    for token, spans in similar.missing(similar.analyzer.analyze(query).spans_by_token()):
        if added.are_known(spans):
            continue
        typed = query[slice(*spans[0])]
        if nearest := similar.nearest(token, typed):
            forms = ((_nearest_form(similar, each, typed), each) for each in nearest)
            words = [SimilarWord(form, each.term, edits(typed, form), each.documents) for form, each in forms]
            found.append(Suggestion(typed, spans[0], tuple(sorted(words, key=lambda each: each.distance))))
    return found


def _nearest_form(terms: SimilarTerms, similar: SimilarTerm, typed: str) -> str:
    """Return the form of a term that is nearest to the typed word."""
    *written, compared = _forms(terms, similar, typed)
    return min(written, key=lambda form: edits(form, typed), default=compared)


def _forms(terms: SimilarTerms, similar: SimilarTerm, typed: str) -> Iterator[str]:
    """Yield words with a term, the most frequent ones first, in lower case if the typed word is; last, its `word`."""
    for form, _ in terms.written(similar).most_common():
        for word in (form.lower(), form) if typed.islower() else (form,):
            if terms.analyzer.tokens(word)[:1] == [similar.term]:  # a compound is followed by its parts
                yield word
    yield similar.word
