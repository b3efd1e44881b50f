"""Address of a search on the page: query, filters, order and page as parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from termwise.attributes import Schema
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
        From 1.
    sort : str
        Attribute to sort by, after - for descending order; empty for the order of the scores.
    fuzzy : bool
        Whether to add words of similar spelling.
    chosen : mapping of str to tuple of str
        Values of attributes; a result has one of each.
    bounds : mapping of str to (str, str)
        Least and largest value of attributes; empty for none.
    """

    index: str
    query: str = ""
    like: str = ""
    page: int = 1
    sort: str = ""
    fuzzy: bool = False
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: QueryParams, default: str) -> SearchAddress:
        """Return the search of the parameters of an address; `default` is the index if none is named.

        Raises
        ------
        ServiceError
            If the number of the page is no number.

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
            fuzzy=is_set(given, "fuzzy"),
            chosen={
                name[len(CHOSEN) :]: tuple(dict.fromkeys(given.getlist(name)))
                for name in names
                if name.startswith(CHOSEN)
            },
            bounds={name: each for name, each in bounds.items() if any(each)},
        )

    def for_schema(self, schema: Schema) -> tuple[SearchAddress, list[str]]:
        """Return the search without filters and order by attributes that an index lacks, and the names of these."""
        sorted_by = self.sort if self.sort in schema else self.sort.removeprefix("-")
        used = dict.fromkeys([*self.chosen, *self.bounds, *([sorted_by] if sorted_by else [])])
        unknown = [name for name in used if name not in schema]
        known = replace(
            self,
            sort="" if sorted_by in unknown else self.sort,
            chosen={name: each for name, each in self.chosen.items() if name in schema},
            bounds={name: each for name, each in self.bounds.items() if name in schema},
        )
        return known, unknown

    def filter(self, schema: Schema, *, without: str | None = None) -> dict[str, Any] | None:
        """Return the filter in JSON; None without conditions. The values of the attribute `without` are left out.

        Raises
        ------
        ServiceError
            If a bound is no number.
        """
        conditions: list[dict[str, Any]] = []
        for name, values in self.chosen.items():
            if name != without and values:
                conditions.append(
                    {"field": name, "in": [_chosen(schema[name], name, each) for each in values]}
                )
        for name, bounds in self.bounds.items():
            for sign, bound in zip((">=", "<="), bounds, strict=True):
                if bound:
                    conditions.append({"field": name, sign: _bound(schema[name], name, bound)})
        return {"and": conditions} if conditions else None

    def url(self, path: str = "/", **changes: Any) -> str:
        """Return the address of this search, with changes; another page than the first has to be named.

        Examples
        --------
        >>> SearchAddress(index="shop", query="green tea", sort="price").url(sort="")
        '/?index=shop&q=green+tea'
        """
        asked = replace(self, **{"page": 1, **changes})
        pairs = [("index", asked.index), ("q", asked.query), ("like", asked.like), ("sort", asked.sort)]
        pairs += [("fuzzy", "1" if asked.fuzzy else ""), ("page", str(asked.page) if asked.page > 1 else "")]
        pairs += [(CHOSEN + name, each) for name, values in asked.chosen.items() for each in values]
        for name, (low, high) in asked.bounds.items():
            pairs += [(LOWEST + name, low), (HIGHEST + name, high)]
        kept = [(name, each) for name, each in pairs if each or name.startswith(CHOSEN)]
        return address_of(path, kept)

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
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= 1):
        raise ServiceError("the page is a number from 1", facts=[("page", text[:40])])
    return int(text)


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
