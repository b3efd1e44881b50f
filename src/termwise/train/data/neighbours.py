"""Orders of training pairs in which similar passages stand side by side."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from termwise.collection.pairs import PairSource
from termwise.index.ordering import document_order
from termwise.text import make_analyzer


def neighbour_order(source: PairSource, *, threads: int = 1) -> npt.NDArray[np.int64]:
    """Order the pairs of a source so that pairs with passages of similar words are neighbours.

    The passages are cut into stemmed words and ordered by recursive graph bisection, as documents are inside
    an index; pairs follow their passages. It ends at sets of 32 passages, whose order among themselves says
    nothing. Several pairs of one passage would come together; they are dealt out one round after the other, so
    that a run of neighbours rarely holds a passage twice.

    Parameters
    ----------
    source : PairSource
    threads : int, optional
        The result does not depend on it.

    Returns
    -------
    ndarray of shape (n,), int64
        Positions in ``source.pairs``.
    """
    analyzer = make_analyzer("english")
    numbers: dict[str, int] = {}
    indptr, terms = [0], []
    for text in source.passages:
        found = {numbers.setdefault(token, len(numbers)) for token in analyzer.tokens(text)}
        terms.extend(sorted(found))
        indptr.append(len(terms))
    order = document_order(
        np.array(indptr, dtype=np.int64),
        np.array(terms, dtype=np.uint32),
        n_terms=len(numbers),
        threads=threads,
    )
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    seen: Counter[int] = Counter()
    rounds = np.empty(len(source.pairs), dtype=np.int64)
    for position, passage in enumerate(source.pairs[:, 1].tolist()):
        rounds[position] = seen[passage]
        seen[passage] += 1
    return np.lexsort((rank[source.pairs[:, 1]], rounds))
