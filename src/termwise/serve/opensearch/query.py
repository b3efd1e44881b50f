"""The query of a body, as a search of termwise.

A query of OpenSearch says for each clause whether results fulfil it, and what it adds to their scores. A search of
termwise has one query, which ranks the documents that share a term with it, and conditions that results fulfil. So
the words of all scoring clauses become one query, whose score is the sum of theirs, and the other clauses become
conditions. A combination whose results would be others is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import combinations, islice
from typing import Any

from pydantic import ValidationError

from termwise.attributes.field_types import TEXT_TYPES
from termwise.engine.boosts import LONGEST_WORDS, MOST_WORDS, TEXT, Boost, rounded_boost
from termwise.engine.word_matches import clauses_needed
from termwise.fast_dataclass import dataclass
from termwise.filters import Equals, Filter, Not, Or, as_filter, filter_to_json
from termwise.filters.evaluation import MOST_CONDITIONS, conditions_in
from termwise.search import Relevance, Search, Searcher
from termwise.serve.errors import ServiceError, invalid_request
from termwise.serve.indexes import OpenIndex
from termwise.serve.opensearch.conditions import CONDITIONS, condition, joined
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.functions import Functions, note_of, read_functions, shape_of
from termwise.serve.opensearch.json_checks import (
    identifier,
    known_keys,
    number,
    only_default,
    record,
    several,
    single,
    whole,
)
from termwise.serve.opensearch.query_text import TEXT_QUERIES, read_text_query
from termwise.serve.opensearch.words import (
    MATCHES,
    PATTERNS,
    WORD_CLAUSES,
    Words,
    is_for_all,
    least_of,
    read_words,
)
from termwise.serve.requests import SearchRequest
from termwise.serve.settings import ServiceSettings
from termwise.text.analyzer_by_attribute import language_of_token
from termwise.validation import is_finite_number

MOST_CLAUSES = 256
"""Clauses of a query."""

MOST_COMBINATIONS = 100
"""Combinations of conditions of which a number suffices."""

WITH_IDF = (*TEXT_TYPES, "boolean")
"""Types of attributes whose rare values have larger scores in OpenSearch."""

DECIDED: dict[str, Any] = {"match": "any", "fuzzy": False, "prefix": False}
"""Options that a query has if it does not state them, unless it is a single `match` or `multi_match`."""

CLAUSES = tuple(
    dict.fromkeys(
        (
            *WORD_CLAUSES,
            *TEXT_QUERIES,
            "dis_max",
            "match_all",
            "bool",
            "boosting",
            "constant_score",
            "function_score",
            "ids",
            *CONDITIONS,
        )
    )
)
"""Supported clauses."""


@dataclass(frozen=True)
class TranslatedQuery:
    """A query as a search of termwise.

    Attributes
    ----------
    request : dict
        Fields of `SearchRequest`.
    factor, constant : float
        The score of a result is `factor` times that of the search, plus `constant`.
    relevance : Relevance or None
        That of the index, with the boosts of the query.
    notes : tuple of str
        What the query asks for and the search does not do, in sentences.
    """

    request: dict[str, Any]
    factor: float = 1.0
    constant: float = 0.0
    relevance: Relevance | None = None
    notes: tuple[str, ...] = ()

    def search_request(self, **fields: Any) -> SearchRequest:
        """Return the request, with further `fields`; it is for an index with `relevance`."""
        try:
            return SearchRequest(**self.request, **fields)
        except ValidationError as error:
            raise invalid_request(error) from None

    @property
    def ranks(self) -> bool:
        """Whether results are ranked by a text or by weights."""
        return "query" in self.request or "weights" in self.request

    def score(self, score: float) -> float:
        """Return the score of a result from that of the search."""
        return self.factor * score + self.constant

    def own_score(self, score: Any) -> Any:
        """Return the score of the search from that of a result, exactly; inverse of `score`."""
        if (self.factor, self.constant) == (1, 0) or not is_finite_number(score):
            return score
        boosts = () if self.relevance is None else self.relevance.boosts
        is_exact = self.factor == 1 and rounded_boost(self.constant) == self.constant
        if self.ranks or (boosts and not is_exact):
            raise UnsupportedError.of("for a query with a boost or a constant, search_after by", "_score")
        return score - self.constant


def translate(
    query: object,
    opened: OpenIndex,
    settings: ServiceSettings,
    *,
    also: object = None,
    rescore: object = None,
) -> TranslatedQuery:
    """Translate the query of a body, for an index with its relevance.

    Results fulfil the condition `also`, and `rescore` is a clause that adds to their scores.

    Raises
    ------
    UnsupportedError
        If a clause, a key of a clause, or the combination of the clauses is not supported.
    ServiceError
        If the query is not as expected.
    UnknownNameError
        If the index has no such field.
    """
    reading = _Reading(opened.searcher, opened.relevance, settings.max_query)
    query, boost = _outer_boost(query)
    reading.require(query, scores=True)
    if also is not None:
        reading.require(also, scores=False)
    if rescore is not None:
        boost *= reading.rescore(rescore)
    found = reading.finished()
    return replace(found, factor=boost * found.factor, constant=boost * found.constant)


def condition_on_attributes(query: object, opened: OpenIndex, settings: ServiceSettings) -> Filter:
    """Return a condition on attributes as a filter; other clauses are refused."""
    return _Reading(opened.searcher, opened.relevance, settings.max_query).condition(query)


@dataclass
class _Reading:
    """What was read of a query.

    Attributes
    ----------
    loose : list of (list of Words, str)
        Groups of clauses, and how many of the words of each group results contain, see `Search.match`.
    strict : list of Words
        Clauses all of whose words results contain.
    optional : list of Words
        Clauses that only add to scores.
    others : list of Filter
        For each should of which one clause suffices, the conditions whose documents are results too.
    without_words : bool
        Whether the analyzer removes every word of a required clause, so that no result fulfils it.
    """

    searcher: Searcher
    relevance: Relevance | None
    most_text: int
    clauses: int = 0
    loose: list[tuple[list[Words], str]] = field(default_factory=list)
    strict: list[Words] = field(default_factory=list)
    optional: list[Words] = field(default_factory=list)
    others: list[Filter] = field(default_factory=list)
    constant: float = 0.0
    functions: list[Functions] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    must: list[str] = field(default_factory=list)
    must_not: list[str] = field(default_factory=list)
    ids: list[str] | None = None
    exclude: list[str] = field(default_factory=list)
    without_words: bool = False
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fields = Fields.of(self.searcher)

    def clause(self, given: object, *, exact: bool = False) -> tuple[str, Any]:
        """Return kind and value of a clause; with `exact`, a text that becomes fewer results is refused."""
        self.clauses += 1
        if self.clauses > MOST_CLAUSES:
            raise ServiceError("the query has too many clauses", facts=[("most", MOST_CLAUSES)])
        kind, body = single(given, "a query")
        if kind not in CLAUSES:
            raise UnsupportedError.of("query", kind, CLAUSES)
        if kind in TEXT_QUERIES:
            found, notes = read_text_query(kind, body, self.fields, self.most_text)
            if exact and notes:
                fix = "set default_operator to and, or write an operator before each term"
                raise UnsupportedError.of("in must_not, optional conditions and phrases of", kind, fix=fix)
            self.notes += notes
            return self.clause(found)
        if kind == "dis_max":
            found, notes = _largest(body)
            self.notes += notes
            return self.clause(found, exact=exact)
        if kind == "bool" and (only := _only_clause(body)) is not None:
            return self.clause(only, exact=exact)
        is_text = kind in MATCHES and not self.on_attribute(kind, body)
        if is_text and is_for_all(kind, body, self.searcher.analyzer):
            return "match_all", {"boost": self.words(kind, body).boost}
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
        elif kind == "function_score":
            functions = read_functions(body, self.searcher, self.condition)
            self.require(functions.query, scores=scores)
            if scores:
                self.constant += functions.constant
                self.functions.append(functions)
        elif kind == "boosting":
            functions = self.demotion(body)
            self.require(functions.query, scores=scores)
            if scores:
                self.functions.append(functions)
        elif kind == "ids":
            given_ids = self.identifiers(body)
            others = set(given_ids if self.ids is None else self.ids)
            self.ids = [each for each in given_ids if each in others]
        elif self.on_attribute(kind, body):
            self.filters.append(self.filter(kind, body))
        else:
            self.require_words(kind, self.words(kind, body), scores=scores)

    def demotion(self, body: object) -> Functions:
        """Return a query whose results with a condition lose a part of the best score of the query."""
        given = known_keys(body, "boosting", ("positive", "negative", "negative_boost", "boost"))
        only_default(given, "boosting", boost=1)
        left = number(given.get("negative_boost"), "negative_boost of boosting")
        if left > 1:
            raise UnsupportedError.of("negative_boost of boosting", left, ["a number up to 1"])
        if not self.is_condition(given.get("negative")):
            kind, _ = single(given["negative"], "negative of boosting")
            fix = "to leave results with words out, use must_not"
            raise UnsupportedError.of(
                "negative of boosting, the clause", kind, ["conditions on attributes"], fix
            )
        shape = shape_of(self.condition(given["negative"]), self.searcher.schema)
        boosts = [] if left == 1 else [{**shape, "weight": left - 1}]
        return Functions(given.get("positive"), boosts, 0.0, True, [], "boosting")

    def rescore(self, body: object) -> float:
        """Read the clause that adds to scores of a rescore, and return the weight of the query."""
        fix = "send one with a match_phrase, match or multi_match; other functions: function_score"
        if isinstance(body, list):
            if len(body) != 1:
                raise UnsupportedError.of("several", "rescore", ["one"], fix)
            (body,) = body
        given = known_keys(body, "rescore", ("window_size", "query"))
        whole(given.get("window_size", 10), "window_size of rescore", 1)
        keys = ("rescore_query", "query_weight", "rescore_query_weight", "score_mode")
        asked = known_keys(given.get("query"), "query of rescore", keys)
        only_default(asked, "query of rescore", score_mode="total")
        own, added = (number(asked.get(name, 1), name) for name in keys[1:3])
        kind, inside = single(asked.get("rescore_query"), "rescore_query")
        if kind not in ("match_phrase", "match", "multi_match"):
            raise UnsupportedError.of(
                "rescore by the clause", kind, ["match_phrase", "match", "multi_match"], fix
            )
        if not own:
            raise UnsupportedError.of("query_weight of rescore", 0, ["a number above 0"])
        if kind == "multi_match":
            clause: dict[str, Any] = record(inside, kind)
        else:
            name, value = single(inside, kind)
            if kind == "match" and self.on_attribute(kind, inside):
                raise UnsupportedError.of("rescore by a match on the attribute", name, fix=fix)
            clause = dict(value) if isinstance(value, dict) else {"query": value}
        weight = number(clause.get("boost", 1), "boost") * added / own
        clause = {**clause, "boost": number(weight, "the product of the weights of rescore")}
        self.prefer([{kind: clause if kind == "multi_match" else {name: clause}}])
        self.notes.append("rescore adds to the scores of all results, not only of the first window_size")
        return own

    def require_words(self, kind: str, words: Words, *, scores: bool) -> None:
        """Read a clause on texts that all results fulfil."""
        if not scores:
            self.check_condition(kind, words)
        if words.phrase and words.prefix and scores:
            self.contain_beginning(words)
        elif scores and (words.phrase or words.every):
            self.strict.append(words)
        elif (words.phrase or words.every) and not words.prefix:
            self.contain(words)
        elif scores:
            self.loose.append(([words], words.least))
        else:
            needed = [] if words.weights is not None else self.needed(words)
            if len(needed) != 1 or words.fuzzy or words.prefix:
                raise UnsupportedError.of(
                    "as a filter, the clause",
                    kind,
                    ["match with one word", "match with operator and", "match_phrase"],
                )
            self.must += needed

    def contain_beginning(self, words: Words) -> None:
        """Read a phrase whose last word is the beginning of a word: required are a phrase, and such a word."""
        needed = self.needed(words.before_last)
        if needed:
            self.must += needed
            self.notes.append(
                f"results contain the phrase [{words.before_last.text}], and a word that begins with the last one "
                "anywhere"
            )
        self.loose.append(([replace(words, phrase=False)], "100%"))

    def contain(self, words: Words) -> None:
        """Require all words of a clause."""
        needed = self.needed(words)
        self.must += needed
        self.without_words |= not needed

    def exclude_clause(self, given: object) -> None:
        """Read a clause that no result fulfils."""
        kind, body = self.clause(given, exact=True)
        if kind == "ids":
            self.exclude += self.identifiers(body)
            return
        if kind not in MATCHES or self.on_attribute(kind, body):
            self.filters.append(Not(self.filter(kind, body)))
            return
        words = self.words(kind, body)
        self.check_condition(kind, words)
        needed = self.needed(words)
        if words.fuzzy or words.prefix or (len(needed) > 1 and not words.one_suffices):
            raise UnsupportedError.of(
                "in must_not, the clause", kind, ["match of which no word occurs", "match_phrase"]
            )
        self.must_not += needed

    def combine(self, body: Any, *, scores: bool) -> None:
        """Read the clauses of a bool that all results fulfil."""
        given, least = _bool(body)
        only_default(body, "bool", boost=1)
        if not body:
            self.constant += 1.0 if scores else 0.0
        for each in given["must"]:
            self.require(each, scores=scores)
        for each in given["filter"]:
            self.require(each, scores=False)
        for each in given["must_not"]:
            self.exclude_clause(each)
        should = given["should"]
        if not should:
            return
        if least == len(should):
            for each in should:
                self.require(each, scores=scores)
        elif least and all(self.is_condition(each) for each in should):
            self.filters.append(_some([self.filter(*self.clause(each)) for each in should], least))
        elif scores and least:
            self.require_some(should, least)
        elif scores:
            self.prefer(should)
        elif least:
            raise UnsupportedError.of("in a filter, should with", "texts", ["conditions on attributes"])

    def require_some(self, should: Sequence[object], least: int) -> None:
        """Read scoring clauses of which results fulfil some."""
        read = [self.clause(each) for each in should]
        if least == 1:
            self.require_one(read)
            return
        clauses = [self.plain_words(kind, body, least) for kind, body in read]
        self.loose.append((clauses, str(least)))
        each_is_a_word = all(len(self.needed(words)) == 1 and words.weights is None for words in clauses)
        together = Words(" ".join(words.text for words in clauses))
        if not each_is_a_word or len(self.needed(together)) != len(clauses):
            raise UnsupportedError.of(
                f"minimum_should_match {least}, beside clauses of",
                "several words, or of the same word",
                ["one word each"],
                "put all words into one match, and minimum_should_match there",
            )

    def require_one(self, clauses: Sequence[tuple[str, Any]]) -> None:
        """Read scoring clauses of which one suffices: words, and conditions whose documents are results too.

        A phrase, or a clause that requires all of its words, only adds to scores if the words of another clause find
        its documents too.
        """
        others: list[Filter] = []
        texts: list[tuple[str, Any]] = []
        for kind, body in clauses:
            found = self.preference(kind, body)
            if found is None:
                texts.append((kind, body))
                continue
            shape, condition = found
            self.add_boost(kind, shape)
            others.append(condition)
        if not others and not any(self.is_whole(kind, body) for kind, body in texts):
            self.loose.append(([self.plain_words(kind, body) for kind, body in texts], "1"))
            return
        read = [(kind, self.words_in_should(kind, body)) for kind, body in texts]
        plain = [words for kind, words in read if self.is_plain(words)]
        whole = [(kind, words) for kind, words in read if not self.is_plain(words)]
        if not plain and len(whole) == 1 and not whole[0][1].phrase:
            ((_, words),) = whole
            self.loose.append(([replace(words, every=False)], "100%" if words.every else words.least))
        else:
            tokens = {token for words in plain for token in self.searcher.analyzer.tokens(words.text)}
            for kind, words in whole:
                if not tokens.issuperset(self.searcher.analyzer.tokens(words.text)):
                    raise UnsupportedError.of(
                        "in should, without a match of one of the same words, the clause",
                        f"{kind} of several required words",
                        ["a match of the same words beside it", "must"],
                    )
                self.add_words(words)
            self.loose.append((plain, "1"))
        if others:
            self.others.append(others[0] if len(others) == 1 else Or(*others))

    def is_whole(self, kind: str, body: Any) -> bool:
        """Whether a clause with words needs several of them, or a phrase."""
        is_words = kind in WORD_CLAUSES and kind != "neural_sparse"
        return is_words and not self.is_plain(self.words(kind, body))

    def is_plain(self, words: Words) -> bool:
        """Whether one of the words of a clause is enough."""
        return not words.phrase and (words.one_suffices or len(self.needed(words)) < 2)

    def words_in_should(self, kind: str, body: Any) -> Words:
        """Return a clause of should with words, which may be a phrase or require all of them."""
        if kind not in WORD_CLAUSES:
            return self.plain_words(kind, body)
        return self.words(kind, body)

    def prefer(self, clauses: Sequence[object]) -> None:
        """Read clauses that only add to scores: words, phrases, and conditions, whose boosts are added."""
        for each in clauses:
            kind, body = self.clause(each)
            found = self.preference(kind, body)
            if found is not None:
                self.add_boost(kind, found[0])
            elif self.is_whole(kind, body):
                self.add_words(self.words(kind, body))
            else:
                self.optional.append(self.plain_words(kind, body))

    def add_boost(self, kind: str, boost: dict[str, Any]) -> None:
        """Add the boost of a condition to scores."""
        notes = []
        if kind in ("term", "match") and self.searcher.schema[boost["attribute"]] in WITH_IDF:
            notes.append(
                f"{kind} adds its boost; OpenSearch multiplies it by a weight that is larger for rare values"
            )
        self.add(boost, notes)

    def add(self, boost: dict[str, Any], notes: list[str]) -> None:
        """Add a boost to scores, with those of the clauses of should before it."""
        if not self.functions or self.functions[-1].name != "should":
            self.functions.append(Functions(None, [], 0.0, False, [], "should"))
        self.functions[-1].boosts.append(boost)
        self.functions[-1].notes.extend(notes)

    def add_words(self, words: Words) -> None:
        """Add a boost to the scores of the documents that contain a phrase, or all words of a clause."""
        if words.prefix or words.fuzzy or not (words.phrase or words.every):
            raise UnsupportedError.of(
                "in should beside a text, a clause that requires several words, and has",
                "the beginning of a word, fuzziness or minimum_should_match",
                ["match_phrase", "match with operator and"],
            )
        needed = self.needed(words)
        if len(needed) > MOST_WORDS or any(len(each) > LONGEST_WORDS for each in needed):
            raise ServiceError(
                "a clause in should has too many words, or a phrase that is too long",
                facts=[("most words", MOST_WORDS), ("most characters", LONGEST_WORDS)],
            )
        if not needed or not words.boost:
            return
        best = self.searcher.search(Search(words.text, k=1, match="any")).ranking.scores
        weight = words.boost * max(float(best[0]) if len(best) else 0.0, 0.0)
        what = "a word or phrase" if words.phrase else "a text with all words of a clause"
        if weight:
            boost = {"attribute": TEXT, "contains": needed, "weight": weight}
            self.add(boost, [f"{what} adds the best score of these words, times the boost, to each document"])

    def add_each_word(self) -> None:
        """Turn the words that only add to scores into boosts, beside a match of one of other words."""
        each_word = [
            replace(words, text=word, phrase=True) for words in self.optional for word in self.needed(words)
        ]
        if len(each_word) > MOST_WORDS:
            raise ServiceError(
                "the clauses in should have too many words",
                facts=[("given", len(each_word)), ("most", MOST_WORDS)],
            )
        self.optional = []
        for words in each_word:
            self.add_words(words)

    def preference(self, kind: str, body: Any) -> tuple[dict[str, Any], Filter] | None:
        """Return parameters of the boost of a condition, and the condition; None for other clauses."""
        if kind == "constant_score":
            given = known_keys(body, kind, ("filter", "boost"))
            condition, boost = given.get("filter"), given.get("boost", 1)
        elif kind in CONDITIONS or kind == "match":
            condition, boost = _without_boost(kind, body)
        else:
            return None
        if not self.is_condition(condition):
            return None
        filter = self.condition(condition)
        return {**shape_of(filter, self.searcher.schema), "weight": number(boost, "boost")}, filter

    def plain_words(self, kind: str, body: Any, least: int = 0) -> Words:
        """Return a clause of should: words, of which one suffices."""
        if (kind in MATCHES and not self.on_attribute(kind, body)) or kind == "neural_sparse":
            words = self.words(kind, body)
            if not words.phrase and (words.one_suffices or len(self.needed(words)) < 2):
                return words
            kind = f"{kind} of several required words"
        raise UnsupportedError.of(
            "beside other clauses, in should the clause",
            kind,
            [
                *("match", "multi_match", "neural_sparse"),
                *([] if least else ["match_phrase", *CONDITIONS, "constant_score of conditions"]),
            ],
            "a condition limits results: use filter or must",
        )

    def is_condition(self, given: object) -> bool:
        """Whether a clause is a condition on attributes."""
        kind, body = single(given, "a query")
        if kind in TEXT_QUERIES:
            return self.is_condition(read_text_query(kind, body, self.fields, self.most_text)[0])
        if kind == "bool":
            clauses, _ = _bool(body)
            return all(self.is_condition(each) for of_kind in clauses.values() for each in of_kind)
        return self.on_attribute(kind, body)

    def condition(self, given: object) -> Filter:
        """Return a clause on attributes as a checked filter."""
        return as_filter(self.filter(*self.clause(given)), self.searcher.schema)

    def filter(self, kind: str, body: Any) -> Filter:
        """Return a clause on attributes as a filter."""
        if self.on_attribute(kind, body):
            checked, boost = _without_boost(kind, body)
            ((kind, body),) = checked.items()
            if number(boost, f"boost of {kind}") != 1:
                self.notes.append(f"boost of {kind} changes nothing: a condition adds nothing to scores here")
        if kind in CONDITIONS and self.on_attribute(kind, body):
            return condition(kind, body, self.fields)
        if kind == "bool":
            return self.combined_filter(body)
        if kind == "match" and self.on_attribute(kind, body):
            name, value = single(body, kind)
            if isinstance(value, dict):
                value = known_keys(value, f"match on the attribute {name}", ("query", "boost")).get("query")
            attribute = self.fields.attribute(name)
            return Equals(attribute, self.fields.typed(attribute, value))
        raise UnsupportedError.of(
            "among conditions on attributes, the clause", kind, ["bool", "match on an attribute", *CONDITIONS]
        )

    def combined_filter(self, body: object) -> Filter:
        """Return a bool of conditions on attributes as a filter."""
        given, least = _bool(body)
        found = {
            name: [self.filter(*self.clause(each)) for each in clauses] for name, clauses in given.items()
        }
        parts = [*found["must"], *found["filter"], *map(Not, found["must_not"])]
        if found["should"] and least:
            parts.append(_some(found["should"], least))
        if not parts:
            raise UnsupportedError.of("as a condition, a bool", "without clauses")
        return joined(parts)

    def on_attribute(self, kind: str, body: object) -> bool:
        """Whether a clause is a condition on an attribute."""
        if kind not in ("match", *PATTERNS):
            return kind in CONDITIONS
        name, _ = single(body, kind)
        return not self.fields.is_text(name) or (kind in PATTERNS and name in self.fields.schema)

    def identifiers(self, body: object) -> list[str]:
        given = several(known_keys(body, "ids", ("values",)).get("values"))
        return list(dict.fromkeys(identifier(each, "a value of ids") for each in given))

    def words(self, kind: str, body: object) -> Words:
        """Parse a clause that matches words, such as ``match`` or ``multi_match``."""
        words = read_words(kind, body, self.searcher, self.fields, self.most_text)
        self.notes += words.notes
        return words

    def check_condition(self, kind: str, words: Words) -> None:
        """Check that a condition is on all texts of a document; on some, it would let excluded results through."""
        if words.part or words.subfields:
            raise self.fields.refused_part(f"in filter and must_not, {kind}", words.part or words.subfields)

    def needed(self, words: Words) -> list[str]:
        """Return the words or the phrase of a clause, as conditions on texts."""
        return words.needed(self.searcher.analyzer)

    def finished(self) -> TranslatedQuery:
        """Return the query, or refuse a combination with other results."""
        first = self.loose[0] if self.loose else ([], "")
        if all(
            len(group) == 1 and least == first[1] and _is_same(group[0], *first[0])
            for group, least in self.loose
        ):
            boost = sum(group[0].boost for group, _ in self.loose)
            self.loose = [([replace(words, boost=boost)], first[1]) for words in first[0]]
        if len(self.loose) + len(self.strict) + bool(self.optional) > 1:
            self.loose = [group for group in self.loose if not self.made_strict(group[0])]
        simple = all(words.weights is None and not (words.fuzzy or words.prefix) for words in self.optional)
        if len(self.loose) == 1 and simple and not self.strict:
            self.add_each_word()
        if len(self.loose) > 1 or (self.loose and (self.strict or self.optional)):
            raise UnsupportedError.of(
                "beside other scoring clauses, a match of which",
                "one of several words",
                ["operator and", "one word"],
                "put all words into one match, or set operator to and",
            )
        self.check_others()
        if self.optional and not self.strict:
            raise UnsupportedError.of(
                "should without",
                "a required text",
                ["minimum_should_match 1"],
                "results share a term with the query; set minimum_should_match to 1",
            )
        defaults = {} if self.relevance is None else self.relevance.search
        if len(self.strict) == 1 and not self.optional:
            (words,) = self.strict
            if words.every and any(defaults.get(name) for name in {"fuzzy", "prefix"} - words.stated):
                self.loose, self.strict = [([replace(words, every=False)], "100%")], []
        for words in self.strict:
            self.contain(words)
        groups = [*(group for group, _ in self.loose), self.strict, self.optional]
        scored = [words for group in groups for words in group]
        if self.without_words and len(scored) != 1:
            raise UnsupportedError(
                "the analyzer removes every word of a clause, so no result can fulfil it beside other clauses",
                fixes=["omit the clause, or write other words"],
            )
        request: dict[str, Any] = {
            "filter": filter_to_json(joined(self.filters)) if self.filters else None,
            "must": list(dict.fromkeys(self.must)),
            "must_not": list(dict.fromkeys(self.must_not)),
            "exclude": self.exclude,
        }
        languages = {words.language for words in scored if words.language is not None}
        if len(languages) > 1:
            raise UnsupportedError.of("analyzers of several languages", ", ".join(sorted(languages)), ["one"])
        request["lang"] = next(iter(languages), None)
        request = {name: value for name, value in request.items() if value}
        if self.ids is not None:
            if scored:
                raise UnsupportedError.of("beside a text, the clause", "ids")
            known = self.searcher.index.find_many(self.ids) >= 0
            request["candidates"] = [name for name, is_known in zip(self.ids, known, strict=True) if is_known]
        if self.loose and self.loose[0][1] != "1":
            request |= {"match": self.loose[0][1], "only_words": True}
        if self.others:
            request["or_filter"] = filter_to_json(self.others[0])
        found = TranslatedQuery(request, 1.0, self.constant)
        if scored:
            decided = self.loose[0][0][0].stated if self.loose and len(scored) == 1 else DECIDED
            request |= {name: DECIDED[name] for name in decided if name in defaults and name not in request}
            found = self.with_words(request, scored)
        found = replace(found, relevance=self.relevance)
        for functions in self.functions:
            found = self.with_functions(found, functions)
        return replace(found, notes=tuple(dict.fromkeys(self.notes)))

    def check_others(self) -> None:
        """Refuse conditions whose documents are results too beside other clauses that all results fulfil."""
        if self.others and (len(self.others) > 1 or self.strict or self.optional or self.ids is not None):
            raise UnsupportedError.of(
                "beside other scoring clauses, a should of",
                "words and conditions, of which one suffices",
                ["one such should"],
                "put the other words into the match beside the conditions",
            )

    def with_functions(self, found: TranslatedQuery, functions: Functions) -> TranslatedQuery:
        """Return a query with the boosts of functions, beside those of the index, and note what they approximate."""
        if functions.boosts and not found.factor:
            raise UnsupportedError.of(f"beside {functions.name}, a text with the boost", 0)
        unit = self.best_score(found) if functions.multiplies else 1.0
        weights = [each["weight"] * unit / found.factor for each in functions.boosts]
        boosts = [
            {**each, "weight": weight}
            for each, weight in zip(functions.boosts, weights, strict=True)
            if weight
        ]
        self.notes += [note for note in [note_of(functions, boosts)] if note]
        if not boosts:
            return found
        made = [Boost(**each) for each in boosts]
        for each in made:
            each.check_schema(self.searcher.schema)
        return replace(found, relevance=(found.relevance or Relevance()).with_boosts(made))

    def best_score(self, found: TranslatedQuery) -> float:
        """Return the best score of a query before functions multiply it, apart from pins; 0 without results."""
        if not found.ranks:
            return found.constant
        relevance = None if found.relevance is None else replace(found.relevance, rules=())
        scores = self.searcher.search(found.search_request(k=1).search(relevance)).ranking.scores
        return max(found.score(float(scores[0])), 0.0) if len(scores) else 0.0

    def made_strict(self, group: list[Words]) -> bool:
        """Require the only word of a group; False if it has several."""
        if len(group) > 1 or group[0].weights is not None or group[0].fuzzy or group[0].prefix:
            return False
        if len(self.needed(group[0])) != 1:
            return False
        self.strict.append(group[0])
        return True

    def with_words(self, request: dict[str, Any], scored: list[Words]) -> TranslatedQuery:
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
        if self.searcher.backend.scores_are_relative:
            raise UnsupportedError.of(
                "in a mixture of several models",
                "different boosts, or query_tokens",
                ["one boost for all clauses"],
            )
        total: dict[str, float] = {}
        for each in scored:
            weights = _weights(self.searcher, each) if each.weights is None else each.weights
            for term, weight in weights.items():
                total[term] = total.get(term, 0.0) + each.boost * weight
        request["weights"] = total
        return TranslatedQuery(request, 1.0, self.constant)


def _without_boost(kind: str, body: object) -> tuple[dict[str, Any], Any]:
    """Return a condition without its boost, which is beside the field or beside its value, and the boost."""
    if kind in ("terms", "exists"):
        given = dict(record(body, kind))
        boost = given.pop("boost", 1)
        return {kind: given}, boost
    name, value = single(body, kind)
    given = dict(value) if isinstance(value, dict) else {}
    boost = given.pop("boost", 1)
    return {kind: {name: given or value}}, boost


def _outer_boost(query: object) -> tuple[object, float]:
    """Return the clause of a whole query without a boost that multiplies its score, and this boost."""
    kind, body = single(query, "a query")
    if kind not in ("bool", "boosting", "function_score", "dis_max", *TEXT_QUERIES) or not isinstance(
        body, dict
    ):
        return query, 1.0
    inside = {name: value for name, value in body.items() if name != "boost"}
    return {kind: inside}, number(body.get("boost", 1), f"boost of {kind}")


def _some(filters: list[Filter], least: int) -> Filter:
    """Return the filter that a number of filters, or more of them, give."""
    chosen = [*islice(combinations(filters, least), MOST_COMBINATIONS + 1)]
    sizes = {id(each): conditions_in(each) for each in filters}
    conditions = sum(sizes[id(each)] for combination in chosen for each in combination)
    for what, count, most in (
        ("combinations of clauses", len(chosen), MOST_COMBINATIONS),
        ("conditions in its combinations of clauses", conditions, MOST_CONDITIONS),
    ):
        if count > most:
            fix = "lower the number of clauses"
            raise UnsupportedError.of(f"minimum_should_match with more {what} than", most, fix=fix)
    found = [joined(list(each)) for each in chosen]
    return found[0] if len(found) == 1 else Or(*found)


def _is_same(words: Words, *others: Words) -> bool:
    """Whether clauses have the same words and options, except for their boosts and fields."""
    plain: dict[str, Any] = {"boost": 1.0, "part": "", "subfields": "", "own_boosts": "", "others": ()}
    return all(replace(words, **plain) == replace(other, **plain) for other in others)


def _only_clause(body: object) -> object:
    """Return the clause that a bool consists of; None if it has several, or other keys."""
    if not isinstance(body, dict) or len(body) != 1 or body.keys() - {"must", "should"}:
        return None
    ((_, clauses),) = body.items()
    only = several(clauses)
    return only[0] if len(only) == 1 else None


def _largest(body: object) -> tuple[dict[str, Any], list[str]]:
    """Translate a dis_max: matches of the same text become a multi_match, other clauses a bool, with warnings.

    The best score of a match on several texts is that of all texts.
    """
    given = known_keys(body, "dis_max", ("queries", "tie_breaker", "boost"))
    only_default(given, "dis_max", boost=1)
    number(given.get("tie_breaker", 0), "tie_breaker of dis_max")
    queries = several(given.get("queries", []))
    if not queries:
        raise UnsupportedError.of("dis_max of", "no queries", ["one query or more"])
    if all(each == queries[0] for each in queries):
        return record(queries[0], "a query"), []
    fields: list[str] = []
    matches: list[dict[str, Any]] = []
    for each in queries:
        kind, match = single(each, "a query")
        if kind != "match":
            break
        name, value = single(match, kind)
        value = dict(value) if isinstance(value, dict) else {"query": value}
        fields.append(f"{name}^{value.pop('boost', 1)}")
        matches.append(value)
    if len(matches) == len(queries) and all(each == matches[0] for each in matches):
        return {"multi_match": {**matches[0], "fields": fields}}, []
    note = "dis_max adds up the scores of its queries; OpenSearch takes the largest one"
    return {"bool": {"should": queries, "minimum_should_match": 1}}, [note]


def _bool(body: object) -> tuple[dict[str, Sequence[Any]], int]:
    """Return the clauses of a bool by kind, and how many of `should` results fulfil."""
    kinds = ("must", "filter", "must_not", "should")
    given = known_keys(body, "bool", (*kinds, "minimum_should_match", "boost"))
    clauses = {name: several(given.get(name, [])) for name in kinds}
    least = least_of(given, "minimum_should_match", str(int(not clauses["must"] and not clauses["filter"])))
    return clauses, clauses_needed(least, len(clauses["should"]))


def _weights(searcher: Searcher, words: Words) -> dict[str, float]:
    """Return the weights of the terms of a clause with words."""
    vocabulary = searcher.index.vocabulary
    terms, weights = searcher.encode(words.text).row(0)
    found = {
        vocabulary.token(term): weight
        for term, weight in zip(terms.tolist(), weights.tolist(), strict=True)
        if term != vocabulary.background
    }
    if words.language is None:
        return found
    return {token: weight for token, weight in found.items() if language_of_token(token) == words.language}
