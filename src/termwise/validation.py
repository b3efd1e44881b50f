"""Checks of arguments of public functions, before files are opened or written."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeGuard

import numpy as np

from termwise.display.safe_text import lone_surrogate, shown
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.records import Document, Run, join_fields

MOST_THREADS = 1024
"""Upper bound for numbers of threads; more may exceed the limits of the system."""

MOST_MEMORY = 2**62
"""Upper bound for bytes of memory, for computations in 64 bits."""


MOST_STARTS = 1000
"""Upper bound for the number of starts of coordinate ascent."""


def wrong(name: str, value: object, expected: str) -> ParameterError:
    """Build the error for an argument with a wrong value.

    Examples
    --------
    >>> print(wrong("threads", "2", "a whole number of at least 1"))
    threads cannot have this value  [parameter]
      given     '2'
      expected  a whole number of at least 1
    """
    return ParameterError(
        f"{name} cannot have this value", facts=[("given", shown(value)), ("expected", expected)]
    )


def check(name: str, value: object, holds: bool, expected: str) -> None:
    """Raise `ParameterError` for an argument unless `holds`."""
    if not holds:
        raise wrong(name, value, expected)


def check_path(name: str, value: object) -> None:
    """Check that an argument is a path that the system can represent, without a null character."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    check(name, value, isinstance(path, str) and "\0" not in path, "a path")
    try:
        os.fsencode(str(path))
    except UnicodeEncodeError:
        raise wrong(name, value, "a path of characters that UTF-8 can encode") from None


def check_flag(name: str, value: object) -> None:
    """Check that an argument is True or False."""
    check(name, value, isinstance(value, bool | np.bool_), "True or False")


def check_run(value: object) -> None:
    """Check that an argument is a `Run`."""
    if isinstance(value, Run):
        return
    fix = Fix.python("read_run(path)", "read it: {}")
    if isinstance(getattr(value, "run", None), Run):
        fix = Fix.python("run", "pass its attribute {}")
    raise ParameterError(
        "a run is a Run", facts=[("given", f"{type(value).__name__}: {shown(value)}")], fixes=[fix]
    )


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or numpy, not a bool or timedelta."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def is_finite_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number, not a bool, that a float can represent."""
    if not is_integer(value) and not isinstance(value, float | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_whole_number(value: object, *, least: int, most: float = math.inf) -> bool:
    """Return whether a value is an integer, not a bool, from `least` to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def check_count(name: str, value: object, *, least: int = 1, most: int | None = None) -> None:
    """Check that an argument is a whole number of at least `least`, and at most `most` if given."""
    if most is None:
        check(name, value, is_whole_number(value, least=least), f"a whole number of at least {least}")
    else:
        holds = is_whole_number(value, least=least, most=most)
        check(name, value, holds, f"a whole number from {least:,} to {most:,}")


def check_threads(value: object) -> None:
    """Check that a number of threads is from 1 to `MOST_THREADS`."""
    holds = is_whole_number(value, least=1, most=MOST_THREADS)
    check("threads", value, holds, f"a whole number from 1 to {MOST_THREADS}")


def check_memory(value: object) -> None:
    """Check that a number of bytes is from 1 to `MOST_MEMORY`."""
    holds = is_whole_number(value, least=1, most=MOST_MEMORY)
    check("memory", value, holds, f"a number of bytes, from 1 to {MOST_MEMORY:,}")


def check_names(name: str, value: object) -> None:
    """Check that an argument is a sequence of strings, not one string."""
    several = _several(value) and all(isinstance(one, str) for one in value)  # type: ignore[attr-defined]
    check(name, value, several, "a sequence of strings, such as ('a', 'b')")


def check_texts(value: object) -> None:
    """Check that an argument is a sequence of strings, not one string."""
    check("texts", value, _several(value), "a sequence of strings, also for one text: [text]")
    for position, text in enumerate(value):  # type: ignore[var-annotated, arg-type]
        if not isinstance(text, str):
            raise wrong(f"text number {position + 1}", text, "a string")


def _several(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes | AbstractSet | Mapping)


def check_documents(value: object) -> None:
    """Check that an argument is iterable; its documents are checked when they are read."""
    documents = isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike)
    check("documents", value, documents, "documents, such as [termwise.Document('id', 'text')]")


def check_document(value: object) -> None:
    """Check that a value is a `Document` of two strings and a mapping, whose text is that of its fields.

    No string of it may have a lone surrogate, which UTF-8 cannot encode.
    """
    if not (
        isinstance(value, Document)
        and isinstance(value.doc_id, str)
        and isinstance(value.text, str)
        and isinstance(value.attributes, Mapping)
    ):
        raise ParameterError(
            "a collection consists of documents, each with two strings, doc_id and text, and a mapping of attributes",
            facts=[("given", f"{type(value).__name__}: {str(value)[:80]}")],
            fixes=["termwise.Document('id', 'text')"],
        )
    if value.fields is not None and value.text != join_fields(value.fields.values()):
        raise ParameterError(
            "the text of a document differs from that of its fields",
            facts=[("document", value.doc_id)],
            fixes=[Fix.python("Document.of_fields(doc_id, {NAME: TEXT})")],
        )
    doc_id, text, attributes, fields, _ = value
    if found := lone_surrogate({"attributes": attributes, **(fields or {"text": text}), "doc_id": doc_id}):
        field, surrogate = found
        raise ParameterError(
            "a document has a lone surrogate, which is half a character",
            facts=[
                ("document", ascii(doc_id)),
                ("field", field),
                ("expected", "complete characters"),
                ("seen", surrogate),
            ],
            fixes=["decode bytes as UTF-8 before they become the strings of a document"],
        )


def check_pairs(queries: Sequence[str], texts: Sequence[str]) -> None:
    """Check that there are as many queries as texts, all of them strings."""
    check("queries", queries, not isinstance(queries, str), "a list of texts")
    check_texts(texts)
    if len(queries) != len(texts):
        raise ParameterError(
            "there must be as many queries as texts", facts=[("queries", len(queries)), ("texts", len(texts))]
        )
    for query in queries:
        check("query", query, isinstance(query, str), "a text")
