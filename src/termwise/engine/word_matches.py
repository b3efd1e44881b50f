"""Documents that match a query by its words: those that contain all of its words, most, or any.

The words of a query are the distinct tokens that the analyzer leaves of it. A compound that an analyzer has both joined
and in parts is one word: a document contains it if it has the joined form or all parts. Terms that a search adds for a
word, such as those of similar spelling, count as this word. A document contains a word if it has a posting of it, so no
text is read; in an index of a model that expands documents, it then has the words that the model adds, too.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from termwise.engine.allowed_documents import AllowedDocuments, documents_at
from termwise.engine.query_encoder import ExplicitWeights, QueryEncoder
from termwise.engine.query_settings import added_terms
from termwise.engine.query_vector import QueryVector
from termwise.engine.text_conditions import documents_with, on_a_path
from termwise.fast_dataclass import dataclass
from termwise.index import Index

Ordinals = npt.NDArray[np.int64]

QueryWord = list[tuple[npt.NDArray[np.int32], int, int]]
"""Terms of each token of a word, ascending, of which a document has one, with the positions of the token."""

PER_CENT = {"any": 0, "most": 75, "all": 100}
"""Share of the words of a query that a document contains, by name."""


def per_cent(match: str) -> int | None:
    """Return the share of words that a document must contain, such as 75 for ``75%``; None if there is no such share.

    Examples
    --------
    >>> per_cent("most"), per_cent("50%"), per_cent("half")
    (75, 50, None)
    """
    if match in PER_CENT:
        return PER_CENT[match]
    number = match.removesuffix("%")
    fits = number != match and number.isascii() and number.isdecimal() and len(number) <= 3
    return int(number) if fits and 1 <= int(number) <= 100 else None


def words_needed(match: str, words: int) -> int:
    """Return how many of the words of a query a document must contain: rounded down, but at least 1.

    Examples
    --------
    >>> [words_needed("most", words) for words in (1, 2, 3, 4)], words_needed("all", 3), words_needed("any", 3)
    ([1, 1, 2, 3], 3, 1)
    """
    return max(1, words * (per_cent(match) or 0) // 100)


@dataclass(frozen=True, eq=False)
class WordMatches:
    """Documents that contain enough words of a query, among those that conditions allow.

    Attributes
    ----------
    level : str
        Share of the words that they contain: ``any``, ``most``, ``all`` or a per cent.
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
        Share of the words, see `per_cent`. None for all words, or if no allowed document contains all, for any.
    left_out, allowed
        See `first_stage`.
    """
    words = query_words(index, encoder, query, text)
    counts = _counts_of_words(index, words)

    def matches(level: str) -> WordMatches:
        return WordMatches(level, counts >= words_needed(level, len(words)), left_out, allowed)

    if match is not None:
        return matches(match)
    of_all = matches("all")
    return of_all if len(words) == 1 or _has_one(index, of_all) else matches("any")


def query_words(index: Index, encoder: QueryEncoder, query: QueryVector, text: str) -> list[QueryWord]:
    """Return each distinct word of a query; no terms for a token that the index lacks."""
    if isinstance(encoder, ExplicitWeights):
        return [[(terms, 0, 1)] for terms in query.terms[:, None]]
    kept = set(query.terms.tolist())
    added = [(each.number, each.spans) for each in added_terms(encoder, text).terms]
    analysis = encoder.analyzer.analyze(text)
    compounds = {analysis.tokens[each.start : each.stop]: each for each in analysis.compounds()}
    spans, positions = analysis.spans_by_token(), analysis.positions().tolist()
    words = []
    for tokens, range_of in compounds.items():
        terms: list[set[int]] = []
        dropped = weighted = False
        for token in tokens:
            number = index.vocabulary.number(token)
            own = set() if number is None else {number}
            others = {term for term, places in added if _is_inside(spans[token], places)}
            weighted |= bool(found := (own | others) & kept)
            dropped |= not found and bool(own)
            terms.append(found or own)
        if dropped and not weighted:
            continue  # by the weighting of the query
        numbers = [np.array(sorted(each), dtype=np.int32) for each in terms]
        words.append([(each, *positions[place]) for each, place in zip(numbers, range_of, strict=True)])
    return words


def _is_inside(spans: Iterable[tuple[int, int]], places: Iterable[tuple[int, int]]) -> bool:
    """Return whether a token is at a place, or in the phrase there."""
    return any(first <= start and end <= last for start, end in spans for first, last in places)


def _counts_of_words(index: Index, words: list[QueryWord]) -> npt.NDArray[np.uint16]:
    """Return how many of the words each document contains, by position."""
    counts = np.zeros(len(index), dtype=np.uint16)
    for word in words:
        counts += on_a_path([(documents_with(index, terms), start, end) for terms, start, end in word])
    return counts


def _has_one(index: Index, matches: WordMatches) -> bool:
    """Return whether a document matches; of the texts that conditions need, only those before the first are read."""
    allowed = matches.allowed
    if allowed is None or allowed.conditions is None:
        return len(matches.ordinals(index)) > 0
    decided = WordMatches(matches.level, matches.mask & allowed.mask, matches.left_out, None)
    return len(allowed.conditions.first_fulfilled(decided.ordinals(index), 1)) > 0
