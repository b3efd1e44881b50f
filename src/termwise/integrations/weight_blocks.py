"""Stored term weights of an index, in blocks of documents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import Index
from termwise.search import Searcher
from termwise.validation import check
from termwise.weights import TermWeights

BLOCK = 4096
"""Number of documents that are read at a time."""


def weight_blocks(searcher: Searcher, purpose: str) -> Iterator[tuple[list[str], TermWeights]]:
    """Yield the identifiers and the weights of the documents of an index, in the order of the index.

    Parameters
    ----------
    searcher : Searcher
        Of one index with term weights.
    purpose : str
        What the weights are for, in errors.

    Raises
    ------
    ParameterError
        At once, if this is a mixture, or the index has vectors or documents that are cut into chunks.
    """
    check("searcher", searcher, isinstance(searcher, Searcher), "a Searcher, such as that of termwise.open")
    index = searcher.index
    if len(searcher.parts) > 1:
        names = ", ".join(part.name for part in searcher.parts)
        raise ParameterError(
            f"{purpose} needs one index, and this is a mixture of several",
            facts=[("mixture", searcher.path), ("parts", names)],
            fixes=[Fix.python(f"termwise.open({str(searcher.parts[0].index.path)!r})", "open one part: {}")],
        )
    if index.term_vectors is not None:
        raise ParameterError(
            f"{purpose} needs term weights, and this index has vectors",
            facts=[("index", index.path)],
            fixes=[Fix.build(form="terms")],
        )
    index.check_not_cut(purpose)
    return _blocks(index)


def _blocks(index: Index) -> Iterator[tuple[list[str], TermWeights]]:
    for first in range(0, len(index), BLOCK):
        ordinals = np.arange(first, min(first + BLOCK, len(index)), dtype=np.int64)
        yield index.doc_ids(ordinals), index.weights(ordinals)
