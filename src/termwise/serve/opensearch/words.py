"""Clauses with words, and what each says about results and scores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from termwise.engine.similar_terms import MOST_TERMS, SHORTEST, TWO_EDITS
from termwise.engine.word_matches import NAMED, is_number_of_words
from termwise.fast_dataclass import dataclass
from termwise.search import Searcher
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.conditions import pattern
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import (
    flag,
    known_keys,
    number,
    only_default,
    record,
    several,
    single,
    text,
    whole,
)
from termwise.text import Analyzer
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute, languages_of, readings

_OPERATORS: dict[str, Any] = {"operator": "or", "minimum_should_match": 1, "fuzziness": 0}
"""Keys of clauses of which one word suffices, and their defaults."""

_EDITS: dict[str, Any] = {
    "prefix_length": 0,
    "fuzzy_transpositions": True,
    "fuzzy_rewrite": None,
    "max_expansions": 50,
}
"""Keys about the similar words of ``fuzziness``, which change nothing, and their defaults."""

_COMMON = ("query", "boost", "analyzer", "lenient", "zero_terms_query", "auto_generate_synonyms_phrase_query")
"""Keys that all text queries accept."""

_MATCHES: dict[str, tuple[tuple[str, ...], dict[str, bool]]] = {
    "match": ((*_OPERATORS, *_EDITS), {}),
    "match_phrase": (("slop",), {"phrase": True}),
    "match_phrase_prefix": (("slop", "max_expansions"), {"phrase": True, "prefix": True}),
    "match_bool_prefix": ((*_OPERATORS, *_EDITS), {"prefix": True}),
}
"""Clauses on one text: their keys besides `_COMMON`, and what they say about the words."""

_TYPES: dict[str, dict[str, bool]] = {
    "best_fields": {},
    "most_fields": {},
    "cross_fields": {},
    "phrase": {"phrase": True},
    "phrase_prefix": {"phrase": True, "prefix": True},
    "bool_prefix": {"prefix": True},
}
"""Types of multi_match, and what they say about the words."""

_OWN_FUZZINESS = ("AUTO", f"AUTO:{SHORTEST},{TWO_EDITS}")
"""The edits of a fuzzy search, as OpenSearch writes them."""

_FUZZINESS = re.compile(r"[012]|AUTO(:[0-9]{1,3},[0-9]{1,3})?")
"""Forms of ``fuzziness``."""

_STATED = {"match": ("operator", "minimum_should_match"), "fuzzy": ("fuzziness",), "prefix": ()}
"""Keys that state options of `Search`."""

PATTERNS = ("prefix", "wildcard")
"""Clauses on a text or an attribute that match what begins with a value."""

MATCHES = (*_MATCHES, "multi_match", *PATTERNS)
WORD_CLAUSES = (*MATCHES, "neural_sparse")


@dataclass(frozen=True)
class Words:
    """A clause that adds to scores: words, or weights of terms.

    Attributes
    ----------
    text : str
    boost : float
    every, phrase, fuzzy, prefix : bool
        Whether results contain all words, contain them as a phrase (with `prefix`, those before the last one), match
        similar words, and match words that begin with the last one.
    weights : mapping of str to float or None
        Query weights of terms, instead of words.
    least : str
        How many of the words results contain, see `Search.match`.
    stated : frozenset of str
        Those of ``match``, ``fuzzy`` and ``prefix`` that the clause states; for others, the index can have defaults.
    part : str
        The fields of the clause if they are only some of the texts, all of which are searched.
    subfields : str
        Those that are subfields of texts, such as ``title.ngram``, which are read as the texts.
    own_boosts : str
        The fields with the weights of the index if the clause has other boosts of them, which change nothing.
    language : str or None
        Language of the words, in an index whose analyzer depends on an attribute.
    others : tuple of str
        Sentences on keys of the clause that change nothing, or are approximated.
    """

    text: str = ""
    boost: float = 1.0
    every: bool = False
    phrase: bool = False
    fuzzy: bool = False
    prefix: bool = False
    weights: Mapping[str, float] | None = None
    least: str = "1"
    stated: frozenset[str] = frozenset(_STATED)
    part: str = ""
    subfields: str = ""
    own_boosts: str = ""
    language: str | None = None
    others: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Sentences on what the clause asks for and the search does not do."""
        found = [*self.others]
        if self.part:
            found.append(
                f"a clause on [{self.part}] searches all texts of a document, because the index has one weight "
                "for a word in all of them"
            )
        if self.subfields:
            found.append(
                f"the subfields [{self.subfields}] are read as the texts they belong to, with the analyzer of the index"
            )
        if self.own_boosts:
            found.append(
                f"the boosts of fields are those of the index, [{self.own_boosts}]; those of the request "
                "change nothing"
            )
        return found

    @property
    def one_suffices(self) -> bool:
        """Whether one of the words is enough, whatever their number."""
        return self.least == "1" and not self.every

    @property
    def before_last(self) -> Words:
        """The words before the last one, as a phrase."""
        return Words(" ".join(self.text.split()[:-1]), phrase=True, language=self.language)

    def needed(self, analyzer: Analyzer) -> list[str]:
        """Return the words or the phrase, as conditions on texts; words that one language removes are left out."""
        if self.phrase:
            return [self.text] if analyzer.tokens(self.text) else []
        if analyzer.vocabulary is not None:  # tokens are pieces; a text can have those of other words
            return [each for each in dict.fromkeys(self.text.split()) if analyzer.tokens(each)]
        analysis, *others = (each.analyze(self.text) for each in readings(analyzer, self.language))
        words = [each.start for each in analysis.compounds()]
        firsts = {analysis.tokens[place]: tuple(analysis.spans[place].tolist()) for place in reversed(words)}
        kept = [other.spans.tolist() for other in others]
        return [
            self.text[start:end]
            for start, end in sorted(firsts.values())
            if all(any(first < end and start < last for first, last in spans) for spans in kept)
        ]


