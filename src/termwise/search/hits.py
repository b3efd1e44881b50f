"""Results of a search with the attributes and texts of their documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from termwise.records import AttributeValue, Ranking
from termwise.search.backend import Backend, find_documents
from termwise.validation import check, check_names

Matching = Literal["words", "meaning"]
"""Whether a result contains enough words of the query, or was found by vectors or expansions alone."""


class Hit(NamedTuple):
    """Result with attributes and text of the document.

    Attributes
    ----------
    doc_id : str
    score : float
    attributes : dict of str to AttributeValue
        Without missing values; dates are `datetime` in UTC.
    text : str or None
        None if the index stores no texts, or they were not asked for.
    pinned : bool
        Whether a rule for the query has put the document before others.
    matches : {"words", "meaning"} or None
        What the document matches, see `Results.matching`; None if the ranking alone is known.
    relevance : float or None
        Share of unrelated queries whose best result is less near, see `Results.relevance`; None if it is not known.
    """

    doc_id: str
    score: float
    attributes: dict[str, AttributeValue]
    text: str | None
    pinned: bool = False
    matches: Matching | None = None
    relevance: float | None = None


def hits_of(backend: Backend, ranking: Ranking, show: Sequence[str] | None, texts: bool) -> list[Hit]:
    """Return the results of a ranking; see `Searcher.hits`."""
    attributes = backend.attribute_index
    check("ranking", ranking, isinstance(ranking, Ranking), "a Ranking")
    if show is not None:
        check_names("show", show)
        for name in show:
            attributes.schema.check_name(name)
    pinned = [rank < ranking.pinned for rank in range(len(ranking))]
    scored = zip(ranking.doc_ids, ranking.scores.tolist(), pinned, strict=True)
    if not texts and not attributes.schema:
        return [
            Hit(doc_id, score, {}, None, first) for doc_id, score, first in scored
        ]  # there is nothing to read
    ordinals = find_documents(backend, ranking.doc_ids)
    values = attributes.attributes(ordinals, show)
    if show is not None:
        values = [{name: each[name] for name in show if name in each} for each in values]
    found = backend.index.document_texts(ordinals) if texts else [None] * len(ordinals)
    return [
        Hit(doc_id, score, shown, text, first)
        for (doc_id, score, first), shown, text in zip(scored, values, found, strict=True)
    ]
