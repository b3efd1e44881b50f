"""Bodies of searches: what of the results an answer shows, and in which order."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from termwise.attributes.dates import EARLIEST, LATEST, iso, to_datetime
from termwise.display.safe_text import shown
from termwise.engine.result_order import ID, SCORE
from termwise.explain.passages import SHORTEST
from termwise.fast_dataclass import dataclass
from termwise.search import Searcher
from termwise.search.snippets import LONGEST
from termwise.serve.errors import ServiceError
from termwise.serve.indexes import OpenIndex
from termwise.serve.opensearch.aggregations import INNER, Aggregation, read_aggregations
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import MOST_NAMES, SOURCE_PARAMETERS, Fields, SourceFilter
from termwise.serve.opensearch.json_checks import (
    flag,
    known_keys,
    only_default,
    record,
    several,
    tag,
    text,
    whole,
)
from termwise.serve.opensearch.query import TranslatedQuery, condition_on_attributes, translate
from termwise.serve.opensearch.returned_fields import ReturnedField, read_fields, wants_source
from termwise.serve.opensearch.sort_keys import read_sort
from termwise.serve.opensearch.suggest import Suggester, read_suggesters
from termwise.serve.settings import ServiceSettings
from termwise.validation import is_finite_number, is_integer

IGNORED = ("timeout", "cancel_after_time_interval", "stats")
"""Keys of a search body that the service accepts and ignores; it has its own time limit."""

UNSET = {"version": False, "seq_no_primary_term": False, "profile": False}
"""Keys of the body of a search that only have the value that changes nothing."""

BODY_KEYS = (
    "query",
    "post_filter",
    "rescore",
    "size",
    "from",
    "sort",
    "search_after",
    "collapse",
    "_source",
    "fields",
    "docvalue_fields",
    "stored_fields",
    "highlight",
    *INNER,
    "suggest",
    "explain",
    "track_total_hits",
    "track_scores",
    "min_score",
    "terminate_after",
    *IGNORED,
    *UNSET,
)
"""Supported keys of the body of a search."""

SEARCH_PARAMETERS = (
    "size",
    "from",
    "sort",
    "explain",
    "track_total_hits",
    "track_scores",
    "terminate_after",
    "stored_fields",
    "docvalue_fields",
    *SOURCE_PARAMETERS,
)
"""Supported parameters of the address of a search."""

Values = list[Any] | None

LARGEST_SCORE = sys.float_info.max
"""Largest finite score; a least score in place of infinity, which no result reaches."""

FRAGMENT = 100
"""Default number of characters of a highlight."""


@dataclass(frozen=True)
class Highlight:
    """How the excerpt of a text is shown.

    Attributes
    ----------
    field : str
        Name of the text.
    before, after : str
        Tags around words.
    length : int
        Characters of the excerpt.
    html : bool
        Whether signs of HTML in the text are written as entities.
    """

    field: str
    before: str = "<em>"
    after: str = "</em>"
    length: int = FRAGMENT
    html: bool = False


@dataclass(frozen=True, kw_only=True)
class SearchBody:
    """Body and parameters of a search.

    Attributes
    ----------
    query : TranslatedQuery
        With the conditions of ``post_filter``.
    counted : TranslatedQuery
        Without them; aggregations are about its matches.
    size, first : int
        Number of results, and results to skip.
    sort : tuple of str
        Keys to sort by: attributes, after ``-`` for descending order, and `SCORE`.
    after : list or None
        Values of ``search_after``, as `Search.after` has them.
    collapse : str or None
    source : SourceFilter
    highlights : tuple of Highlight
    aggregations : tuple of Aggregation
    suggesters : tuple of Suggester
    returned : tuple of ReturnedField
    terminates : bool
        Whether the request would end the search after some documents, which this service does not.
    notes : tuple of str
        Sentences on what is other than in OpenSearch, beside those of the query.
    explain, total, scores : bool
        Whether the answer has explanations, the number of matches, and, although sorted, scores.
    """

    query: TranslatedQuery
    counted: TranslatedQuery
    size: int
    first: int
    sort: tuple[str, ...]
    after: Values
    collapse: str | None
    source: SourceFilter
    highlights: tuple[Highlight, ...]
    aggregations: tuple[Aggregation, ...]
    suggesters: tuple[Suggester, ...]
    explain: bool
    total: bool
    scores: bool
    returned: tuple[ReturnedField, ...] = ()
    terminates: bool = False
    notes: tuple[str, ...] = ()


def read_search(
    body: object, parameters: Mapping[str, str], opened: OpenIndex, settings: ServiceSettings
) -> SearchBody:
    """Read a search; the parameters of the address override the body, which is a JSON value.

    Raises
    ------
    UnsupportedError
        If a part of the body is not supported.
    ServiceError
        If a part is not as expected.
    UnknownNameError
        If the index has no such field.
    """
    given = dict(known_keys(body, "a search", BODY_KEYS))
    only_default(given, "a search", **UNSET)
    given |= {name: parameters[name] for name in SEARCH_PARAMETERS if name in parameters}
    searcher = opened.searcher
    fields = Fields.of(searcher)
    asked = given.get("query", {"match_all": {}})
    rescore = given.get("rescore")
    query = counted = translate(asked, opened, settings, rescore=rescore)
    if given.get("post_filter") is not None:
        query = translate(asked, opened, settings, also=given["post_filter"], rescore=rescore)
    notes: list[str] = []
    if given.get("min_score") is not None:
        query, counted = (_with_least(each, given["min_score"], searcher) for each in (query, counted))
        notes.append("min_score is compared with scores of this index, which are not those of OpenSearch")
    terminates = whole(given.get("terminate_after", 0), "terminate_after") > 0
    if terminates:
        notes.append("terminate_after changes nothing: all documents are searched and counted")
    source = SourceFilter.of_parameters(parameters)
    if source is None and given.get("_source") is None and not wants_source(_listed(given, "stored_fields")):
        source = SourceFilter(wanted=False)
    sort, scores = read_sort(given.get("sort"), fields)
    read_filter = partial(condition_on_attributes, opened=opened, settings=settings)
    aggregations = read_aggregations(given, fields, read_filter, settings.max_facets)
    return SearchBody(
        query=query,
        counted=counted,
        size=whole(given.get("size", 10), "size"),
        first=whole(given.get("from", 0), "from"),
        sort=sort,
        after=_after(given, sort, query, searcher),
        collapse=_collapse(given.get("collapse"), fields),
        source=source or SourceFilter.of(given.get("_source")),
        highlights=_highlights(given.get("highlight"), query, fields),
        aggregations=aggregations,
        suggesters=read_suggesters(given.get("suggest", {}), fields, settings.max_query),
        explain=flag(given.get("explain", False), "explain"),
        total=_total(given.get("track_total_hits", True)),
        scores=scores or flag(given.get("track_scores", False), "track_scores"),
        returned=read_fields({**given, "docvalue_fields": _listed(given, "docvalue_fields") or []}, fields),
        terminates=terminates,
        notes=tuple(notes),
    )


def _listed(given: Mapping[str, Any], name: str) -> Any:
    """Return the value of a key; text, as parameters have it, as a list."""
    value = given.get(name)
    return [each for each in value.split(",") if each] if isinstance(value, str) else value


def _with_least(query: TranslatedQuery, least: object, searcher: Searcher) -> TranslatedQuery:
    """Return a query whose results have a score of OpenSearch's form of at least `least`."""
    if not is_finite_number(least):
        raise ServiceError("min_score is a number", facts=[("given", shown(least))])
    if searcher.backend.scores_are_relative:
        raise UnsupportedError.of(
            "in a mixture, whose scores are relative to the query, the key",
            "min_score",
            fix="set minimum_should_match of the text, to leave out results that match by few words",
        )
    if not query.factor:
        own = -math.inf if query.constant >= least else math.inf
    else:
        own = least if (query.factor, query.constant) == (1, 0) else (least - query.constant) / query.factor
    return replace(query, request=query.request | {"min_score": min(max(own, -LARGEST_SCORE), LARGEST_SCORE)})


