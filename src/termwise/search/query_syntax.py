r"""Query syntax: required and excluded words, phrases, and values of attributes.

====================================  ==================================================
text                                  meaning
====================================  ==================================================
``word``                              a word of the query
``+word``                             a word of the query that results contain
``-word``                             results do not contain this word
``"a phrase"``, ``+"a phrase"``       words of the query that are adjacent in results
``-"a phrase"``                       results do not contain this phrase
``field:value``, ``field:"words"``    the attribute has this value
``-field:value``                      the attribute has another value, or none
====================================  ==================================================

Signs, quotes and fields begin after white space. The name of a field begins with a letter, and the value of a field
does not begin with ``:`` or ``//``. Everything else is a word: ``c++``, ``well-known``, ``12:30``. In quotes, the
name of a field is a word, and ``\"`` is a quote.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

from termwise.attributes import Schema
from termwise.attributes.field_types import FieldType, stored_value
from termwise.display.safe_text import legible_line
from termwise.errors import ParameterError
from termwise.filters import Equals, Filter
from termwise.filters.expressions import Value
from termwise.storage.manifest_json import Misfit
from termwise.validation import check

_PART = re.compile(
    r"""
    (?<!\S) (?P<sign>[-+]?)
    (?: "(?P<phrase>(?:\\"|[^"])*)(?P<end>"?)
      | (?P<field>[^\W\d][\w.-]*) : (?!//|:) (?: "(?P<values>(?:\\"|[^"])*)(?P<last>"?) | (?P<value>[^\s"]\S*) )
      | (?P<word>\S+)
    )
    | (?P<rest>\S+)
    """,
    re.VERBOSE,
)

_CONVERTED: dict[FieldType | None, tuple[FieldType, ...]] = {
    "boolean": ("boolean",),
    "integer": ("integer", "float"),
    "float": ("float",),
}
"""Types that a value is converted to, the first that fits, by the type of the attribute."""


class ParsedQuery(NamedTuple):
    """Parts of a query, named as in `Search`: ``Search(**parsed._asdict())``.

    Attributes
    ----------
    query : str
        Words of the query, without operators, excluded words and attributes.
    must, must_not : tuple of str
        Required and excluded words and phrases.
    filter : Filter or None
        Condition on attributes.
    """

    query: str
    must: tuple[str, ...]
    must_not: tuple[str, ...]
    filter: Filter | None


def parse_query(text: str, schema: Schema | None = None) -> ParsedQuery:
    """Parse a query with operators.

    A search refuses a query with a field that is no attribute of the index.

    Parameters
    ----------
    text : str
    schema : Schema, optional
        Types of the attributes. Values of numbers and of true and false are converted; other values are strings.

    Raises
    ------
    ParameterError
        If a quote is not closed, or nothing is between two quotes.

    Examples
    --------
    >>> parse_query('lava +ash -film "molten rock" lang:en')
    ParsedQuery(query='lava ash molten rock', must=('ash', 'molten rock'), must_not=('film',),
                filter=Equals(field='lang', value='en'))
    >>> parse_query("price:12.5", Schema({"price": "float"})).filter
    Equals(field='price', value=12.5)
    """
    check("text", text, isinstance(text, str), "a query as text")
    words: list[str] = []
    must: list[str] = []
    must_not: list[str] = []
    filter: Filter | None = None
    for part in _PART.finditer(text):
        quoted = part["phrase"] if part["field"] is None else part["values"]
        if quoted is not None and not (quoted.strip() and (part["end"] or part["last"])):
            raise ParameterError(
                "a quote of the query is not closed" if quoted.strip() else "a phrase of the query is empty",
                facts=[("query", legible_line(text)), ("at", legible_line(part[0]))],
                fixes=['write a phrase in two quotes: "molten rock"'],
            )
        quoted = quoted and quoted.replace('\\"', '"')
        if (field := part["field"]) is not None:
            value = part["value"] if quoted is None else quoted
            condition: Filter = Equals(
                field, typed_value(value, None if schema is None else schema.get(field))
            )
            condition = ~condition if part["sign"] == "-" else condition
            filter = condition if filter is None else filter & condition
        elif part["rest"] is not None:
            words.append(part["rest"])
        elif part["sign"] == "-":
            must_not.append(part["word"] if quoted is None else quoted)
        elif quoted is not None:
            words.append(quoted)
            must.append(quoted)
        else:
            words.append(part["word"])
            if part["sign"]:
                must.append(part["word"])
    return ParsedQuery(" ".join(words), tuple(must), tuple(must_not), filter)


def typed_value(text: str, kind: FieldType | None) -> Value:
    """Return a value as a filter compares it with attributes of a type; the text if it is none of them."""
    for each in _CONVERTED.get(kind, ()):
        with suppress(Misfit):
            value = stored_value(each, text)
            assert isinstance(value, int | float)
            return value
    return text
