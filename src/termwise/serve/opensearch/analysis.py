"""Tokens of a text, as the address ``_analyze`` returns them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

from termwise.attributes.field_types import TEXT_TYPES
from termwise.search import Searcher
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields
from termwise.serve.opensearch.json_checks import known_keys, text, texts
from termwise.text import make_analyzer

ANALYZERS = ("standard", "english", "whitespace")
"""Analyzers that `_analyze` takes by name, without an index."""

GAP = 100
"""Positions between two texts, as in OpenSearch."""

Tokens = Callable[[str], list[tuple[str, int, int]]]


def analyze(body: object, searcher: Searcher | None, most: int) -> dict[str, Any]:
    """Answer with the tokens of a text or of several ones, of at most `most` characters together.

    The analyzer is that of a name, or of a field; by default, that of the index.
    """
    given = known_keys(body, "an analysis", ("text", "analyzer", "field"))
    value = given.get("text")
    several = texts(value if isinstance(value, list) else text(value, "text of an analysis"), "text")
    length = sum(map(len, several))
    if length > most:
        raise ServiceError(
            "a text is longer than this service allows", facts=[("characters", length), ("most", most)]
        )
    tokens_of, found = _tokens_of(given, searcher), list[dict[str, Any]]()
    position, begin = -1, 0
    for number, each in enumerate(several):
        position += GAP if number else 0
        units = [
            0,
            *accumulate(1 + (character > "\uffff") for character in each),
        ]  # of UTF-16, as in OpenSearch
        last = -1
        for token, start, end in tokens_of(each):
            position += start > last  # parts of a word begin where it begins
            last = start
            kind = "<NUM>" if token.isdigit() else "<ALPHANUM>"
            offsets = {"start_offset": begin + units[start], "end_offset": begin + units[end]}
            found.append({"token": token, **offsets, "type": kind, "position": position})
        begin += units[-1] + 1
    return {"tokens": found}


def _tokens_of(given: dict[str, Any], searcher: Searcher | None) -> Tokens:
    """Return the function that splits texts."""
    analyzers = {} if searcher is None else {
        part.backend.encoder.analyzer.spec.name: part.backend.encoder.analyzer for part in reversed(searcher.parts)
    }  # fmt: skip
    if "analyzer" in given and "field" in given:
        raise UnsupportedError.of("beside analyzer, the key", "field")
    name = text(given.get("analyzer", ""), "analyzer")
    if "field" in given:
        if searcher is None:
            raise ServiceError("a field belongs to an index: name the index in the address")
        fields, field = Fields.of(searcher), text(given["field"], "field of an analysis")
        if not fields.is_text(field):
            kind = fields.schema[fields.attribute(field)]
            if kind not in TEXT_TYPES:
                raise UnsupportedError.of(f"analysis of a field of the type {kind}", field)
            name = "keyword"
    if name == "keyword":
        return lambda whole: [(whole, 0, len(whole))] if whole else []
    if not name and searcher is None:
        raise ServiceError(
            "an analysis without an index needs an analyzer", facts=[("known", ", ".join(ANALYZERS))]
        )
    if name and name not in analyzers and name not in ANALYZERS:
        raise UnsupportedError.of("analyzer", name, dict.fromkeys([*analyzers, *ANALYZERS, "keyword"]))
    if searcher is not None and not name:
        name = searcher.analyzer.spec.name
    analyzer = analyzers.get(name) or make_analyzer(name)

    def tokens_of(whole: str) -> list[tuple[str, int, int]]:
        found = analyzer.analyze(whole)
        return [(token, *span) for token, span in zip(found.tokens, found.spans.tolist(), strict=True)]

    return tokens_of