def read_words(kind: str, body: object, searcher: Searcher, fields: Fields, most: int) -> Words:
    """Read a clause of a kind in `WORD_CLAUSES`, with words of at most `most` characters.

    A clause for some of the texts of a document is for all of them; see `Fields.part`.
    """
    if kind == "multi_match":
        words = _multi_match(body, searcher.analyzer, fields)
    elif kind in PATTERNS:
        words = _beginning(kind, body, fields)
    elif kind in WORD_CLAUSES:
        name, value = single(body, kind)
        part = fields.part(kind, [name])
        is_sparse = kind == "neural_sparse"
        words = _neural_sparse(value, searcher) if is_sparse else _match(kind, value, searcher.analyzer)
        words = replace(words, part=part, subfields=fields.subfields([name]))
    else:
        raise UnsupportedError.of("here, the clause", kind, WORD_CLAUSES)
    if len(words.text) > most:
        raise ServiceError(
            "a text of the query is longer than this service allows",
            facts=[("characters", len(words.text)), ("most", most)],
        )
    return words


def is_for_all(kind: str, body: object, analyzer: Analyzer) -> bool:
    """Whether a clause is for all documents, because the analyzer removes all its words."""
    value = body if kind == "multi_match" else single(body, kind)[1]
    if not isinstance(value, dict) or str(value.get("zero_terms_query")).lower() != "all":
        return False
    return not analyzer.tokens(text(value.get("query"), f"query of {kind}"))


def _match(kind: str, value: object, analyzer: Analyzer) -> Words:
    keys, meaning = _MATCHES[kind]
    given = value if isinstance(value, dict) else {"query": text(value, kind)}
    only_default(known_keys(given, kind, (*_COMMON, *keys)), kind, slop=0)
    return _words(given, kind, meaning, analyzer)


