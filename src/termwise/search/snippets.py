"""Snippets: the passage of each result with the heaviest words of the query, and the positions of these words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_settings import added_terms
from termwise.errors import ParameterError, UnknownNameError
from termwise.explain.attribution import Span
from termwise.explain.passages import SHORTEST, Mark, passage_range
from termwise.explain.word_boundaries import whole_matches, whole_words
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.field_texts import unpack
from termwise.models.idf_power import idf_factors
from termwise.text import Analyzer, unknown_token
from termwise.validation import check_count

LONGEST = 100_000
"""Number of characters of a text, from its beginning, in which the words of a query are looked for."""


class Snippet(NamedTuple):
    """Part of the text of a document.

    Attributes
    ----------
    doc_id : str
    text : str
        The part; empty if the text, or the field, is.
    spans : tuple of (int, int)
        Half-open character ranges in `text` of the words of the query, in order and apart.
    before, after : int
        Number of characters of the document, or of the field, before and after it.
    """

    doc_id: str
    text: str
    spans: tuple[Span, ...]
    before: int
    after: int


def snippets_of(
    query: str,
    doc_ids: Sequence[str],
    ordinals: npt.NDArray[np.int64],
    encoder: QueryEncoder,
    *,
    index: Index,
    texts: Index,
    length: int,
    field: str | None,
) -> list[Snippet]:
    """Return snippets of documents, from indexes with the same documents; see `Results.snippets`.

    `encoder` is that of `index`, whose statistics weigh the words of the query; the snippets are from `texts`.
    """
    check_count("length", length, least=SHORTEST)
    if not texts.stores_text:
        raise ParameterError(
            "the index keeps no texts to take snippets from",
            facts=[("index", texts.path)],
            fixes=[Fix.build(store_text=True)],
        )
    words = _QueryWords.of(query, encoder, index)
    found = texts.document_texts(ordinals) if field is None else _texts_of_field(texts, ordinals, field)
    return [_snippet(doc_id, text or "", words, length) for doc_id, text in zip(doc_ids, found, strict=True)]


def _texts_of_field(index: Index, ordinals: npt.NDArray[np.int64], field: str) -> list[str | None]:
    """Return the stored texts of one field of several documents."""
    if index.manifest.fields == (field,):
        return index.document_texts(ordinals)
    names = list(index.manifest.field_weights)
    if not names:
        raise ParameterError(
            "the index keeps one text for a document, not one for each field",
            facts=[("field", field), ("index", index.path)],
            fixes=[Fix.build(fields={"title": 3, "text": 1})],
        )
    if field not in names:
        raise UnknownNameError.of("field of the index", field, names)
    place = names.index(field)
    stored = index.store.document_texts(ordinals)
    return [None if texts is None else unpack(texts)[place] for texts in stored]


def _snippet(doc_id: str, text: str, words: _QueryWords, length: int) -> Snippet:
    spend()
    marks = words.marks(text)
    low, high = passage_range(text, marks, length)
    spans: list[Span] = []
    for mark in marks:
        start, end = max(low, mark.start) - low, min(high, mark.end) - low
        if start < end:
            if spans and start <= spans[-1][1]:
                start, end = spans[-1][0], max(end, spans.pop()[1])
            spans.append((start, end))
    return Snippet(doc_id, text[low:high], tuple(spans), low, len(text) - high)


@dataclass(frozen=True)
class _QueryWords:
    """Words of a query, to be found in texts.

    Attributes
    ----------
    query : str
    analyzer : Analyzer
    weights : dict of str to float
        Weight of each token of the query above 0.
    spans : dict of str to tuple of (int, int)
        Positions of these tokens in the query.
    """

    query: str
    analyzer: Analyzer
    weights: dict[str, float]
    spans: dict[str, tuple[Span, ...]]

    @classmethod
    def of(cls, query: str, encoder: QueryEncoder, index: Index) -> _QueryWords:
        added = added_terms(encoder, query)
        spans = encoder.analyzer.analyze(added.without_replaced(query)).spans_by_token()
        typed = frozenset(spans)
        for each in added.terms:
            if each.origin != "synonym" or each.term not in typed:
                spans[each.term] = each.spans
        spans.pop(unknown_token(encoder.analyzer) or "", None)
        weights = dict(zip(spans, _rarities(index, list(spans)), strict=True))
        return cls(
            query, encoder.analyzer, {token: each for token, each in weights.items() if each > 0}, spans
        )

    def marks(self, text: str) -> list[Mark]:
        """Return the words of the query in the beginning of a text, in the order of their positions."""
        analysis = self.analyzer.analyze(text[:LONGEST])
        numbers = {token: number for number, token in enumerate(self.weights)}
        places = [place for place, token in enumerate(analysis.tokens) if token in numbers]
        found = zip(
            analysis.spans[places].tolist(), (analysis.tokens[place] for place in places), strict=True
        )
        marks = [Mark(start, end, self.weights[token], numbers[token]) for (start, end), token in found]
        return marks if self.analyzer.vocabulary is None else self._of_whole_words(text, marks)

    def _of_whole_words(self, text: str, marks: Sequence[Mark]) -> list[Mark]:
        """Extend the marks of pieces to whole words, and leave out pieces of other words."""
        tokens = list(self.weights)
        spans: list[list[Span]] = [[] for _ in tokens]
        for mark in marks:
            spans[mark.term].append((mark.start, mark.end))
        matches = whole_matches(
            self.query, text, [(self.spans[token], its) for token, its in zip(tokens, spans, strict=True)]
        )
        return sorted(whole_words(text, (mark for mark in marks if mark[:2] in matches[mark.term])))


def _rarities(index: Index, tokens: Sequence[str]) -> list[float]:
    """Return the weight of each token in the choice of a snippet; 0 for those that the index has no weight for.

    It is the idf in the index, or the length of the vector of the token.
    """
    numbers = index.vocabulary.numbers(tokens)
    known = np.flatnonzero(numbers >= 0)
    weights = np.zeros(len(tokens))
    if index.term_vectors is None:
        weights[known] = idf_factors(index.document_frequencies[numbers[known]], len(index), 1.0)
    else:
        table = index.term_vectors
        lengths = np.linalg.norm(table.rows[numbers[known]].astype(np.float64), axis=1)
        weights[known] = lengths * np.exp2(table.shifts[numbers[known]])
    found: list[float] = weights.tolist()
    return found
