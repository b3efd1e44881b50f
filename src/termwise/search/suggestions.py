"""Suggestions for words of a query that an index lacks, and completions of its last word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace

from termwise.engine.added_terms import AddedTerms
from termwise.engine.codes import has_digits
from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_settings import added_terms
from termwise.engine.similar_terms import (
    JOINTS,
    MOST_TERMS,
    MOST_WORDS,
    SimilarTerm,
    SimilarTerms,
    SimilarTermsByLanguage,
    edits,
)
from termwise.engine.word_breaks import WordBreak
from termwise.fast_dataclass import dataclass
from termwise.text.analyzer import Analysis
from termwise.text.folding import folded

AnySimilarTerms = SimilarTerms | SimilarTermsByLanguage

MOST_TRIED = 5
"""Largest number of searches that find out which suggestions lead to other results."""

SHORTEST_CODE = 6
"""Least number of letters and digits of a code that has suggestions; of shorter ones, many differ by one character."""

SHORTEST_BEGINNING = 3
"""Least number of letters and digits of the beginning of a code that has longer ones as suggestions."""

_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])(?![\d.,]+\s?[^\W\d_]+$).+", re.DOTALL)


@dataclass(frozen=True)
class SimilarWord:
    """Word that the index has.

    Attributes
    ----------
    word : str
        The nearest form of the term in the documents with its largest weights, the most frequent one of several. If the
        index stores no texts, or none of these has it, the form that resembles the query word, see `SimilarTerm`.
        Words with a blank more or less are spelt as in the query.
    term : str
        The term in the index, which can be a stem; two with a blank between them for two words.
    distance : int
        Number of edits between this word and the query word as typed; 1 for a blank.
    documents : int
        Number of documents, or of chunks of documents, with the term, or with both.
    """

    word: str
    term: str
    distance: int
    documents: int


@dataclass(frozen=True)
class Suggestion:
    """Word or code of a query that the index lacks, or two words for one, and the nearest ones that it has.

    Attributes
    ----------
    word : str
        The word as typed, or the two words.
    span : (int, int)
        Its first position in the query.
    words : tuple of SimilarWord
        At most five; the nearest one first, then the most frequent one.
    """

    word: str
    span: tuple[int, int]
    words: tuple[SimilarWord, ...]

    @property
    def is_code(self) -> bool:
        """Whether the word is a code: it has a digit. A fuzzy search does not search for similar codes."""
        return has_digits(self.word)


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
    spread : float
        How well this term separates the documents, see `termwise.engine.term_spread`.
    """

    text: str
    word: str
    documents: int
    spread: float = field(default=0.0, compare=False, repr=False)


def completions(similar: AnySimilarTerms, text: str, n: int) -> list[Completion]:
    """Return words that begin with the last word of a text; see `Searcher.complete`."""
    found = [
        each for language in similar.languages for each in _completions(language, text, n, similar.is_known)
    ]
    if len(similar.languages) == 1:
        return found
    of_words: dict[str, Completion] = {}
    for each in sorted(found, key=lambda each: -each.spread):
        of_words.setdefault(each.text, each)
    return list(of_words.values())[:n]


def _completions(
    similar: SimilarTerms, text: str, n: int, is_known: Callable[[str], bool]
) -> list[Completion]:
    start, terms = similar.completing(text, is_known)
    typed = text[start:]
    if not set(JOINTS).intersection(typed):
        return _completed(similar, terms, text, start, n)
    candidates = list(terms)
    exact = _completed(similar, candidates, text, start, n, exact=True)
    return (
        exact if exact or typed.endswith(tuple(JOINTS)) else _completed(similar, candidates, text, start, n)
    )


