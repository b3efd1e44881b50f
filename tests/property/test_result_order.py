"""Sorted and collapsed results against plain Python, over indexes with segments and deleted documents."""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.search import Search

SCHEMA = Schema(
    {"brand": "keyword", "price": "float", "stock": "integer", "sold": "boolean", "added": "date"}
)
FIELDS = list(SCHEMA)
TEXTS = ["tea", "green tea", "tea tea pot", "pot", "green", "black tea with milk"]
VALUES = {
    "brand": st.sampled_from(["a", "b", "c", "ä", "A", ""]),
    "price": st.sampled_from([-1.5, 0.0, 0.5, 3.0, 1e300]),
    "stock": st.sampled_from([-(2**63), -1, 0, 7, 2**63 - 1]),
    "sold": st.booleans(),
    "added": st.sampled_from([datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3)]),
}
ATTRIBUTES = st.fixed_dictionaries({}, optional=VALUES)
COMMITS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 15), st.sampled_from(TEXTS), ATTRIBUTES), max_size=12),
        st.lists(st.integers(0, 15), max_size=4),
    ),
    min_size=1,
    max_size=4,
)


@st.composite
def searches(draw):
    field = draw(st.none() | st.sampled_from(FIELDS))
    collapse = draw(st.none() | st.sampled_from(FIELDS))
    return {
        "query": draw(st.sampled_from(["tea", "green pot", "milk tea", "unknown"])),
        "sort": None if field is None else draw(st.sampled_from([field, f"-{field}"])),
        "collapse": collapse,
        "collapse_size": 1 if collapse is None else draw(st.sampled_from([1, 2, 3])),
        "filter": draw(st.sampled_from([None, "stock >= 0", 'brand = "a" or brand is missing'])),
        "must": draw(st.sampled_from([(), "tea", "pot"])),
        "exclude": draw(st.lists(st.integers(0, 15).map("d{}".format), max_size=3)),
        "k": draw(st.sampled_from([1, 2, 3, 100])),
    }


def expected(every, documents, search):
    """Sort and collapse the ranking by score."""
    hits = [(hit.doc_id, hit.score) for hit in every if hit.doc_id not in search["exclude"]]
    if search["sort"] is not None:
        field = search["sort"].removeprefix("-")
        present = [hit for hit in hits if field in documents[hit[0]]]
        present.sort(key=lambda hit: documents[hit[0]][field], reverse=search["sort"].startswith("-"))
        hits = present + [hit for hit in hits if field not in documents[hit[0]]]
    kept, seen = [], Counter()
    for hit in hits:
        value = documents[hit[0]].get(search["collapse"])
        if value is None or seen[value] < search["collapse_size"]:
            kept.append(hit)
            seen[value] += 1
    return kept[: search["k"]]


@settings(max_examples=25, deadline=None)
@given(COMMITS, st.lists(searches(), min_size=8, max_size=8))
def test_results_are_those_of_plain_python(commits, wanted):
    documents = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        termwise.build_index([Document("d99", "tea", {"stock": 3})], path, attributes=SCHEMA)
        documents["d99"] = {"stock": 3}
        with termwise.open_writer(path) as writer:
            for added, deleted in commits:
                batch = {f"d{number}": (text, values) for number, text, values in added}
                writer.add(Document(doc_id, *of_document) for doc_id, of_document in batch.items())
                documents |= {doc_id: values for doc_id, (_, values) in batch.items()}
                names = {f"d{number}" for number in deleted} & set(documents)
                writer.delete(sorted(names))
                for name in names:
                    del documents[name]
                writer.commit()
        searcher = termwise.open(path)
        assert set(searcher.index.doc_ids(np.arange(len(searcher.index)))) == set(documents)
        for search in wanted:
            every = searcher.rank(search["query"], k=100, filter=search["filter"], must=search["must"])
            ranking = searcher.search(Search(**search)).ranking
            assert [(hit.doc_id, hit.score) for hit in ranking] == expected(every, documents, search)
            assert ranking.sorted_by == (search["sort"] or "")
            candidates = every.doc_ids[::-1]
            reranked = searcher.search(Search(**search, candidates=candidates)).ranking
            again = searcher.rank(search["query"], k=100, candidates=candidates)
            assert [(hit.doc_id, hit.score) for hit in reranked] == expected(again, documents, search)
