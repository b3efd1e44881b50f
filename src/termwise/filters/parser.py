"""Parser of filters written as text.

::

    filter      = all {"or" all}
    all         = part {"and" part}
    part        = "not" part | "(" filter ")" | condition
    condition   = field ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                | field ["not"] "in" "(" value {"," value} ")"
                | field "between" value "and" value
                | field ("starts" "with" | "contains" | "matches") ["ignoring" "case"] string
                | field "equals" "ignoring" "case" string
                | field "is" ["not"] "missing"
                | field
    value       = string | number | "true" | "false"

A field alone is ``field = true``. Words of the syntax may be in upper case. Strings are in single or double quotes, and
the names of fields that are not words of letters, digits, ``_``, ``.`` and ``-`` in backticks; both have the escapes of
JSON, and a backslash before a quote.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import NamedTuple

from termwise.attributes.schema import Schema
from termwise.display.safe_text import legible_line
from termwise.errors import ParameterError, TermwiseError, UnknownNameError
from termwise.filters.expressions import (
    COMPARISONS,
    KEYWORDS,
    PART_TESTS,
    WORD,
    And,
    Between,
    Condition,
    Equals,
    Exists,
    Filter,
    In,
    Not,
    NotIn,
    Or,
    Value,
)
from termwise.filters.types import YES_AND_NO, check_condition

MOST_NESTED = 100
"""Largest depth of parentheses and of ``not``."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<quoted>`(?:[^`\\]|\\.)+`)
    |(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}[\w:.+-]*)
    |(?P<number>[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.]))
    |(?P<symbol><=|>=|!=|<>|==|[=<>(),])
    |(?P<word>"""
    + WORD.pattern
    + ")",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ALIASES = {"==": "=", "<>": "!="}
_WORDS_OF = {"&": "and", "|": "or", "!": "not"}
"""Words for the operators of programming languages."""
_WINDOW = 60


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def keyword(self) -> str:
        """Keyword or symbol of the filter syntax; empty for names and values."""
        word = self.text.lower()
        return word if self.kind == "symbol" or (self.kind == "word" and word in KEYWORDS) else ""


def parse_filter(text: str, schema: Schema | None = None) -> Filter:
    """Parse a filter.

    Parameters
    ----------
    text : str
        Filter in the syntax of this module.
    schema : Schema, optional
        Types of the fields; the filter is checked against it.

    Raises
    ------
    ParameterError
        If the text is not a filter, or compares a field with a value of another type; the error marks the position.
    UnknownNameError
        If the schema has no such field.

    Examples
    --------
    >>> parse_filter('price < 20 and not archived')
    And(Less(field='price', value=20), Not(filter=Equals(field='archived', value=True)))
    >>> parse_filter("price < cheap")
    Traceback (most recent call last):
    termwise.errors.ParameterError: the filter cannot be read  [parameter]
      filter    price < cheap
                        ^
      expected  a value: a string or a date in quotes, a number, true or false
      fix       write a string in quotes: "cheap"
    """
    if not isinstance(text, str):
        raise ParameterError("a filter is text", facts=[("given", type(text).__name__)])
    return _Parser(text, schema).parse()


class _Parser:
    def __init__(self, text: str, schema: Schema | None) -> None:
        self._text = text
        self._schema = schema
        self._tokens = self._split()
        self._position = 0
        self._depth = 0

    def _split(self) -> list[_Token]:
        tokens = []
        start = 0
        while start < len(self._text):
            match = _TOKEN.match(self._text, start)
            if match is None:
                open_quote = self._text[start] in "\"'`"
                word = _WORDS_OF.get(self._text[start])
                raise self._error(
                    start,
                    f"a closing {self._text[start]}" if open_quote else "a field, a value or an operator",
                    [f"write {word}"] if word else [],
                )
            if match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match[0], start))
            start = match.end()
        return [*tokens, _Token("end", "", len(self._text))]

    def parse(self) -> Filter:
        filter = self._any()
        if self._next.kind != "end":
            raise self._error(self._next.start, "and, or, or the end of the filter")
        return filter

    @property
    def _next(self) -> _Token:
        return self._tokens[self._position]

    def _take(self) -> _Token:
        token = self._next
        self._position += 1
        return token

    def _took(self, *keywords: str) -> bool:
        """Step over a sequence of keywords, if it comes next."""
        following = self._tokens[self._position : self._position + len(keywords)]
        if [token.keyword for token in following] != list(keywords):
            return False
        self._position += len(keywords)
        return True

    def _took_words(self, *words: str) -> bool:
        """Step over words that mean something only after a field, if they come next."""
        following = self._tokens[self._position : self._position + len(words)]
        if [token.text.lower() for token in following if token.kind == "word"] != list(words):
            return False
        self._position += len(words)
        return True

    def _need(self, keyword: str, expected: str) -> None:
        if not self._took(keyword):
            raise self._error(self._next.start, expected)

    def _any(self) -> Filter:
        parts = [self._all()]
        while self._took("or"):
            parts.append(self._all())
        return Or(*parts) if len(parts) > 1 else parts[0]

    def _all(self) -> Filter:
        parts = [self._part()]
        while self._took("and"):
            parts.append(self._part())
        return And(*parts) if len(parts) > 1 else parts[0]

    def _part(self) -> Filter:
        start = self._next.start
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self._error(start, f"at most {MOST_NESTED} filters inside each other")
        if self._took("not"):
            filter: Filter = Not(self._part())
        elif self._took("("):
            filter = self._any()
            self._need(")", ") or and, or")
        else:
            filter = self._condition()
        self._depth -= 1
        return filter

    def _condition(self) -> Filter:
        token = self._take()
        if token.kind == "quoted":
            field = self._unescaped(token)
        elif token.kind == "word" and not token.keyword:
            field = token.text
        else:
            fixes = ["write the name of a field in backticks"] if token.kind in ("word", "string") else []
            raise self._error(token.start, "a field, not, or (", fixes)
        condition: Condition
        operator = self._next
        at = operator.start
        symbol = _ALIASES.get(operator.text, operator.text)
        if operator.kind == "symbol" and symbol in COMPARISONS:
            self._take()
            at = self._next.start
            condition = COMPARISONS[symbol](field, self._value())
        elif part_test := next((each for each in PART_TESTS if self._took_words(*each.split())), None):
            at = self._next.start
            if self._next.kind != "string":
                raise self._error(at, "a string in quotes")
            condition = PART_TESTS[part_test](field, self._value())
        elif self._took("not", "in"):
            at = self._next.start
            condition = NotIn(field, self._values())
        elif self._took("in"):
            at = self._next.start
            condition = In(field, self._values())
        elif self._took("between"):
            at = self._next.start
            low = self._value()
            self._need("and", "and, then the upper bound")
            condition = Between(field, low, self._value())
        elif self._took("is", "missing"):
            self._check(Exists(field), token.start, token.start)
            return Not(Exists(field))
        elif self._took("is", "not", "missing"):
            condition = Exists(field)
        elif operator.kind == "end" or operator.keyword in ("and", "or", ")"):
            condition, at = Equals(field, True), token.start
        else:
            raise self._error(
                at, "=, !=, <, <=, >, >=, in, between, starts with, contains, matches, or is missing"
            )
        self._check(condition, token.start, at)
        return condition

    def _check(self, condition: Condition, field_at: int, value_at: int) -> None:
        if self._schema is None:
            return
        try:
            check_condition(condition, self._schema)
        except TermwiseError as error:
            at = field_at if isinstance(error, UnknownNameError) else value_at
            facts = [("filter", self._marked(at)), *error.facts]
            raise type(error)(error.message, facts=facts, fixes=error.fixes) from None

    def _values(self) -> tuple[Value, ...]:
        self._need("(", "( and values")
        values = [self._value()]
        while not self._took(")"):
            self._need(",", ", or )")
            values.append(self._value())
        return tuple(values)

    def _value(self) -> Value:
        token = self._take()
        if token.kind == "string":
            return self._unescaped(token)
        if token.kind == "number":
            try:
                number = float(token.text) if set(token.text) & set(".eE") else int(token.text)
            except ValueError:  # Python reads no integer of more than 4300 digits
                number = float("inf")
            if number - number != 0:
                raise self._error(token.start, "a number that a float can hold")
            return number
        if token.keyword in ("true", "false"):
            return token.keyword == "true"
        fixes = []
        if token.kind == "word" and token.text.lower() in YES_AND_NO:
            fixes = [f"write {YES_AND_NO[token.text.lower()]} for an attribute that is true or false"]
        if token.kind in ("word", "date"):
            kind = "string" if token.kind == "word" else "date"
            fixes.append(f"write a {kind} in quotes: {json.dumps(token.text, ensure_ascii=False)}")
        expected = "a value: a string or a date in quotes, a number, true or false"
        raise self._error(token.start, expected, fixes)

    def _unescaped(self, token: _Token) -> str:
        def character(match: re.Match[str]) -> str:
            code = match[1]
            if len(code) > 1:
                return chr(int(code[1:], 16))
            if code not in "\"'`\\/bfnrt":
                raise self._error(
                    token.start + 1 + match.start(), "an escape of JSON, or \\\\ for a backslash"
                )
            return {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}.get(code, code)

        text = _ESCAPE.sub(character, token.text[1:-1])
        # a pair of surrogates is one character, as in JSON
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def _error(self, position: int, expected: str, fixes: list[str] | None = None) -> ParameterError:
        return ParameterError(
            "the filter cannot be read",
            facts=[("filter", self._marked(position)), ("expected", expected)],
            fixes=fixes or (),
        )

    def _marked(self, position: int) -> str:
        """Return the text around a position, with a caret under it."""
        first = max(0, position - _WINDOW)
        before = legible_line(self._text[first:position])
        after = legible_line(self._text[position : position + _WINDOW])
        width = sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in before)
        lead = "..." if first else ""
        end = "..." if position + _WINDOW < len(self._text) else ""
        return f"{lead}{before}{after}{end}\n{' ' * (len(lead) + width)}^"