def _completed(
    similar: SimilarTerms,
    terms: Iterable[SimilarTerm],
    text: str,
    start: int,
    n: int,
    *,
    exact: bool = False,
) -> list[Completion]:
    """Return the first `n` completions by terms; with `exact`, only those with the hyphens and slashes of the text."""
    found: dict[str, Completion] = {}
    parts: dict[str, int] = {}  # of longer words, with the number of their documents
    for term in terms:
        if parts.get(term.term) == term.documents:
            continue
        if (word := _completing_form(similar, term, text[start:], exact)) is not None:
            for part in set(similar.analyzer.tokens(word)[1:]):
                parts[part] = term.documents
                if part in found and found[part].documents == term.documents:
                    del found[part]  # all documents have it in this longer word
            found[term.term] = Completion(text[:start] + word, word, term.documents, term.spread)
            if len(found) == n:
                break
    return list(found.values())


def _completing_form(similar: SimilarTerms, term: SimilarTerm, typed: str, exact: bool) -> str | None:
    """Return the most frequent form of a term that begins with a word; accents do not matter."""
    if similar.is_part_of_codes(term):
        return None  # the whole code is a term, too
    forms = list(_forms(similar, term, typed))
    if len(forms) > 1:
        forms.pop()  # texts write the term
    begun = folded(typed).lower()
    word = next((form for form in forms if folded(form).lower().startswith(begun)), None)
    if word is not None or exact:
        return word
    begun = folded(similar.unstemmed(typed))
    return next((form for form in forms if folded(similar.unstemmed(form)).startswith(begun)), None)


def suggestions(similar: AnySimilarTerms, encoder: QueryEncoder, query: str) -> list[Suggestion]:
    """Return the words of a query that are probably mistyped, with the nearest ones; see `Searcher.did_you_mean`."""
    analyses = [(each, each.analyzer.analyze(query)) for each in similar.languages]
    are_known = any(
        all(map(each.documents, analysis.tokens))
        and (len(analyses) == 1 or all(map(similar.is_known, _words(query, analysis))))
        for each, analysis in analyses
    )
    if are_known and not any(each.breaks.joined(query, analysis) for each, analysis in analyses):
        return []  # which is usual, and takes little time
    added = added_terms(encoder, query)
    found = [each for its, analysis in analyses for each in _suggestions(its, added, query, analysis)]
    if len(similar.languages) == 1:
        return found
    of_spans: dict[tuple[int, int], list[Suggestion]] = {}
    for each in found:
        of_spans.setdefault(each.span, []).append(each)
    merged = []
    for span, its in sorted(of_spans.items()):
        tokens = ((each, each.analyzer.tokens(its[0].word)[:1]) for each in similar.languages)
        if its[0].is_code and any(any(map(each.documents, first)) for each, first in tokens):
            continue  # a code of another language
        nearest = dict[str, SimilarWord]()
        words = (word for each in its for word in each.words)
        for word in sorted(words, key=lambda word: (word.distance, -word.documents)):
            if not nearest or word.distance == next(iter(nearest.values())).distance:
                nearest.setdefault(word.word, word)
        merged.append(Suggestion(its[0].word, span, tuple(nearest.values())[:MOST_TERMS]))
    return merged


def _words(text: str, analysis: Analysis) -> Iterator[str]:
    """Yield the words of a text, a compound as a whole."""
    for places in analysis.compounds()[:MOST_WORDS]:
        yield text[slice(*analysis.spans[places.start].tolist())]


def corrected(query: str, text: str, similar: Sequence[Suggestion], words: Sequence[str]) -> str:
    """Return a query with words in place of those of suggestions; `text` is the query without operators.

    Examples
    --------
    >>> corrected("gren gren tea", "gren gren tea", [Suggestion("gren", (0, 4), ())], ["green"])
    'green gren tea'
    """
    if query == text:
        for each, word in sorted(
            zip(similar, words, strict=True), key=lambda pair: pair[0].span, reverse=True
        ):
            query = f"{query[: each.span[0]]}{word}{query[each.span[1] :]}"
        return query
    for each, word in zip(similar, words, strict=True):
        query = query.replace(each.word, word, 1)
    return query


