"""The query of a body, as a search of termwise.

A query of OpenSearch says for each clause whether results fulfil it, and what it adds to their scores. A search of
termwise has one query, which ranks the documents that share a term with it, and conditions that results fulfil. So
the words of all scoring clauses become one query, whose score is the sum of theirs, and the other clauses become
conditions. A combination whose results would be others is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from termwise.filters import Equals, Filter, Not, Or, filter_to_json
from termwise.search import Searcher
from termwise.search.by_example import AnySearcher
from termwise.serve.errors import ServiceError
from termwise.serve.index_facts import model_names
from termwise.serve.opensearch.conditions import CONDITIONS, condition, joined
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.parts import (
    known_keys,
    number,
    only_default,
    record,
    several,
    single,
    text,
    texts,
)
from termwise.serve.settings import ServiceSettings
from termwise.text import Analyzer

MOST_CLAUSES = 256
"""Clauses of a query."""

_MATCHES = ("match", "multi_match", "match_phrase", "match_bool_prefix")
CLAUSES = (*_MATCHES, "neural_sparse", "match_all", "bool", "constant_score", "ids", *CONDITIONS)
"""Supported clauses."""

_TYPES = ("best_fields", "most_fields", "cross_fields", "phrase", "bool_prefix")


@dataclass(frozen=True)
class TranslatedQuery:
    """A query as a search of termwise.

    Attributes
    ----------
    request : dict
        Fields of `SearchRequest`.
    factor, constant : float
        The score of a result is `factor` times that of the search, plus `constant`.
    """

    request: dict[str, Any]
    factor: float = 1.0
    constant: float = 0.0

    @property
    def ranks(self) -> bool:
        """Whether results are ranked by a text or by weights."""
        return "query" in self.request or "weights" in self.request

    def score(self, score: float) -> float:
        """Return the score of a result from that of the search."""
        return self.factor * score + self.constant


def translate(query: object, searcher: AnySearcher, settings: ServiceSettings) -> TranslatedQuery:
    """Translate the query of a body.

    Parameters
    ----------
    query : object
        JSON value.
    searcher : Searcher or MixtureSearcher
        Of the index.
    settings : ServiceSettings
        Limits.

    Raises
    ------
    UnsupportedError
        If a clause, a key of a clause, or the combination of the clauses is not supported.
    ServiceError
        If the query is not as expected.
    UnknownNameError
        If the index has no such field.
    """
    reading = _Reading(searcher, settings.max_query)
    reading.require(query, scores=True)
    return reading.finished()


@dataclass(frozen=True)
class _Words:
    """A clause that adds to scores: words, or weights of terms."""

    text: str = ""
    boost: float = 1.0
    every: bool = False
    phrase: bool = False
    fuzzy: bool = False
    prefix: bool = False
    weights: Mapping[str, float] | None = None


@dataclass
class _Reading:
    """What was read of a query.

    Attributes
    ----------
    loose : list of list of _Words
        Groups of clauses; results have a term of at least one clause of each group.
    strict : list of _Words
        Clauses whose words are among `must`.
    optional : list of _Words
        Clauses that only add to scores.
    without_words : bool
        Whether the analyzer leaves no word of a clause of `strict`, so that no result fulfils it.
    """

    searcher: AnySearcher
    most_text: int
    clauses: int = 0
    loose: list[list[_Words]] = field(default_factory=list)
    strict: list[_Words] = field(default_factory=list)
    optional: list[_Words] = field(default_factory=list)
    constant: float = 0.0
    filters: list[Filter] = field(default_factory=list)
    must: list[str] = field(default_factory=list)
    must_not: list[str] = field(default_factory=list)
    ids: list[str] | None = None
    exclude: list[str] = field(default_factory=list)
    without_words: bool = False

    def __post_init__(self) -> None:
        self.fields = Fields.of(self.searcher)

    @property
    def analyzer(self) -> Analyzer:
        return self.searcher.analyzer

    def clause(self, given: object) -> tuple[str, Any]:
        """Return kind and value of a clause."""
        self.clauses += 1
        if self.clauses > MOST_CLAUSES:
            raise ServiceError("the query has too many clauses", facts=[("most", MOST_CLAUSES)])
        kind, body = single(given, "a query")
        if kind not in CLAUSES:
            raise UnsupportedError.of("query", kind, CLAUSES)
        return kind, body

    def require(self, given: object, *, scores: bool) -> None:
        """Read a clause that all results fulfil."""
        kind, body = self.clause(given)
        if kind == "bool":
            self.combine(body, scores=scores)
        elif kind == "match_all":
            boost = number(known_keys(body, kind, ("boost",)).get("boost", 1), "boost")
            self.constant += boost if scores else 0.0
        elif kind == "constant_score":
            inside = known_keys(body, kind, ("filter", "boost"))
            self.require(inside.get("filter"), scores=False)
            self.constant += number(inside.get("boost", 1), "boost") if scores else 0.0
        elif kind == "ids":
            given_ids = self.identifiers(body)
            others = set(given_ids if self.ids is None else self.ids)
            self.ids = [each for each in given_ids if each in others]
        elif kind in CONDITIONS or self.on_attribute(kind, body):
            self.filters.append(self.filter(kind, body))
        else:
            self.require_words(kind, self.words(kind, body), scores=scores)

    def require_words(self, kind: str, words: _Words, *, scores: bool) -> None:
        """Read a clause on texts that all results fulfil."""
        if words.phrase or words.every:
            needed = self.needed(words)
            self.strict += [words] if scores else []
            self.must += needed
            self.without_words |= not needed
        elif scores:
            self.loose.append([words])
        else:
            needed = [] if words.weights is not None else self.needed(words)
            if len(needed) != 1 or words.fuzzy or words.prefix:
                raise UnsupportedError.of(
                    "as a filter, the clause",
                    kind,
                    ["match with one word", "match with operator and", "match_phrase"],
                )
            self.must += needed

    def exclude_clause(self, given: object) -> None:
        """Read a clause that no result fulfils."""
        kind, body = self.clause(given)
        if kind == "ids":
            self.exclude += self.identifiers(body)
            return
        if kind not in _MATCHES or self.on_attribute(kind, body):
            self.filters.append(Not(self.filter(kind, body)))
            return
        words = self.words(kind, body)
        needed = self.needed(words)
        if words.fuzzy or words.prefix or (words.every and len(needed) > 1):
            raise UnsupportedError.of(
                "in must_not, the clause", kind, ["match of which no word occurs", "match_phrase"]
            )
        self.must_not += needed

    def combine(self, body: object, *, scores: bool) -> None:
        """Read the clauses of a bool that all results fulfil."""
        given = known_keys(
            body, "bool", ("must", "should", "must_not", "filter", "minimum_should_match", "boost")
        )
        only_default(given, "bool", boost=1)
        if not given:
            self.constant += 1.0 if scores else 0.0
        for each in _clauses(given, "must"):
            self.require(each, scores=scores)
        for each in _clauses(given, "filter"):
            self.require(each, scores=False)
        for each in _clauses(given, "must_not"):
            self.exclude_clause(each)
        should = _clauses(given, "should")
        if not should:
            return
        alone = not _clauses(given, "must") and not _clauses(given, "filter")
        if str(given.get("minimum_should_match", int(alone))) not in ("0", "1"):
            raise UnsupportedError.of("minimum_should_match", given["minimum_should_match"], ["0", "1"])
        required = str(given.get("minimum_should_match", int(alone))) == "1"
        if required and len(should) == 1:
            self.require(should[0], scores=scores)
        elif required and all(self.is_condition(each) for each in should):
            self.filters.append(Or(*(self.filter(*self.clause(each)) for each in should)))
        elif scores:
            words = [self.plain_words(each) for each in should]
            if required:
                self.loose.append(words)
            else:
                self.optional += words
        else:
            raise UnsupportedError.of("in a filter, should with", "texts", ["conditions on attributes"])

    def plain_words(self, given: object) -> _Words:
        """Return a clause of should: words, of which one suffices."""
        kind, body = self.clause(given)
        if (kind in _MATCHES and not self.on_attribute(kind, body)) or kind == "neural_sparse":
            words = self.words(kind, body)
            if not words.phrase and not (words.every and len(self.needed(words)) > 1):
                return words
            kind = f"{kind} of several required words"
        raise UnsupportedError.of(
            "beside other clauses, in should the clause",
            kind,
            ["match", "multi_match", "neural_sparse"],
            "a condition limits results: use filter or must",
        )

    def is_condition(self, given: object) -> bool:
        """Whether a clause is a condition on attributes."""
        kind, body = single(given, "a query")
        if kind == "bool":
            return all(
                self.is_condition(each)
                for name in ("must", "should", "must_not", "filter")
                for each in _clauses(record(body, "bool"), name)
            )
        return kind in CONDITIONS or self.on_attribute(kind, body)

    def filter(self, kind: str, body: Any) -> Filter:
        """Return a clause on attributes as a filter."""
        if kind in CONDITIONS:
            return condition(kind, body, self.fields)
        if kind == "bool":
            return self.combined_filter(body)
        if kind == "match" and self.on_attribute(kind, body):
            name, value = single(body, kind)
            if isinstance(value, dict):
                value = known_keys(value, f"match on the attribute {name}", ("query",)).get("query")
            return Equals(self.fields.attribute(name), value)
        raise UnsupportedError.of(
            "among conditions on attributes, the clause", kind, ["bool", "match on an attribute", *CONDITIONS]
        )

    def combined_filter(self, body: object) -> Filter:
        """Return a bool of conditions on attributes as a filter."""
        given = known_keys(
            body, "bool", ("must", "should", "must_not", "filter", "minimum_should_match", "boost")
        )
        found = {
            name: [self.filter(*self.clause(each)) for each in _clauses(given, name)]
            for name in ("must", "filter", "must_not", "should")
        }
        parts = [*found["must"], *found["filter"], *map(Not, found["must_not"])]
        alone = not found["must"] and not found["filter"]
        if str(given.get("minimum_should_match", int(alone))) not in ("0", "1"):
            raise UnsupportedError.of("minimum_should_match", given["minimum_should_match"], ["0", "1"])
        if found["should"] and str(given.get("minimum_should_match", int(alone))) == "1":
            parts.append(Or(*found["should"]))
        if not parts:
            raise UnsupportedError.of("as a condition, a bool", "without clauses")
        return joined(parts)

    def on_attribute(self, kind: str, body: object) -> bool:
        """Whether a clause is a match on an attribute, which is a condition."""
        if kind != "match":
            return False
        name, _ = single(body, kind)
        return not self.fields.is_text(name)

    def identifiers(self, body: object) -> list[str]:
        return list(dict.fromkeys(texts(known_keys(body, "ids", ("values",)).get("values"), "values of ids")))

    def words(self, kind: str, body: object) -> _Words:
        """Return the words of a clause on texts."""
        read: Mapping[str, Callable[[Any], _Words]] = {
            "match": self.match,
            "multi_match": self.multi_match,
            "match_phrase": self.match_phrase,
            "match_bool_prefix": self.match_bool_prefix,
            "neural_sparse": self.neural_sparse,
        }
        if kind not in read:
            raise UnsupportedError.of("here, the clause", kind, read)
        words = read[kind](body)
        if len(words.text) > self.most_text:
            raise ServiceError(
                "a text of the query is longer than this service allows",
                facts=[("characters", len(words.text)), ("most", self.most_text)],
            )
        return words

    def text_field(self, body: object, kind: str) -> Any:
        """Return the value of a clause with the name of a text as key."""
        name, value = single(body, kind)
        if not self.fields.is_text(name):
            raise UnsupportedError.of(
                f"{kind} on the attribute", name, self.fields.texts, "use term or match"
            )
        return value

    def match(self, body: object) -> _Words:
        value = self.text_field(body, "match")
        if not isinstance(value, dict):
            return _Words(text(value, "match"))
        given = known_keys(value, "match", ("query", "boost", *_OPERATORS))
        return _Words(text(given.get("query"), "query of match"), _boost(given), **_operators(given, "match"))

    def match_phrase(self, body: object) -> _Words:
        value = self.text_field(body, "match_phrase")
        if not isinstance(value, dict):
            return _Words(text(value, "match_phrase"), phrase=True)
        given = known_keys(value, "match_phrase", ("query", "boost", "slop"))
        only_default(given, "match_phrase", slop=0)
        return _Words(text(given.get("query"), "query of match_phrase"), _boost(given), phrase=True)

    def match_bool_prefix(self, body: object) -> _Words:
        value = self.text_field(body, "match_bool_prefix")
        if not isinstance(value, dict):
            return _Words(text(value, "match_bool_prefix"), prefix=True)
        given = known_keys(value, "match_bool_prefix", ("query", "boost"))
        return _Words(text(given.get("query"), "query of match_bool_prefix"), _boost(given), prefix=True)

    def multi_match(self, body: object) -> _Words:
        given = known_keys(body, "multi_match", ("query", "fields", "type", "boost", *_OPERATORS))
        self.check_fields(several(given.get("fields", "*")))
        kind = given.get("type", "best_fields")
        if kind not in _TYPES:
            raise UnsupportedError.of("type of multi_match", kind, _TYPES)
        words = text(given.get("query"), "query of multi_match")
        if kind in ("phrase", "bool_prefix"):
            only_default(given, f"multi_match of the type {kind}", **_OPERATORS)
            return _Words(words, _boost(given), phrase=kind == "phrase", prefix=kind == "bool_prefix")
        return _Words(words, _boost(given), **_operators(given, "multi_match"))

    def check_fields(self, names: Any) -> None:
        """Check the fields of a multi_match, and that their boosts are the weights of the index."""
        boosts: dict[str, float] = {}
        for each in names:
            name, caret, boost = text(each, "a field of multi_match").partition("^")
            if name != "*" and not self.fields.is_text(name):
                raise UnsupportedError.of("multi_match on the attribute", name, self.fields.texts)
            try:
                boosts[name] = number(float(boost), "the boost of a field") if caret else 1.0
            except ValueError:
                raise ServiceError("the boost of a field is a number", facts=[("field", each)]) from None
        weights = {name: self.fields.weights.get(name, 1) for name in boosts}
        ratios = {boost / weights[name] for name, boost in boosts.items()}
        if any(boost != 1 for boost in boosts.values()) and len(ratios) > 1:
            shown = ", ".join(f"{name}^{weight}" for name, weight in weights.items())
            raise UnsupportedError.of(
                "for the fields of this index, the boosts",
                ", ".join(map(str, names)),
                [shown],
                "weights of fields are set when the index is built: termwise index --fields title^3,text",
            )

    def neural_sparse(self, body: object) -> _Words:
        value = self.text_field(body, "neural_sparse")
        given = known_keys(
            value, "neural_sparse", ("query_text", "query_tokens", "model_id", "analyzer", "boost")
        )
        if ("query_text" in given) == ("query_tokens" in given):
            raise ServiceError("neural_sparse needs one of query_text and query_tokens")
        if given.get("model_id") is not None and given["model_id"] not in model_names(self.searcher):
            raise UnsupportedError.of("model_id", given["model_id"], model_names(self.searcher))
        if given.get("analyzer") is not None and given["analyzer"] != self.analyzer.spec.name:
            raise UnsupportedError.of("analyzer", given["analyzer"], [self.analyzer.spec.name])
        if "query_text" in given:
            return _Words(text(given["query_text"], "query_text"), _boost(given))
        tokens = record(given["query_tokens"], "query_tokens")
        weights = {token: number(weight, "a weight of query_tokens") for token, weight in tokens.items()}
        return _Words(boost=_boost(given), weights=weights)

    def needed(self, words: _Words) -> list[str]:
        """Return the words or the phrase of a clause, as conditions on texts."""
        if words.phrase:
            return [words.text] if self.analyzer.tokens(words.text) else []
        if (
            self.analyzer.vocabulary is not None
        ):  # tokens are pieces, of which a text can have those of other words
            return [each for each in dict.fromkeys(words.text.split()) if self.analyzer.tokens(each)]
        analysis = self.analyzer.analyze(words.text)
        firsts = {token: spans[0] for token, spans in analysis.spans_by_token().items()}
        return [words.text[start:end] for start, end in sorted(firsts.values())]

    def finished(self) -> TranslatedQuery:
        """Return the query, or refuse a combination with other results."""
        if len(self.loose) + len(self.strict) + bool(self.optional) > 1:
            self.loose = [group for group in self.loose if not self.made_strict(group)]
        if len(self.loose) > 1 or (self.loose and (self.strict or self.optional)):
            raise UnsupportedError.of(
                "beside other scoring clauses, a match of which",
                "one of several words",
                ["operator and", "one word"],
                "put all words into one match, or set operator to and",
            )
        if self.optional and not self.strict:
            raise UnsupportedError.of(
                "should without",
                "a required text",
                ["minimum_should_match 1"],
                "results share a term with the query; set minimum_should_match to 1",
            )
        scored = [words for group in [*self.loose, self.strict, self.optional] for words in group]
        if self.without_words and len(scored) != 1:
            raise UnsupportedError.of("beside other clauses, a text of which the analyzer leaves", "no word")
        request = {
            "filter": filter_to_json(joined(self.filters)) if self.filters else None,
            "must": list(dict.fromkeys(self.must)),
            "must_not": list(dict.fromkeys(self.must_not)),
            "exclude": self.exclude,
        }
        request = {name: value for name, value in request.items() if value}
        if self.ids is not None:
            if scored:
                raise UnsupportedError.of("beside a text, the clause", "ids")
            known = self.searcher.index.find_many(self.ids) >= 0
            request["candidates"] = [name for name, is_known in zip(self.ids, known, strict=True) if is_known]
        return self.with_words(request, scored) if scored else TranslatedQuery(request, 1.0, self.constant)

    def made_strict(self, group: list[_Words]) -> bool:
        """Require the only word of a group; False if it has several."""
        if len(group) > 1 or group[0].weights is not None or group[0].fuzzy or group[0].prefix:
            return False
        needed = self.needed(group[0])
        if len(needed) != 1:
            return False
        self.must += needed
        self.strict.append(group[0])
        return True

    def with_words(self, request: dict[str, Any], scored: list[_Words]) -> TranslatedQuery:
        """Add the words of the scoring clauses, whose query weights are added up."""
        words = [each for each in scored if each.weights is None]
        if words:
            request["query"] = " ".join(each.text for each in words)
        if any(each.prefix for each in words):
            if len(scored) > 1:
                raise UnsupportedError.of("beside other scoring clauses, the clause", "match_bool_prefix")
            request["prefix"] = True
        if any(each.fuzzy for each in words):
            if not all(each.fuzzy and not each.every for each in words):
                raise UnsupportedError.of("fuzziness of", "some words, or with operator and")
            request["fuzzy"] = True
        boosts = {each.boost for each in scored}
        if len(words) == len(scored) and len(boosts) == 1:
            return TranslatedQuery(request, boosts.pop(), self.constant)
        if not isinstance(self.searcher, Searcher):
            raise UnsupportedError.of(
                "in a mixture of several models",
                "different boosts, or query_tokens",
                ["one boost for all clauses"],
            )
        total: dict[str, float] = {}
        for each in scored:
            weights = _weights(self.searcher, each.text) if each.weights is None else each.weights
            for term, weight in weights.items():
                total[term] = total.get(term, 0.0) + each.boost * weight
        request["weights"] = total
        return TranslatedQuery(request, 1.0, self.constant)


_OPERATORS: dict[str, Any] = {"operator": "or", "minimum_should_match": 1, "fuzziness": 0}
"""Keys of clauses with words, and their defaults."""


def _operators(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    operator = str(given.get("operator", "or")).lower()
    if operator not in ("or", "and"):
        raise UnsupportedError.of(f"operator of {where}", operator, ["or", "and"])
    least = str(given.get("minimum_should_match", "1"))
    if least not in ("1", "100%"):
        raise UnsupportedError.of(f"minimum_should_match of {where}", least, ["1", "100%"])
    fuzziness = str(given.get("fuzziness", "0")).upper()
    if fuzziness not in ("0", "AUTO"):
        raise UnsupportedError.of(f"fuzziness of {where}", fuzziness, ["0", "AUTO"])
    return {"every": operator == "and" or least == "100%", "fuzzy": fuzziness == "AUTO"}


def _boost(given: Mapping[str, Any]) -> float:
    return number(given.get("boost", 1), "boost")


def _clauses(given: Mapping[str, Any], name: str) -> list[Any]:
    return list(several(given.get(name, [])))


def _weights(searcher: Searcher, words: str) -> dict[str, float]:
    """Return the weights of the terms of a text in a query."""
    vocabulary = searcher.index.vocabulary
    terms, weights = searcher.encode(words).row(0)
    return {
        vocabulary.token(term): weight
        for term, weight in zip(terms.tolist(), weights.tolist(), strict=True)
        if term != vocabulary.background
    }