def _beginning(kind: str, body: object, fields: Fields) -> Words:
    name, value = pattern(kind, body)
    part = fields.part(kind, [name])
    beginning = value.removesuffix("*") if kind == "wildcard" else value
    if (kind == "wildcard" and beginning == value) or not re.fullmatch(r"[^\s*?\\]+", beginning):
        known = ["te*"] if kind == "wildcard" else ["the beginning of one word"]
        raise UnsupportedError.of(f"{kind} on a text with the value", value, known)
    return Words(beginning, prefix=True, part=part, subfields=fields.subfields([name]))


def _multi_match(body: object, analyzer: Analyzer, fields: Fields) -> Words:
    keys = (*_COMMON, "fields", "type", "slop", "tie_breaker", *_OPERATORS, *_EDITS)
    given = known_keys(body, "multi_match", keys)
    names = several(given.get("fields", "*")) or ["*"]
    part, own_boosts = _fields(names, fields)
    subfields = fields.subfields([str(each).partition("^")[0] for each in names])
    kind = text(given.get("type", "best_fields"), "type of multi_match")
    if kind not in _TYPES:
        raise UnsupportedError.of("type of multi_match", kind, _TYPES)
    meaning, where = _TYPES[kind], f"multi_match of the type {kind}"
    only_default(given, where, slop=0, **(_OPERATORS if meaning.get("phrase") else {}))
    words = _words(given, "multi_match", meaning, analyzer)
    words = replace(words, part=part, subfields=subfields, own_boosts=own_boosts)
    if number(given.get("tie_breaker", 0), "tie_breaker of multi_match"):
        note = "tie_breaker of multi_match changes nothing: the texts of a document have one score together"
        words = replace(words, others=(*words.others, note))
    return words


def _words(given: Mapping[str, Any], kind: str, meaning: Mapping[str, Any], analyzer: Analyzer) -> Words:
    words = text(given.get("query"), f"query of {kind}")
    if meaning.get("prefix"):
        words = words.rstrip()  # after a blank, the last word is whole
    for name in ("lenient", "auto_generate_synonyms_phrase_query", "fuzzy_transpositions"):
        flag(given.get(name, True), f"{name} of {kind}")
    for name, least in (("prefix_length", 0), ("max_expansions", 1)):
        whole(given.get(name, 1), f"{name} of {kind}", least)
    without_words = text(given.get("zero_terms_query", "none"), f"zero_terms_query of {kind}").lower()
    if without_words not in ("none", "all"):
        raise UnsupportedError.of(f"zero_terms_query of {kind}", without_words, ["none", "all"])
    language, others = _language(given.get("analyzer"), kind, analyzer)
    meaning = {**meaning, "language": language}
    if meaning.get("phrase"):
        return Words(words, _boost(given), **meaning, others=others)
    stated = frozenset(name for name, keys in _STATED.items() if any(key in given for key in keys))
    operators = _operators(given, kind)
    if meaning.get("prefix"):
        stated |= {"prefix"}
        if operators.pop("every", False):
            operators["least"] = "100%"  # by their postings, also those of words that begin with the last one
    if operators.get("fuzzy"):
        others += _edits(given, kind)
    return Words(words, _boost(given), **meaning, **operators, stated=stated, others=others)


