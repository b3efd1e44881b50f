"""Address of a search on the page: query, filters, order and page as parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from termwise.attributes import Schema
from termwise.fast_dataclass import dataclass
from termwise.serve.errors import ServiceError

CHOSEN, LOWEST, HIGHEST = "is.", "min.", "max."
"""Starts of the names of parameters that filter: the rest is the name of an attribute."""


@dataclass(frozen=True, kw_only=True)
class SearchAddress:
    """A search as the page asks for it.

    Attributes
    ----------
    index : str
        Name of the index.
    query : str
    like : str
        Identifier of a document whose text is the query; empty if there is a query.
    page : int
        From 1; 0 for what is no number of a page.
    sort : str
        Attribute to sort by, after - for descending order; empty for the order of the scores.
    fuzzy : bool or None
        Whether to add words of similar spelling; None if the address does not say it.
    lang : str
        Language of the query; empty for each language of the index.
    any_relevance : bool
        Whether documents of any relevance are results, see `Search.min_relevance`.
    chosen : mapping of str to tuple of str
        Values of attributes; a result has one of each.
    bounds : mapping of str to (str, str)
        Least and largest value of attributes; empty for none.
    all_documents : bool
        Whether to list documents without query, filter and order, too.
    """

    index: str
    query: str = ""
    like: str = ""
    page: int = 1
    sort: str = ""
    fuzzy: bool | None = None
    lang: str = ""
    any_relevance: bool = False
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    all_documents: bool = False

    @property
    def lists(self) -> bool:
        """Whether documents are listed without a query: all, or those that the filters allow."""
        asked = self.all_documents or self.chosen or self.bounds or self.sort
        return not (self.query or self.like) and bool(asked)

    @property
    def lang_of_query(self) -> str | None:
        """Language of the query; None for all languages, and if a document is the query."""
        return self.lang or None if self.query else None

    @classmethod
    def of(cls, given: QueryParams, default: str) -> SearchAddress:
        """Return the search of the parameters of an address; `default` is the index if none is named.

        Examples
        --------
        >>> address = SearchAddress.of(QueryParams("q=tea&is.kind=green&max.price=9"), "shop")
        >>> address.chosen, address.bounds
        ({'kind': ('green',)}, {'price': ('', '9')})
        """
        names = list(dict.fromkeys(given))
        bounded = [name[len(LOWEST) :] for name in names if name.startswith((LOWEST, HIGHEST))]
        bounds = {
            name: (given.get(LOWEST + name, "").strip(), given.get(HIGHEST + name, "").strip())
            for name in bounded
        }
        query = given.get("q", "").strip()
        return cls(
            index=given.get("index") or default,
            query=query,
            like="" if query else given.get("like", ""),
            page=_page(given.get("page") or "1"),
            sort=given.get("sort", ""),
            fuzzy=is_set(given, "fuzzy") if "fuzzy" in given else None,
            lang=given.get("lang", ""),
            any_relevance=is_set(given, "any"),
            chosen={
                name[len(CHOSEN) :]: tuple(dict.fromkeys(given.getlist(name)))
                for name in names
                if name.startswith(CHOSEN)
            },
            bounds={name: each for name, each in bounds.items() if any(each)},
            all_documents=is_set(given, "all"),
        )

    def for_index(self, schema: Schema, languages: Sequence[str]) -> tuple[SearchAddress, list[str]]:
        """Remove attributes and a language that an index lacks; return the search and the names of these attributes."""
        sorted_by = self.sort if self.sort in schema else self.sort.removeprefix("-")
        used = dict.fromkeys([*self.chosen, *self.bounds, *([sorted_by] if sorted_by else [])])
        unknown = [name for name in used if name not in schema]
        known = replace(
            self,
            sort="" if sorted_by in unknown else self.sort,
            lang=self.lang if self.lang in languages else "",
            chosen={name: each for name, each in self.chosen.items() if name in schema},
            bounds={name: each for name, each in self.bounds.items() if name in schema},
            all_documents=self.all_documents or (self.lists and bool(unknown)),
        )
        return known, unknown

    def filter(self, schema: Schema) -> dict[str, Any] | None:
        """Return the filter in JSON; None without conditions.

        Raises
        ------
        ServiceError
            If a bound is no number.
        """
        conditions: list[dict[str, Any]] = []
        for name, values in self.chosen.items():
            if values:
                conditions.append(
                    {"field": name, "in": [_chosen(schema[name], name, each) for each in values]}
                )
        for name, (low, high) in self.bounds.items():
            if low:
                conditions.append({"field": name, ">=": _bound(schema[name], name, low)})
            if high:
                conditions.append({"field": name, **_at_most(schema[name], name, high)})
        return {"and": conditions} if conditions else None

    def url(self, **changes: Any) -> str:
        """Return the address of this search, with changes; another page than the first has to be named.

        Examples
        --------
        >>> SearchAddress(index="shop", query="green tea", sort="price").url(sort="")
        '/?index=shop&q=green+tea'
        """
        return address_of("/", replace(self, **{"page": 1, **changes})._parameters())

    def document_url(self, doc_id: str) -> str:
        """Return the address of a document, with the search that found it.

        Examples
        --------
        >>> SearchAddress(index="shop", query="green tea", page=2).document_url("sencha")
        '/indexes/shop/document?id=sencha&q=green+tea&page=2'
        """
        parameters = [("id", doc_id), *replace(self, index="")._parameters()]
        return address_of(f"/indexes/{self.index}/document", parameters)

    def _parameters(self) -> list[tuple[str, str]]:
        pairs = [("index", self.index), ("q", self.query), ("like", self.like), ("sort", self.sort)]
        pairs += [("fuzzy", "" if self.fuzzy is None else str(int(self.fuzzy)))]
        pairs += [("all", "1" if self.all_documents else "")]
        pairs += [("lang", self.lang), ("any", "1" if self.any_relevance else "")]
        pairs += [("page", str(self.page) if self.page > 1 else "")]
        pairs += [(CHOSEN + name, each) for name, values in self.chosen.items() for each in values]
        for name, (low, high) in self.bounds.items():
            pairs += [(LOWEST + name, low), (HIGHEST + name, high)]
        return [(name, each) for name, each in pairs if each or name.startswith(CHOSEN)]

    def without_value(self, name: str, value: str) -> SearchAddress:
        """Return the search without one of the chosen values of an attribute."""
        left = tuple(each for each in self.chosen[name] if each != value)
        others = {other: each for other, each in self.chosen.items() if other != name}
        return replace(self, chosen={**others, name: left} if left else others)

    def without_bounds(self, name: str) -> SearchAddress:
        """Return the search without the bounds of an attribute."""
        return replace(self, bounds={other: each for other, each in self.bounds.items() if other != name})


def is_set(given: QueryParams, name: str) -> bool:
    """Return whether a parameter is given, and not as false."""
    return given.get(name, "") not in ("", "0", "false")


def address_of(path: str, parameters: list[tuple[str, str]]) -> str:
    """Return a path with parameters."""
    return f"{path}?{urlencode(parameters, errors='replace')}" if parameters else path


def _page(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _chosen(kind: str, name: str, text: str) -> str | bool | float:
    if kind == "boolean":
        if text not in ("true", "false"):
            raise ServiceError(
                "the value is true or false", facts=[("attribute", name), ("given", text[:40])]
            )
        return text == "true"
    return _bound(kind, name, text)


def _bound(kind: str, name: str, text: str) -> str | float:
    if kind not in ("integer", "float"):
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ServiceError("the value is a number", facts=[("attribute", name), ("given", text[:40])])
    return int(number) if number.is_integer() else number


def _at_most(kind: str, name: str, text: str) -> dict[str, str | float]:
    """Return the condition for the largest value; a day is included to its end."""
    if kind == "date":
        with suppress(ValueError, OverflowError):
            return {"<": (date.fromisoformat(text) + timedelta(days=1)).isoformat()}
    return {"<=": _bound(kind, name, text)}
