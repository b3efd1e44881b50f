"""Answers of the service's own API, as types of JSON objects."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from termwise.explain.explanation import Origin


class Excerpt(TypedDict):
    """Part of a text, with the places (start, end) of the words of the query in it.

    Places count Unicode code points, as in Python. A string of JavaScript is in UTF-16, where an emoji has two units:
    there, the word is `[...text].slice(start, end).join("")`.
    """

    text: str
    marks: list[list[int]]


class PartScore(TypedDict):
    """Rank and score of a document in one index of a fused search, with the explanation if it was requested."""

    rank: int
    score: float
    explanation: NotRequired[ExplanationAnswer]


class SourceWordAnswer(TypedDict):
    """A word of the document that is translated into a term of the query, and its share of the contribution."""

    term: str
    probability: float
    share: float
    spans: list[list[int]]


class FieldShareAnswer(TypedDict):
    """Share of a field in a contribution, and the number of words in the field that it comes from."""

    name: str
    weight: int
    occurrences: int
    share: float


class ContributionAnswer(TypedDict):
    """What a term adds to a score: `score` is `query_weight` × `weight`, and in a mixture × `scale`.

    `weight` is that of the term in the document, and `scale` that of its `part` for this query. `spans` and
    `query_spans` are positions of the term in the text and in the query, in Unicode code points. Of a boost, the term
    is the attribute, and `weight` the number from 0 to 1 that `shape` gives for its `value`.
    """

    term: str
    origin: Origin
    query_weight: float
    weight: float
    score: float
    query_spans: NotRequired[list[list[int]]]
    spans: NotRequired[list[list[int]]]
    sources: NotRequired[list[SourceWordAnswer]]
    part: NotRequired[str]
    scale: NotRequired[float]
    fields: NotRequired[list[FieldShareAnswer]]
    value: NotRequired[str]
    shape: NotRequired[str]


class WindowAnswer(TypedDict):
    """The window of a long text that was compared with the query, and its range of characters."""

    number: int
    count: int
    start: NotRequired[int]
    end: NotRequired[int]
    part: NotRequired[str]


class MixturePartAnswer(TypedDict):
    """A part of a mixture, which adds `weight` × (`score` − `mean`) / `deviation` to the score of the mixture.

    `scale` is `weight` / `deviation`. `shift` is what the part adds to the score of every document: (`constant` −
    `mean`) × `scale`. `unknown` are positions of words of the query that its index lacks. `reason` says why the weight
    is not that of the mixture: identifiers in the query.
    """

    name: str
    weight: float
    score: float
    mean: float
    deviation: float
    constant: float
    unknown: NotRequired[list[list[int]]]
    reason: NotRequired[str]
    scale: float
    shift: float


class CompetitorAnswer(TypedDict):
    """A document that is ranked directly above or below the explained one."""

    rank: int
    doc_id: str
    score: float


class TextConditionAnswer(TypedDict):
    """A word or phrase that results contain or, if `excluded`, do not contain."""

    words: str
    excluded: bool
    in_text: bool


class ExplanationAnswer(TypedDict):
    """A score: the sum of `constant` and of the scores of `contributions`.

    In a mixture, `constant` is the sum of the shifts of its `parts`. `unknown` are positions of words of the query
    that the index lacks, and `results` is the number of ranked documents. `pinned` is the query of the rule that puts
    the document before others, and `relevance` is that of a result. What is empty is left out.
    """

    doc_id: str
    score: float
    constant: float
    contributions: list[ContributionAnswer]
    parts: NotRequired[list[MixturePartAnswer]]
    unknown: NotRequired[list[list[int]]]
    rank: NotRequired[int]
    results: NotRequired[int]
    competitors: NotRequired[list[CompetitorAnswer]]
    example: NotRequired[str]
    windows: NotRequired[list[WindowAnswer]]
    conditions: NotRequired[list[TextConditionAnswer]]
    pinned: NotRequired[str]
    relevance: NotRequired[float]
    query: NotRequired[str]
    text: NotRequired[str]


class HitAnswer(TypedDict):
    """Result of a search, with the text, excerpt and explanation that were requested.

    `attributes` are those that were requested, by default all; an attribute that the document lacks is left out.
    `matches` says whether it matches the words of the query, as far as `matched` of the answer asks, or only its
    meaning. `relevance` is the share of unrelated queries whose best result is less near. `pinned` is true if a rule
    puts it first. `sort` are the values of the sort keys, null for a missing one, as `after` of a request has them.
    """

    rank: int
    doc_id: str
    score: float
    attributes: dict[str, Any]
    pinned: NotRequired[bool]
    matches: NotRequired[Literal["words", "meaning"]]
    relevance: NotRequired[float]
    sort: NotRequired[list[Any]]
    text: NotRequired[str | None]
    texts: NotRequired[dict[str, str]]
    excerpt: NotRequired[Excerpt]
    explanation: NotRequired[ExplanationAnswer]
    index: NotRequired[str]
    parts: NotRequired[dict[str, PartScore]]


class FacetValue(TypedDict):
    """A value, and the number of documents that have it."""

    value: str | int | bool
    documents: int


class SearchedIndex(TypedDict):
    """An index that took part in a fused search; `total` is the number of its matches, on request."""

    index: str
    generation: int
    documents: int
    total: NotRequired[int]


class FacetsAnswer(SearchedIndex):
    """Counts of attribute values over all matches; for `matched` see `SearchAnswer`."""

    matched: NotRequired[str]
    facets: dict[str, list[FacetValue]]


class SearchAnswer(SearchedIndex):
    """Results of a search in one index.

    `total` is the number of documents that match the words of the query, of which they contain the share `matched`:
    as `match` of the request. If no document of a mixture does, `matched` is `meaning`, and `total`, `facets` and the
    order of `sort` are those of all results; `total_relation` is `gte` if there can be more than `total`.
    `unknown_pins` are pinned documents that the index lacks; `also_searched_for` are the words of similar
    spelling that a fuzzy search added; `reasons` say why there are no results.
    """

    hits: list[HitAnswer]
    total_relation: NotRequired[Literal["gte"]]
    unknown_pins: NotRequired[list[str]]
    matched: NotRequired[str]
    facets: NotRequired[dict[str, list[FacetValue]]]
    also_searched_for: NotRequired[list[str]]
    did_you_mean: NotRequired[list[dict[str, Any]]]
    reasons: NotRequired[list[str]]
    milliseconds: float


class FusedSearchAnswer(TypedDict):
    """Results of a fused search; `total` and `facets` are sums over the indexes.

    `matched` is `meaning` if no document of any index matches by words, and there are results by meaning. If a document
    of one index does, those that match by meaning only in the others are not counted. `total_relation` is that of a
    search in one index.
    """

    indexes: list[SearchedIndex]
    normalisation: str
    hits: list[HitAnswer]
    unknown_pins: NotRequired[list[str]]
    matched: NotRequired[Literal["meaning"]]
    total: NotRequired[int]
    total_relation: NotRequired[Literal["gte"]]
    facets: NotRequired[dict[str, list[FacetValue]]]
    also_searched_for: NotRequired[list[str]]
    did_you_mean: NotRequired[list[dict[str, Any]]]
    reasons: NotRequired[list[str]]
    milliseconds: float


class ExplainAnswer(TypedDict):
    """Explanation of a score."""

    index: str
    generation: int
    explanation: ExplanationAnswer


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


class LineAnswer(TypedDict):
    """Answer to a line of many changes: the outcome of the change, or the number of the line and the error."""

    doc_id: NotRequired[str]
    result: NotRequired[str]
    line: NotRequired[int]
    error: NotRequired[ErrorRecord]
    status: NotRequired[int]


class SuggestAnswer(TypedDict):
    """Completions of the last word of a text, and suggestions for words that no document has."""

    completions: list[str]
    did_you_mean: list[dict[str, Any]]


class IndexAnswer(SearchedIndex):
    """Facts about an index."""

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
