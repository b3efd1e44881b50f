"""Text pairs of data sets, and the rules that find a query for a pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from random import Random
from typing import Any

from termwise.fast_dataclass import dataclass
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.language.base import Parsed, Token

LONGER_THAN = 5
"""A noun chunk is a query only if it has more characters than this, as published."""


@dataclass(frozen=True)
class TextPair:
    """Two texts with the same or nearly the same content; the first has the quality that the probe names.

    The identifier is unique in the data set. The query is None if the data set has none. Pairs of a group share a text
    and are not independent; the group is empty if pairs are grouped by query. The facts are JSON-like.
    """

    pair_id: str
    first: str
    second: str
    query: str | None = None
    group: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


QueryRule = Callable[[TextPair, Random], str | None]
"""Returns the query of a pair; None if there is none. A pair without a query makes no sample."""


def given_query(pair: TextPair, random: Random) -> str | None:
    """Return the query of the data set."""
    return pair.query


def given_queries(inputs: ProbeInputs) -> QueryRule:
    """Return the rule that takes the query of the data set."""
    return given_query


def common_chunk(inputs: ProbeInputs) -> QueryRule:
    """Return the rule that draws a noun chunk of both texts; a query of the data set has precedence."""
    parse = inputs.language.parse

    def query(pair: TextPair, random: Random) -> str | None:
        if pair.query is not None:
            return pair.query
        chunks = common_chunks(parse(pair.first), parse(pair.second))
        return random.choice(chunks) if chunks else None

    return query


def shared_lemma(inputs: ProbeInputs) -> QueryRule:
    """Return the rule that takes the query of the data set if both texts contain one of its lemmas.

    Lemmas are compared in lower case. Stop words, numbers and punctuation of the query do not count.
    """
    parse = inputs.language.parse

    def counts(token: Token) -> bool:
        word = token.text.lower()
        is_word = any(character.isalpha() for character in word)
        return is_word and token.tag not in ("PUNCT", "NUM") and word not in inputs.stop_words

    def query(pair: TextPair, random: Random) -> str | None:
        if pair.query is None:
            return None
        lemmas = {token.lemma.lower() for token in parse(pair.query).tokens if counts(token)}
        for text in (pair.first, pair.second):
            lemmas &= {token.lemma.lower() for token in parse(text).tokens}
        return pair.query if lemmas else None

    return query


def common_chunks(first: Parsed, second: Parsed) -> list[str]:
    """Return the noun chunks of more than 5 characters that two texts share, in lower case, sorted.

    Examples
    --------
    >>> from termwise.probes.language import Parsed, Span, Token
    >>> token = Token("Windmills", 0, 9, "windmill", "NOUN")
    >>> parsed = Parsed("Windmills turn", (token,), (), (Span(0, 1),), ())
    >>> common_chunks(parsed, parsed)
    ['windmills']
    """
    chunks = [{parsed.of(span).lower() for span in parsed.chunks} for parsed in (first, second)]
    return sorted(chunk for chunk in chunks[0] & chunks[1] if len(chunk) > LONGER_THAN)
