"""The search of the page: results with excerpts and explanations, facets, order and further pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from termwise.attributes import Schema
from termwise.attributes.field_types import TEXT_TYPES
from termwise.errors import TermwiseError
from termwise.explain import Explanation
from termwise.fast_dataclass import dataclass
from termwise.search import Results, Searcher
from termwise.search.suggestions import corrected
from termwise.serve.answers import Excerpt, FacetValue, SearchAnswer
from termwise.serve.bodies import checked_model
from termwise.serve.errors import ServiceError
from termwise.serve.indexes import OpenIndex, ServedIndex, ServedIndexes
from termwise.serve.page.address import CHOSEN, HIGHEST, LOWEST, SearchAddress
from termwise.serve.page.errors import refusal
from termwise.serve.page.titles import attribute_rows, is_title, titles_of, value_text
from termwise.serve.page.why import why_of
from termwise.serve.requests import SearchRequest
from termwise.serve.search import search
from termwise.serve.settings import ServiceSettings
from termwise.text.analyzer_by_attribute import languages_of

RESULTS = 10
"""Results of a page."""

VALUES = 8
"""Values of a facet that are shown."""

COUNTED = (*TEXT_TYPES, "boolean")
RANGES = ("integer", "float", "date")
"""Types of the attributes that are filtered by value, and by range."""

_AROUND = 2

_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""Values that browsers show in inputs for numbers and dates."""

Piece = tuple[str, bool]
"""Part of a text, and whether it is marked."""


@dataclass(frozen=True)
class Choice:
    """Value of a facet; `documents` is None if no match has it."""

    value: str
    text: str
    documents: int | None
    chosen: bool


@dataclass(frozen=True)
class Facet:
    """Values of an attribute to choose from; `parameter` is the name in the address."""

    name: str
    parameter: str
    choices: list[Choice]


@dataclass(frozen=True)
class Range:
    """Bounds of an attribute, with the names of their parameters and the type of the inputs."""

    name: str
    input: str
    parameters: tuple[str, str]
    bounds: tuple[str, str]


def results_view(
    served: ServedIndex, address: SearchAddress, settings: ServiceSettings, choices: Sequence[str]
) -> dict[str, Any]:
    """Return the values of the template for a search; for a page to begin with, if the address asks for nothing.

    If the search is refused, the values have the reason, and the search box and the filters stay. `choices` are the
    names of all indexes.

    Raises
    ------
    TermwiseError
        If an index cannot be read, or the service cannot answer in time.
    """
    opened = served.current()
    values = _asked(opened.searcher, address, choices)
    if opened.relevance is not None:
        values["fuzzy_by_default"] = opened.relevance.search.get("fuzzy", False)
    address = values["address"]
    if not address.query and not address.like and not address.lists:
        return values
    if address.like:
        values["like_title"] = titles_of(opened.searcher, [address.like])[0]
    try:
        return values | _found(opened, address, settings)
    except TermwiseError as error:
        return values | {"refused": refusal(error)}


def unanswered_view(indexes: ServedIndexes, address: SearchAddress, error: TermwiseError) -> dict[str, Any]:
    """Return the values of the template for a search that was not run, without reading an index.

    The search box and the filters stay; those of the first index, if the service has no index of the name.

    Raises
    ------
    TermwiseError
        The error, if it is one of the service itself.
    """
    choices = [served.name for served in indexes]
    if address.index not in choices:
        address = replace(address, index=choices[0])
    values = _asked(indexes[address.index].opened, address, choices)
    return values | {"index": address.index, "refused": refusal(error)}


def _asked(searcher: Searcher, address: SearchAddress, choices: Sequence[str]) -> dict[str, Any]:
    """Return the values of the template for a search without its results."""
    schema = searcher.schema
    languages = languages_of(searcher.analyzer)
    address, left_out = address.for_index(schema, languages)
    return {
        "address": address,
        "choices": choices,
        "documents": searcher.index.documents,
        "stores_text": searcher.index.stores_text,
        "attribute": next((name for name, kind in schema.items() if kind in COUNTED), ""),
        "browse": address.url(query="", like="", fuzzy=None, all_documents=True),
        "again": address.url(page=address.page),
        "answer": None,
        "refused": None,
        "fuzzy_by_default": False,
        "left_out": left_out,
        "facets": [
            Facet(name, CHOSEN + name, _choices((), chosen)) for name, chosen in address.chosen.items()
        ],
        "ranges": _ranges(address, schema),
        "removable": _removable(address, schema),
        "cleared": address.url(chosen={}, bounds={}, all_documents=address.lists),
        "orders": _orders(address, schema),
        "languages": languages,
        "like_title": address.like,
        "like_url": SearchAddress(index=address.index).document_url(address.like),
    }


