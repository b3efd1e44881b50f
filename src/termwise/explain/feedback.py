"""The share of feedback in a score by vectors."""

from __future__ import annotations

import numpy as np

from termwise.display.safe_text import legible_line
from termwise.engine.dense_retrieval import BestWindow
from termwise.engine.query_vector import MovedQuery, QueryVector
from termwise.index import Index

_LONGEST = 40
"""Characters of an identifier in a name."""

_NAMED = 2
"""Documents that are named."""


def feedback_name(index: Index, moved: MovedQuery) -> str:
    """Return the name of the contribution of feedback, such as ``similar to d12 and d7``."""
    names = [legible_line(name) for name in index.doc_ids(moved.documents[:_NAMED])]
    shortened = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    if others := len(moved.documents) - len(names):
        shortened.append(f"{others} more")
    return f"similar to {' and '.join(shortened)}"


def feedback_score(query: QueryVector, best: BestWindow) -> float:
    """Return the score of the best window of a document by a moved query, less the contributions of the terms."""
    of_terms = int(np.dot(query.weights, best.products)) * query.term_unit
    return (best.product * query.unit - of_terms) * best.scale
