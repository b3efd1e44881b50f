"""The share of feedback in a score by vectors."""

from __future__ import annotations

import numpy as np

from termwise.display.safe_text import legible_line
from termwise.engine.dense_retrieval import BestWindow
from termwise.engine.query_vector import MovedQuery, QueryVector
from termwise.index import Index

_LONGEST = 40
"""Characters of an identifier in a name."""


def feedback_name(index: Index, moved: MovedQuery) -> str:
    """Return the name of the contribution of feedback, such as ``similar to d12 and d7``."""
    names = map(legible_line, index.doc_ids(moved.documents))
    shortened = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    return f"similar to {' and '.join(shortened)}"


def feedback_score(query: QueryVector, best: BestWindow) -> float:
    """Return the score of the best window of a document by a moved query, less the contributions of the terms."""
    of_terms = int(np.dot(query.weights, best.products)) * query.term_unit
    return (best.product * query.unit - of_terms) * best.scale