def _found(opened: OpenIndex, address: SearchAddress, settings: ServiceSettings) -> dict[str, Any]:
    """Return the values of the template for a search that is not refused."""
    searcher = opened.searcher
    request = _request(address, searcher, settings)
    answer, found, explanations = search(opened, request, settings)
    length = found.length()
    reached = min(length, settings.max_results)
    doc_ids = [hit["doc_id"] for hit in answer["hits"]]
    titles = titles_of(searcher, doc_ids)
    explained: Sequence[Explanation | None] = explanations or [None] * len(doc_ids)
    return {
        "answer": answer,
        "reasons": found.reasons(advice=False),
        "results": [
            {
                "rank": hit["rank"],
                "doc_id": hit["doc_id"],
                "title": title,
                "pinned": "pinned" in hit,
                "url": address.document_url(hit["doc_id"]),
                "pieces": marked_title(title, hit.get("excerpt")),
                "by_meaning": "matched" in answer and hit.get("matches") == "meaning",
                "attributes": attribute_rows(hit["attributes"]),
                "why": why_of(explanation) if explanation and explanation.contributions else None,
                "similar": SearchAddress(index=opened.name, like=hit["doc_id"]).url(),
            }
            for hit, title, explanation in zip(answer["hits"], titles, explained, strict=True)
        ],
        "facets": _facets(address, answer),
        "corrected": _corrected(address, found),
        "below": address.url(any_relevance=True) if found.left_out_by_relevance else None,
        "pages": _pages(address, reached),
        "neighbours": _neighbours(address, reached),
        "first": answer["hits"][0]["rank"] if answer["hits"] else 0,
        "last": answer["hits"][-1]["rank"] if answer["hits"] else 0,
        "most": settings.max_results,
        "length": length,
    }


def marked_title(title: str, excerpt: Excerpt | None) -> tuple[list[Piece], list[Piece]]:
    """Return the pieces of a title and of an excerpt; one that begins with the title, but for white space, is divided.

    Examples
    --------
    >>> marked_title("Green tea", {"text": "Green tea A tea from Uji", "marks": [[6, 9], [12, 15]]})
    ([('Green ', False), ('tea', True)], [(' A ', False), ('tea', True), (' from Uji', False)])
    """
    if excerpt is None:
        return [(title, False)], []
    text, marks = excerpt["text"], excerpt["marks"]
    beginning = re.match(r"\s+".join(map(re.escape, title.split())), text)
    if beginning is None:
        return [(title, False)], pieces_of(text, marks)
    end = beginning.end()
    rest = [[start - end, stop - end] for start, stop in marks]
    return pieces_of(text[:end], marks), pieces_of(text[end:], rest)


def pieces_of(text: str, marks: Sequence[Sequence[int]]) -> list[Piece]:
    """Return a text in pieces, each with whether it is marked; parts of marks outside of the text are left out."""
    place, pieces = 0, list[Piece]()
    for start, end in marks:
        start, end = max(start, 0), min(end, len(text))
        if start < end:
            pieces += [(text[place:start], False), (text[start:end], True)]
            place = end
    return [piece for piece in [*pieces, (text[place:], False)] if piece[0]]


def _request(address: SearchAddress, searcher: Searcher, settings: ServiceSettings) -> SearchRequest:
    """Return the request for a page of results.

    Raises
    ------
    ServiceError
        If the service does not show so many results, an index without texts is asked for similar documents, or the
        value of a filter is of another type.
    """
    schema, stores_text = searcher.schema, searcher.index.stores_text
    offset = (address.page - 1) * RESULTS
    if not 0 <= offset < settings.max_results:
        raise ServiceError(
            "there is no such page of results",
            facts=[("results that this service shows", f"{settings.max_results:,}")],
            fixes=["add words or filters, so that what you look for is among the first results"],
        )
    if address.like and not stores_text:
        raise ServiceError("this index keeps no texts, so it cannot find documents like another one")
    counted = [name for name, kind in schema.items() if kind in COUNTED and not is_title(name)]
    asked = {
        "query": address.query or None,
        "like": address.like or None,
        "syntax": not address.like,
        "k": min(RESULTS, settings.max_results - offset),
        "offset": offset,
        "filter": address.filter(schema),
        "sort": address.sort or None,
        "fuzzy": None if address.like else address.fuzzy,
        "lang": address.lang_of_query,
        "min_relevance": 0.0 if address.any_relevance else None,
        "facets": list(dict.fromkeys([*address.chosen, *counted]))[: settings.max_facets],
        "multi_select": True,
        "facet_values": min(VALUES, settings.max_results),
        "total": True,
        "highlight": stores_text,
        "explain": not address.lists,
    }
    return checked_model(asked, SearchRequest)


