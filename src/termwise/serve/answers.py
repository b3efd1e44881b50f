"""Answers of the service's own API, as types of JSON objects."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict


class Excerpt(TypedDict):
    """Part of a text, with the places (start, end) of the words of the query in it."""

    text: str
    marks: list[list[int]]


class PartScore(TypedDict):
    """Rank and score of a document in one index of a fused search."""

    rank: int
    score: float


class HitAnswer(TypedDict):
    """A result; attributes, text, excerpt and explanation on request."""

    rank: int
    doc_id: str
    score: float
    attributes: NotRequired[dict[str, Any]]
    text: NotRequired[str | None]
    texts: NotRequired[dict[str, str]]
    excerpt: NotRequired[Excerpt]
    explanation: NotRequired[dict[str, Any]]
    index: NotRequired[str]
    parts: NotRequired[dict[str, PartScore]]


class FacetValue(TypedDict):
    """A value, and the number of documents that have it."""

    value: str | int | bool
    documents: int


class FacetsAnswer(TypedDict):
    """Counts of the values of attributes."""

    index: str
    generation: int
    documents: int
    facets: dict[str, list[FacetValue]]


class SearchAnswer(TypedDict):
    """Results of a search in one index."""

    index: str
    generation: int
    documents: int
    hits: list[HitAnswer]
    total: NotRequired[int]
    facets: NotRequired[dict[str, list[FacetValue]]]
    did_you_mean: NotRequired[list[dict[str, Any]]]
    milliseconds: float


class SearchedIndex(TypedDict):
    """An index that took part in a fused search."""

    index: str
    generation: int
    documents: int


class FusedSearchAnswer(TypedDict):
    """Results of a fused search."""

    indexes: list[SearchedIndex]
    normalisation: str
    hits: list[HitAnswer]
    milliseconds: float


class ExplainAnswer(TypedDict):
    """Explanation of a score: `score` is the sum of `constant` and of the scores of `contributions`."""

    index: str
    generation: int
    explanation: dict[str, Any]


class DocumentAnswer(TypedDict):
    """A document; `texts` are those of its fields."""

    doc_id: str
    attributes: dict[str, Any]
    text: str | None
    texts: dict[str, str]


class ChangeAnswer(TypedDict):
    """Outcome of a change that is on the disk."""

    doc_id: str
    result: str


class SuggestAnswer(TypedDict):
    """Completions of the last word of a text, and suggestions for words that no document has."""

    completions: list[str]
    did_you_mean: list[dict[str, Any]]


class IndexAnswer(TypedDict):
    """Facts about an index."""

    index: str
    generation: int
    documents: int
    model: str
    attributes: dict[str, str]
    stores_text: bool
    parts: NotRequired[list[dict[str, Any]]]


class IndexesAnswer(TypedDict):
    """The indexes of a service."""

    indexes: list[IndexAnswer]


class VerifyAnswer(TypedDict):
    """Damages of the files of an index."""

    index: str
    intact: bool
    damages: list[str]


class StateAnswer(TypedDict):
    """State of the service."""

    status: str


class ErrorRecord(TypedDict):
    """An error, what was given, and what to do."""

    type: str
    message: str
    facts: NotRequired[dict[str, str]]
    fixes: NotRequired[list[str]]


class ErrorAnswer(TypedDict):
    """The answer to a refused request."""

    error: ErrorRecord
