"""Suggesters ``term`` and ``phrase`` of OpenSearch, as the words that `Searcher.did_you_mean` returns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from termwise.budget import spend
from termwise.fast_dataclass import dataclass
from termwise.search import Searcher
from termwise.search.suggestions import SimilarWord, Suggestion, corrected
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import known_keys, only_default, record, tag, text, whole
from termwise.serve.opensearch.words import Words

MOST_SUGGESTERS = 10
"""Largest number of suggesters in a search."""

_KEYS: dict[str, tuple[str, ...]] = {
    "term": ("field", "size", "suggest_mode", "sort", "max_edits"),
    "phrase": ("field", "size", "highlight"),
}
"""Supported keys, by kind of suggester."""

_WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {
    "term": (
        "analyzer",
        "prefix_length",
        "min_word_length",
        "shard_size",
        "max_inspections",
        "min_doc_freq",
        "max_term_freq",
        "string_distance",
    ),
    "phrase": (
        "analyzer",
        "gram_size",
        "real_word_error_likelihood",
        "confidence",
        "max_errors",
        "separator",
        "shard_size",
        "smoothing",
        "direct_generator",
    ),
}
"""Keys that are accepted and have no effect, by kind of suggester; a note names them."""


@dataclass(frozen=True)
class Suggester:
    """Suggestions for the words of a text.

    Attributes
    ----------
    name : str
        In the answer.
    kind : str
        ``term`` for suggestions of each word, ``phrase`` for the whole text.
    text : str
    size : int
        Number of suggestions, of each word or of the text.
    tags : (str, str) or None
        Tags around changed words of the whole text.
    notes : tuple of str
        Sentences on what is other than in OpenSearch.
    """

    name: str
    kind: str
    text: str
    size: int
    tags: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()


def read_suggesters(value: object, fields: Fields, most: int) -> tuple[Suggester, ...]:
    """Read the suggesters of a body, whose texts have at most `most` characters.

    Raises
    ------
    UnsupportedError, ServiceError, UnknownNameError
        If a part is not supported, or not as expected, or the index has no such field.
    """
    given = record(value, "suggest")
    common = given.get("text")
    named = {name: each for name, each in given.items() if name != "text"}
    if len(named) > MOST_SUGGESTERS:
        raise ServiceError(
            "there are too many suggesters", facts=[("given", len(named)), ("most", MOST_SUGGESTERS)]
        )
    found = tuple(_read(name, each, common, fields) for name, each in named.items())
    longest = max((len(each.text) for each in found), default=0)
    if longest > most:
        raise ServiceError(
            "a text of suggest is longer than this service allows",
            facts=[("characters", longest), ("most", most)],
        )
    return found


def _read(name: str, value: object, common: object, fields: Fields) -> Suggester:
    where = f"the suggester {name}"
    given = record(value, where)
    if "completion" in given or "prefix" in given:
        fix = "search with match_bool_prefix, or complete words at GET /v1/indexes/INDEX/suggest"
        raise UnsupportedError.of("suggester", "completion", _KEYS, fix)
    kinds = [kind for kind in known_keys(given, where, ("text", *_KEYS)) if kind != "text"]
    if len(kinds) != 1:
        raise ServiceError(f"{where} has one of {' and '.join(_KEYS)}", facts=[("given", len(kinds))])
    (kind,) = kinds
    body = known_keys(given[kind], where, (*_KEYS[kind], *_WITHOUT_EFFECT[kind]))
    only_default(body, where, suggest_mode="missing", sort="score", max_edits=2)
    names = [text(body.get("field"), f"field of {where}")]
    notes = Words(part=fields.part("suggest", names), subfields=fields.subfields(names)).notes
    if ignored := [key for key in _WITHOUT_EFFECT[kind] if key in body]:
        notes.append(f"in suggest, [{', '.join(ignored)}] changes nothing")
    tags = None
    if "highlight" in body:
        highlight = known_keys(body["highlight"], f"highlight of {where}", ("pre_tag", "post_tag"))
        tags = tag(highlight.get("pre_tag", ""), "pre_tag"), tag(highlight.get("post_tag", ""), "post_tag")
    words = text(given.get("text", common), f"text of {where}")
    return Suggester(name, kind, words, whole(body.get("size", 5), "size", 1), tags, tuple(notes))


def suggest_answer(asked: Suggester, searcher: Searcher) -> list[dict[str, Any]]:
    """Return the answer of a suggester: an entry of each word, or of the text."""
    spend()
    found = searcher.did_you_mean(asked.text)
    if asked.kind == "phrase":
        return [_entry(asked.text, (0, len(asked.text)), [*_phrases(asked, found)])]
    spans = {each.span: each for each in found}
    by_word = {each.word: each for each in found}
    for match in re.finditer(r"\w+", asked.text):
        start, end = match.span()
        if not any(first < end and start < last for first, last in spans):
            spans[start, end] = by_word.get(match[0], Suggestion(match[0], (start, end), ()))
    return [
        _entry(asked.text, span, [*map(_option, each.words[: asked.size])])
        for span, each in sorted(spans.items())
    ]


def _entry(whole_text: str, span: tuple[int, int], options: list[dict[str, Any]]) -> dict[str, Any]:
    start, end = span
    return {"text": whole_text[start:end], "offset": start, "length": end - start, "options": options}


def _option(word: SimilarWord) -> dict[str, Any]:
    return {"text": word.word, "score": _likeness(word), "freq": word.documents}


def _likeness(word: SimilarWord) -> float:
    """Return 1 for the same word, and less for each edit."""
    return max(0.0, 1 - word.distance / max(1, len(word.word)))


def _phrases(asked: Suggester, found: Sequence[Suggestion]) -> Iterator[dict[str, Any]]:
    """Yield the text with its words corrected: with the nearest words, then with one other word at a time."""
    if not found:
        return
    nearest = [each.words[0] for each in found]
    choices = [nearest]
    for place, each in enumerate(found):
        choices += [[*nearest[:place], word, *nearest[place + 1 :]] for word in each.words[1:]]
    for choice in choices[: asked.size]:
        words = [each.word for each in choice]
        option: dict[str, Any] = {"text": corrected(asked.text, asked.text, found, words)}
        if asked.tags is not None:
            before, after = asked.tags
            marked = [f"{before}{each}{after}" for each in words]
            option["highlighted"] = corrected(asked.text, asked.text, found, marked)
        spend(size=sum(map(len, option.values())))
        yield {**option, "score": math.prod(map(_likeness, choice))}
