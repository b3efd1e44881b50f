"""Bodies of requests of the service's own API."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import to_json

from termwise.collection.fields import identifier
from termwise.filters.json_form import EXAMPLE
from termwise.search import Relevance, Search


def _as_text(value: object) -> object:
    return identifier(value) or value


Identifier = Annotated[str, BeforeValidator(_as_text)]
"""Identifier of a document; a whole number is read as its text."""

Words = Annotated[list[str], Field(max_length=50)]
Range = Annotated[list[str | int | float | None], Field(min_length=2, max_length=2)]
Names = Annotated[list[str], Field(max_length=100)]


MOST_FILTER = 1 << 16
"""Bytes of a filter."""


def _within_limit(filter: str | dict[str, Any]) -> str | dict[str, Any]:
    if len(to_json(filter)) > MOST_FILTER:
        raise ValueError(f"a filter has at most {MOST_FILTER:,} bytes")
    return filter


Filter = Annotated[str | dict[str, Any], AfterValidator(_within_limit)]


_OPTIONS = frozenset(each.name for each in fields(Search))

FILTER: Any = Field(
    None,
    description=(
        "Condition on attributes, as text or JSON. Strings and dates are in quotes. Strings are compared exactly, with "
        "upper and lower case."
    ),
    examples=['kind = "green" and price < 20 and added >= "2024-01-31"', EXAMPLE],
)

RELEVANCE: Any = Field(
    None,
    description=(
        "Attributes that change the scores, synonyms, rules for queries, weights of the parts of a mixture, and "
        "defaults of searches, as in a relevance file, instead of those that the service has for the index; an empty "
        "object for none."
    ),
    examples=[{"boosts": [{"attribute": "sold", "weight": 2, "saturation": 100}]}],
)


SortValue = Annotated[Any, WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
"""Value of a sort key, which the search checks against the type of the key."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def search(self, relevance: Relevance | None = None) -> Search:
        """Return the search: the given fields that have the name of an option of `Search`; defaults are the same.

        `relevance` is that of the index, for a request without one.

        Raises
        ------
        ParameterError
            If two options do not go together.
        """
        given: dict[str, Any] = {"relevance": relevance}
        given |= {name: getattr(self, name) for name in _OPTIONS & self.model_fields_set}
        if isinstance(given["relevance"], dict):
            given["relevance"] = Relevance.of(given["relevance"])
        return Search(**given)


class SearchOptions(_Request):
    """Options of a search in one or several indexes: for a `query`, or for documents like a document or a text."""

    query: str | None = Field(
        None,
        description="Words to search for. Empty is the same as left out if there is a condition or an order.",
        examples=["green tea"],
    )
    like_text: str | None = Field(None, description="A whole document as the query.")
    k: int = Field(10, ge=1, description="Number of results.")
    offset: int = Field(0, ge=0, description="Results to skip, for the next page.")
    filter: Filter | None = FILTER
    or_filter: Filter | None = Field(
        None,
        description="Condition on attributes: documents that fulfil it, and the other conditions, are results too if "
        "they do not match the words of the query.",
        examples=['sku = "AB-1200"'],
    )
    must: Words = Field(default_factory=list, description="Words or phrases that results contain.")
    must_not: Words = Field(default_factory=list, description="Words or phrases that results do not contain.")
    match: str | None = Field(
        None,
        description=(
            "Words of the query that matches contain: `any`, `most` (75 %), `all`, a number such as `2`, a per cent "
            "such as `60%`, what may be missing, such as `-1`, or with a condition, `2<75%`. By default `any`; in a "
            "mixture `all`, or `any` if no document contains all; or as the relevance file of the index says. Of "
            "several, as in `all, any`, the first counts that a document contains."
        ),
        examples=["all"],
    )
    only_words: bool | Literal["if-any"] | None = Field(
        None,
        description="Leave out the results of a mixture that match by meaning only; with `if-any`, if some document "
        "matches by words. By default no, or as the relevance file of the index says.",
    )
    min_relevance: float | None = Field(
        None,
        ge=0,
        le=1,
        description=(
            "Leave out the results of a mixture that match by meaning only, unless they are nearer than the best "
            "results of this share of unrelated queries. By default 0.9 if no document matches by words, otherwise 0, "
            "and with another `lang` than English, all are left out; or as the relevance file of the index says."
        ),
    )
    min_score: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Leave out results with a lower score, also from counts and facets; not in a mixture, whose scores "
        "are relative to the query.",
    )
    syntax: bool = Field(
        False,
        description='Read +word, -word, "a phrase" and field:value (the attribute has this value) in the query.',
    )
    sort: str | Names | None = Field(
        None,
        description=(
            "Attributes to sort all matches by, the most important one first, `-price` for the largest first; `_score` "
            "for the score, the largest first, `_id` for the identifier. A string has commas between several."
        ),
        examples=["-rating,price"],
    )
    collapse: str | None = Field(
        None, description="Attribute of which each value has at most `collapse_size` results."
    )
    collapse_size: int = Field(1, ge=1, description="Results of each value of `collapse`.")
    exclude: Annotated[list[Identifier], Field(max_length=10_000)] = Field(
        default_factory=list, description="Documents to leave out."
    )
    lang: str | None = Field(
        None,
        description="Language of the query, such as `de`, in an index whose analyzer depends on an attribute: words "
        "match documents of this language only, and in a mixture with English vectors, a query in another language "
        "has no results by meaning. By default, the language that `filter` requires, or else each language.",
    )
    fuzzy: bool | None = Field(
        None,
        description="Add words of similar spelling for words that the index lacks. By default no, or as the relevance "
        "file of the index says.",
    )
    prefix: bool | None = Field(
        None,
        description="Add words that begin with the last word. By default no, or as the relevance file of the index "
        "says.",
    )
    feedback: bool = Field(True, description="Use the feedback of a mixture that has it.")
    relevance: dict[str, Any] | None = RELEVANCE
    facets: Names = Field(
        default_factory=list, description="Attributes whose values are counted over all matches."
    )
    facet_values: int = Field(10, ge=1, description="Values of each facet.")
    multi_select: bool = Field(
        False,
        description="Count each facet without the conditions of `filter` on its own attribute, so that the other "
        "values of a chosen one keep their counts.",
    )
    ranges: dict[str, Annotated[dict[str, Range], Field(max_length=100)]] = Field(
        default_factory=dict,
        description="Ranges of attributes to count, by attribute and name: from the first value to below the second.",
        examples=[{"price": {"cheap": [None, 10], "dear": [10, None]}}],
    )
    total: bool = Field(
        False,
        description="Count all matches: of a mixture, those that match by words, or if none does, all results.",
    )
    show: Names | None = Field(None, description="Attributes of results; by default all.")
    text: bool = Field(False, description="Return the text of each result.")
    highlight: bool = Field(
        False, description="Return an excerpt of each result, with the places of the words."
    )
    excerpt_length: int = Field(
        200, ge=20, le=100_000, description="Largest number of characters of an excerpt."
    )
    like: Identifier | None = Field(None, description="Identifier of a document whose text is the query.")
    weights: Annotated[dict[str, float], Field(max_length=1_000)] | None = Field(
        None,
        description="Query weights of terms of the index, as its analyzer writes them, instead of those of `query`.",
        examples=[{"green": 1.5, "tea": 0.5}],
    )
    candidates: Annotated[list[Identifier], Field(max_length=10_000)] | None = Field(
        None, description="Documents to score and order, instead of searching."
    )
    explain: bool = Field(
        False,
        description="Return the score of each result as a sum over terms; by default for at most 100 results.",
    )


