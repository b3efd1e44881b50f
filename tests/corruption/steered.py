"""Documents with languages and attributes, and a search with a relevance file, for the programs that kill processes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.search import Relevance, Search

QUERY = "tea green"
PINNED, BANNED = "d7", "d3"
RELEVANCE: dict[str, Any] = {
    "boosts": [
        {"attribute": "sold", "weight": 0.5, "saturation": 10},
        {"attribute": "lang", "weight": -0.2, "values": ["de"]},
        {"attribute": "added", "weight": 0.3, "half_life": "30 days", "now": "2026-03-01"},
    ],
    "synonyms": ["green, leaf", "tea cup, kettle ^0.5"],
    "rules": [{"query": "tea", "match": "prefix", "pin": [PINNED, "none"], "ban": [BANNED]}],
}
WORDS = {"tea", "green", "leaf"}
"""Words that the query searches for."""


def document(doc_id: str, text: str) -> Document:
    """Return a document; only texts of several words have the attribute ``added``."""
    attributes: dict[str, Any] = {"lang": ("de", "en", "xx")[len(text) % 3], "sold": len(text)}
    if " " in text:
        attributes["added"] = "2026-02-15"
    return Document(doc_id, text, attributes)


def write_relevance(folder: Path, schema: Schema) -> Path:
    """Write a relevance file beside an index, with the boosts of the attributes that it has."""
    boosts = [each for each in RELEVANCE["boosts"] if each["attribute"] in schema]
    file = folder.with_name(f"{folder.name}-relevance.json")
    file.write_text(json.dumps({**RELEVANCE, "boosts": boosts}))
    return file


def check_search(folder: Path, texts: dict[str, str]) -> None:
    """Search with the relevance file: the results are those of the texts, and explanations add up."""
    searcher = termwise.open(folder)
    expected = {doc_id: document(doc_id, text).attributes for doc_id, text in texts.items()}
    for (doc_id, wanted), stored in zip(expected.items(), searcher.attributes(list(texts)), strict=True):
        assert stored.keys() == wanted.keys(), doc_id
        assert all(stored[name] == wanted[name] for name in ("lang", "sold")), doc_id
    relevance = Relevance.read(write_relevance(folder, searcher.schema))
    results = searcher.search(Search(QUERY, k=1000, match="any", relevance=relevance))
    found = {doc_id for doc_id, text in texts.items() if WORDS & set(text.split())} - {BANNED}
    assert set(results.ranking.doc_ids) == found | ({PINNED} & set(texts))
    for score, explanation in zip(results.ranking.scores.tolist(), results.explain(), strict=True):
        parts = [part.score for part in explanation.contributions]
        assert math.isclose(sum(parts, explanation.constant), score, rel_tol=1e-6, abs_tol=1e-6)
        boosts = [part.term for part in explanation.contributions if part.origin == "boost"]
        assert boosts == [each.attribute for each in relevance.boosts]
