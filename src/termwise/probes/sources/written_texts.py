"""What we wrote for probes: short passages that answer a question, neutral sentences, and pairs."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from termwise.probes.core.judged_texts import JudgedTexts

WRITTEN = "written"
"""The name of the collection that our passages make."""


class Passage(NamedTuple):
    """Sentences, one of which answers a query.

    Attributes
    ----------
    passage_id : str
        Distinct among the passages of a probe.
    query_id, query : str
        What is asked.
    sentences : tuple of str
        In their order.
    answer : int
        Which of them says what is asked for.
    """

    passage_id: str
    query_id: str
    query: str
    sentences: tuple[str, ...]
    answer: int


@cache
def written(name: str) -> tuple[dict[str, Any], ...]:
    """Return the items of one of the files that come with the package.

    Parameters
    ----------
    name : str
        Of the file, without ending.

    Examples
    --------
    >>> [item["id"] for item in written("negation")][:2]
    ['frost', 'dogs-beach']
    """
    text = (files("termwise.probes.sources") / "written" / f"{name}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


@cache
def neutral_sentences() -> tuple[str, ...]:
    """Return sentences that say nothing about anything one might ask."""
    return tuple(item["text"] for item in written("neutral"))


@cache
def written_passages() -> tuple[Passage, ...]:
    """Return our passages; each of their sentences can stand alone, so that any order reads well."""
    return tuple(
        Passage(item["id"], item["id"], item["query"], tuple(item["sentences"]), item["answer"])
        for item in written("passages")
    )


@cache
def written_texts() -> JudgedTexts:
    """Return our passages as a judged collection: one that answers each query, and one about something else.

    Examples
    --------
    >>> [(one.doc_id, one.grade) for one in written_texts().of("everest")]
    [('everest', 1), ('panama-canal', 0)]
    """
    return JudgedTexts(
        name=WRITTEN,
        queries={item["id"]: item["query"] for item in written("passages")},
        texts={item["id"]: " ".join(item["sentences"]) for item in written("passages")},
        grades={item["id"]: {item["id"]: 1, item["unrelated"]: 0} for item in written("passages")},
        lowest=0,
    )