def _total(value: object) -> bool:
    """Return whether matches are counted; they are counted exactly, whatever number is enough."""
    if value in (True, False, "true", "false"):
        return value in (True, "true")
    return whole(value, "track_total_hits", -1) >= 0


def _collapse(value: object, fields: Fields) -> str | None:
    if value is None:
        return None
    given = known_keys(value, "collapse", ("field",))
    return fields.attribute(text(given.get("field"), "field of collapse"))


def _after(
    given: Mapping[str, Any], sort: Sequence[str], query: TranslatedQuery, searcher: Searcher
) -> Values:
    """Return the values of the sort keys of the last result before, as `Search.after` has them."""
    values = given.get("search_after")
    if values is None:
        return None
    if given.get("collapse") is not None:
        raise UnsupportedError.of(
            "beside collapse, the key", "search_after", fix="use from for further pages"
        )
    if not sort:
        raise UnsupportedError.of("search_after with the sort", SCORE, ["attributes", ID, f"{SCORE}, {ID}"])
    if not isinstance(values, list) or len(values) != len(sort):
        raise ServiceError(
            "search_after is a list with a value of each sort key",
            facts=[("keys", ", ".join(sort)), ("given", shown(values)), ("expected", f"{len(sort)} values")],
        )
    if whole(given.get("from", 0), "from"):
        raise UnsupportedError.of("beside search_after, the key", "from")
    found: list[Any] = []
    for key, value in zip(sort, values, strict=True):
        kind = searcher.schema.get(key if key in searcher.schema else key.removeprefix("-"))
        if kind is None and key == SCORE:
            found.append(query.own_score(value))
        elif kind == "date" and is_integer(value):
            if not EARLIEST <= 1000 * value < LATEST:
                raise ServiceError("a date in search_after is out of range", facts=[("given", value)])
            found.append(iso(to_datetime(1000 * value)))
        else:
            found.append(value)
    return found


