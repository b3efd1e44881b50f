"""The query itself, as a text or before it."""

from __future__ import annotations

from dataclasses import dataclass

from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.text_edits import in_a_row


@dataclass(frozen=True)
class QueryPrepended:
    """The query stands before the text."""

    name: str = "prepend-query"
    title: str = "Query + text"
    makes: str = "the text with the query before it"

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        return in_a_row(around.about.query, text)


@dataclass(frozen=True)
class ReplacedByQuery:
    """The query stands in place of the text."""

    name: str = "replace-by-query"
    title: str = "Query in place of the text"
    makes: str = "the query"

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        return around.about.query
