"""Texts written for the probes: passages that answer a question, neutral sentences, and pairs of texts."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from termwise.probes.core.judged_texts import JudgedTexts

WRITTEN = "written"
"""Name of the collection of written passages."""


class Passage(NamedTuple):
    """Sentences of a text, and the position of the one that answers the query."""

    passage_id: str
    query_id: str
    query: str
    sentences: tuple[str, ...]
    answer: int


@cache
def written(name: str) -> tuple[dict[str, Any], ...]:
    """Return the records of the file ``NAME.jsonl`` of written texts.

    Examples
    --------
    >>> [item["id"] for item in written("negation")][:2]
    ['frost', 'dogs-beach']
    """
    text = (files("termwise.probes.sources") / "written" / f"{name}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


@cache
def neutral_sentences() -> tuple[str, ...]:
    """Return sentences that answer no query."""
    return tuple(item["text"] for item in written("neutral"))


@cache
def written_passages() -> tuple[Passage, ...]:
    """Return the written passages; their sentences are correct in any order."""
    return tuple(
        Passage(item["id"], item["id"], item["query"], tuple(item["sentences"]), item["answer"])
        for item in written("passages")
    )


@cache
def written_texts() -> JudgedTexts:
    """Return the written passages as a judged collection: per query a relevant and an unrelated passage.

    Examples
    --------
    >>> [(text.doc_id, text.grade) for text in written_texts().of("everest")]
    [('everest', 1), ('panama-canal', 0)]
    """
    items = written("passages")
    return JudgedTexts(
        name=WRITTEN,
        queries={item["id"]: item["query"] for item in items},
        texts={item["id"]: " ".join(item["sentences"]) for item in items},
        grades={item["id"]: {item["id"]: 1, item["unrelated"]: 0} for item in items},
        lowest=0,
    )
