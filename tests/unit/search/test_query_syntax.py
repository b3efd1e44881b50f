"""Operators of the query syntax, and texts that look like operators."""

from __future__ import annotations

import pytest

from termwise.attributes import Schema
from termwise.errors import ParameterError
from termwise.filters import parse_filter
from termwise.search import ParsedQuery, parse_query


@pytest.mark.parametrize(
    ("text", "query", "must", "must_not", "filter"),
    [
        ("", "", (), (), None),
        ("lava ash", "lava ash", (), (), None),
        ("lava +ash -film", "lava ash", ("ash",), ("film",), None),
        ('"molten rock" +"a b" -"c d"', "molten rock a b", ("molten rock", "a b"), ("c d",), None),
        ("-9 +-9", "-9", ("-9",), ("9",), None),
        ("lang:de -kind:tea", "", (), (), 'lang = "de" and not kind = "tea"'),
        ('brand:"Acme Inc" tea', "tea", (), (), 'brand = "Acme Inc"'),
        ('"12:30" "lang:de"', "12:30 lang:de", ("12:30", "lang:de"), (), None),
        (r'brand:"5\" disk" "a \"b"', 'a "b', ('a "b',), (), r'brand = "5\" disk"'),
        (r'"a\b"', r"a\b", (r"a\b",), (), None),
        ("a - b + c", "a - b + c", (), (), None),
        ("c++ well-known 12:30 note: http://x.y std::vector", None, (), (), None),
        ('5"disk "a b"c', '5"disk a b c', ("a b",), (), None),
        ("\u00fcber\u00a0+stra\u00dfe", "\u00fcber stra\u00dfe", ("stra\u00dfe",), (), None),
    ],
)
def test_operators(text: str, query: str | None, must: object, must_not: object, filter: str | None) -> None:
    condition = None if filter is None else parse_filter(filter)
    words = text if query is None else query
    assert parse_query(text) == ParsedQuery(words, must, must_not, condition)


@pytest.mark.parametrize(
    ("text", "filter"),
    [
        ("price:79", "price = 79.0"),
        ('price:"1.5"', "price = 1.5"),
        ("-stock:-3", "not stock = -3"),
        ("stock:9007199254740993", "stock = 9007199254740993"),
        ("stock:2.5", "stock = 2.5"),
        ("ok:true -ok:FALSE", "ok = true and not ok = false"),
        ("brand:79 day:2024", 'brand = "79" and day = "2024"'),
        ("stock:few ok:1 size:9", 'stock = "few" and ok = "1" and size = "9"'),
    ],
)
def test_values_have_the_type_of_their_attribute(text: str, filter: str) -> None:
    types = {"price": "float", "stock": "integer", "ok": "boolean", "brand": "keyword", "day": "date"}
    assert parse_query(text, Schema(types)).filter == parse_filter(filter)


@pytest.mark.parametrize("text", ['a "b c', '"', '""', '-" "', 'lang:"de', r'"a\\"', 'lang:""'])
def test_open_and_empty_quotes_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="of the query is"):
        parse_query(text)


def test_only_text_is_parsed() -> None:
    with pytest.raises(ParameterError):
        parse_query(3)  # type: ignore[arg-type]
