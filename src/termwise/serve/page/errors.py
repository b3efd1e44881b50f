"""Error messages of searches, worded for people who use the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from termwise.errors import TermwiseError, UnknownNameError
from termwise.serve.errors import error_record, status_of

AS_WORDS = "to search for the words themselves, write a space after the colon"

FIXES = {
    "build the index with --attributes all": AS_WORDS,
    "build the index with --store-text": "leave out the quotes and the signs + and −",
    'omit "fuzzy"': "switch off similar spelling",
}
"""Fixes for a person at the page, by those for a program."""

FOR_PROGRAMS = re.compile(r'--\w|"\w+":|^omit "|\{')
"""Options and fields of requests in a fix."""

LEFT_OUT = frozenset({"index", "seconds", "analyzer", "filter", "query", "type"})
"""Facts that the page leaves out."""


def refusal(error: TermwiseError) -> dict[str, Any]:
    """Return why a search has no answer, for the template; an error of the service itself is raised.

    `again` is whether the same search can have an answer later.

    Examples
    --------
    >>> from termwise.errors import ParameterError
    >>> refusal(ParameterError("the query is too long", facts=[("most", 9)], fixes=["set `max_query=20`"]))
    {'status': 400, 'message': 'the query is too long', 'facts': {'most': '9'}, 'fixes': [], 'again': False}
    """
    status = status_of(error)
    if status not in (400, 404, 503):
        raise error
    record = error_record(error)
    facts = record.get("facts", {})
    again = status == 503
    fixes = [] if again else fixes_at_the_page(record)
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


def fixes_at_the_page(record: Mapping[str, Any]) -> list[str]:
    """Return the fixes of an error for a person at the page; those for programs are left out."""
    fixes = (FIXES.get(fix, fix) for fix in record.get("fixes", ()))
    return [fix for fix in fixes if not FOR_PROGRAMS.search(fix)]