def _facets(address: SearchAddress, answer: SearchAnswer) -> list[Facet]:
    """Return the facets that help to choose; one with a chosen value counts the matches without this choice."""
    counts: dict[str, list[FacetValue]] = answer.get("facets", {})
    facets = []
    for name in dict.fromkeys([*counts, *address.chosen]):
        found = counts.get(name, [])
        chosen = address.chosen.get(name, ())
        if chosen or _helps(found, answer["total"]):
            facets.append(Facet(name, CHOSEN + name, _choices(found, chosen)))
    return facets


def _helps(found: Sequence[FacetValue], total: int) -> bool:
    """Return whether an attribute has few values, and some value has several documents."""
    documents = [each["documents"] for each in found]
    return max(documents, default=0) > 1 and (len(found) < VALUES or 2 * sum(documents) >= total)


def _choices(found: Sequence[FacetValue], chosen: Sequence[str]) -> list[Choice]:
    choices = [
        Choice(_parameter(each["value"]), value_text(each["value"]), each["documents"], False)
        for each in found
    ]
    known = {choice.value for choice in choices}
    return [
        *(replace(choice, chosen=choice.value in chosen) for choice in choices),
        *(Choice(value, value, None, True) for value in chosen if value not in known),
    ]


def _parameter(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ranges(address: SearchAddress, schema: Schema) -> list[Range]:
    return [
        Range(
            name,
            _input(kind, address.bounds.get(name, ())),
            (LOWEST + name, HIGHEST + name),
            address.bounds.get(name, ("", "")),
        )
        for name, kind in schema.items()
        if kind in RANGES
    ]


def _input(kind: str, bounds: Sequence[str]) -> str:
    """Return the type of the inputs for bounds; a browser would not show a bound of another type than the input."""
    name, form = ("date", _DAY) if kind == "date" else ("number", _NUMBER)
    return name if all(form.fullmatch(bound) for bound in bounds if bound) else "text"


def _removable(address: SearchAddress, schema: Schema) -> list[tuple[str, str]]:
    """Return each condition as words, with the address of the search without it."""
    removable = [
        (f"{name}: {_chosen_text(schema[name], value)}", address.without_value(name, value).url())
        for name, values in address.chosen.items()
        for value in values
    ]
    for name, (low, high) in address.bounds.items():
        words = f"{name} {low} to {high}" if low and high else f"{name} from {low}" if low else ""
        removable.append((words or f"{name} to {high}", address.without_bounds(name).url()))
    return removable


def _chosen_text(kind: str, value: str) -> str:
    return {"true": "yes", "false": "no"}.get(value, value) if kind == "boolean" else value


def _orders(address: SearchAddress, schema: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the parameters that sort results, with their names."""
    words = {
        "date": ("oldest first", "newest first"),
        "integer": ("low to high", "high to low"),
        "float": ("low to high", "high to low"),
        "keyword": ("A to Z", ""),
        "keyword folded": ("A to Z", ""),
    }
    orders = [("", "Order of the index" if address.lists else "Relevance")]
    for name, kind in schema.items():
        for sign, order in zip(("", "-"), words.get(kind, ()), strict=False):
            if order:
                orders.append((sign + name, f"{name}, {order}"))
    return orders


def _corrected(address: SearchAddress, found: Results) -> tuple[str, str] | None:
    """Return the query with the suggested words, and the address of its search."""
    if not (suggested := found.did_you_mean()):
        return None
    query = corrected(address.query, found.text, suggested, [each.words[0].word for each in suggested])
    return query, replace(address, query=query).url()


def _pages(address: SearchAddress, total: int) -> list[tuple[int, str]]:
    """Return the numbers of pages around this one, the first and the last, with their addresses; 0 for a gap."""
    last = -(-total // RESULTS)
    near = range(max(1, address.page - _AROUND), min(last, address.page + _AROUND) + 1)
    pages: list[tuple[int, str]] = []
    for number in sorted({1, *near, last} if last > 1 else ()):
        if pages and number > pages[-1][0] + 1:
            pages.append((0, ""))
        pages.append((number, address.url(page=number)))
    return pages


def _neighbours(address: SearchAddress, total: int) -> tuple[str, str]:
    """Return the addresses of the previous and the next page, empty if there is none."""
    last = -(-total // RESULTS)
    previous = address.url(page=min(address.page - 1, last)) if address.page > 1 and last else ""
    return previous, address.url(page=address.page + 1) if address.page < last else ""