_HIGHLIGHT_KEYS = (
    "fragment_size",
    "number_of_fragments",
    "pre_tags",
    "post_tags",
    "type",
    "order",
    "require_field_match",
)
"""Keys for all fields of a highlight, or for one; a clause with words is for all texts, so the last one is ignored."""


def _highlights(value: object, query: TranslatedQuery, fields: Fields) -> tuple[Highlight, ...]:
    if value is None:
        return ()
    given = known_keys(value, "highlight", ("fields", "encoder", *_HIGHLIGHT_KEYS))
    encoder = text(given.get("encoder", "default"), "encoder of highlight")
    if encoder not in ("default", "html"):
        raise UnsupportedError.of("encoder of highlight", encoder, ["default", "html"])
    common = {name: given[name] for name in _HIGHLIGHT_KEYS if name in given}
    found: dict[str, Highlight] = {}
    named = several(given.get("fields", {}))
    number = sum(len(each) for each in named if isinstance(each, dict))
    if number > MOST_NAMES:
        raise ServiceError("highlight has too many fields", facts=[("given", number), ("most", MOST_NAMES)])
    for each in named:
        for pattern, value_of_field in record(each, "fields of highlight").items():
            settings = common | known_keys(value_of_field, f"highlight of {pattern}", _HIGHLIGHT_KEYS)
            for name in fields.texts_like(pattern):
                found.setdefault(name, _highlight(name, settings, html=encoder == "html"))
    if found and "query" not in query.request:
        raise UnsupportedError.of("without the words of a query, the key", "highlight")
    return tuple(found.values())


def _highlight(name: str, settings: Mapping[str, Any], *, html: bool) -> Highlight:
    for key, known in (("type", ("unified", "plain", "fvh")), ("order", ("none", "score"))):
        if settings.get(key, known[0]) not in known:
            raise UnsupportedError.of(f"{key} of highlight", settings[key], known)
    whole_text = whole(settings.get("number_of_fragments", 5), "number_of_fragments") == 0
    size = whole(settings.get("fragment_size", FRAGMENT), "fragment_size")
    return Highlight(
        name,
        tag(settings.get("pre_tags", "<em>"), "pre_tags"),
        tag(settings.get("post_tags", "</em>"), "post_tags"),
        LONGEST if whole_text else min(LONGEST, max(SHORTEST, size)),
        html,
    )
