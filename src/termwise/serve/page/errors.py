"""Error messages of searches, worded for people who use the page."""

from __future__ import annotations

from typing import Any

from termwise.errors import TermwiseError, UnknownNameError
from termwise.fixes import Fix
from termwise.serve.errors import error_record, status_of

AS_WORDS = "to search for the words themselves, write a space after the colon"

FIXES = (
    (Fix.build(attributes="all"), AS_WORDS),
    (Fix.build(store_text=True), "leave out the quotes and the signs + and −"),
    (Fix.omit("fuzzy"), "switch off similar spelling"),
)
"""Fixes with words for a person at the page."""

LEFT_OUT = frozenset({"index", "seconds", "analyzer", "filter", "query", "type"})
"""Facts that the page leaves out."""


def at_the_page(fix: Fix) -> str | None:
    """Return a fix for a person at the page; None for one that only a program can follow."""
    return next((words for each, words in FIXES if each == fix), None)


def refusal(error: TermwiseError) -> dict[str, Any]:
    """Return why a search has no answer, for the template; an error of the service itself is raised.

    `again` is whether the same search can have an answer later.

    Examples
    --------
    >>> from termwise.errors import ParameterError
    >>> refusal(ParameterError("the query is too long", facts=[("most", 9)], fixes=[Fix.use(max_query=20)]))
    {'status': 400, 'message': 'the query is too long', 'facts': {'most': '9'}, 'fixes': [], 'again': False}
    """
    status = status_of(error)
    if status not in (400, 404, 503):
        raise error
    record = error_record(error, at_the_page)
    facts = record.get("facts", {})
    again = status == 503
    fixes = [] if again else record.get("fixes", [])
    if isinstance(error, UnknownNameError) or "field" in facts:
        fixes.append(AS_WORDS)
    return {
        "status": status,
        "message": record["message"],
        "facts": {
            name: value
            for name, value in facts.items()
            if name not in LEFT_OUT and f"'{value}'" not in record["message"]
        },
        "fixes": fixes,
        "again": again,
    }
