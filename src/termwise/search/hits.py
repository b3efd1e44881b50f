"""Results of a search with the attributes and texts of their documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from termwise.index import Index
from termwise.records import AttributeValue, Ranking
from termwise.validation import check, check_names


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
    """

    doc_id: str
    score: float
    attributes: dict[str, AttributeValue]
    text: str | None


def hits_of(
    ranking: Ranking, show: Sequence[str] | None, *, attributes: Index, texts: Index | None
) -> list[Hit]:
    """Return the results of a ranking, from indexes with the same documents; see `Searcher.hits`."""
    check("ranking", ranking, isinstance(ranking, Ranking), "a Ranking")
    if show is not None:
        check_names("show", show)
        for name in show:
            attributes.schema.check_name(name)
    scored = zip(ranking.doc_ids, ranking.scores.tolist(), strict=True)
    if texts is None and not attributes.schema:
        return [Hit(doc_id, score, {}, None) for doc_id, score in scored]  # there is nothing to read
    ordinals = attributes.find_many(ranking.doc_ids)
    if (ordinals < 0).any():
        attributes.ordinal(
            ranking.doc_ids[int(np.argmin(ordinals))]
        )  # raises the error of an unknown document
    values = attributes.attributes(ordinals, show)
    if show is not None:
        values = [{name: each[name] for name in show if name in each} for each in values]
    found = [None] * len(ordinals) if texts is None else texts.document_texts(ordinals)
    return [
        Hit(doc_id, score, shown, text)
        for (doc_id, score), shown, text in zip(scored, values, found, strict=True)
    ]
