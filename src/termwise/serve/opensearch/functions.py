"""Functions of ``function_score``, as boosts of a search.

A boost adds ``weight * shape`` to the score, so only functions with such a value are supported, with the sum as
`score_mode` and `boost_mode`. In OpenSearch, 1 is added to the score of a document that no function is for, and a decay
is 1 for a document without a value; what would differ from this is refused.
"""

from __future__ import annotations

import math
import re
import time
from typing import Any, NamedTuple

from termwise.attributes.dates import DAY, LETTERS, UNITS
from termwise.display.safe_text import shown
from termwise.filters import Exists, Filter, Greater, Not, filter_to_json
from termwise.search import Search, Searcher
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import known_keys, number, only_default, several, single, text
from termwise.validation import is_finite_number

MOST_FUNCTIONS = 100
"""Functions of a query."""

_DECAYS = ("exp", "gauss", "linear")

_FIX = "boosts of a relevance file have other shapes, such as the saturation of a number"


class Functions(NamedTuple):
    """Query of a ``function_score``, and what is added to its scores.

    Attributes
    ----------
    query : object
    boosts : list of dict
        Parameters of `Boost`.
    constant : float
    """

    query: Any
    boosts: list[dict[str, Any]]
    constant: float


def read_functions(body: object, searcher: Searcher) -> Functions:
    """Read a ``function_score``.

    Raises
    ------
    UnsupportedError
        If the scores would be others.
    ServiceError, UnknownNameError
        If a part is not as expected, or the index has no such field.
    """
    own = ("weight", "field_value_factor", "script_score", "random_score", *_DECAYS)
    given = known_keys(
        body, "function_score", ("query", "functions", "score_mode", "boost_mode", "boost", *own)
    )
    only_default(given, "function_score", boost=1)
    functions = (
        several(given["functions"]) if "functions" in given else [{n: given[n] for n in own if n in given}]
    )
    if "functions" in given and any(name in given for name in own):
        raise UnsupportedError.of("beside functions, a", "single function")
    if not functions or len(functions) > MOST_FUNCTIONS:
        raise ServiceError(
            "function_score has functions", facts=[("given", len(functions)), ("most", MOST_FUNCTIONS)]
        )
    _only_sum(given, "boost_mode")
    if len(functions) > 1:
        _only_sum(given, "score_mode")
    found = Functions(given.get("query", {"match_all": {}}), [], 0.0)
    always = False
    for each in functions:
        boost, constant, is_always = _function(known_keys(each, "a function", ("filter", *own)), searcher)
        found = found._replace(boosts=[*found.boosts, *boost], constant=found.constant + constant)
        always |= is_always
    if always:
        return found
    if len(functions) > 1 or "values" not in found.boosts[0]:
        fix = 'add a function for all documents: {"weight": 1}'
        raise UnsupportedError.of("function_score in which all functions have", "a filter", fix=fix)
    (alone,) = found.boosts  # 1 for a document without the value
    return Functions(found.query, [{**alone, "weight": alone["weight"] - 1}], 1.0)


def _only_sum(given: dict[str, Any], name: str) -> None:
    mode = given.get(name, "multiply")
    if mode != "sum":
        fix = f"set {name} to sum: boosts are added to the score of the query"
        raise UnsupportedError.of(f"{name} of function_score", shown(mode), ["sum"], fix)


def _function(given: dict[str, Any], searcher: Searcher) -> tuple[list[dict[str, Any]], float, bool]:
    """Return the boosts of a function, its constant, and whether it is for all documents."""
    weight = number(given.get("weight", 1), "weight of a function")
    if not weight:
        raise UnsupportedError.of("weight of a function", 0, ["a number above 0"], "leave the function out")
    kinds = [name for name in given if name not in ("filter", "weight")]
    if any(kind != "exp" for kind in kinds):
        kind = next(kind for kind in kinds if kind != "exp")
        raise UnsupportedError.of("function", kind, ["weight", "weight with a filter", "exp"], _FIX)
    fields = Fields.of(searcher)
    if kinds:
        name, value = single(given["exp"], "exp")
        attribute = fields.attribute(name, "exp")
        if "filter" in given and given["filter"] != {"exists": {"field": name}}:
            raise UnsupportedError.of("for exp, a filter other than", f"exists of {name}", fix=_FIX)
        if "filter" not in given and _some(searcher, Not(Exists(attribute))):
            fix = f'limit the function: "filter": {{"exists": {{"field": "{name}"}}}}'
            raise UnsupportedError.of("exp, as documents lack a value of", name, fix=fix)
        return (
            [{"attribute": attribute, "weight": weight, **_decay(attribute, value, searcher)}],
            0.0,
            "filter" not in given,
        )
    if "weight" not in given:
        raise ServiceError("a function has a weight, or a decay")
    if "filter" not in given or given["filter"] == {"match_all": {}}:
        return [], weight, True
    clause, body = single(given["filter"], "filter of a function")
    if clause in ("term", "terms"):
        name, value = single(body, clause)
        value = value.get("value") if isinstance(value, dict) and clause == "term" else value
        attribute, values = fields.attribute(name, clause), several(value)
        if values and fields.schema[attribute] in ("keyword", "keywords", "boolean"):
            return [{"attribute": attribute, "weight": weight, "values": list(values)}], 0.0, False
    raise UnsupportedError.of(
        "as the filter of a weight, the clause", clause, ["term and terms of keywords and booleans"], _FIX
    )


def _decay(attribute: str, value: object, searcher: Searcher) -> dict[str, Any]:
    """Return the shape that halves where the decay is one half."""
    given = known_keys(value, f"exp of {attribute}", ("origin", "scale", "decay", "offset"))
    offset = given.get("offset", 0)
    if offset not in (0, "0d", "0"):
        raise UnsupportedError.of("offset of exp", shown(offset), ["0"])
    decay = given.get("decay", 0.5)
    if not is_finite_number(decay) or not 0 < decay < 1:
        raise ServiceError("the decay of exp is a number between 0 and 1", facts=[("given", str(decay))])
    halves = math.log(0.5) / math.log(decay)
    kind = searcher.schema[attribute]
    if kind in ("integer", "float"):
        origin, scale = given.get("origin"), given.get("scale")
        if not is_finite_number(origin) or not is_finite_number(scale) or scale <= 0:
            raise ServiceError(
                "exp of a number has numbers as origin and scale", facts=[("attribute", attribute)]
            )
        return {"near": origin, "distance": scale * halves}
    if kind != "date":
        raise UnsupportedError.of(f"exp of an attribute of the type {kind}", attribute, ["numbers", "dates"])
    period = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(d|h|ms|m|s)", text(given.get("scale"), "scale"))
    days = 0.0 if period is None else float(period[1]) * UNITS[LETTERS[period[2]]] / DAY * halves
    if not days:
        raise ServiceError(
            "exp of a date has a period such as 30d as scale", facts=[("attribute", attribute)]
        )
    origin = text(given.get("origin", "now"), "origin")
    now = (
        time.strftime("%Y-%m-%d", time.gmtime())
        if origin == "now"
        else f"{origin}{'' if 'T' in origin else 'T00:00'}"
    )
    if _some(searcher, Greater(attribute, now)):
        raise UnsupportedError.of("exp, as documents have dates after the origin in", attribute, fix=_FIX)
    return {"half_life": f"{days:.9f} days", **({} if origin == "now" else {"now": origin})}


def _some(searcher: Searcher, filter: Filter) -> bool:
    """Return whether a document fulfils a filter."""
    return searcher.search(Search(filter=filter_to_json(filter))).count() > 0