class SearchRequest(SearchOptions):
    """A search in one index: for a `query`, or for documents like a document (`like`) or a text (`like_text`).

    Without any of them, all documents are results, in the order of the index or of `sort`.
    """

    after: Annotated[list[SortValue], Field(max_length=100)] | None = Field(
        None,
        description=(
            "A value of each key of `sort`, such as those of the last result of the page before, null for a missing "
            "one: the results are those after these values. Let `_id` be the last key. Counts and facets stay those of "
            "all matches. A query in a mixture that is sorted by `_score` alone needs `only_words`."
        ),
        examples=[[9.5, "p17"]],
    )


class IndexWeight(_Request):
    """An index in a fused search."""

    index: str
    weight: float = Field(1.0, ge=-100, le=100)


def _refuse_after(value: object) -> None:
    if value is not None:
        raise ValueError(
            "a search of several indexes has pages by offset and k, with the depth of the last one"
        )


class FusedSearchRequest(SearchOptions):
    """A search in several indexes, whose results are fused into one ranking.

    Conditions limit the results of each index. `k`, `offset` and `collapse` apply to the fused ranking, and so does
    `sort`: documents with equal values are in the order of their fused scores. An index without the attribute of
    `sort`, `collapse` or a facet counts as one whose documents have no value. Documents that a rule pins in an index
    are first, in the order of the indexes. A document of `like` or `candidates` is in at least one of the indexes.
    `total` and facets are sums over the indexes: a document that several of them have counts once for each.
    """

    indexes: Annotated[list[IndexWeight], Field(min_length=1, max_length=10)] = Field(
        description="Indexes to search, and the weight of each.",
        examples=[[{"index": "shop"}, {"index": "guides", "weight": 0.5}]],
    )
    normalisation: Literal["z", "minmax", "raw", "reciprocal-rank"] = Field(
        "z",
        description="How scores are made comparable for each query, before they are weighted and added up.",
    )
    depth: int = Field(
        100, ge=1, description="Results of each index that are fused; `k` + `offset`, if that is more."
    )
    after: Annotated[None, BeforeValidator(_refuse_after), SkipJsonSchema()] = None


class ExplainRequest(_Request):
    """The score of one document for a query."""

    query: str | None = Field(None, description="Words to search for.")
    like: Identifier | None = Field(None, description="Identifier of a document whose text is the query.")
    doc_id: Identifier = Field(description="Identifier of the document to explain.")
    competitors: int | None = Field(
        None, ge=0, le=20, description="Documents with neighbouring ranks to name."
    )
    filter: Filter | None = FILTER
    text: bool = Field(False, description="Return the query and the text, in which spans are positions.")
    lang: str | None = None
    fuzzy: bool | None = None
    prefix: bool | None = None
    feedback: bool = True
    relevance: dict[str, Any] | None = RELEVANCE


class FacetsRequest(_Request):
    """Counts of the values of attributes, over the matches of a query or over all documents."""

    facets: Names = Field(description="Attributes whose values are counted.")
    query: str | None = Field(None, description="Count only matches of this query.")
    filter: Filter | None = FILTER
    facet_values: int = Field(10, ge=1, description="Values of each facet.")
