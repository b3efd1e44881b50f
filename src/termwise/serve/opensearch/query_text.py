"""Queries written as text, ``query_string`` and ``simple_query_string``, as clauses of OpenSearch.

A text is split, and its words, phrases and conditions become clauses of a ``bool``, as OpenSearch's parsers make them.
What is not supported is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from termwise.fast_dataclass import dataclass
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import flag, known_keys, only_default, several, text

MOST_NESTED = 20
"""Parentheses inside each other."""

Clause = dict[str, Any]
Occur = Literal["must", "should", "must_not"]

TEXT_QUERIES = ("query_string", "simple_query_string")

_WITHOUT_EFFECT = ("lenient", "analyze_wildcard", "auto_generate_synonyms_phrase_query")
"""Keys that are accepted: a value of a wrong type is refused anyway, and beginnings of words are analysed."""


class _Term(NamedTuple):
    """A part of the query.

    `words` are plain words without a field and a boost, which can be joined with others; with `is_prefix`, the last one
    is the beginning of words. `kind` says whether it is a condition on attributes, or a phrase.
    """

    clause: Clause
    words: str = ""
    is_prefix: bool = False
    kind: Literal["", "condition", "phrase"] = ""


@dataclass(frozen=True)
class _Defaults:
    """Fields and operator of words without a field, and their analyzer; an operator that is not stated is `or`."""

    fields: Fields
    names: tuple[Any, ...]
    operator: str | None
    analyzer: dict[str, Any]

    @property
    def every(self) -> bool:
        """Whether the operator is `and`."""
        return self.operator == "and"

    def words(
        self, words: str, *, boost: float = 1.0, is_prefix: bool = False, names: Sequence[Any] = ()
    ) -> _Term:
        """Return words of texts."""
        given: Clause = {"query": words, "fields": list(names or self.names), **self.analyzer}
        if is_prefix:
            given["type"] = "bool_prefix"
        elif self.operator is not None:
            given["operator"] = self.operator
        if boost != 1:
            given["boost"] = boost
        is_plain = boost == 1 and not names
        return _Term({"multi_match": given}, words if is_plain else "", is_prefix)

    def phrase(self, words: str, *, boost: float = 1.0, names: Sequence[Any] = ()) -> _Term:
        """Return a phrase."""
        fields = list(names or self.names)
        given: Clause = {"query": words, "fields": fields, "type": "phrase", **self.analyzer}
        return _Term({"multi_match": given | ({"boost": boost} if boost != 1 else {})}, kind="phrase")

    def joined(self, terms: Sequence[tuple[Occur, _Term]]) -> _Term:
        """Return several terms as one: words of which one suffices as one clause, others as a bool."""
        if not terms:
            return self.words("")
        kinds = {occur for occur, _ in terms}
        if len(terms) == 1 and "must_not" not in kinds:
            return terms[0][1]
        every_plain = all(term.words for _, term in terms) and not any(
            term.is_prefix for _, term in terms[:-1]
        )
        if every_plain and kinds == {"should"} and not self.every:
            words = " ".join(term.words for _, term in terms)
            return self.words(words, is_prefix=terms[-1][1].is_prefix)
        found: Clause = {}
        for occur, term in terms:
            found.setdefault(occur, []).append(term.clause)
        every_condition = all(term.kind == "condition" for _, term in terms)
        return _Term({"bool": found}, kind="condition" if every_condition else "")


def read_text_query(kind: str, body: object, fields: Fields, most: int) -> tuple[Clause, list[str]]:
    """Return a clause of a kind in `TEXT_QUERIES` as other clauses; its text has at most `most` characters.

    The sentences returned beside it say which results of OpenSearch the other clauses leave out.

    Raises
    ------
    UnsupportedError, ServiceError
        If a part is not supported, or the text cannot be read.
    """
    own = ("default_field", "allow_leading_wildcard", "type") if kind == "query_string" else ("flags",)
    known = ("query", "fields", "default_operator", "boost", "analyzer", *_WITHOUT_EFFECT, *own)
    given = known_keys(body, kind, known)
    only_default(given, kind, boost=1, flags="ALL", type="best_fields")
    for name in (*_WITHOUT_EFFECT, "allow_leading_wildcard"):
        flag(given.get(name, False), name)
    operator = text(given.get("default_operator", "or"), "default_operator").lower()
    if operator not in ("or", "and"):
        raise UnsupportedError.of("default_operator", operator, ["or", "and"])
    if "fields" in given and "default_field" in given:
        raise UnsupportedError.of("beside fields, the key", "default_field")
    names = tuple(several(given.get("fields", given.get("default_field", "*")))) or ("*",)
    words = text(given.get("query"), f"query of {kind}")
    if len(words) > most:
        raise ServiceError(
            "a text of the query is longer than this service allows",
            facts=[("characters", len(words)), ("most", most)],
        )
    analyzer = {"analyzer": given["analyzer"]} if given.get("analyzer") is not None else {}
    defaults = _Defaults(fields, names, operator if "default_operator" in given else None, analyzer)
    parser = (_QueryString if kind == "query_string" else _SimpleQueryString)(words, defaults)
    return parser.read(), parser.notes


def _condition(kind: str, body: dict[str, Any]) -> _Term:
    return _Term({kind: body}, kind="condition")


class _Parser:
    """Text, its tokens, and the place of the next one."""

    pattern: re.Pattern[str]
    name: str

    def __init__(self, query: str, defaults: _Defaults) -> None:
        self.query, self.defaults = query, defaults
        self.tokens: list[tuple[str, str]] = []
        for match in self.pattern.finditer(query):
            if match.lastgroup != "space":
                self.tokens.append((str(match.lastgroup), match[0]))
            if match.lastgroup == "other":
                break  # it is refused
        self.place = self.depth = 0
        self.notes: list[str] = []

    def read(self) -> Clause:
        """Return the clause of the whole text."""
        found = self.group().clause
        if self.place < len(self.tokens):
            raise self.wrong("a parenthesis is closed that was not opened")
        return found

    def group(self, field: str = "") -> _Term:
        """Return the terms up to a closing parenthesis, or the end; values of a field if there is one."""
        raise NotImplementedError

    @property
    def next(self) -> tuple[str, str]:
        """Return kind and text of the next token."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def take(self) -> tuple[str, str]:
        """Return the next token, and step over it."""
        token = self.next
        self.place += 1
        return token

    def require(self, found: list[tuple[Occur, _Term]], stated: Sequence[bool]) -> list[tuple[Occur, _Term]]:
        """Make conditions and phrases without an operator required, if there are other terms.

        `stated` says of each term whether an operator is beside it. Conditions that name values of one attribute are
        one: one of the values suffices.
        """
        if all(term.kind == "condition" for _, term in found) or len(found) == 1:
            return found
        values: dict[str, list[Any]] = {}
        terms: list[tuple[Occur, _Term]] = []
        for (occur, term), is_stated in zip(found, stated, strict=True):
            if occur != "should" or is_stated or not term.kind:
                terms.append((occur, term))
                continue
            self.note(
                f"in {self.name}, results fulfil conditions and contain phrases that have no operator; OpenSearch "
                "takes them as optional, unless default_operator is and"
            )
            if "term" in term.clause:
                ((name, value),) = term.clause["term"].items()
                values.setdefault(name, []).append(value)
            else:
                terms.append(("must", term))
        optional = [(occur, term) for occur, term in terms if occur == "should"]
        if len(optional) < len(found) and not any(
            occur == "must" and term.kind != "condition" for occur, term in terms
        ):
            others = [(occur, term) for occur, term in terms if occur != "should"]
            terms = [("must", self.defaults.joined(optional)), *others]
        return [*terms, *(("must", _Term({"terms": {name: each}})) for name, each in values.items())]

    def note(self, note: str) -> None:
        """Add a note on what the clauses do differently from the query."""
        self.notes = list(dict.fromkeys([*self.notes, note]))

    def in_parentheses(self, field: str = "") -> _Term:
        """Return the terms in parentheses, the first of which was taken; values of a field if there is one."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self.wrong(f"there are more than {MOST_NESTED} parentheses inside each other")
        found = self.group(field)
        if self.take()[0] != "close":
            raise self.wrong("a parenthesis is not closed")
        self.depth -= 1
        return found

    def wrong(self, message: str) -> ServiceError:
        """Return the error for a text that cannot be read."""
        return ServiceError(f"{self.name}: {message}", facts=[("query", self.query[:200])])

    def unsupported(self, what: str, seen: str, fix: str = "") -> UnsupportedError:
        """Return the error for a part that is not supported."""
        return UnsupportedError.of(f"in {self.name}, {what}", seen[:200], fix=fix)


def _unescaped(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL)


class _QueryString(_Parser):
    """Parser of ``query_string``."""

    name = "query_string"
    pattern = re.compile(
        r"""(?P<space>\s+)
        | (?P<conjunction>(?:AND|OR)(?=[\s()]|$) | && | \|\|)
        | (?P<sign>NOT(?=[\s()]|$) | [-+!])
        | (?P<open>\() | (?P<close>\))
        | (?P<quoted>"(?:[^"\\]|\\.)*")
        | (?P<range>[\[{][^\]}]*[\]}])
        | (?P<boost>\^[0-9.]*) | (?P<fuzzy>~[0-9.]*)
        | (?P<field>(?:\\.|[^\s"()\[\]{}:^~\\+!/-])(?:\\.|[^\s"()\[\]{}:^~\\])*:)
        | (?P<word>(?:\\.|[^\s"()\[\]{}:^~\\])+)
        | (?P<other>.)""",
        re.VERBOSE | re.DOTALL,
    )

    def group(self, field: str = "") -> _Term:
        """Return the terms up to a closing parenthesis, or the end.

        A term beside AND is required, and one without AND and OR is as the default operator says; OR makes the terms
        beside it optional. This is how OpenSearch reads AND and OR together.
        """
        found: list[tuple[Occur, _Term]] = []
        stated: list[bool] = []
        every = self.defaults.every
        while self.next[0] not in ("close", "end"):
            conjunction = ""
            while self.next[0] == "conjunction":
                conjunction = {"&&": "AND", "||": "OR"}.get(self.next[1], self.next[1])
                self.place += 1
            sign = ""
            while self.next[0] == "sign":
                sign = {"NOT": "-", "!": "-"}.get(self.next[1], self.next[1])
                self.place += 1
            if self.next[0] in ("close", "end"):
                raise self.wrong("a word is expected after the last operator")
            term = self.term(field)
            if found and found[-1][0] != "must_not" and conjunction:
                if conjunction == "AND":
                    found[-1] = "must", found[-1][1]
                elif every:
                    found[-1] = "should", found[-1][1]
            required = sign == "+" or conjunction == "AND" or (every and conjunction != "OR")
            found.append(("must_not" if sign == "-" else "must" if required else "should", term))
            if conjunction and stated:
                stated[-1] = True
            stated.append(bool(conjunction))
        return self.defaults.joined(self.require(found, stated))

    def term(self, field: str) -> _Term:
        """Return a word, a phrase, a condition on a field, or terms in parentheses."""
        kind, seen = self.take()
        if kind == "field":
            if field:
                raise self.unsupported("a field inside the parentheses of", field)
            return self.of_field(_unescaped(seen[:-1]))
        if kind == "open":
            found = self.in_parentheses(field)
            if self.next[0] in ("boost", "fuzzy"):
                raise self.unsupported("after parentheses,", self.next[1])
            return found
        if kind not in ("word", "quoted", "range"):
            raise self.unsupported("the sign", seen, "write a backslash before it, to search for it")
        if field:
            return self.condition(field, kind, seen)
        if kind == "range":
            raise self.unsupported("without a field, the range", seen)
        return self.on_text(kind, seen, ())

    def boost(self) -> float:
        """Return the boost after a word; other signs there are refused."""
        if self.next[0] == "fuzzy":
            raise self.unsupported("similar words and distances,", self.next[1])
        if self.next[0] != "boost":
            return 1.0
        try:
            return float(self.take()[1][1:])
        except ValueError:
            raise self.wrong("a boost is a number, as in tea^2") from None

    def on_text(self, kind: str, seen: str, names: Sequence[str]) -> _Term:
        """Return a word or a phrase on texts."""
        if kind == "quoted":
            return self.defaults.phrase(_unescaped(seen[1:-1]), boost=self.boost(), names=names)
        if seen == "*":
            return _Term({"match_all": {}})
        is_prefix = seen.endswith("*") and not seen.endswith("\\*")
        word = seen[:-1] if is_prefix else seen
        if re.search(r"(?<!\\)[*?]", word) or word.startswith("/"):
            raise self.unsupported("the pattern", seen, "a * is possible at the end of a word")
        return self.defaults.words(_unescaped(word), boost=self.boost(), is_prefix=is_prefix, names=names)

    def of_field(self, name: str) -> _Term:
        """Return what comes after the name of a field and a colon."""
        if self.next[0] == "open" and name != "*":
            self.place += 1
            return self.in_parentheses(name)
        kind, seen = self.take()
        if kind not in ("word", "quoted", "range", "sign"):
            raise self.wrong(f"a value is expected after {name}:")
        if kind == "sign":  # of a number
            following, rest = self.take()
            if following != "word" or seen == "!":
                raise self.wrong(f"a value is expected after {name}:")
            kind, seen = "word", seen + rest
        if name == "*":
            if seen != "*":
                raise self.unsupported("the field", "*")
            return _Term({"match_all": {}})
        if name == "_exists_":
            return _condition("exists", {"field": _unescaped(seen)})
        return self.condition(name, kind, seen)

    def condition(self, name: str, kind: str, seen: str) -> _Term:
        """Return the clause for the value of a field."""
        fields = self.defaults.fields
        if fields.is_text(name):
            if kind == "range":
                raise self.unsupported("for a text, the range", seen)
            return self.on_text(kind, seen, (name,))
        attribute = fields.attribute(name)
        if self.next[0] in ("boost", "fuzzy"):
            raise self.unsupported(f"for the attribute {name},", self.next[1])
        if kind == "quoted":
            return _condition("term", {attribute: _unescaped(seen[1:-1])})
        if kind == "range":
            low, to, high = seen[1:-1].strip().partition(" TO ")
            if not to:
                raise self.wrong("a range is written as [1 TO 5]")
            ends = {
                "gte" if seen[0] == "[" else "gt": low.strip(),
                "lte" if seen[-1] == "]" else "lt": high.strip(),
            }
            bounds = {key: _unescaped(end.strip('"')) for key, end in ends.items() if end != "*"}
            return (
                _condition("range", {attribute: bounds})
                if bounds
                else _condition("exists", {"field": attribute})
            )
        if compared := re.match("(>=|<=|>|<)(.+)", seen):
            key = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt"}[compared[1]]
            return _condition("range", {attribute: {key: _unescaped(compared[2])}})
        if re.search(r"(?<!\\)[*?]", seen):
            return _condition("wildcard", {attribute: {"value": seen}})
        return _condition("term", {attribute: _unescaped(seen)})


class _SimpleQueryString(_Parser):
    """Parser of ``simple_query_string``."""

    name = "simple_query_string"
    pattern = re.compile(
        r"""(?P<space>\s+) | (?P<sign>[+|]) | (?P<not>-+) | (?P<open>\() | (?P<close>\))
        | (?P<quoted>"(?:[^"\\]|\\.)*") (?P<distance>~[0-9]*)?
        | (?P<word>(?:\\.|[^\s"|+()\\])+)
        | (?P<other>.)""",
        re.VERBOSE | re.DOTALL,
    )

    def group(self, field: str = "") -> _Term:
        """Return the terms up to a closing parenthesis, or the end.

        Terms are combined from left to right by ``+`` and ``|``, and by the default operator without one. If that is
        `or`, phrases and words after ``-`` without an operator hold for all results.
        """
        default: Occur = "must" if self.defaults.every else "should"
        found: list[tuple[Occur, _Term]] = []
        outside: list[tuple[Occur, _Term]] = []
        before: Occur | None = None
        while self.next[0] not in ("close", "end"):
            operator: Occur | None = None
            is_negated = False
            while self.next[0] in ("sign", "not"):
                kind, seen = self.take()
                if kind == "not":
                    is_negated ^= len(seen) % 2 == 1
                elif found and operator is None:
                    operator = "must" if seen == "+" else "should"
            if self.next[0] in ("close", "end"):
                break
            term = self.term()
            is_stated = operator is not None or self.next[0] == "sign"
            if default == "should" and not is_stated and (is_negated or term.kind == "phrase"):
                outside.append(("must_not" if is_negated else "must", term))
                continue
            if is_negated:
                term = _Term({"bool": {"must_not": [term.clause]}})
            operator = operator or default
            if before not in (None, operator):
                found = [(operator, self.defaults.joined(found))]
            elif before is None and found:
                found = [(operator, found[0][1])]
            if found:
                before = operator
            found.append((operator, term))
            newest = found[-2:]  # of which the first was checked before, unless it is the first of all
            if operator == "should" and len(newest) > 1 and any("bool" in each.clause for _, each in newest):
                raise self.unsupported(
                    "among terms of which one suffices,",
                    "- or several required terms",
                    "set default_operator to and, or write + between the terms",
                )
        if not outside:
            return self.defaults.joined(found)
        inside: list[tuple[Occur, _Term]] = []
        if found:
            has_phrase = any(occur == "must" for occur, _ in outside)
            inside = [("should" if has_phrase else "must", self.defaults.joined(found))]
        if len(inside) + len(outside) > 1:
            self.note(
                "in simple_query_string, results contain phrases, and lack words after -, that have no operator; "
                "OpenSearch takes them as optional, unless default_operator is and"
            )
        return self.defaults.joined([*inside, *outside])

    def term(self) -> _Term:
        """Return a word, a phrase, or terms in parentheses."""
        kind, seen = self.take()
        if kind == "open":
            return self.in_parentheses()
        if kind == "distance":
            raise self.unsupported("a phrase with a distance,", seen)
        if kind == "quoted":
            return self.defaults.phrase(_unescaped(seen[1:-1]))
        if kind != "word":
            raise self.wrong("a quote is not closed" if seen == '"' else "a sign follows the last backslash")
        if fuzzy := re.search(r"(?<!\\)~[0-9]*$", seen):
            raise self.unsupported("a similar word,", fuzzy[0])
        is_prefix = seen.endswith("*") and not seen.endswith("\\*") and len(seen) > 1
        return self.defaults.words(_unescaped(seen[:-1] if is_prefix else seen), is_prefix=is_prefix)
