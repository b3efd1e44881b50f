"""SQL of a search: the linear form of a query over tables of postings and vectors.

    documents               one row for each document, or chunk of a document: position, id, doc_id, text, attributes
    PART_postings           term, position, impact: one row for each weight of a term in a document
    PART_vectors            position, vector: one row for each window of a document

The score of a document is a sum of whole numbers times a factor, so it does not depend on the order of additions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Product = Callable[[str, Sequence[float]], str]
"""Expression of the product of a column of vectors and a query vector."""

Sparse = Callable[[str, Mapping[str, float]], str]
"""Query that selects ``position`` and the sum ``s`` of the rows of a sparse part, for weights by term number."""


def search_sql(
    query: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    k: int,
    where: str | None,
    product: Product | None = None,
    sparse: Sparse | None = None,
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
    sparse : callable, optional
        Selects the positions and sums of a sparse part, in place of the table of postings.
    """
    described = {part["name"]: part for part in parts}
    tables: list[str] = []
    fields: list[str] = []
    terms: list[str] = []
    for part in query["parts"]:
        field = described[part["name"]]["field"]
        if part["kind"] == "dense":
            assert product is not None, "the engine has vectors"
            if not any(part["vector"]):
                continue
            largest = f"max({product('vector', part['vector'])})"
            tables.append(
                f"{field}_scores AS (SELECT position, {largest} AS s FROM {field}_vectors GROUP BY position)"
            )
        else:
            if not part["numbers"]:
                continue
            weights = ", ".join(f"({int(term)}, {weight!r})" for term, weight in part["numbers"].items())
            impact = "CAST(p.impact AS BIGINT)" if described[part["name"]]["integer"] else "p.impact"
            if sparse is not None:
                tables.append(f"{field}_scores AS ({sparse(field, part['numbers'])})")
            else:
                tables += [
                    f"{field}_query(term, weight) AS (VALUES {weights})",
                    f"{field}_scores AS (SELECT p.position, sum({impact} * q.weight) AS s FROM {field}_postings p "
                    f"JOIN {field}_query q ON q.term = p.term GROUP BY p.position)",
                ]
        biased = part["kind"] == "sparse" and described[part["name"]]["bias"]
        bias = f" + {part['background']!r} * {real(f'd.{field}_bias')}" if biased else ""
        terms.append(
            f"{real(repr(float(part['coefficient'])))} * ({real(f'coalesce({field}_scores.s, 0)')}{bias})"
        )
        fields.append(field)
    if not fields:
        return None
    conditions = f"({' OR '.join(f'{field}_scores.position IS NOT NULL' for field in fields)})"
    constant = float(query["constant"])
    score = " + ".join([*terms, *([real(repr(constant))] if constant else [])])
    return (
        "WITH "
        + ",\n".join(tables)
        + f"\nSELECT d.doc_id, {score} AS score FROM documents d\n"
        + "\n".join(f"LEFT JOIN {field}_scores ON {field}_scores.position = d.position" for field in fields)
        + f"\nWHERE {conditions}{f' AND ({where})' if where else ''}\nORDER BY score DESC, d.position LIMIT {int(k)}"
    )


class ExportState:
    """Row of the table export_state: which export a database holds, and in which generation.

    Parameters
    ----------
    description : mapping
        Contents of export.json.
    execute : callable
        Executes a statement and returns its rows.
    """

    def __init__(self, description: Mapping[str, Any], execute: Callable[[str], Sequence[Any]]) -> None:
        self.changes: Sequence[str] = description.get("changes", ())
        self.origin, self.newest = description["origin"], int(description["generation"])
        self.execute = execute

    @property
    def first(self) -> int:
        """Generation of the data without changes."""
        return int(Path(self.changes[0]).name.split("-")[0]) if self.changes else self.newest

    def generation(self, where: str) -> int | None:
        """Return the generation that the database holds, None for none; stop if it is of another export."""
        rows = self.execute("SELECT origin, generation FROM export_state")
        if not rows:
            return None
        if rows[0][0] != self.origin:
            raise SystemExit(f"{where} holds another export")
        return int(rows[0][1])

    def next_step(self, changes: Path, where: str) -> bool:
        """Return whether changes are the next ones, and False if they are applied; stop if they are neither."""
        since, until = map(int, changes.resolve().name.split("-"))
        now = self.generation(where)
        if now is None:
            raise SystemExit(f"{where} holds no export: run load first")
        if now >= until:
            return False
        if now != since:
            raise SystemExit(f"{where} has generation {now}, and these changes are from {since}: run load")
        return True


def real(expression: str) -> str:
    """Return an expression as a float of 64 bits."""
    return f"CAST({expression} AS DOUBLE PRECISION)"


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
