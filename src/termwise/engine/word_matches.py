"""Documents that match a query by its words: those that contain all of its words, most, or any.

The words of a query are the distinct tokens that the analyzer leaves of it. A compound that an analyzer has both joined
and in parts is one word: a document contains it if it has the joined form or all parts. Terms that a search adds for a
word, such as those of similar spelling, count as this word. If a phrase such as the synonym *head torch* is added, a
document needs all of its words, and of an added compound the joined form or all parts. A document contains a word if it
has a posting of it; in an index of a model that expands documents, it then has the words that the model adds, too. No
text is read, with one exception: the parts of a compound with digits, such as a code, are next to each other, see
`termwise.engine.codes`.

Where the analyzer depends on an attribute, a query without a language has the words of each language, and a document
matches by the words of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import partial, reduce

import numpy as np
import numpy.typing as npt

from termwise.engine.added_terms import AddedTerm, AddedTerms, Span
from termwise.engine.allowed_documents import AllowedDocuments, documents_at
from termwise.engine.codes import documents_with_code, has_digits
from termwise.engine.query_encoder import ExplicitWeights, QueryEncoder
from termwise.engine.query_settings import added_terms
from termwise.engine.query_vector import QueryVector
from termwise.engine.text_conditions import documents_with, on_a_path
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.text import Analyzer
from termwise.text.analyzer import Analysis
from termwise.text.analyzer_by_attribute import language_of_token, readings

Ordinals = npt.NDArray[np.int64]


Step = tuple[npt.NDArray[np.int32], int, int]
"""Terms, ascending, of which a document has one, with a range of positions in a query, see `Analysis.positions`."""


@dataclass(frozen=True, eq=False)
class QueryWord:
    """Word of a query.

    Attributes
    ----------
    steps : list of Step
        For each token of the word.
    phrases : list of (list of Step, int, int)
        Phrases and compounds that are added for the word or a part of it: the steps of each, with positions of their
        own, and the positions in the query.
    code : str
        The compound as typed if its parts belong next to each other, see `termwise.engine.codes`; otherwise empty.
    """

    steps: list[Step]
    phrases: list[tuple[list[Step], int, int]] = field(default_factory=list)
    code: str = ""


NAMED = {"any": "1", "most": "75%", "all": "100%"}
"""Numbers of the words of a query that a document contains, by name."""

MOST_CONDITIONS = 10
"""Conditions of a number of words, such as ``3<75%``; also the most numbers of which the first counts, ``all, any``."""

_NUMBER, _LIMIT = re.compile("(-?)([0-9]{1,9})(%?)"), re.compile("[0-9]{1,9}")


def is_number_of_words(match: str) -> bool:
    """Return whether a string says how many words of a query a document contains; see `words_needed`.

    Examples
    --------
    >>> [is_number_of_words(each) for each in ("most", "2", "-25%", "2<75% 5<-2", "half", "0", "120%")]
    [True, True, True, True, False, False, False]
    >>> [is_number_of_words(each) for each in ("all, any", "all,", "2<75%, 1")]
    [True, False, True]
    """
    if "," in match:
        levels = levels_of(match)
        return len(levels) <= MOST_CONDITIONS and all(map(is_number_of_words, levels))
    if match in NAMED:
        return True
    parts = match.split()
    for part in parts:
        limit, condition, number = part.rpartition("<")
        found = _NUMBER.fullmatch(number)
        if found is None or not (_LIMIT.fullmatch(limit) if condition else len(parts) == 1):
            return False
        if int(found[2]) < 1 or (found[3] and int(found[2]) > 100):
            return False
    return 1 <= len(parts) <= MOST_CONDITIONS


def levels_of(match: str) -> list[str]:
    """Return the numbers of words of which the first counts that a document contains, as in ``all, any``."""
    return [level.strip() for level in match.split(",")]


def words_needed(match: str, words: int) -> int:
    """Return how many of the words of a query a document must contain: at least 1, at most all.

    `match` is a number (``2``), a share rounded down (``75%``), what may be missing, as a number or a share rounded
    down (``-1``, ``-25%``), or a name in `NAMED`. ``2<75%`` holds for more than 2 words, of which a document must
    contain 75 %; of fewer it must contain all. Of several such conditions, with ascending limits, the last one that
    holds counts. This is the form of `minimum_should_match` in Elasticsearch and OpenSearch [1]_.

    References
    ----------
    .. [1] https://docs.opensearch.org/latest/query-dsl/minimum-should-match/

    Examples
    --------
    >>> [words_needed("most", words) for words in (1, 2, 3, 4)], words_needed("all", 3), words_needed("any", 3)
    ([1, 1, 2, 3], 3, 1)
    >>> [words_needed("2<-25% 9<-3", words) for words in (2, 4, 7, 9, 10)]
    [2, 3, 6, 7, 7]
    >>> words_needed("-3", 2), words_needed("5", 2), words_needed("2<75%", 2), words_needed("2<75%", 3)
    (1, 2, 2, 2)
    """
    return max(1, clauses_needed(NAMED.get(match, match), words))


def clauses_needed(match: str, clauses: int) -> int:
    """Return how many of some clauses are needed, see `words_needed`; here 0 is possible, too."""
    needed = clauses
    for part in match.split():
        limit, condition, number = part.rpartition("<")
        if condition and clauses <= int(limit):
            break
        found = _NUMBER.fullmatch(number)
        assert found is not None, "numbers of words are checked"
        count = int(found[2])
        if found[3]:
            count = clauses * count // 100
        needed = max(0, clauses - count) if found[1] else min(clauses, count)
    return needed


@dataclass(frozen=True, eq=False)
class WordMatches:
    """Documents that contain enough words of a query, among those that conditions allow.

    Attributes
    ----------
    level : str
        Number of the words that they contain, see `words_needed`.
    mask : ndarray of shape (n,), bool
        Whether each document contains enough words, by position; conditions that only texts decide are not in it.
    left_out : ndarray of int64
        Positions of documents that are no results.
    allowed : AllowedDocuments or None
        Documents that conditions allow.
    """

    level: str
    mask: npt.NDArray[np.bool_]
    left_out: Ordinals
    allowed: AllowedDocuments | None

    def ordinals(self, index: Index) -> Ordinals:
        """Return the positions of the documents, in the order of the index."""
        starts = index.chunks.starts
        found = starts[self.mask[starts]]
        if len(self.left_out):
            found = found[~np.isin(found, self.left_out)]
        return found if self.allowed is None else found[self.allowed.allow(found)]

    def as_allowed(self, index: Index) -> AllowedDocuments:
        """Return the documents as a search of the index takes them."""
        if self.allowed is None:
            return documents_at(index, self.mask)
        return documents_at(index, self.mask & self.allowed.mask, self.allowed.conditions)


def word_matches(
    index: Index,
    encoder: QueryEncoder,
    query: QueryVector,
    text: str,
    match: str | None,
    *,
    left_out: Ordinals,
    allowed: AllowedDocuments | None,
    texts: Index | None = None,
) -> WordMatches:
    """Find the documents that contain enough words of a query by its postings.

    Parameters
    ----------
    index : Index
        Index with postings.
    encoder : QueryEncoder
        Encoder of its queries.
    query : QueryVector
        The query, prepared for the index.
    text : str
        Its text.
    match : str or None
        Number of the words, see `words_needed`; of several with commas, the first that an allowed document contains.
        None for all words, or if no allowed document contains all, for any, or if none contains one, for a part of a
        compound without digits, such as *Regen* of *Regenschirm*.
    left_out, allowed
        See `first_stage`.
    texts : Index, optional
        Index that stores the texts of the same documents, for words with digits.
    """
    words = query_words(index, encoder, query, text)
    counts = [(_counts_of_words(index, texts, each), len(each)) for each in words]

    def matches(level: str) -> WordMatches:
        masks = [found >= words_needed(level, number) for found, number in counts]
        return WordMatches(level, reduce(np.logical_or, masks), left_out, allowed)

    if match is not None:
        *first, last = levels_of(match)
        return next(filter(partial(_has_one, index), map(matches, first)), None) or matches(last)
    of_all, parts = matches("all"), _terms_of_parts(words)
    has_one = max(number for _, number in counts) == 1
    if (has_one and not len(parts)) or _has_one(index, of_all):
        return of_all
    of_any = of_all if has_one else matches("any")
    if not len(parts) or _has_one(index, of_any):
        return of_any
    return WordMatches("any", documents_with(index, parts), left_out, allowed)


def query_words(index: Index, encoder: QueryEncoder, query: QueryVector, text: str) -> list[list[QueryWord]]:
    """Return each distinct word of a query in each reading of it, see `termwise.text.analyzer_by_attribute.readings`.

    A token that the index lacks has no terms. A reading without a word is left out if another has some.
    """
    if isinstance(encoder, ExplicitWeights):
        return [[QueryWord([(terms, 0, 1)]) for terms in query.terms[:, None]]]
    analyzers = readings(encoder.analyzer)
    added = added_terms(encoder, text)
    if len(analyzers) == 1:
        return [_words_of(index, analyzers[0], query, text, added)]
    words = []
    for analyzer in analyzers:
        tokens = analyzer.tokens(text)
        language = language_of_token(tokens[0]) if tokens else ""
        its = [each for each in added.terms if language_of_token(each.term) == language]
        words.append(_words_of(index, analyzer, query, text, replace(added, terms=its)))
    return [each for each in words if each] or words[:1]


def _words_of(
    index: Index, analyzer: Analyzer, query: QueryVector, text: str, added: AddedTerms
) -> list[QueryWord]:
    """Return the words of a query in one reading."""
    kept = set(query.terms.tolist())
    single, several = _by_places(added.terms, kept)
    phrases_of = [(_steps(index, analyzer.analyze(word)), places) for word, places in several]
    analysis = analyzer.analyze(text)
    compounds = {analysis.tokens[each.start : each.stop]: each for each in analysis.compounds()}
    spans, positions = analysis.spans_by_token(), analysis.positions().tolist()
    words = []
    for tokens, range_of in compounds.items():
        terms: list[set[int]] = []
        its_positions = [positions[place] for place in range_of]
        phrases = []
        for steps, places in phrases_of:
            pairs = zip(tokens, its_positions, strict=True)
            if covered := [position for token, position in pairs if _is_inside(spans[token], places)]:
                phrases.append((steps, min(covered)[0], max(end for _, end in covered)))
        dropped, weighted = False, bool(phrases)
        for token in tokens:
            number = index.vocabulary.number(token)
            own = set() if number is None or _is_inside(spans[token], added.replaced) else {number}
            others = {term for term, places in single if _is_inside(spans[token], places)}
            weighted |= bool(found := (own & kept) | others)
            dropped |= not found and bool(own)
            terms.append(found or own)
        typed = text[slice(*spans[tokens[0]][0])]
        code = typed if len(tokens) > 1 and has_digits(typed) else ""
        if dropped and not weighted and (terms[0] or not code):
            continue  # by the weighting of the query, which a code that no document has needs not
        numbers = [np.array(sorted(each), dtype=np.int32) for each in terms]
        steps = [(each, *place) for each, place in zip(numbers, its_positions, strict=True)]
        words.append(QueryWord(steps, phrases, code))
    return words


def _by_places(
    added: Sequence[AddedTerm], kept: set[int]
) -> tuple[list[tuple[int, tuple[Span, ...]]], list[tuple[str, tuple[Span, ...]]]]:
    """Return the added words of one term, by its number, and those of several terms, with their places in a query."""
    terms: defaultdict[tuple[str, tuple[Span, ...]], list[AddedTerm]] = defaultdict(list)
    for each in added:
        terms[each.word, each.spans].append(each)
    single, several = [], []
    for (word, places), its in terms.items():
        if kept.isdisjoint(each.number for each in its):
            continue
        if len(its) > 1 or its[0].origin == "synonym":
            several.append((word, places))
        else:
            single.append((its[0].number, places))
    return single, several


def _steps(index: Index, analysis: Analysis) -> list[Step]:
    """Return the terms of a text with their positions; a token that the index lacks has none."""
    numbers = map(index.vocabulary.number, analysis.tokens)
    terms = [np.array([] if number is None else [number], dtype=np.int32) for number in numbers]
    return [(each, *place) for each, place in zip(terms, analysis.positions().tolist(), strict=True)]


def _terms_of_parts(words: Iterable[Iterable[QueryWord]]) -> npt.NDArray[np.int32]:
    """Return the terms of the parts of compounds that are no codes, ascending."""
    compounds = (word for its in words for word in its if len(word.steps) > 1 and not word.code)
    terms = [terms for word in compounds for terms, _, _ in word.steps]
    return np.unique(np.concatenate(terms)) if terms else np.empty(0, dtype=np.int32)


def _is_inside(spans: Iterable[tuple[int, int]], places: Iterable[tuple[int, int]]) -> bool:
    """Return whether a token is at a place, or in the phrase there."""
    return any(first <= start and end <= last for start, end in spans for first, last in places)


def _counts_of_words(index: Index, texts: Index | None, words: list[QueryWord]) -> npt.NDArray[np.uint16]:
    """Return how many of the words each document contains, by position."""
    counts = np.zeros(len(index), dtype=np.uint16)
    for word in words:
        steps = _documents_of(index, word.steps)
        phrases = [(on_a_path(_documents_of(index, its)), start, end) for its, start, end in word.phrases]
        having = on_a_path([*steps, *phrases])
        if word.code:
            alike = [found for found, *place in phrases if tuple(place) == steps[0][1:]]
            whole = reduce(np.logical_or, alike, steps[0][0])
            having = documents_with_code(index, texts, word.code, whole, having)
        counts += having
    return counts


def _documents_of(index: Index, steps: Iterable[Step]) -> list[tuple[npt.NDArray[np.bool_], int, int]]:
    return [(documents_with(index, terms), start, end) for terms, start, end in steps]


def _has_one(index: Index, matches: WordMatches) -> bool:
    """Return whether a document matches; of the texts that conditions need, only those before the first are read."""
    allowed = matches.allowed
    if allowed is None or allowed.conditions is None:
        return len(matches.ordinals(index)) > 0
    decided = WordMatches(matches.level, matches.mask & allowed.mask, matches.left_out, None)
    return len(allowed.conditions.first_fulfilled(decided.ordinals(index), 1)) > 0
