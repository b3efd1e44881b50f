"""Where the query of a pair comes from: the data, or what both texts speak of."""

from __future__ import annotations

import random
from typing import Protocol

from termwise.probes.language.base import Language, Parsed, Token
from termwise.probes.sources.transfer.pair import Pair

LONGER_THAN = 5
"""Characters that a noun chunk must exceed to be a query, as published."""


class Asking(Protocol):
    """Says what is asked of a pair."""

    def query(self, pair: Pair, drawing: random.Random) -> str | None:
        """Return the query; None where there is none, so that there is no sample."""
        ...


class GivenQuery:
    """The query that stands in the data."""

    def query(self, pair: Pair, drawing: random.Random) -> str | None:
        """See `Asking`."""
        return pair.query


class CommonChunk:
    """A noun chunk of both texts, drawn from all that they share; a query that stands in the data comes first.

    Parameters
    ----------
    language : Language
        Finds the chunks.
    """

    def __init__(self, language: Language) -> None:
        self._language = language

    def query(self, pair: Pair, drawing: random.Random) -> str | None:
        """See `Asking`."""
        if pair.query is not None:
            return pair.query
        shared = common_chunks(self._language.parse(pair.first), self._language.parse(pair.second))
        return drawing.choice(shared) if shared else None


class SharedLemma:
    """The query that stands in the data, if it has a lemma that both texts have as well.

    Words are compared by their lemmas in lower case. Stop words, numbers and punctuation of the query do not count.

    Parameters
    ----------
    language : Language
        Finds lemmas.
    stop_words : frozenset of str
        In lower case.
    """

    def __init__(self, language: Language, stop_words: frozenset[str]) -> None:
        self._language = language
        self._stop_words = stop_words

    def query(self, pair: Pair, drawing: random.Random) -> str | None:
        """See `Asking`."""
        if pair.query is None:
            return None
        asked = {
            token.lemma.lower() for token in self._language.parse(pair.query).tokens if self._counts(token)
        }
        for text in (pair.first, pair.second):
            asked &= {token.lemma.lower() for token in self._language.parse(text).tokens}
        return pair.query if asked else None

    def _counts(self, token: Token) -> bool:
        word = token.text.lower()
        return (
            any(each.isalpha() for each in word)
            and token.tag not in ("PUNCT", "NUM")
            and word not in self._stop_words
        )


def common_chunks(one: Parsed, other: Parsed) -> list[str]:
    """Return the noun chunks that two texts share, in lower case, if longer than 5 characters, in order.

    Examples
    --------
    >>> from termwise.probes.language import Parsed, Span, Token
    >>> token = Token("Windmills", 0, 9, "windmill", "NOUN")
    >>> one = Parsed("Windmills turn", (token,), (), (Span(0, 1),), ())
    >>> common_chunks(one, one)
    ['windmills']
    """
    chunks = [{parsed.of(span).lower() for span in parsed.chunks} for parsed in (one, other)]
    return sorted(chunk for chunk in chunks[0] & chunks[1] if len(chunk) > LONGER_THAN)