def leading(similar: Sequence[Suggestion], leads_on: Callable[[Sequence[str]], bool]) -> list[Suggestion]:
    """Return the suggestions whose words lead to other results; `leads_on` tells it of one word for each of them.

    Of more than `MOST_TRIED` choices, only the first ones are tried: first words, then one other word at a time.
    """
    first = [each.words[0] for each in similar]
    others = ((place, word) for place, suggestion in enumerate(similar) for word in suggestion.words[1:])
    choices = [first, *([*first[:place], word, *first[place + 1 :]] for place, word in others)]
    good = [choice for choice in choices[:MOST_TRIED] if leads_on([each.word for each in choice])]
    if not good:
        return []
    kept = good if good[0] is first else good[:1]
    return [
        replace(each, words=tuple(dict.fromkeys(choice[place] for choice in kept)))
        for place, each in enumerate(similar)
    ]


def _suggestions(
    similar: SimilarTerms, added: AddedTerms, query: str, analysis: Analysis
) -> list[Suggestion]:
    found = []
    for each in similar.corrections(query, analysis, analysis.spans_by_token()):
        if not added.are_known(each.spans):
            typed = query[slice(*each.spans[0])]
            found.append(_suggestion(similar, typed, each.spans[0], each.similar, each.other_break))
    for place in [each.start for each in analysis.compounds()][:MOST_WORDS]:
        token, span = analysis.tokens[place], tuple(analysis.spans[place].tolist())
        typed = query[slice(*span)]
        if similar.documents(token) or not is_code(typed, SHORTEST_BEGINNING):
            continue
        longer = similar.starting_with(token, without=token)[:MOST_TERMS]
        nearest = similar.nearest_codes(token) if is_code(typed) else ()
        if codes := {term.number: term for term in (*nearest, *longer)}:
            found.append(_suggestion(similar, typed, span, codes.values()))
    return sorted(found, key=lambda each: each.span)


def _suggestion(
    terms: SimilarTerms,
    typed: str,
    span: tuple[int, int],
    nearest: Iterable[SimilarTerm],
    other_break: WordBreak | None = None,
) -> Suggestion:
    forms = ((_nearest_form(terms, each, typed), each) for each in nearest)
    words = [
        SimilarWord(form, terms.prefix + each.term, edits(typed, form), each.documents)
        for form, each in forms
    ]
    if other_break is not None:
        term = " ".join(terms.prefix + term for term, _ in other_break.terms)
        words.append(SimilarWord(other_break.text, term, 1, other_break.documents))
    words.sort(key=lambda each: (each.distance, -each.documents))
    return Suggestion(typed, span, tuple(words[:MOST_TERMS]))


def is_code(word: str, shortest: int = SHORTEST_CODE) -> bool:
    """Return whether a word can be a code with a typo: long enough, with letters and digits, but no number with a unit.

    Examples
    --------
    >>> [word for word in ("AB-1020/X", "305XL", "tn2402", "20000mah", "2,500 mm", "2019-11", "b12") if is_code(word)]
    ['AB-1020/X', 'tn2402']
    """
    return sum(map(str.isalnum, word)) >= shortest and _CODE.fullmatch(word) is not None


def _nearest_form(terms: SimilarTerms, similar: SimilarTerm, typed: str) -> str:
    """Return the form of a term that is nearest to the typed word."""
    *written, compared = _forms(terms, similar, typed)
    return min(written, key=lambda form: edits(form, typed), default=compared)


def _forms(terms: SimilarTerms, similar: SimilarTerm, typed: str) -> Iterator[str]:
    """Yield words with a term, the most frequent ones first; last, its `word`.

    They are in lower case if the typed word is, except codes.
    """
    for form, _ in terms.written(similar).most_common():
        for word in (form.lower(), form) if typed.islower() and not is_code(form) else (form,):
            if terms.analyzer.tokens(word)[:1] == [similar.term]:  # a compound is followed by its parts
                yield word
    yield similar.word
