"""SQL of a search: the linear form of a query over tables of postings and vectors.

    documents               one row for each document, or chunk of a document: position, id, doc_id, text, attributes
    PART_postings           term, position, impact: one row for each weight of a term in a document
    PART_vectors            position, vector: one row for each window of a document

The score of a document is a sum of whole numbers times a factor, so it does not depend on the order of additions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Product = Callable[[str, Sequence[float]], str]
"""Expression of the product of a column of vectors and a query vector."""


def search_sql(
    query: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    k: int,
    where: str | None,
    product: Product | None = None,
) -> str | None:
    """Return the SQL of a search, whose rows are doc_id and score; None if no part knows a word of the query.

    Parameters
    ----------
    query : mapping
        Query of the query kit.
    parts : sequence of mapping
        Parts in export.json.
    k : int
        Number of rows.
    where : str or None
        Condition on columns of ``documents d``.
    product : callable, optional
        For parts with vectors.
    """
    fields = {part["name"]: part for part in parts}
    tables, terms, matched = [], [], []
    for part in query["parts"]:
        described = fields[part["name"]]
        field, factor = described["field"], float(part["coefficient"])
        if part["kind"] == "dense":
            assert product is not None, "the engine has vectors"
            if not any(part["vector"]):
                continue
            largest = f"max({product('vector', part['vector'])})"
            scores = f"SELECT position, {largest} AS s FROM {field}_vectors GROUP BY position"
            terms.append(f"{factor!r} * coalesce({field}.s, 0)")
        else:
            if not part["numbers"]:
                continue
            weights = ", ".join(f"({int(term)}, {weight!r})" for term, weight in part["numbers"].items())
            scores = (
                f"SELECT p.position, sum(p.impact * q.weight) AS s FROM {field}_postings p "
                f"JOIN (SELECT column1 AS term, column2 AS weight FROM (VALUES {weights}) AS v) q ON q.term = p.term "
                "GROUP BY p.position"
            )
            bias = f" + {part['background']!r} * d.{field}_bias" if described["bias"] else ""
            terms.append(f"{factor!r} * (coalesce({field}.s, 0){bias})")
        tables.append((field, scores))
        matched.append(f"{field}.position IS NOT NULL")
    if not tables:
        return None
    conditions = f"({' OR '.join(matched)})" + (f" AND ({where})" if where else "")
    constant = float(query["constant"])
    score = " + ".join([*terms, *([repr(constant)] if constant else [])])
    return (
        "WITH "
        + ",\n".join(f"{field} AS ({scores})" for field, scores in tables)
        + f"\nSELECT d.doc_id, {score} AS score FROM documents d\n"
        + "\n".join(f"LEFT JOIN {field} ON {field}.position = d.position" for field, _ in tables)
        + f"\nWHERE {conditions}\nORDER BY score DESC, d.position LIMIT {int(k)}"
    )


def best_documents(
    rows: Callable[[int], Sequence[tuple[str, float]]], k: int, *, chunked: bool
) -> list[tuple[str, float]]:
    """Return the best `k` documents of rows, which are chunks of documents if `chunked`; each with its best chunk."""
    wanted = k
    while True:
        found = rows(wanted)
        best: dict[str, float] = {}
        for doc_id, score in found:
            best.setdefault(doc_id, score)
        if not chunked or len(best) >= k or len(found) < wanted:
            return list(best.items())[:k]
        wanted *= 4