def _edits(given: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """Return a sentence on keys that ask for other similar words than a fuzzy search has; none without any."""
    fuzziness = str(given["fuzziness"]).upper()
    others = [
        name for name, default in _EDITS.items() if given.get(name, default) not in (default, str(default))
    ]
    if fuzziness not in _OWN_FUZZINESS:
        others.insert(0, "fuzziness")
    if not others:
        return ()
    return (
        f"[{', '.join(others)}] of {kind} cannot be chosen: fuzziness replaces words that the index lacks, by at most "
        f"{MOST_TERMS} words with one edit from {SHORTEST} letters on, and two from {TWO_EDITS}",
    )


def _language(name: object, kind: str, analyzer: Analyzer) -> tuple[str | None, tuple[str, ...]]:
    """Return the language that an analyzer of a clause names, and a sentence if it is not the one of the index."""
    own = analyzer.spec.name
    if name is None or name == own:
        return None, ()
    given = text(name, f"analyzer of {kind}")
    named = given.partition("-")[0]
    if isinstance(analyzer, AnalyzerByAttribute):
        language = analyzer.known(named)
        if language is None:
            fix = "name a language of the documents, as de or german"
            raise UnsupportedError.of(f"analyzer of {kind}", given[:100], languages_of(analyzer), fix)
        note = f"the analyzer {given} says the language of the words: results are documents of this language"
        return language, (note,)
    if named != own.partition("-")[0]:
        fix = "leave it out: a query has the analyzer of the index"
        raise UnsupportedError.of(f"analyzer of {kind}", given[:100], [own], fix)
    return None, (f"the analyzer of a query is that of the index, {own}, and not {given}",)


def _operators(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    operator = str(given.get("operator", "or")).lower()
    if operator not in ("or", "and"):
        raise UnsupportedError.of(f"operator of {where}", operator, ["or", "and"])
    least = least_of(given, f"minimum_should_match of {where}")
    fuzziness = str(given.get("fuzziness", "0")).upper()
    if not _FUZZINESS.fullmatch(fuzziness):
        raise UnsupportedError.of(f"fuzziness of {where}", fuzziness[:100], ["0", "1", "2", *_OWN_FUZZINESS])
    every, fuzzy = operator == "and" or least == "100%", fuzziness != "0"
    if every:  # of similar words, by their postings; others are looked for in the texts
        return {"fuzzy": True, "least": "100%"} if fuzzy else {"every": True}
    return {"fuzzy": fuzzy, "least": "1" if least in ("0", "0%") else least}


def least_of(given: Mapping[str, Any], where: str, default: str = "1") -> str:
    """Return a `minimum_should_match`, in the form of `Search.match`; also 0."""
    least = re.sub(r"\s*<\s*", "<", str(given.get("minimum_should_match", default)).strip())
    if least not in ("0", "0%") and (least in NAMED or not is_number_of_words(least)):
        raise UnsupportedError.of(where, least, ["2", "75%", "-1", "-25%", "2<75%"])
    return least


def _boost(given: Mapping[str, Any]) -> float:
    return number(given.get("boost", 1), "boost")


def _fields(names: Any, fields: Fields) -> tuple[str, str]:
    """Check the fields of a multi_match, and return `Words.part` and `Words.own_boosts`."""
    boosts: dict[str, float] = {}
    for each in names:
        name, caret, boost = text(each, "a field of multi_match").partition("^")
        try:
            weight = number(float(boost), "the boost of a field") if caret else 1.0
            boosts.setdefault(fields.whole_text(name), weight)
        except ValueError:
            raise ServiceError("the boost of a field is a number", facts=[("field", each)]) from None
    part = fields.part("multi_match", list(boosts))
    weights = {name: fields.weights.get(name, 1) for name in boosts}
    ratios = {boost / weights[name] for name, boost in boosts.items()}
    if all(boost == 1 for boost in boosts.values()) or len(ratios) == 1:
        return part, ""
    return part, ", ".join(f"{name}^{weight}" for name, weight in weights.items())


def _neural_sparse(value: object, searcher: Searcher) -> Words:
    given = known_keys(
        value, "neural_sparse", ("query_text", "query_tokens", "model_id", "analyzer", "boost")
    )
    if ("query_text" in given) == ("query_tokens" in given):
        raise ServiceError("neural_sparse needs one of query_text and query_tokens")
    own = {
        "model_id": [part.backend.description for part in searcher.parts],
        "analyzer": [searcher.analyzer.spec.name],
    }
    for name, known in own.items():
        if given.get(name) is not None and given[name] not in known:
            raise UnsupportedError.of(name, given[name], known)
    if "query_text" in given:
        return Words(text(given["query_text"], "query_text"), _boost(given))
    tokens = record(given["query_tokens"], "query_tokens")
    weights = {token: number(weight, "a weight of query_tokens") for token, weight in tokens.items()}
    return Words(boost=_boost(given), weights=weights)
