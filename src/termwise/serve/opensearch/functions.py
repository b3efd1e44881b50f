"""Functions of ``function_score``, and conditions that only add to scores, as boosts of a search.

A boost adds ``weight * shape`` to the score, where the shape is a number from 0 to 1. So each function is read as
``low + (high - low) * shape``, and what its shape and its modes have other than in OpenSearch is a note.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from termwise.attributes import Schema
from termwise.attributes.dates import DAY, LETTERS, UNITS
from termwise.display.safe_text import shown
from termwise.engine.boosts import MOST_VALUES
from termwise.fast_dataclass import dataclass
from termwise.filters import Equals, Exists, Filter, Greater, In, Not, filter_to_json
from termwise.filters.expressions import Condition, fields_of
from termwise.search import Search, Searcher
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import (
    SMALLEST,
    known_keys,
    number,
    only_default,
    record,
    several,
    single,
    text,
)
from termwise.validation import is_finite_number

MOST_FUNCTIONS = 100
"""Functions of a query."""

STRAIGHT = 10.0
"""Saturation of a shape that bends less than a saturation can, as a multiple of the largest value."""

LONGEST_NOTE = 400
"""Characters of the boosts in a note."""

_DECAYS = ("exp", "gauss", "linear")

_MODES = ("sum", "multiply")

_MODIFIERS: dict[str, Callable[[float], float]] = {
    "none": lambda x: x,
    "log": lambda x: math.log10(max(x, 1)),
    "log1p": lambda x: math.log10(x + 1),
    "log2p": lambda x: math.log10(x + 2),
    "ln": lambda x: math.log(max(x, 1)),
    "ln1p": math.log1p,
    "ln2p": lambda x: math.log(x + 2),
    "square": lambda x: x * x,
    "sqrt": math.sqrt,
}
"""Modifiers of ``field_value_factor``, for numbers of 0 and more."""

_FIX = "set boosts in the relevance file of the index: half_life for dates, near or saturation for numbers"


_KEPT: WeakKeyDictionary[Searcher, dict[str, tuple[float, float]]] = WeakKeyDictionary()
"""Mean and largest value of each attribute, kept while its index is open."""


class Functions(NamedTuple):
    """Query of a ``function_score``, or None for optional conditions, and what is added to its scores.

    Attributes
    ----------
    query : object
    boosts : list of dict
        Parameters of `Boost`.
    constant : float
    multiplies : bool
        Whether the weights of the boosts are in units of the best score of the query.
    notes : list of str
        Sentences on what is other than in OpenSearch.
    name : str
        Key that they are from.
    """

    query: Any
    boosts: list[dict[str, Any]]
    constant: float
    multiplies: bool
    notes: list[str]
    name: str = "function_score"


@dataclass(frozen=True)
class _Function:
    """Function of a ``function_score``, whose value is ``low + (high - low) * shape``.

    Attributes
    ----------
    low, high : float
    shape : dict or None
        Parameters of `Boost` except the weight; None for a number that all documents have.
    most : float
        Largest value of the shape.
    is_filter : bool
        Whether it is the weight of documents that fulfil a filter.
    notes : tuple of str
    """

    low: float
    high: float
    shape: dict[str, Any] | None = None
    most: float = 1.0
    is_filter: bool = False
    notes: tuple[str, ...] = ()


def read_functions(body: object, searcher: Searcher, read_filter: Callable[[object], Filter]) -> Functions:
    """Read a ``function_score``; `read_filter` reads a condition on attributes.

    Raises
    ------
    UnsupportedError
        If no boosts are near to a function or a mode.
    ServiceError, UnknownNameError
        If a part is not as expected, or the index has no such field.
    """
    own = ("weight", "field_value_factor", "script_score", "random_score", *_DECAYS)
    keys = ("query", "functions", "score_mode", "boost_mode", "boost", "max_boost", *own)
    given = known_keys(body, "function_score", keys)
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
    boost_mode = _mode(given, "boost_mode", _MODES)
    alone = ("first", "avg", "max", "min") if len(functions) == 1 else ()
    product = _mode(given, "score_mode", (*_MODES, *alone)) == "multiply" and len(functions) > 1
    found = [
        _function(known_keys(each, "a function", ("filter", *own)), searcher, read_filter)
        for each in functions
    ]
    every_filter = all(each.is_filter for each in found)
    # a weight with a filter is 1 for other documents in a product, and if no function is for them
    lows = [1.0 if each.is_filter and (product or every_filter) else each.low for each in found]
    pairs = [(low, each.high) for low, each in zip(lows, found, strict=True)]
    notes = [note for each in found for note in each.notes]
    if product:
        constant, most = 0.0, math.prod(max(pair) for pair in pairs)
        amounts = [(high - low) / max(low, high, SMALLEST) * most for low, high in pairs]
        notes.append("the product of the functions is approximated by a sum")
    else:
        constant = 1.0 if every_filter else math.fsum(lows)
        amounts = [high - low for low, high in pairs]
        most = constant + math.fsum(max(amount, 0) for amount in amounts)
        if every_filter and len(found) > 1:
            notes.append(
                "each adds its weight less 1, which OpenSearch has for a document without a function"
            )
    if "max_boost" in given and number(given["max_boost"], "max_boost") < most:
        fix = f"leave it out: the functions have values up to {most:.4g}"
        raise UnsupportedError.of("max_boost of function_score", shown(given["max_boost"]), fix=fix)
    multiplies = boost_mode == "multiply"
    unit = most if multiplies else 1.0
    boosts = [
        {**each.shape, "weight": amount / each.most / unit}
        for each, amount in zip(found, amounts, strict=True)
        if each.shape is not None and amount
    ]
    query = given.get("query", {"match_all": {}})
    return Functions(query, boosts, 0.0 if multiplies else constant, multiplies, notes)


def note_of(functions: Functions, boosts: list[dict[str, Any]]) -> str:
    """Return a sentence on the boosts that functions became; without one, they are those of OpenSearch."""
    reasons = list(dict.fromkeys(functions.notes))
    if functions.multiplies:
        reasons.insert(
            0,
            "functions are added to the score, in units of the best score of the query, and do not multiply it",
        )
    if not reasons:
        return ""
    lines = ", ".join(
        f"{{{', '.join(f'{name} = {_toml(value)}' for name, value in each.items())}}}" for each in boosts
    )
    if len(lines) > LONGEST_NOTE:
        lines = lines[:LONGEST_NOTE] + "…"
    fix = f"A relevance file can set the weights for all searches: boosts = [{lines}]"
    return f"{functions.name}: {'; '.join(reasons)}. {fix}"


def shape_of(filter: Filter, schema: Schema) -> dict[str, Any]:
    """Return the parameters of `Boost` for the documents that a filter matches.

    Examples
    --------
    >>> shape_of(Equals("kind", "green"), Schema({"kind": "keyword"}))
    {'attribute': 'kind', 'values': ['green']}
    >>> shape_of(Greater("stock", 0), Schema({"stock": "integer"}))
    {'attribute': 'stock', 'filter': 'stock > 0'}
    """
    attribute = min(fields_of(filter))
    if type(filter) in (Equals, In) and schema[attribute] != "date":
        values = list(cast(Condition, filter).operands)
        if len(values) <= MOST_VALUES:
            return {"attribute": attribute, "values": values}
    return {"attribute": attribute, "filter": str(filter)}


def _toml(value: object) -> str:
    """Return a value of a boost as TOML without double quotes."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.4g}"
    quote = "'''" if '"' in str(value) else "'"
    return f"{quote}{value}{quote}".replace('"', "'")


def _mode(given: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    mode = given.get(name, "multiply")
    if mode not in known:
        fix = f"set {name} to sum: boosts are added to the score of the query"
        raise UnsupportedError.of(f"{name} of function_score", shown(mode), known, fix)
    return str(mode)


def _function(
    given: dict[str, Any], searcher: Searcher, read_filter: Callable[[object], Filter]
) -> _Function:
    weight = number(given.get("weight", 1), "weight of a function")
    if not weight:
        raise UnsupportedError.of("weight of a function", 0, ["a number above 0"], "leave the function out")
    kinds = [name for name in given if name not in ("filter", "weight")]
    known = ("field_value_factor", *_DECAYS)
    for kind in kinds:
        if kind not in known:
            raise UnsupportedError.of("function", kind, ["weight", "weight with a filter", *known], _FIX)
    fields = Fields.of(searcher)
    if len(kinds) > 1:
        raise UnsupportedError.of("in one function, both", " and ".join(kinds), ["one of them"])
    if kinds:
        (kind,) = kinds
        if kind == "field_value_factor":
            value = record(given[kind], kind)
            name = text(value.get("field"), "field of field_value_factor")
        else:
            name, value = single(given[kind], kind)
        attribute = fields.attribute(name, kind)
        if "filter" in given and given["filter"] not in ({"exists": {"field": name}}, {"match_all": {}}):
            raise UnsupportedError.of(f"for {kind}, a filter other than", f"exists of {name}", fix=_FIX)
        if kind == "field_value_factor":
            return _of_value(attribute, value, weight, searcher)
        shape, notes = _decay(kind, attribute, value, searcher)
        if given.get("filter", {"match_all": {}}) == {"match_all": {}} and _some(
            searcher, Not(Exists(attribute))
        ):
            notes.append(
                f"documents without a value of {name} get 0 of {kind}; OpenSearch gives them all of it"
            )
        return _Function(0.0, weight, shape, notes=tuple(notes))
    if "weight" not in given:
        raise ServiceError("a function has a weight, a decay, or a field_value_factor")
    if "filter" not in given or given["filter"] == {"match_all": {}}:
        return _Function(weight, weight)
    return _Function(0.0, weight, shape_of(read_filter(given["filter"]), fields.schema), is_filter=True)


def _of_value(attribute: str, value: object, weight: float, searcher: Searcher) -> _Function:
    """Return the saturation that is nearest to a ``field_value_factor``.

    It has the value of the function at 0, and at the mean and the largest value of the index; a function without such
    a saturation is nearly a straight line.
    """
    given = known_keys(value, "field_value_factor", ("field", "factor", "modifier", "missing"))
    kind = searcher.schema[attribute]
    if kind not in ("integer", "float"):
        raise UnsupportedError.of(
            f"field_value_factor of an attribute of the type {kind}", attribute, ["numbers"]
        )
    factor = number(given.get("factor", 1), "factor of field_value_factor")
    modifier = str(given.get("modifier", "none")).lower()
    if modifier not in _MODIFIERS or not factor:
        what = "factor" if modifier in _MODIFIERS else "modifier"
        known = ["a number above 0"] if what == "factor" else [*_MODIFIERS]
        raise UnsupportedError.of(f"{what} of field_value_factor", shown(given[what]), known, _FIX)
    missing = given.get("missing", 0)
    if not is_finite_number(missing):
        raise ServiceError("missing of field_value_factor is a number", facts=[("given", shown(missing))])
    function, (mean, most) = _MODIFIERS[modifier], _mean_and_most(attribute, searcher)
    if most <= 0:
        return _Function(weight * function(0), weight * function(0))
    if not 0 < mean < most:
        mean = most / 2
    low, high, middle = (function(factor * each) for each in (0, most, mean))
    share = (middle - low) / (high - low) if high > low else 0.0
    bends = share * most - mean  # above 0 if the function rises more at first than a straight line
    saturation = STRAIGHT * most
    if bends > mean * (1 - share) / STRAIGHT:
        saturation = mean * most * (1 - share) / bends
    notes = [f"field_value_factor is a saturation with the same value at 0, {mean:.4g} and {most:.4g}"]
    if missing and _some(searcher, Not(Exists(attribute))):
        notes.append(f"documents without a value of {attribute} count as 0, and missing changes nothing")
    shape = {"attribute": attribute, "saturation": saturation}
    return _Function(weight * low, weight * high, shape, most / (most + saturation), notes=tuple(notes))


def _mean_and_most(attribute: str, searcher: Searcher) -> tuple[float, float]:
    """Return the mean and the largest value of an attribute; 0 without values."""
    kept = _KEPT.setdefault(searcher, {})
    if attribute not in kept:
        values = searcher.search(Search()).statistics(attribute)
        kept[attribute] = (float(values.total or 0) / max(values.values, 1), float(values.most or 0))
    return kept[attribute]


def _decay(kind: str, attribute: str, value: object, searcher: Searcher) -> tuple[dict[str, Any], list[str]]:
    """Return the shape that halves where the decay is one half, and notes on it."""
    given = known_keys(value, f"{kind} of {attribute}", ("origin", "scale", "decay", "offset"))
    decay = given.get("decay", 0.5)
    if not is_finite_number(decay) or not 0 < decay < 1:
        raise ServiceError(f"the decay of {kind} is a number between 0 and 1", facts=[("given", str(decay))])
    halves = {
        "exp": math.log(0.5) / math.log(decay),
        "gauss": math.sqrt(math.log(0.5) / math.log(decay)),
        "linear": 0.5 / (1 - decay),
    }[kind]
    notes = [] if kind == "exp" else [f"{kind} is an exponential decay with the same half"]
    column = searcher.schema[attribute]
    if column in ("integer", "float"):
        origin, scale, offset = given.get("origin"), given.get("scale", 0), given.get("offset", 0)
        is_number = is_finite_number(origin) and is_finite_number(scale) and is_finite_number(offset)
        if not is_number or scale <= 0 or offset < 0:
            raise ServiceError(
                f"{kind} of a number has numbers as origin, scale and offset",
                facts=[("attribute", attribute)],
            )
        shape: dict[str, Any] = {"near": origin, "distance": offset + scale * halves}
    elif column == "date":
        days = _days(given.get("scale"), kind, attribute) * halves
        origin = text(given.get("origin", "now"), "origin")
        offset = given.get("offset", 0) not in (0, "0", "0d") and _days(given["offset"], kind, attribute)
        now = (
            time.strftime("%Y-%m-%d", time.gmtime())
            if origin == "now"
            else f"{origin}{'' if 'T' in origin else 'T00:00'}"
        )
        if _some(searcher, Greater(attribute, now)):
            notes.append(f"dates of {attribute} after the origin count as the origin")
        shape = {"half_life": f"{days + offset:.9f} days", **({} if origin == "now" else {"now": origin})}
    else:
        raise UnsupportedError.of(
            f"{kind} of an attribute of the type {column}", attribute, ["numbers", "dates"]
        )
    if offset:
        notes.append(f"the half of {kind} is further away by the offset")
    return {"attribute": attribute, **shape}, notes


def _days(period: object, kind: str, attribute: str) -> float:
    """Return a period such as ``30d`` in days."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(d|h|ms|m|s)", text(period, "scale"))
    days = 0.0 if match is None else float(match[1]) * UNITS[LETTERS[match[2]]] / DAY
    if not days:
        raise ServiceError(
            f"{kind} of a date has a period such as 30d as scale", facts=[("attribute", attribute)]
        )
    return days


def _some(searcher: Searcher, filter: Filter) -> bool:
    """Return whether a document fulfils a filter."""
    return searcher.search(Search(filter=filter_to_json(filter))).count() > 0
